"""What is said of ONNX models that are read as networks."""

from __future__ import annotations

ONNX: dict[str, str] = {
    "onnx-missing": "the package onnx is not installed; pip install 'npu-accuracy-workbench[onnx]'",
    # the file
    "onnx-invalid": "not an ONNX model ({why})",
    "onnx-large": (
        "the model has {got:count byte}, more than the limit of {limit:count}; move its weights to external data"
    ),
    "onnx-utf8": "text in the model is not UTF-8: {got!r}",
    "onnx-opset": "unsupported opset {got} (supported: {first} to {last})",
    "onnx-unsupported": "unsupported operators:\n{problems:lines}",
    "onnx-operator": "{type} (node {nodes:list})",
    "onnx-graphs-deep": "a graph of node {got!r} is nested deeper than {most} levels",
    "onnx-name-twice": "the model has two inputs or weights called {got!r}",
    "onnx-no-output": "the model has no outputs",
    "onnx-functions": "functions of the model cannot be expanded ({error}: {why})",
    "onnx-functions-deep": "function {got!r} is nested deeper than {most} levels",
    "onnx-functions-large": "functions of the model expand to more than {most:count node}",
    # data of weights
    "onnx-dtype": "{name!r}: dtype {got} is not supported",
    "onnx-data-type": "{name!r}: unknown ONNX data type {got}",
    "onnx-data-shape": "{name!r}: invalid shape {got}",
    "onnx-data-values": "{name!r}: the values do not fill the shape {shape} ({error}: {why})",
    "onnx-sparse": "{got!r}: sparse weights are not supported",
    "onnx-external-int4": "{name!r}: packed int4 is not supported in external data",
    "onnx-external-length": "{name!r}: shape {shape} needs {expected:count byte}, length is {got:count}",
    "onnx-external-short": "{name!r} needs {needed:count byte} of the file, which has {got:count}",
    "onnx-external-none": (
        "{name!r}: external data {got!r} cannot be found for a model in memory; pass the path of the model"
    ),
    "onnx-external-outside": "{name!r}: external data must be inside {folder}, got {got!r}",
    "onnx-external-circle": "{name!r}: external data {got!r} is a circle of links",
    "onnx-external-missing": "{name!r}: external data file {got!r} does not exist",
    "onnx-external-size": "{name!r}: {key} must be a number of bytes, got {got!r}",
    # inputs and outputs
    "onnx-input-type": "input {name!r} is not a tensor",
    "onnx-open-shape": (
        "shape of input {name!r} is not fixed: {got!r}; pass shapes={{{size!r}: {example}}}, "
        "on the command line --shape or --input, in the Run panel the field Inputs"
    ),
    "onnx-output-nowhere": "output {got!r} is produced by no node",
    # nodes
    "onnx-input-later": "input {got!r} is not produced by an earlier node",
    "onnx-output-twice": "output {got!r} is produced twice",
    "onnx-node": "the node does not follow the ONNX specification ({error}: {why})",
    "onnx-reference": "attribute {name!r} refers to a function attribute and has no value",
    "onnx-no-input": "input {input} is missing",
    "onnx-unknown-input": "input {input} must be known before the run; pass it in values=",
    "onnx-output": "output {got!r} is not supported",
    "onnx-attribute": "{name} = {got!r} is not supported (only {expected:or})",
    "onnx-rank": "input {input} must have {expected:or} dimensions, got {got}",
    "onnx-sizes": "{name} must have {expected:count value}, got {got}",
    "onnx-steps": "steps must not be 0, got {got}",
    "onnx-kept-axis": "shape keeps axis {axis} (size 0), but the input is {shape}",
    "onnx-lrn": "LRN needs an odd size and 4 dimensions, got size {size} and {rank} dimensions",
    "onnx-resize": "linear resize supports height and width to whole sizes only, got {source} to {target}",
    "onnx-equation": "the equation {got!r} does not fit {count:count operand}",
    "onnx-diagonal": "an operand that has a letter twice is not supported, got {got!r}",
    "onnx-half-pixel": "pytorch_half_pixel needs sizes above 1, got {got}",
    "onnx-along": "input {input} must have one number per element of an axis, got shape {got}",
    "onnx-lengths": "sequence_lens must all be {expected}, got {got}",
    "onnx-peepholes": "peepholes (P) are not supported",
    "onnx-constant": "constant {name!r} cannot be computed ({error}: {why})",
    "onnx-constant-value": "a Constant must hold a dense tensor or numbers",
    "onnx-constants-large": "constants of the model need more than {most:bytes}",
}
