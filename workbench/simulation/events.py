"""What is told of a run: operators that overflowed, the one that failed, iterations that were not dumped."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from workbench.core.words import Message

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from workbench.config.config import Config
    from workbench.core.plan import DumpPlan
    from workbench.core.tensors import TensorRecord
    from workbench.dump.write.plan_files import Progress

NOTHING = frozenset(("simulation/run-nothing", "simulation/run-nothing-because"))
"""Codes that say that a rank dumped nothing that was asked for."""

ITERATIONS = "iterations"
"""Title of the fact that a rehearsal did not dump all iterations that it ran."""

_SHOWN = 3


class DeviceEvents:
    """Events of a run of one rank, gathered while its records pass, and whether any was dumped.

    ``sees`` says whether MindSpore finds an overflow in a tensor, where it looks for them itself; without it
    they are those that the device reports.
    """

    def __init__(
        self,
        progress: Progress | None = None,
        rank: int = 0,
        sees: Callable[[TensorRecord], bool] | None = None,
    ) -> None:
        self.overflows: dict[tuple[str, int], None] = {}
        self.unseen: dict[str, None] = {}
        self.failed = ""
        self._progress, self._rank, self._sees = progress, rank, sees
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
                self._note(record)
                yield replace(record, key=record.key._replace(rank=self._rank))
            if self.failed:
                return

    def _note(self, record: TensorRecord) -> None:
        event, name = record.event, record.key.op_name
        if event is not None and event.kind == "failure":
            self.failed = name
            return
        if event is not None if self._sees is None else self._sees(record):
            self.overflows[name, record.key.iteration] = None
        elif event is not None:
            self.unseen[name] = None

    def messages(self, *, about_overflow: bool) -> Iterator[Message]:
        """Say what was reported; of overflow only if it was asked for."""
        names = list(dict.fromkeys(name for name, _ in self.overflows))
        unseen = [name for name in self.unseen if name not in names]
        if about_overflow:
            if names:
                yield Message("simulation/run-overflows", count=len(self.overflows), names=names)
            if unseen:
                yield Message("simulation/run-overflow-unseen", names=unseen)
            if not names and not unseen:
                yield Message("simulation/run-no-overflow")
        if self.failed:
            yield Message("simulation/run-failed", op=self.failed)


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
    silent: int = sum(one.code in NOTHING for one in said)
    return silent == ranks
