"""ONNX models, node by node, and what comes of them; and what comes of onnx's own node tests in our importer."""

from __future__ import annotations

import importlib
import pkgutil
import warnings
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from kit.build.runs import results
from workbench.core.errors import GraphError
from workbench.network.onnx import read_onnx
from workbench.network.onnx.lower import OPSETS
from workbench.network.onnx.table import CONVERTERS
from workbench.ops import OPS
from workbench.run.reference import run_reference

FLOAT = TensorProto.FLOAT


def value(name, array):
    kind = helper.np_dtype_to_tensor_dtype(np.asarray(array).dtype)
    return helper.make_tensor_value_info(name, kind, np.shape(array))


def model(nodes, inputs, outputs, weights=(), opset=21, **extra):
    """A model; ``inputs`` are arrays or value infos by name, ``outputs`` names."""
    infos = [v if hasattr(v, "type") else value(k, v) for k, v in inputs.items()]
    ends = [helper.make_empty_tensor_value_info(name) for name in outputs]
    initializers = [numpy_helper.from_array(np.asarray(v), k) for k, v in dict(weights).items()]
    graph = helper.make_graph(nodes, "net", infos, ends, initializers)
    imports = [helper.make_opsetid("", opset), *extra.pop("imports", ())]
    return helper.make_model(graph, opset_imports=imports, **extra)


def node(op_type, inputs, outputs, name="", notes=None, **attrs):
    made = helper.make_node(op_type, inputs, outputs, name, **attrs)
    for key, text in (notes or {}).items():
        entry = made.metadata_props.add()
        entry.key, entry.value = key, text
    return made


def computed(made, feeds, **settings):
    """Outputs of a model for some feeds."""
    return results(read_onnx(made, **settings), feeds)


def one(op_type, inputs, opset, weights=(), count=1, **attrs):
    """Outputs of a single node; ``inputs`` are fed, ``weights`` are known."""
    weights = dict(weights)
    outputs = [f"y{k}" for k in range(count)]
    only = node(op_type, [*inputs, *weights], outputs, **attrs)
    return computed(model([only], inputs, outputs, weights, opset), inputs)


class OnnxCase(NamedTuple):
    """One node; ``inputs`` are fed, ``weights`` are known, as many outputs as ``count`` are asked for.

    ``types`` are the operators that it becomes, where one of ours is the same.
    """

    op_type: str
    inputs: dict[str, np.ndarray]
    weights: dict[str, np.ndarray] = MappingProxyType({})
    attrs: dict[str, object] = MappingProxyType({})
    opset: int = 21
    count: int = 1
    types: str = ""


def numbered(cases):
    """Cases as parameters of a test, each with its type and number for a name."""
    return [pytest.param(case, id=f"{case.op_type}-{k}") for k, case in enumerate(cases)]


def assert_as_onnx(case, rtol=2e-6, atol=1e-6):
    """What we compute of a node must be what onnx's own evaluator does: values, dtypes and shapes."""
    op_type, inputs, weights, attrs, opset, count, types = case
    outputs = [f"y{k}" for k in range(count)]
    names = ["" if value is None else name for name, value in {**inputs, **weights}.items()]
    inputs, weights = (
        {k: v for k, v in some.items() if v is not None} for some in (inputs, weights)
    )
    made = model([node(op_type, names, outputs, **attrs)], inputs, outputs, weights, opset)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        want = ReferenceEvaluator(made).run(None, inputs)
    graph = read_onnx(made)
    assert not types or " ".join(op.op_type for op in graph.ops) == types
    for one, other in zip(results(graph, inputs), want, strict=True):
        assert (one.dtype, one.shape) == (np.asarray(other).dtype, np.shape(other))
        np.testing.assert_allclose(one, other, rtol=rtol, atol=atol)


def assert_every_converter(module, cases, apart=()):
    """Every operator that a module converts must have a case; ``apart`` are those with tests of their own."""
    own = {name for name, made in CONVERTERS.items() if made.__module__ == module.__name__}
    renamed = {row.onnx for row in OPS.values()}
    assert own - renamed - set(apart) == {case.op_type for case in cases} - renamed


# ---------------- onnx's own node tests

KNOWN = {
    "CenterCropPad": (1,),
    "ConstantOfShape": (0,),
    "CumProd": (1,),
    "CumSum": (1,),
    "Dropout": (1, 2),
    "Expand": (1,),
    "GRU": (1, 2, 3, 4),
    "LSTM": (1, 2, 3, 4),
    "OneHot": (1,),
    "Pad": (1, 2, 3),
    "Range": (0, 1, 2),
    "Resize": (1, 2, 3),
    "Reshape": (1,),
    "Slice": (1, 2, 3, 4),
    "Split": (1,),
    "Squeeze": (1,),
    "Tile": (1,),
    "TopK": (1,),
    "Trilu": (1,),
    "Unsqueeze": (1,),
    "Upsample": (1,),
    **dict.fromkeys(
        ("ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean",
         "ReduceMin", "ReduceProd", "ReduceSum", "ReduceSumSquare"),
        (1,),
    ),
}  # fmt: skip
"""Inputs that a graph must know: in a node test they are fed like all others."""

ROUNDING = {"float16": 2**-10, "bfloat16": 2**-7}
"""Two roundings of a narrow result; onnx rounds between the steps of an operator, we do not."""

STEPS = 8
"""How many times that an operator of many steps may be off (`Attention`)."""


class Outcome(NamedTuple):
    """What became of one case: the operators of ours that it ran, or why it could not."""

    name: str
    onnx_type: str
    operators: tuple[str, ...]
    refused: GraphError | None
    wrong: str


def node_cases(without=()):
    """Every node test of one node of the standard domain whose data are tensors.

    To import the module of an operator makes its tests; those of some modules can be left out.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # NumPy overflows while onnx makes its expected outputs
        from onnx.backend.test.case import node

        for module in pkgutil.iter_modules(node.__path__):
            if module.name not in without:
                importlib.import_module(f"{node.__name__}.{module.name}")
    for case in node._NodeTestCases:
        if case.kind == "node" and len(case.model.graph.node) == 1:
            versions = [entry.version for entry in case.model.opset_import if not entry.domain]
            if versions and versions[0] <= OPSETS[1] and not case.model.graph.node[0].domain:
                yield case


def _array(value):
    return numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else value


def outcome(case, run=run_reference):
    """Run one case and compare every output in dtype, shape and values."""
    model = onnx.ModelProto()
    model.CopyFrom(case.model)
    node = model.graph.node[0]
    for entry in model.opset_import:
        if entry.version < OPSETS[0]:  # the operator has not changed since
            entry.version = OPSETS[1]
    inputs, outputs = ([_array(value) for value in values] for values in case.data_sets[0])
    feeds = dict(zip([info.name for info in model.graph.input], inputs, strict=False))
    known = {
        node.input[k]: feeds[node.input[k]]
        for k in KNOWN.get(node.op_type, ())
        if k < len(node.input) and node.input[k]
    }
    fed = {name: value for name, value in feeds.items() if name not in known}
    shapes = {name: np.shape(value) for name, value in fed.items() if isinstance(value, np.ndarray)}
    try:
        graph = read_onnx(model, values=known, shapes=shapes)
        got = results(graph, fed, run)
    except GraphError as error:
        return Outcome(case.name, node.op_type, (), error, "")
    operators = tuple(op.op_type for op in graph.ops)
    return Outcome(case.name, node.op_type, operators, None, _differs(got, outputs, case))


def _differs(got, want, case):
    """How outputs differ; empty if they agree within the case's own tolerance."""
    for one, other in zip(got, map(np.asarray, want), strict=True):
        if (one.dtype, one.shape) != (other.dtype, other.shape):
            return f"{one.dtype} {one.shape} for {other.dtype} {other.shape}"
        wide = np.float64 if one.dtype.kind in "fV" else one.dtype
        steps = 1 if case.model.graph.node[0].op_type in CONVERTERS else STEPS
        rtol = max(case.rtol, steps * ROUNDING.get(one.dtype.name, 0))
        a, b = one.astype(wide), other.astype(wide)
        if not np.allclose(a, b, rtol=rtol, atol=case.atol, equal_nan=a.dtype.kind == "f"):
            return f"{a.ravel()[:6]} for {b.ravel()[:6]}"
    return ""


def offline_model():
    """Nodes as exporters name them, with slashes, dots, an at sign, without any name; two with a bias.

    Some never run, among them sizes that are computed, as exporters write a flattening.
    """
    draw = np.random.default_rng(3)
    weights = {
        "w1": draw.standard_normal((8, 3, 3, 3)), "b1": draw.standard_normal(8),
        "w2": draw.standard_normal((16, 8, 3, 3)), "s": draw.uniform(0.5, 2, 16), "b": draw.standard_normal(16),
        "m": draw.standard_normal(16), "v": draw.uniform(0.5, 2, 16),
        "fw": draw.standard_normal((10, 16)),
    }  # fmt: skip
    nodes = [
        node("Conv", ["x", "w1", "b1"], ["c1"], "conv1_Conv", pads=[1, 1, 1, 1]),
        node("Relu", ["c1"], ["r1"], "relu_Relu"),
        node("MaxPool", ["r1"], ["p1"], "/pool/MaxPool", kernel_shape=[2, 2], strides=[2, 2]),
        node("Conv", ["p1", "w2"], ["c2"], "/features/2/Conv"),
        node("BatchNormalization", ["c2", "s", "b", "m", "v"], ["n2"], "bn.2"),
        node("Relu", ["n2"], ["r2"]),
        node("Dropout", ["r2"], ["d"], "drop"),
        node("GlobalAveragePool", ["d"], ["a"], "gap"),
        node("Shape", ["a"], ["sizes"], "flat/Shape"),
        node("Gather", ["sizes", "first"], ["batch"], "flat/Gather"),
        node("Concat", ["batch", "rest"], ["to"], "flat/Concat", axis=0),
        node("Reshape", ["a", "to"], ["f"], "flat"),
        node("ConstantOfShape", ["ten"], ["fb"], "zeros"),
        node("Gemm", ["f", "fw", "fb"], ["y"], "fc", transB=1),
        node("Softmax", ["y"], ["out"], "soft@0"),
    ]
    image = np.zeros((1, 3, 16, 16), np.float32)
    arrays = {name: array.astype(np.float32) / 2 for name, array in weights.items()}
    whole = {"ten": [10], "first": [0], "rest": [-1]}
    numbers = {name: np.array(value) for name, value in whole.items()}
    return model(nodes, {"x": image}, ["out"], arrays | numbers)
