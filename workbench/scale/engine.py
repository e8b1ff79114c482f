"""Units on dask: a cluster of this machine, or any that there is.

dask places the tasks, counts failures and starts again what a lost worker had. No more units are with it at a time
than its workers need, so that its scheduler's memory does not grow with the job.
"""

from __future__ import annotations

import concurrent.futures
import os
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from workbench.core.errors import WorkbenchError
from workbench.core.words import Message
from workbench.scale.run import run_unit
from workbench.scale.summary import UnitSummary

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from workbench.scale.units import JobPlan, Unit

    Told = Callable[[UnitSummary, int], None]
    """Called with each unit that ended, and its bytes."""

FAILURES = 3
"""How often a unit is tried before its failure is its result."""

_AHEAD = 2
"""Units a core that are with the scheduler at a time: one that runs and one that is next."""


def distributed() -> Any:
    """Return dask's distributed; raises WorkbenchError naming the extra where it is not installed."""
    try:
        import distributed
    except ImportError as error:
        raise WorkbenchError("job/extra", missing=error.name or "distributed") from None
    return distributed


@contextmanager
def connected(
    client: Any = None, scheduler: str = "", workers: int = 0, memory: str = ""
) -> Iterator[Any]:
    """A client: the one that is given, of the scheduler at an address, or of a cluster on this machine.

    Parameters
    ----------
    workers : int
        Processes of a cluster on this machine; 0: one a core.
    memory : str
        What each of them may hold, as ``2GB``; empty: an equal share of the machine's.

    Raises
    ------
    WorkbenchError
        dask is not installed, or there is no scheduler at the address.
    """
    if client is not None:
        yield client
        return
    dask = distributed()
    if scheduler:
        with _client(dask, scheduler) as made:
            yield made
        return
    cluster = _local(dask, workers or os.cpu_count() or 1, memory)
    with cluster, dask.Client(cluster) as made:
        yield made


def _client(dask: Any, scheduler: str) -> Any:
    try:
        return dask.Client(scheduler, timeout=10)
    except (OSError, ValueError, TimeoutError) as error:
        raise WorkbenchError("job/no-scheduler", got=scheduler, why=str(error)) from error


def _local(dask: Any, workers: int, memory: str) -> Any:
    """A cluster of processes of this machine, of one thread each: a comparison is mostly one thread's work."""
    import dask as settings

    with settings.config.set({"distributed.scheduler.allowed-failures": FAILURES - 1}):
        return dask.LocalCluster(
            n_workers=workers, threads_per_worker=1, memory_limit=memory or "auto",
            dashboard_address=":0", silence_logs=40,
        )  # fmt: skip


def run_units(plan: JobPlan, folder: str, client: Any, told: Told) -> list[UnitSummary]:
    """Compare all units of a plan, in the order of the plan; a unit that fails three times is a row with the reason.

    ``told`` is called with each that ended. What it raises, and an interruption, end the work: what was begun is
    taken back, and the files of finished units stay. Raises WorkbenchError if the scheduler is lost.
    """
    found: dict[str, UnitSummary] = {}
    waiting = iter(plan.units)
    running: dict[Any, Unit] = {}
    done = distributed().as_completed(loop=client.loop)
    try:
        _submit(client, plan, folder, waiting, running, done)
        for future in done:
            unit = running.pop(future)
            found[unit.name] = _summary(unit, future)
            future.release()
            told(found[unit.name], unit.nbytes)
            _submit(client, plan, folder, waiting, running, done)
    except BaseException:
        _take_back(client, running)
        raise
    return [found[unit.name] for unit in plan.units]


def _submit(
    client: Any,
    plan: JobPlan,
    folder: str,
    waiting: Iterator[Unit],
    running: dict[Any, Unit],
    done: Any,
) -> None:
    """Hand over units until every core has one that runs and one that is next."""
    cores = _count_cores(client)
    while len(running) < cores * _AHEAD and (unit := next(waiting, None)) is not None:
        future = client.submit(
            run_unit, unit, plan.settings, folder, key=f"unit-{unit.fingerprint}",
            retries=FAILURES - 1, pure=False,
        )  # fmt: skip
        running[future] = unit
        done.add(future)


def _count_cores(client: Any) -> int:
    """Cores of a cluster, 1 while it has none; raises WorkbenchError if its scheduler is lost."""
    try:
        return sum(client.nthreads().values()) or 1
    except (OSError, TimeoutError, RuntimeError) as error:
        raise WorkbenchError("job/scheduler-lost") from error


def _take_back(client: Any, running: Mapping[Any, Unit]) -> None:
    """Cancel what was begun; a scheduler that is lost has forgotten it anyway."""
    with suppress(OSError, TimeoutError, RuntimeError, concurrent.futures.CancelledError):
        client.cancel([*running], force=True, reason="the job ended")


def _summary(unit: Unit, future: Any) -> UnitSummary:
    if future.status == "finished":
        found: UnitSummary = future.result()
        return found
    if future.status != "error":
        raise WorkbenchError("job/scheduler-lost")
    return UnitSummary(unit.rank, unit.iteration, "failed", reason=_reason(future.exception()))


def _reason(error: BaseException) -> str:
    if isinstance(error, distributed().KilledWorker):
        return str(Message("job/killed", times=FAILURES))
    if isinstance(error, WorkbenchError | OSError):
        return str(error)
    return str(Message("job/raised", kind=type(error).__name__, why=str(error)))


def done_before(units: Sequence[Unit], folder: str) -> list[UnitSummary]:
    """Return a summary of each unit: of those whose file is there what it says, of others that they wait."""
    from workbench.scale.run import read_unit_file, unit_path

    found = []
    for unit in units:
        known = read_unit_file(unit_path(folder, unit))
        same = known is not None and known.fingerprint == unit.fingerprint
        waiting = UnitSummary(unit.rank, unit.iteration)
        found.append(known.summary if known is not None and same else waiting)
    return found
