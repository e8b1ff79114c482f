"""What jobs of many ranks cost: a unit, a second worker, the scheduler's memory, and a tree larger than any disk here.

``python benchmarks/scale.py --help`` lists the measures. Trees of ``made`` exist in no file: a file system of fsspec
makes their bytes when they are read.
"""

from __future__ import annotations

import argparse
import json
import os
import pickle
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import distributed
import psutil

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "tests")]

from kit.build.made_storage import Register, url  # noqa: E402
from workbench.scale import engine  # noqa: E402
from workbench.scale.compare_job import compare_job  # noqa: E402
from workbench.scale.job import JobResult  # noqa: E402
from workbench.scale.merge import merge_units  # noqa: E402
from workbench.scale.run import run_unit  # noqa: E402
from workbench.scale.summary import CollectiveTensor, FirstDivergence, UnitSummary  # noqa: E402
from workbench.scale.units import plan_job  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Iterator

    from workbench.scale.units import Settings, Unit


def most_memory() -> int:
    """Most bytes that this process has held."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def measure_made(options: argparse.Namespace) -> dict[str, Any]:
    """Compare trees of so many gigabytes together, with a limit of memory for each worker."""
    mebibytes, tensors, iterations = 64, 8, 4
    unit = 2 * tensors * mebibytes << 20
    ranks = max(2, round(options.gigabytes * 1e9 / unit / iterations))
    trees = [url(side, ranks, iterations, tensors, mebibytes) for side in ("target", "golden")]
    out = Path(tempfile.mkdtemp(dir=options.folder))
    with (
        distributed.LocalCluster(
            n_workers=options.workers,
            threads_per_worker=1,
            memory_limit=options.memory,
            dashboard_address=":0",
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        client.register_plugin(Register())
        start = time.perf_counter()
        job = compare_job(*trees, out=out / "r", client=client)
        seconds = time.perf_counter() - start
        memory = client.run(most_memory)
        busy = client.run(lambda: sum(os.times()[:2]))
    shutil.rmtree(out)
    nbytes = ranks * iterations * unit
    return {
        "bytes": nbytes, "units": len(job.units), "seconds": seconds, "GB/s": nbytes / seconds / 1e9,
        "processor seconds": sum(busy.values()), "GB a processor second": nbytes / sum(busy.values()) / 1e9,
        "most memory of a worker (MB)": max(memory.values()) / 1e6, "limit": options.memory,
        "verdict": job.verdict, "first": str(job.sentence), "failed": job.counts.get("failed", 0),
    }  # fmt: skip


# --- trees of files ----------------------------------------------------------------------------


def measure_units(options: argparse.Namespace) -> dict[str, Any]:
    """Processor time of a unit, by stages, and bytes of its file; its files are in the page cache."""
    plan = plan_job(options.target, options.golden)
    out = tempfile.mkdtemp(dir=options.folder)
    run_unit(plan.units[0], plan.settings, f"{out}/warm")
    times = []
    for unit in plan.units[1 : 1 + options.count]:
        start = time.process_time()
        run_unit(unit, plan.settings, out)
        times.append(time.process_time() - start)
    sizes = [path.stat().st_size for path in Path(out).glob("units/*/*.parquet")]
    shutil.rmtree(out)
    one = plan.units[1]
    return {
        "files": one.target.files + one.golden.files, "bytes": one.nbytes,
        "processor seconds": statistics.median(times), "bytes of its file": statistics.median(sizes),
    }  # fmt: skip


def measure_workers(options: argparse.Namespace) -> dict[str, Any]:
    """One worker against two, in turns: by the clock, and by how much of the machine others left."""
    ratios, seconds = [], []
    for _ in range(options.rounds):
        took = [_clocked(options, workers) for workers in (1, 2)]
        seconds.append([one[0] for one in took])
        ratios.append(took[0][0] / took[1][0])
    return {"seconds (1, 2 workers)": seconds, "ratio": ratios, "median": statistics.median(ratios),
            "units a processor second (1, 2 workers)": [one[1] for one in took]}  # fmt: skip


def _clocked(options: argparse.Namespace, workers: int) -> tuple[float, float]:
    out = Path(tempfile.mkdtemp(dir=options.folder))
    with (
        distributed.LocalCluster(
            n_workers=workers, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        start = time.perf_counter()
        job = compare_job(
            options.target, options.golden, out=out / "r", client=client, ranks=options.ranks
        )
        seconds = time.perf_counter() - start
        busy = sum(client.run(lambda: sum(os.times()[:2])).values())
    shutil.rmtree(out)
    return seconds, len(job.units) / busy


@contextmanager
def own_cluster(options: argparse.Namespace) -> Iterator[tuple[Any, psutil.Process, Path]]:
    """A scheduler and workers as processes of their own: a client of them, the scheduler's process, a folder."""
    folder = Path(tempfile.mkdtemp(dir=options.folder))
    file = folder / "scheduler.json"
    run = [sys.executable, "-m"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    scheduler = subprocess.Popen(
        [*run, "distributed.cli.dask_scheduler", "--port", "0", "--dashboard-address", ":0", "--scheduler-file", file],
        env=environment, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    while not file.exists() or not file.read_text():
        time.sleep(0.1)
    address = json.loads(file.read_text())["address"]
    workers = subprocess.Popen(
        [*run, "distributed.cli.dask_worker", address, "--nworkers", str(options.workers), "--nthreads", "1",
         "--dashboard-address", ":0", "--local-directory", folder],
        env=environment, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        with distributed.Client(address) as client:
            client.wait_for_workers(options.workers)
            yield client, psutil.Process(scheduler.pid), folder
    finally:
        for process in (workers, scheduler):
            process.terminate()
            process.wait()
        shutil.rmtree(folder)


def measure_scheduler(options: argparse.Namespace) -> dict[str, Any]:
    """Memory of a scheduler of its own, before and after a job."""
    with own_cluster(options) as (client, scheduler, folder):
        before = scheduler.memory_info().rss
        start = time.perf_counter()
        job = compare_job(options.target, options.golden, out=folder / "r", client=client)
        seconds = time.perf_counter() - start
        return {
            "units": len(job.units), "seconds": seconds, "scheduler before (MB)": before / 1e6,
            "scheduler after (MB)": scheduler.memory_info().rss / 1e6, "client, most (MB)": most_memory() / 1e6,
            "worker, most (MB)": max(client.run(most_memory).values()) / 1e6, "verdict": job.verdict,
            "units by verdict": dict(job.counts), "sentence": str(job.sentence),
            "bytes of report.html": (folder / "r/report.html").stat().st_size,
        }  # fmt: skip


def summary_alone(unit: Unit, _settings: Settings, _folder: str) -> UnitSummary:
    """Stand for a comparison: what is measured is how units are handed out."""
    return UnitSummary(unit.rank, unit.iteration, "done", "pass")


def measure_growth(options: argparse.Namespace) -> dict[str, Any]:
    """Memory and processor time of a scheduler by how many units it has placed; nothing is compared."""
    one = plan_job(options.target, options.golden)
    engine.run_unit = summary_alone
    found, placed = {"bytes of a pickled unit": len(pickle.dumps(one.units[0]))}, 0
    with own_cluster(options) as (client, scheduler, folder):
        found["before (MB)"] = scheduler.memory_info().rss / 1e6
        for count in (options.count, 3 * options.count, 4 * options.count):
            before = sum(scheduler.cpu_times()[:2])
            some = (one.units[number % len(one.units)] for number in range(placed, placed + count))
            units = tuple(replace(unit, rank=placed + at, fingerprint=f"{placed + at:064}")
                          for at, unit in enumerate(some))  # fmt: skip
            engine.run_units(replace(one, units=units), str(folder), client, lambda *_: None)
            placed += count
            found[f"after {placed:,} units (MB)"] = scheduler.memory_info().rss / 1e6
            busy = sum(scheduler.cpu_times()[:2]) - before
            found[f"processor ms a unit, to {placed:,}"] = busy / count * 1e3
    return found


def measure_merge(options: argparse.Namespace) -> dict[str, Any]:
    """What the client does with summaries: 1,024 ranks x --count iterations, one rank wrong from the middle on."""
    first = FirstDivergence(
        "own-error",
        f"Gradients/{'x' * 80}/MatMul-op0",
        "MatMul",
        0,
        11,
        "output",
        0,
        0.5,
        1e-6,
        "net.py:31",
    )
    met = first._replace(
        op_name="Default/grad_reducer/AllReduce-op0", op_type="AllReduce", order=20
    )
    ranks, half = 1024, options.count // 2
    units = [
        UnitSummary(rank, at, "done", "pass" if at < half else "fail" if rank == 37 else "warn", 400, 100, 200,
                    error=1e-6 * (1 + rank % 7) if at < half else 0.1, worst="Default/fc1/MatMul-op0",
                    first=first if rank == 37 and at >= half else None,
                    received=met if rank != 37 and at == half else None)
        for rank in range(ranks) for at in range(options.count)
    ]  # fmt: skip
    brought = {rank: tuple(
        CollectiveTensor(f"sum{n}", "AllReduce", io, 0, "", (), 1.0 if rank == 37 or io == "output" else 0.0, 1e-6,
                         "d" if io == "output" else "", rank != 37 and io == "output")
        for n in range(options.collectives) for io in ("input", "output")) for rank in range(ranks)}  # fmt: skip
    folder = Path(tempfile.mkdtemp(dir=options.folder))
    times = [time.process_time()]
    merged = merge_units(units, lambda _: brought, frozenset(range(ranks)))
    times.append(time.process_time())
    job = JobResult("t", "g", merged.units, merged.groups, merged.apart, folder=str(folder))
    for write, name in (
        (job.to_json, "job.json"),
        (job.to_parquet, "job.parquet"),
        (job.to_html, "report.html"),
    ):
        write(folder / name)
        times.append(time.process_time())
    sizes = {f"bytes of {path.name}": path.stat().st_size for path in sorted(folder.iterdir())}
    shutil.rmtree(folder)
    steps = ("merging", "job.json", "job.parquet", "report.html")
    spent = {
        f"processor seconds, {name}": b - a
        for name, a, b in zip(steps, times, times[1:], strict=False)
    }
    return {"units": len(units), **spent, **sizes, "most memory (MB)": most_memory() / 1e6}


def measure_listing(options: argparse.Namespace) -> dict[str, Any]:
    """Processor time of listing both trees."""
    start = time.process_time()
    plan = plan_job(options.target, options.golden)
    seconds = time.process_time() - start
    return {"files": plan.files, "bytes": plan.nbytes, "units": len(plan.units), "processor seconds": seconds,
            "us a file": seconds / plan.files * 1e6, "most memory (MB)": most_memory() / 1e6}  # fmt: skip


MEASURES = {
    "made": measure_made,
    "units": measure_units,
    "workers": measure_workers,
    "scheduler": measure_scheduler,
    "growth": measure_growth,
    "merge": measure_merge,
    "listing": measure_listing,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("measure", choices=MEASURES)
    parser.add_argument("--target", default="", help="tree of a job")
    parser.add_argument("--golden", default="", help="tree of a job")
    parser.add_argument("--gigabytes", type=float, default=2, help="of both made trees together")
    parser.add_argument("--memory", default="2GB", help="limit of a worker")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument(
        "--count", type=int, default=20, help="units that are timed, or iterations to merge"
    )
    parser.add_argument(
        "--collectives", type=int, default=100, help="operators in which ranks meet, to merge"
    )
    parser.add_argument("--ranks", default="all")
    parser.add_argument("--folder", default=None, help="where files may be written")
    options = parser.parse_args()
    for name, value in MEASURES[options.measure](options).items():
        print(f"{name}: {value}")


if __name__ == "__main__":
    main()
