"""The iteration language and the kinds of selectors."""

import pytest

from workbench.core.plan import DumpPlan, Iterations, Selector


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("all", [0, 1, 7, 9]),
        ("0|5-8", [0, 7]),
        ("0||5-", [0]),
        ("9-3", []),
        ("3-3", []),
        ("7-7", [7]),
        ("7-" + "9" * 5000, [7, 9]),
        ("0" * 5000 + "1", [1]),
    ],
)
def test_pieces_that_make_no_sense_match_nothing(text, meant):
    iterations = Iterations.parse(text)
    assert [step for step in (0, 1, 7, 9) if step in iterations] == meant


def test_a_type_matches_anywhere_in_the_type_and_a_name_only_as_a_whole():
    assert Selector("type", "conv").matches("Default/x-op0", "Conv2D")
    assert Selector("regex", "Default/fc.+").matches("Default/fc1-Dense/MatMul-op0", "MatMul")
    assert not Selector("regex", "Default").matches("Default/fc1-Dense/MatMul-op0", "MatMul")
    assert not Selector("name", "MatMul").matches("Default/MatMul-op0", "MatMul")


def test_a_plan_wants_what_every_part_of_it_wants():
    plan = DumpPlan(
        "/d", "Net", Iterations.parse("1"), frozenset(("output",)), (Selector("type", "relu"),)
    )
    assert plan.wants("Default/ReLU-op0", "ReLU", "output", 1)
    assert not plan.wants("Default/ReLU-op0", "ReLU", "input", 1)
    assert not plan.wants("Default/ReLU-op0", "ReLU", "output", 0)
    assert not plan.wants("Default/Add-op0", "Add", "output", 1)
