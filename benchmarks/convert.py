"""How fast and in how much memory dump containers are converted, against a copy of the same bytes.

Every run is a process of its own, so that its largest memory is its own. Conversion and copy take turns,
a ratio is taken inside a round, and the median counts. ``python benchmarks/convert.py --help`` shows the sizes.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from workbench.core.device_shape import device_shape
from workbench.dump.convert import convert
from workbench.dump.formats.container import Container, TensorEntry, element_count
from workbench.dump.formats.container_write import write_container

MB = 1_000_000
STEP = 1 << 20

CASES = (
    # title, data type, item size, format, host format, host shape with one open dimension, target
    ("float16 as it is", 2, 2, 2, "ND", (0, 4096), ""),
    ("bfloat16 to float32", 27, 2, 2, "ND", (0, 4096), ""),
    ("NC1HWC0 to NCHW, float16", 2, 2, 3, "NCHW", (0, 64, 112, 112), "NCHW"),
    ("NC1HWC0 to NCHW, float32", 1, 4, 3, "NCHW", (0, 64, 112, 112), "NCHW"),
    ("NC1HWC0 to HWCN, float16", 2, 2, 3, "NCHW", (0, 64, 112, 112), "HWCN"),
    ("FRACTAL_Z to NCHW, float16", 2, 2, 4, "NCHW", (0, 4096, 3, 3), "NCHW"),
    ("FRACTAL_NZ to ND, float16", 2, 2, 29, "ND", (0, 4096), "ND"),
    ("NHWC to NCHW, float16", 2, 2, 1, "NHWC", (0, 112, 112, 64), "NCHW"),
)
_DEVICES = {3: "NC1HWC0", 4: "FRACTAL_Z", 29: "FRACTAL_NZ"}


def big_container(path: Path, case: tuple, size: int) -> None:
    """Write a container of one tensor of about ``size`` bytes."""
    _, number, width, code, host, shape, _ = case
    open_dim = max(1, size // (width * int(np.prod([dim for dim in shape if dim]))))
    full = tuple(dim or open_dim for dim in shape)
    held = device_shape(full, host, _DEVICES[code], "float16") if code in _DEVICES else full
    block = TensorEntry(
        "output", 0, element_count(held) * width, number, code, held, full, address=1
    )  # fmt: skip
    noise = np.random.default_rng(1).integers(0, 60, block.size, np.uint8)
    with path.open("wb") as file:
        write_container(file, Container((block,), op_name="Default/op"), [noise])


def small_containers(folder: Path, count: int) -> None:
    """Write many containers of three tensors of 4 KiB."""
    shape = (1024,)
    blocks = tuple(
        TensorEntry(part, slot, 4096, 1, 2, shape, shape, address=1)
        for part, slot in (("input", 0), ("input", 1), ("output", 0))
    )
    data = np.zeros(4096, np.uint8)
    for number in range(count):
        with (folder / f"Add.add{number}.1.2.{1700000000000000 + number}").open("wb") as file:
            write_container(file, Container(blocks, op_name="Default/op"), [data] * 3)


def copy(dump: Path, out: Path) -> None:
    """Copy files block by block: what reading and writing alone takes."""
    out.mkdir()
    for path in sorted(dump.iterdir()):
        with path.open("rb") as source, (out / path.name).open("wb") as target:
            while data := source.read(STEP):
                target.write(data)


def child(action: str, dump: Path, out: Path, target: str) -> None:
    """Do one thing, and print its seconds and the largest memory of the process in bytes."""
    before = most_memory()
    start = time.perf_counter()
    if action == "copy":
        copy(dump, out)
    else:
        convert(dump, out, format=target)
    passed = time.perf_counter() - start
    print(json.dumps({"seconds": passed, "most": most_memory(), "before": before}))


def most_memory() -> int:
    """Largest memory of this process in bytes; what its parent had, which getrusage counts, is not in it."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))


def measured(action: str, dump: Path, out: Path, target: str) -> dict[str, float]:
    command = [sys.executable, __file__, "--child", action, str(dump), str(out), target]
    run = subprocess.run(command, check=True, capture_output=True, text=True)
    shutil.rmtree(out)
    return json.loads(run.stdout)


def report(title: str, dump: Path, target: str, rounds: int) -> None:
    size = sum(path.stat().st_size for path in dump.iterdir())
    ratios, found = [], {"seconds": 0.0, "most": 0.0, "before": 0.0}
    for _ in range(rounds):
        floor = measured("copy", dump, dump.parent / "out", "")
        found = measured("convert", dump, dump.parent / "out", target)
        ratios.append(found["seconds"] / floor["seconds"])
    grown = (found["most"] - found["before"]) / MB
    ratio = statistics.median(ratios)
    print(
        f"{title:28} {size / MB:6.0f} MB  {ratio:5.1f} times a copy  {found['seconds']:6.2f} s  "
        f"memory {found['most'] / MB:5.0f} MB, {grown:4.0f} MB of it for the work",
        flush=True,
    )


def main() -> None:
    if sys.argv[1:2] == ["--child"]:
        action, dump, out, target = sys.argv[2:]
        child(action, Path(dump), Path(out), target)
        return
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mb", type=int, default=1000, help="size of the large container")
    parser.add_argument("--files", type=int, default=4000, help="number of small containers")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--folder", default=None, help="where the files lie meanwhile")
    options = parser.parse_args()
    for case in CASES:
        with tempfile.TemporaryDirectory(dir=options.folder) as folder:
            dump = Path(folder) / "dump"
            dump.mkdir()
            big_container(dump / "Op.op.1.2.1700000000000000", case, options.mb * MB)
            report(case[0], dump, case[-1], options.rounds)
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        dump = Path(folder) / "dump"
        dump.mkdir()
        small_containers(dump, options.files)
        report(f"{options.files} files of 12 KiB", dump, "", options.rounds)


if __name__ == "__main__":
    main()
