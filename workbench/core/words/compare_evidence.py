"""Evidence of findings, and the sentence of a comparison: name → words. Values of target and golden in this order."""

from __future__ import annotations

_DIFFERENCES: dict[str, str] = {
    "setting": "{name} differs: {target} (target), {golden} (golden)",
    "setting-input": "input.{slot} ({name}) differs: {target} (target), {golden} (golden)",
    "given": "{name} differs: relative difference {error:number}",
    "given-exact": (
        "{name} differs: {unequal:count} of {size:count element} unequal (integers are exact); "
        "first at {at}: {target} (target), {golden} (golden)"
    ),
    "given-local": (
        "{name} differs locally: {worst} is off by {error:number} of its own scale, "
        "{times:number} × expected rounding; {slices}"
    ),
    "given-input": "input.{slot} ({name}) differs: relative difference {error:number}",
    "given-nan": "input.{slot} ({name}): {count:count} NaN on both sides",
    "format": "output.{slot} has another number format: {target} (target), {golden} (golden)",
    "constant-instead": "input.{slot} is a constant (target), {golden} (golden)",
    "wiring": "input.{slot} reads {target} (target), {golden} (golden)",
    "replaced": "operators differ: {target:list 4} (target), {golden:list 4} (golden)",
    "inserted": "only in the target: {target:list 4}",
    "removed": "only in the golden: {golden:list 4}",
    "overwritten": "input.{slot} was overwritten after its producer wrote it",
    "overwritten-by": (
        "input.{slot} was overwritten after its producer wrote it; operators in between: {names:list 3}"
    ),
    "updated-by-target": "only the target updates {name} ({op_name})",
    "updated-by-golden": "only the golden updates {name} ({op_name})",
    "initial-value": "{name} differs after its first update while everything else agrees: other initial value",
    "differs-at-start": "{name} differs already at the start of iteration {iteration}, the first in both dumps",
    "golden-error": "replay reproduces the target: the golden is wrong here",
    "golden-error-by": (
        "replay reproduces the target: the golden is wrong here (its local error is {error:number})"
    ),
    "golden-unlike": (
        "replay with the target's attributes reproduces the target; the golden computes something else here and has no "
        "graph of its own that tells its attributes"
    ),
    "other-weights": "replay with the weights of the golden network differs by {error:number}: the target has others",
    "weight-beyond-range": (
        "{name} reaches {golden:number}, beyond the maximum of {dtype} ({limit:.6g}): "
        "the target has another number for it"
    ),
    "few-elements": "{name} differs in a few elements, as the operator reads it",
    "version": "the two MindSpore versions estimate the moving statistics of BatchNorm differently",
}

_ORIGINS: dict[str, str] = {
    "integers-from": "reads int8 of {names:list}, which cannot be compared: the error may come from there",
    "stands-for": "compiled from {names:list}",
    "exact-differs": (
        "{where}: {unequal:count} of {size:count element} unequal (integers are exact); "
        "first at {at}: {target} (target), {golden} (golden)"
    ),
    "error-none": "{where}: equal to the golden",
    "error-alone": "{where}: relative error {error:number}",
    "error": "{where}: relative error {error:number}, {times:number} × expected rounding error ({floor:number})",
    "mismatch": (
        "{where}: {count:count non-finite mismatch/non-finite mismatches} "
        "(target: {target_nan:count} NaN, {target_inf:count} Inf; "
        "golden: {golden_nan:count} NaN, {golden_inf:count} Inf)"
    ),
    "below-range": (
        "{count:count} numbers that it reads are 0; the golden has up to {golden:number} there, below the smallest "
        "normal number of {dtype} ({limit:.3g})"
    ),
    "beyond-range": "the golden reaches {golden:number}, beyond the maximum of {dtype} ({limit:.6g})",
    "input-difference": "max input difference {error:number}",
    "replay-exact": "replay with the target's inputs and attributes reproduces {where} exactly: kernel correct",
    "replay-matches": (
        "replay with the target's inputs and attributes reproduces {where}: kernel correct "
        "(difference {error:number}, explained by {reason})"
    ),
    "change-rounded": "weight: the {side} is the other side rounded to {dtype}, bit for bit",
    "change-truncated": "weight: the {side} is the other side truncated to {dtype}, bit for bit",
    "change-transposed": "weight: transposed (axes {axes:list})",
    "change-zeroed": "weight: zero in the {side} along axis {axis} at {rows:list}; all else agrees",
    "change-exchanged": (
        "weight: {count:count} rows along axis {axis} in another order "
        "(row {row} is row {other} of the golden)"
    ),
    "change-permuted": "weight: the same elements in another order",
    "change-scaled": "weight: scaled by {factor:.6g}",
    "change-quantized": "weight: the {side} is quantized to {bits} bits ({levels} levels)",
    "change-uncorrelated": (
        "weight: no correlation with the golden ({correlation:number}); compare checkpoints and layouts"
    ),
    "born-of-element": (
        "element {at}: {target:number} (target), {golden:number} (golden), while all that it was computed from agrees; "
        "{op_type} {reader} has no result for it"
    ),
    "born-non-finite": (
        "{op_type}: {count:count} NaN or Inf, all inputs finite (largest magnitude {largest:number})"
    ),
    "born-in-golden": (
        "golden {op_type} ({name}): {count:count} NaN or Inf, all inputs finite "
        "(largest magnitude {largest:number})"
    ),
    "replay-non-finite": "replay differs at {where}: non-finite on one side only",
    "replay-outlier": (
        "replay differs at {where} by {error:number}; {elements}; all other operators of its type are bit-identical"
    ),
    "replay-differs": (
        "replay differs at {where} by {error:number}: {times:number} × expected rounding error; {elements}"
    ),
    "replay-differs-alone": "replay differs at {where} by {error:number}; {elements}",
    "replay-local": (
        "replay differs at {where} locally: {worst} is off by {error:number} of its own scale, "
        "{times:number} × expected rounding; {slices}; {elements:count} of {size:count element} beyond rounding"
    ),
    "slice-index": "index {index} of axis {axis}",
    "slice-tile": "the 16 × 16 tile at {begin}",
    "slices-axis": "{count:count} of {whole:count} indices of axis {axis} wrong",
    "slices-tiles": "{count:count} of {whole:count} tiles wrong",
    "replay-not-exact": "replay differs at {where} by {error:number}; it should be exact",
    "place-output": "output.{slot}",
    "place-updated": "updated input.{slot}",
    "all-elements": "all elements differ",
    "some-elements": "{percent:number} % of elements differ",
    "store-format": (
        "the whole run computes like {format}: {count:count} of {whole:count replayed operator} give {format} values "
        "where the graph says {stated}"
    ),
    "store-format-cut": (
        "the whole run computes like {format} with truncation: {count:count} of {whole:count replayed operator} cut "
        "bits off instead of rounding, where the graph says {stated}"
    ),
    "store-cut": (
        "truncation instead of rounding: {count:count} of {whole:count replayed operator} cut off the bits that "
        "{format} has no room for"
    ),
    "factor-run": (
        "the whole run is off by a common factor of {factor:.6g} ± {half:number}: {count:count} of "
        "{whole:count replayed operator}"
    ),
    "factor-type": (
        "{count:count} of {whole:count} {op_type} operators are off by a common factor of {factor:.6g} ± {half:number}"
    ),
    "factor-single": (
        "all elements are off by a common factor of {factor:.6g} ± {half:number}, "
        "{certainty:number} standard deviations from 1; below expected rounding error"
    ),
    "likely": "likely cause: {text} (confidence {probability:percent})",
    "not-identified": "cause not identified: {text}",
    "not-tried": "{text}; not tried, too expensive: {kinds:list}",
    "steps": "quantization steps of {size:number} explain an error of {error:number} in its input",
    "ranks-some": "on rank {mine:list}, not on rank {others:list}",
    "ranks-all": "on all ranks: {mine:list}",
    "ranks-needed": "needs tensors of ranks that were not compared: the error may be theirs",
    "turn": "turn {turn} of several executions in one iteration (the first is 0)",
    "time-order": "no graph: operators follow the order of time, so this may be a consequence",
    "trust-borrowed": "one side has no graph of its own: wiring and attributes are the other side's",
    "trust-inferred": "no graph: wiring inferred from tensors with equal bytes",
    "trust-none": "no graph on either side",
    "trust-order-unknown": "the order of the operators is unknown",
    "trust-statistics": (
        "only statistics: reordered elements do not show, so an operator before it may be the wrong one"
    ),
    "undecided": "No verdict at {operator}",
    "undecided-at": "undecided at {operator}",
    "undecided-supply": "supply a missing graph of the run (--target-graph FILE), or dump all operators in full",
    "undecided-given-misfit": "it has no result for a number that it read: what gave it is off there",
    "undecided-given-apart": "a weight or feed differs: the device may hold it in fewer bits, or it is another one",
    "undecided-from-unseen": "an input of which the producer was not dumped differs: the error comes from before",
    "undecided-behind-undecided": "an operator before it is undecided: the error may come from there",
    "undecided-may-be-fused": (
        "operators behind it are missing in the target: its kernel may do their work, too, and give another value"
    ),
    "undecided-input-unlike": (
        "an input differs from what its producer gave: memory was overwritten, or the programs are wired differently"
    ),
    "undecided-format-unknown": (
        "the other matrix products of the target are off by as much: the device may compute them in fewer bits than "
        "files say"
    ),
    "undecided-stored-narrow": (
        "its numbers lie in a 16-bit format, as those of most operators do: the run may compute in fewer bits than "
        "files say"
    ),
    "undecided-inputs-unknown": "what it read was not dumped: the error may come from before",
    "undecided-figures-alone": "only statistics of what it read: they do not show how far its elements differ",
    "undecided-order-unknown": "nothing says which operator comes first: the error may come from before",
    "exchanged": (
        "{ours} and {theirs} hold each other's values: the files are exchanged, or the operators are matched crosswise"
    ),
    "tensor-of": "{io}.{slot} of {op_name}",
    "golden-damaged": (
        "golden's input.{slot} is not what {producer} gave there: the golden cannot be trusted here"
    ),
    "golden-line": "golden's source: {file}:{line} {code}",
    "wired-unlike": (
        "the programs are wired differently: input.{slot} does not hold what {producer} gave, which the graph of the "
        "other run reads here"
    ),
    "wired-to": (
        "the programs are wired differently: input.{slot} holds the bytes of {instead}, not of {producer}, which the "
        "graph of the other run reads here"
    ),
    "from-before": "{inputs:list} not dumped in the target: the error may come from there",
    "unseen": "{count:count upstream operator} not dumped on both sides",
    "further": "same at {count:count further operator}: {names:list 3}",
    # operators behind one whose statistics differ
    "producer": "its statistics agree, but those of {reader}, which reads it, differ",
    "producer-hidden": "exchanged elements do not show in its own statistics",
    "producer-exchanged": (
        "with the channels of {inputs:or} exchanged (c and c xor {distance}), replay of {reader} gives exactly the "
        "dumped statistics"
    ),
    "input-name": "input.{slot}",
}

_MEMORY: dict[str, str] = {
    "writes": "overwrites output {slot} of {op_type} {op_name}, which {reader} reads",
    "writes-later": "overwrites output {slot} of {op_type} {op_name}, which {reader} reads later",
    "writes-result": "overwrites output {slot} of {op_type} {op_name}, which is a result",
    "changed": (
        "output {slot} of {op_type} {op_name} has changed after {after}; no graph tells whether it is still needed"
    ),
    "changed-last": (
        "output {slot} of {op_type} {op_name} has changed after {after}; {reader} was the last to read it"
    ),
    "changed-unread": "output {slot} of {op_type} {op_name} has changed after {after}; nothing reads it",
    "span": "{span} changed; unchanged after {since}",
    "bytes": "bytes {first} to {last} of {size}",
    "bytes-at": "bytes {first} to {last} of {size} at {address:#x}",
    "bytes-some": "{count:count byte} between {first} and {last} of {size}",
    "bytes-some-at": "{count:count byte} between {first} and {last} of {size} at {address:#x}",
    "at-beginning": "at its beginning, as if an operator had written past the end of a buffer below it",
    "not-checked": "not checked after {names:list 3}: one of these may have written it",
    "same-again": (
        "same in {count:count further output or iteration/further outputs or iterations}"
    ),
    "watched": "{op_name}: {evidence:clauses}",
    "damaged": "its content is not what was written; unchanged after {since}",
    "damaged-places": (
        "{count:count} of {size:count element}, from {first} to {last}, are not what was written; "
        "unchanged after {since}"
    ),
    "damaged-inferred": (
        "{count:count} of {size:count element}, from {first} to {last}, are not what was written, "
        "as the results of its reader show; unchanged after {since}"
    ),
    "bytes-of-output": "the bytes are those of its output",
    "one-of-writers": "one of {count:count operator} that ran from then to {reader} (confidence {chance:percent})",
    "one-of-many-writers": "one of {count:count operator} that ran from then to {reader}; which one is not known",
    "other-writers": "possible instead: {others:or}",
    "writer": "{op_name} ({chance:percent})",
    "writes-more": "overwrites {count:count further output}: {names:list 3}",
}

_RUNS: dict[str, str] = {
    "iteration": "iteration {number}",
    "iterations": "iterations {numbers:list 8}",
    "iterations-range": "iterations {first}-{last}",
    "divergence": "{parts:clauses}",
    "agree-before": "no difference in {iterations}",
    "divergence-at": "first divergence: iteration {iteration}, {part}",
    "start-differs": "parameter readings that differ at its start: {failed:count} of {tensors:count}",
    "start-equal": "parameters are equal at its start",
    "start-agrees": "parameters agree at its start (max difference {error:number})",
    "agree-after": "outputs agree again in {iterations}",
    "parameters-later": (
        "from iteration {iteration} on parameters differ (readings: {failed:count} of {tensors:count})"
    ),
    "tensors-later": "propagated from iteration {iteration} on (tensors: {failed:count} of {tensors:count})",
    "ended": "the run ended here: {op_name} is the last dumped operator",
    "cut-short": "the dump ends here: {op_name} is the last dumped operator",
    "golden-goes-on": "{count:count operator} from here on only in the golden",
    "end-unknown": "whether the run ended or no more was selected is not known",
    "exception-dump": "the dump has an exception dump",
    "exception-dump-of": "the dump has an exception dump of {op_name}",
    "dumped-beyond": "iteration {iteration}, turn {turn} was dumped beyond it",
    "long-list": (
        "all {count:count operator} before it were dumped, which needs a list of {listed:count name} and scopes"
    ),
    "flushed": (
        "gradients of {op_name} flushed to zero: {zeros:count} of {size:count element} ({golden:count} in the golden); "
        "float16 has no number below {least:number}"
    ),
    "overflow": "gradient overflow: {flag} raises its flag in {iterations} of the {side} only",
    "overflow-both": "both runs overflow in {iterations}: {target} raises its flag",
    "overflow-both-apart": "both runs overflow in {iterations}: {target} (target), {golden} (golden) raise their flags",
    "step-skipped": "step skipped: {count:count parameter update} missing",
    "step-skipped-unchanged": (
        "step skipped: {count:count parameter update} missing, {unchanged} of {known:count parameter} unchanged "
        "in the next iteration"
    ),
    "ranks-apart": "ranks {ranks:list} differ from each other in {name} of iteration {iteration}; all must be equal",
    "ranks-apart-from": (
        "ranks {ranks:list} differ from {others:list} in {name} of iteration {iteration}; all must be equal"
    ),
    "rank-apart-from": (
        "rank {ranks:list} differs from {others:list} in {name} of iteration {iteration}; all must be equal"
    ),
    "output-of": "output.{slot} of {op_name}",
    "two-jobs": (
        "rank {target} of one job is compared with rank {golden} of another, and ranks are fed batches of their own: "
        "compare each rank with the same one (--rank {target}:{target})"
    ),
    "own-batches": "ranks {target} and {golden} of one job train on batches of their own",
    "own-batches-fed": "ranks {target} and {golden} of one job train on batches of their own: {names:list 4} differ",
    "own-batch-rows": "{count:count tensor} of the ranks' own batches not judged",
}

_FACTS: dict[str, str] = {
    "formats-differ": "{count:count operator} in different number formats",
    "largest-error": "largest relative error of a compared tensor: {error:number}",
    "int8-layers": "{count:count int8 layer}; in {op_name}, {steps}",
    "outputs-unknown": "its outputs are not in both dumps",
    "inputs-differ": "its inputs differ already: its local error is not known",
    "outputs-differ": "its outputs differ, but all their consumers agree",
    "outputs-agree": "its outputs agree",
    "unmatched-target": "{count:count tensor} only in the target",
    "unmatched-golden": "{count:count tensor} only in the golden",
    "unmatched": "{target:count tensor} only in the target, {golden:count} only in the golden",
    "all-parameters": "all are Parameter files, which not every device and release writes",
    "all-constants": "all are constants, which not every device and release writes",
    "all-both": "all are Parameter files and constants, which not every device and release writes",
    "advice-release": "Expected if device or MindSpore release differ; no action.",
    # what a dump lacks, and the next step
    "lacks-upstream": "{count:count upstream operator} not dumped, it may be one of them",
    "lacks-all": "it was not dumped",
    "lacks-tensors": "only its statistics were dumped",
    "lacks-inputs": "its inputs were not dumped",
    "lacks-some": "its input {slots:list} was not dumped",
    "lacks": "{op_name}: {why}",
    "next-dump": (
        "{advice} Dump it with its producers and consumers (compare --next-config FILE): {lacking}."
    ),
}

_SENTENCE: dict[str, str] = {
    "sentence": "{clauses:clauses}.",
    "divergent": "First divergent operator: {operator}",
    "run-ended": "Run ended at {operator}",
    "ranks-diverge": "Ranks diverge at {operator}",
    "memory-overwritten": "Memory overwritten by {operator}",
    "operator": "{op_type} {op_name}",
    "operator-named": "{op_name}",
    "operator-at": "{operator} ({file}:{line} {code})",
    "line-candidate": "{line} (candidate line)",
    "line-forward": "{line} (line of the forward operator)",
    "operator-at-candidate": "{operator} (candidate line {file}:{line} {code})",
    "operator-iteration": "{operator} in iteration {iteration}",
    "operator-rank": "{operator} on rank {rank}",
    "last-dumped": "{op_name} is the last dumped operator",
    "first-non-finite": "first NaN or Inf",
    "not-explained": "not explained by inputs or attributes",
    "local-error": "local error {times:number} × expected rounding error",
    "downstream": "{count:count downstream operator} affected",
    "tensors-differ": "{failed:count} of {compared:count tensor} failed",
    "agreement": "No divergent operator: {counts:list}",
    "agreement-partly": "no divergent operator in the rest: {counts:list}",
    "incomplete": "Not compared: {gaps:list}",
    "incomplete-too": "not compared: {gaps:list}",
    "gap-outputs": "{count:count network output} ({names:list 3})",
    "gap-unmatched": "{count:count tensor} only in the {side}",
    "gap-iteration": "{count:count tensor} of iterations that only the {side} has",
    "gap-rank": "{count:count tensor} of ranks that only the {side} has",
    "gap-pairs": "{count:count pair} of tensors without usable data",
    "gap-skipped": "{count:count tensor} of the {side} left out ({reason})",
    "gap-at": "{gap}: {names:list 3}",
    "gap-share": "compared: {compared:count} of {target:count tensor} (target), of {golden:count} (golden)",
    "agreement-tolerated": "No operator exceeds the tolerances of the map file: {counts:list}",
    "compared": "{count:count tensor} compared",
    "count-equal": "{count:count} equal",
    "count-pass": "{count:count} within the expected rounding error",
    "count-warn": "{count:count} above it but explained by their inputs",
    "count-uncomparable": "{count:count} not comparable",
    "count-between-runs": "{count:count} within the difference between runs",
    "count-tolerated": "{count:count} tolerated by the map file",
    "nothing-dumped": "nothing dumped from {op_name} on",
    "formats-explain": "different number formats: rounding explains the differences",
    "stopped": "comparison canceled before its end",
    "stopped-left": "comparison canceled before its end, {left:count} of {tensors:count tensor} not reached",
    "nothing": "Nothing compared: {why}",
    "nothing-yet": "Nothing compared yet",
    "nothing-judged": "No verdict yet: {count:count tensor} measured, none judged",
    "nothing-common": "the dumps have no tensor in common",
    "nothing-own": "all common tensors ({count:count}) come from the ranks' own batches",
    "nothing-usable": "all common tensors ({count:count}) are unreadable or distrusted",
    "absent": "{what} {number} not found (available: {known:list 8})",
    "absent-side": "{what} {number} not found in the {side} (available: {known:list 8})",
    "absent-empty": "{what} {number} not found in the {side}: it has no tensors",
}

EVIDENCE: dict[str, str] = {
    **_DIFFERENCES,
    **_ORIGINS,
    **_MEMORY,
    **_RUNS,
    **_FACTS,
    **_SENTENCE,
}
