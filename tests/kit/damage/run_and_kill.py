"""Run a job in a child of this process, and kill the child at a moment.

The arguments are the job, a row of `JOBS`, and a folder for what it needs. Each line of the input is
``[folder to write, seconds, operation]``: the child is killed after so many seconds, before its n-th operation
on files, or never if both are null. The answer is a line of JSON: how long it ran, how many operations there
were, whether it was killed. Children are forked, so a moment may be any from the first line of the job on.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import workbench as wb
from workbench.config import new
from workbench.core.relayout import to_device
from workbench.dump.container.blocks import Container
from workbench.dump.container.writer import tensor_block, write_container
from workbench.graph.networks import load_graph

if TYPE_CHECKING:
    from collections.abc import Callable

SHAPE = (2, 32, 16, 16)


def simulation(surface: str, _folder: Path, /, **settings: Any) -> Callable[[str], object]:
    config = new(surface, **settings)
    graph = load_graph("resnet")
    return lambda out: wb.simulate(
        graph, None, config, out, device="a2", surface=surface, iterations=2
    )


def conversion(folder: Path) -> Callable[[str], object]:
    """Containers in a device format, some of which have names that become too long."""
    dump = folder / "dump"
    dump.mkdir(parents=True, exist_ok=True)
    host = np.arange(np.prod(SHAPE), dtype=np.float32).reshape(SHAPE)
    there = to_device(host, "NCHW", "NC1HWC0")
    for number in range(60):
        fields = {"format": "NC1HWC0", "original_shape": SHAPE}
        block, data = tensor_block("output", 0, there + number, **fields)
        with (dump / f"Conv2D.{'n' * (230 if number % 5 == 0 else 3)}.1.2.{number}").open(
            "wb"
        ) as file:
            write_container(file, Container((block,)), [data])
    return lambda out: wb.convert(dump, out, format="NCHW")


JOBS: dict[str, Callable[[Path], Callable[[str], object]]] = {
    "mindspore-o0o1": partial(
        simulation, "mindspore-o0o1", common_dump_settings__saved_data="full", common_dump_settings__iteration="all"
    ),
    "mindspore-o2": partial(
        simulation, "mindspore-o2", common_dump_settings__file_format="npy", common_dump_settings__iteration="all"
    ),
    "acl": partial(simulation, "acl"),
    "torchair": partial(simulation, "torchair"),
    "tensorflow": partial(simulation, "tensorflow"),
    "convert": conversion,
}  # fmt: skip


class Operations:
    """Counts what a process does to files below a folder, and kills it before the n-th time."""

    def __init__(self, out: str, last: int | None) -> None:
        self.out, self.last, self.count = out, last, 0
        sys.addaudithook(self._see)

    def _see(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event in ("open", "os.mkdir", "os.rename", "os.remove", "os.rmdir", "shutil.rmtree"):
            if not isinstance(arguments[0], int) and self.out in os.fsdecode(arguments[0]):
                self.count += 1
            if self.count == self.last:
                os.kill(os.getpid(), signal.SIGKILL)


def run(
    job: Callable[[str], object], out: str, seconds: float | None, operation: int | None
) -> dict[str, Any]:
    """Do the job in a child."""
    start = time.perf_counter()
    told, tell = os.pipe()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            operations = Operations(out, operation)
            job(out)
            os.write(tell, str(operations.count).encode())
            status = 0
        finally:
            os._exit(status)
    if seconds is not None:
        time.sleep(seconds)
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    os.close(tell)
    with open(told, "rb") as pipe:
        count = int(pipe.read() or 0)
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0
    seconds = time.perf_counter() - start
    return {"seconds": seconds, "operations": count, "killed": os.WIFSIGNALED(status)}


def main() -> None:
    name, folder = sys.argv[1:]
    job = JOBS[name](Path(folder))
    job(f"{folder}/once")  # imports are paid here
    for line in sys.stdin:
        print(json.dumps(run(job, *json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
