"""The readable tensors of a unit: what is compared with what.

The one place where both sides of a unit are read. Where they have different layouts of parallel training, this is
where the shards of several ranks become the tensors of one (`workbench.scale.layouts`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench._values import NamedTuple
from workbench.comparison.pair.exclusions import IGNORED
from workbench.comparison.pair.kernels import COMMUNICATION
from workbench.core.words import Message
from workbench.dump.dump import CONSTANT_ITERATION, Skipped
from workbench.ops import COLLECTIVES
from workbench.scale.layouts import job_of, joined_dump, not_joined
from workbench.scale.parts import read_part

if TYPE_CHECKING:
    from collections.abc import Iterator

    from workbench.comparison.map_file import Overrides
    from workbench.core.tensors import TensorKey
    from workbench.dump.dump import Dump
    from workbench.scale.layouts import Job
    from workbench.scale.units import Settings, Unit

_VIRTUAL = "_Virtual"
"""Part of the names of operators that MindSpore inserts where ranks share a network, as ``_VirtualDiv``."""


class UnitSides(NamedTuple):
    """Both sides of a unit, names and headers alone; with the jobs that they were joined from, if they were."""

    target: Dump
    golden: Dump
    jobs: tuple[Job, Job] | None = None


def read_unit(unit: Unit, settings: Settings) -> tuple[Dump, Dump]:
    """Return the target's and the golden's tensors of a unit, names and headers alone.

    Raises FormatError if a side cannot be read, or is no longer as it was when the job was planned.
    """
    return read_sides(unit, settings)[:2]


def read_sides(unit: Unit, settings: Settings) -> UnitSides:
    """Return both sides of a unit, joined where ranks share tensors in different ways; raises as `read_unit`."""
    parts = unit.target, unit.golden
    graphs = settings.target_graph, settings.golden_graph
    models = settings.target_model, settings.golden_model
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
    """Return both sides with whole tensors; that of one rank as it is, with its graph."""
    iterations = iteration, CONSTANT_ITERATION
    overrides = settings.overrides.allow_missing([*settings.allow_missing])
    sides = []
    for dump, job, other in zip(dumps, jobs, reversed(jobs), strict=True):
        if job.parallel.ranks > 1:
            left = dict(_left_out(job, other, overrides))
            sides.append(joined_dump(job, iterations, left))
        else:
            sides.append(dump)
    return UnitSides(sides[0], sides[1], jobs)


def _left_out(job: Job, other: Job, overrides: Overrides) -> Iterator[tuple[TensorKey, Skipped]]:
    """Yield what one layout alone has, and what the user allows to be missing where no layout makes it whole."""
    for key, one in job.tensors.items():
        there = other.tensors.get(key)
        between = key.op_type in COLLECTIVES or _VIRTUAL in key.op_name
        if between and (there is None or one.row is None):
            yield key, Skipped(key.op_name, COMMUNICATION, Message("job/communication"))
    for key in not_joined(job):
        if overrides.may_miss(key.op_name):
            yield key, Skipped(key.op_name, IGNORED, Message("compare/ignored"))
