"""Where a comparison stops after measuring, where it must not, and that both ways come to the same."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import workbench as wb
from kit.build import small_dumps as small
from kit.build.small_dumps import START, Net, chain, in_memory, shoot
from workbench.comparison import engine
from workbench.comparison.agreeing import CONDITIONS, NOT_REPLAYED, nothing_differs
from workbench.comparison.align.alignment import Group
from workbench.comparison.engine import compare_dumps
from workbench.comparison.map_file import Overrides, Tolerance
from workbench.comparison.measure.measure import measure_pair
from workbench.comparison.pair.pairing import Selection
from workbench.core.tensors import TensorKey, TensorRecord, TensorSpec
from workbench.core.words import Message

SAMPLES = Path(__file__).resolve().parents[2] / "sample_dumps"
GRAPH = chain("MatMul", "ReLU", "MatMul", "Tanh")
VALUES = small.given(GRAPH)
SHOTS = shoot(GRAPH, VALUES)
DUMP = in_memory(SHOTS, GRAPH)


def both_ways(monkeypatch, target, golden, **options):
    """Results with and without the stop, and whether there was one."""
    stopped = []

    def asked(met):
        stopped.append(nothing_differs(met))
        return stopped[-1]

    monkeypatch.setattr(engine, "nothing_differs", asked)
    short = compare_dumps(target, golden, **options)
    monkeypatch.setattr(engine, "nothing_differs", lambda _: False)
    return short, compare_dumps(target, golden, **options), stopped == [True]


def met_with(monkeypatch, target, golden=DUMP, **options):
    """What is known of two dumps when it is asked whether to stop."""
    known = []
    monkeypatch.setattr(engine, "nothing_differs", known.append)
    compare_dumps(target, golden, **options)
    (met,) = known
    return met


# --- where it stops ------------------------------------------------------------------------------


def counted():
    """A weight that every step adds to, over two steps."""
    net = Net()
    x, weight = net.feed("x"), net.weight("w")
    net.op("Tanh", net.op("AssignAdd", weight, net.op("MatMul", x, weight)))
    graph, shots = net.graph(), []
    for n in range(2):
        values = small.given(graph, seed=n)
        shots += shoot(graph, values, iteration=n, start=START + 1000 * n)
    return in_memory(shots, graph)


EQUAL = {
    "a chain": lambda: DUMP,
    "some of its operators": lambda: in_memory([s for s in SHOTS if "ReLU" not in s.name], GRAPH),
    "steps that update": counted,
    "a network on disk": lambda: wb.load(SAMPLES / "simulated_pair/golden"),
    "a training step on disk": lambda: wb.load(SAMPLES / "real_pair/dump_b"),
}
"""Dumps that are equal to themselves."""


@pytest.mark.parametrize("name", EQUAL)
def test_both_ways_come_to_the_same_but_for_own_errors(monkeypatch, name):
    short, full, stopped = both_ways(monkeypatch, EQUAL[name](), EQUAL[name]())
    assert stopped
    assert {row.own_error for row in short.result.rows} == {None}
    rows = tuple(replace(row, own_error=None) for row in full.result.rows)
    facts = {**full.result.facts, "replayed": NOT_REPLAYED}
    assert short.result == replace(full.result, rows=rows, facts=facts)


def test_whoever_looks_deeper_finds_what_the_full_way_finds(monkeypatch):
    short, full, stopped = both_ways(monkeypatch, DUMP, DUMP)
    assert stopped
    assert [one.conclusion for one in short.flow.events.values()] == [
        one.conclusion for one in full.flow.events.values()
    ]
    assert short.flow.replayed.own_errors.keys() == full.flow.replayed.own_errors.keys() != set()
    assert short.origins.origins == ()


# --- where it must not ---------------------------------------------------------------------------


def spoiled(change):
    return in_memory(shoot(GRAPH, VALUES, alter={"Default/Tanh-op0": change}), GRAPH)


def aligned(met, **changes):
    """The same with alignments of other fields."""
    table = {key: replace(one, **changes) for key, one in met.pairing.alignments.items()}
    return met._replace(pairing=replace(met.pairing, alignments=table))


def graphed(met, change, *sides):
    """The same with another graph on some sides."""
    pairing = met.pairing
    for side in sides:
        binding = getattr(pairing, side)
        graphs = {key: change(graph) for key, graph in binding.graphs.items()}
        pairing = replace(pairing, **{side: replace(binding, graphs=graphs)})
    views = {
        key: replace(one, **{side: type(one.target)(change(GRAPH)) for side in sides})
        for key, one in pairing.alignments.items()
    }
    return met._replace(pairing=replace(pairing, alignments=views))


def with_op(number, **changes):
    """A graph of which one operator is changed."""

    def change(graph):
        ops = list(graph.ops)
        ops[number] = replace(ops[number], **changes)
        return replace(graph, ops=tuple(ops))

    return change


WATCHED = TensorRecord(
    TensorKey("ReLU", "w", "output", 0, 0, 0, 0, "Net"), TensorSpec("float32", None)
)
BOTH = ("target", "golden")

VIOLATED = [
    ("some equal", lambda met, _: met._replace(measured=())),
    ("none differs", lambda _, ask: ask(spoiled(lambda a: a * np.float32(1 + 3e-7)))),
    ("none differs", lambda _, ask: ask(spoiled(lambda a: a * 2))),
    ("all matched", lambda _, ask: ask(in_memory([s for s in SHOTS if "Tanh" not in s.name], GRAPH))),
    ("no map file", lambda _, ask: ask(
        DUMP, selection=Selection(overrides=Overrides(tolerances=(Tolerance(0.1, "known"),))))),
    ("no thresholds", lambda _, ask: ask(DUMP, profile="msprobe")),
    ("no forecast", lambda met, _: met._replace(forecast=True)),
    ("no records beside tensors", lambda _, ask: ask(replace(DUMP, watched=(WATCHED,)))),
    ("all aligned", lambda met, _: met._replace(pairing=replace(met.pairing, alignments={}))),
    ("not of GE", lambda met, _: graphed(met, lambda g: replace(g, dialect="ge"), *BOTH)),
    ("graphs alike", lambda met, _: graphed(met, with_op(1, attrs={"slope": 2}), "golden")),
    ("graphs alike", lambda met, _: graphed(
        met, with_op(3, outputs=(TensorSpec("float16", (4, 4)),)), "target")),
    ("one to one", lambda met, _: aligned(met, groups=(Group((0,), (0,), (), ()),))),
    ("one to one", lambda met, _: aligned(met, match_of={0: 2, 1: 1, 2: 0, 3: 3})),
    ("no flags or collectives", lambda met, _: graphed(met, with_op(1, op_type="AllReduce"), *BOTH)),
    ("no flags or collectives", lambda met, _: graphed(met, with_op(1, op_type="AllFinite"), *BOTH)),
]  # fmt: skip
"""The only condition that does not hold, and how that comes to be: of the equal dumps' facts, or of other dumps."""


@pytest.mark.parametrize(("name", "make"), VIOLATED, ids=range(len(VIOLATED)))
def test_it_goes_on_where_a_single_condition_does_not_hold(monkeypatch, name, make):
    equal = met_with(monkeypatch, DUMP)
    assert nothing_differs(equal)
    met = make(equal, lambda *given, **options: met_with(monkeypatch, *given, **options))
    assert [one.name for one in CONDITIONS if not one.holds(met)] == [name]
    assert not nothing_differs(met)


def test_every_condition_has_a_case():
    assert {name for name, _ in VIOLATED} == {one.name for one in CONDITIONS}


KINDS = {
    (("unused-output",), ()): True,
    ((), ("unwritten-output",)): True,
    (("unused-output",), ("unwritten-output",)): True,
    (("unused-output", "mislabelled"), ()): True,
    (("mislabelled",), ()): False,
    (("unused-output",), ("mislabelled",)): False,
    (("mislabelled",), ("mislabelled",)): False,
}
"""What the tensors of either side are instead of what their labels say → whether nothing differs."""


@pytest.mark.parametrize("kinds", KINDS)
def test_only_memory_that_nobody_reads_is_no_difference(monkeypatch, kinds):
    met = met_with(monkeypatch, DUMP)
    first, *rest = met.measured
    said = measure_pair(first.pair, kinds).reason
    assert isinstance(said, Message)
    assert (
        nothing_differs(met._replace(measured=(first._replace(reason=said), *rest))) is KINDS[kinds]
    )


def test_a_comparison_that_is_stopped_does_not_agree():
    """Nothing was measured, so nothing is known to be equal."""
    assert compare_dumps(DUMP, DUMP, cancelled=lambda: True).result.partial
