"""What `workbench.run` says: name → sentence."""

from __future__ import annotations

SENTENCES: dict[str, str] = {
    # what is run
    "control-flow": "graph {graph!r} has control flow (subgraphs) and cannot run as a plain graph",
    "no-kernel": "{op}: operator type {type!r} cannot be computed",
    "operand": "{op}: an operand must be a value, a parameter or a constant, got {got}",
    "no-constant": "an operand must be a constant with a value, got {got}",
    "inputs-unknown": "{op} ({type}): some inputs have no value: {got:list}",
    "unwritten": "{value} is read before it is written",
    "reads-skipped": "{op} reads {read}, which may be skipped after an overflow; {op} must be skipped with it",
    "output-memory": "{op} ({type}): output {dtype} {shape} does not fit into {memory:bytes} of memory",
    "open-shape": "{op}: memory cannot be planned, the output shape is {got}",
    "outline": "this tensor was not computed: an outline has shapes and dtypes only",
    "no-value": "parameter {name!r} has no value; pass it in feeds",
    "value-shape": "parameter {name!r}: expected shape {expected}, got {got}",
    "out-of-range": "{subject} must be in [{low}, {high}), got {got}",
    "max-turns": "max_turns must be at least 1, got {got}",
    "endless-loop": "loop {loop} did not end within {limit:count turn}; increase max_turns if it can end",
    # several ranks
    "meeting": "{op} in iteration {iteration}",
    "nothing-received": "no other rank has sent anything",
    "group-ranks": "{op}: group_ranks {got!r} is not ranks joined by hyphens, e.g. 0-1-2-3",
    "rank-lost": "rank {rank} ended before {waiting}, where other ranks wait for it",
    "ranks-apart": "ranks wait at different operators: {one} and {other}",
    "ranks-differ": "{where}: tensors differ between ranks: {one} and {other}",
    "rank-size": "the network was traced for {got:count rank}, but {ranks:count} run; trace it for {ranks}",
    # the device and what is asked of it
    "dtype": "{op}: {device} does not support {got}",
    "mode-unsupported": "{device} does not support precision mode {got!r} (choose from {known:list})",
    "overflow-mode": "{device} supports overflow mode {only!r} only, got saturate={got}",
    "offline-training": (
        "graph {graph!r} updates weights, but {surface} runs offline models, which do not train; "
        "use another surface, or the network without training"
    ),
    "nothing-to-quantize": "graph {graph!r} has no Conv2D or MatMul with a weight to quantize",
    "implementation-line": "expected [ByOpType], [ByNodeName] or name=mode, got {got!r}",
    "option-twice": "{name} is given twice",
    "options-json": "invalid JSON: {why}",
    "option-value": "{name}: expected text or a number, got {got!r}",
    "option-line": "expected --name=value, got {got!r}",
    "option-quotes": "cannot be taken apart: {why}",
    "kept-type": "expected an operator type such as MatMul after OpType::, got {got!r}",
    "custom-line": "expected NAME::InputDtype:dtype,…,OutputDtype:dtype,… or OpType::TYPE:InputDtype:…, got {got!r}",
    "custom-several": "different dtypes of one operator's inputs or outputs are not simulated, got {got:list}",
    "mixlist-json": "invalid JSON: {why}",
    "mixlist-object": "expected a JSON object, got {got!r}",
    "mixlist-array": "expected a JSON array, got {got!r}",
    "mixlist-type": "expected the name of an operator type, got {got!r}",
    "mixlist-twice": "{type} is in {action} of two lists: {lists:list}",
    "mixlist-removed": "{type} is removed from the {list} list and added to no other; add it to another list",
    # the envelope of a network
    "envelope-flow": "graph {graph!r} has control flow (subgraphs); an envelope needs a plain graph",
    "envelope-dump": "{got}: no operator can be computed again; an envelope needs a graph and full tensors",
    "envelope-runs": "an envelope takes 1 to {limit} runs, got {got}",
    "envelope-iterations": "an envelope needs at least 1 iteration, not {got}",
    # the order in which a device sums
    "order-terms": "a sum has 1 to {limit:count} terms, got {got}",
    "order-step": "step {step} of the tree adds {got}: it must add terms or earlier partial sums, each of them once",
    "order-unfinished": "the tree leaves {got:count partial sum} instead of one",
    "order-count": "the order of a sum in {dtype} can be measured for 2 to {limit:count} terms, got {got}",
    "order-units": "the sum of all probes' units is {got:g} units instead of {expected}: the device cannot count them",
    "order-none": (
        "the results for terms {i} and {j} fit no order of summation: the accumulator holds M + 1, or the order varies"
    ),
    "order-json": "invalid JSON: {why}",
    "order-schema": "expected schema {expected}, got {got}",
    "order-many": "{got:count order} exceed the limit of {limit:count}",
    "order-entry": "{key} of an order is not valid: {got}",
    "order-probes": "{got:count term} need {rows:count probe}, more than a file may hold ({limit:count number})",
    "order-outputs": "not the outputs of these probes: {got}",
    # faults
    "fault-form": "{got!r} names no operator; write a fault as kind:operator[:settings]",
    "fault-twice": "fault {fault!r} sets {name} twice",
    "fault-value-and-attributes": "fault {fault!r} sets both value and attributes; use one of them",
    "fault-number": "fault {fault!r}: {name} must be a number, got {got!r}",
    "fault-finite": "fault {fault!r}: strength must be finite, got {got!r}",
    "fault-least": "fault {fault!r}: {name} must be at least {least}, got {got!r}",
    "fault-choice": "fault {fault!r}: unknown {name} {got!r} (choose from {known:list})",
    "fault-attributes-only": "fault {fault!r} takes attributes and a seed, got {got!r}",
    "fault-attributes": "wrong-attribute needs attributes, as in wrong-attribute:{op}:pad_mode=pad,pad=1; got {got!r}",
    "fault-attribute": "{op} ({type}) has no attribute {got!r} (choose from {known:list})",
    "fault-shapes": "{op}: the wrong attributes change the output shapes from {expected} to {got}; they must keep them",
    "fault-axes": "fault {fault!r}: value must be two different axes of {shape}, got {got!r}",
    "fault-bit": "fault {fault!r}: value must be a bit of {dtype}, 0 to {last}, got {got!r}",
    "fault-iteration": "fault {fault!r} exists before the first iteration; remove {name}={got}",
    "fault-nowhere": "no operator of graph {graph!r} matches {got!r}; similar names: {close:list}",
    "fault-no-collective": "no collective of graph {graph!r} matches {got!r}; there are {close:list}",
    "fault-colon": (
        "no operator of graph {graph!r} matches {got!r}; write settings after a second colon; "
        "similar names: {close:list}"
    ),
    "fault-not-run": "fault {fault!r}: {op} does not run on the device; the compiler removed it",
    "fault-no-weight": "fault {fault!r}: {op} reads no weight",
    "fault-renames": "fault {fault!r}: {op} ({type}) only renames data and writes no memory",
    "fault-type": "fault {fault!r} does not apply to {op} ({type}); possible types: {known:list}",
    "fault-floats": "fault {fault!r} needs a float output; the output of {op} ({type}) is {dtype}",
    "overrun-short": "fault 'overrun': {got} bytes of {op!r} reach no other tensor; use a strength above {gap}",
    "overrun-harmless": "fault 'overrun': behind the output of {op!r} is no tensor still in use; try {others:or}",
    "overrun-nowhere": "fault 'overrun': no output of this graph has a tensor still in use behind it (operator {op!r})",
    # simulate
    "reference-faults": "faults need a simulated device ({known:list}), not {got!r}",
    "reference-precision": "a precision mode ({mode}) needs a simulated device ({known:list}), not {got!r}",
    "reference-orders": "orders of summation need a simulated device, got {got!r} (choose from {known:list})",
    "quantize-surface": (
        "quantization needs one of the surfaces {surfaces:list} and of the devices {devices:list}, "
        "got {got!r} on {device!r}"
    ),
    "fusion": "--fusion {got!r} does not exist; give on, off or a fusion_switch_file",
    "switch-json": "the fusion_switch_file is not valid JSON: {why}",
    "switch-state": "{name} is {got!r}; a switch is on or off",
    "switch-object": "{name} is {got!r} instead of a JSON object",
    "switch-file": "the fusion_switch_file",
}
