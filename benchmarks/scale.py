"""What jobs of many ranks cost: a unit, a second worker, the scheduler's memory, and a tree larger than any disk here.

``python benchmarks/scale.py --help`` lists the measures. Trees of ``made`` exist in no file: a file system of fsspec
makes their bytes when they are read.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import distributed
import psutil

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "tests")]

from kit.build.made_storage import Register, url  # noqa: E402
from workbench.scale.compare_job import compare_job  # noqa: E402
from workbench.scale.run import run_unit  # noqa: E402
from workbench.scale.units import plan_job  # noqa: E402


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


def measure_scheduler(options: argparse.Namespace) -> dict[str, Any]:
    """Memory of a scheduler of its own, before and after a job."""
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
            before = psutil.Process(scheduler.pid).memory_info().rss
            start = time.perf_counter()
            job = compare_job(options.target, options.golden, out=folder / "r", client=client)
            seconds = time.perf_counter() - start
            after = psutil.Process(scheduler.pid).memory_info().rss
            memory = client.run(most_memory)
    finally:
        for process in (workers, scheduler):
            process.terminate()
            process.wait()
    found = {
        "units": len(job.units), "seconds": seconds, "scheduler before (MB)": before / 1e6,
        "scheduler after (MB)": after / 1e6, "client, most (MB)": most_memory() / 1e6,
        "worker, most (MB)": max(memory.values()) / 1e6, "verdict": job.verdict, "sentence": str(job.sentence),
        "bytes of report.html": (folder / "r/report.html").stat().st_size,
    }  # fmt: skip
    shutil.rmtree(folder)
    return found


MEASURES = {
    "made": measure_made,
    "units": measure_units,
    "workers": measure_workers,
    "scheduler": measure_scheduler,
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
    parser.add_argument("--count", type=int, default=20, help="units that are timed")
    parser.add_argument("--ranks", default="all")
    parser.add_argument("--folder", default=None, help="where files may be written")
    options = parser.parse_args()
    for name, value in MEASURES[options.measure](options).items():
        print(f"{name}: {value}")


if __name__ == "__main__":
    main()
