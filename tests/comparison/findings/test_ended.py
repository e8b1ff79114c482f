"""A run that ended: the operator is named, and nothing that a form of a dump leaves out is taken for it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kit.build import small_dumps as small
from kit.build.small_dumps import START, Net, chain, in_memory, shoot
from kit.evidence import clauses, defects, the, within
from kit.words import check_said
from workbench.comparison.engine import compare_dumps
from workbench.dump.dump import Failure
from workbench.dump.formats.container import Container

TYPES = ("MatMul", "ReLU") * 6
LONG = chain(*TYPES)
VALUES = small.given(LONG)
NAMES = [op.name for op in LONG.ops]
SHOTS = shoot(LONG, VALUES)
GOLDEN = in_memory(SHOTS, LONG)


def until(number, shots=SHOTS, names=NAMES):
    """Shots of the first operators alone."""
    gone = {small.file_name(name) for name in names[number:]}
    return [shot for shot in shots if shot.name not in gone]


def ends(target, golden=GOLDEN):
    result = compare_dumps(target, golden).result
    kinds = ("ended", "cut-short")
    return result, [(f.kind, f.op_name) for f in result.findings if f.kind in kinds]


@pytest.mark.parametrize("number", [8, 9, 11])
def test_the_first_operator_that_is_missing_is_where_the_run_ended(number):
    result, found = ends(in_memory(until(number), LONG))
    assert found == [("ended", NAMES[number])]
    assert result.verdict == "fail"
    ended, last, missing = clauses(result)
    assert missing.code == "compare/incomplete-too"
    check_said(within(ended, "operator"), "compare/operator", op_type=TYPES[number])
    check_said(last, "compare/last-dumped", op_name=NAMES[number - 1])
    first, behind, _ = result.findings[0].evidence
    check_said(first, "compare/ended", op_name=NAMES[number - 1])
    check_said(behind, "compare/golden-goes-on", count=len(NAMES) - number)
    assert result.findings[0].source == LONG.ops[number].frame


@pytest.mark.parametrize("number", [1, 3, 7])
def test_what_a_short_list_may_have_chosen_is_no_defect(number):
    result, found = ends(in_memory(until(number), LONG))
    assert found == [("cut-short", NAMES[number])]
    assert result.verdict == "incomplete"
    the(clauses(result), "nothing-dumped", op_name=NAMES[number])


def test_an_earlier_iteration_shows_that_more_was_asked_for():
    later = shoot(LONG, VALUES, iteration=1, start=START + 1000)
    golden = in_memory(SHOTS + later, LONG)
    result, found = ends(in_memory(SHOTS + until(2, later), LONG), golden)
    assert found == [("ended", NAMES[2])]
    assert result.findings[0].iteration == 1


def test_the_same_list_in_every_iteration_is_no_end():
    later = shoot(LONG, VALUES, iteration=1, start=START + 1000)
    golden = in_memory(SHOTS + later, LONG)
    _, found = ends(in_memory(until(2) + until(2, later), LONG), golden)
    assert found == [("cut-short", NAMES[2])]


def test_fewer_iterations_than_the_golden_are_no_end():
    later = shoot(LONG, VALUES, iteration=1, start=START + 1000)
    result, found = ends(in_memory(SHOTS, LONG), in_memory(SHOTS + later, LONG))
    assert (found, defects(result)) == ([], [])


@pytest.mark.parametrize(("name", "fault"), [(NAMES[4], "aicore-exception"), ("te_matmul_1", "")])
def test_an_exception_dump_shows_that_the_run_ended(name, fault):
    failure = Failure("/dump/failed", "norm", name, Container())
    target = replace(in_memory(until(4), LONG), failures=(failure,))
    result, found = ends(target)
    assert found == [("ended", NAMES[4])]
    assert result.findings[0].fault == fault
    the(result.findings[0].evidence, "exception-dump-of", op_name=name)


@pytest.mark.parametrize("left", [{0}, {5}, {3, 7}, {0, 1, 2, 3, 4}])
def test_gaps_that_something_follows_are_no_end(left):
    gone = {small.file_name(NAMES[number]) for number in left}
    _, found = ends(in_memory([shot for shot in SHOTS if shot.name not in gone], LONG))
    assert found == []


@pytest.mark.parametrize("io", ["input", "output"])
def test_one_side_of_every_operator_is_no_end(io):
    _, found = ends(in_memory([shot for shot in SHOTS if shot.io == io], LONG))
    assert found == []


def test_a_golden_that_ends_says_nothing_of_the_target():
    _, found = ends(GOLDEN, in_memory(until(9), LONG))
    assert found == []


def layered():
    """Three layers of six operators each."""
    net = Net()
    value = net.feed("x")
    for layer in range(3):
        for number in range(6):
            value = net.op("ReLU", value, name=f"Default/layer{layer}-Layer/ReLU-op{number}")
    return net.graph()


@pytest.mark.parametrize(
    ("number", "kind"), [(6, "cut-short"), (12, "cut-short"), (17, "cut-short")]
)
def test_whole_layers_may_have_been_chosen_by_name(number, kind):
    graph = layered()
    names = [op.name for op in graph.ops]
    shots = shoot(graph, small.given(graph))
    _, found = ends(in_memory(until(number, shots, names), graph), in_memory(shots, graph))
    assert found == [(kind, names[number])]
