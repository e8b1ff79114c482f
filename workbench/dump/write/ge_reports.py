"""Overflow and exception dumps of the graph engine: what operators leave that the device reports.

An operator that overflows leaves its ordinary file and a record ``Opdebug.Node_OpDebug.*`` beside it, written by
a task of its own, whose fields lead to the operator's task and stream. One that fails leaves what
`workbench.dump.write.exception_file` makes of it. What only a device knows is made up: addresses of code follow
from the task.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.dump.formats.file import FileName
from workbench.dump.formats.ge_name import ABSENT, format_ge_name
from workbench.dump.formats.renamed import FILE_NAME, renamed
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
from workbench.dump.write.exception_file import FailedOperator, failure_file
from workbench.dump.write.reported import event_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from workbench.core.events import DeviceEvent
    from workbench.core.plan import DumpPlan
    from workbench.core.tensors import TensorRecord
    from workbench.dump.reports.opdebug_json import Form
    from workbench.dump.write.ge_pieces import Piece
    from workbench.dump.write.sink import Clock, GeSink
    from workbench.dump.write.target import GeTarget
    from workbench.run.profiles import RecordLayout

STREAM = 1
"""Stream of every operator."""

_AI_CORE = "AI Core"
_CODE, _ARGUMENTS, _STEP = 0x1240_8000_0000, 0x12C0_0000_0000, 0x1_0000


class Reports:
    """What one tree holds of reports; ``tasks`` numbers the operators of the model by name."""

    def __init__(
        self,
        plan: DumpPlan,
        target: GeTarget,
        tasks: Mapping[str, int],
        model: int,
        clock: Clock,
        sink: GeSink,
    ) -> None:
        self._plan, self._target, self._tasks, self._model = plan, target, tasks, model
        self._clock, self._sink = clock, sink
        self._count = 0

    def counts(self, group: Sequence[TensorRecord]) -> bool:
        """Whether an operator is dumped because it overflowed: at most as many are as the plan's limit."""
        event = event_of(group)
        if event is None or event.kind != "overflow":
            return False
        if self._plan.overflow == "atomic_overflow":  # nothing here adds atomically
            return False
        self._count += 1
        return not 0 < self._plan.limit < self._count

    def overflow(self, group: Sequence[TensorRecord], folder: str, *, decoded: bool) -> None:
        """Hand the record of an overflow on; if ``decoded``, as MindSpore does: by the classic layout."""
        event = event_of(group)
        layout = "classic" if decoded else self._target.overflow_layout
        if event is None or not layout:
            return
        task = self._tasks.get(event.op_name, 0)
        record = overflow_record(event, layout, model=self._model, task=task, stream=STREAM)
        own_task, time = max(self._tasks.values(), default=0) + 1, self._clock.tick()
        name = FileName("overflow", timestamp_us=time, task_id=own_task, stream_id=STREAM)
        if decoded:
            name = name._replace(kind="overflow-json", slot=0)
            msprobe = by_msprobe(self._target.surface, self._target.version)
            form: Form = "msprobe" if msprobe else "mindspore"
            self._sink.text(f"{folder}/{format_ge_name(name)}", record_json(record, form))
        else:
            container, payload = overflow_container(record, time)
            self._sink.container(f"{folder}/{format_ge_name(name)}", container, payload)

    def failure(self, group: Sequence[TensorRecord], pieces: Sequence[Piece | None]) -> None:
        """Hand the file of an operator on at which the device failed."""
        key, event, target = group[0].key, event_of(group), self._target
        if event is None:
            return
        task = self._tasks.get(key.op_name, 0)
        time = self._clock.tick()
        failed = FailedOperator(key.op_type, key.op_name, task, STREAM, event.unit, time)
        laid = [piece for piece in pieces if piece is not None]
        file = failure_file(failed, laid, self._plan.detail, target.device, target.chip)
        if file is None:
            return
        path, name = folder(row_of("exception"), {"device": target.device}), file.name
        self._sink.leaf(path, key.iteration)
        way = renamed("adump", name, path, self._clock.random)
        if way is not None:
            name = way[0]
            self._sink.text(f"{path}/{FILE_NAME}", way[1])
        if file.container is None:
            self._sink.data(f"{path}/{name}", file.data)
        else:
            self._sink.container(f"{path}/{name}", file.container, file.payload)


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
