"""How fast tensors are converted between host and device formats, against a plain copy of the same array.

Conversion and copy take turns, a ratio is taken inside a round, and the median counts.
``python benchmarks/formats.py --help`` shows the sizes.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
import tracemalloc
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from workbench.core.device_shape import device_shape
from workbench.core.dtypes import DTYPES
from workbench.core.transdata import host_chunks, to_device, to_host

MB = 1_000_000
GOAL = 5

CASES: tuple[tuple[str, str, tuple[int, ...], int], ...] = (
    ("NCHW", "NC1HWC0", (0, 64, 112, 112), 1),
    ("NCHW", "NC1HWC0", (0, 256, 14, 14), 1),
    ("NCHW", "NC1HWC0", (0, 20, 512, 512), 1),
    ("NHWC", "NC1HWC0", (0, 56, 56, 128), 1),
    ("NCHW", "NC1HWC0_C04", (0, 3, 224, 224), 1),
    ("NCHW", "FRACTAL_Z", (0, 512, 3, 3), 1),
    ("HWCN", "FRACTAL_Z", (3, 3, 512, 0), 1),
    ("NCHW", "FRACTAL_Z", (0, 4, 3, 3), 32),
    ("ND", "FRACTAL_NZ", (0, 4096), 1),
    ("ND", "FRACTAL_NZ", (0, 12, 197, 197), 1),
    ("NCDHW", "NDC1HWC0", (0, 32, 16, 56, 56), 1),
    ("NCDHW", "FRACTAL_Z_3D", (0, 128, 3, 3, 3), 1),
)
"""Host format, device format, shape whose open dimension (0) fills the size, groups."""


def filled(shape: tuple[int, ...], size: int, itemsize: int, groups: int) -> tuple[int, ...]:
    count = int(np.prod([dim for dim in shape if dim])) * itemsize
    open_dim = max(1, size // count // groups) * groups
    return tuple(dim or open_dim for dim in shape)


def seconds(action) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def ratios(host: str, device: str, array: np.ndarray, groups: int, rounds: int) -> list[float]:
    """Median ratios of both directions; each against a copy of the larger of the two arrays."""
    there = to_device(array, host, device, groups=groups)
    larger = max(array, there, key=lambda one: one.nbytes)
    found: list[list[float]] = [[], []]
    for _ in range(rounds):
        floor = seconds(lambda: np.copy(larger.view(np.uint8)))
        found[0].append(seconds(lambda: to_device(array, host, device, groups=groups)) / floor)
        floor = seconds(lambda: np.copy(larger.view(np.uint8)))
        back = seconds(lambda: to_host(there, device, host, array.shape, groups=groups))
        found[1].append(back / floor)
    return [statistics.median(one) for one in found]


def chunk_memory(size: int) -> tuple[float, float]:
    """Size of a device array and the most memory that converting it in pieces takes, in MB."""
    shape = filled((0, 64, 112, 112), size, 2, 1)
    device = np.zeros(device_shape(shape, "NCHW", "NC1HWC0", "float16"), np.float16)
    tracemalloc.start()
    for _ in host_chunks(device, "NC1HWC0", "NCHW", shape):
        pass
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return device.nbytes / MB, most / MB


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mb", type=int, default=100, help="size of a host array")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--dtypes", nargs="*", default=["float32", "bfloat16", "int8"])
    options = parser.parse_args()
    print(f"times a plain copy of the larger array (goal {GOAL}); {options.mb} MB")
    for host, device, shape, groups in CASES:
        for name in options.dtypes:
            storage = DTYPES[name].storage
            full = filled(shape, options.mb * MB, storage.itemsize, groups)
            bits = np.random.default_rng(1).integers(
                0, 255, int(np.prod(full)) * storage.itemsize, np.uint8
            )
            array = bits.view(storage).reshape(full)
            there, back = ratios(host, device, array, groups, options.rounds)
            late = "  slow" if max(there, back) > GOAL else ""
            title = f"{host} {device}" + (f":{groups}" if groups > 1 else "")
            print(f"{title:24} {name:9} {full!s:26} to {there:5.1f}  from {back:5.1f}{late}")
    size, most = chunk_memory(10 * options.mb * MB)
    print(f"{size:.0f} MB in pieces take {most:.0f} MB of memory")


if __name__ == "__main__":
    main()
