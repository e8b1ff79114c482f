"""Overflow and exception dumps of the graph engine: what operators leave that the device reports.

An operator that overflows leaves its ordinary file and a record ``Opdebug.Node_OpDebug.*`` beside it, written by
a task of its own, whose fields lead to the operator's task and stream. One that fails leaves what
`workbench.dump.write.exceptions` makes of it. What only a device knows is made up: addresses of code follow
from the task.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.dump.formats.file import FileName
from workbench.dump.formats.ge_name import ABSENT, format_ge_name
from workbench.dump.layouts import folder, row_of
from workbench.dump.releases import by_msprobe
from workbench.dump.reports.opdebug import (
    CLASSIC,
    CORE,
    WHO,
    Accelerator,
    OverflowRecord,
    overflow_container,
)
from workbench.dump.reports.opdebug_json import record_json
from workbench.dump.write.exceptions import FailedOperator, failure_file
from workbench.dump.write.plan_files import TreeLeaf, container_file, data_file, text_file
from workbench.dump.write.reported import event_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from workbench.core.events import DeviceEvent
    from workbench.core.plan import DumpPlan
    from workbench.core.tensors import TensorRecord
    from workbench.dump.reports.opdebug_json import Form
    from workbench.dump.write.ge import Model
    from workbench.dump.write.pieces import StoredTensor
    from workbench.dump.write.plan_files import NewFile
    from workbench.npu.profiles import RecordLayout

STREAM = 1
"""Stream of every operator."""

_AI_CORE = "AI Core"
_CODE, _ARGUMENTS, _STEP = 0x1240_8000_0000, 0x12C0_0000_0000, 0x1_0000


def is_overflow(group: Sequence[TensorRecord], plan: DumpPlan) -> bool:
    """Whether an operator is dumped because it overflowed; nothing here adds atomically."""
    event = event_of(group)
    return event is not None and event.kind == "overflow" and plan.overflow != "atomic_overflow"


def overflow_file(
    model: Model, group: Sequence[TensorRecord], leaf: TreeLeaf, *, decoded: bool
) -> Iterator[NewFile]:
    """Yield the record of an overflow; if ``decoded``, as MindSpore does: by the classic layout."""
    event, target = event_of(group), model.target
    layout = "classic" if decoded else target.overflow_layout
    if event is None or not layout:
        return
    task = model.tasks.get(event.op_name, 0)
    record = overflow_record(event, layout, model=model.model_id, task=task, stream=STREAM)
    own_task, time = max(model.tasks.values(), default=0) + 1, model.clock.tick()
    name = FileName("overflow", timestamp_us=time, task_id=own_task, stream_id=STREAM)
    if decoded:
        name = name._replace(kind="overflow-json", slot=0)
        form: Form = "msprobe" if by_msprobe(target.surface, target.version) else "mindspore"
        path = f"{leaf.path}/{format_ge_name(name)}"
        yield text_file(path, record_json(record, form), leaf.iteration)
    else:
        path = f"{leaf.path}/{format_ge_name(name)}"
        yield container_file(path, *overflow_container(record, time), leaf.iteration)


def failure_files(
    model: Model, group: Sequence[TensorRecord], tensors: Sequence[StoredTensor]
) -> Iterator[NewFile]:
    """Yield what an operator leaves at which the device failed."""
    key, event, target = group[0].key, event_of(group), model.target
    if event is None:
        return
    task, time = model.tasks.get(key.op_name, 0), model.clock.tick()
    failed = FailedOperator(key.op_type, key.op_name, task, STREAM, event.unit, time)
    file = failure_file(failed, tensors, model.plan.detail, target.device, target.chip)
    if file is None:
        return
    path = folder(row_of("exception"), {"device": target.device})
    leaf = TreeLeaf(path, key.iteration)
    path = f"{path}/{leaf.shorten_name('adump', file.name, model.clock.random)}"
    yield from leaf.tables("")
    if file.container is None:
        yield data_file(path, file.data, key.iteration)
    else:
        yield container_file(path, file.container, file.payload, key.iteration)


def overflow_record(
    event: DeviceEvent, layout: RecordLayout, *, model: int, task: int, stream: int
) -> OverflowRecord:
    """Return what a device records of an overflow of an operator's task."""
    code, arguments = _CODE + task * _STEP, _ARGUMENTS + task * _STEP
    if layout == "magic":
        numbers = (model, stream, task, 0, ABSENT, ABSENT, code, arguments, 0, 0, event.word)
        title = "AIC" if event.unit == "cube" else "AIV"
        core = Accelerator(title, dict(zip(CORE, numbers, strict=True)))
        return OverflowRecord((core,), version=0)
    who = dict(zip(WHO, (model, stream, task, 0, code, arguments), strict=True))
    accelerators = []
    for title, place in CLASSIC.items():
        fields = dict.fromkeys((*WHO, *place.last), 0)
        if title == _AI_CORE:
            fields |= who | {"kernel_code": code, "block_idx": 0, "status": event.status}
        accelerators.append(Accelerator(title, fields))
    return OverflowRecord(tuple(accelerators))
