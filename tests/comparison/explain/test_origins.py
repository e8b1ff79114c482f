"""The kind of fault behind a guilty operator, told with its probability."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import workbench as wb
from kit.build import small_dumps as small
from kit.build.small_dumps import START, chain, in_memory, shoot
from kit.evidence import the
from workbench.comparison.engine import compare_dumps
from workbench.comparison.explain.explainers import EXPLAINERS, explain_errors
from workbench.comparison.explain.origins import has_few_wrong
from workbench.comparison.follow.naming import is_of_few
from workbench.core.plan import DumpPlan
from workbench.network.models import load_graph

SHAPE = (16, 16)
GRAPH = chain("MatMul", "Tanh", "MatMul", "Tanh")


def given(graph, seed=0):
    rng = np.random.default_rng(seed)
    return {p.name: rng.standard_normal((4, 4)).astype(np.float32) for p in graph.parameters}


VALUES = given(GRAPH)
GOLDEN = in_memory(shoot(GRAPH, VALUES), GRAPH)


def compared(alter=None, values=VALUES):
    return compare_dumps(in_memory(shoot(GRAPH, values, alter=alter), GRAPH), GOLDEN)


# --- few elements ------------------------------------------------------------------------------------


def changed(count, size=1000, by=1.0):
    golden = np.linspace(1, 2, size)
    target = golden.copy()
    target[:count] += by
    return target, golden


@pytest.mark.parametrize(
    ("count", "size", "few"),
    [(0, 1000, False), (1, 1000, True), (10, 1000, True), (11, 1000, False), (8, 16, True),
     (9, 16, False), (1, 1, False), (7, 8, True), (8, 8, False)],
)  # fmt: skip
def test_eight_elements_or_one_in_a_hundred_are_few(count, size, few):
    assert is_of_few(*changed(count, size)) is few


def test_rounding_to_bfloat16_counts_for_nothing():
    assert not is_of_few(*changed(3, by=2.0**-8))
    assert is_of_few(*changed(3, by=2.0**-5))


def test_nan_in_both_is_the_same_and_in_one_is_not():
    target, golden = changed(0)
    golden[0] = np.nan
    assert is_of_few(target, golden)
    target[0] = np.nan
    assert not is_of_few(target, golden)


def test_a_nan_that_signals_is_no_warning():
    """Damaged files hold any bits."""
    golden = np.array([0x7F800001] * 3 + [0x3F800000] * 97, np.uint32).view(np.float32)
    target = golden.copy()
    target[50] = 2.0
    assert is_of_few(target, golden)


def test_neighbors_that_hold_one_number_are_few():
    golden = np.random.default_rng(0).normal(size=32)
    target = golden.copy()
    target[4:20] = 7.5
    assert is_of_few(target, golden)
    target[4:20:3] = golden[4:20:3]
    assert not is_of_few(target, golden)
    assert not is_of_few(golden + 1, golden)


@pytest.mark.parametrize("shape", [(0,), (3, 0)])
def test_nothing_and_other_shapes_are_not_few(shape):
    assert not is_of_few(np.zeros(shape), np.zeros(shape))
    assert not is_of_few(np.zeros(4), np.zeros((2, 2)))


@pytest.mark.parametrize(("place", "few"), [((1, 2), True), (slice(None), False)])
def test_a_weight_that_something_wrote_into(place, few):
    weight = VALUES["fc0.weight"].copy()
    weight[place] += 3
    flow = compared(values=VALUES | {"fc0.weight": weight}).flow
    event = next(e for (_, number), e in flow.events.items() if number == 0)
    assert has_few_wrong(flow, event) is few
    assert not has_few_wrong(flow, flow.events[event.block, 3])


# --- kinds -------------------------------------------------------------------------------------------


def test_a_kind_is_told_of_whoever_is_guilty_and_of_nobody_else():
    origins = compared({"Default/MatMul-op1": lambda a: a * 1.5}).origins.origins
    told = {one.event.op: one.explanation for one in origins if one.explanation}
    assert list(told) == [2]
    assert told[2].kind == "scaled-output"
    assert told[2].share > 0.99
    assert 0.5 < told[2].probability <= 1.0


def test_a_finding_says_what_its_fault_looks_like():
    finding = compared({"Default/Tanh-op0": lambda a: -a}).result.findings[0]
    assert finding.op_name == "Default/Tanh-op0"
    likely = the(finding.evidence, "likely", kind="wrong-sign")
    assert likely.values["probability"] == finding.probability > 0.5


def test_a_healthy_dump_is_told_nothing():
    found = compared()
    assert (found.flow.origins, found.origins.origins) == ((), ())


def test_what_an_operator_gave_an_iteration_ago_is_known_as_stale():
    shots = []
    for n in range(2):
        values = VALUES | {"x": given(GRAPH, seed=n)["x"]}
        shots.append(shoot(GRAPH, values, iteration=n, start=START + 1000 * n))
    golden = in_memory([*shots[0], *shots[1]], GRAPH)
    old = {s.io: s.data for s in shots[0] if s.name == "Default_MatMul-op1"}["output"]
    stale = shoot(
        GRAPH,
        VALUES | {"x": given(GRAPH, seed=1)["x"]},
        iteration=1,
        start=START + 1000,
        alter={"Default/MatMul-op1": lambda _: old},
    )
    found = compare_dumps(in_memory([*shots[0], *stale], GRAPH), golden).origins.origins
    told = {one.event.block.iteration: one.explanation.kind for one in found if one.explanation}
    assert told == {1: "stale-output"}


def test_of_many_guilty_executions_only_the_first_are_explained():
    (most,) = [row.first for row in EXPLAINERS if row.explain is explain_errors]
    alter = {"Default/MatMul-op1": lambda a: a * 1.5}
    target, golden = [], []
    for n in range(most + 4):
        place = {"iteration": n, "start": START + 1000 * n}
        values = VALUES | {"x": given(GRAPH, seed=n)["x"]}
        golden += shoot(GRAPH, values, **place)
        target += shoot(GRAPH, values, alter=alter, **place)
    found = compare_dumps(in_memory(target, GRAPH), in_memory(golden, GRAPH)).origins.origins
    told = [one.event.block.iteration for one in found if one.explanation]
    assert told == list(range(len(told)))
    assert 1 <= len(told) <= most


def test_without_tensors_of_an_input_few_is_never_said():
    shots = [s for s in shoot(GRAPH, VALUES) if s.io == "output"]
    flow = compare_dumps(in_memory(shots, GRAPH), GOLDEN).flow
    assert not any(has_few_wrong(flow, event) for event in flow.events.values())
    assert small.given(GRAPH).keys() == VALUES.keys()


def test_a_kernel_without_its_inputs_is_explained_by_the_goldens_operators_together(tmp_path):
    """Of a model of AscendCL outputs alone show neither weights nor what one step hands to the next."""
    network, plan = load_graph("mlp", 3), DumpPlan("/dump")
    wb.simulate(network, {}, plan, tmp_path / "golden")
    guilty = "Default/body-SequentialCell/1-Dense/MatMul-op0"
    wb.simulate(
        network, {}, replace(plan, io=frozenset(("output",))), tmp_path / "target",
        device="a2", surface="acl", faults=[f"transposed-weight:{guilty}"],
    )  # fmt: skip
    finding = wb.compare(tmp_path / "target", tmp_path / "golden").findings[0]
    assert (finding.op_name.startswith(guilty), finding.fault) == (True, "transposed-weight")
