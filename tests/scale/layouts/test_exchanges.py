"""Exchanges between ranks: who has not received what was sent, told from what ranks gave and took alone."""

from __future__ import annotations

import numpy as np
import pytest

from kit.words import check_said
from workbench.run.parallel import Parallel
from workbench.scale.layouts.exchanges import find_in_exchange

JOB = Parallel(tp=2, dp=4, ep=2)
RANKS = range(JOB.ranks)
GIVEN = {rank: np.arange(24, dtype=np.float32).reshape(4, 3, 2) + 100 * rank + 1 for rank in RANKS}


def peer(rank):
    """Tensor parallel ranks are neighbors, and those of ep the next ones."""
    return rank ^ 2


def delivered():
    """Half of the rows of both ranks of a group, the lower rank's first."""
    taken = {}
    for rank in RANKS:
        rows = slice(2, 4) if rank & 2 else slice(0, 2)
        parts = [GIVEN[one][rows] for one in sorted((rank, peer(rank)))]
        taken[rank] = np.concatenate(parts, 1)
    return taken


def nothing_of_peers(taken):
    for rank in RANKS:
        first = rank < peer(rank)
        taken[rank][:, 3:] *= not first
        taken[rank][:, :3] *= first
    return {}


def one_element(taken):
    taken[5][1, 4, 0] = 7
    return {}


def not_a_number(taken):
    taken[5][0, 0, 0] = np.nan
    return {}


def a_zero(taken):
    taken[6][0, 0, 0] = 0
    return {}


def old_values(taken):
    taken[3] = taken[3] - 50
    return {3: taken[3].copy(), 4: taken[4].copy()}


CASES = {
    "as it was sent": (lambda taken: {}, []),
    "nothing of peers": (nothing_of_peers, [("exchange-missing", tuple(RANKS), None)]),
    "one element": (one_element, [("exchange-differs", (5,), 1)]),
    "not a number": (not_a_number, [("exchange-differs", (5,), 1)]),
    "a zero": (a_zero, [("exchange-differs", (6,), 1)]),
    "values of the iteration before": (old_values, [("shard-stale", (3,), None)]),
}


@pytest.mark.parametrize("name", CASES)
def test_what_was_not_delivered_is_named_with_its_rank(name):
    spoil, expected = CASES[name]
    taken = delivered()
    found = list(find_in_exchange(GIVEN, taken, spoil(taken), JOB))
    assert [(one.code, one.ranks, one.values.get("count")) for one in found] == expected
    for one in found:
        others = {"others": [peer(one.ranks[0])]} if one.code == "exchange-differs" else {}
        check_said(
            one.message, f"layouts/found-{one.code}", axis="ep", ranks=[*one.ranks], **others
        )


def test_what_has_no_number_alike_on_both_sides_was_delivered():
    given = {rank: one.copy() for rank, one in GIVEN.items()}
    given[1][0, 0, 0] = np.nan
    taken = delivered()
    taken[1][0, 0, 0] = np.nan
    assert list(find_in_exchange(given, taken, {}, JOB)) == []


@pytest.mark.parametrize("kept", [(0, 1, 4, 5, 6, 7), (2,)])
def test_groups_of_which_a_rank_is_missing_are_not_judged(kept):
    taken = delivered()
    nothing_of_peers(taken)
    given = {rank: GIVEN[rank] for rank in kept}
    found = [rank for one in find_in_exchange(given, taken, {}, JOB) for rank in one.ranks]
    assert found == [rank for rank in RANKS if rank in kept and peer(rank) in kept]


@pytest.mark.parametrize(
    ("given", "taken"),
    [((4, 3), (2, 6, 1)), ((4, 3), (4, 3)), ((4, 3), (2, 3)), ((4, 4), (2, 2)), ((4, 2, 2), (2, 4, 4))],
)  # fmt: skip
def test_tensors_of_other_sizes_are_no_exchange(given, taken):
    zeros, ones = (
        {rank: fill(size) for rank in RANKS} for fill, size in ((np.zeros, given), (np.ones, taken))
    )
    assert list(find_in_exchange(zeros, ones, {}, JOB)) == []
