"""What `workbench.golden_data` says: name → sentence."""

from __future__ import annotations

SENTENCES: dict[str, str] = {
    # engines
    "engine-missing": (
        "{package} is not installed; pip install 'npu-accuracy-workbench[onnx]' or use --engine reference"
    ),
    "engine-fallback": "{package} is not installed; using the reference engine (NumPy, slower)",
    "evaluated": "not computed in float64, but by the evaluator of onnx: {types:list}",
    "by-reference": "not computed by onnxruntime, but by the reference: {types:list}",
    # inputs
    "input-form": "{got!r} does not name an input and its file; write NAME=FILE.npy, or a folder with such files",
    "shape-form": "{got!r} is no shape; write NAME=SIZE,SIZE,…, e.g. x=1,3,48,192",
    "given-twice": "{name!r} is given twice",
    "folder-twice": "only one folder of inputs can be given, got {folders:list}",
    "no-input-files": "{folder}: no file of an input (inputs: {known:list})",
    "no-model": "expected an ONNX model or a module of PyTorch or Keras, got {got}",
    "no-such-input": "{option}: unknown input {got!r} (choose from {known:list})",
    "no-input": (
        "shape of input {name!r} is not known: {got}; pass --input {name}=FILE.npy or --shape {name}={example}"
    ),
    "input-shape": "input {name!r}: expected shape {expected}, got {got}",
    "input-type": "input {name!r} is {expected}, and the {got} values do not fit; convert them",
    "seeded": "inputs made from seed {seed}: {inputs:list}; saved in {folder}/",
    "seeded-input": "{name} {shape}",
    "module-inputs": "inputs are missing: pass what the module is called with",
    # what was written
    "not-computed": "{nodes:count operator} not computed: {missing:list}",
    "node": "{name} ({type}): {why}",
    "node-failed": "{error}: {why}",
    "after": "reads the output of {name}",
    "nothing": "no operator could be computed: {why}",
    "one-name": (
        "operators {operators:list} share the file name {name}; their files are in the order of the model by time"
    ),
    "constants": "{outputs:count output} that no input changes: written to {folder}/, as no device dumps them",
    "widened": "{tensors:count tensor} of {own} written as {held}: npy has no {own}",
    "no-array": "not written, no arrays of numbers: {names:list}",
    "branches": "taken for these inputs, the other branches are not written: {branches:list}",
    "branch": "{branch} of {node}",
    "subgraphs": "values inside subgraphs are not written: {nodes:list}",
    "functions": "values inside functions of the model are not written: {nodes:list}",
}
