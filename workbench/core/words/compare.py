"""What `workbench.comparison` says: name → sentence. Evidence of findings, and faults, have tables of their own."""

from __future__ import annotations

from workbench.core.words.compare_evidence import EVIDENCE
from workbench.core.words.compare_faults import FAULTS

_ERRORS: dict[str, str] = {
    # tensors and elements
    "sizes-differ": "element counts differ: {target:count} (target), {golden:count} (golden)",
    "layouts-differ": (
        "device formats differ: {target_shape} in {target_format} (target), {golden_shape} in {golden_format} "
        "(golden); no host shape fits both"
    ),
    "not-numbers": "cannot compare dtype {got}: it holds no numbers",
    "count": "count must be 1 to {limit:count}, got {got!r}",
    "axes": "axes must be two of {known}, got {got!r} (-1: none)",
    "index": "index {got} lies outside of shape {shape}",
    "threshold": "{subject} must be a number from 0 on, got {got!r}",
    # map file
    "map-json": "invalid JSON: {why}",
    "map-key-twice": "invalid JSON: key {key!r} occurs twice",
    "map-constant": "invalid JSON: {got} is not a number of JSON",
    "map-object": "{key} must be an object, got {got}",
    "map-keys": "{key} has unknown keys: {got:list} (choose from {known:list})",
    "map-list": "{key} must be a list, got {got}",
    "map-text": "{key} must be text of 1 to {limit:count} characters, got {got!r}",
    "map-name-twice": "{key}: {side} operator {name!r} is paired already",
    "map-reason": "{key}.reason is missing: say why the error is tolerated",
    "map-missing-reason": "{key}.reason is missing: say why the tensors may be missing",
    "map-dont-care-reason": "{key}.reason is missing: say why these elements are undefined",
    "map-region": "{key} needs either behind (with axis) or where_zero",
    "map-slot": "{key} must be 'input.N' or 'output.N', got {got}",
    "map-number": "{key} must be a whole number from 0 on, got {got}",
    "map-whom": "{key} needs a name or an op_type (name '*': every operator)",
    "map-error": "{key} must be a number above 0, got {got!r}",
    "map-patterns": "{got:count entry/entries} with wildcards or types exceed the limit of {limit:count}",
    # operators written to a folder
    "operator-json": "not an operator file: {why}",
    "operator-key": "not an operator file: key {key} is missing",
    "operator-results": "{got} are not results of {ops:count operator}",
    "operator-dtypes": "dtypes must name tensors, got {got!r}",
    "operator-npy": "not an npy file: {why}",
    "operand": "an operand must be a tensor or a constant, got {got}",
    # watched memory
    "watched-statistics": "cannot check memory: only statistics were dumped",
}

_REASONS: dict[str, str] = {
    # why figures of a tensor decide nothing, or what its status rests on
    "cancelled": "not reached: comparison canceled",
    "unreadable": "{why}",
    "distrusted-target": "{target} (target)",
    "distrusted-golden": "{golden} (golden)",
    "distrusted-both": "{target} (target), {golden} (golden)",
    "distrusted-alike": "{target} (both)",
    "not-recovered": "no part of the tensor can be recovered",
    "digests-differ": "digests differ; no other statistic",
    "no-statistic": "the two sides have no statistic in common",
    "only-target": "only in the target",
    "only-golden": "only in the golden",
    "own-batch": "computed from the rank's own batch",
    "both-overflow": "both runs overflow here",
    "fusion-types": "{kernel} stands for several operators whose types the graph does not state",
    "producers-value": "compared with output.{slot} of {name} in the golden, which is this value",
    "same-value": "same value: {here} of the target, {there} of the golden",
    "left-out": "{count:count element} excluded: {why}",
    "left-out-masked-rows": "output.{slot} of {op_type} is undefined in fully masked rows",
    "left-out-behind-groups": "output.{slot} of {op_type} is undefined behind the last group",
    "left-out-behind-count": "output.{slot} of {op_type} is undefined behind its valid entries",
    "left-out-masked-scores": "scores that the mask strikes out: Softmax gives 0 there on both sides",
    "left-out-unchosen": "the network takes the other branch there on both sides",
    "left-out-map": "undefined according to the map file: {why}",
    "left-out-clause": "{count:count element} of {tensors:count tensor} excluded as meaningless",
    "reads-left-out": "differs, and may depend on undefined values",
    "after-update": "value after the update",
    "no-effect": "differs here, but all its consumers agree",
    "tolerated": "tolerated up to {limit:g} by the map file: {why}",
    "figure-missing": "profile {profile} needs {figure}, which the statistics do not have",
    "limits": "not met: {limits:list}",
    "non-finite": "{counts:list}",
    "non-finite-both": "{counts:list}; NaN never counts as equal",
    "non-finite-apart": "non-finite values differ",
    "non-finite-count": "{count:count} {kind} ({side})",
    # of other tools' tables
    "tool-unmatched": "unmatched",
    "tool-silent": "{tool} states no verdict",
    "tool-limits": "not met: {limits:list}",
    "tool-limit": "{limit} (is {got:number})",
    "tool-said": "{said}; {why}",
    "tool-digest": "a digest is missing",
    "tool-unmeasured": "nothing was measured: no figure",
    "tool-cells": "nothing was measured: {cells:list 4}",
    "tool-nan": "{figures:list} is NaN",
}

_ANOMALIES: dict[str, str] = {
    "other-run": (
        "the IR names {known} of {files:count dumped operator}: it belongs to another run and is not used"
    ),
    "file-number": "its files and operator lists call it {name!r}",
    "renumbered": "files are named {file!r}; matched by the order of the IR listing",
    "ambiguous": "{count:count operator} of the graph share this file name, but there are fewer files",
    "not-in-graph": "not in the graph: left from another run or another graph",
    "twice": "{where} of this execution exists already",
    "several-runs": "{where}: the folder holds {count:count execution} more than a second apart",
    "several-runs-place": "graph {graph}, iteration {iteration}",
    "no-such-operator": "the map file names an operator that this dump does not have",
    "no-operator-fits": "no operator fits this entry of the map file",
    "ignored": "ignored by the map file",
    "ignored-why": "ignored by the map file: {why}",
    "mislabelled": "{where}: labelled {label}, holds {real} data",
    "oversized": "{where}: labelled float16, holds twice the bytes: float32 data",
    "unused": "{where}: nothing reads this output; kernels leave its memory as it was",
    "unwritten": "{where}: the CPU kernel of {op_type} does not write output.{slot}",
    "dont-care-reserved": "{where}: output.{slot} of {op_type} is reserved memory; its values mean nothing",
    "dont-care-rng-state": "{where}: output.{slot} of {op_type} is the state of random numbers, each device's own",
    "rewritten": "{where}: dumped after the operator has updated it",
    "rewritten-name": "{where}: {name} is dumped after the operator has updated it",
}

_MAP: dict[str, str] = {
    "map-side": "{name} in the {side}",
    "map-tolerance": "{which} may be off by {limit:g}",
    "map": "{pairs} pairs, {groups} groups, {ignored} ignored, {tolerated} tolerated",
    "map-behind": "{which}: output.{slot} behind {held}",
    "map-zero": "{which}: output.{slot} where {held} is zero",
    "map-dont-care": (
        "{pairs} pairs, {groups} groups, {ignored} ignored, {tolerated} tolerated, {missing} may be missing, "
        "{excluded} undefined"
    ),
    "map-missing": "{pairs} pairs, {groups} groups, {ignored} ignored, {tolerated} tolerated, {missing} may be missing",
    "rule-of-tool": "matched by {rule}",
    "rule-none": "no rule matches it",
    "grade": "fail if error {limits:or}",
    "grade-factor": "> {limit:g} × expected rounding error",
    "grade-error": "> {limit:g}",
}

_REPLAY: dict[str, str] = {
    # why an operator cannot be replayed
    "random": "{op_type} draws random numbers",
    "overflow-status": "{op_type} reads the overflow status of the device",
    "other-ranks": "{op_type} needs tensors of other ranks",
    "int8-step": "it converts to or from int8, and its scale is not in the dump",
    "no-kernel": "{op_type} has no reference kernel",
    "no-network": "the golden has no graph of the network",
    "names-only": "the golden's graph has only names",
    "kernel-input": "an input of the kernel is not matched in the golden",
    "fusion-unknown": "unknown fused kernel {kernel}",
    "fusion-inputs": "fused kernel {kernel} has {more:count input} too many",
    "neither": "{first}; {second}",
    "no-match": "it has no matched golden operator",
    "outputs-not-dumped": "its outputs were not dumped",
    "input-not-dumped": "input.{slot} was not dumped",
    "input-updated": "input.{slot} was dumped only after the update",
    "inputs-unknown": "its inputs are not known",
    "inputs-partial": "only a part of its inputs was dumped",
    "inputs-unfit": "its inputs do not fit: {why}",
    "input-missing": "input.{slot} is not known",
    "golden-deviates": "the golden's kernel deviates from the reference as well",
    "not-real": "kernels compute with real numbers, not with {dtype}",
    # what was assumed
    "assumed-golden": "input.{slot} was not dumped; golden value used",
    "assumed-model": "{name} was not dumped; weight of the model used",
    "assumed-network": "computed as the golden network does, with its weights",
    "assumed-zeros": "{name} was not dumped; zeros assumed as its initial value",
    "assumed-ones": "{name} was not dumped; ones assumed as its initial value",
    # what explains an error
    "floor-ulp": "one rounding of the result",
    "floor-bound": "rounding inside the kernel",
    "floor-model": "the precision of the device",
    # facts of a result
    "model": "{device}, {mode}",
    "model-hf32": "{device}, {mode}, HF32 in products: {products}, in convolutions: {convolutions}",
    "model-float32": "float32",
    "models": "{models:list}",
    "replayed": "{done} of {whole:count dumped operator} ({share:percent})",
    "replayed-not": "{done} of {whole:count dumped operator} ({share:percent}); not: {left:clauses}",
    "replayed-left": "{count:count} × {why}",
    "between-runs": "within what repeated runs of the target differ by",
    "repeats": "{parts:semicolons}",
    "repeat-operators": (
        "at least {count:count operator} not deterministic ({runs:count repeat}), the largest difference between runs "
        "{error:number} at {op_name}"
    ),
    "repeat-steady": "no operator differs between runs with equal inputs ({runs:count repeat})",
    "repeat-within": (
        "{count:count tensor} beyond expected rounding, within {factor:number} × the difference between runs"
    ),
    "repeat-run": "{path}: {why}",
    "repeat-other": (
        "not used: it is no run of the same network; {compared:number} of {due:count tensor} of the target compared"
    ),
    "repeat-input": "not used: it reads other data; {op_name} {io}.{slot} differs",
    "repeat-target": "not used: it is the target itself",
    "repeat-golden": "not used: it is the golden itself, or equal to it in every bit",
    "repeat-twice": "not used: given twice",
    "repeat-equal": (
        "not used: equal to the target in every bit (a copy, or a target that is deterministic); it shows no noise"
    ),
    "repeat-device": "not used: it ran on another device ({got}, the target on {target})",
    "repeat-nothing": "not used: no difference counts as noise; first {op_name}: {why}",
    "repeat-uncounted": "{count:count differing tensor} not counted as noise; first {op_name}: {why}",
    "repeat-lacks": "{count:count tensor} of the target missing",
    "repeat-ranks": "it receives data of other ranks",
    "repeat-types": "its tensors have other dtypes than the target's",
    "repeat-changed": "its inputs differ, and no operator before it explains that",
    "repeat-undumped": "its inputs were not dumped in both runs (dump inputs and outputs)",
    "repeat-alone": (
        "{count:count operator} wrong in the target alone and not in its other runs, first {op_name}: "
        "no noise, and no defect of every run"
    ),
    "envelope": "{parts:semicolons}",
    "envelope-beyond": (
        "first beyond the envelope: {op_name} {io}.{slot}, {times:number} × what rounding of the inputs moves; "
        "{count:count} of {known:count tensor} exceed {factor:number} ×, which is no rounding"
    ),
    "envelope-below": (
        "{count:count tensor} below the envelope (up to {factor:number} ×): a local fault there is not excluded"
    ),
    "envelope-missing": "{count:count tensor} without an envelope",
    "envelope-unknown": (
        "the envelope is of another network or run: it has {known:count} of {count:count tensor} that were compared"
    ),
    "replay-spared": "not computed: nothing differs",
    "forecast": "{count:count tensor}, computed as on {models:list}",
}

_CONCLUSIONS: dict[str, str] = {
    # what the walk through the data flow found an operator to be, by the rule that decided
    "conclusion-hands-cause-on": "moves data only; a difference of its inputs is passed on",
    "conclusion-both-overflow": "both runs overflow here or upstream; not judged",
    "conclusion-inherits": "an input is wrong already; the error comes from upstream",
    "conclusion-own-batch-differs": "computes from the rank's own batch, but a named difference or new NaN shows",
    "conclusion-own-batch": "computes from the rank's own batch; not judged",
    "conclusion-computes-with-cause": "first operator that computes with an input that differs",
    "conclusion-born-unread": "NaN or Inf made before it; its own output agrees",
    "conclusion-within-expected": "error within the expected error",
    "conclusion-named-difference": "error above the expected error, and a named difference explains it",
    "conclusion-version-matter": "the two framework versions are known to differ here",
    "conclusion-sizes-differ": "element counts of an output differ",
    "conclusion-cleared-by-replay": "error above the limit, but replay reproduces it from the target's inputs",
    "conclusion-exceeds-expected": "error above the limit, and no input is wrong",
    "conclusion-within-limit": "error above the expected error, but within the limit; no named difference",
    "conclusion-may-be-fused": "error above the limit, but the kernel may do the work of operators behind it, too",
    "conclusion-given-differs": "a weight, feed or setting that it reads differs",
    "conclusion-given-misfit": "it has no result for a number that it read: what gave it is off there",
    "conclusion-given-apart": "a weight or feed that it reads differs by what fewer bits explain",
    "conclusion-from-unseen": "an input differs of which the producer was not dumped",
    "conclusion-behind-undecided": "error above the limit, but an operator before it is undecided",
    "conclusion-input-unlike": "error above the limit, but an input is not what its producer gave",
    "conclusion-misread": "an input is far from what its producer gave, but the result shows nothing of it",
    "conclusion-stored-narrow": "error above the limit, but explained by a format in which most results lie",
    "conclusion-format-unknown": "error above the limit, but no larger than that of other matrix products",
    "conclusion-inputs-unknown": "error above the limit, but what it read was not dumped",
    "conclusion-figures-alone": "error above the limit, but of what it read only statistics were dumped",
    "conclusion-order-unknown": "error above the limit, but the order of operators is unknown",
    "conclusion-own-error": "replay with the target's inputs does not reproduce the output",
    "conclusion-tolerated": "error above the limit, tolerated by the map file",
    "conclusion-at": "error attributed to {name}",
    "figures": (
        "relative error {error:number}, limit {limit:number} "
        "(expected error {explained:number}, rounding {floor:number})"
    ),
    "figures-none": "no output was compared (expected error {explained:number}, rounding {floor:number})",
    "carries": "input.{slot}: error {error:number}",
    "carries-unmeasured": "input.{slot}: not compared, error up to {error:number}",
    "carries-wrong": "{said}, wrong upstream",
    "carries-own": "{said}, from the rank's own batch",
    "carries-earlier": "{said}, from an earlier step",
    "carries-unseen": "{said}, {count:count upstream operator} not dumped",
    "carries-cause": "{said}: {causes:clauses}",
}

SENTENCES: dict[str, str] = {
    **_ERRORS,
    **_REASONS,
    **_ANOMALIES,
    **_MAP,
    **_REPLAY,
    **_CONCLUSIONS,
    **EVIDENCE,
    **FAULTS,
}
