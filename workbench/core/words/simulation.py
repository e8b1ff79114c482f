"""What `workbench.simulation` says: name → sentence."""

from __future__ import annotations

SENTENCES: dict[str, str] = {
    # simulate
    "options-unknown": "options of the compiler name operators that are not in the network: {names:list}",
    "count": "{name} must be 1 or more, got {got}",
    "fault-iteration": "fault {fault} is set for iteration {got}, but iterations {first} to {last} run",
    "fault-rank": "fault {fault} is set for rank {got}, but the ranks are {known:list}",
    "no-network": "no network was given",
    "several-networks": "{surface} runs one network, got {names:list}",
    "other-surface": "the configuration is for {expected}, not for {got!r}",
    "other-surface-fix": "Convert the configuration first.",
    "plan-kind": "{surface} has no {got} dump (it has {known:list})",
    "overflow-device": "overflow detection needs a simulated device ({known:list}), not {got!r}",
    "overflow-device-fix": "The reference does not overflow.",
    "exception-device": "a detailed exception dump needs one of the devices {known:list}, got {got!r}",
    "exception-device-fix": "Use aic_err_norm_dump.",
    "captured": "mode 'max-autotune' alone is simulated; other modes capture operators one by one",
    "captured-fix": "Operator names are then known only to the framework's own run.",
    "feed": "no parameter is called {got!r} (parameters: {known:list})",
    "schedule": "{got} is not the place of a graph (0 to {last})",
    "schedule-empty": "the schedule names no graph",
    "ranks-limit": "at most {limit} ranks are simulated, got {got}; each holds a network and a thread",
    "rank-range": "rank {got} does not exist in a job of {ranks}; leave its variable out to dump all ranks",
    "rank-feeds": "the feeds of rank {rank} are missing ({got} given)",
    # what a simulated run reports
    "run-rank": "rank {rank}: {said}",
    "iterations-some": "{dumped:count} of {run:count iteration} dumped (selected: {asked})",
    "iterations-set": "{said}; set {key} to {value!r} to dump all",
    "run-nothing": (
        "no tensor was dumped: the run has no operator, iteration, rank, device or failure that the configuration "
        "selects; `config preview` shows which"
    ),
    "run-overflow-unseen": (
        "overflow in {names:list} not dumped: MindSpore looks for Inf and NaN in results, and these have none"
    ),
    "run-overflows": "{count:count overflow} in {names:list}",
    "run-no-overflow": "no operator overflowed",
    "run-failed": "the device failed at {op}; the run ended there",
    # what a preview knows
    "not-simulated": "{surface} watches the calls of a script, which no simulated device has",
    "inputs-of-several": "--input and --shape are for one network; {count} are given",
    "shape-of-traced": "--shape {name}: {network!r} has fixed shapes; --shape is for ONNX models",
    # envelopes
}
