"""What is told of a run: operators that overflowed, the one that failed, iterations that were not dumped."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from workbench.core.words import Message

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from workbench.config.config import Config
    from workbench.core.events import DeviceEvent
    from workbench.core.plan import DumpPlan
    from workbench.core.tensors import TensorKey, TensorRecord
    from workbench.dump.write.plan_files import Progress

ITERATIONS = "iterations"
"""Title of the fact that a rehearsal did not dump all iterations that it ran."""

_SHOWN = 3


class DeviceEvents:
    """Events of a run of one rank, gathered while its records pass, and whether any was dumped."""

    def __init__(self, progress: Progress | None = None, rank: int = 0) -> None:
        self.overflows: dict[tuple[str, int], None] = {}
        self.failed = ""
        self._progress, self._rank = progress, rank
        self._empty = True

    @property
    def is_empty(self) -> bool:
        """Whether no tensor was dumped."""
        return self._empty

    def dumped(self, number: int, operator: str) -> None:
        """Note that a tensor was dumped, and tell whoever asked for the progress."""
        self._empty = False
        if self._progress is not None:
            self._progress(number, operator)

    def observe(
        self, runs: Iterable[tuple[Iterator[TensorRecord], bool]]
    ) -> Iterator[TensorRecord]:
        """Yield the records of runs that count, up to the end of an operator that fails."""
        for records, counts in runs:
            for record in records:
                if not counts:
                    continue
                if record.event is not None:
                    self._note(record.event, record.key)
                yield replace(record, key=record.key._replace(rank=self._rank))
            if self.failed:
                return

    def _note(self, event: DeviceEvent, key: TensorKey) -> None:
        if event.kind == "failure":
            self.failed = key.op_name
        else:
            self.overflows[key.op_name, key.iteration] = None

    def messages(self, *, about_overflow: bool, unseen: bool = False) -> Iterator[Message]:
        """Say what was reported; of overflow only if it was asked for.

        ``unseen`` says that MindSpore itself looks for overflow, in results that saturate.
        """
        if about_overflow:
            count = len(self.overflows)
            names = list(dict.fromkeys(name for name, _ in self.overflows))
            if not count:
                yield Message("simulation/run-no-overflow")
            else:
                yield Message("simulation/run-overflows", count=count, names=names)
            if count and unseen:
                yield Message("simulation/run-saturating")
        if self.failed:
            yield Message("simulation/run-failed", op=self.failed)
        elif self._empty and not about_overflow:
            yield Message("simulation/run-nothing")


def undumped(plan: DumpPlan, run: Iterable[int], form: Config | None = None) -> Message | None:
    """Say that some of the iterations that run are dumped and others not, and what to set; ``None`` if it is not so.

    Parameters
    ----------
    plan : DumpPlan
    run : iterable of int
        Numbers of the iterations that run.
    form : Config, optional
        The configuration that the plan came from.
    """
    numbers = sorted({*run})
    dumped = [number for number in numbers if number in plan.iterations]
    if plan.kind != "data" or not dumped or len(dumped) == len(numbers):
        return None
    counts = {"dumped": len(dumped), "run": len(numbers), "asked": plan.iterations}
    return with_all_iterations(Message("simulation/iterations-some", **counts), numbers, form)


def with_all_iterations(said: Message, numbers: Sequence[int], form: Config | None) -> Message:
    """Add to a message what to set so that all iterations are dumped, where there is a form that says it."""
    key = "" if form is None else form.iterations_key
    if not key:
        return said
    value = f"{numbers[0]}-{numbers[-1]}" if len(numbers) > 1 else f"{numbers[0]}"
    return Message("simulation/iterations-set", said=said, key=key, value=value)


def dumped_nothing(told: Sequence[Message], ranks: int = 1) -> bool:
    """Whether the messages of a run say that none of its ranks dumped a tensor."""
    said = [one.values["said"] if one.code == "simulation/run-rank" else one for one in told]
    silent: int = sum(one.code == "simulation/run-nothing" for one in said)
    return silent == ranks
