"""The engine onnxruntime: every node in a session of its own, without optimizations.

What it has no kernel for (most of bfloat16) the reference computes.

Results are those of onnxruntime's CPU kernels for the inputs that were recorded: nothing is fused, and narrow floats
are rounded at every output.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.core.dtypes import dtype
from workbench.core.errors import GraphError
from workbench.core.words import Message
from workbench.golden_data.evaluator import Reference
from workbench.golden_data.model import failed
from workbench.graph_files.onnx.tensors import library

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from onnx import ModelProto, NodeProto

    from workbench.golden_data.model import Value

_WIDE = 1 << 20
"""Bytes of inputs from which on a node is worth more than one thread: starting them takes milliseconds."""

_CARRIED = {
    "bfloat16": "float32",
    "float8_e4m3fn": "float32",
    "float8_e4m3fnuz": "float32",
    "float8_e5m2": "float32",
    "float8_e5m2fnuz": "float32",
    "int4": "int8",
    "uint4": "uint8",
}
"""Number format that onnxruntime exchanges with nobody → the one in which its values go in and out, all of them."""

_WIDER = " wider"
"""Behind the name of a value: the same in the format that is exchanged."""

_FATAL = 4
"""Severity from which on onnxruntime prints: errors come as exceptions."""


@cache
def _runtime() -> Any:
    import onnxruntime

    onnxruntime.set_default_logger_severity(_FATAL)
    return onnxruntime


class OnnxRuntime:
    """Computes nodes with onnxruntime."""

    def __init__(self, seed: int) -> None:
        self._ort = _runtime()
        self._ort.set_seed(seed)
        self._other = Reference(seed)
        self._by_other: dict[str, None] = {}

    def run(self, model: ModelProto, feeds: Mapping[str, Value]) -> Sequence[Value]:
        """Return the outputs of a model; raises GraphError if neither onnxruntime nor the reference can compute it."""
        try:
            return self._run(model, feeds)
        except Exception as error:  # its own classes have no other base
            try:
                found = self._other.run(model, feeds)
            except GraphError:
                raise failed(error, _reason(error)) from error
            self._by_other[model.graph.node[0].op_type] = None
            return found

    def remarks(self) -> Iterable[Message]:
        if self._by_other:
            yield Message("golden/by-reference", types=list(self._by_other))
        yield from self._other.remarks()

    def _run(self, model: ModelProto, feeds: Mapping[str, Value]) -> Sequence[Value]:
        inward = {
            name: value.dtype.name
            for name, value in feeds.items()
            if isinstance(value, np.ndarray) and value.dtype.name in _CARRIED
        }
        feeds = dict(_exchanged(name, value) for name, value in feeds.items())
        session = self._session(_with_casts(model, inward, {}), feeds)
        kinds = [_kind_in(one.type) for one in session.get_outputs()]
        if any(kinds):
            names = (one.name for one in model.graph.output)
            outward = {name: kind for name, kind in zip(names, kinds, strict=True) if kind}
            session = self._session(_with_casts(model, inward, outward), feeds)
        found = session.run(None, feeds)
        return [
            value.astype(dtype(kind).storage) if kind else value
            for kind, value in zip(kinds, found, strict=True)
        ]

    def _session(self, model: ModelProto, feeds: Mapping[str, Value]) -> Any:
        options = self._ort.SessionOptions()
        options.graph_optimization_level = self._ort.GraphOptimizationLevel.ORT_DISABLE_ALL
        options.log_severity_level = _FATAL
        options.enable_cpu_mem_arena = False  # what a node takes goes with it
        size = sum(one.nbytes for one in feeds.values() if isinstance(one, np.ndarray))
        options.intra_op_num_threads = 0 if size >= _WIDE else 1
        data = model.SerializeToString()
        return self._ort.InferenceSession(data, options, providers=["CPUExecutionProvider"])


def _exchanged(name: str, value: Value) -> tuple[str, Value]:
    """A value as it goes in, and under which name."""
    wider = _CARRIED.get(value.dtype.name) if isinstance(value, np.ndarray) else None
    if wider is None or not isinstance(value, np.ndarray):
        return name, value
    return f"{name}{_WIDER}", value.astype(wider)


def _kind_in(type_text: str) -> str:
    """Number format of a type such as ``tensor(float8e4m3fn)``, if its values do not come out."""
    word = type_text.removeprefix("tensor(").removesuffix(")")
    return next((name for name in _CARRIED if name.replace("_", "") == word), "")


def _with_casts(
    model: ModelProto, inward: Mapping[str, str], outward: Mapping[str, str]
) -> ModelProto:
    """Return a model that takes and gives wider numbers for inputs and outputs of these formats."""
    if not inward and not outward:
        return model
    onnx = library()
    made: ModelProto = onnx.ModelProto()
    made.CopyFrom(model)
    nodes = [*model.graph.node]
    for one in made.graph.input:
        if one.name in inward:
            kind = inward[one.name]
            nodes.insert(0, _cast(f"{one.name}{_WIDER}", one.name, kind))
            one.name += _WIDER
            one.type.tensor_type.elem_type = _number(_CARRIED[kind])
    for one in made.graph.output:
        if one.name in outward:
            nodes.append(_cast(one.name, f"{one.name}{_WIDER}", _CARRIED[outward[one.name]]))
            one.name += _WIDER
    del made.graph.node[:]
    made.graph.node.extend(nodes)
    return made


def _cast(source: str, result: str, kind: str) -> NodeProto:
    node: NodeProto = library().helper.make_node("Cast", [source], [result], to=_number(kind))
    return node


def _number(kind: str) -> int:
    """Number of a format in ONNX."""
    return int(library().helper.np_dtype_to_tensor_dtype(dtype(kind).storage))


def _reason(error: Exception) -> str:
    """What onnxruntime says, without its name and the number and name of the error's kind."""
    return re.sub(r"^\[ONNXRuntimeError\] : \d+ : \w+ : ", "", str(error))
