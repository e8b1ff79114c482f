"""What a run's device reports, told to the user: operators that overflowed, the one that failed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.show.words import plural

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from workbench.core.tensors import TensorRecord

    Run = Callable[..., Iterator[TensorRecord]]

_SHOWN = 3
_UNSEEN = (
    "none of them is dumped: MindSpore looks for Inf and NaN in results, and this device saturates"
)


class Reports:
    """Events of a run, gathered while its records pass."""

    def __init__(self) -> None:
        self.overflows: dict[tuple[str, int], None] = {}
        self.failed = ""

    def pass_on(self, run: Run, iterations: Iterable[int]) -> Iterator[TensorRecord]:
        """Yield the records of iterations, up to the end of an operator that fails."""
        for iteration in iterations:
            for record in run(iteration=iteration):
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

    def sentences(self, *, about_overflow: bool, unseen: bool = False) -> Iterator[str]:
        """Say what was reported; of overflow only if it was asked for.

        ``unseen`` says that MindSpore itself looks for overflow, in results that saturate.
        """
        if about_overflow:
            count = len(self.overflows)
            names = list(dict.fromkeys(name for name, _ in self.overflows))
            shown = ", ".join(names[:_SHOWN]) + (", …" if len(names) > _SHOWN else "")
            yield f"{plural(count, 'overflow')}: {shown}" if count else "no operator overflowed"
            if count and unseen:
                yield _UNSEEN
        if self.failed:
            yield f"the device failed at {self.failed}; the run ends there"
