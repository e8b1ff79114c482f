"""What was measured of the values that an operator reads, where they were dumped elsewhere."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from kit.build.small_dumps import Net
from workbench.comparison.align.alignment import Alignment
from workbench.comparison.follow.expected_error import (
    read_inputs,
    values_seen_by_readers,
)
from workbench.comparison.follow.facts import is_version_matter
from workbench.comparison.graphs.view import GraphView
from workbench.core.tensors import TensorSpec
from workbench.graph.graph import Op, Value

GOOD, OTHER = SimpleNamespace(usable=True), SimpleNamespace(usable=True)
BAD = SimpleNamespace(usable=False)
IN, OUT = ("input", 0), ("output", 0)


def chain(dtype="float32"):
    """0 Tanh → 1 Cast → 2 Reshape → 3 Sub of that and of a feed → 4 Neg."""
    net = Net()
    x = net.feed("x")
    value = net.op("Cast", net.op("Tanh", x), dtype=dtype)
    value = net.op("Reshape", value, dtype=dtype)
    net.op("Neg", net.op("Sub", value, x))
    return net.graph()


def lookup(measured):
    return lambda number: measured.get(number, {})


READ = {
    "its own": ({3: {IN: GOOD}, 2: {OUT: OTHER}}, {0: GOOD}),
    "its own, whatever they are worth": ({3: {IN: BAD}, 2: {OUT: OTHER}}, {0: BAD}),
    "what it gave is none": ({3: {OUT: OTHER}, 2: {OUT: GOOD}}, {0: GOOD}),
    "the output of its producer": ({2: {OUT: GOOD}, 1: {OUT: OTHER}}, {0: GOOD}),
    "behind what moves": ({1: {OUT: GOOD}, 0: {OUT: OTHER}}, {0: GOOD}),
    "behind what cannot be used": ({2: {OUT: BAD}, 0: {OUT: GOOD}}, {0: GOOD}),
    "no other slot": ({2: {("output", 1): GOOD}}, {}),
    "nothing": ({}, {}),
}
"""What is known → measures by operator, and those of the inputs of operator 3."""


@pytest.mark.parametrize("case", READ)
def test_inputs_that_were_not_dumped_are_the_outputs_they_come_from(case):
    measured, expected = READ[case]
    assert read_inputs(chain(), 3, lookup(measured)) == expected


def test_what_an_operator_computes_is_not_looked_behind():
    assert read_inputs(chain(), 4, lookup({2: {OUT: GOOD}})) == {}


SEEN = {
    "by its reader": ({3: {IN: GOOD}}, "float32", {2: GOOD}),
    "by the first that tells": ({3: {IN: GOOD}, 4: {IN: OTHER}}, "float32", {2: GOOD, 3: OTHER}),
    "its own is better": ({3: {IN: GOOD}, 2: {OUT: OTHER}}, "float32", {}),
    "its own cannot be used": ({3: {IN: GOOD}, 2: {OUT: BAD}}, "float32", {2: GOOD}),
    "its reader's cannot be used": ({3: {IN: BAD}}, "float32", {}),
    "a feed has no producer": ({3: {("input", 1): GOOD}, 0: {IN: GOOD}}, "float32", {}),
    "before a cast": ({2: {IN: GOOD}}, "float32", {1: GOOD, 0: GOOD}),
    "not before a coarser one": ({2: {IN: GOOD}}, "float16", {1: GOOD}),
    "not behind a cast": ({1: {IN: GOOD}}, "float32", {0: GOOD}),
}
"""Whose values → measures by operator, type behind the cast, and operators whose output is known by these."""


@pytest.mark.parametrize("case", SEEN)
def test_a_value_that_was_dumped_only_by_its_reader_is_known_by_it(case):
    measured, dtype, expected = SEEN[case]
    found = values_seen_by_readers(chain(dtype), None, lookup(measured))
    assert found == {Value(number): item for number, item in expected.items()}


def pair(kind, *slots):
    """Two operators of a feed, and one that reads them in these slots."""
    net = Net()
    x = net.feed("x")
    given = [net.op("Tanh", x), net.op("Exp", x)]
    net.op(kind, *(given[slot] for slot in slots))
    return net.graph()


ALL = {0: 0, 1: 1, 2: 2}
ALIGNED = {
    "the same": (pair("Sub", 0, 1), ALL, {0, 1}),
    "each other's": (pair("Sub", 1, 0), ALL, set()),
    "another one": (pair("Sub", 0, 0), ALL, {0}),
    "fewer": (pair("Neg", 0), ALL, {0, 1}),
    "no partner of the reader": (pair("Sub", 1, 0), {0: 0, 1: 1}, {0, 1}),
    "no partner of a producer": (pair("Sub", 1, 0), {1: 1, 2: 2}, {0}),
}
"""What the golden's reader reads → the golden, partners, and the values that the target's reader shows."""


@pytest.mark.parametrize("case", ALIGNED)
def test_a_reader_shows_a_value_if_the_goldens_reads_its_partner(case):
    golden, partner, shown = ALIGNED[case]
    target = pair("Sub", 0, 1)
    views = GraphView(target), GraphView(golden)
    found = Alignment(*views, (), partner, {0: 0}, ())
    measured = {2: {IN: GOOD, ("input", 1): OTHER}}
    assert {v.op for v in values_seen_by_readers(target, found, lookup(measured))} == shown


VARIANCES = {
    "n / (n - 1) for the 8 values of a channel": (8 / 7 - 1, {}, True),
    "half as much again": (1.5 / 7, {}, True),
    "more than that": (1.51 / 7, {}, False),
    "of another operator": (8 / 7 - 1, {"op_type": "LayerNorm"}, False),
    "that no step rewrites": (8 / 7 - 1, {"rewritten": False}, False),
    "of channels in an unknown number": (8 / 7 - 1, {"shapes": [(2, 3, 2, 2)]}, False),
    "of no channels": (8 / 7 - 1, {"shapes": [(2, 3, 2, 2), (0,)]}, False),
    "of no values": (0.0, {"shapes": [(0, 3), (3,)]}, False),
    "of one value, over 1 at least": (1.5, {"shapes": [(1, 3), (3,)]}, True),
    "of one value, beyond that": (1.51, {"shapes": [(1, 3), (3,)]}, False),
    "that was not compared": (None, {}, False),
}
"""A variance → its error, what else there is of the operator, and whether versions are known to differ so."""


@pytest.mark.parametrize("case", VARIANCES)
def test_variances_over_n_and_over_one_less_are_a_matter_of_versions(case):
    error, more, expected = VARIANCES[case]
    shapes = more.get("shapes", [(2, 3, 2, 2), (3,)])
    specs = tuple(TensorSpec("float32", shape) for shape in shapes)
    op = Op("bn", more.get("op_type", "BatchNorm"), (), {}, (), specs)
    worst = SimpleNamespace(error=error, rewritten=more.get("rewritten", True))
    assert is_version_matter(op, None if error is None else worst) is expected
