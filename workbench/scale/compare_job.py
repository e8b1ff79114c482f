"""Compare a job: plan it, compare its units wherever there are cores, put them together, explain what parts first."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.comparison.map_file import NO_OVERRIDES, Overrides, read_overrides
from workbench.comparison.measure.profiles import NOISE_FLOOR
from workbench.comparison.measure.profiles import profile as find_profile
from workbench.core.errors import WorkbenchError
from workbench.core.files import file_content, write_text
from workbench.scale.engine import connected, distributed, done_before, run_units
from workbench.scale.job import FILE, Diagnosis, JobAxes, JobResult
from workbench.scale.job_layouts import AskedLayouts, find_layouts
from workbench.scale.merge import merge_joined, merge_units
from workbench.scale.parts import list_tree
from workbench.scale.reading import read_unit
from workbench.scale.run import compare_unit, read_unit_file, unit_path
from workbench.scale.units import ALL, GivenFiles, Settings, plan_job, plan_trees
from workbench.session.compare import required_limits, tell_nobody
from workbench.session.comparison import Comparison

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from workbench.comparison.differing import Depth
    from workbench.run.parallel import Parallel
    from workbench.scale.job import Compare
    from workbench.scale.layouts import LayoutTable
    from workbench.scale.merge import CollectiveTensors, Group
    from workbench.scale.summary import UnitSummary
    from workbench.scale.units import JobPlan, Numbers, Unit

    Progress = Callable[[int, int, str], None]
    Cancelled = Callable[[], bool]
    Begun = Callable[[JobPlan, Any], None]

PLAN = "plan.json"
_MOST_OF_PLAN = 64 << 20
"""Bytes; layouts that were told have a row for each tensor."""

_DIAGNOSED = 16
"""Groups of which the first unit is compared in full."""


def compare_job(
    target: str | Path,
    golden: str | Path,
    *,
    out: str | Path = "job",
    client: Any = None,
    scheduler: str = "",
    workers: int = 0,
    memory: str = "",
    ranks: Numbers = ALL,
    iterations: Numbers = ALL,
    map_file: str | Path | Overrides | None = None,
    target_graph: str = "",
    golden_graph: str = "",
    target_model: str = "",
    golden_model: str = "",
    profile: str = NOISE_FLOOR,
    require: float = 100.0,
    allow_missing: Iterable[str] = (),
    depth: Depth = "replayed",
    node: int = 0,
    parallel: str | Parallel = "",
    golden_parallel: str | Parallel = "",
    layouts: str | Path | LayoutTable = "",
    golden_layouts: str | Path | LayoutTable = "",
    progress: Progress | None = None,
    begun: Begun | None = None,
) -> JobResult:
    """Compare every rank in every iteration of two trees, on all cores or on a dask cluster.

    Where the ranks of both sides share a network in different ways, a unit is an iteration: its ranks are joined to
    whole tensors first.

    What is in ``out`` already and was made of the same files with the same settings is not compared again, so that a
    job that was interrupted goes on where it stopped. An interruption (Ctrl+C) is passed on after the result of what
    was done by then is written.

    Parameters
    ----------
    target, golden : path
        The trees of all ranks; with a cluster of several machines on storage that all of them see.
    out : path
        Folder of the result: ``job.json``, ``job.parquet``, ``report.html`` and a parquet file for every unit.
    client : distributed.Client, optional
        Whose cluster does the work. Without it and without ``scheduler`` one is started on this machine.
    scheduler : str
        Address of a dask scheduler, as ``tcp://host:8786``.
    workers, memory : int, str
        Processes on this machine and what each may hold, as ``2GB``; 0 and empty: one a core, an equal share.
    ranks, iterations : str or int
        ``all``, or numbers and ranges: ``0-7,12``.
    depth : str
        How far every unit goes: ``replayed``, or ``measured``, which is faster and misses faults that stay within
        the rounding of inputs. What parts first is explained in any case.
    node : int
        Ranks a node, to name nodes; 0: unknown.
    parallel, golden_parallel : str or Parallel
        Axes of the target's and of the golden's ranks: ``tp=8,pp=4,dp=16``. The golden's are the target's if left out
        and it has as many ranks, none if it has one.
    layouts, golden_layouts : path or LayoutTable
        How tensors lie on the target's and on the golden's ranks (`workbench.scale.layouts.read_layouts`); the
        golden's are the target's if left out. Without them layouts are told from the dumps if one side is whole.
    progress : callable (done, total, name), optional
        Bytes that are done, of all, and the unit.
    begun : callable (plan, client), optional
        Called before the first unit: what the job will read, and whose cluster does it.

    Other parameters are those of `workbench.session.compare.compare`.

    Raises
    ------
    FormatError
        A path is no dump, or a given file cannot be read.
    AlignError
        Nothing of what is chosen is on both sides, or a choice is none.
    WorkbenchError
        dask or pyarrow is not installed, ``out`` is another job's, or the scheduler is lost.
    """
    if isinstance(map_file, str | Path):
        map_file = read_overrides(Path(map_file))
    find_profile(profile)
    required_limits(require)
    distributed()
    trees = list_tree(target), list_tree(golden)
    asked = AskedLayouts(parallel, golden_parallel, layouts, golden_layouts)
    settings = Settings(
        map_file or NO_OVERRIDES, GivenFiles(target_graph, golden_graph, target_model, golden_model),
        profile, require, tuple(allow_missing), depth, find_layouts(trees, asked),
    )  # fmt: skip
    _check_graphs(settings)
    plan = plan_trees(trees, ranks=ranks, iterations=iterations, settings=settings)
    folder = str(Path(out).resolve())
    _claim(Path(folder), plan)
    with connected(client, scheduler, workers, memory) as cluster:
        if begun is not None:
            begun(plan, cluster)
        return run_job(plan, folder, cluster, node=node, progress=progress)


def run_job(
    plan: JobPlan, folder: str, client: Any, *, node: int = 0, progress: Progress | None = None
) -> JobResult:
    """Compare the units of a plan on a client's cluster, and write the result; an interruption writes what there is."""
    told, total, done = progress or tell_nobody, plan.nbytes, 0
    told(0, total, "")

    def count(one: UnitSummary, nbytes: int) -> None:
        nonlocal done
        done += nbytes
        told(done, total, f"rank {one.rank}, iteration {one.iteration}")

    try:
        units = run_units(plan, folder, client, count)
    except KeyboardInterrupt:
        put_together(plan, done_before(plan.units, folder), folder, node, explain=False)
        raise
    return put_together(plan, units, folder, node)


def put_together(
    plan: JobPlan, units: Sequence[UnitSummary], folder: str, node: int = 0, *, explain: bool = True
) -> JobResult:
    """Return the result of units, and write it beside their files."""
    axes = axes_of(plan)
    merged = (
        merge_joined(units) if axes else merge_units(units, _reader(plan, folder), plan.known_ranks)
    )
    by_place = {(one.rank, one.iteration): one for one in plan.units}
    diagnoses = _diagnoses(plan, merged.groups, by_place) if explain else ()
    found = JobResult(
        plan.target, plan.golden, merged.units, merged.groups, merged.apart, plan.missing,
        tuple(diagnoses), folder, node, axes, _comparer(plan, by_place), plan.settings.given,
    )  # fmt: skip
    found.to_json(Path(folder) / FILE)
    found.to_parquet(Path(folder) / "job.parquet")
    found.to_html(Path(folder) / "report.html")
    return found


def _check_graphs(settings: Settings) -> None:
    """Refuse a graph for a side that is joined: those of ranks have the shapes of shards."""
    given = zip(("target", "golden"), settings.given.graphs, strict=True)
    for side, graph in given:
        if graph and settings.layouts is not None and len(settings.layouts.ranks_of(side)) > 1:
            raise WorkbenchError("job/joined-option", option=f"--{side}-graph")


def axes_of(plan: JobPlan) -> JobAxes | None:
    """Return the axes of both sides as text, if ranks are joined."""
    layouts = plan.settings.layouts
    if layouts is None:
        return None
    return JobAxes(str(layouts.target.parallel), str(layouts.golden.parallel), layouts.trust)


def _claim(folder: Path, plan: JobPlan) -> None:
    """Take a folder for a job, or go on with it there; raises WorkbenchError if it is another's."""
    settings = plan.settings
    said: dict[str, Any] = {"target": plan.target, "golden": plan.golden}
    said |= {"settings": settings.digest, "given": settings.to_json()}
    path = folder / PLAN
    if path.is_file():
        known = _planned(path)
        if any(known.get(name) != said[name] for name in ("target", "golden")):
            raise WorkbenchError("job/folder", got=str(folder))
    elif folder.exists() and any(folder.iterdir()):
        raise WorkbenchError("job/folder", got=str(folder))
    write_text(path, json.dumps(said, indent=1) + "\n")
    for left in folder.glob("**/.*.partial"):  # of a client or worker that was killed
        left.unlink(missing_ok=True)


def _planned(path: Path) -> dict[str, Any]:
    """What a folder says of the job that it is of; nothing where it says none."""
    if not path.is_file():
        return {}
    try:
        found = json.loads(file_content(path, _MOST_OF_PLAN, "plan"))
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _reader(plan: JobPlan, folder: str) -> Callable[[int], CollectiveTensors]:
    """What reads the collectives of an iteration from the files of its units."""
    units: dict[int, list[Unit]] = defaultdict(list)
    for one in plan.units:
        units[one.iteration].append(one)

    def collectives_of(iteration: int) -> CollectiveTensors:
        held = {one.rank: read_unit_file(unit_path(folder, one)) for one in units[iteration]}
        return {rank: file.collectives if file is not None else () for rank, file in held.items()}

    return collectives_of


def _comparer(plan: JobPlan, by_place: Mapping[tuple[int, int], Unit]) -> Compare:
    def compare(
        rank: int,
        iteration: int,
        progress: Progress | None = None,
        cancelled: Cancelled | None = None,
    ) -> Comparison:
        unit, settings = by_place[rank, iteration], plan.settings
        sides = read_unit(unit, settings)
        found = compare_unit(unit, settings, *sides, "explained", progress, cancelled)
        return Comparison(found.result, lambda: found.flow)

    return compare


def _diagnoses(
    plan: JobPlan, groups: Sequence[Group], by_place: Mapping[tuple[int, int], Unit]
) -> Iterator[Diagnosis]:
    """Compare in full the first unit of every group that parts by itself."""
    compare, joined = _comparer(plan, by_place), plan.settings.layouts is not None
    for group in [one for one in groups if one.role == "origin"][:_DIAGNOSED]:
        found = compare(0 if joined else group.ranks[0], group.iteration, None, None)
        one = next((finding for finding in found.findings if finding.defect), None)
        if one is not None:
            causes = tuple((cause.kind, cause.probability) for cause in one.causes)
            yield Diagnosis(
                group.ranks[0], group.iteration, found.sentence, one.kind,
                tuple(map(str, one.evidence)), causes, str(one.advice),
            )  # fmt: skip


def read_job(path: str | Path) -> JobResult:
    """Read the result of a job from its folder; units can be compared again while the dumps are where they were.

    They are compared with the settings of the job; where these are no longer known, or a graph file that was given is
    another now, they are not: the same unit may come to something else. Raises FormatError if there is no result.
    """
    found = JobResult.from_json(path)
    settings = _settings_of(_planned(Path(found.folder) / PLAN))
    if settings is None:
        return found

    def compare(
        rank: int,
        iteration: int,
        progress: Progress | None = None,
        cancelled: Cancelled | None = None,
    ) -> Comparison:
        ranks = ALL if settings.layouts is not None else str(rank)
        plan = plan_job(
            found.target, found.golden, ranks=ranks, iterations=str(iteration), settings=settings
        )
        units = {(one.rank, one.iteration): one for one in plan.units}
        return _comparer(plan, units)(rank, iteration, progress, cancelled)

    return replace(found, compare=compare, given=settings.given)


def _settings_of(plan: Mapping[str, Any]) -> Settings | None:
    """Return the settings of a job by what its folder says; `None` where they are not what they were."""
    try:
        found = Settings.from_json(plan["given"]) if "given" in plan else Settings()
        return found if found.digest == plan["settings"] else None
    except (WorkbenchError, KeyError, TypeError, ValueError, AttributeError):
        return None
