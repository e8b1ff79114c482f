"""What every stage of one comparison takes: processor time, or memory."""

from __future__ import annotations

import gc
import time
import tracemalloc
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import workbench as wb
from workbench.comparison.pair import executions
from workbench.comparison.stages import timed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from workbench.session.comparison import Comparison

STAGES = (
    "index", "bind", "align", "pair", "measure", "replay", "follow", "explain", "judge", "find",
    "result", "report", "csv", "json",
)  # fmt: skip


@contextmanager
def aligned() -> Iterator[list[float]]:
    """Collect processor times of aligning, which is done inside of pairing."""
    took, align = [0.0], executions.align

    def watched(*arguments, **options):
        start = time.process_time()
        try:
            return align(*arguments, **options)
        finally:
            took[0] += time.process_time() - start

    executions.align = watched
    try:
        yield took
    finally:
        executions.align = align


def times(target: Path, golden: Path, out: Path) -> dict[str, float]:
    """Processor time (s) of every stage of comparing two trees, and of writing what comes of it into ``out``."""
    with timed() as stages, aligned() as took:
        comparison = wb.compare(target, golden)
    found = {one.name: one.busy for one in stages}
    found["index"] = found.pop("read")
    found["align"], found["pair"] = took[0], found["pair"] - took[0]
    for name, write in writers(comparison, out).items():
        start = time.process_time()
        write()
        found[name] = time.process_time() - start
    return {name: found.get(name, 0.0) for name in STAGES}


def stopped(target: Path, golden: Path, out: Path) -> dict[str, float]:
    """Processor time (s) from a stop, one second after measuring began, until the partial result is there.

    By stage, and of all that is behind measuring. What a stop leaves to following errors counts by the processor as
    well, so that the load of the machine does not shorten it.
    """
    times: list[float] = []

    def begins(_done: int, total: int, _name: str) -> None:
        if total and not times:
            times.append(time.process_time() + 1.0)

    def asked() -> bool:
        return bool(times) and time.process_time() > times[0]

    with timed() as stages, by_processor():
        comparison = wb.compare(target, golden, progress=begins, cancelled=asked)
    took = time.process_time() - times[0]
    if not comparison.result.partial:
        raise SystemExit(f"{target}: measured within a second, too few tensors to stop")
    names = STAGES[STAGES.index("replay") : STAGES.index("report")]
    found = {one.name: one.busy for one in stages if one.name in names}
    judged = sum(row.status != "uncomparable" for row in comparison.rows)
    return {**found, "stop": took, "rows judged, thousands": judged / 1000}


@contextmanager
def by_processor() -> Iterator[None]:
    """Inside, time that is left after a stop is time of the processor."""
    clock, time.monotonic = time.monotonic, time.thread_time
    try:
        yield
    finally:
        time.monotonic = clock


def writers(comparison: Comparison, out: Path) -> dict[str, object]:
    """What writes every kind of file."""
    return {
        "report": lambda: comparison.to_html(out / "report.html"),
        "csv": lambda: comparison.to_csv(out / "rows.csv"),
        "json": lambda: comparison.write_json(out / "result.json"),
    }


def memory(target: Path, golden: Path, out: Path) -> dict[str, float]:
    """Bytes that a comparison keeps, that its making takes at most, and that the largest of writing each file takes."""
    wb.compare(target, golden.parent / "target")  # what is loaded once
    gc.collect()
    tracemalloc.start()
    comparison = wb.compare(target, golden)
    _, peak = tracemalloc.get_traced_memory()
    gc.collect()
    kept, _ = tracemalloc.get_traced_memory()
    found = {"kept": kept, "peak": peak}
    for name, write in writers(comparison, out).items():
        tracemalloc.reset_peak()
        before, _ = tracemalloc.get_traced_memory()
        write()
        found[name] = tracemalloc.get_traced_memory()[1] - before
    tracemalloc.stop()
    return found
