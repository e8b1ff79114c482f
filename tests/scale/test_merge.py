"""What units show together: made of summaries and collectives, without a tensor."""

from __future__ import annotations

import math

import pytest

from workbench.scale.merge import Disagreement, digest_of, merge_units
from workbench.scale.summary import CollectiveTensor, FirstDivergence, UnitSummary

WHOLE = frozenset(range(4))


def divergence(name, order, *, op_type="MatMul", kind="own-error"):
    return FirstDivergence(kind, name, op_type, 0, order, "output", 0, 0.5, 1e-3, "net.py:3")


OWN = divergence("mm", 11)
MET = divergence("sum", 20, op_type="AllReduce")
WEIGHT = divergence("add", 4, op_type="BiasAdd", kind="parameter")


def met(off_in, off_out, *, digest="a", defect=False, rounding=1e-6, **more):
    given = {"op_name": "sum", "op_type": "AllReduce", "slot": 0, "group": "", "ranks": ()} | more
    return (
        CollectiveTensor(
            **given, io="input", off=off_in, rounding=rounding, digest="", defect=defect
        ),
        CollectiveTensor(
            **given, io="output", off=off_out, rounding=rounding, digest=digest, defect=defect
        ),
    )


def unit(rank, iteration=0, collectives=(), **more):
    verdict = "fail" if more.get("first") or more.get("received") else "pass"
    return UnitSummary(
        rank, iteration, "done", verdict, collectives_digest=digest_of(collectives), **more
    )


def merged(units, collectives=None, whole=WHOLE):
    asked = []

    def read(iteration):
        asked.append(iteration)
        return (collectives or {}).get(iteration, {})

    return merge_units(units, read, whole), asked


def shown(found):
    return [
        (one.ranks, one.iteration, one.role, one.divergence.op_name, one.fed_by) for one in found
    ]


def test_nothing_is_read_where_all_is_well():
    found, asked = merged([unit(rank, n) for rank in range(4) for n in range(3)])
    assert (found.groups, found.apart, asked) == ((), (), [])


def test_one_rank_parts_and_the_others_receive_it():
    met_by = {rank: met(1.0 if rank == 2 else 1e-9, 1.0, defect=rank != 2) for rank in range(4)}
    units = [unit(rank, n) for rank in range(4) for n in range(2)]
    units += [unit(rank, 2, received=None if rank == 2 else MET, first=OWN if rank == 2 else None)
              for rank in range(4)]  # fmt: skip
    units += [unit(rank, 3, first=WEIGHT) for rank in range(4)]
    found, asked = merged(units, {2: met_by})
    assert shown(found.groups) == [
        ((2,), 2, "origin", "mm", ()),
        ((0, 1, 3), 2, "received", "sum", (2,)),
    ]
    assert asked == [2]  # iteration 3 has seen all of it
    assert [one.verdict for one in found.units[8:12]] == ["warn", "warn", "fail", "warn"]


@pytest.mark.parametrize(
    ("off", "given", "verdict"),
    [
        (1.5, {}, "warn"),
        (9.0, {}, "fail"),
        (1.5, {"first": WEIGHT}, "fail"),
        (None, {}, "fail"),  # differs, nobody measured by how much
    ],
)
def test_behind_the_first_divergence_what_others_brought_fails_nobody(off, given, verdict):
    """Ranks 1 and 2 feed 1.0 each to what rank 0 gets."""
    met_by = {rank: met(1.0 if rank in (1, 2) else 0.0, off, defect=rank == 0) for rank in range(4)}
    units = [unit(rank, 0, first=OWN if rank == 1 else None) for rank in range(4)]
    units += [
        unit(rank, 1, **({"received": MET} | given if rank == 0 else {})) for rank in range(4)
    ]
    found, asked = merged(units, {1: met_by})
    assert [one.verdict for one in found.units[4:]] == [verdict, "pass", "pass", "pass"]
    assert asked == [0, 1][: 1 if given else 2]


def test_rounding_that_others_brought_is_no_defect():
    """What three ranks bring is 3.0 together; the norm of a sum is at most that."""
    met_by = {rank: met(0.75, 3.0, defect=rank == 0) for rank in range(4)}
    units = [unit(rank, received=MET if rank == 0 else None) for rank in range(4)]
    found, _ = merged(units, {0: met_by})
    assert found.groups == ()
    assert [one.verdict for one in found.units] == ["warn", "pass", "pass", "pass"]


@pytest.mark.parametrize(
    ("off", "role"), [(3.0, None), (3.1, "communication"), (math.inf, "communication")]
)
def test_what_nobody_brought_is_of_the_communication(off, role):
    met_by = {rank: met(0.75, off if rank == 0 else 3.0, defect=rank == 0) for rank in range(4)}
    units = [unit(rank, received=MET if rank == 0 else None) for rank in range(4)]
    found, _ = merged(units, {0: met_by})
    assert [one.role for one in found.groups] == ([role] if role else [])


def test_what_was_not_dumped_decides_nothing():
    met_by = {rank: met(None if rank == 3 else 1e-9, 3.0, defect=rank == 0) for rank in range(4)}
    units = [unit(rank, received=MET if rank == 0 else None) for rank in range(4)]
    found, _ = merged(units, {0: met_by})
    assert [one.role for one in found.groups] == ["open"]
    assert found.units[0].verdict == "inconclusive"


def test_where_a_rank_of_the_job_failed_nothing_is_said_of_all():
    met_by = {rank: met(1e-9, 3.0, defect=rank == 0, digest=str(rank)) for rank in range(3)}
    units = [unit(rank, received=MET if rank == 0 else None) for rank in range(3)]
    units.append(UnitSummary(3, 0, "failed", reason="gone"))
    found, _ = merged(units, {0: met_by})
    assert [one.role for one in found.groups] == ["open"]
    assert found.apart == ()


def test_weights_carry_what_another_rank_did_before():
    units = [unit(0, 0), unit(1, 0, first=OWN), unit(0, 1, first=WEIGHT), unit(1, 1, first=WEIGHT)]
    found, _ = merged(units, whole=frozenset((0, 1)))
    assert shown(found.groups) == [((1,), 0, "origin", "mm", ()), ((0,), 1, "carried", "add", ())]


def test_weights_that_differ_from_the_start_are_an_origin():
    found, _ = merged([unit(rank, 0, first=WEIGHT) for rank in range(4)])
    assert shown(found.groups) == [((0, 1, 2, 3), 0, "origin", "add", ())]


def test_groups_come_in_the_order_in_which_they_part():
    late, early = divergence("late", 30), divergence("early", 2)
    units = [unit(0, 1, first=early), unit(1, 0, first=late), unit(2, 0, first=early), unit(3, 0)]
    found, _ = merged(units)
    assert [(one.iteration, one.divergence.op_name) for one in found.groups] == [
        (0, "early"), (0, "late"), (1, "early"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("digests", "more", "expected"),
    [
        ("aaaa", {}, []),
        ("aaba", {}, [((2,), (0, 1, 3))]),
        ("aabb", {}, [((0, 1, 2, 3), ())]),
        ("abcd", {}, [((0, 1, 2, 3), ())]),
        ("aaba", {"group": "1-2"}, []),  # nobody says who meets
        ("aaba", {"op_type": "ReduceScatter"}, []),
        ("aaba", {"op_type": "AlltoAll"}, []),
    ],
)
def test_ranks_that_must_agree(digests, more, expected):
    met_by = {rank: met(0.0, 0.0, digest=one, **more) for rank, one in enumerate(digests)}
    units = [unit(rank, collectives=met_by[rank]) for rank in range(4)]
    found, asked = merged(units, {0: met_by})
    assert [(one.ranks, one.others) for one in found.apart] == expected
    assert bool(asked) == (len({*digests}) > 1 and not more)


def test_groups_of_ranks_agree_each_for_itself():
    met_by = {
        rank: met(0.0, 0.0, digest="ab"[rank // 2] if rank < 3 else "c", group="g",
                  ranks=(0, 1) if rank < 2 else (2, 3))
        for rank in range(4)
    }  # fmt: skip
    found, _ = merged([unit(rank, collectives=met_by[rank]) for rank in range(4)], {0: met_by})
    assert found.apart == (Disagreement(0, "sum", "output", 0, (2, 3), ()),)


def test_an_operator_that_ranks_meet_in_twice_is_two_places():
    met_by = {rank: (*met(0, 0, digest="a"), *met(0, 0, digest="b")) for rank in range(4)}
    met_by[3] = (*met(0, 0, digest="b"), *met(0, 0, digest="a"))
    found, _ = merged([unit(rank, collectives=met_by[rank]) for rank in range(4)], {0: met_by})
    assert [one.ranks for one in found.apart] == [(3,)]
