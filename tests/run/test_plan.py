"""Operators are planned once for all iterations of a graph, and small images are worked on together."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from kit.words import refused
from workbench.core.errors import GraphError
from workbench.core.tensors import TensorSpec
from workbench.graph.graph import Const, Graph, Kernel, Op, Param, Parameter, Value
from workbench.network.models import load_graph
from workbench.npu.compile.pipeline import compile_graph
from workbench.npu.runner import run_program
from workbench.npu.target import Target
from workbench.ops import run_kernel
from workbench.ops.kernels.matrix import together
from workbench.run.plan import plan_execution
from workbench.run.reference import run_reference


def test_a_plan_says_what_each_operator_reads_and_how_often_each_result_is_read():
    spec = TensorSpec("float32", (2,))
    ops = (
        Op("a", "ReLU", (Param(0),), outputs=(spec,)),
        Op("b", "Add", (Value(0), Const(2.0, "float32", ())), outputs=(spec,)),
        Op("c", "Mul", (Value(0), Value(1)), outputs=(spec,)),
    )
    graph = Graph("g", (Parameter("x", spec),), ops, (Value(2),))
    plan = plan_execution(graph)
    assert [one.op for one in plan.ops] == [*ops]
    assert [one.parameters for one in plan.ops] == [((0, 0),), (), ()]
    assert [one.produced for one in plan.ops] == [
        (),
        ((0, Value(0)),),
        ((0, Value(0)), (1, Value(1))),
    ]
    assert [one.dtypes for one in plan.ops] == [("float32",), ("float32", ""), ("float32",) * 2]
    assert [len(one.operands) for one in plan.ops] == [1, 2, 2]
    assert plan.ops[1].constants[0] is None
    assert float(plan.ops[1].constants[1]) == 2.0
    assert (plan.reads, plan.predicates) == (((2,), (1,), (0,)), ())


def test_a_plan_says_what_an_operator_overwrites_alone_and_inside_of_a_kernel():
    spec = TensorSpec("float32", (2,))
    update = Op("u", "AssignAdd", (Param(0), Param(1)), outputs=(spec,))
    inside = Kernel((replace(update, name="in"),), (Value(0),))
    kernel = replace(update, name="k", op_type="Kernel", fused=inside)
    weights = (Parameter("w", spec, is_weight=True), Parameter("x", spec))
    plan = plan_execution(Graph("g", weights, (update, kernel), (Value(1),)))
    assert [(one.written, one.shared) for one in plan.ops] == [((0,), {0: 0})] * 2
    assert [one.op.name for one in plan.ops[1].parts] == ["in"]
    assert plan.ops[1].parts[0].written == (0,)
    assert (plan.ops[1].tensors, dict(plan.ops[1].settings)) == ((), {})


ROW = TensorSpec("float32", (2,))


def left_out(*names):
    """Operators in a row, each of which runs unless the named one is true."""
    ops = tuple(
        Op(f"o{k}", "Neg", (Value(k - 1),) if k else (Param(0),), {}, (ROW,), unless=name)
        for k, name in enumerate(names)
    )
    return Graph("g", (Parameter("x", ROW),), ops, (Value(len(ops) - 1),))


def test_predicates_are_named_once_in_their_order():
    graph = left_out("", "", "o1", "o1")
    assert plan_execution(graph).predicates == ("o1",)
    apart = replace(graph, ops=(*graph.ops, Op("p", "Neg", (Value(0),), {}, (ROW,), unless="o0")))
    assert plan_execution(apart).predicates == ("o1", "o0")


def test_a_predicate_must_be_there():
    with refused("graph/no-operator", GraphError, got="nobody"):
        plan_execution(left_out("", "nobody"))


@pytest.mark.parametrize(
    ("names", "reader", "read"), [(("", "o0", ""), "o2", "o1"), (("", "", "o0", "o1"), "o3", "o2")]
)
def test_who_runs_reads_nothing_that_may_be_left_out(names, reader, read):
    with refused("run/reads-skipped", GraphError, op=reader, read=read, got=names[-1]):
        plan_execution(left_out(*names))


def test_settings_that_a_run_computes_are_inputs():
    sizes = TensorSpec("int64", (1,))
    parameters = (Parameter("x", ROW), Parameter("s", sizes))
    op = Op("r", "Reshape", (Param(0), Param(1)), {}, (TensorSpec("float32", None),))
    (planned,) = plan_execution(Graph("g", parameters, (op,), (Value(0),))).ops
    assert (planned.computed, planned.tensors, planned.parameters) == (
        (("shape", 1),),
        (0,),
        ((0, 0), (1, 1)),
    )
    assert planned.constants == (None, None)


def test_an_output_may_be_as_large_as_the_memory_while_it_is_computed(monkeypatch):
    pages = {"SC_PAGE_SIZE": 4096, "SC_PHYS_PAGES": 10}
    monkeypatch.setattr("workbench.run.plan.os.sysconf", pages.get)
    for count, fits in ((5120, True), (5121, False)):
        op = Op(
            "o",
            "Neg",
            (Param(0),),
            {},
            (TensorSpec("float16", None), TensorSpec("float16", (count,))),
        )
        graph = Graph("g", (Parameter("x", ROW),), (op,))
        if fits:
            plan_execution(graph)
        else:
            with refused("run/output-memory", GraphError, op="o", shape=(count,), memory=40960):
                plan_execution(graph)


def test_constants_that_every_iteration_hands_out_cannot_be_changed():
    plan = plan_execution(load_graph("mlp_train"))
    constants = [one for op in plan.ops for one in op.constants if one is not None]
    assert constants
    assert not any(one.flags.writeable for one in constants)


def same_records(ours, theirs):
    for one, other in zip(ours, theirs, strict=True):
        assert one.key == other.key
        np.testing.assert_array_equal(one.source.array(), other.source.array())


def test_a_second_run_gives_what_the_first_one_gave():
    graph = load_graph("lenet_train")
    same_records(*(list(run_reference(graph, state={})) for _ in range(2)))


def test_iterations_of_one_plan_give_what_each_gives_alone():
    graph = load_graph("mlp_train")
    program = compile_graph(graph, Target("mindspore-ge"))
    for run, planned in (
        (partial(run_reference, graph), graph),
        (partial(run_program, program), program.graph),
    ):
        plan, ours, theirs = plan_execution(planned), {}, {}
        for step in range(2):
            own = run(plan=plan, iteration=step, state=ours)
            same_records(list(own), list(run(iteration=step, state=theirs)))


@pytest.mark.parametrize(("count", "size"), [(8, 1), (8, 20_000), (3, 1 << 30), (0, 5), (4, 0)])
def test_blocks_of_images_meet_every_image_once(count, size):
    images = list(range(count))
    assert [one for some in together(count, size) for one in images[some]] == images


@pytest.mark.parametrize("kind", ["Conv2DBackpropInput", "Conv2DBackpropFilter", "Conv2D"])
@pytest.mark.parametrize(
    ("stride", "dilation", "pads"), [(1, 1, 0), (2, 1, 1), (1, 2, 1), (2, 2, 2)]
)
def test_images_that_are_worked_on_together_give_what_each_gives_alone(
    kind, stride, dilation, pads
):
    rng = np.random.default_rng(3)
    x, weight = rng.standard_normal((5, 4, 9, 8)), rng.standard_normal((6, 2, 3, 2))
    settings = {
        "group": 2, "pad_mode": "pad", "pad": (pads,) * 4, "stride": (stride,) * 2,
        "dilation": (dilation,) * 2, "filter_size": weight.shape, "input_size": x.shape,
    }  # fmt: skip
    (forward,) = run_kernel("Conv2D", [x, weight], settings)
    dout = rng.standard_normal(forward.shape)
    inputs = {
        "Conv2D": (x, weight),
        "Conv2DBackpropInput": (dout, weight),
        "Conv2DBackpropFilter": (dout, x),
    }[kind]
    (whole,) = run_kernel(kind, inputs, settings)
    alone = [
        run_kernel(
            kind,
            [one[image : image + 1] if len(one) == len(x) else one for one in inputs],
            {**settings, "input_size": (1, *x.shape[1:])},
        )[0]
        for image in range(len(x))
    ]
    expected = sum(alone) if kind == "Conv2DBackpropFilter" else np.concatenate(alone)
    np.testing.assert_allclose(whole, expected, rtol=1e-12, atol=1e-12)
