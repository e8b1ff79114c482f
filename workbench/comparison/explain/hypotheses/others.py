"""Faults that no single step of the device explains: something is missing, moved or wrapped."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.comparison.explain.case import FAILURES, RARE, Candidate
from workbench.comparison.explain.hypotheses.units import instead
from workbench.comparison.replay.kernel import EXACT
from workbench.core.words import Message

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from workbench.comparison.explain.case import Evaluation

    Array = NDArray[Any]


def missing_step(case: Evaluation) -> Iterator[Candidate]:
    """An operator of the kernel was left out: it hands on an input as it is."""
    for part, op in case.parts():
        tensors = case.tensors(part)
        for place in range(min(len(tensors), 2)):
            guess = case.recomputed(instead(part, lambda *read, place=place: read[place]))
            if guess is not None:
                said = Message("compare/fault-missing", op_type=op.op_type, slot=place)
                yield Candidate("missing-step", guess, said, RARE)


def shifted_output(case: Evaluation) -> Iterator[Candidate]:
    """Every element lies one place further along an axis; what comes from outside is free."""
    expected, given = case.trial.expected, case.trial.given
    for axis, size in enumerate(expected.shape):
        if size < 3:
            continue
        for step in (1, -1):
            output = np.roll(expected, step, axis)
            edge = (slice(None),) * axis + (0 if step > 0 else -1,)
            output[edge] = given[edge]
            said = Message("compare/fault-shift", step=step, axis=axis)
            yield Candidate("shifted-output", output, said, expected.size / size / 2)


def integer_wrap(case: Evaluation) -> Iterator[Candidate]:
    """An integer that is too large was wrapped around and not cut, or cut and not wrapped."""
    kind = case.trial.given.dtype
    if kind.kind not in "iu" or case.trial.slot < 0:
        return
    limits = np.iinfo(kind)
    case.spend(case.cost)
    wider = {
        slot: array.astype(np.int64) if array.dtype.kind in "iu" else array
        for slot, array in case.trial.inputs.items()
    }
    try:
        outputs = case.trial.kernel.run(wider, EXACT)
    except FAILURES:
        return
    exact = outputs[case.trial.slot]
    if exact.shape != case.shape or not np.isfinite(exact).all():
        return
    wide = np.rint(exact).astype(np.float64)
    span = float(limits.max) - float(limits.min) + 1
    wrapped = (wide - limits.min) % span + limits.min
    cut = np.clip(wide, limits.min, limits.max)
    for output, code in ((wrapped, "compare/fault-wrapped"), (cut, "compare/fault-clipped")):
        yield Candidate("integer-wrap", output.astype(kind), Message(code, dtype=kind.name))
