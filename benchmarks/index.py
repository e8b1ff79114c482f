"""How fast a dump tree is indexed, against listing and opening the same files.

``python benchmarks/index.py --help`` shows the sizes. Both take turns, a ratio is taken inside a round,
and the median counts.
"""

from __future__ import annotations

import argparse
import gc
import io
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from workbench.core.transdata import to_device
from workbench.dump.formats.container import Container, Origin
from workbench.dump.formats.container_write import tensor_block, write_container
from workbench.dump.reader import load

START = 1_700_000_000_000_000
BASE = 0x12C0_4000_0000
GOAL = 3


def write_npy(base: Path, count: int) -> Path:
    """MindSpore's tree: a file for every tensor."""
    folder = base / "rank_0/Net/0/0"
    folder.mkdir(parents=True)
    file = io.BytesIO()
    np.save(file, np.ones((4, 4), np.float16))
    for number in range(count):
        name = f"MatMul.Default_net_layer{number}_MatMul-op{number}.0.0.{START + number}"
        (folder / f"{name}.output.0.DefaultFormat.float16.npy").write_bytes(file.getvalue())
    return folder


def write_containers(base: Path, count: int, inputs: int, device: str = "") -> Path:
    """The graph engine's tree: a file for every operator, with some inputs and one output."""
    host = np.ones((1, 16, 4, 4) if device else (4, 4), np.float16)
    array, code = (to_device(host, "NCHW", device), device) if device else (host, 2)
    folder = base / "20240613143502/0/net/1/0"
    folder.mkdir(parents=True)
    parts = [*(("input", slot) for slot in range(inputs)), ("output", 0)]
    tensors = [
        tensor_block(part, slot, array, format=code, original_shape=host.shape)
        for part, slot in parts
    ]
    for number in range(count):
        op_name = f"net/layer{number}/MatMul"
        blocks = tuple(
            block._replace(
                address=BASE + 512 * (number + at),
                origin=Origin(op_name, 0, 2, 2) if block.part == "output" else None,
            )
            for at, (block, _) in enumerate(tensors)
        )
        container = Container(blocks, dump_time=START + number, op_name=op_name)
        with (folder / f"MatMul.net_layer{number}_MatMul.{number}.1.{START + number}").open(
            "wb"
        ) as file:
            write_container(file, container, [data for _, data in tensors])
    return folder


def list_and_open(folder: Path, size: int) -> None:
    """List a folder and open every file; read its first bytes if a size is given."""
    for entry in os.scandir(folder):
        with open(entry.path, "rb") as file:
            file.read(size)


def seconds(run: Callable[..., object], *given: object) -> float:
    gc.collect()
    start = time.process_time()
    found = run(*given)
    spent = time.process_time() - start
    del found
    return spent


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=40_000)
    parser.add_argument("--rounds", type=int, default=7)
    given = parser.parse_args()
    cases: dict[str, Callable[[Path], Path]] = {
        "npy": lambda base: write_npy(base, given.files),
        "containers, 1 tensor": lambda base: write_containers(base, given.files, 0),
        "containers, 3 tensors": lambda base: write_containers(base, given.files, 2),
        "the same in NC1HWC0": lambda base: write_containers(base, given.files, 2, "NC1HWC0"),
    }
    for title, write in cases.items():
        with tempfile.TemporaryDirectory() as where:
            base = Path(where)
            folder = write(base)
            opened, read, spent = [], [], []
            for _ in range(given.rounds):
                opened.append(seconds(list_and_open, folder, 0))
                read.append(seconds(list_and_open, folder, 4096))
                spent.append(seconds(load, base))
            ratio = statistics.median(a / b for a, b in zip(spent, opened, strict=True))
            against_read = statistics.median(a / b for a, b in zip(spent, read, strict=True))
            print(
                f"{title:22} {statistics.median(spent) * 1000:6.0f} ms, {ratio:.2f} times list and open "
                f"(goal {GOAL}), {against_read:.2f} times list, open and read 4 KB"
            )


if __name__ == "__main__":
    main()
