"""What may be said on which ground: the table, and what of it no comparison may break."""

from __future__ import annotations

import pytest

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
    assert trust.weak is (trust != OWN)


def test_the_weaker_of_two_is_taken_for_graph_and_order_each():
    assert weaker(Trust("borrowed", "dataflow"), Trust("own", "time")) == Trust("borrowed", "time")
    assert weaker() == OWN


@pytest.mark.parametrize(
    ("times", "order"), [((1, 2), "time"), ((5, 5, 5), "unknown"), ((), "unknown")]
)
def test_equal_times_tell_no_order(times, order):
    assert order_of_times(times) == order
