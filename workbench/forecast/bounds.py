"""What a dump writes at most whose operators only the run knows: those that overflow or fail."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from workbench.dump.reports.opdebug import SIZE
from workbench.forecast.forecast import Bound, totals

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from workbench.core.plan import DumpPlan
    from workbench.core.writers import Writer
    from workbench.dump.write.forecast import Forecast

    Tell = Callable[[DumpPlan, Sequence[int]], Forecast]

_RECORD = SIZE + 96
"""Bytes of the file of an overflow record, and more than those of its JSON."""


def upper_bound(plan: DumpPlan, numbers: Sequence[int], writer: Writer, tell: Tell) -> Bound:
    """Return a bound for a plan of kind ``overflow`` or ``exception``.

    Parameters
    ----------
    numbers : sequence of int
        The iterations that run and dump.
    tell : callable (plan, iterations)
        Forecast of a plan.
    """
    if not numbers:
        return Bound(*totals(tell(plan, [])))
    if plan.kind == "exception":
        return _failure(plan, numbers, writer, tell)
    forecast = tell(replace(plan, kind="data"), numbers)
    files, nbytes = totals(forecast)
    if writer.by_mindspore:
        return Bound(files, nbytes)
    operators = sum(1 for count in forecast.tensors.values() if count) * len(numbers)
    return Bound(files + operators, nbytes + operators * _RECORD)


def _failure(plan: DumpPlan, numbers: Sequence[int], writer: Writer, tell: Tell) -> Bound:
    """One operator fails: MindSpore writes each of its inputs, adump one file."""
    files, nbytes = totals(tell(plan, numbers))
    if not writer.by_mindspore:
        return Bound(files + 1, None)
    if writer.platform != "Ascend":
        return Bound(files, nbytes)
    inputs = tell(replace(plan, kind="data", io=frozenset(("input",))), numbers[:1])
    return Bound(files + max(inputs.tensors.values(), default=0), None)
