"""The reference executor: which records it yields, in which dtypes, and how they hang together."""

import math
import weakref
from dataclasses import replace

import ml_dtypes
import numpy as np
import pytest

from kit.arrays import outputs
from kit.words import refused
from workbench.core.errors import GraphError
from workbench.core.tensors import TensorSpec
from workbench.graph.graph import Const, FreeRef, Graph, Op, Param, Parameter, Value
from workbench.network import nn
from workbench.network.models import MODELS, load_graph
from workbench.network.nn import functional as F
from workbench.network.tracer import trace
from workbench.npu.runner import run_npu
from workbench.ops import bind
from workbench.run.executor import (
    RefCountedStorage,
    execute,
    feeds_at,
    has_updates,
    parameter_values,
)
from workbench.run.plan import plan_execution
from workbench.run.reference import compute, run_reference

X = np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4)


def test_an_operator_gives_its_inputs_then_its_outputs_and_parameters_come_last():
    records = list(run_reference(trace(nn.Dense(4, 2), X)))
    got = [(r.key.op_type, r.key.op_name, r.key.io, r.key.slot, *r.label[:2]) for r in records]
    name, bias = "Default/MatMul-op0", "Default/BiasAdd-op0"
    assert got == [
        ("MatMul", name, "input", 0, "float32", (3, 4)),
        ("MatMul", name, "input", 1, "float32", (2, 4)),
        ("MatMul", name, "input", 2, "bool", ()),
        ("MatMul", name, "input", 3, "bool", ()),
        ("MatMul", name, "output", 0, "float32", (3, 2)),
        ("BiasAdd", bias, "input", 0, "float32", (3, 2)),
        ("BiasAdd", bias, "input", 1, "float32", (2,)),
        ("BiasAdd", bias, "input", 2, "int64", ()),
        ("BiasAdd", bias, "output", 0, "float32", (3, 2)),
        ("Parameter", "weight", "output", 0, "float32", (2, 4)),
        ("Parameter", "bias", "output", 0, "float32", (2,)),
        ("Parameter", "x", "output", 0, "float32", (3, 4)),
    ]
    assert [r.source.array().tolist() for r in records[2:4]] == [False, True]
    assert all(r.source.spec()[:2] == r.label[:2] for r in records)


def test_tuples_are_dumped_as_one_dimensional_integers():
    records = list(run_reference(trace(lambda x: F.softmax(x.reshape(2, 6)), X)))
    shape, axis = (r for r in records if r.key.io == "input" and r.key.slot == 1)
    assert shape.source.array().tolist() == [2, 6]
    assert axis.source.array().tolist() == [-1]
    assert shape.label == axis.label._replace(shape=(2,)) == TensorSpec("int64", (2,))


def test_the_items_of_a_bundle_are_separate_inputs():
    records = list(run_reference(trace(lambda x: F.concat([x, x, x], 0), X)))
    slots = [r.key.slot for r in records if r.key.io == "input"]
    assert slots == [0, 1, 2, 3]


def test_text_and_monads_have_no_record():
    op = Op(
        "Default/ReLU-op0",
        "ReLU",
        (Param(0), Const("U", "monad"), Const("about x", "")),
        outputs=(TensorSpec("float32", (2,)),),
    )
    graph = Graph("g", (Parameter("x", TensorSpec("float32", (2,))),), (op,), (Value(0),))
    records = list(run_reference(graph, {"x": np.float32([-1, 2])}))
    assert [(r.key.io, r.key.slot) for r in records] == [("input", 0), ("output", 0), ("output", 0)]


def test_graph_id_and_iteration_are_in_every_key():
    graph = trace(nn.ReLU(), X).with_id(3)
    keys = [r.key for r in run_reference(graph, iteration=7)]
    assert {(key.graph_id, key.iteration) for key in keys} == {(3, 7)}


@pytest.mark.parametrize("name", sorted(MODELS))
def test_what_an_operator_writes_is_what_the_next_one_reads(name):
    graph = load_graph(name)
    records = list(run_reference(graph))
    written = outputs(records)
    for record in records:
        if record.key.io != "input":
            continue
        operand = list(graph.op(record.key.op_name).flat_inputs())[record.key.slot]
        if isinstance(operand, Value):
            source = written[graph.ops[operand.op].name, operand.slot]
            np.testing.assert_array_equal(record.source.array(), source)


@pytest.mark.parametrize("name", sorted(MODELS))
def test_replaying_an_operator_on_its_records_gives_its_record_again(name):
    graph = load_graph(name)
    inputs = {}
    for record in run_reference(graph):
        inputs[record.key.op_name, record.key.io, record.key.slot] = record.source.array()
    for op in graph.ops:
        bound = bind(op)
        tensors = [inputs[op.name, "input", slot] for slot in bound.slots]
        again = compute(op, tensors, bound.settings)
        np.testing.assert_array_equal(again[0], inputs[op.name, "output", 0])


def test_every_output_is_the_correctly_rounded_result_of_its_inputs():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((4, 300)).astype(np.float32)
    w = rng.standard_normal((5, 300)).astype(np.float32)
    graph = trace(lambda x, w: F.matmul(x, w, False, True), x, w)
    got = outputs(run_reference(graph))["Default/MatMul-op0", 0]
    for i in range(4):
        for j in range(5):
            exact = math.fsum((x[i].astype(float) * w[j].astype(float)).tolist())
            assert got[i, j] == np.float32(exact)


def test_single_precision_is_close_and_not_the_same():
    graph = load_graph("lenet")
    double = outputs(run_reference(graph))
    single = outputs(run_reference(graph, dtype="float32"))
    last = (graph.ops[-1].name, 0)
    assert single[last].dtype == np.float32
    np.testing.assert_allclose(single[last], double[last], rtol=1e-4, atol=1e-5)
    assert any(not np.array_equal(single[key], double[key]) for key in double)


@pytest.mark.parametrize(
    ("dtype", "storage"),
    [("float16", np.float16), ("bfloat16", ml_dtypes.bfloat16), ("float64", np.float64)],
)
def test_a_graph_of_another_dtype_is_stored_in_it(dtype, storage):
    spec = TensorSpec(dtype, (3, 4))
    graph = trace(lambda a: F.exp(a) + 1, spec)
    got = outputs(run_reference(graph, {"a": X}))
    first = np.exp(X.astype(storage).astype(np.float64)).astype(storage)
    np.testing.assert_array_equal(got["Default/Exp-op0", 0], first)
    total = (first.astype(np.float64) + 1).astype(storage)
    assert got["Default/Add-op0", 0].dtype == storage
    np.testing.assert_array_equal(got["Default/Add-op0", 0], total)


def test_integers_are_computed_as_integers():
    big = np.array([2**53 + 1, -3], np.int64)
    graph = trace(lambda a: a + 1, big)
    got = outputs(run_reference(graph))["Default/Add-op0", 0]
    assert got.dtype == np.int64
    assert got.tolist() == [2**53 + 2, -2]


def test_feeds_replace_inputs_and_weights():
    graph = trace(nn.Dense(4, 2), X)
    feeds = {"x": np.ones((3, 4)), "weight": np.ones((2, 4)), "bias": np.array([0.0, 1.0])}
    got = outputs(run_reference(graph, feeds))
    np.testing.assert_array_equal(got["Default/BiasAdd-op0", 0], [[4.0, 5.0]] * 3)


def test_a_computed_shape_is_read_from_its_value():
    shape = Op("Default/Add-op0", "Add", (Param(1), Param(1)), outputs=(TensorSpec("int64", (2,)),))
    move = Op("r", "Reshape", (Param(0), Value(0)), outputs=(TensorSpec("float32", (2, 6)),))
    params = (
        Parameter("x", TensorSpec("float32", (3, 4))),
        Parameter("s", TensorSpec("int64", (2,))),
    )
    graph = Graph("g", params, (shape, move), (Value(1),))
    got = outputs(run_reference(graph, {"x": X, "s": np.array([1, 3])}))
    assert got["r", 0].shape == (2, 6)


def test_division_by_zero_is_a_result_and_not_a_warning():
    got = outputs(run_reference(trace(lambda a: F.log(a) / 0.0, X)))
    assert not np.isfinite(got["Default/RealDiv-op0", 0]).any()


RELU = trace(nn.ReLU(), TensorSpec("float32", (3, 4)))


@pytest.mark.parametrize(
    ("graph", "feeds", "code", "values"),
    [
        (RELU, {}, "run/no-value", {"name": "x"}),
        (RELU, {"x": X, "y": X}, "core/choice", {"subject": "feed", "got": "y", "known": ["x"]}),
        (RELU, {"x": X[:2]}, "run/value-shape", {"name": "x", "expected": (3, 4), "got": (2, 4)}),
        (replace(RELU, subgraphs=(RELU,)), {"x": X}, "run/control-flow", {"graph": RELU.name}),
        (
            replace(RELU, ops=(replace(RELU.ops[0], op_type="SomethingNew"),)),
            {"x": X},
            "core/choice",
            {"subject": "operator type", "got": "SomethingNew"},
        ),
        (
            replace(RELU, ops=(replace(RELU.ops[0], inputs=(FreeRef("g", "n"),)),)),
            {"x": X},
            "run/operand",
            {"op": "Default/ReLU-op0", "got": FreeRef("g", "n")},
        ),
        (
            replace(RELU, ops=(replace(RELU.ops[0], inputs=(Const("[...]", "float32", (99,)),)),)),
            {"x": X},
            "run/inputs-unknown",
            {"op": "Default/ReLU-op0", "type": "ReLU"},
        ),
    ],
)
def test_what_cannot_run_is_refused(graph, feeds, code, values):
    with refused(code, GraphError, **values):
        list(run_reference(graph, feeds))


def test_an_operator_type_without_a_kernel_is_refused():
    with refused("run/no-kernel", GraphError, op="x", type="SomethingNew"):
        compute(Op("x", "SomethingNew"), [], {})


def test_a_value_is_not_read_before_it_is_written():
    with refused("run/unwritten", GraphError, value=Value(0)):
        RefCountedStorage(plan_execution(RELU)).read(Value(0))


def test_a_value_is_dropped_after_its_last_use():
    graph = trace(lambda a: F.tanh(F.sqrt(F.exp(a))), X)
    alive = {}
    for record in run_reference(graph):
        if record.key.io == "output" and record.key.op_type != "Parameter":
            alive[record.key.op_type] = weakref.ref(record.source.array())
        if record.key.op_type == "Tanh":
            assert alive["Exp"]() is None
    assert list(alive) == ["Exp", "Sqrt", "Tanh"]


def test_records_come_while_the_graph_runs():
    """A generator: the first record is there before a later operator fails."""
    graph = trace(lambda a: F.relu(a), X)
    bad = Op("bad", "MatMul", (Value(0), Value(0)), outputs=(TensorSpec("float32", (3, 3)),))
    records = run_reference(replace(graph, ops=(*graph.ops, bad)))
    assert next(records).key.op_name == "Default/ReLU-op0"
    with pytest.raises(ValueError, match="matmul"):
        list(records)


@pytest.mark.parametrize("run", [run_reference, run_npu])
def test_an_output_that_no_machine_can_hold_is_refused_before_anything_runs(run):
    graph = trace(lambda x: F.tile(x, (1 << 45,)), np.float32([1, 2]))
    with refused("run/output-memory", GraphError, op="Default/Tile-op0", type="Tile"):
        next(iter(run(graph)))


# ---------------- where outputs are, which weights a step has, what is looked at again

ROW = TensorSpec("float32", (3,))


def chain(*kinds, unless=("",) * 9):
    """Operators on one input, one behind the other."""
    ops = tuple(
        Op(f"o{k}", kind, (Value(k - 1) if k else Param(0),), {}, (ROW,), unless=unless[k])
        for k, kind in enumerate(kinds)
    )
    return Graph("g", (Parameter("x", ROW),), ops, (Value(len(ops) - 1),))


def test_outputs_are_held_until_they_have_been_read_by_all():
    graph = chain("Neg", "Abs")
    twice = replace(graph, ops=(*graph.ops, Op("o2", "Add", (Value(0), Value(1)), {}, (ROW,))))
    held = RefCountedStorage(plan_execution(twice))
    one = np.float32([1, 2, 3])
    (source,) = held.write(0, [one], {})
    assert source.data is one
    for _ in range(2):
        assert held.read(Value(0)) is one
        held.release(Value(0))
    with refused("run/unwritten", GraphError, value=Value(0)):
        held.read(Value(0))
    held.write(2, [one], {})
    with refused("run/unwritten", GraphError, value=Value(2)):  # nobody reads it
        held.read(Value(2))


def test_what_is_watched_stays_and_is_zero_before_it_is_written():
    held = RefCountedStorage(plan_execution(chain("Neg", "Abs")), [Value(0)])
    before = held.peek(Value(0)).data
    assert (before.dtype, before.tolist()) == (np.float32, [0, 0, 0])
    one = np.float32([1, 2, 3])
    held.write(0, [one], {})
    held.release(Value(0))
    assert held.peek(Value(0)).data is one


def test_an_output_is_looked_at_again_behind_another_operator():
    graph, x = chain("Neg", "Abs", "Exp"), np.float32([1, -2, 3])
    watch = {"o0": ("o1",), "o2": ("o0", "o1")}
    compute_one = lambda planned, tensors, settings: compute(planned.op, tensors, settings)  # noqa: E731
    found = [
        (one.key.op_name, one.after, one.source.array().tolist())
        for one in execute(plan_execution(graph), {"x": x}, compute_one, watch=watch)
        if one.after
    ]
    assert found == [("o1", "o0", [0, 0, 0]), ("o0", "o2", [-1, 2, -3]), ("o1", "o2", [1, 2, 3])]


def test_an_operator_is_left_out_where_any_element_of_its_flag_is_true():
    graph = chain("Neg", "Abs", unless=("", "f"))
    flag = Op("f", "LogicalNot", (Param(1),), {}, (TensorSpec("bool", (2,)),))
    parameters = (*graph.parameters, Parameter("p", TensorSpec("bool", (2,))))
    graph = replace(
        graph,
        parameters=parameters,
        ops=(graph.ops[0], flag, replace(graph.ops[1], inputs=(Value(0),))),
    )
    for given, runs in (([True, True], True), ([True, False], False)):
        records = run_reference(graph, {"x": np.ones(3), "p": np.array(given)})
        assert ("o1" in {one.key.op_name for one in records}) is runs


def test_weights_of_a_step_are_those_of_earlier_steps_then_those_given_then_the_networks_own():
    default = np.float32([1, 1, 1])
    graph = Graph(
        "g",
        (Parameter("w", ROW, True, default=default), Parameter("v", ROW, True, default=default)),
    )
    given, state = {"w": [2, 2, 2], "v": [2, 2, 2]}, {"w": np.float32([3, 3, 3])}
    found = [one.tolist() for one in parameter_values(graph, given, state)]
    assert found == [[3, 3, 3], [2, 2, 2]]
    assert [one.tolist() for one in parameter_values(graph, {})] == [[1, 1, 1]] * 2
    assert {one.dtype for one in parameter_values(graph, given)} == {np.dtype(np.float32)}


def test_feeds_that_are_given_win_over_the_batches_of_the_network():
    batched = Graph("g", batches=lambda step: {"x": step, "y": step})
    assert feeds_at(batched, None, 3) == {"x": 3, "y": 3}
    assert feeds_at(batched, {"x": 7}, 3) == {"x": 7, "y": 3}
    assert feeds_at(batched, lambda step: {"y": 10 * step}, 3) == {"x": 3, "y": 30}
    assert feeds_at(Graph("g"), None, 3) == {}
    assert feeds_at(Graph("g"), lambda step: {"y": 10 * step}, 3) == {"y": 30}


@pytest.mark.parametrize(("name", "updates"), [("mlp", False), ("mlp_train", True)])
def test_a_network_says_whether_it_leaves_weights_otherwise(name, updates):
    assert has_updates(load_graph(name)) is updates


HELD = [
    ("hifloat8", np.float32, [1.0, -2.5, 0.0]),
    ("float16", np.float16, [1.0, -2.5, 0.0]),
    ("bfloat16", ml_dtypes.bfloat16, [1.0, -2.5, 0.0]),
    ("int8", np.int8, [1, -2, 0]),
]  # fmt: skip


@pytest.mark.parametrize(("dtype", "storage", "values"), HELD)
def test_a_record_has_the_dtype_of_its_tensor_also_where_memory_holds_a_wider_one(
    dtype, storage, values
):
    spec = TensorSpec(dtype, (3,))
    op = Op("o", "Neg", (Param(0),), {}, (spec,))
    graph = Graph("g", (Parameter("x", spec),), (op,), (Value(0),))
    records = list(run_reference(graph, {"x": np.asarray(values, storage)}))
    assert [one.label for one in records] == [spec] * 3
    assert {one.source.array().dtype for one in records} == {np.dtype(storage)}
    assert records[1].source.array().astype(float).tolist() == [-one for one in values]


def test_the_outputs_of_an_operator_alone_have_the_dtypes_that_the_graph_states():
    op = Op("o", "TopK", (Param(0),), {}, (TensorSpec("float16", (2,)),))
    values, places = compute(op, [np.float32([1.0001, 3.0001, 2.0001])], {"k": 2, "sorted": True})
    assert (values.dtype, places.dtype) == (np.float16, np.int32)
    assert values.tolist() == [3, 2]
