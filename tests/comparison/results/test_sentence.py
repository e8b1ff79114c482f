"""The sentence of a comparison where little is known."""

from __future__ import annotations

import numpy as np
import pytest

from kit.build import small_dumps as small
from kit.build.sample_results import make_row
from kit.build.small_dumps import Net, chain, in_memory, shoot
from kit.evidence import clauses, codes
from workbench.comparison.engine import compare_dumps
from workbench.comparison.follow.ranks import OWN_BATCH
from workbench.comparison.measure.metrics import CANCELLED
from workbench.comparison.pair.pairing import Selection
from workbench.comparison.result import Coverage
from workbench.comparison.results.sentence import sentence
from workbench.core.words import Message

GRAPH = chain("Tanh")
DUMP = in_memory(shoot(GRAPH, small.given(GRAPH)), GRAPH)
EMPTY = in_memory([], GRAPH)


def uncomparable(reason, count=2):
    return [make_row(status="uncomparable", reason=reason, metrics={}) for _ in range(count)]


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([], Message("compare/nothing", why=Message("compare/nothing-common"))),
        (uncomparable(CANCELLED), Message("compare/nothing-yet")),
        (
            [
                *uncomparable(CANCELLED),
                make_row(status="uncomparable", reason=CANCELLED, metrics={"MaxAbsError": 1.0}),
            ],
            Message("compare/nothing-judged", count=1),
        ),
        (
            uncomparable(OWN_BATCH),
            Message("compare/nothing", why=Message("compare/nothing-own", count=2)),
        ),
        (
            uncomparable("broken"),
            Message("compare/nothing", why=Message("compare/nothing-usable", count=2)),
        ),
    ],
)
def test_where_nothing_was_compared_the_reason_is_said(rows, said):
    found = sentence("inconclusive", rows, [], Coverage())
    assert found.values["clauses"] == (said,)


def test_failures_without_a_finding_are_counted():
    rows = [make_row(status="fail"), make_row(status="pass")]
    (said,) = sentence("fail", rows, [], Coverage()).values["clauses"]
    assert said == Message("compare/tensors-differ", failed=1, compared=2)


@pytest.mark.parametrize(
    ("rows", "code"),
    [
        (uncomparable(CANCELLED), "stopped-left"),
        ([make_row(status="pass")], "stopped"),
    ],
)
def test_a_comparison_that_was_stopped_says_so_last(rows, code):
    found = sentence("warn", rows, [], Coverage(), partial=True)
    assert codes(found.values["clauses"])[-1] == code


def test_a_dump_without_tensors_has_no_rank_to_choose():
    result = compare_dumps(DUMP, EMPTY, selection=Selection(rank=(0, 0))).result
    (said,) = clauses(result)
    absent = Message("compare/absent-empty", what="rank", number=0, side="golden")
    assert said == Message("compare/nothing", why=absent)


def test_a_result_gives_its_sentence_in_clauses():
    result = compare_dumps(DUMP, DUMP).result
    assert "; ".join(result.clauses) == str(result.sentence)
    assert result.clauses[-1].endswith(".")


def two_branches():
    """Two feeds, each through operators of its own, that meet at the end."""
    net = Net()
    left = net.op("Exp", net.op("Tanh", net.feed("x")))
    right = net.op("Neg", net.op("Neg", net.op("Sigmoid", net.feed("y"))))
    net.op("Add", left, right)
    return net.graph()


@pytest.mark.parametrize(
    ("spoiled", "first", "behind"),
    [
        (("Tanh",), "Tanh", 2),  # Exp and Add
        (("Sigmoid",), "Sigmoid", 3),  # Neg, Neg and Add
        (("Tanh", "Sigmoid"), "Tanh", 2),  # what stands behind the other alone is not counted
    ],
)
def test_operators_are_counted_that_the_first_defect_reaches(spoiled, first, behind):
    graph = two_branches()
    values = small.given(graph)
    alter = {f"Default/{name}-op0": lambda out: out + np.float32(0.5) for name in spoiled}
    target = in_memory(shoot(graph, values, alter=alter), graph)
    result = compare_dumps(target, in_memory(shoot(graph, values), graph)).result
    assert (result.findings[0].op_type, len(result.findings)) == (first, len(spoiled))
    assert clauses(result)[-1] == Message("compare/downstream", count=behind)
