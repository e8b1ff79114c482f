"""Which origins are no errors after all, and what is acquitted with them, in a chain of three operators."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from kit.build.small_dumps import Net
from workbench.comparison.align.differences import Difference
from workbench.comparison.bind.binding import Execution
from workbench.comparison.follow.masking import mark_masked
from workbench.comparison.follow.state import Assessment, ValueState
from workbench.comparison.follow.trace import Trace
from workbench.comparison.limits import LIMITS
from workbench.core.words import Message
from workbench.graph.graph import Value

BLOCK = Execution(0, "Net", 0, 0, 0)
SETTING, WEIGHT = (
    Difference(kind, "w", Message("compare/setting", name="w", target=1, golden=2))
    for kind in ("attribute", "parameter")
)
HEAVY = LIMITS.pass_factor * LIMITS.masking_weight


def net(second="Exp"):
    """0 → 1 → 2, whose output is the result; nobody reads operator 3."""
    made = Net()
    x = made.feed("x")
    end = made.op("Neg", made.op(second, made.op("Tanh", x)))
    made.op("Abs", x)
    return made.graph(end)


def measure(rule="name", error=0.1, *, io="output", size=16, rewritten=False, forecast=None):
    return SimpleNamespace(
        pair=SimpleNamespace(rule=rule, io=io), usable=True, error=error, rewritten=rewritten,
        forecast=forecast, divergence=SimpleNamespace(size=size),
    )  # fmt: skip


def judged(op, *differences, **more):
    """An operator whose limit is 0.01."""
    usual = {"differences": differences, "tainted": True, "tolerance_factor": 10.0}
    return Assessment(BLOCK, op, 0.001, 0.0, order=op, **{**usual, **more})


def trace(graph, origins, tainted, missing=(), readers=()):
    """What the walk found where these values differ; operators that are ``missing`` were not judged."""
    events = {(BLOCK, n): judged(n) for n in range(len(graph.ops)) if n not in missing}
    events |= {(BLOCK, one.op): one for one in (*readers, *origins)}
    values = {Value(n): ValueState(0.1, True, tainted=n in tainted) for n in range(len(graph.ops))}
    given = dict.fromkeys(Trace.__dataclass_fields__)
    return Trace(
        **{
            **given,
            "pairing": SimpleNamespace(
                target=SimpleNamespace(graph=lambda block: graph if block == BLOCK else None)
            ),
            "events": events,
            "origins": tuple(origins),
            "values": {BLOCK: values},
        }
    )


NAMED = judged(0, SETTING, is_origin=True)
LOOSE = {("output", 0): measure("group")}
LASTING, FADING = (measure(error=error, rewritten=True) for error in (0.011, 0.01))


def weighed(*differences, error=HEAVY * 1.01, size=2):
    """An origin of which only statistics are known, and the weight it was given."""
    given = {("input", 1): measure(error=error, io="input", size=size)}
    return judged(0, *differences, worst=measure(forecast=0.1), measured=given)


CASES = {
    "its reader agrees": (NAMED, {0}, {}, {0, 1}),
    "the second reader agrees": (NAMED, {0, 1}, {}, {0, 1, 2}),
    "it does not differ itself": (NAMED, set(), {}, {0}),
    "it reaches a result": (NAMED, {0, 1, 2}, {}, None),
    "nobody reads it": (judged(3, SETTING), {3}, {}, None),
    "its reader was not judged": (NAMED, {0}, {"missing": {1}}, None),
    "its reader jumps and agrees": (NAMED, {0}, {"second": "Greater"}, None),
    "its reader jumps and differs": (NAMED, {0, 1}, {"second": "Greater"}, {0, 1, 2}),
    "its reader leaves it in a weight": (NAMED, {0}, {"readers": [judged(1, worst=LASTING)]}, None),
    "its reader leaves what it may": (NAMED, {0}, {"readers": [judged(1, worst=FADING)]}, {0, 1}),
    "it leaves it in a weight itself": (judged(0, SETTING, worst=LASTING), {0}, {}, None),
    "of no graph": (judged(-1, SETTING), {0}, {}, None),
    "neither named nor loose": (judged(0), {0}, {}, None),
    "matched loosely": (judged(0, measured=LOOSE), {0}, {}, {0, 1}),
    "matched for sure, too": (judged(0, measured={**LOOSE, ("input", 0): measure()}), {0}, {}, None),
    "convicted by replay": (judged(0, SETTING, replayed=SimpleNamespace(suspect=True)), {0}, {}, None),
    "not convicted by replay": (judged(0, SETTING, replayed=SimpleNamespace(suspect=False)), {0}, {}, {0, 1}),
    "a forecast without a name": (weighed(), {0}, {}, None),
    "a forecast with another setting": (weighed(SETTING), {0}, {}, {0, 1}),
    "a forecast with another weight": (weighed(WEIGHT), {0}, {}, None),
    "a forecast with a weight within its limit": (weighed(WEIGHT, error=HEAVY), {0}, {}, {0, 1}),
    "a forecast with another number": (weighed(WEIGHT, size=1), {0}, {}, {0, 1}),
    "a forecast with weight and setting": (weighed(WEIGHT, SETTING), {0}, {}, {0, 1}),
}  # fmt: skip
"""Why → an origin, the values that differ, what else is known, and the operators acquitted; ``None``: it stays."""


@pytest.mark.parametrize("case", CASES)
def test_an_origin_is_masked_where_all_that_it_reaches_agrees_again(case):
    origin, tainted, more, masked = CASES[case]
    more = dict(more)
    before = trace(net(more.pop("second", "Exp")), [origin], tainted, **more)
    after = mark_masked(before)
    assert {n for (_, n), one in after.events.items() if one.masked} == (masked or set())
    assert after.origins == (() if masked else (origin,))
    for number in masked or ():
        event = after.events[BLOCK, number]
        assert (event.is_origin, event.tainted) == (False, False)
    assert all(one.tainted for one in before.events.values())


@pytest.mark.parametrize(
    ("subject", "origins"), [(WEIGHT, (0, 3)), (SETTING, (3,))], ids=["same weight", "setting"]
)
def test_a_weight_that_does_harm_elsewhere_is_an_origin_where_it_is_read_first(subject, origins):
    """Operator 0 agrees again, operator 3 with the same difference does not."""
    found = mark_masked(trace(net(), [judged(0, subject), judged(3, subject)], {0, 3}))
    assert tuple(one.op for one in found.origins) == origins
    assert found.events[BLOCK, 1].masked
    first = found.events[BLOCK, 0]
    assert (first.is_origin, first.masked) == ((True, False) if 0 in origins else (False, True))
