"""Memory: lives, places, and what shares them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.core.tensors import TensorSpec
from workbench.graph.graph import Const, Graph, Op, Param, Parameter, Value
from workbench.network.models import MODELS, load_graph
from workbench.network.nn import functional as F
from workbench.network.tracer import trace
from workbench.npu.memory import ALIGNED, BASE, WEIGHTS, Read, plan_memory, room_of

TYPES = ("Add", "ReLU", "Reshape", "MatMul", "Conv2D", "Split")
SHAPES = ((), (3,), (16, 16), (17, 5), (1, 3, 4, 4), (2, 20, 3, 3), (0, 4))


@st.composite
def networks(draw):
    """Operators that read whatever came before; nobody could compute most of them."""
    parameter = Parameter("w", TensorSpec("float32", (16, 16)), is_weight=True)
    ops, values = [], [Param(0)]
    for number in range(draw(st.integers(1, 12))):
        kind = draw(st.sampled_from(TYPES))
        recent = st.sampled_from(values[-4:] + values[:1])
        inputs = draw(st.lists(recent, min_size=1, max_size=3))
        count = 2 if kind == "Split" else 1
        dtype = draw(st.sampled_from(["float16", "float32", "int64"]))
        outputs = tuple(TensorSpec(dtype, draw(st.sampled_from(SHAPES))) for _ in range(count))
        ops.append(Op(f"op{number}", kind, (*inputs, Const(2, "int64")), {}, outputs))
        values += [Value(number, slot) for slot in range(count)]
    results = draw(st.lists(st.sampled_from(values), max_size=2))
    return Graph("g", (parameter,), tuple(ops), tuple(results))


def lives(graph):
    """When each output is needed, without a thought of who shares memory."""
    found = {Value(n, s): [n, n] for n, op in enumerate(graph.ops) for s in range(len(op.outputs))}
    for number, op in enumerate(graph.ops):
        for operand in op.inputs:
            if isinstance(operand, Value):
                found[operand][1] = number
    for operand in graph.outputs:
        if isinstance(operand, Value):
            found[operand][1] = len(graph.ops)
    return found


def renamed(graph, one, other):
    """Whether one output is the other one under new names: a Reshape of it, or of a Reshape of it."""
    later, earlier = max(one, other, key=lambda v: v.op), min(one, other, key=lambda v: v.op)
    while later.op > earlier.op and graph.ops[later.op].op_type == "Reshape":
        first = graph.ops[later.op].inputs[0]
        if not isinstance(first, Value):
            return False
        later = first
    return later == earlier


@given(networks())
def test_outputs_that_live_at_one_time_do_not_overlap(graph):
    memory, needed = plan_memory(graph), lives(graph)
    places = [(value, memory.outputs[value]) for value in needed]
    for at, (value, place) in enumerate(places):
        for other, there in places[:at]:
            together = needed[value][0] <= needed[other][1] and needed[other][0] <= needed[value][1]
            apart = place.behind <= there.address or there.behind <= place.address
            assert apart or not together or renamed(graph, value, other)


@given(networks())
def test_an_operator_reads_whole_tensors_from_where_it_does_not_write(graph):
    memory = plan_memory(graph)
    for number, op in enumerate(graph.ops):
        for slot, operand in enumerate(op.inputs):
            read = memory.inputs[Read(number, slot)]
            assert read.first <= number <= read.last
            source = memory.outputs.get(operand)
            if source is not None and source.layout.format == read.layout.format:
                assert (read.address, read.size) == (source.address, source.size)
            for out in range(len(op.outputs)):
                written = memory.outputs[Value(number, out)]
                shared = op.op_type == "Reshape" and written.address == read.address
                assert shared or written.behind <= read.address or read.behind <= written.address


@given(networks())
def test_blocks_are_aligned_and_no_more_is_used_than_without_reuse(graph):
    memory = plan_memory(graph)
    everything = [*memory.outputs.values(), *memory.inputs.values()]
    assert all(place.address % ALIGNED == 0 for place in everything)
    assert all(place.room >= place.size + 32 and place.room % 32 == 0 for place in everything)
    given_away = [place for place in everything if place.address < WEIGHTS]
    assert all(BASE <= place.address <= place.behind <= BASE + memory.size for place in given_away)
    blocks = {(p.address, p.first): -(-p.room // ALIGNED) * ALIGNED for p in given_away}
    assert memory.size <= sum(blocks.values())
    needed = max((sum(-(-p.room // ALIGNED) * ALIGNED for p in {(q.address, q.first): q
                 for q in given_away if q.first <= n <= q.last}.values())
                 for n in range(len(graph.ops))), default=0)  # fmt: skip
    assert memory.size >= needed


@given(networks())
def test_weights_and_constants_lie_apart_and_stay(graph):
    memory = plan_memory(graph)
    fixed = {}
    for number, op in enumerate(graph.ops):
        for slot, operand in enumerate(op.inputs):
            place = memory.inputs[Read(number, slot)]
            if isinstance(operand, Const):
                assert place.address >= WEIGHTS
                assert place.last == len(graph.ops)
            if place.address >= WEIGHTS:
                owner = operand if isinstance(operand, Param) else (number, slot)
                fixed.setdefault(place.address, set()).add(str(owner))
    assert all(len(owners) == 1 or "Param(index=0)" in owners for owners in fixed.values())


@given(networks())
def test_the_same_graph_has_the_same_addresses(graph):
    again = Graph("g", graph.parameters, graph.ops, graph.outputs)
    assert plan_memory(graph) == plan_memory(again)


def chain(count, shape=(16, 16)):
    spec = TensorSpec("float32", shape)
    ops = [Op("op0", "ReLU", (Param(0),), {}, (spec,))]
    ops += [Op(f"op{n}", "ReLU", (Value(n - 1),), {}, (spec,)) for n in range(1, count)]
    return Graph("g", (Parameter("x", spec),), tuple(ops), (Value(count - 1),))


def test_a_chain_goes_back_and_forth_between_two_blocks():
    memory = plan_memory(chain(7))
    addresses = [memory.outputs[Value(n, 0)].address for n in range(7)]
    assert addresses == [BASE, BASE + 1536] * 3 + [BASE]  # 1024 + 32, rounded up to 512
    assert memory.size == 2 * 1536


def test_what_is_kept_for_a_tensor_is_its_bytes_rounded_up_and_32():
    assert [room_of(size) for size in (0, 1, 31, 32, 33, 1024)] == [32, 64, 64, 64, 96, 1056]


def test_renamed_data_are_the_same_memory_as_long_as_anyone_reads_them():
    spec, flat = TensorSpec("float32", (4, 4)), TensorSpec("float32", (16,))
    ops = (
        Op("a", "ReLU", (Param(0),), {}, (spec,)),
        Op("r", "Reshape", (Value(0), Const((16,), "tuple")), {}, (flat,)),
        Op("b", "ReLU", (Value(0),), {}, (spec,)),
        Op("c", "ReLU", (Value(2),), {}, (spec,)),
        Op("d", "Add", (Value(1), Value(3)), {}, (flat,)),
    )
    memory = plan_memory(Graph("g", (Parameter("x", spec),), ops, (Value(4),)))
    first, second = memory.outputs[Value(0)], memory.outputs[Value(1)]
    assert (first.address, first.last) == (second.address, second.last) == (BASE, 4)


def test_state_is_updated_where_it_lies():
    spec = TensorSpec("float32", (4,))
    parameters = (Parameter("w", spec, is_weight=True), Parameter("x", spec))
    ops = (Op("a", "Assign", (Param(0), Param(1)), {}, (spec,)),)
    memory = plan_memory(Graph("g", parameters, ops))
    assert memory.outputs[Value(0)].address == memory.inputs[Read(0, 0)].address >= WEIGHTS
    assert memory.size == 0


def test_an_input_in_another_format_is_a_copy_while_its_operator_runs():
    x = np.zeros((1, 3, 8, 8), np.float32)
    w = np.zeros((20, 3, 3, 3), np.float32)
    graph = trace(lambda a: F.exp(F.conv2d(a, w)), x)
    memory = plan_memory(graph)
    conv, exp = memory.outputs[Value(0)], memory.inputs[Read(1, 0)]
    assert (conv.layout.format, conv.layout.shape) == ("NC1HWC0", (1, 2, 6, 6, 16))
    assert conv.size == 2 * 6 * 6 * 16 * 4
    assert (exp.layout.format, exp.size) == ("NCHW", 20 * 6 * 6 * 4)
    assert (exp.first, exp.last) == (1, 1)
    assert exp.address >= conv.behind


@pytest.mark.parametrize("name", MODELS)
def test_networks_reuse_memory(name):
    graph = load_graph(name)
    memory = plan_memory(graph)
    together = sum(place.room for place in memory.outputs.values())
    assert memory.size < 0.81 * together
