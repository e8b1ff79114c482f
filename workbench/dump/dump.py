"""A dump: the tensors of one run, its graphs, and everything about it that is not what it says."""

from __future__ import annotations

from dataclasses import field, replace
from typing import TYPE_CHECKING

from workbench._values import dataclass
from workbench.core.text import one_line, plural

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from workbench.core.tensors import TensorRecord
    from workbench.core.words import Message
    from workbench.dump.formats.container import Container
    from workbench.dump.index import Index, Records
    from workbench.dump.reports.core_elf import Core
    from workbench.dump.reports.golden_roles import Role
    from workbench.dump.reports.opdebug import OverflowRecord
    from workbench.graph.graph import Graph

WATCHED = "watched"
"""Why an output that was dumped again is skipped: it is compared with the same output of its own dump."""

CONSTANT_ITERATION = -1
"""Constants stand outside iterations; their keys carry this number."""


@dataclass(frozen=True, slots=True)
class Skipped:
    """A tensor that takes no part in a comparison, and why (``reason`` is a short fixed word)."""

    name: str
    reason: str
    detail: str | Message = ""


@dataclass(frozen=True, slots=True)
class Note:
    """Something odd about a dump (kind, the name it concerns, one sentence)."""

    kind: str
    name: str
    detail: str | Message


@dataclass(frozen=True, slots=True)
class Overflow:
    """An overflow that the device recorded, and the operator that it names.

    ``op_name`` is empty if no dump file lies beside the record that has its task and stream.
    """

    path: str
    record: OverflowRecord
    op_name: str = ""
    rank: int = 0
    iteration: int = 0


@dataclass(frozen=True, slots=True)
class Failure:
    """What the arguments of a failed operator were: the file of an exception dump, decoded.

    ``scene`` is ``brief``, ``norm`` or ``detail``. In the detailed one ``op_name`` is the kernel's,
    ``container`` describes the arguments in the file of the ``core``.
    """

    path: str
    scene: str
    op_name: str
    container: Container = field(repr=False)
    rank: int = 0
    core: Core | None = field(default=None, repr=False)


@dataclass(frozen=True, repr=False)
class Dump:
    """One run's dump tree, or records in memory (`workbench.dump.index.index_of`).

    ``index`` are the tensors as columns, ``records`` the same as values. ``graphs`` is keyed by (rank, graph id);
    ``orders`` holds the execution order files under the same key. Nothing but names and headers has been read from
    the tensors. ``overflows`` and ``failures`` are records beside the tensors and take no part in comparisons.
    ``watched`` are outputs that were dumped again after another operator; they are also among ``skipped``, as no
    other dump has them. ``fed`` is what golden data say that their network was fed with, where no graph names it:
    nothing is compared with it. ``roles`` is what golden data say of their files, by path: a hint, not a proof.
    """

    path: str
    layout: str
    index: Index
    graphs: Mapping[tuple[int, int], Graph] = field(default_factory=dict)
    orders: Mapping[tuple[int, int], tuple[str, ...]] = field(default_factory=dict)
    skipped: tuple[Skipped, ...] = ()
    notes: tuple[Note, ...] = ()
    info: Mapping[str, str] = field(default_factory=dict)
    overflows: tuple[Overflow, ...] = ()
    failures: tuple[Failure, ...] = ()
    watched: tuple[TensorRecord, ...] = ()
    fed: tuple[TensorRecord, ...] = ()
    roles: Mapping[str, Role] = field(default_factory=dict)

    def __repr__(self) -> str:
        held = f"{plural(self.tensors, 'tensor')}, {plural(len(self.graphs), 'graph')}"
        return one_line(f"<Dump {self.path}: {self.layout}, {held}>")

    @property
    def records(self) -> Records:
        """The tensors, made when they are read."""
        return self.index.records

    @property
    def tensors(self) -> int:
        """Tensors on this side of the ledger: readable records and skipped ones."""
        return len(self.index) + len(self.skipped)

    def where(self, keep: Callable[[TensorRecord], bool]) -> Dump:
        """Return the dump with only the records that ``keep`` accepts."""
        kept = [number for number, record in enumerate(self.records) if keep(record)]
        return replace(self, index=self.index.take(kept))
