"""Ranks of a job: sizes, order, groups."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.oracle.shards import coordinates
from kit.words import refused
from workbench.scale.layouts import Parallel

REFUSED = [
    ("tp=0", "graph/integer", {"subject": "tp", "got": 0}),
    ("tp=x", "graph/integer", {"subject": "tp", "got": "x"}),
    ("tp=-1", "graph/integer", {"got": "-1"}),
    ("tp=²", "graph/integer", {"got": "²"}),
    ("tp=2,tp=2", "layouts/axis-twice", {"got": "tp"}),
    ("up=2", "core/choice", {"got": "up"}),
    ("tp=4,sp=2", "layouts/sp-size", {"tp": 4, "got": 2}),
    ("dp=4,ep=3", "layouts/ep-size", {"of": 4, "got": 3}),
    ("tp=2,order=tp-dp", "layouts/order", {"got": "tp-dp"}),
    ("cp=2:zero", "layouts/mode", {"got": "cp=2:zero"}),
    ("dp=2:zigzag", "layouts/mode", {"got": "dp=2:zigzag"}),
    ("cp=2:order", "layouts/mode", {"got": "cp=2:order"}),
    ("tp=9999999", "layouts/ranks-most", {"got": 9999999}),
]


@pytest.mark.parametrize(("text", "code", "values"), REFUSED)
def test_sizes_that_do_not_fit_are_refused(text, code, values):
    with refused(code, **values):
        Parallel.of(text)


@pytest.mark.parametrize(
    "text", [
        "tp=1", "dp=2:zero,cp=4:zigzag", "tp=8,pp=4,dp=16", "tp=2,pp=2,dp=4,cp=2,ep=4,sp=2", "sp=4",
        "tp=2,dp=2,order=dp-tp-cp-ep-pp",
    ]
)  # fmt: skip
def test_a_text_comes_back(text):
    assert str(Parallel.of(text)) == text


def test_a_rank_beyond_the_job_is_refused():
    with refused("layouts/rank", ranks=4, got=4):
        Parallel.of("tp=4").coordinates(4)


MEGATRON = [
    # tp=2, cp=2, dp=2, pp=2 by the documentation of initialize_model_parallel: neighbors share tensors
    ("tp=2,pp=2,dp=4", 0, "tp", (0, 1)),
    ("tp=2,pp=4,dp=2", 0, "dp", (0, 2)),
    ("tp=2,pp=4,dp=2", 0, "pp", (0, 4, 8, 12)),
    ("tp=2,pp=4,dp=2", 15, "pp", (3, 7, 11, 15)),
    ("tp=2,cp=2,dp=2", 1, "cp", (1, 3)),
    ("tp=2,dp=4,ep=2", 0, "ep", (0, 2)),
    ("tp=2,dp=4,ep=2", 0, "edp", (0, 4)),
    ("tp=2,dp=2,order=dp-tp-cp-ep-pp", 0, "dp", (0, 1)),
    ("sp=4", 2, "sp", (0, 1, 2, 3)),
]


@pytest.mark.parametrize(("text", "rank", "axis", "ranks"), MEGATRON)
def test_groups_are_megatrons(text, rank, axis, ranks):
    assert Parallel.of(text).group(rank, axis) == ranks


@given(st.tuples(*[st.integers(1, 3)] * 4), st.permutations(["tp", "cp", "ep", "dp", "pp"]))
def test_ranks_are_counted_through_the_axes_in_order(sizes, order):
    tp, cp, dp, pp = sizes
    parallel = Parallel(tp=tp, cp=cp, dp=dp, pp=pp, order="-".join(order))
    size = {"tp": tp, "cp": cp, "dp": dp, "pp": pp}
    axes = [(axis, size[axis]) for axis in order if axis != "ep"]
    for rank in range(parallel.ranks):
        expected = coordinates(rank, axes)
        found = parallel.coordinates(rank)
        assert {axis: found[axis] for axis in expected} == expected
        for axis in size:
            peers = [
                one
                for one in range(parallel.ranks)
                if all(coordinates(one, axes)[x] == expected[x] for x in size if x != axis)
            ]
            assert parallel.group(rank, axis) == tuple(peers)
