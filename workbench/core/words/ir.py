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
    "protobuf": "invalid protobuf message {message}: {why}",
    "wire-type": "field {number} ({name}) of {message}: expected {expected}, got wire type {got}",
    "tag": "invalid protobuf field tag {got:#x}; the file is damaged",
    "cut-off": (
        "field {number} ends at byte {got}, but its message ends at byte {end}; the file is truncated or damaged"
    ),
    "varint": "unterminated integer before byte {end}; the file is truncated or damaged",
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
    "no-model": "not a GE ModelDef ({size:count byte})",
    "om-model": "not a GE ModelDef ({size:count byte}); an .om file has its ModelDef in a partition",
    "model-without-graph": "the ModelDef has no graph ({size:count byte})",
    "no-opdef": "operator {got!r} has no GE definition (OpDef); write the graph in another dialect",
    "field-repeated": "field {name!r} is not allowed here: another value is already set\n{excerpt}",
    "close": "expected a field or {expected!r}, got {got!r}\n{excerpt}",
    "close-without-block": "{got!r} closes no block\n{excerpt}",
    "block-open": "the block of line {line} is not closed with {expected!r}; is the file truncated?\n{excerpt}",
    "no-field": "expected 'name: value' or 'name {{ … }}', got {got!r}\n{excerpt}",
    "string-open": "field {name!r}: the string has no closing quote on its line, got {got!r}\n{excerpt}",
    "no-value": "field {name!r} has no value, got {got!r}\n{excerpt}",
    "no-colon": "field {name!r} needs a ':' before its value\n{excerpt}",
    "blocks-deep": "blocks are nested deeper than {most} levels\n{excerpt}",
    "item": "each item of {name!r} must be {expected}\n{excerpt}",
    "list-open": "the list {name!r} must continue with ',' or ']'\n{excerpt}",
    "escape": "field {name!r}: invalid escape {got}\n{excerpt}",
    "value-kind": "field {name!r} must be {expected}, got {got}\n{excerpt}",
    "int64": "a 64-bit integer",
    "uint32": "an unsigned 32-bit integer",
    "float": "a number",
    "bool": "true or false",
    "block": "a block '{{ … }}'",
    "word": "a word or a number",
    "string": "a quoted string",
    "value": "a value",
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
