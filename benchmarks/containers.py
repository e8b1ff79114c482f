"""How fast and in how much memory two large containers are compared, against reading their bytes.

Every run is a process of its own, so that its largest memory is its own. Reading, comparing npy files of
the same elements and comparing the containers take turns, a ratio is taken inside a round, and the median
counts. ``python benchmarks/containers.py --help`` shows the sizes.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from convert import most_memory

from workbench.comparison.measure.tensors import measure, measure_arrays
from workbench.core.device_shape import device_shape
from workbench.core.dtypes import data_type_of
from workbench.dump.formats.container import Container, list_tensors
from workbench.dump.formats.container_write import tensor_block, write_container
from workbench.dump.formats.npy import NpySource, write_npy
from workbench.dump.payload.blocks import ExtentSource

MB = 1_000_000
GOAL = 150
"""Megabytes of memory that a comparison may take beyond those of the imported libraries."""

CASES = (
    # title, number format, format, host format, host shape with one open dimension
    ("float16, ND", "float16", 2, "ND", (0, 4096)),
    ("bfloat16, ND", "bfloat16", 2, "ND", (0, 4096)),
    ("float16, NC1HWC0", "float16", 3, "NCHW", (0, 64, 112, 112)),
    ("int8, NC1HWC0", "int8", 3, "NCHW", (0, 64, 112, 112)),
    ("float16, FRACTAL_Z", "float16", 4, "NCHW", (0, 4096, 3, 3)),
    ("float16, FRACTAL_NZ", "float16", 29, "ND", (0, 4096)),
)
DEVICES = {3: "NC1HWC0", 4: "FRACTAL_Z", 29: "FRACTAL_NZ"}


def read(paths: list[str]) -> None:
    """The floor: every byte of both files into one small buffer."""
    buffer = bytearray(1 << 20)
    for path in paths:
        with open(path, "rb", buffering=0) as file:
            while file.readinto(buffer):
                pass


def source(path: str) -> ExtentSource:
    (output,) = list_tensors(path).outputs
    return ExtentSource(output)


def warm(kernel: str) -> None:
    """Compile or load the kernel, which belongs to no comparison."""
    measure_arrays(np.ones(9, np.float16), np.ones(9, np.float16), kernel=kernel)


def child(action: str, kernel: str, folder: Path) -> None:
    """Do one thing, and print its seconds and the memory it took, in bytes."""
    paths = [str(folder / side) for side in ("target", "golden")]
    if action == "npy":
        paths = [f"{path}.npy" for path in paths]
    if action != "read":
        warm(kernel)
    before, start = most_memory(), time.perf_counter()
    if action == "read":
        read(paths)
    else:
        make = NpySource if action == "npy" else source
        found = measure(*map(make, paths), kernel=kernel, threads=1)
        assert not found.reason, found.reason
    print(json.dumps([time.perf_counter() - start, most_memory() - before]))


def measured(action: str, kernel: str, folder: Path) -> tuple[float, float]:
    command = [sys.executable, __file__, "--child", action, kernel, str(folder)]
    run = subprocess.run(command, check=True, capture_output=True, text=True)
    seconds, grown = json.loads(run.stdout)
    return seconds, grown / MB


def values(kind: str, count: int, seed: int) -> np.ndarray:
    """Normal numbers, and relative noise of 1e-3 in one of two sides, a million of them again and again."""
    golden = np.random.default_rng(1).standard_normal(1 << 20, dtype=np.float32)
    noise = 1 + 1e-3 * seed * np.random.default_rng(2).standard_normal(1 << 20, dtype=np.float32)
    numbers = golden * noise * (40 if kind == "int8" else 1)
    return np.resize(np.clip(numbers, -120, 120).astype(data_type_of(kind).storage), count)


def write(folder: Path, case: tuple, size: int) -> None:
    """Two containers of one tensor each, and npy files of the same elements in the same order."""
    kind, code, host, shape = case[1:]
    width = data_type_of(kind).bits // 8
    open_dim = size // (width * int(np.prod([dim for dim in shape if dim])))
    full = tuple(dim or open_dim for dim in shape)
    held = device_shape(full, host, DEVICES[code], kind) if code in DEVICES else full
    for seed, side in enumerate(("golden", "target")):
        array = values(kind, int(np.prod(held)), seed).reshape(held)
        block, data = tensor_block("output", 0, array, kind, format=code, original_shape=full)
        with (folder / side).open("wb") as file:
            write_container(file, Container((block,), op_name="Default/op"), [data])
        with (folder / f"{side}.npy").open("wb") as file:
            write_npy(file, array, kind)


def report(title: str, folder: Path, kernel: str, rounds: int) -> None:
    reads, files, most = [], [], 0.0
    for _ in range(rounds):
        floor, _ = measured("read", kernel, folder)
        npy, _ = measured("npy", kernel, folder)
        seconds, grown = measured("compare", kernel, folder)
        reads.append(seconds / floor)
        files.append(seconds / npy)
        most = max(most, grown)
    size = (folder / "target").stat().st_size / MB
    sign = "met" if most <= GOAL else "MISSED"
    print(
        f"{title:20} {kernel:6} 2 x {size:5.0f} MB  {seconds:6.2f} s  {statistics.median(reads):5.1f} times "
        f"reading, {statistics.median(files):4.2f} times npy files  memory {most:4.0f} MB (goal {GOAL}) {sign}",
        flush=True,
    )


def main() -> None:
    if sys.argv[1:2] == ["--child"]:
        child(sys.argv[2], sys.argv[3], Path(sys.argv[4]))
        return
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mb", type=int, default=1000, help="size of a container")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--kernels", default="compiled numpy")
    parser.add_argument("--folder", default=None, help="where the files lie meanwhile")
    options = parser.parse_args()
    for case in CASES:
        with tempfile.TemporaryDirectory(dir=options.folder) as folder:
            write(Path(folder), case, options.mb * MB)
            for kernel in options.kernels.split():
                report(case[0], Path(folder), kernel, options.rounds)


if __name__ == "__main__":
    main()
