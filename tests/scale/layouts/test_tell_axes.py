"""Axes of a job as its ranks tell them: stages by what they run, tensor and data parallel by who meets."""

from __future__ import annotations

import numpy as np
import pytest

from kit.words import refused
from workbench.core.errors import AlignError
from workbench.graph.graph import Op
from workbench.run.parallel import Parallel
from workbench.scale.layouts import join_tensor, parse_layout
from workbench.scale.layouts.tell_axes import group_of_op, tell_parallel

SAME, TWO = [{"a"}] * 4, [{"a"}, {"a"}, {"b"}, {"b"}]

CASES = {
    "tensor": (SAME, {("fwd", (0, 1, 2, 3))}, Parallel(tp=4)),
    "data": (SAME, {("grad_reducer", (0, 1, 2, 3))}, Parallel(dp=4)),
    "both": (SAME, {("fwd", (0, 1)), ("fwd", (2, 3)), ("grad", (0, 2)), ("grad", (1, 3))}, Parallel(tp=2, dp=2)),
    "stages": ([{"a"}, {"b"}, {"c"}, {"d"}], set(), Parallel(pp=4)),
    "stages of two": (TWO, {("fwd", (0, 1)), ("fwd", (2, 3))}, Parallel(tp=2, pp=2)),
    "a prime number without groups": ([{"a"}] * 3, set(), Parallel(tp=3)),
    "experts": (
        SAME, {("moe/AlltoAll-op0", (0, 1)), ("moe/AlltoAll-op0", (2, 3)), ("grad", (0, 1, 2, 3)), ("grad", (0, 2))},
        Parallel(dp=4, ep=2),
    ),
    "experts beside tensors": (
        SAME, {("moe/AllToAllv-op0", (0, 2)), ("moe/AllToAllv-op0", (1, 3)), ("fwd", (0, 1)), ("grad", (0, 2))},
        Parallel(tp=2, dp=2, ep=2),
    ),
    "exchanges that are no axis": (SAME, {("moe/AlltoAll-op0", (0, 3)), ("grad", (0, 1, 2, 3))}, None),
    "several ways": (SAME, set(), None),
    "groups that are no axis": (SAME, {("fwd", (0, 3))}, None),
    "stages in another order": ([{"a"}, {"b"}, {"a"}, {"b"}], {("fwd", (0, 2))}, None),
    "one rank": ([{"a"}], set(), None),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_axes_are_told_where_one_way_is_left(name):
    names, groups, expected = CASES[name]
    assert tell_parallel(dict(enumerate(map(frozenset, names))), groups) == expected


@pytest.mark.parametrize(
    ("op_type", "attrs", "expected"),
    [
        ("AllReduce", {"group_ranks": "0-2"}, ("n", (0, 2))),
        ("AllReduce", {"rank_list": (1, 0)}, ("n", (0, 1))),
        ("AllReduce", {"group": "hccl_world_group"}, None),
        ("AllReduce", {"group_ranks": "3"}, None),
        ("Send", {"group_ranks": "0-2"}, None),
        ("MatMul", {"group_ranks": "0-2"}, None),
    ],
)
def test_a_collective_says_who_meets(op_type, attrs, expected):
    assert group_of_op(Op("n", op_type, attrs=attrs)) == expected


def test_what_stages_hold_under_one_name_is_one_tensor_only_if_it_is_equal_or_said_to_be():
    held = {rank: np.full((2, 3), rank, np.float32) for rank in range(2)}
    with refused("layouts/stages", AlignError, ranks=[0, 1]):
        join_tensor(held, parse_layout("b h"), Parallel(pp=2))
    said = join_tensor(held, parse_layout("b h # pp:replicated"), Parallel(pp=2))
    assert [one.code for one in said.findings] == ["replicas-apart"]
    equal = dict.fromkeys(held, held[0])
    assert join_tensor(equal, parse_layout("b h"), Parallel(pp=2)).findings == ()
