"""What `workbench.cli` says beside its help, which stands at the options: name → sentence."""

from __future__ import annotations

SENTENCES: dict[str, str] = {
    # errors
    "error": "error: {why}",
    "two-numbers": "--{name} must be N or N:M, e.g. 0 or 0:1; got {got!r}",
    "said-twice": "{option} is also set in {file}",
    "options-left": "{file}: no effect in the simulation: {names:list}",
    "schedule": "--schedule must be places of graphs, e.g. 0,1,0; got {got!r}",
    "variable": "--env must be NAME=VALUE, got {got!r}",
    "path": "cannot use {got!r}: {why}",
    "stream": "cannot write to {name}: {why}",
    "io": "input or output failed: {why}",
    "memory": "not enough memory: {why}",
    "interrupted": "interrupted",
    "demo-missed": "the injected fault was not found",
    # compare
    "coverage": (
        "{side}:  {tensors:count tensor} = {matched:count} matched + {unmatched:count} unmatched + "
        "{skipped:count} skipped"
    ),
    "coverage-reasons": "{said} ({reasons:list})",
    "coverage-reason": "{count:count} {reason}",
    "finding": "{number}. [{kind}] {name}",
    "finding-when": "{said} ({parts:list})",
    "finding-iteration": "iteration {iteration}",
    "finding-rank": "rank {rank}",
    "next": "Next: {advice}",
    "model": "{side} model {name}: {detail}",
    "override": "map file: {kind} {what}: {tensors:count tensor}",
    "override-unused": "map file: {kind} {what}: matches nothing",
    "anomalies": "{count:count anomaly/anomalies}: {kinds:list}",
    "anomaly-kind": "{count:count} {side} {kind}",
    "anomaly": "{side} {name}: {detail}",
    "verdict": "{verdict}: {sentence}",
    "no-next": "no defect: nothing to re-dump",
    "no-extract": "no defect: no operator to extract",
    "next-written": "{side}: {surface} configuration for {operators:count operator}: {path}",
    "report": "report: {path}",
    "explained": "{name} (iteration {iteration}) [{rule}]: {said:clauses}",
    "explained-rank": "{name} (iteration {iteration}, rank {rank}) [{rule}]: {said:clauses}",
    "stage-time": "{name}: {seconds:number} s",
    "stage-total": "total: {seconds:number} s",
    # convert
    "converted": "{files:count file} read, {written:count} written to {out}, {remarks:count remark}",
    "lost": "warning: {loss}",
    # golden
    "golden": (
        "{tensors:count tensor} ({bytes:bytes}, {engine}); next: workbench compare TARGET {out} --golden-graph {model}"
    ),
    # config check
    "problem": "{severity} [{id}] {said}",
    "problem-code": "{severity} {code} [{id}] {said}",
    # inspect
    "tree": "{path}: {layout}, {tensors:count tensor}",
    "tree-runs": "ranks {ranks}, iterations {iterations}",
    "graph": "graph {graph_id}: {name}, {operators:count operator}, {parameters:count parameter}",
    "graph-unknown": "{said}, {lines:count line} not understood",
    "tree-model": "model {name}: {detail}",
    "tree-kind": "{count:count} {kind}",
    "at": "{file}:{line}: {operators:count operator}",
    "at-none": "no operator at {file}:{line}",
    "overflow-none": "overflow: {name}, iteration {iteration}: the record reports none",
    "overflow": "overflow: {name}, iteration {iteration}: {unit}: {meaning:list}",
    "overflow-status": "overflow: {name}, iteration {iteration}: {unit}: status {status:list}",
    "overflow-file": "operator without a file (record {path})",
    "failed": "failed: {name} ({scene} scene), {path}",
    "failed-argument": "{role}: {dtype} {shape}, {bytes:count byte}",
    "failed-shapeless": "{role}: {dtype}, {bytes:count byte}",
    "no-dtype": "unknown dtype",
    "changed-memory": "changed memory, iteration {iteration}: {evidence}",
    "reused-memory": "reused memory, iteration {iteration}: {evidence}",
    "overwritten": "overwritten, iteration {iteration}: {after} {evidence}",
    "more": "… ({count:count} more)",
    # lab
    "lab-folder": "cannot copy the notebooks to {folder!r}: {file}: {why}; choose another folder",
    "lab-examples": "{folder!r} has no notebooks; reinstall the package",
    "lab-kept": (
        "kept {count:count file} of yours that differ from the originals: {names:list}; "
        "choose a new folder for fresh copies"
    ),
    "lab-port": "port {port} is not free ({why}); choose another or leave --port out",
    "lab-port-used": "in use",
    "lab-missing": "jupyterlab is not installed ({why}): pip install jupyterlab",
    "lab-ended": "JupyterLab ended with status {status}; see its messages above",
    "lab-root": "warning: running as root; notebooks run as root, too",
    "lab-place": "notebooks: {folder}",
    # noise that is measured
    "envelope": "envelope of {tensors:count tensor} ({runs:count run}): {path}",
    "repeats": "repeats: {said}",
    "repeat-operator": "not deterministic: {op_type} {op_name}, difference between runs {error:number}",
    "envelope-said": "envelope: {said}",
    "order-sum": (
        "{folder}: sum every row of probes.npy on the device and save the results, one a row, as outputs.npy beside it"
    ),
    "order-product": (
        "{folder}: multiply probes.npy by right.npy on the device and save the product (two columns) as outputs.npy "
        "beside them"
    ),
    "order-read": "{operator} {dtype}, {n:count term}: order measured, sums in {accumulator}; {path}",
    "order-unsure": (
        "{operator} {dtype}, {n:count term}: {equal:count} of {checks:count} random sums are reproduced; "
        "the order is not used; {path}"
    ),
    # demo
    "demo-folder": "{got!r} is not empty; choose another folder with --out",
    "demo-golden": "{model}: {ops:count operator} traced; the golden run is the NumPy reference",
    "demo-target": "the target run is the simulated {device} with an injected fault: {fault}",
    "demo-title": "Demonstration on a simulated NPU",
    # configurations
    "simulate-as": "simulating {surface} ({product} {version}) on {device}",
    "check-accepted": "accepted by {product} {version} as {surface}: {found:list}",
    "check-refused": "refused by {product} {version} as {surface}: {found:list}",
    "check-errors": "{count:count error}",
    "check-warnings": "{count:count warning}",
    "check-hints": "{count:count hint}",
    "check-none": "no problems",
}
