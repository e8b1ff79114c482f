"""Has real MindSpore compute the operators of our table on the CPU, and records what comes of each.

``run_mindspore_operators.py CASES RECORD``; CASES is written by `operator_cases`. Each operator is a
network of its own in graph mode: so its line of IR is recorded with its outputs.
"""

from __future__ import annotations

import base64
import inspect
import json
import os
import re
import shutil
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

os.environ |= {"GLOG_v": "4", "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}

import mindspore
import mindspore.ops.auto_generate.gen_ops_prim as generated
import numpy as np
from mindspore.ops import operations
from mindspore.ops.operations import _grad_ops as gradients

FOLDER = Path(tempfile.mkdtemp())
NUMBERS = {34: mindspore.int32, 35: mindspore.int64}
UNSAFE = {"LSTMGrad": "reads the scratch space of its LSTM, of which a case has one number"}
"""Operators that overrun their memory when they are alone."""
HALVES = ("kernel_size", "strides", "stride", "dilation")
"""Settings that MindSpore's constructors take as (height, width), without batch and channels."""


def unpacked(value: dict[str, Any]) -> np.ndarray:
    """Return the array that JSON carries."""
    flat = np.frombuffer(base64.b64decode(value["data"]), value["dtype"])
    return flat.reshape(value["shape"])


def packed(array: np.ndarray) -> dict[str, Any]:
    """Return an array as JSON."""
    data = base64.b64encode(np.ascontiguousarray(array).tobytes()).decode()
    return {"dtype": array.dtype.name, "shape": list(array.shape), "data": data}


def tuples(value: Any) -> Any:
    """Lists of JSON as the tuples that they were."""
    return tuple(map(tuples, value)) if isinstance(value, list) else value


def settings_of(case: dict[str, Any], inputs: list[np.ndarray]) -> dict[str, Any]:
    """Settings as MindSpore's constructors and calls spell them."""
    name, found = case["op"], {key: tuples(value) for key, value in case["settings"].items()}
    found.pop("data_format", None)
    if name == "BiasAdd":
        found["data_format"] = "NCHW"
    if "output_type" in found:
        found["output_type"] = NUMBERS[found["output_type"]]
    if name.startswith("Conv2D"):
        found |= convolution(found, inputs[1].shape)
    for key in HALVES:
        if isinstance(found.get(key), tuple) and name.startswith(("Conv2D", "MaxPool", "AvgPool")):
            found[key] = found[key][-2:]
    if isinstance(found.get("pad_mode"), str):
        found["pad_mode"] = found["pad_mode"].lower()
    if name == "TensorScatterElements":
        found["reduce"] = {0: "none"}.get(found["reduce"], found["reduce"])
    if name == "SplitV":
        found["num_split"] = len(found["size_splits"])
    if name.startswith("LSTM"):
        found["input_size"] = inputs[0].shape[2]
    if name == "Cast":
        found["dtype"] = mindspore.float32
    if name == "PadV3":
        found["paddings"] = mindspore.Tensor(np.array(found["paddings"], np.int64))
        value = found.pop("constant_value")
        if found["mode"] == "constant":
            found["constant_value"] = mindspore.Tensor(np.array(value or 0, inputs[0].dtype))
    return found


def convolution(settings: dict[str, Any], shape: tuple[int, ...]) -> dict[str, Any]:
    """What the constructors of convolutions want to know of the weight, and padding twice."""
    weight = settings.get("filter_size", shape)
    found = {"out_channel": weight[0], "kernel_size": weight[2:]}
    if isinstance(settings["pad"], tuple):
        found["pad_list"] = settings["pad"]
    return found


class Network(mindspore.nn.Cell):
    """One operator; ``places`` says which of its arguments are tensors."""

    def __init__(
        self, primitive: Any, arguments: list[Any], places: list[int], joined: bool
    ) -> None:
        super().__init__()
        self.primitive, self.arguments = primitive, arguments
        self.places, self.joined = places, joined

    def construct(self, *tensors: Any) -> Any:
        if self.joined:
            return self.primitive(tensors, *self.arguments[1:])
        arguments = ()
        count = 0
        for place in range(len(self.arguments)):
            if place in self.places:
                arguments += (tensors[count],)
                count += 1
            else:
                arguments += (self.arguments[place],)
        return self.primitive(*arguments)


def outcome(case: dict[str, Any]) -> dict[str, Any]:
    """Outputs and line of IR of an operator, or why MindSpore refuses it."""
    name = case["op"]
    found = {"op": name, "case": case["case"]}
    homes = (generated, operations, gradients)
    kind = next((getattr(home, name) for home in homes if hasattr(home, name)), None)
    if kind is None or name in UNSAFE:
        return found | {"refused": UNSAFE.get(name, "no such operator")}
    inputs = [unpacked(value) for value in case["inputs"]]
    settings = settings_of(case, inputs)
    made = [key for key in inspect.signature(kind.__init__).parameters if key != "self"]
    shutil.rmtree(FOLDER, ignore_errors=True)
    try:
        primitive = kind(**{key: settings[key] for key in made if key in settings})
        if name == "LayerNormGrad":  # its constructor has no place for it
            primitive.add_prim_attr("epsilon", settings["epsilon"])
        arguments = [
            None if place in case["tensors"] else settings.get(key)
            for place, key in enumerate(case["arguments"])
            if place in case["tensors"] or (key in settings and key not in made)
        ]
        network = Network(primitive, arguments, case["tensors"], case["joined"])
        outputs = network(*(mindspore.Tensor(array) for array in inputs))
        outputs = outputs if isinstance(outputs, tuple | list) else (outputs,)
        arrays = [output.asnumpy() for output in outputs]
    except Exception as error:
        lines = [line for line in str(error).splitlines() if line.strip(" -")]
        return found | {"refused": f"{type(error).__name__}: {lines[0][:160] if lines else ''}"}
    return found | {"outputs": [packed(array) for array in arrays], "printed": printed(name)}


def printed(name: str) -> str:
    """The operator's own line in the IR of the last compilation."""
    for path in sorted(FOLDER.rglob("*_validate_*.ir")):
        match = re.search(rf"= ((?:PrimFunc_)?{name}\(.*)", path.read_text(encoding="utf-8"))
        if match:
            return match[1]
    return ""


def main() -> None:
    """Run the cases and write the record."""
    mindspore.set_context(mode=mindspore.GRAPH_MODE, device_target="CPU")
    mindspore.set_context(save_graphs=2, save_graphs_path=str(FOLDER))
    cases = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    found = [outcome(case) for case in cases]
    shutil.rmtree(FOLDER, ignore_errors=True)
    record = {"mindspore": mindspore.__version__, "cases": found}
    lines = ",\n".join(json.dumps(one, sort_keys=True) for one in found)
    text = json.dumps(record | {"cases": []}).replace('"cases": []', f'"cases": [\n{lines}\n]')
    Path(sys.argv[2]).write_text(text + "\n", encoding="utf-8")
    print(Counter("refused" in one for one in found))


if __name__ == "__main__":
    main()
