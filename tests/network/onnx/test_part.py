"""Some nodes of a model as operators of ours, against onnx's own evaluator of the whole model."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

from kit.build.onnx_models import FLOAT, model, node
from workbench.core.errors import GraphError
from workbench.core.tensors import TensorSpec
from workbench.graph.graph import Param, Value
from workbench.graph_files.onnx.model import parse_onnx_model
from workbench.network.onnx.part import input_name, lower_part, outer_operands
from workbench.ops.compile_time import computed_before_the_run
from workbench.run.reference import run_reference

DRAW = np.random.default_rng(0)
WEIGHTS = {
    "w": DRAW.standard_normal((4, 3, 3, 3)), "s": DRAW.uniform(0.5, 2, 4), "b": DRAW.standard_normal(4),
    "m": DRAW.standard_normal(4), "v": DRAW.uniform(0.5, 2, 4), "table": DRAW.standard_normal((9, 5)),
}  # fmt: skip
ARRAYS = {name: array.astype(np.float32) for name, array in WEIGHTS.items()}
IMAGE = DRAW.standard_normal((1, 3, 6, 6)).astype(np.float32)
IDS = np.array([[2, 0, 8]])

NODES = [
    node("Relu", ["x"], ["r"], "before"),
    node("Conv", ["r", "w"], ["c"], "conv"),
    node("BatchNormalization", ["c", "s", "b", "m", "v"], ["n"], "bn"),
    node("Shape", ["x"], ["sizes"], "shape"),
    node("Gather", ["sizes", "first"], ["batch"], "batch"),
    node("Concat", ["batch", "rest"], ["to"], "to", axis=0),
    node("Reshape", ["n", "to"], ["f"], "flat"),
    node("Gather", ["table", "ids"], ["e"], "embedding"),
    node("Strange", ["f"], ["z"], "odd", domain="my.ops"),
]
PARTS = {
    "a product and its normalization": (["conv", "bn"], "n", {"r": np.maximum(IMAGE, 0)}),
    "one node": (["conv"], "c", {"r": np.maximum(IMAGE, 0)}),
    "with sizes that are computed": (["flat"], "f", {"n": IMAGE}),
    "by integers": (["embedding"], "e", {"ids": IDS}),
}
"""Case → names of nodes, what they give, and what they read that is no weight."""


def read(extra=()):
    feeds = {"x": IMAGE, "ids": helper.make_tensor_value_info("ids", TensorProto.INT64, [1, 3])}
    known = ARRAYS | {"first": np.array([0]), "rest": np.array([-1])}
    made = model(NODES, feeds, ["z", "e"], known)
    made.opset_import.append(helper.make_opsetid("my.ops", 1))
    return made, parse_onnx_model(made.SerializeToString())


def by_evaluator(made, nodes, output, feeds):
    """What the nodes, and those before that read no input's values, give by onnx's evaluator."""
    part = type(made)()
    part.CopyFrom(made)
    wanted = {*nodes, "shape", "batch", "to"} if "flat" in nodes else {*nodes}
    kept = [one for one in made.graph.node if one.name in wanted]
    del part.graph.node[:], part.graph.input[:], part.graph.output[:]
    part.graph.node.extend(kept)
    arrays = feeds | {"x": IMAGE}
    kinds = {np.dtype(np.int64): TensorProto.INT64}
    part.graph.input.extend(
        helper.make_tensor_value_info(k, kinds.get(v.dtype, FLOAT), v.shape)
        for k, v in arrays.items()
    )
    part.graph.output.append(helper.make_empty_tensor_value_info(output))
    return ReferenceEvaluator(part).run([output], arrays)[0]


@pytest.mark.parametrize(("nodes", "output", "feeds"), PARTS.values(), ids=PARTS)
def test_nodes_give_what_they_give_in_the_model(nodes, output, feeds):
    made, graph = read()
    numbers = [graph.by_name[name] for name in nodes]
    known = computed_before_the_run(graph)
    arrays = feeds | {"x": IMAGE}
    read_from = {Value(n, 0): one.output[0] for n, one in enumerate(made.graph.node)}
    read_from |= {Param(n): one.name for n, one in enumerate(graph.parameters)}
    outer = [read_from[one] for one in outer_operands(graph, numbers, known)]
    specs = {
        one: TensorSpec(str(arrays[name].dtype), arrays[name].shape)
        for one, name in read_from.items()
        if name in arrays
    }
    part = lower_part(graph, numbers, Value(numbers[-1], 0), specs, known)
    named = {input_name(place): name for place, name in enumerate(outer)}
    given = {one.name: arrays[named[one.name]] for one in part.parameters if not one.is_weight}
    records = run_reference(part, given)
    results = {
        (one.key.op_name, one.key.slot): one.source.array()
        for one in records
        if one.key.io == "output"
    }
    (result,) = part.outputs
    got = results[part.ops[result.op].name, result.slot]
    want = by_evaluator(made, nodes, output, feeds)
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)


def test_a_node_that_is_not_known_is_refused():
    _, graph = read()
    number = graph.by_name["odd"]
    specs = {Value(graph.by_name["flat"], 0): TensorSpec("float32", (1, 64))}
    with pytest.raises(GraphError):
        lower_part(graph, [number], Value(number, 0), specs, computed_before_the_run(graph))
