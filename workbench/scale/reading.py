"""The readable tensors of a unit: what is compared with what.

The one place where both sides of a unit are read. Where they have different layouts of parallel training, this is
where the shards of several ranks become the tensors of one (`workbench.scale.layouts`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from workbench._values import NamedTuple
from workbench.comparison.pair.exclusions import IGNORED
from workbench.comparison.pair.kernels import COMMUNICATION, OWN_SHAPE
from workbench.core.errors import WorkbenchError
from workbench.core.words import Message
from workbench.dump.dump import CONSTANT_ITERATION, Skipped
from workbench.ops import COLLECTIVES, KNOWN
from workbench.scale.layouts import job_of, joined_dump, not_joined
from workbench.scale.parts import read_part

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from workbench.comparison.map_file import Overrides
    from workbench.core.tensors import TensorKey, TensorRecord
    from workbench.dump.dump import Dump
    from workbench.scale.layouts import Job
    from workbench.scale.units import Settings, Unit

    Place = tuple[str, str, int]
    """Path, io and slot of a tensor."""

_VIRTUAL = "_Virtual"
"""Part of the names of operators that MindSpore inserts where ranks share a network, as ``_VirtualDiv``.

Other layouts scale by other numbers, and move other tensors, under the same names: nothing is compared there.
"""


class UnitSides(NamedTuple):
    """Both sides of a unit, names and headers alone; with the jobs that they were joined from, if they were."""

    target: Dump
    golden: Dump
    jobs: tuple[Job, Job] | None = None


def index_records(dump: Dump) -> Mapping[Place, TensorRecord]:
    """Return the tensors of a side by what a row says of them: path, io and slot."""
    return {(one.path, one.key.io, one.key.slot): one for one in dump.records}


def read_unit(unit: Unit, settings: Settings) -> tuple[Dump, Dump]:
    """Return the target's and the golden's tensors of a unit, names and headers alone.

    Raises FormatError if a side cannot be read, or is no longer as it was when the job was planned.
    """
    return read_sides(unit, settings)[:2]


def read_sides(unit: Unit, settings: Settings) -> UnitSides:
    """Return both sides of a unit, joined where ranks share tensors in different ways; raises as `read_unit`."""
    parts = unit.target, unit.golden
    graphs, models = settings.given.graphs, settings.given.models
    target, golden = (
        read_part(part, graph=graph or None, model=model or None)
        for part, graph, model in zip(parts, graphs, models, strict=True)
    )
    if settings.layouts is None:
        return UnitSides(target, golden)
    earlier = [
        read_part(part, model=model or None)
        for part, model in zip(unit.before or (), models, strict=False)
    ]
    tables = settings.layouts.target, settings.layouts.golden
    held = [[target, *earlier[:1]], [golden, *earlier[1:]]]
    ours, theirs = (job_of(dumps, table) for dumps, table in zip(held, tables, strict=True))
    return _joined(unit.iteration, (target, golden), (ours, theirs), settings)


def _joined(
    iteration: int, dumps: tuple[Dump, Dump], jobs: tuple[Job, Job], settings: Settings
) -> UnitSides:
    """Return both sides with whole tensors; that of one rank with its graph, without shapes that others cut."""
    iterations = iteration, CONSTANT_ITERATION
    overrides = settings.overrides.allow_missing([*settings.allow_missing])
    shapes = dict(_own_shapes(*jobs, iterations))
    sides = []
    for dump, job, other in zip(dumps, jobs, reversed(jobs), strict=True):
        if job.parallel.ranks > 1:
            left = shapes | dict(_left_out(job, other, overrides))
            sides.append(joined_dump(job, iterations, left))
        else:
            sides.append(_without(dump, shapes))
    return UnitSides(sides[0], sides[1], jobs)


def _own_shapes(
    one: Job, other: Job, iterations: Collection[int]
) -> Iterator[tuple[TensorKey, Skipped]]:
    """Yield the shapes that operators are given for their results, where both sides give that of their own part.

    They differ between layouts. Nothing is lost: a shape is left out only where it is that of the result beside it.
    """
    for key in one.tensors:
        if key.iteration in iterations and key in other.tensors and _is_shape(key):
            given = [_shapes_given(job, key) for job in (one, other)]
            if None not in given and given[0] != given[1]:
                yield key, Skipped(key.op_name, OWN_SHAPE, Message("job/own-shape"))


def _is_shape(key: TensorKey) -> bool:
    known = KNOWN.get(key.op_type)
    names = known.arguments if known is not None and key.io == "input" else ()
    return key.slot < len(names) and names[key.slot] == "shape"


def _shapes_given(job: Job, key: TensorKey) -> set[tuple[int, ...]] | None:
    """Return the shapes that ranks give an operator; `None` if one is not that of the operator's result there."""
    result = job.tensors.get(key._replace(io="output", slot=0))
    found: set[tuple[int, ...]] = set()
    for rank, record in job.tensors[key].records.items():
        made = result.records.get(rank) if result is not None else None
        if record.source is None or made is None:
            return None
        try:
            given = tuple(np.ravel(record.source.array()).tolist())
            shape = made.spec.shape or ()
        except WorkbenchError:
            return None
        if len(given) != len(shape) or any(
            a not in (b, -1) for a, b in zip(given, shape, strict=True)
        ):
            return None
        found.add(given)
    return found


def _without(dump: Dump, left: Mapping[TensorKey, Skipped]) -> Dump:
    """Return the dump of one rank with some tensors left out."""
    if not left:
        return dump
    kept = dump.where(lambda record: record.key._replace(rank=0) not in left)
    out = [left[key] for one in dump.records if (key := one.key._replace(rank=0)) in left]
    return replace(kept, skipped=(*kept.skipped, *out))


def is_between_ranks(key: TensorKey) -> bool:
    """Whether an operator is there because ranks share the network: it moves tensors between them, or scales for it."""
    return key.op_type in COLLECTIVES or _VIRTUAL in key.op_name


def _counted_apart(job: Job, other: Job) -> set[str]:
    """Names without number of operators between ranks that the sides do not have alike: ``AllReduce-op``.

    A number counts the operators of its side. With others before it, it is that of another tensor on the other side.
    """
    ours, theirs = (
        {key.op_name for key in one.tensors if is_between_ranks(key)} for one in (job, other)
    )
    return {_without_number(name) for name in ours ^ theirs}


def _without_number(name: str) -> str:
    return name.rstrip("0123456789")


def _left_out(job: Job, other: Job, overrides: Overrides) -> Iterator[tuple[TensorKey, Skipped]]:
    """Yield what one layout alone has, and what the user allows to be missing where no layout makes it whole."""
    apart = _counted_apart(job, other)
    for key, one in job.tensors.items():
        alone = key not in other.tensors or _without_number(key.op_name) in apart
        if is_between_ranks(key) and (alone or one.row is None or _VIRTUAL in key.op_name):
            yield key, Skipped(key.op_name, COMMUNICATION, Message("job/communication"))
    for key in not_joined(job):
        if overrides.may_miss(key.op_name):
            yield key, Skipped(key.op_name, IGNORED, Message("compare/ignored"))
