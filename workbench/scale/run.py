"""Compare one unit: a pure function of it and its settings, whose result is a file.

A file is written under a temporary name and renamed, and states the fingerprint of its unit. What is there with the
same fingerprint is done: whoever runs a job again goes on where it stopped.
"""

from __future__ import annotations

import json
import math
from contextlib import suppress
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench._values import NamedTuple
from workbench.comparison.engine import compare_dumps
from workbench.comparison.pair.pairing import Selection
from workbench.core.errors import FormatError, WorkbenchError
from workbench.core.files import write_bytes
from workbench.dump.dump import CONSTANT_ITERATION
from workbench.ops import COLLECTIVES
from workbench.scale.carried import carried_findings
from workbench.scale.layouts.jobs import join_each, ranks_off
from workbench.scale.layouts.ledger import gather_ledger
from workbench.scale.merge import digest_of
from workbench.scale.reading import index_records, is_between_ranks, read_sides
from workbench.scale.summary import (
    CollectiveTensor,
    collectives_from_json,
    collectives_to_json,
    summarize,
    summary_from_json,
    summary_to_json,
)
from workbench.session.compare import required_limits
from workbench.session.parquet import read_about, to_parquet

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

    from workbench.comparison.differing import Depth
    from workbench.comparison.engine import Compared
    from workbench.comparison.result import Result, Row
    from workbench.core.tensors import TensorKey, TensorRecord
    from workbench.dump.dump import Dump
    from workbench.graph.graph import Graph, Op
    from workbench.scale.layouts import Job, Joined
    from workbench.scale.layouts.ledger import RankFinding
    from workbench.scale.reading import UnitSides
    from workbench.scale.summary import FirstDivergence, UnitSummary
    from workbench.scale.units import Settings, Unit

    Progress = Callable[[int, int, str], None]
    Cancelled = Callable[[], bool]

UNIT = b"workbench.unit"
"""Key of a file's metadata under which its fingerprint, its summary and its collectives stand."""

UNITS = "units"
"""Folder of the files of units below the result's."""


class UnitFile(NamedTuple):
    """What a unit's file says of itself."""

    fingerprint: str
    summary: UnitSummary
    collectives: tuple[CollectiveTensor, ...]


def unit_path(folder: str | Path, unit: Unit) -> Path:
    """Where the file of a unit is."""
    return Path(folder) / UNITS / f"{unit.name}.parquet"


def run_unit(unit: Unit, settings: Settings, folder: str) -> UnitSummary:
    """Compare a unit and write its file, or read what was written before of the same; return its summary.

    Raises WorkbenchError if a side cannot be read or the file cannot be written.
    """
    path = unit_path(folder, unit)
    known = read_unit_file(path)
    if known is not None and known.fingerprint == unit.fingerprint:
        return known.summary
    sides = read_sides(unit, settings)
    compared = compare_unit(unit, settings, sides.target, sides.golden, settings.depth)
    if sides.jobs is None:
        collectives = [*_collectives(compared.result, sides.target)]
        summary = summarize(unit, compared.result, digest_of(collectives))
    else:
        collectives, summary = [], _joined_summary(unit, compared.result, sides, sides.jobs)
    said = {
        "fingerprint": unit.fingerprint,
        "summary": summary_to_json(summary),
        "collectives": collectives_to_json(collectives),
    }
    about = {UNIT: json.dumps(said, allow_nan=False).encode()}
    write_bytes(path, to_parquet(compared.result, about), "result")
    return summary


def compare_unit(
    unit: Unit,
    settings: Settings,
    target: Dump,
    golden: Dump,
    depth: Depth,
    progress: Progress | None = None,
    cancelled: Cancelled | None = None,
) -> Compared:
    """Compare both sides of a unit; ``progress`` and ``cancelled`` as in a comparison of two trees."""
    overrides = settings.overrides.allow_missing([*settings.allow_missing])
    return compare_dumps(
        target, golden, selection=Selection(None, None, overrides), profile=settings.profile,
        limits=required_limits(settings.require), depth=depth, progress=progress, cancelled=cancelled,
    )  # fmt: skip


def read_unit_file(path: Path) -> UnitFile | None:
    """Read what the file of a unit says of itself; ``None`` if there is none, or it is damaged or another's."""
    with suppress(FormatError, KeyError, TypeError, ValueError):
        said = json.loads(read_about(path)[UNIT])
        summary = summary_from_json(said["summary"])
        return UnitFile(
            said["fingerprint"], summary, (*collectives_from_json(said["collectives"]),)
        )
    return None


# --- ranks that were joined --------------------------------------------------------------------


def _joined_summary(
    unit: Unit, result: Result, sides: UnitSides, jobs: tuple[Job, Job]
) -> UnitSummary:
    """Return what is kept of a unit of all ranks: where they meet is an operator as any other."""
    target, golden = jobs
    iterations = unit.iteration, CONSTANT_ITERATION
    done = [
        gather_ledger(side, _laid(job, join_each(job, other, iterations)))
        for side, job, other in (("target", target, golden), ("golden", golden, None))
        if job.parallel.ranks > 1
    ]
    carried = carried_findings(result, sides)
    rest = replace(result, findings=tuple(f for f in result.findings if f not in carried))
    one = summarize(unit, rest)
    found = tuple(finding for gathered in done for finding in gathered.findings)
    wrong = {_place(one) for one in found if one.defect and one.side == "target"}
    first = one.earliest
    there = None if first is None else _compared_at(first, result, sides)
    if there is not None and _place(there[0].key) in wrong:
        first = there = None  # what ranks hold there says more than what was taken of it
    behind = there is not None and _is_behind(there[0], wrong, target)
    return replace(
        one, first=None if behind else first, received=first if behind else None,
        ranks=() if there is None else _ranks_of(*there, target), carried=bool(carried),
        ledger=tuple(line for gathered in done for line in gathered.lines), found=found,
    )  # fmt: skip


def _laid(
    job: Job, joined: Iterable[tuple[TensorKey, Joined]]
) -> Iterator[tuple[TensorKey, Joined]]:
    """Yield all but what ranks send each other, of which no layout is known."""
    for key, one in joined:
        if not is_between_ranks(key) or job.tensors[key].row is not None:
            yield key, one


def _compared_at(
    first: FirstDivergence, result: Result, sides: UnitSides
) -> tuple[TensorRecord, TensorRecord] | None:
    """Return both tensors of the pair at which a unit parts first; `None` if there is none."""
    place = first.op_name, first.io, first.slot
    row = next((one for one in result.rows if (one.op_name, one.io, one.slot) == place), None)
    if row is None:
        return None
    ours = index_records(sides.target).get((row.target_path, *place[1:]))
    theirs = index_records(sides.golden).get((row.golden_path, *place[1:]))
    return None if ours is None or theirs is None else (ours, theirs)


def _place(one: TensorKey | RankFinding) -> tuple[str, str, int]:
    return one.op_name, one.io, one.slot


def _is_behind(ours: TensorRecord, wrong: Collection[tuple[str, str, int]], target: Job) -> bool:
    """Whether ranks are wrong before a tensor is written, so that it may have come of that."""
    times = (
        record.timestamp_us
        for key, one in target.tensors.items()
        if _place(key) in wrong and key.iteration == ours.key.iteration
        for record in one.records.values()
    )
    return min(times, default=ours.timestamp_us) < ours.timestamp_us


def _ranks_of(ours: TensorRecord, theirs: TensorRecord, target: Job) -> tuple[int, ...]:
    """Return the ranks of the target whose part of a tensor is off; empty where it has one alone."""
    if target.parallel.ranks == 1 or theirs.source is None:
        return ()
    try:
        return ranks_off(target, ours.key, theirs.source.array())
    except (WorkbenchError, OSError):
        return ()


# --- where ranks meet --------------------------------------------------------------------------


def _collectives(result: Result, target: Dump) -> Iterator[CollectiveTensor]:
    """Tensors of operators in which ranks meet, in the order of rows."""
    types = result.columns.column("op_type")
    met = [number for number, one in enumerate(types) if one in COLLECTIVES]
    if not met:
        return
    defects = {one.op_name for one in result.findings if one.defect}
    records: dict[tuple[str, str, int], TensorRecord] = {
        (one.path, one.key.io, one.key.slot): one for one in target.records
    }
    for row in result.columns.take(met):
        if not row.op_name:
            continue
        op = _operator(target.graphs, row)
        group, ranks = _group(op) if op is not None else ("", ())
        record = records.get((row.target_path, row.io, row.slot)) if row.io == "output" else None
        yield CollectiveTensor(
            row.op_name, row.op_type, row.io, row.slot, group, ranks, *_norms(row),
            _digest(record) if record is not None else "", row.op_name in defects,
        )  # fmt: skip


def _operator(graphs: Mapping[tuple[int, int], Graph], row: Row) -> Op | None:
    graph = graphs.get(row.graph_key)
    number = graph.by_name.get(row.op_name) if graph is not None else None
    return None if graph is None or number is None else graph.ops[number]


_RANKS = ("group_rank_ids", "rank_list", "group_ranks")
"""Attributes under which an operator says which ranks meet."""


def _group(op: Op) -> tuple[str, tuple[int, ...]]:
    """Name of the group in which ranks meet, and the ranks where the operator says them."""
    known = (op.attrs.get(name) for name in _RANKS)
    ranks: Any = next((one for one in known if isinstance(one, tuple | list)), ())
    whole = all(isinstance(one, int) for one in ranks)
    return str(op.attrs.get("group", "")), tuple(ranks) if whole else ()


def _norms(row: Row) -> tuple[float | None, float | None]:
    """Norm of the difference of a pair, and of what rounding explains, in the unit of the data."""
    off, size = row.metrics.get("RootMeanSquareError"), None
    if row.target_spec is not None:
        size = row.target_spec.size
    if row.status == "equal":
        return 0.0, 0.0
    if off is None or size is None or row.error is None:
        return None, None
    norm = off * math.sqrt(size)
    relative = row.metrics.get("RelativeEuclideanDistance", row.error)
    scale = norm / relative if relative and math.isfinite(relative) else 0.0
    return norm, scale * (row.noise_floor or 0.0)


def _digest(record: TensorRecord) -> str:
    """Digest of a tensor's values; empty if they cannot be read."""
    if record.source is None:
        return ""
    try:
        array = record.source.array()
    except (WorkbenchError, OSError):
        return ""
    said = f"{array.dtype}{array.shape}".encode()
    return sha256(said + array.tobytes()).hexdigest()[:32]
