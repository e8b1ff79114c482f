"""What `workbench.forecast` says: name → sentence."""

from __future__ import annotations

SENTENCES: dict[str, str] = {
    "first-line": "{surface} ({product} {version}): {headline}",
    # preview
    "preview-graph": "a preview needs a graph",
    "preview-ge": "{surface} needs a MindSpore graph (ms_output_trace_code_graph_*.ir), not one of GE",
    "graph": "{got!r} is not a graph: use a graph file, model.onnx, file.py:Name, a dump or one of {known:list}",
    "dump-without-graph": "{got!r} holds no graph that can be read",
    # what a preview knows
    "late-overflow": "which operators overflow is known only after the run",
    "late-exception": "which operator fails is known only after it has failed",
    "no-watch": "MindSpore has no watch mode outside the graph engine",
    "in-turn": (
        "several networks are assumed to run in turn; MindSpore numbers iterations by the order of all runs, "
        "give it with --schedule"
    ),
    "late-captured": "operators captured one by one are named during capture",
    "late-marked": "operators marked by set_dump are known only when the script runs",
    "late-value": "{path} is known only at run time; the dump may differ",
    "ge-compiled": (
        "GE fuses, inserts and removes operators; this shows the simulated compiler. "
        "A ge_proto_*_Build.txt shows the operators of a real device"
    ),
    "alone": "dumps operators outside models; each operator of the graph is shown alone",
    "alone-besides": "operators outside models are dumped too; no graph shows them",
    "ge-graph-file": "this graph file is simulated; set DUMP_GE_GRAPH to get the compiler's own",
    "ge-graph-folder": "graph files are shown in the dump folder; a real run writes them where its environment says",
    "tf-sessions": "each sess.run is a model with its own folder and graph files; two small ones are shown besides",
    "tf-steps": "folders count step × (iterations_per_loop + 1); one iteration per step is shown",
    "ms-overflow": (
        "MindSpore detects Inf and NaN in outputs: operators downstream are dumped too, "
        "and none on a device that saturates"
    ),
    "overflow-limit": "at most {limit:count overflowing operator/overflowing operators} dumped",
    "no-failures": "CPU and GPU do not detect failing operators; only parameters are dumped",
    "call-folders": "{count:count folder}: {path}/step{{N}}/{process}/, N = {steps:list}",
    "late-calls": "the calls of a script are known only at run time",
    "msprobe": "msprobe writes this dump from its own config.json (level L2); an equivalent one is shown",
    "msprobe-statistics": "msprobe saves tensors or statistics, not both: statistics are written",
    "headline-bound": "At most {files:count file}: {why}.",
    "headline-bound-size": "At most {files:count file}, {size:bytes}: {why}.",
    "headline-unknown": "No forecast: {why}.",
    "headline-none": "No tensor is dumped; {files:count other file}, {size:bytes}.",
    "headline": (
        "{matched:count} of {operators:count operator} matched; {files:count file}, {size:bytes} in "
        "{iterations:count iteration}."
    ),
    "headline-about": (
        "{matched:count} of {operators:count operator} matched; about {files:count file}, {size:bytes} in "
        "{iterations:count iteration}."
    ),
    "unnamed-graph": "unnamed",
    "per-iteration": "{files:count file}, {size:bytes}",
    "disk-enough": "{free:bytes} free at {path}: enough",
    "disk-short": "{free:bytes} free at {path}: NOT ENOUGH",
    "overhead": "{name} ({reason})",
    "folder": "{path}  {files:count file}, {size:bytes}",
    "silent-reason": "{count:count} {reason}",
    "more": "… ({count:count} more)",
    "title-graph": "Graph",
    "title-each": "Per iteration",
    "title-overhead": "Overhead",
    "title-disk": "Disk",
    "title-note": "Note",
    "title-doubt": "Not exact",
    "title-unmet": "Unmatched entries",
    "title-silent": "Never dumped ({reasons:list})",
    "title-matched": "Matched operators",
    "title-folders": "Folders",
    "title-folders-sure": "Folders in any case",
    "title-files": "First files",
    "title-files-sure": "First files in any case",
}
