"""Faults of links between ranks: what a collective delivers to one rank."""

from __future__ import annotations

import numpy as np
import pytest

from kit.words import refused
from workbench.core.errors import GraphError
from workbench.core.tensors import TensorSpec
from workbench.graph.graph import Op
from workbench.npu.faults import LINKS, Links, check_links, parse_fault

OP = Op("Default/AllReduce-op0", "AllReduce", outputs=(TensorSpec("float32", (2,)),))
FIRST = [np.float32([1, 2]), np.float32([3, 4]), np.float32([5, 6])]
SECOND = [np.float32([7, 8]), np.float32([9, 10]), np.float32([11, 12])]

RECEIVED = [
    ("skipped-collective:*", [[0, 0], [3, 4], [0, 0]], [[0, 0], [9, 10], [0, 0]]),
    ("stale-collective:AllReduce", [[0, 0], [3, 4], [0, 0]], FIRST),
    ("stale-collective:*:since=1", FIRST, FIRST),
    ("stale-collective:*:iteration=0", [[0, 0], [3, 4], [0, 0]], SECOND),
    ("garbled-collective:*:strength=2,value=-1", [[-1, -1], [3, 4], [5, 6]], [[-1, -1], [9, 10], [11, 12]]),
    ("skipped-collective:*Gather*", FIRST, SECOND),
]  # fmt: skip


@pytest.mark.parametrize(("text", "first", "second"), RECEIVED)
def test_a_link_delivers_what_its_fault_says(text, first, second):
    links = Links((parse_fault(text),))
    for number, (given, expected) in enumerate(((FIRST, first), (SECOND, second))):
        before = [one.copy() for one in given]
        found = links.receive(OP, given, 1, number)
        assert [one.tolist() for one in found] == [np.asarray(one).tolist() for one in expected]
        assert all(np.array_equal(one, other) for one, other in zip(given, before, strict=True))


def test_every_kind_is_tried_here():
    assert {text.partition(":")[0] for text, *_ in RECEIVED} == LINKS.keys()


def test_the_element_that_is_garbled_follows_from_the_seed():
    wide = [np.arange(100, dtype=np.float32)] * 2
    made = [
        Links((parse_fault(f"garbled-collective:*:seed={seed}"),)).receive(OP, wide, 0, 0)[1]
        for seed in (1, 1, 2)
    ]
    assert [np.count_nonzero(one != wide[1]) for one in made] == [1, 1, 1]
    assert np.array_equal(made[0], made[1])
    assert not np.array_equal(made[0], made[2])


@pytest.mark.parametrize("own", [0, 1])
@pytest.mark.parametrize(
    ("kind", "attrs", "dim"), [("AlltoAll", {"split_dim": 1}, 1), ("ReduceScatter", {}, 0)]
)
def test_what_is_garbled_is_of_the_part_that_the_rank_gets(kind, attrs, dim, own):
    one = Op("Default/op", kind, attrs=attrs)
    given = [np.ones((4, 6), np.float32), np.zeros((4, 6), np.float32)]
    for seed in range(8):
        links = Links((parse_fault(f"garbled-collective:*:value=5,seed={seed}"),))
        found = links.receive(one, given, own, 0)
        changed = found[1 - own] != given[1 - own]
        assert np.array_equal(found[own], given[own])
        assert np.count_nonzero(changed) == 1
        assert np.split(changed, 2, dim)[own].any()


REFUSED = [
    ("stale-collective:*:strength=2", "run/fault-choice", {"got": "strength"}),
    ("skipped-collective:*:since=-1", "run/fault-least", {"name": "since", "got": -1}),
    ("skipped-collective:*:node=x", "run/fault-number", {"name": "node", "got": "x"}),
    ("wrong-attribute:*:since=1,a=2", "run/fault-iteration", {"name": "since", "got": 1}),
]


@pytest.mark.parametrize(("text", "code", "values"), REFUSED)
def test_settings_that_a_link_does_not_have_are_refused(text, code, values):
    with refused(code, GraphError, **values):
        parse_fault(text)


def test_a_fault_that_meets_no_collective_is_refused():
    with refused("run/fault-no-collective", GraphError, got="*Softmax*", close=[OP.name]):
        check_links([parse_fault("stale-collective:*Softmax*")], [OP], "net")


def test_a_node_has_eight_ranks_and_since_is_the_first_iteration():
    fault = parse_fault("scaled-output:*:node=1,since=2")
    assert [fault.is_on(rank) for rank in (7, 8, 15, 16)] == [False, True, True, False]
    assert [fault.is_in(number) for number in (1, 2, 9)] == [False, True, True]
