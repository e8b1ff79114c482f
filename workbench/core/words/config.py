"""What `workbench.config` says: name → sentence. The words of rules, notes and settings stand in their rows."""

from __future__ import annotations

_VALUES: dict[str, str] = {
    # values of settings; ``expected`` is the row's own phrase
    "value": "{path}: expected {expected}, got {got!r}",
    "value-text": "{path}: expected text, got {got!r}",
    "value-integer": "{path}: expected a whole number, got {got!r}",
    "value-element": "{path} is {got!r}, but the setting takes {expected}",
    "value-unread": "{path} is {got!r}, not {expected}; it is not read with these settings",
    "object": "{path}: expected an object, got {got!r}",
    "objects": "{path}: expected a list of objects, got {got!r}",
    "no-object": "{path} is {got!r}, not an object",
    "no-object-advice": "It is read as an empty object.",
    "missing": "{path} is missing",
    "missing-advice": "Add {key!r}: {expected}.",
    "unknown-key": "unknown key {path}",
    "ignored-key": "unknown key {path} is ignored",
    "near-key": "Did you mean {near!r}?",
    "known-keys": "Known: {known:list}.",
    "version": "{path} is not read by version {version}",
    "version-advice": "It is read since {since}.",
    "unresolved": "{path} is the expression {expression!r}, whose value is known only at run time",
    "unresolved-unset": "It is not checked and counts as not set.",
    "unresolved-assumed": "It is not checked and counts as {assumed!r}.",
    "more": "{count:count more problem/more problems} of this kind omitted",
    "more-in": "{path}: {count:count more problem/more problems} of this kind omitted",
    "duplicate-key": "{path} appears again on line {line}",
    "duplicate-key-advice": "The last one counts. Remove the others.",
}

_FILES: dict[str, str] = {
    "problems": "{problems:lines}",
    "suffix": "the file name {got!r} does not end in {suffix}",
    "suffix-advice": "Rename the file; it is refused unread.",
    "more-text": "there is more text after the configuration, on line {line}",
    "more-text-advice": "It is not read. Remove it.",
    "not-an-object": "expected a JSON object, got {got}",
    "text-after": "there is more text after the configuration",
    "unknown-form": (
        "no known configuration has the keys {keys!r}; name its surface with --surface ({known:or})"
    ),
    "unknown-script": "no dump settings found in the script; name its surface with --surface ({known:or})",
    "script-long": "the script has {got:count character}, more than the limit of {limit:count}",
    "encoding": "byte {byte} is not valid {encoding}: {why}",
    "unknown-encoding": "unknown text encoding {got!r}",
    "version-text": "{got!r} is not a version like '2.7'",
    "path": "{got!r} is not a path of keys joined by '.' with indices in brackets",
    "path-index": "{path}: index {index} is out of range, the list has {length:count element}",
    "schema": "surface {surface} has no JSON Schema: its configuration is a script",
    "file-size": "the configuration has {got:count byte}, more than the limit of {limit:count}",
    "file-size-advice": "Name types or models instead of operators.",
    "nesting": "{kind} nested {depth} levels deep, more than the limit of {limit}",
    "nesting-advice": "Brackets inside strings count too.",
    # text that is not JSON
    "json": "invalid JSON: {why}{excerpt}",
    "json-end": "unexpected end of file",
    "json-token": "unexpected {got!r}",
    "json-object-goes-on": "expected ',' or '}}' in an object, got {got!r}",
    "json-array-goes-on": "expected ',' or ']' in an array, got {got!r}",
    "json-key": "expected a key in double quotes, got {got!r}",
    "json-colon": "expected ':' after a key, got {got!r}",
    "json-value": "expected a value, got {got!r}",
    "json-deep": "more than {limit} levels of nesting",
    "json-many": "more than {limit:count value}",
    "json-character": "the string {got} holds half a character",
    "json-number": "the number {got} is too large",
    # text that is not Python
    "python": "invalid Python: {why}{excerpt}",
    "python-deep": "invalid Python: nested too deeply for the parser",
    "python-text": "invalid Python: {why}",
    "argument-twice": "argument {name} is given twice",
    "arguments-many": "more than {limit} arguments",
    "if": "if {condition}",
    "unless": "unless {condition}",
    "several-path": "this NpuOptimizer has no dump_path of its own, but a dump is on",
    "several-value": "npu_bridge refuses {key} {got!r} here, whatever a later optimizer sets",
    "mend-file": "Correct the file.",
}

_PIECES: dict[str, str] = {
    # faults in a list of steps
    "step-pieces": "{count} pieces, more than the limit of {limit}",
    "step-parts": "piece {number} ({got!r}) has more than two numbers",
    "step-digits": "piece {number} ({got!r}) is not a number or range",
    "step-order": "piece {number} ({got!r}) is a descending range",
    "ge-pieces": "more than {limit} pieces",
    "ge-numbers": "not every piece is a number up to {largest} or a range of them",
    "ge-order": "a range does not ascend",
    # faults in a regular expression of C++
    "regex-alone": "unexpected {got!r}",
    "regex-states": "more than {limit} states",
    "regex-depth": "groups nested more than {limit} deep",
    "regex-parenthesis": "a parenthesis is not closed",
    "regex-group": "unknown kind of group",
    "regex-reference": "reference to a group that does not exist",
    "regex-escape": "an escape lacks its digits",
    "regex-backslash": "backslash at the end",
    "regex-brace": "a brace is not closed",
    "regex-number": "a brace without a number",
    "regex-repetition": "a descending range in braces",
    "regex-bracket": "a bracket is not closed",
    "regex-range-class": "a range begins with a class",
    "regex-range": "a range descends or ends in a class",
    "regex-in-bracket": "a reference or class inside a bracket",
    "regex-class": "unknown class {got!r}",
    "regex-character": "unknown character {got!r}",
}

_PLANS: dict[str, str] = {
    "explain-refused": "{title}, judged by {product} {version}: refused, nothing is dumped.",
    "explain-plan": "{title}, judged by {product} {version}: {plan}.",
    "explain-item": "- {item}",
    "explain-problem": "- {severity}: {problem}",
    "advised": "{said}. {advice}",
    "plan-run-time": "{plan}; known only at run time: {paths:and}",
    "plan-exception": "operators that fail on the device leave a {detail} exception record",
    "plan-nothing": "no tensor is dumped",
    "plan-no-iteration": "no iteration matches, nothing is dumped",
    "plan-overflow": "{when}, operators that overflow ({overflow})",
    "plan-overflow-limit": "{when}, the first {limit:count operator} that overflow ({overflow})",
    "plan-watch": "{when}, outputs of {watched:and} after {operators} and after themselves",
    "plan-data": "{when}, {io} of {operators}, {saved}",
    "plan-data-except": "{when}, {io} of {operators} except {omitted:and}, {saved}",
    "below": "{plan} below {path}",
    "into": "{plan}, into {path}",
    "into-unknown": "{plan}, into a folder that is known only at run time",
    "every-iteration": "every iteration",
    "no-iteration": "no iteration",
    "one-iteration": "iteration {number}",
    "iterations": "iterations {ranges:and}",
    "on": "{when} of {word} {numbers:and}",
    "on-none": "{when} of no {word}",
    "io-both": "inputs and outputs",
    "io-input": "inputs",
    "io-output": "outputs",
    "io-none": "nothing",
    "operator-count": "{count:count operator}",
    "operators": "{operators:and}",
    "select-all": "all operators",
    "select-name": "{text!r}",
    "select-type": "types that contain {text!r}",
    "select-regex": "names that match {text!r}",
    "select-marked": "operators marked with set_dump",
    "select-calls": "all calls of the framework",
    "select-call": "calls whose name contains {text!r}",
    "select-range": "operators from {text!r} to {end!r}",
    "select-of-model": "{operators} of model {model!r}",
    "omit": "{kind} {text!r}",
    "omit-slots": "{slots:list} of {operators}",
    "saved-statistics": "as statistics ({statistics:and}) computed on the {where}",
    "saved-tensors": "as full tensors in {files}, {form} format",
    "saved-sample": "the first {count:count element} of each tensor in {files}",
    "saved-both": "{tensors}, and {statistics}",
    "files-npy": "npy files",
    "files-bin": "binary containers",
    "files-pt": "torch files",
}

_PARTS: dict[str, str] = {
    "part-path": "folder",
    "part-net-name": "network name",
    "part-iterations": "iterations",
    "part-io": "inputs and outputs",
    "part-select": "operators",
    "part-saved": "saved data",
    "part-statistics": "statistics",
    "part-sample": "sample size",
    "part-initial-iteration": "number of the first iteration",
    "part-kernel-args": "kernel arguments",
    "part-kind": "kind of dump",
    "part-omit": "excluded operators",
    "part-watched": "watched operators",
    "part-statistics-on": "where statistics are computed",
    "part-statistics-precision": "precision of statistics",
    "part-files": "file type",
    "part-host-format": "host format",
    "part-limit": "limit of overflowing operators",
    "part-detail": "detail of an exception dump",
    "part-overflow": "kind of overflow",
    "part-devices": "devices",
    "part-ranks": "ranks",
    "part-level": "level",
    "part-single-op": "single operators",
    "part-before-quantisation": "tensors before quantization",
    "all": "all",
    "none": "none",
    "yes": "yes",
    "no": "no",
    "plain": "{value!r}",
    "some": "{items:and}",
    "lost-part": "{part}: not supported ({here} → {there})",
    "lost-key": "unknown key {path} is dropped",
    "lost-setting": "{path} {got!r} is not supported and is dropped",
    "lost-refused": "nothing is dumped there either: {problem}",
    "lost-run-time": "{path} is known only at run time and is dropped",
    "lost-open": "{problem}; fill it in",
    "lost-operators": "{operators} cannot be selected",
    "lost-every-operator": "no operator of the list is left, so every operator is dumped",
    "lost-kind": (
        "torchair has no option for a dump of kind {kind!r}: write it as JSON of surface acl and name that "
        "file in dump_config_path"
    ),
}

_HELP: dict[str, str] = {
    "help-head": "{title} (as {product} {version} reads it)",
    "help-short": "  {path}: {help} [{need}]",
    "help-required": "required",
    "help-default": "default {default!r}",
    "help-setting": "{path}: {help}",
    "help-value": "  value: {expected}; refused: {bad!r}",
    "help-line": "  {line}",
    "help-since": "  read since {since}",
    "help-source": "  source: {source}",
    "help-rule": "  {severity} [{rule}] {said}. {advice} ({source})",
    "help-key": "unknown key {got!r} for {surface}; see `workbench config explain {surface}`",
    "described": "{help} (value: {expected})",
}

_NOTES: dict[str, str] = {
    # AscendCL
    "acl-loaded": "Only models loaded after it is set are dumped; reload those loaded before.",
    "acl-never": (
        "Control flow (if, while, case), data and data-flow operators and operators marked _no_task do not run on "
        "the device and have no file."
    ),
    "acl-names": (
        "File names: {{op_type}}.{{op_name}}.{{task}}.{{stream}}.{{microseconds}}, with '_' for blanks, '.', '/' and "
        "'\\'. Names of more than 255 characters become digits; mapping.csv explains them."
    ),
    "acl-container": "Inside a container nothing is dumped.",
    "acl-host": "Files are written on {host}.",
    "acl-tree": (
        "Files of models: {folder}/{{model_name}}/{{model_id}}/{{data_index}}/. data_index counts executions from 0."
    ),
    "acl-single-tree": "Files of single operators: {folder}/, without model levels.",
    "acl-every-model": "With an empty dump_list, the operators of every loaded model are dumped too.",
    "acl-csv": (
        "Each operator writes one .csv: fixed column order, with a Count. Fields are empty for dtypes that the "
        "device cannot count."
    ),
    "acl-printf": (
        "Output of kernels goes to the folder printf below ASCEND_DUMP_PATH or ASCEND_WORK_PATH if one is set, else "
        "below dump_path."
    ),
    "acl-overflow": (
        "Only AI Core operators are checked. An overflow writes its tensors and a record "
        "Opdebug.Node_OpDebug.{{task}}.{{stream}}.{{microseconds}}, whose task is not that of the operator."
    ),
    "acl-overflow-950": "Ascend 950 writes no such record.",
    "acl-overflow-list": "dump_list is not read: all operators are checked.",
    "acl-watch-all": "Without layer, the watched outputs are written after every operator of the model.",
    "acl-watch-overwritten": (
        "A watched output was overwritten if a file written after another operator differs from the one written "
        "after its own operator."
    ),
    "acl-watch-static": "Operators outside static graphs and static subgraphs are not dumped.",
    "acl-watch-fused": "A fused operator is watched by its name after fusion.",
    "acl-watch-single": "Single-operator calls are not watched.",
    "acl-exception-tree": "Files: {folder}/extra-info/data-dump/{device}/.",
    "acl-exception-folder": "The folder is {first}, else ASCEND_WORK_PATH, else dump_path, else the current one.",
    "acl-lite": "lite_exception is the former name of aic_err_brief_dump.",
    "acl-exception-brief": "Inputs, outputs and workspaces are written without dtypes.",
    "acl-exception-norm": "Inputs, outputs and workspaces are written with shape, dtype, format and attributes.",
    "acl-exception-detail": (
        "An ELF file .core with memory, registers and call stack of the AI Core is written; read it with msDebug."
    ),
    "acl-detail-product": "Needs an Atlas A2 or A3 product and driver 25.0.RC1 or later.",
    "acl-detail-set": "Set it before aclrtSetDevice; aclmdlFinalizeDump cannot turn it off.",
    "acl-detail-halts": "The AI Core halts while files are written, which affects other processes on the device.",
    "acl-detail-ends": "The process ends after the files are written; ignore the errors that it then reports.",
    "acl-detail-second": "A second process that requests it on the same device gets aic_err_brief_dump.",
    "acl-scene-variable": "ASCEND_DUMP_SCENE requests a dump of operators that fail, below {folder}.",
    "acl-collect-variable": "NPU_COLLECT_PATH requests a norm dump of operators that fail, below {folder}.",
    # msprobe
    "mp-load": "Inputs of {modules:and} come from {path}.",
    "mp-off": "Nothing is dumped.",
    "mp-tree": "Folder tree: {folder}/step{{step}}/rank{{rank}}/ with dump.json, stack.json and construct.json.",
    "mp-tensors": "Tensors: dump_tensor_data/{{call}}.{{input or output}}.{{index}}.{suffix} beside dump.json.",
    "mp-tree-debug": "Folder tree: {folder}/step{{step}}/rank{{rank}}/ with debug.json.",
    "mp-save": "Only what the script passes to debugger.save(tensor, name) is dumped.",
    "mp-tree-kernel": (
        "Folder tree: {folder}/step{{step}}/{{time}}/{{device}}/: AscendCL dumps the kernels of the API."
    ),
    "mp-tree-mindspore": (
        "msprobe writes {folder}/kernel_kbyk_dump.json and MindSpore dumps by it: {folder}/rank_{{rank}}/."
    ),
    "mp-process": "Without torch.distributed or a process group the folder is proc{{pid}} in place of rank{{rank}}.",
    "mp-names": "Names in scope and list are those of calls and modules in dump.json, not of operators of a graph.",
    "mp-phase": "Only the {phase} pass is dumped.",
    "mp-slice": "Of each tensor only the slice is dumped.",
    "mp-request": "Only tokens of request {request} are dumped.",
    "mp-tensor-list": "Tensors are written of calls whose name has {names:or}; of others statistics alone.",
    "mp-risk-focus": "risk_level FOCUS: calls that rarely cause errors are not dumped. ALL dumps them.",
    "mp-risk-core": "risk_level CORE: only calls that often cause errors are dumped. ALL dumps the others.",
    "mp-precision": "Statistics are computed in float32.",
    "mp-bench": "Each call is compared with the dump in {path}.",
    "mp-no-stack": "Call stacks and the tree of modules are not written.",
    "mp-async": "Files are written after each step.",
    "mp-dynamic": "dump_enable may be changed while the script runs.",
    # TensorFlow
    "tf-tree": (
        "Folder tree: {{dump_path}}/{{time}}/{{device}}/{{model_name}}/{{model_id}}/{{data_index}}. The model folder "
        "to use has the name of the first graph in the ge_proto *_Build.txt that holds an Iterator."
    ),
    "tf-container": "In a container, mount the dump folder, or the dump stays inside.",
    "tf-index": (
        "data_index is the iteration. With iterations_per_loop n above 0 on the device it is "
        "step * (n + 1) + position, so numbers have gaps."
    ),
    "tf-never": (
        "Conditional operators, data operators (Data, RefData, Const), data flow and operators marked _no_task are "
        "never dumped."
    ),
    "tf-csv": "Statistics: one CSV file per operator, computed on the device.",
    "tf-names": "Operator names are those of the executed graph, after fusion; others match nothing.",
    "tf-outputs": "Inputs are not dumped: dump_mode defaults to output.",
    "tf-graphs": "Graph files: {folder}.",
    "tf-graph": "The graph that runs: {folder}.",
    "tf-working-folder": "the working folder",
    "tf-work-path": "{folder}",
    "tf-collect-folder": "{folder}/extra-info/graph/{{pid}}_{{device}}",
    "tf-graph-folder": "{folder}/pid_{{pid}}_deviceid_{{device}} (older versions: {{pid}}_{{device}})",
    "tf-exception-full": "An operator that fails writes a full record below {folder}/extra-info/data-dump.",
    "tf-exception-brief": "An operator that fails writes a brief record below {folder}/extra-info/data-dump.",
    "tf-init": (
        "init_resource takes only what initialize_system takes; pass the settings to the session that trains as well."
    ),
    "tf-rank": "The process with RANK_ID {rank} dumps; a process without RANK_ID counts as 0.",
    "tf-arguments": "DumpConfig checks nothing; NPUEstimator passes its values on when it is created.",
    # torchair
    "ta-variable": "The script sets {name} to {value!r}.",
    "ta-options": "Other options of the CompilerConfig are kept: {names:and}.",
    "ta-path": "Create the folder {path!r} before dump_path is assigned.",
    "ta-path-relative": "dump_path {path!r} is relative to the start folder; create it before it is assigned.",
    "ta-tree": (
        "This process writes below {folder}/{{time}}/{{device_id}}/{{model_name}}/{{model_id}}/{{data_index}}."
    ),
    "ta-tree-capture": "This process writes below {folder}.",
    "ta-ranks": (
        "torchair creates the first level when it compiles, from torch.distributed (size 1 and rank 0 without it)."
    ),
    "ta-file-decides": "{path} decides what is dumped and is not read here.",
    "ta-file-tree": "torchair adds no worldsize level to the folder in the JSON file.",
    "ta-file-scene": "An exception scene in the JSON file has no effect: torch_npu has its own exception dump on.",
    "ta-capture": "The inputs of the graph and the output of each operator are torch files (.pt).",
    "ta-capture-original": "Stage 'original' runs the graph as traced, operator by operator, without capture.",
    "ta-csv": "Each operator writes one .csv.",
    "ta-containers": "Convert the files with msaccucmp to read them.",
    "ta-data-operators": "Data operators that feed a selected operator are dumped as well.",
    "ta-names": (
        "Operator names are those of the compiled graph: run once with DUMP_GE_GRAPH=3 and take them from "
        "ge_proto_*_Build.txt."
    ),
    "ta-quantized": "quant_dumpable affects quantized networks only.",
    "ta-index": "data_index is the number of the iteration.",
    "ta-index-all": "data_index counts the dumped iterations from 0.",
}

SENTENCES: dict[str, str] = {**_NOTES, **_VALUES, **_FILES, **_PIECES, **_PLANS, **_PARTS, **_HELP}
