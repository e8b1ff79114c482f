"""Rows of the parts of iterations: which tensors count, and which of them stands for all."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import NamedTuple

import pytest

from workbench.comparison.findings.iterations import summarize
from workbench.comparison.result import IterationRow


class Tensor(NamedTuple):
    """A compared tensor of an operator that no graph knows."""

    name: str
    status: str = "pass"
    error: float | None = 0.1
    iteration: int = 0
    io: str = "output"
    rank: int = 0


FORWARD, BACKWARD, SGD = "Default/MatMul-op0", "Gradients/MatMul-op1", "SGD-op2"


def rows(*tensors):
    measured, judged = [], []
    for one in tensors:
        run = SimpleNamespace(block=None, op=-1, op_name=one.name, op_type=one.name[:3])
        measured.append(SimpleNamespace(pair=SimpleNamespace(run=run, io=one.io)))
        judged.append(
            SimpleNamespace(
                rank=one.rank, iteration=one.iteration, status=one.status, op_name=one.name, error=one.error,
                inherited_error=0.2, noise_floor=0.3,
            )
        )  # fmt: skip
    runs = {None: dict(enumerate(item.pair.run for item in measured))}
    target = SimpleNamespace(graph=lambda block: None, graphs={}, runs=runs)
    trace = SimpleNamespace(pairing=SimpleNamespace(target=target))
    return summarize(trace, measured, judged)


def row(iteration, part, tensors, counts, worst, error, *, name, rank=0):
    return IterationRow(rank, iteration, part, tensors, *counts, name, worst, error, 0.2, 0.3)


STEP = (Tensor(FORWARD), Tensor(BACKWARD), Tensor(SGD))
SUMS = {
    "all parts of a step": (
        STEP,
        [
            row(0, "forward", 1, (0, 0, 0), "pass", 0.1, name=FORWARD),
            row(0, "backward", 1, (0, 0, 0), "pass", 0.1, name=BACKWARD),
            row(0, "optimizer", 1, (0, 0, 0), "pass", 0.1, name=SGD),
        ],
    ),
    "one step forward alone": (STEP[:1], []),
    "one step forward and an update": ((STEP[0], STEP[2]), []),
    "two steps forward": (
        (STEP[0]._replace(iteration=4), STEP[0]._replace(iteration=2, error=0.5)),
        [
            row(2, "forward", 1, (0, 0, 0), "pass", 0.5, name=FORWARD),
            row(4, "forward", 1, (0, 0, 0), "pass", 0.1, name=FORWARD),
        ],
    ),
    "two ranks": (
        (STEP[0], STEP[0]._replace(rank=1)),
        [row(0, "forward", 1, (0, 0, 0), "pass", 0.1, name=FORWARD, rank=rank) for rank in (0, 1)],
    ),
    "nothing of no iteration, of inputs or without figures": (
        (
            STEP[1]._replace(iteration=-1),
            STEP[1]._replace(io="input"),
            STEP[1]._replace(status="uncomparable"),
        ),
        [],
    ),
    "every status": (
        tuple(
            Tensor(BACKWARD, status, 0.1)
            for status in ("equal", "fail", "warn", "warn", "pass", "fail", "fail")
        ),
        [row(0, "backward", 7, (1, 2, 3), "fail", 0.1, name=BACKWARD)],
    ),
}
"""Compared tensors → rows."""


@pytest.mark.parametrize("case", SUMS)
def test_which_tensors_count_for_a_part(case):
    tensors, expected = SUMS[case]
    assert list(rows(*tensors)) == expected


@pytest.mark.parametrize(
    ("less", "more"),
    [
        (("equal", 0.0), ("pass", 0.0)),
        (("pass", 9.0), ("warn", 0.1)),
        (("warn", math.nan), ("fail", 0.0)),
        (("fail", 0.1), ("fail", 0.2)),
        (("fail", None), ("fail", 0.1)),
        (("fail", 1e9), ("fail", math.nan)),
    ],
    ids=lambda one: f"{one[0]} {one[1]}",
)
def test_the_worst_tensor_stands_for_all(less, more):
    for pair in ((less, more), (more, less)):
        (found,) = rows(*(Tensor(BACKWARD, *one) for one in pair))
        assert (found.status, str(found.error)) == (more[0], str(more[1]))
