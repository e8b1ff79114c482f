"""What `workbench.graph` says: name → sentence."""

from __future__ import annotations

from workbench.core.words.graph_onnx import ONNX

SENTENCES: dict[str, str] = {
    # marks for a dump
    "primitive": "{got!r} is not an operator type; types are those of `workbench.ops.OPS`, like 'Mul'",
    "mark-target": "set_dump marks cells and primitives, got {got}; mark others with simulate(set_dump=[NAME])",
    "mark-enabled": "set_dump: {got!r} is no truth value; use True or False",
    "mark-late": "set_dump({cell}) in construct has no effect; mark cells before the network is traced",
    "mark-nowhere": "no operator of graph {graph!r} matches {got!r}; similar names: {close:list}",
    # shapes: ``subject`` is the argument of an operator that is spoken of
    "shape": "shape of {subject} must be {expected}, got {got}",
    "shape-or": "shape of {subject} must be {expected:or}, got {got}",
    "shape-first": "shape of {subject} must be the first axes of {whole}, got {got}",
    "shape-last": "shape of {subject} must be the last axes of {whole}, got {got}",
    "shapes-differ": "shapes of {subject} must be equal, got {got:list}",
    "layout": "{subject} must have the layout {expected}, got shape {got}",
    "rank": "{subject} must have at least {least:count dimension}, got shape {got}",
    "open-shape": "shape of {subject} is unknown; it is needed here",
    "one-number": "{subject} must hold one number, got shape {got}",
    "broadcast": "shapes cannot be broadcast together: {got:list}",
    "broadcast-to": "{subject} of shape {got} cannot be broadcast to {expected}",
    "concat": "shapes of the inputs must be equal except on axis {axis}, got {got:list}",
    "reshape": "cannot reshape {shape} ({elements:count element}) to {got}",
    "reshape-open": "shape must have at most one -1 and no other negative size, got {got}",
    "squeeze": "cannot squeeze axis {axis} of {shape}: its size is not 1",
    "empty-axis": "the axis must not be empty, got shape {got}",
    "resized": "gradient {grads} and image {image} must be NCHW, not empty, with equal N and C",
    "index-shape": "shape of {subject} must fit into {whole} except on axis {axis}, got {got}",
    "index-updates": (
        "indices {indices} and updates {updates} must have one shape, inside {whole} except on axis {axis}"
    ),
    "index-rows": "the last axis of the indices must have 1 to {most} elements, got shape {got}",
    "assigned": "the value must have the shape and dtype of the variable, {expected}, got {got}",
    "no-tensor": "at least one tensor is needed",
    "matrices": "{type} needs matrices (MatMul: exactly 2 dimensions), got shapes {got:list}",
    "inner": (
        "inner sizes differ: {left} and {right} (transpose_b={transposed}), expected {expected}, got {got}"
    ),
    "channels": "weight {weight} with group {group} needs {expected:count input channel}, got {got}",
    "input-size": "input_size {got} gives an output of {given}, expected {expected}",
    # dtypes
    "dtype": "dtype of {subject} must be {expected:or}, got {got}",
    "dtype-integer": "dtype of {subject} must be an integer type, got {got}",
    "dtype-float": "dtype of {subject} must be a float type, got {got}",
    "dtype-float-or": "dtype of {subject} must be a float type or {other}, got {got}",
    "dtypes-differ": "dtypes of {subject} must be equal, got {got:list}; convert with astype",
    # settings of operators
    "axis": "{subject} must be in [{low}, {high}), got {got!r}",
    "axis-twice": "an axis must not be named twice, got {got}",
    "one-ellipsis": "at most one ellipsis can stand in an index, got ellipsis_mask {got}",
    "between": "{subject} must be an integer from {low} to {high}, got {got!r}",
    "integer": "{subject} must be an integer of at least {least}, got {got!r}",
    "integer-any": "{subject} must be an integer, got {got!r}",
    "number": "{subject}: expected a number, got {got!r}",
    "finite": "{subject} must be a finite number, got {got!r}",
    "finite-within": "{subject} must be a finite number {limits:list}, got {got!r}",
    "probability": "{subject} must be above 0 and at most 1, got {got!r}",
    "only": "only {subject} = {expected!r} is supported, got {got!r}",
    "negative": "{subject} must not be negative, got {got!r}",
    "divisor": "{subject} must divide {whole}, got {got!r}",
    "multiple": "{subject} must be a multiple of {of}, got {got}",
    "sizes": "{subject} must be sizes >= 0 with at most {most:count element}, got {got}",
    "sizes-unknown": "{subject} must be integers that are known before the run, got {got!r}",
    "two-sizes": "{subject} must be two sizes of at least 1, got {got!r}",
    "permutation": "dims must be a permutation of {rank:count axis/axes}, got {got}",
    "axis-count": "{subject} must be {expected}, the size of axis {axis} of {shape}, got {got!r}",
    "axis-parts": "axis {axis} of {shape} cannot be split into {got!r} equal parts",
    "splits": "size_splits must add up to {expected}, got {got!r}",
    "slice": "slice begin={begin}, end={end}, strides={strides} does not fit {shape} (strides must not be 0)",
    "slice-lengths": "begin, end and strides differ in length: {begin}, {end}, {strides}",
    "slice-outside": "slice begin={begin}, size={size} is outside {whole}",
    "paddings": "paddings must be pairs of sizes, at most {most:count pair}, got {got}",
    "paddings-large": "paddings {got} are too large for axis {axis} of {shape} in mode {mode}",
    "paddings-small": "paddings {got} remove all of axis {axis} of {shape}",
    "paddings-negative": "paddings must not be negative in mode {mode}, got {got}",
    "corners": "align_corners and half_pixel_centers must not both be true",
    "scale-and-offset": "the inputs must be scale and offset, got {got:count input}",
    "window": "{subject} of a window must be {least} to {most:count}, got {got}",
    "window-reach": "the window covers {reach:count element}, but the padded input has {got}",
    "window-sizes": "a window needs one size, or one for each axis, got {got!r}",
    "window-pad": "pad: expected one integer, or two for each axis (top, bottom, left, right), got {got!r}",
    # tracing
    "inputs-count": "{op} ({type}) needs {expected:count input}, got {got}",
    "input-type": "expected a tensor, an array or a number, got {got!r}",
    "setting-type": "a setting must be a number, a bool or a tuple of integers, got {got!r}",
    "result-type": "{name} must return a tensor or a tuple of tensors, got {got!r}",
    "arguments": "{name}{signature} was called with {got:count input}: {why}",
    "parameter-twice": "two parameters have the name {got!r}; names must be unique",
    "flag": "the flag must be the result of an operator, got {got}",
    "no-operator": "graph {graph!r} has no operator {got!r}",
    "no-construct": "{cell} must define construct(self, ...)",
    "not-tracing": "{subject} can only be used while a network is traced; use workbench.trace(network, *inputs)",
    "value-condition": (
        "a condition cannot use the value of a tensor while a network is traced; use Python values, or "
        "functional.cond and while_loop"
    ),
    "value-iteration": (
        "a traced tensor cannot be iterated; loop over a Python list of cells or over range(n)"
    ),
    "value-numpy": "NumPy cannot read a traced tensor; use workbench.nn.functional",
    "value-index": (
        "a traced tensor cannot be an index; index with integers and slices, or use gather and masked_fill"
    ),
    # networks by name and from files
    "unknown-network": (
        "unknown network {got!r} (choose from {known:list}; or file.py:Name, or model.onnx)"
    ),
    "file-sizes": "shapes of a graph file are fixed; {got!r} is for ONNX models",
    "model-sizes": "cannot read the sizes {got!r}; write batch=2 or image=1x3x224x224",
    "not-python": "{got!r} is not a Python file",
    "script-failed": "the file raised {error}: {why}",
    "script-inputs": "the file has no INPUTS and no inputs(); add, for example, INPUTS = (x,)",
    "trace-failed": "tracing {name} raised {error}: {why}",
    # control flow
    "loop-value": "{name}: the initial value must hold a tensor, got {got!r}",
    "condition": "{name}: the condition must be a single value, got shape {got}",
    "control-specs": (
        "{name}: dtypes and shapes must stay the same in every turn and branch, expected {expected}, got {got}"
    ),
    "control-flow": (
        "{user} does not support control flow, but network {graph!r} has it ({count:count graph}): {why}; use "
        "functional.select, or a Python loop with a fixed count"
    ),
    "control-not-compiled": (
        "If and While of the graph engine are not simulated; use mindspore-o0o1, mindspore-cpu or mindspore-gpu"
    ),
    "loss-control-flow": (
        "no gradient through {name}: loops and branches are not differentiated; use functional.select, or a "
        "Python loop with a fixed count"
    ),
    # gradients and training
    "no-gradient": "{type} has no gradient: {why}",
    "grad-unknown": "compute it outside of the loss",
    "grad-one-hot": "its values are not constants; use constants and multiply the result",
    "gradients-count": "expected {expected:count gradient}, got {got}",
    "rates": "learning_rate must be a number, a schedule or a list of at least two rates, got {got!r}",
    "learning-rates": "max_lr must be above min_lr = {least!r}, got {most!r}",
    "optimizer": "optimizer must be one of workbench.nn, such as SGD, got {got!r}",
    "optimizer-parameters": (
        "parameters must be weights (groups are not supported); pass network.trainable_params(), got {got!r}"
    ),
    "nesterov": "nesterov needs momentum > 0 and dampening = 0, got {momentum!r} and {dampening!r}",
    "sens": "sens must not be 0, got {got!r}",
    "scale-sense": "scale_sense must be one number or a cell, got {got!r}",
    **ONNX,
}
