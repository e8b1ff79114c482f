"""How the tensors of a job lie on the ranks of either side: given by the user, or told from the dumps."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench._values import NamedTuple, dataclass
from workbench.core.errors import AlignError
from workbench.run.parallel import Parallel
from workbench.scale.layouts import LayoutTable, job_of, read_layouts, tell_layouts
from workbench.scale.layouts.files import GIVEN, INFERRED
from workbench.scale.layouts.tell_axes import are_proven, group_of_op, tell_parallel
from workbench.scale.parts import merge_parts, read_part
from workbench.scale.units import spans

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from workbench.scale.layouts import Job
    from workbench.scale.parts import Part, Tree

    Given = str | Path | LayoutTable


@dataclass(frozen=True, slots=True)
class JobLayouts:
    """How tensors lie on the ranks of both sides, where they do so in different ways.

    ``trust`` is ``given``, or ``inferred`` where a side's layouts were told from the dumps.
    """

    target: LayoutTable
    golden: LayoutTable
    trust: str = GIVEN

    def ranks_of(self, side: str) -> range:
        """Return the ranks that a side has."""
        table = self.target if side == "target" else self.golden
        return range(table.parallel.ranks if table.parallel is not None else 1)

    def to_json(self) -> dict[str, Any]:
        """Return them as JSON values."""
        return {
            "target": self.target.to_json(), "golden": self.golden.to_json(), "trust": self.trust,
        }  # fmt: skip

    @classmethod
    def from_json(cls, said: Mapping[str, Any]) -> JobLayouts:
        """Return what `to_json` gave; raises FormatError, KeyError, TypeError or ValueError for anything else."""
        ours, theirs = (LayoutTable.from_json(said[side]) for side in ("target", "golden"))
        return cls(ours, theirs, str(said["trust"]))


class AskedLayouts(NamedTuple):
    """What the user says of layouts, empty where nothing: axes of either side, and files of layouts."""

    parallel: str | Parallel = ""
    golden_parallel: str | Parallel = ""
    layouts: Given = ""
    golden_layouts: Given = ""


class _Side(NamedTuple):
    """A side: its tree, and what is known of it."""

    name: str
    tree: Tree
    table: LayoutTable
    parallel: Parallel | None

    @property
    def size(self) -> int:
        return len(self.tree.ranks)


def find_layouts(trees: tuple[Tree, Tree], asked: AskedLayouts) -> JobLayouts | None:
    """Return how tensors lie on the ranks of both sides; `None` where rank is compared with rank.

    That is where both sides share a network alike. Without a word of the user's, layouts are told where one side has
    one rank and the other several, and it shows that these hold parts.

    Raises
    ------
    FormatError, GraphError
        A file of layouts or axes cannot be read.
    AlignError
        Axes or layouts of a side are not known, or are not those of its ranks.
    """
    ours = _table(asked.layouts)
    own = _table(asked.golden_layouts)
    theirs = own if asked.golden_layouts else replace(ours, parallel=None)
    target = _Side("target", trees[0], ours, _axes(asked.parallel) or ours.parallel)
    golden = _Side("golden", trees[1], theirs, _axes(asked.golden_parallel) or theirs.parallel)
    if not any(asked):
        return _told_alone(target, golden)
    target, golden = (
        one._replace(parallel=_known_axes(one, other))
        for one, other in ((target, golden), (golden, target))
    )
    for side in (target, golden):
        _check_ranks(side)
    if target.parallel == golden.parallel and not asked.golden_layouts:
        return None
    return _with_rows(target, golden)


def _table(given: Given) -> LayoutTable:
    if isinstance(given, LayoutTable):
        return given
    return read_layouts(given) if given else LayoutTable()


def _axes(given: str | Parallel) -> Parallel | None:
    if isinstance(given, Parallel):
        return given
    return Parallel.of(given) if given else None


def _known_axes(side: _Side, other: _Side) -> Parallel:
    """Return the axes of a side: given, none of one rank, or the other's where it has as many ranks."""
    if side.parallel is not None:
        return side.parallel
    if side.size == 1:
        return Parallel()
    if other.parallel is not None and other.parallel.ranks == side.size:
        return other.parallel
    raise AlignError("job/parallel-unknown", side=side.name, ranks=side.size)


def _check_ranks(side: _Side) -> None:
    assert side.parallel is not None
    beyond = [rank for rank in side.tree.ranks if rank >= side.parallel.ranks]
    if beyond and (side.parallel.ranks > 1 or side.size > 1):
        raise AlignError(
            "job/parallel-ranks", side=side.name, parallel=str(side.parallel),
            ranks=side.parallel.ranks, got=spans(side.tree.ranks),
        )  # fmt: skip


def _with_rows(target: _Side, golden: _Side) -> JobLayouts:
    """Return layouts of both sides; those of a side without rows are told from the other, if that is whole."""
    trust, tables = GIVEN, list[LayoutTable]()
    for side, other in ((target, golden), (golden, target)):
        assert side.parallel is not None
        table = replace(side.table, parallel=side.parallel)
        if side.parallel.ranks > 1 and not table.rows:
            if other.parallel is None or other.parallel.ranks > 1:
                raise AlignError("job/layouts-unknown", side=side.name)
            table, trust = _tell(side, other, side.parallel), INFERRED
        tables.append(table)
    return JobLayouts(tables[0], tables[1], trust)


# --- told from the dumps ------------------------------------------------------------------------


def _told_alone(target: _Side, golden: _Side) -> JobLayouts | None:
    """Return what the dumps tell, if one side has one rank and the other's ranks hold parts of it."""
    if target.size == golden.size or 1 not in (target.size, golden.size):
        return None
    side, whole = (target, golden) if golden.size == 1 else (golden, target)
    parallel = _axes_of(side)
    if parallel is None:
        return None
    table = _tell(side, whole, parallel)
    if not are_proven(table):
        return None
    alone = LayoutTable(parallel=Parallel())
    return JobLayouts(
        table if side is target else alone, alone if side is target else table, INFERRED
    )


def _tell(side: _Side, whole: _Side, parallel: Parallel) -> LayoutTable:
    """Tell the layouts of a side by the first iteration that both have."""
    parts, others = (_parts_of_first(one, other) for one, other in ((side, whole), (whole, side)))
    job = job_of([read_part(merge_parts(parts))], side.table, parallel)
    golden: Job = job_of([read_part(merge_parts(others))])
    return replace(tell_layouts(job, golden, likely=True), parallel=parallel)


def _parts_of_first(side: _Side, other: _Side) -> list[Part]:
    """Parts of a side in the first iteration that both have; raises AlignError if there is none."""
    both = {iteration for _, iteration in side.tree.places} & {at for _, at in other.tree.places}
    if not both:
        raise AlignError("job/layouts-unknown", side=side.name)
    parts = side.tree.parts()
    return [parts[place] for place in sorted(parts) if place[1] == min(both)]


def _axes_of(side: _Side) -> Parallel | None:
    """Return the axes of a side's ranks as their operators and groups tell them; `None` where they do not."""
    names: dict[int, frozenset[str]] = {}
    groups: set[tuple[str, tuple[int, ...]]] = set()
    for rank, part in _first_parts(side.tree):
        dump = read_part(part)
        names[rank] = frozenset(dump.index.op_names.all())
        groups |= {
            found
            for graph in dump.graphs.values()
            for op in graph.ops
            if (found := group_of_op(op)) is not None
        }
    return tell_parallel(names, groups)


def _first_parts(tree: Tree) -> Iterator[tuple[int, Part]]:
    """The first part of each rank."""
    seen = set()
    for (rank, _), part in tree.parts().items():
        if rank not in seen:
            seen.add(rank)
            yield rank, part
