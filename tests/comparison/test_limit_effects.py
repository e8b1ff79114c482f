"""What a limit decides: each case concludes something else under another value."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from kit.build import small_dumps as small
from kit.build.small_dumps import START, Net, chain, in_memory, shoot
from workbench.comparison.align.align import align
from workbench.comparison.align.identities import match_between
from workbench.comparison.align.matching import Matching
from workbench.comparison.engine import compare_dumps
from workbench.comparison.explain.case import Candidate, Evaluation, ScoredCandidate
from workbench.comparison.explain.explain import _settles
from workbench.comparison.explain.hypotheses.elements import overrun
from workbench.comparison.explain.hypotheses.outputs import is_negligible
from workbench.comparison.findings.find import rank
from workbench.comparison.findings.material import Place, finding
from workbench.comparison.graphs.view import GraphView, Origin
from workbench.comparison.limits import Limits, using
from workbench.comparison.map_file import NO_OVERRIDES
from workbench.comparison.replay.kernel import Trial, plain_kernel
from workbench.core.tensors import TensorSpec
from workbench.core.words import Message
from workbench.graph.graph import Op, Param

# --- what belongs together ---------------------------------------------------------------------


def twins(*names):
    """Two operators of one ancestry and different settings."""
    net = Net()
    x = net.feed("x")
    for name, alpha in zip(names, (0.5, 0.25), strict=True):
        net.op("LeakyReLU", x, name=name, attrs={"alpha": alpha})
    return net.graph()


def alike():
    """Which operators of one ancestry are paired."""
    found = Matching(GraphView(twins("a", "b")), GraphView(twins("b", "a")), NO_OVERRIDES)
    return sorted(found.interchangeable([0, 1], [0, 1]))


def hinted():
    """Operators of a type that read one value."""
    return GraphView(twins("a", "b")).alike_readers(Origin("param", 0), "LeakyReLU")


def cast_behind(kind, reader="Softmax"):
    net = Net()
    net.op(reader, net.op("Cast", net.op(kind, net.op("MatMul", net.feed("x"), net.weight("w")))))
    return net.graph()


def carried():
    """Score of a cast that carries the result of an operator of another type."""
    found = align(cast_behind("AvgPool"), cast_behind("MaxPool"))
    return next(match.score for match in found.matches if match.target == (2,))


def handed():
    """Score of a cast of which the reader alone is matched."""
    work = Matching(
        *(GraphView(cast_behind(kind)) for kind in ("AvgPool", "MaxPool")), NO_OVERRIDES
    )
    work.claim(3, 3, "structure")
    match_between(work)
    return next(match.score for match in work.matches if match.target == (2,))


def region(kind, weight):
    """Two operators that nothing matches from above, and a reader that does not match, either."""
    net = Net()
    x, weights = net.feed("x"), {name: net.weight(name) for name in ("p", "q")}
    net.op(
        "Tanh", net.op("Add", net.op(kind, x, name=f"{kind}/a"), weights[weight], name=f"{kind}/b")
    )
    return net.graph()


def ended_alike():
    """Score of operators that end the same region."""
    found = align(region("Sin", "p"), region("Cos", "q"))
    return next(match.score for match in found.matches if match.target == (1,))


# --- why an operator is wrong --------------------------------------------------------------------

SPEC = TensorSpec("float32", (40, 30))
EXPECTED = np.abs(np.random.default_rng(0).normal(size=SPEC.shape)).astype(np.float32)


def case(given=EXPECTED, floor=1e-6):
    kernel = plain_kernel(Op("relu", "ReLU", (Param(0),), outputs=(SPEC,), input_specs=(SPEC,)))
    return Evaluation(Trial(kernel, {0: EXPECTED}, 0, given, EXPECTED, floor))


def surprise(floor):
    return case(EXPECTED * np.float32(1 + 1e-5), floor).surprise(EXPECTED)


def settles(given, exact):
    """Whether a guess that leaves nothing ends the search."""
    guess = Candidate("scaled-output", EXPECTED, Message("compare/fault-sign"), 2.0)
    return _settles(ScoredCandidate(guess, 0.0, exact, 0.0), case(given))


def overrun_guesses():
    """Guesses that the elements 2 to 40 lie in an overrun."""
    given = EXPECTED.copy()
    given.reshape(-1)[2:40] = np.linspace(30, 50, 38)
    return len(list(overrun(case(given))))


# --- what is reported first ------------------------------------------------------------------------


def first_kind():
    """Which comes first: an early unexplained error, or a late one that is named."""
    places = (Place("op", "Op", 0, 0, 0, order=order) for order in (0, 9))
    kinds = zip(("own-error", "attribute"), places, strict=True)
    return rank([finding(kind, place, ()) for kind, place in kinds])[0].finding.kind


LONG = chain(*("MatMul", "ReLU") * 6)


def ends():
    """Whether a dump without the last operators is one of a run that ended."""
    shots = shoot(LONG, small.given(LONG))
    gone = {small.file_name(op.name) for op in LONG.ops[9:]}
    target = in_memory([shot for shot in shots if shot.name not in gone], LONG)
    return [one.kind for one in compare_dumps(target, in_memory(shots, LONG)).result.findings]


def stepping(axis):
    """A graph that updates a weight, and an operator that reads it."""
    net = Net()
    weight, step = net.weight("w"), net.feed("s")
    net.op("Tanh", weight, attrs={"axis": axis})
    net.op("AssignAdd", weight, step)
    return net.graph()


def began_before(axis):
    """Score of the finding where a weight was another one when the first dumped iteration began."""
    graphs = stepping(0), stepping(axis)
    values = small.given(graphs[0])
    dumps = []
    for graph, factor in zip(graphs, (1.0, 1.1), strict=True):
        given = {**values, "w": values["w"] * np.float32(factor)}
        shots = [
            shot
            for n in (3, 4)
            for shot in shoot(graph, given, iteration=n, start=START + 1000 * n)
        ]
        dumps.append(in_memory(shots, graph))
    return [(one.kind, one.score) for one in compare_dumps(*dumps).result.findings if one.defect]


EFFECTS = {
    "alike_most": (1, alike),
    "hint_most": (1, hinted),
    "score_carried": (0.55, carried),
    "score_handed": (0.55, handed),
    "score_ends": (0.55, ended_alike),
    "grain_share": (0.2, lambda: surprise(1e-6)),
    "grain_least": (1e-8, lambda: surprise(1e-9)),
    "gap_far": (10.0, lambda: surprise(1e-6)),
    "gap_numbers": (1.0, lambda: surprise(1e-6)),
    "settled_numbers": (1.0, lambda: settles(EXPECTED * 2, 1.0)),
    "settled_error": (1e9, lambda: settles(EXPECTED * 2, 0.5)),
    "overrun_begins": (4, overrun_guesses),
    "overrun_ends": (100, overrun_guesses),
    "factor_nothing": (1.0, lambda: is_negligible(0.0015, case(floor=1e-3))),
    "factor_small": (0.01, lambda: is_negligible(0.04, case(floor=0.1))),
    "score_named": (0.1, first_kind),
    "listed_enough": (100, ends),
    "trust_tainted": (0.8, lambda: began_before(1)),
    "trust_before": (0.8, lambda: began_before(0)),
}
"""Limit → another value of it, and what concludes something else then."""


@pytest.mark.parametrize("name", EFFECTS)
def test_another_limit_concludes_something_else(name):
    value, conclude = EFFECTS[name]
    usual = conclude()
    with using(replace(Limits(), **{name: value})):
        assert conclude() != usual
    assert conclude() == usual
