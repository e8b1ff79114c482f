"""What `workbench.scale` says of jobs: name → sentence."""

from __future__ import annotations

SENTENCES: dict[str, str] = {
    "extra": "jobs need {missing}: pip install 'npu-accuracy-workbench[scale]'",
    "nothing-common": "no rank and iteration to compare on both sides: target has {target}; golden has {golden}",
    "numbers": "{name} must be 'all' or numbers, e.g. 0-7,12; got {got!r}",
    "no-unit": "no rank {rank} and iteration {iteration}: the job has ranks {ranks}, iterations {iterations}",
    "no-dumps": "only the result is here, not the dumps: run the job again, or read the unit's file with rows()",
    "json": "not a job result: {why}",
    "part-changed": "the tree changed while it was compared: {got}; run the command again",
    "folder": "{got!r} is the folder of another job; choose a new or empty folder",
    # layouts
    "joined-ranks": "--ranks {got} does not apply where ranks are joined: all of them are needed",
    "parallel-unknown": (
        "how {ranks:count rank} of the {side} share the network is not known; give its axes, e.g. tp=4,dp=2"
    ),
    "parallel-ranks": "{parallel} has {ranks:count rank}, but the {side} has ranks {got}",
    "layouts-unknown": (
        "how tensors lie on the ranks of the {side} is not known: give --layouts FILE, or a golden of one rank"
    ),
    "joined-option": "{option} does not apply where ranks are joined",
    "communication": "ranks meet there; the other side shares the network in another way",
    "own-shape": "shape of a rank's own part of the result, which is joined and compared",
    # units that fail
    "no-scheduler": "no dask scheduler at {got!r}: {why}",
    "scheduler-lost": "the dask scheduler is lost; finished units are kept: run the command again to continue",
    "killed": "worker lost {times} times, probably out of memory; give workers more memory",
    "raised": "internal error {kind}: {why}",
    # the sentence
    "said": "{clauses:clauses}.",
    "said-first": "First divergence: {ranks}, iteration {iteration}: {op_type} {op_name}",
    "said-first-source": "First divergence: {ranks}, iteration {iteration}: {op_type} {op_name} ({source})",
    "said-communication": (
        "First divergence: communication at {op_type} {op_name}, iteration {iteration}: {ranks} hold an error that no "
        "rank's input explains"
    ),
    "said-apart": "{ranks} differ from {others} after {op_name} in iteration {iteration}, where all must be equal",
    "said-apart-all": "no two ranks agree after {op_name} in iteration {iteration}, where all must be equal",
    "said-received": "{ranks} received it in iteration {iteration} at {op_name}",
    "said-carried": "{ranks} from iteration {iteration} on through updated weights",
    "said-origin": "also {ranks}, iteration {iteration}: {op_type} {op_name}",
    "said-open": "{ranks} differ at {op_name} in iteration {iteration}: inputs of other ranks were not compared",
    "said-error": "error {error:number}",
    "said-times": "error {error:number}, {times:number} × expected rounding error",
    "said-none-joined": (
        "No divergence: {units:count iteration} compared, ranks joined (target {target}, golden {golden}; "
        "iterations {iterations})"
    ),
    "said-finding": "{side}, iteration {iteration}, {op_type} {op_name} {io}.{slot}: {found}",
    "said-more-findings": "{count:count more finding} on ranks",
    "said-none": "No divergence: {units:count unit} compared ({ranks}, iterations {iterations})",
    "said-waiting": "{done:count} of {units:count unit} done",
    "said-failed": "{count:count unit} failed, first {rank}, iteration {iteration}: {reason}",
    "said-missing": "{count:count unit} missing on one side, first {side} rank {rank}, iteration {iteration}",
    "said-more": "{count:count more group/more groups}",
    "ranks": "{word} {ranks}",
    "ranks-node": "{word} {ranks} (all of node {node})",
    # the terminal
    "plan": "{units:count unit} ({ranks}, iterations {iterations}), {files:count file}, {bytes:bytes}",
    "plan-joined": (
        "{units:count iteration} ({iterations}), ranks joined (target {target}, golden {golden}), {files:count file}, "
        "{bytes:bytes}"
    ),
    "dashboard": "dashboard: {link}",
    "result": "result: {path}",
    "interrupted": "interrupted: {done:count} of {units:count unit} done; run the same command to continue",
    "group": "{number}. [{role}] {ranks}, iteration {iteration}: {op_type} {op_name}",
    "group-fed": "brought by {ranks}",
    "axes": "ranks joined: target {target}, golden {golden}; layouts {trust}",
    "ledger": "{side}, {tensors:count tensor}: {step}",
    "units": "{units:count unit}: {counts:list}",
    "count": "{count:count} {verdict}",
    "option": "{option} does not apply to a job (--out); compare one rank and iteration with it",
    "option-job": "{option} needs --out RESULT",
    # the map and the report
    "map-error": "log10 of the worst relative error",
    "map-verdict": "verdict",
    "map-first": "first divergence",
    "map-nonfinite": "non-finite mismatches",
    "map-missing": "tensors not compared",
    "map-rank": "rank",
    "map-iteration": "iteration",
    "map-command": "command that compares this unit",
    "report-title": "Job comparison",
    "report-partial": "Partial result: the job was interrupted.",
    "report-map": "Ranks and iterations",
    "report-map-of": "a cell is one rank in one iteration; click a cell for its comparison",
    "report-units": "{units:count unit}:",
    "report-groups": "Where ranks diverge",
    "report-groups-order": "earliest first",
    "report-iteration": "iteration {iteration}",
    "report-apart": "Ranks that should agree and do not",
    "report-differ": "Ranks that differ",
    "report-operator": "Operator",
    "report-failed": "Failed units",
    "report-reason": "Reason",
    "report-missing": "Missing on one side",
    "report-side": "Missing in",
    "report-of": "Side",
    "report-findings": "Findings on ranks",
    "report-found": "Finding",
    "report-joined": "How ranks were joined",
    "report-axes": "target {target}, golden {golden}; layouts {trust}",
    "report-step": "Step",
    "report-tensors": "Tensors",
    "role-origin": "First divergence",
    "role-communication": "Communication",
    "role-received": "Received from other ranks",
    "role-carried": "Carried by updated weights",
    "role-open": "Not decided",
}
