"""What may be said on which ground: the table, and what of it no comparison may break."""

from __future__ import annotations

import pytest

from kit.build import small_dumps as small
from kit.build.small_dumps import in_memory, shoot
from workbench.comparison.engine import compare_dumps
from workbench.comparison.trust import (
    GROUNDS,
    ORDERS,
    OWN,
    SAYINGS,
    Trust,
    may_say,
    order_of_times,
    weaker,
)

EVERYWHERE = [Trust(graph, order) for graph in GROUNDS for order in ORDERS]

# kind of statement → grounds of graphs on which it may be made, where the order is known by data flow
ON_GRAPHS = {
    "difference": {"own", "borrowed", "inferred", "none"},
    "first": {"own", "borrowed", "inferred", "none"},
    "given": {"own", "borrowed", "inferred"},
    "dataflow": {"own", "borrowed", "inferred"},
    "leaves": {"own", "borrowed"},
    "lent": {"own", "borrowed"},
    "memory": {"own"},
    "wiring": {"own"},
    "settings": {"own"},
    "source": {"own"},
}


@pytest.mark.parametrize("saying", SAYINGS)
def test_what_may_be_said_on_which_graph(saying):
    assert {graph for graph in GROUNDS if may_say(saying, Trust(graph))} == ON_GRAPHS[saying]


@pytest.mark.parametrize("trust", EVERYWHERE, ids=str)
def test_an_unknown_order_yields_no_first(trust):
    assert may_say("first", trust) is (trust.order != "unknown")
    assert not (may_say("given", trust) and trust.order == "unknown")


@pytest.mark.parametrize("trust", EVERYWHERE, ids=str)
@pytest.mark.parametrize("saying", SAYINGS)
def test_what_may_be_said_on_weak_ground_may_be_said_on_a_stronger_one(saying, trust):
    stronger = [one for one in EVERYWHERE if weaker(one, trust) == trust]
    assert not may_say(saying, trust) or all(may_say(saying, one) for one in stronger)


@pytest.mark.parametrize("trust", EVERYWHERE, ids=str)
def test_a_weak_ground_is_said_in_words_and_a_strong_one_is_not(trust):
    codes = [one.code for one in trust.said]
    expected = [] if trust.graph == "own" else [f"compare/trust-{trust.graph}"]
    expected += ["compare/trust-order-unknown"] * (trust.order == "unknown")
    assert codes == expected


def test_the_weaker_of_two_is_taken_for_graph_and_order_each():
    assert weaker(Trust("borrowed", "dataflow"), Trust("own", "time")) == Trust("borrowed", "time")
    assert weaker() == OWN


@pytest.mark.parametrize(
    ("times", "order"), [((1, 2), "time"), ((5, 5, 5), "unknown"), ((), "unknown")]
)
def test_equal_times_tell_no_order(times, order):
    assert order_of_times(times) == order


# --- what findings without a graph rest on ------------------------------------------------------

CHAIN = small.chain("MatMul", "ReLU", "MatMul", "Tanh", "Softmax")
GIVEN = small.given(CHAIN)
OFF = {"Default/ReLU-op0": lambda x: x * x.dtype.type(1.5)}


def _shots(dumped, alter=None, *, timed=True):
    shots = [one for one in shoot(CHAIN, GIVEN, alter=alter) if one.io in dumped]
    return in_memory([one if timed else one._replace(time=1) for one in shots])


# what was dumped, whether files have times of their own → graph and order
GROUND_OF = {
    ("input", "output"): {True: Trust("inferred", "time"), False: Trust("inferred", "time")},
    ("output",): {True: Trust("none", "time"), False: Trust("none", "unknown")},
}


@pytest.mark.parametrize("timed", [True, False])
@pytest.mark.parametrize("dumped", GROUND_OF, ids="-".join)
def test_without_a_graph_findings_rest_on_edges_that_bytes_tell(dumped, timed):
    target, golden = _shots(dumped, OFF, timed=timed), _shots(dumped, timed=timed)
    result = compare_dumps(target, golden).result
    found = result.findings[0]
    assert found.trust == GROUND_OF[dumped][timed]
    codes = {one.code for one in found.evidence}
    assert f"compare/trust-{found.trust.graph}" in codes
    assert ("compare/trust-order-unknown" in codes) is (found.trust.order == "unknown")
