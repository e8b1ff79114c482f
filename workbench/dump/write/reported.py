"""Operators as the device reports them: records part by part, and what MindSpore makes of reports.

With ``op_debug_mode`` 3 MindSpore O0/O1 has an operator of its own look for Inf and NaN in what each operator
wrote (``CheckOverFlow`` in ``debugger_utils.cc``): it dumps who hands them on as well, and nothing
where the device saturates. With 4 it dumps the inputs of the operator after which the device no
longer answers; a CPU or GPU dumps no operator then, but still its parameters (``debug_actor.cc``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from workbench.core.events import DeviceEvent
    from workbench.core.plan import DumpPlan
    from workbench.core.tensors import TensorRecord
    from workbench.core.writers import Platform

PARAMETER = "Parameter"
"""Type of the records of parameters."""

CHECKED = frozenset(("float16", "float32", "bfloat16"))
"""Number formats in which MindSpore looks for Inf and NaN."""


def by_operator(
    records: Iterable[TensorRecord], *, partly: bool = False
) -> Iterator[list[TensorRecord]]:
    """Part records by operator: inputs, then outputs, slots rising.

    If the records end in an error, those of the last operator come first if ``partly``, else never.
    """
    group: list[TensorRecord] = []
    try:
        for record in records:
            if group and not _continues(group[-1], record):
                yield group
                group = []
            group.append(record)
    except GeneratorExit:  # nobody listens any more
        raise
    except BaseException:
        if group and partly:
            yield group
        raise
    if group:
        yield group


def _continues(before: TensorRecord, record: TensorRecord) -> bool:
    last, key = before.key, record.key
    same = (last.op_name, last.op_type, last.iteration) == (key.op_name, key.op_type, key.iteration)
    in_order = (last.io, last.slot) < (key.io, key.slot)
    return same and in_order and before.after == record.after


def event_of(group: Sequence[TensorRecord]) -> DeviceEvent | None:
    """What the device reported of an operator."""
    return next((record.event for record in group if record.event is not None), None)


def has_failed(group: Sequence[TensorRecord]) -> bool:
    """Whether an operator did not finish."""
    event = event_of(group)
    return event is not None and event.kind == "failure"


def chosen_by_mindspore(
    records: Iterable[TensorRecord], plan: DumpPlan, device: Platform
) -> Iterator[TensorRecord]:
    """Yield the records that MindSpore O0/O1, a CPU or a GPU looks at for a plan's kind of dump."""
    count = 0
    for group in by_operator(records, partly=True):
        if plan.kind == "exception":
            yield from _of_exceptions(group, device)
        elif has_failed(group):
            continue
        elif plan.kind != "overflow":
            yield from group
        elif group[0].key.iteration in plan.iterations and any(map(overflows, group)):
            count += 1
            if not plan.limit or count <= plan.limit:
                yield from group


def _of_exceptions(group: Sequence[TensorRecord], device: Platform) -> Iterator[TensorRecord]:
    if device != "Ascend":
        yield from (record for record in group if record.key.op_type == PARAMETER)
    elif has_failed(group):
        yield from (record for record in group if record.key.io == "input")


def overflows(record: TensorRecord) -> bool:
    """Whether MindSpore finds an overflow in a tensor: Inf or NaN in the output of an operator."""
    key = record.key
    if key.io != "output" or key.op_type == PARAMETER or record.source is None:
        return False
    array = record.source.array()
    return array.dtype.name in CHECKED and not np.isfinite(array).all()
