"""Which of two dumps is off: the target that gave what it had to is not to blame."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import workbench as wb
from kit.build import small_dumps as small
from kit.build.small_dumps import Net, chain, in_memory, shoot
from kit.evidence import clauses, codes, defects
from workbench.comparison.engine import compare_dumps
from workbench.comparison.follow.naming import golden_error
from workbench.core.plan import DumpPlan
from workbench.core.words import Message
from workbench.network.models import load_graph

GRAPH = chain("MatMul", "ReLU", "MatMul", "Tanh", "Softmax")
VALUES = small.given(GRAPH)
RIGHT = shoot(GRAPH, VALUES)
WRONG = shoot(GRAPH, VALUES, alter={"Default/Tanh-op0": lambda a: a * 1.2})


def compared(target, golden):
    return compare_dumps(in_memory(target, GRAPH), in_memory(golden, GRAPH))


def told(found):
    """What is said of every operator, by number."""
    flow = found.flow
    said = {number: golden_error(flow, event) for (_, number), event in flow.events.items()}
    return {number: differences for number, differences in said.items() if differences}


def test_a_golden_that_is_wrong_is_named_with_its_own_error():
    found = told(compared(RIGHT, WRONG))
    assert list(found) == [3]
    (difference,) = found[3]
    assert difference.kind == "own-error"
    assert difference.said.code == "compare/golden-error-by"
    assert difference.said.values["error"] == pytest.approx(0.2, rel=0.01)


def test_the_finding_says_so_and_names_the_operator():
    finding = compared(RIGHT, WRONG).result.findings[0]
    assert finding.op_name == "Default/Tanh-op0"
    assert "golden-error-by" in codes(finding.evidence)


def test_the_headline_says_it_instead_of_an_error_of_the_target():
    said = {one.code for one in clauses(compared(RIGHT, WRONG).result)}
    assert "compare/golden-error-by" in said
    assert said.isdisjoint({"compare/not-explained", "compare/local-error"})
    assert "compare/local-error" in {one.code for one in clauses(compared(WRONG, RIGHT).result)}


def test_a_target_that_is_wrong_is_not_excused():
    found = compared(WRONG, RIGHT)
    assert told(found) == {}
    finding = found.result.findings[0]
    assert (finding.op_name, finding.kind) == ("Default/Tanh-op0", "own-error")
    assert {"golden-error", "golden-error-by"}.isdisjoint(codes(finding.evidence))


def test_nothing_is_said_where_both_agree():
    assert told(compared(RIGHT, RIGHT)) == {}


def test_a_golden_that_cannot_be_computed_again_is_off_by_more_than_it_inherits():
    """What its Tanh read is in none of its files; ten per cent more than that is not noise."""
    wrong = [
        s
        for s in WRONG
        if "MatMul-op1" not in s.name and ("Tanh" not in s.name or s.io == "output")
    ]
    found = compared(RIGHT, wrong)
    (event,) = (e for (_, number), e in found.flow.events.items() if number == 3)
    assert found.flow.replayed.golden(event.block, event.op) is None
    (difference,) = told(found)[3]
    assert difference.said == Message("compare/golden-error")


def test_what_both_inherit_is_not_the_goldens_fault():
    """Inputs of the golden are wrong further up: only there somebody is off."""
    spoilt = shoot(GRAPH, VALUES, alter={"Default/MatMul-op0": lambda a: a + np.float32(0.3)})
    assert list(told(compared(RIGHT, spoilt))) == [0]


def test_without_replay_nothing_is_said():
    flow = replace(compared(RIGHT, WRONG).flow, replayed=None)
    assert not any(golden_error(flow, event) for event in flow.events.values())


def test_a_weight_that_only_its_cast_shows_is_to_blame_and_not_the_golden(tmp_path):
    """Outputs alone do not have the weight, but what the inserted Cast made of it."""
    network = load_graph("mlp", 0)
    plan = DumpPlan("/dump", io=frozenset(("output",)))
    wb.simulate(network, {}, DumpPlan("/dump"), tmp_path / "golden")
    wb.simulate(
        network, {}, plan, tmp_path / "target", device="a2", surface="mindspore-o2",
        precision_mode="allow_mix_precision_bf16",
        faults=["wrong-weight-element:Default/body-SequentialCell/0-Dense/MatMul-op0"],
    )  # fmt: skip
    finding = wb.compare(tmp_path / "target", tmp_path / "golden").findings[0]
    assert (finding.kind, finding.fault) == ("parameter", "wrong-weight-element")
    assert finding.op_name.startswith("Default/body-SequentialCell/0-Dense/MatMul-op0")
    assert {"golden-error", "golden-error-by"}.isdisjoint(codes(finding.evidence))


def logistic(least):
    """x · w → Sigmoid, all far below zero; the golden's library takes ``least`` for what is below."""
    net = Net()
    net.op("Sigmoid", net.op("MatMul", net.feed("x"), net.weight("w")))
    graph = net.graph()
    values = {name: np.abs(array) + 2 for name, array in small.given(graph).items()}
    values["x"] = -values["x"]

    def library(a):
        return np.maximum(a, 1 / (1 + np.exp(np.float32(-least))))

    golden = shoot(graph, values, alter={"Default/Sigmoid-op0": library})
    return in_memory(shoot(graph, values), graph), in_memory(golden, graph)


@pytest.mark.parametrize(("least", "wrong"), [(-18, []), (-9, ["Default/Sigmoid-op0"])])
def test_a_library_that_computes_the_logistic_function_to_a_part_of_one_is_right(least, wrong):
    found = wb.compare(*logistic(least))
    assert [one.op_name for one in defects(found)] == wrong
