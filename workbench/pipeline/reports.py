"""What a run's device reports, told to the user: operators that overflowed, the one that failed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.core.words import Message

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from workbench.core.tensors import TensorRecord
    from workbench.dump.write.writer import Progress

_SHOWN = 3


class Reports:
    """Events of a run of one rank, gathered while its records pass, and whether any was dumped."""

    def __init__(self, progress: Progress | None = None, rank: int = 0) -> None:
        self.overflows: dict[tuple[str, int], None] = {}
        self.failed = ""
        self._progress, self._rank = progress, rank
        self._empty = True

    def dumped(self, number: int, operator: str) -> None:
        """Note that a tensor was dumped, and tell whoever asked for the progress."""
        self._empty = False
        if self._progress is not None:
            self._progress(number, operator)

    def pass_on(
        self, runs: Iterable[tuple[Iterator[TensorRecord], bool]]
    ) -> Iterator[TensorRecord]:
        """Yield the records of runs that count, up to the end of an operator that fails."""
        for records, counts in runs:
            for record in records:
                if not counts:
                    continue
                record.key = record.key._replace(rank=self._rank)
                if record.event is not None:
                    self._note(record)
                yield record
            if self.failed:
                return

    def _note(self, record: TensorRecord) -> None:
        if record.event is not None and record.event.kind == "failure":
            self.failed = record.key.op_name
        else:
            self.overflows[record.key.op_name, record.key.iteration] = None

    def messages(self, *, about_overflow: bool, unseen: bool = False) -> Iterator[Message]:
        """Say what was reported; of overflow only if it was asked for.

        ``unseen`` says that MindSpore itself looks for overflow, in results that saturate.
        """
        if about_overflow:
            count = len(self.overflows)
            names = list(dict.fromkeys(name for name, _ in self.overflows))
            if not count:
                yield Message("pipeline/run-no-overflow")
            else:
                yield Message("pipeline/run-overflows", count=count, names=names)
            if count and unseen:
                yield Message("pipeline/run-saturating")
        if self.failed:
            yield Message("pipeline/run-failed", op=self.failed)
        elif self._empty and not about_overflow:
            yield Message("pipeline/run-nothing")
