"""What is said of an input that no operator produced, and of one that was written over."""

from __future__ import annotations

from math import inf, nan
from types import SimpleNamespace

import numpy as np
import pytest

from kit.build.small_dumps import Net
from workbench.comparison.align.differences import Difference
from workbench.comparison.bind.binding import Execution
from workbench.comparison.follow.facts import InputFacts
from workbench.comparison.follow.naming import (
    Named,
    Names,
    input_difference,
    overwrite_difference,
)
from workbench.comparison.follow.state import ValueState
from workbench.comparison.measure.measure import Measured
from workbench.comparison.measure.statistics import measure_statistics
from workbench.comparison.measure.tensors import measure_arrays
from workbench.core.tensors import ArraySource, TensorSpec
from workbench.core.words import Message
from workbench.graph.graph import Value

BLOCK = Execution(0, "Net", 0, 0, 0)


def measured(target, golden, dtype="float64"):
    arrays = [np.array(one, dtype) for one in (target, golden)]
    label = TensorSpec(dtype, None)
    sides = (SimpleNamespace(source=ArraySource(one), label=label) for one in arrays)
    pair = SimpleNamespace(**dict(zip(("target", "golden"), sides, strict=True)))
    return Measured(pair, measure_arrays(*arrays))


def scalars(target, golden):
    return {"name": "w", "target": target, "golden": golden}


GIVEN = {"name": "w", "error": 0.25}


@pytest.mark.parametrize(
    ("kind", "target", "golden", "said", "named"),
    [
        ("parameter", [1, 2], [1, 3], Message("compare/given", **GIVEN), "parameter"),
        ("attribute", [1, 2], [1, 3], Message("compare/given-input", slot=1, **GIVEN), "attribute"),
        ("input", [2], [3], Message("compare/setting", **scalars("2", "3")), "input"),
        ("attribute", [2], [3], Message("compare/setting-input", slot=1, **scalars("2", "3")), "attribute"),
        ("attribute", [-inf], [0], Message("compare/setting-input", slot=1, **scalars("-Inf", "0")), "attribute"),
        ("constant", [0.5], [inf], Message("compare/setting", **scalars("0.5", "Inf")), "constant"),
        ("constant", [inf], [-inf], Message("compare/setting", **scalars("Inf", "-Inf")), "constant"),
        ("constant", [nan], [-inf], Message("compare/setting", **scalars("NaN", "-Inf")), "constant"),
        ("input", [1.00000001], [1], Message("compare/setting", **scalars("1.00000001", "1")), "input"),
        ("input", [1 + 2**-52], [1], Message("compare/setting", **scalars("1.0000000000000002", "1")), "input"),
        ("input", [nan, nan, 1], [nan, nan, 1], Message("compare/given-nan", slot=1, name="w", count=2), "non-finite"),
        ("input", [nan, 1, 1], [1, 1, 1], Message("compare/given", **GIVEN), "input"),
        ("input", [nan, 1, 1], [1, nan, 1], Message("compare/given", **GIVEN), "input"),
    ],
)  # fmt: skip
def test_what_was_given_otherwise_is_said_by_its_kind_and_size(kind, target, golden, said, named):
    found = input_difference((kind, "w"), measured(target, golden), 1, 0.25)
    assert (found.kind, found.subject, found.said) == (named, "w", said)


UNEQUAL = {"unequal": 2, "size": 3, "at": [1], "target": 2, "golden": 5}


@pytest.mark.parametrize(
    ("kind", "target", "golden", "said"),
    [
        ("input", [1, 2, 3], [1, 5, 7], Message("compare/given-exact", name="w", **UNEQUAL)),
        ("input", [2**60 + 1], [2**60], Message("compare/setting", **scalars(2**60 + 1, 2**60))),
        ("attribute", [4], [5], Message("compare/setting-input", slot=1, **scalars(4, 5))),
        ("input", [1, 2], [1, 2, 3], Message("compare/given", **GIVEN)),
    ],
)  # fmt: skip
def test_integers_are_said_by_number_and_first_place(kind, target, golden, said):
    found = input_difference((kind, "w"), measured(target, golden, "int64"), 1, 0.25)
    assert (found.kind, found.said, found.exact) == (kind, said, len(target) == len(golden))


def test_an_input_of_which_only_statistics_are_known_is_said_by_its_error():
    figures = {"Max Value": 1.0, "Min Value": -1.0}, {"Max Value": 2.0, "Min Value": -1.0}
    sides = SimpleNamespace(**dict.fromkeys(("target", "golden"), SimpleNamespace(source=None)))
    found = input_difference(("input", "x"), Measured(sides, measure_statistics(*figures)), 0, 0.5)
    assert found.said == Message("compare/given", name="x", error=0.5)


def written_over(reads, reader, limit=0.01, dumped=range(9)):
    """Value of operator 1, read by others with an error each; None: not measured."""
    index = {
        (BLOCK, n): {("input", 0): SimpleNamespace(error=e, usable=True)}
        for n, e in reads.items()
        if e is not None
    }
    runs = {n: SimpleNamespace(op_name=f"op{n}") for n in dumped}
    survey = SimpleNamespace(
        index=index, pairing=SimpleNamespace(target=SimpleNamespace(runs={BLOCK: runs}))
    )
    graph = SimpleNamespace(consumers={Value(1): [(n, 0) for n in reads]})
    found = overwrite_difference(survey, graph, BLOCK, Value(1), reader, 0, limit)
    assert (found.kind, found.subject) == ("overwritten", "input.0")
    return list(found.said.values.get("names", ()))


@pytest.mark.parametrize(
    ("reads", "reader", "names"),
    [
        ({5: 0.5}, 5, ["op2", "op3", "op4"]),
        ({3: 0.001, 5: 0.5}, 5, ["op4"]),
        ({3: 0.01, 5: 0.5}, 5, ["op4"]),
        ({3: 0.5, 5: 0.5}, 5, ["op2", "op3"]),
        ({3: None, 5: 0.5}, 5, ["op2", "op3", "op4"]),
        ({5: 0.5, 7: 0.001}, 5, ["op2", "op3", "op4"]),
        ({2: 0.5}, 2, []),
    ],
    ids=["alone", "intact before", "just intact", "off before", "not measured", "intact later", "at once"],
)  # fmt: skip
def test_who_ran_between_the_last_reader_that_was_right_and_the_first_that_was_not(
    reads, reader, names
):
    assert written_over(reads, reader) == names


def test_operators_that_were_not_dumped_are_not_named():
    assert written_over({5: 0.5}, 5, dumped=(3,)) == ["op3"]


@pytest.mark.parametrize(
    ("error", "state"), [(0.5, (0.5, True)), (0.0, (0.0, True)), (None, (0.0, False))]
)
def test_a_value_carries_the_error_that_was_measured(error, state):
    facts = InputFacts((0, "w"), error)
    cause = input_difference(("input", "w"), measured([2], [3]), 0, 0.5)
    assert facts.caused(cause) == ValueState(*state, causes=(cause,))
    assert facts.state(tainted=True) == ValueState(*state, tainted=True)
    assert facts.state(from_earlier_step=True) == ValueState(*state, from_earlier_step=True)
    assert facts.state(rank_local=True) == ValueState(*state, rank_local=True)


# --- operators to name -----------------------------------------------------------------------

AXIS = Difference("attribute", "axis", Message("compare/setting", name="axis", target=0, golden=1))


class Told(Names):
    """Names in a graph whose operators differ by what is told."""

    def __init__(self, graph, told):
        super().__init__(graph, None, [0.0] * len(graph.ops))
        self.told = told

    def settings(self, number):
        return self.told.get(number, ())

    differences = settings


def behind(*kinds):
    """Operators of a feed, and the last one, which reads them all and the feed."""
    net = Net()
    x = net.feed("x")
    net.op("Concat", x, *[net.op(kind, x) for kind in kinds])
    return net.graph()


@pytest.mark.parametrize(
    ("kinds", "told", "named"),
    [
        (["Transpose"], {0: (AXIS,)}, Named(0, (AXIS,))),
        (["Transpose"], {}, Named(1)),
        (["Transpose"], {1: (AXIS,)}, Named(1)),
        (["Exp"], {0: (AXIS,)}, Named(1)),
        (["Exp", "Transpose", "Transpose"], {1: (AXIS,), 2: (AXIS,)}, Named(1, (AXIS,))),
        ([], {0: (AXIS,)}, Named(0)),
    ],
    ids=["moves otherwise", "moves alike", "itself", "computes", "the first of several", "a feed"],
)
def test_a_mover_that_moves_otherwise_is_named(kinds, told, named):
    assert Told(behind(*kinds), told).differing_mover(len(kinds)) == named


@pytest.mark.parametrize(
    ("unseen", "named"),
    [
        ((), Named(2, (AXIS,))),
        ((0,), Named(2, (AXIS,))),
        ((3, 1, 0), Named(1, (AXIS, AXIS))),
    ],
    ids=["none", "alike", "the first that differs"],
)
def test_the_first_operator_that_nobody_has_seen_and_that_differs_is_named(unseen, named):
    names = Told(behind("Exp", "Exp", "Exp"), {1: (AXIS, AXIS), 3: (AXIS,)})
    assert names.region(2, unseen, (AXIS,)) == named


def test_without_the_goldens_graph_nothing_is_wired_otherwise():
    assert Told(behind("Exp"), {}).wiring(1) == ()
