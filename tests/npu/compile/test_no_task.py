"""Concatenations and splits whose tensors lie in one piece already: what is marked, and where it lies."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import workbench as wb
from kit.build.programs import program_for
from kit.cases import examples
from kit.evidence import defects
from kit.trees import foretold, sizes
from kit.words import refused
from workbench.config import new
from workbench.core.errors import GraphError
from workbench.core.plan import DumpPlan
from workbench.forecast.preview import preview
from workbench.graph.graph import Value
from workbench.graph_files.ge.silent_ops import why_no_dump
from workbench.network.nn import functional as F
from workbench.network.tracer import trace
from workbench.npu.faults import Fault
from workbench.npu.memory import plan_memory
from workbench.npu.runner import run_program
from workbench.run.reference import run_reference
from workbench.simulation.simulate import simulate

X = np.random.default_rng(0).standard_normal((2, 16)).astype(np.float32)
ROW = np.random.default_rng(1).standard_normal((1, 16)).astype(np.float32)


def between(x):
    """A split, something for each half, and both together again."""
    first, second = F.split(F.tanh(x), 2, 0)
    return F.relu(F.concat((F.exp(first), F.sigmoid(second)), 0))


GRAPH = trace(between, X)


def compiled(graph, off=()):
    return program_for(graph, "mindspore-ge", off=off)


def marked(program):
    return [op.op_type for op in program.graph.ops if op.attrs.get("_no_task")]


def test_pieces_lie_one_behind_the_other_in_the_whole():
    program = compiled(GRAPH)
    assert marked(program) == ["SplitD", "ConcatD"]
    split, concat = (op for op in program.graph.ops if op.attrs.get("_no_task"))
    assert split.attrs["_nopadding_continuous_output"] is True
    assert concat.attrs["_nopadding_continuous_input"] is True
    assert split.attrs["_output_reuse_input"] is concat.attrs["_output_reuse_input"] is True
    assert all(why_no_dump(op) for op in (split, concat))
    memory = plan_memory(program.graph)
    tanh, half, other = (memory.outputs[Value(*one)] for one in ((0, 0), (1, 0), (1, 1)))
    assert (half.address, other.address) == (tanh.address, tanh.address + 64)
    exp, sigmoid, whole = (memory.outputs[Value(number)] for number in (2, 3, 4))
    assert (exp.address, sigmoid.address) == (whole.address, whole.address + 64)
    assert (exp.size, sigmoid.size, whole.size) == (64, 64, 128)
    assert whole.first <= 2  # the whole is kept from its first piece to its last reader
    assert whole.last >= 5
    assert memory.inputs[3, 0].address == other.address


def test_what_runs_nothing_gives_the_same_numbers_in_memory_too():
    program = compiled(GRAPH)
    golden = {
        (r.key.op_name, r.key.slot): r.source.array()
        for r in run_reference(GRAPH)
        if r.key.io == "output"
    }
    watch = {"Default/ReLU-op0": ["Default/Concat-op0"]}
    for more in ({}, {"watch": watch}):
        for record in run_program(program, **more):
            key = record.key.op_name, record.key.slot
            if record.key.io == "output" and key in golden:
                np.testing.assert_allclose(record.source.array(), golden[key], atol=1e-6)


def random_network(seed):
    """A few operators, splits and concatenations among them, on whatever there is so far."""

    def network(x):
        rng, pool = np.random.default_rng(seed), [x]
        for _ in range(rng.integers(4, 14)):
            a, kind = pool[rng.integers(len(pool))], rng.integers(8)
            alike = [one for one in pool if one.shape == a.shape]
            b = alike[rng.integers(len(alike))]
            if kind < 2:
                pool.append((F.tanh, F.relu)[kind](a))
            elif kind == 2:
                pool.append(a + b)
            elif kind == 3:
                pool.append(F.concat((a, b), int(rng.integers(2))))
            elif kind < 6 and a.shape[kind - 4] % 2 == 0:
                pool += F.split(a, 2, int(kind - 4))
            elif kind == 6:
                pool.append(F.reshape(a, (1, -1)))
            elif kind == 7:
                pool.append(F.matmul(a, b, transpose_b=True))
        return tuple(pool[-2:])

    return network


@settings(max_examples=examples(40))
@given(st.integers(0, 10**6), st.sampled_from(["must_keep_origin_dtype", "force_fp16"]))
def test_in_a_memory_of_bytes_a_program_computes_the_same(seed, precision):
    graph = trace(random_network(seed), X)
    program = program_for(graph, "mindspore-ge", precision=precision)
    if not program.graph.ops:
        return
    watch = {program.graph.ops[-1].name: [program.graph.ops[0].name]}
    plain = list(run_program(program))
    stored = [record for record in run_program(program, watch=watch) if not record.after]
    for one, other in zip(plain, stored, strict=True):
        assert one.key == other.key
        np.testing.assert_array_equal(one.source.array(), other.source.array(), str(one.key))


def wide(x):
    return F.relu(F.concat((F.exp(x), F.tanh(x)), 1))


@pytest.mark.parametrize(
    ("network", "x"),
    [
        (wide, X),  # rows of both take turns
        (lambda x: F.relu(F.concat((F.exp(x), F.tanh(x)), 0)), X[:, :5]),  # 40 bytes
        (lambda x: F.relu(F.concat((x, F.tanh(x)), 0)), X),  # a feed lies elsewhere
        (lambda x: F.relu(F.concat((y := F.exp(x), y), 0)), X),  # twice the same
        (lambda x: (y := F.exp(x), F.relu(F.concat((y, F.tanh(x)), 0))), X),  # a result
        (lambda x: F.relu(F.concat((F.exp(x), F.reshape(F.tanh(x), (2, 16))), 0)), X),  # renamed
        (lambda x: [F.relu(one) for one in F.split(x, 2, 0)], X),  # of a feed
        (lambda x: F.split(F.exp(x), 2, 0), X),  # results
        (lambda x: [F.relu(one) for one in F.split(F.exp(x), 2, 1)], X),
    ],
)
def test_what_does_not_lie_so_has_a_task(network, x):
    assert marked(compiled(trace(network, x))) == []


def test_a_row_may_be_split_along_its_columns():
    graph = trace(lambda x: [F.relu(one) for one in F.split(F.exp(x), 2, 1)], ROW)
    assert marked(compiled(graph)) == ["SplitD"]


def test_a_tensor_lies_in_one_other_tensor_at_most():
    def network(x):
        a, b = F.exp(x), F.tanh(x)
        return F.relu(F.concat((a, b), 0)), F.relu(F.concat((b, a), 0))

    assert marked(compiled(trace(network, X))) == ["ConcatD"]


@pytest.mark.parametrize("name", ["FusionVirtualOpSetSwitch", "ALL"])
def test_it_can_be_switched_off(name):
    assert marked(compiled(GRAPH, [name])) == []


@pytest.mark.parametrize("name", ["Default/Concat-op0", "ConcatD", "Default/Split*"])
def test_what_runs_nothing_has_no_fault(name):
    with refused("run/fault-not-run", GraphError, fault="wrong-sign"):
        list(run_program(compiled(GRAPH), faults=[Fault("wrong-sign", name)]))
    with_others = list(run_program(compiled(GRAPH), faults=[Fault("wrong-sign", "*")]))
    assert with_others


@pytest.mark.parametrize("surface", ["mindspore-ge", "tensorflow", "acl"])
def test_no_file_is_missed(tmp_path, surface):
    plan = DumpPlan("/d", files="bin")
    tree = simulate(GRAPH, None, plan, tmp_path / "t", surface=surface, device="a2",
                    precision_mode="must_keep_origin_dtype")  # fmt: skip
    golden = simulate(GRAPH, None, plan, tmp_path / "g", surface="mindspore-cpu")
    kinds = {record.key.op_type for record in wb.load(tree).records}
    assert {"Exp", "Sigmoid", "ReLU", "Tanh"} <= kinds
    assert not kinds & {"ConcatD", "SplitD"}
    (build,) = (
        path for path in tree.rglob("*_Build.txt") if "Default/Concat-op0" in path.read_text()
    )
    assert build.read_text().count('key: "_no_task"') == 2
    found = wb.compare(tree, golden)
    assert [one.kind for one in defects(found)] == []
    assert found.coverage.unmatched_target == 0
    assert found.coverage.skipped["golden:no-task"] > 0


@pytest.mark.parametrize("surface", ["mindspore-ge", "tensorflow", "acl"])
def test_what_is_missing_is_foretold(tmp_path, surface):
    told = preview(new(surface), GRAPH, seed=4)
    assert told.exact
    assert "Default/Concat-op0" in dict(told.never_dumped)
    tree = simulate(GRAPH, None, new(surface), tmp_path, surface=surface, device="a2", seed=4)
    assert foretold(told.forecast) == sizes(tree)
