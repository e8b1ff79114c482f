"""What `workbench.graph_files` says: name → sentence."""

from __future__ import annotations

SENTENCES: dict[str, str] = {
    # which kind of graph file it is
    "unknown-kind": "unknown graph format: the file begins with {begins!r} (supported: {known:list})",
    "empty": "the graph file is empty (supported: {known:list})",
    "several-kinds": "ambiguous graph file: it matches {kinds:list}",
    # graphs of MindSpore, text and protobuf
    "no-subgraph": "no line 'subgraph @name() {{' found; is this an .ir file?",
    "no-pb-graph": "no graph in field 4; is this a MindSpore .pb graph?",
    "tuple-type": "tuple type {got!r} is too large, or nested deeper than {limit} levels",
    "tuples": (
        "tuples expand to {values:count value} in {levels:count level} "
        "(limits: {most:count} values, {deepest} levels)"
    ),
    "entries": (
        "entry {number:count} has {size:count byte} (limits: {most:count} entries, {largest:count} bytes each)"
    ),
    "input-unknown": "unknown input {got!r}: it is no earlier node, parameter or constant",
    "input-ambiguous": "ambiguous input {got!r}: {count} values have this name; use the .ir file of the graph",
    "node-unnamed": "node without name or type (name {name!r}, type {type!r})",
    "later-operand": "graph {graph!r}: operand {got} is produced by a later operator",
    "foreign-operand": "a .pb graph cannot hold {got!r}, a value of another graph",
    "scalar": "{got!r} does not fit into {field} of a .pb graph",
    # graphs of GE, text and binary
    "no-ge-graph": "no block 'graph {{' found; is this a ge_proto_*.txt file?",
    "no-ge-operators": "no block 'op {{' found; is this a ge_proto_*.txt file?",
    "model-messages": "the ModelDef has more than {limit:count message}",
    "om-short": "the header of the offline model is cut off ({held:count byte})",
    "om-encrypted": "the offline model is encrypted; use the one before encryption",
    "om-parts": "the table of parts does not fit the file ({size:count byte}); it is truncated or damaged",
    "json": "invalid JSON: {why}",
    "json-deep": "nested deeper than {most} levels",
    "json-without-graph": "no graph; is this a model that atc --mode=1 has written?",
    "json-value": "expected {expected}, got {got!r}",
    "json-list": "a list",
    "json-entry": "an entry with 'key' and 'value'",
    "no-onnx-graph": "no block 'graph {{' found; is this a ge_onnx_*.pbtxt file?",
    "model-without-graph": "the ModelDef has no graph ({size:count byte})",
    "no-opdef": "operator {got!r} has no GE definition (OpDef); write the graph in another dialect",
    # which GE graph belongs to a dump
    "iterator-nowhere": "{word!r} not found in {files:count graph file}; name an operator of the model",
    "operator-nowhere": "operator {word!r} not found in {files:count graph file}; check the name",
    "found-alone": "the only match for {word!r} in {files:count file}",
    "found-dumped": "the only one with dump data among the matches for {word!r}: {among:list}",
    "found-largest": "the largest match for {word!r} among {among:list}; to choose another, name one of its operators",
    # why an operator type leaves no dump file
    "silent-control": "control flow operators are not delivered to the device",
    "silent-data": "data operators are not delivered to the device",
    "silent-flow": "data flow operators are not delivered to the device",
    "silent-shape": "its output shares the memory of its input; nothing runs on the device",
    "silent-end": "it ends the graph; the end-of-graph task writes no dump",
    "silent-stream": "it controls streams and events; no kernel runs",
    "silent-no-task": "its attribute _no_task is true: the optimized graph does not run it",
}
