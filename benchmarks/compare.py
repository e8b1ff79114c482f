"""How fast pairs of tensors are compared, against the speed at which their bytes can be read at all.

Every figure is a ratio of two times of the same round; rounds are interleaved, and the median counts.
So a busy machine moves both terms and not the ratio. One thread is timed by the processor, several
by the clock. Run ``python benchmarks/compare.py --help``;
``benchmarks/README.md`` says what the rows mean.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from workbench.comparison.measure.tensors import measure
from workbench.comparison.threads import in_order, is_worth_thread
from workbench.dump.formats.npy import NpySource, write_npy

SUFFIX = {"float32": "Float32", "float16": "Float16", "int8": "Int8", "bool": "Bool"}
TREE = Path("rank_0", "Net", "0", "0")
STAMP = 1795197698084529
MB = 1_000_000


# ---------------------------------------------------------------- data


def tensors(case: str, full: bool) -> list[tuple[str, int]]:
    """Dtype and element count of every tensor of a case."""
    if case in ("S", "S10K"):
        return [("float32", 1024)] * (2_000 if case == "S" else 10_000)
    if case in ("L", "L16"):
        return [("float32" if case == "L" else "float16", 100 * MB)]
    return mixed(2_000 * MB if full else 400 * MB)


def mixed(total: int) -> list[tuple[str, int]]:
    """Sizes spread evenly over the powers of two from 64 KB to 64 MB, most bytes float32 and float16."""
    kinds = ["float32", "float16", "float32", "float16", "float32", "int8", "float32", "bool"]
    found, left, number = [], total, 0
    while left > 64_000:
        size = min(int(64_000 * 2 ** (number * 7 % 11)), left)
        kind = kinds[number % len(kinds)]
        found.append((kind, size // np.dtype(kind).itemsize))
        left -= size
        number += 1
    return found


def values(kind: str, count: int, number: int) -> tuple[np.ndarray, np.ndarray]:
    """Target and golden: normal numbers, relative noise of 1e-3, some with zeros, a few with NaN."""
    rng = np.random.default_rng(number)
    block = min(count, 1 << 20)
    golden = rng.standard_normal(block, dtype=np.float32)
    if number % 4 == 1:
        np.maximum(golden, 0, out=golden)
    target = golden * (1 + np.float32(1e-3) * rng.standard_normal(block, dtype=np.float32))
    if number % 50 == 7:
        target[rng.integers(0, block, 3)] = np.nan, np.inf, -np.inf
    pair = [np.resize(x, count) for x in (target, golden)]
    if kind == "int8":
        pair = [np.clip(np.nan_to_num(x, posinf=3, neginf=-3) * 40, -128, 127) for x in pair]
    if kind == "bool":
        pair = [x > 0 for x in pair]
    return pair[0].astype(kind), pair[1].astype(kind)


def shape_of(count: int) -> tuple[int, ...]:
    """Rows and channels, so that there are slices to look at, where a number of elements can be cut so."""
    return (-1, 1000) if count % 1000 == 0 else (-1,)


def generate(root: Path, case: str, full: bool) -> tuple[Path, Path]:
    """Write the two trees of a case as MindSpore on a CPU would, unless they are there."""
    home = root / (f"{case}-full" if case == "M" and full else case)
    sides = home / "target", home / "golden"
    if (home / "done").exists():
        return sides
    shutil.rmtree(home, ignore_errors=True)
    for side in sides:
        (side / TREE).mkdir(parents=True)
    for number, (kind, count) in enumerate(tensors(case, full)):
        name = (
            f"Add.Default_Add-op{number}.0.0.{STAMP + number}.output.0.DefaultFormat.{SUFFIX[kind]}"
        )
        for side, array in zip(sides, values(kind, count, number), strict=True):
            with (side / TREE / f"{name}.npy").open("wb") as file:
                write_npy(file, array.reshape(shape_of(count)), kind)
    (home / "done").touch()
    return sides


# ---------------------------------------------------------------- what is timed


def names(side: Path) -> list[str]:
    folder = str(side / TREE)
    return [f"{folder}/{name}" for name in sorted(os.listdir(folder))]


BUFFER = np.empty(256 * 1024, np.uint8)


def floor(target: Path, golden: Path) -> None:
    """Floor R: list both folders, open every file, read every byte into one small buffer."""
    for side in (target, golden):
        for name in names(side):
            fd = os.open(name, os.O_RDONLY)
            while os.readv(fd, [BUFFER]) == BUFFER.size:
                pass
            os.close(fd)


def ours(kernel: str, threads: int = 1):
    def one(files: tuple[str, str], stopped: object) -> None:
        taken = threads if stopped is None else 1  # a thread takes no others
        measure(*map(NpySource, files), kernel=kernel, threads=taken)

    def run(target: Path, golden: Path) -> None:
        pairs = zip(names(target), names(golden), strict=True)
        for _ in in_order(pairs, one, is_worth, threads):
            pass

    return run


def is_worth(files: tuple[str, str]) -> bool:
    """Whether a pair is measured in a thread of its own, as comparisons have it."""
    return is_worth_thread(sum(os.stat(file).st_size for file in files))


def plain(target: Path, golden: Path) -> None:
    """The same figures the obvious way: one NumPy expression after the other over whole arrays."""
    with np.errstate(all="ignore"):
        for a, b in zip(names(target), names(golden), strict=True):
            t, g = np.load(a).astype(float).ravel(), np.load(b).astype(float).ravel()
            both = np.isfinite(t) & np.isfinite(g)
            t, g = t[both], g[both]
            d = np.abs(t - g)
            r = np.where(g == 0, d, d / np.abs(g))
            _ = (t @ g) / (np.linalg.norm(t) * np.linalg.norm(g)), np.linalg.norm(t - g)
            _ = d.max(), d.mean(), np.sqrt((d * d).mean()), r.max(), r.mean(), r.sum()
            _ = (r < 0.001).mean(), (r < 0.005).mean(), t.mean(), t.std(), g.mean(), g.std()
            _ = t.min(), t.max(), g.min(), g.max(), (t == 0).sum(), (g == 0).sum()


RUNS = {
    "floor": floor,
    "compiled": ours("compiled"),
    "compiled, 2 threads": ours("compiled", 2),
    "numpy": ours("numpy"),
    "plain": plain,
}


class Times(NamedTuple):
    """Seconds of the processor and of the clock, of every round."""

    processor: list[float]
    clock: list[float]

    def of(self, name: str) -> list[float]:
        """Return those that a run is judged by: two threads are to save seconds of the clock."""
        return self.clock if "threads" in name else self.processor


def interleave(sides: tuple[Path, Path], runs: dict[str, int]) -> dict[str, Times]:
    """Times of every run, one of each per round, as many rounds as it asks for; one warm-up each."""
    times = {name: Times([], []) for name in runs}
    for name in runs:
        if name != "plain":
            RUNS[name](*sides)
    for turn in range(max(runs.values())):
        for name, rounds in runs.items():
            if turn < rounds:
                start = time.process_time(), time.perf_counter()
                RUNS[name](*sides)
                times[name].processor.append(time.process_time() - start[0])
                times[name].clock.append(time.perf_counter() - start[1])
    return times


def ratio(over: list[float], under: list[float]) -> float:
    return statistics.median(a / b for a, b in zip(over, under, strict=False))


# ---------------------------------------------------------------- processes


def peak_of(case: str, kernel: str, root: Path, full: bool) -> float:
    """Peak resident set, in MB, of a process that compares one case."""
    command = [sys.executable, __file__, "--data", str(root), "--child", case, kernel]
    run = subprocess.run(command + ["--full"] * full, capture_output=True, text=True, check=True)
    return float(run.stdout)


def child(case: str, kernel: str, root: Path, full: bool) -> None:
    """Compare one case and print the peak, which only Linux tells apart from the parent's."""
    RUNS[kernel](*generate(root, case, full))
    status = Path("/proc/self/status").read_text(encoding="ascii")
    print(int(status.split("VmHWM:")[1].split()[0]) / 1024)


def whole_command(sides: tuple[Path, Path], rounds: int) -> tuple[list[float], list[float]] | None:
    """Times of ``workbench compare`` and of importing NumPy, each in a new process."""
    script = Path(sys.executable).with_name("workbench")
    if not script.exists():
        return None
    command = [str(script), "compare", *map(str, sides), "--json", os.devnull]
    times: tuple[list[float], list[float]] = [], []
    for turn in range(rounds + 1):
        for kind, words in enumerate((command, [sys.executable, "-c", "import numpy"])):
            start = time.perf_counter()
            run = subprocess.run(words, capture_output=True, check=False)
            if run.returncode not in (0, 1):
                print(run.stderr.decode(), file=sys.stderr)
                return None
            if turn:
                times[kind].append(time.perf_counter() - start)
    return times


# ---------------------------------------------------------------- the report

GOALS = {  # row of the list of goals: (words, case, goals by kernel)
    "1": ("compare / floor", "M", {"compiled": 2.5, "compiled, 2 threads": 1.6, "numpy": 14.0}),
    "3": ("compare / floor", "L", {"compiled": 2.0, "compiled, 2 threads": 2.0, "numpy": 8.0}),
    "4": ("compare / floor", "L16", {"compiled": 2.8, "compiled, 2 threads": 2.8, "numpy": 14.0}),
    "8": ("pair / its open, read, close", "S10K", {"compiled": 2.5, "numpy": 5.0}),
}


def line(row: str, words: str, value: float, goal: float, note: str = "") -> str:
    sign = "met" if value <= goal else "MISSED"
    return f"{row:>3}  {words:<44} {value:8.2f}  goal <= {goal:<6g} {sign:<7} {note}"


def report_case(row: str, sides: tuple[Path, Path], rounds: int) -> list[dict[str, object]]:
    words, case, goals = GOALS[row]
    runs = {"floor": rounds, **dict.fromkeys(goals, rounds), "plain": 1}
    times = interleave(sides, runs)
    floor = times["floor"].processor
    print(f"\n{case}: floor {statistics.median(floor) * 1e3:.1f} ms (best {min(floor) * 1e3:.1f})")
    found: list[dict[str, object]] = []
    for kernel, goal in goals.items():
        own, base = times[kernel].of(kernel), times["floor"].of(kernel)
        value, best = ratio(own, base), min(own) / min(base)
        note = f"{statistics.median(own) * 1e3:9.1f} ms; best/best {best:.2f}"
        print(line(row, f"{case} {words}, {kernel}", value, goal, note))
        found.append({"row": row, "case": case, "kernel": kernel, "ratio": value, "goal": goal})
    for kernel in goals:
        gain = times["plain"].processor[0] / statistics.median(times[kernel].processor)
        print(f"     plain multi-pass NumPy takes {gain:.1f} times as long as {kernel}")
    return found


def report_command(sides: tuple[Path, Path], rounds: int) -> list[dict[str, object]]:
    times = whole_command(sides, rounds)
    if times is None:
        print("\n  9  skipped: there is no working `workbench compare` command")
        return []
    value = ratio(*times)
    note = f"{statistics.median(times[0]) * 1e3:.0f} ms against {statistics.median(times[1]) * 1e3:.0f}"
    print("\n" + line("9", "S whole command / python -c 'import numpy'", value, 3.0, note))
    return [{"row": "9", "case": "S", "ratio": value, "goal": 3.0}]


def report_memory(root: Path, full: bool) -> list[dict[str, object]]:
    found: list[dict[str, object]] = []
    print()
    for kernel in ("compiled", "numpy"):
        small, large = (peak_of(case, kernel, root, full) for case in ("S", "L"))
        note = f"{large:.0f} MB - {small:.0f} MB"
        print(line("10", f"peak RSS of L minus S in MB, {kernel}", large - small, 64.0, note))
        found.append({"row": "10", "kernel": kernel, "ratio": large - small, "goal": 64.0})
    print(line("10", "peak RSS of L in MB, numpy", large, 100.0))
    return found


def start_up(rounds: int) -> None:
    """Say what starting costs, apart from all ratios."""
    codes = {
        "python": "pass",
        "numpy": "import numpy",
        "measure": "import workbench.comparison.measure.tensors",
        "measure, a pair": "import numpy as np; from workbench.comparison.measure.tensors import "
        "measure_arrays as m; m(np.ones(9, 'f4'), np.ones(9, 'f4'))",
    }
    print("\nstart-up, whole process:")
    for name, code in codes.items():
        times = []
        for _ in range(rounds):
            start = time.perf_counter()
            subprocess.run([sys.executable, "-c", code], check=True)
            times.append(time.perf_counter() - start)
        print(
            f"     {name:<24} {statistics.median(times) * 1e3:6.0f} ms (best {min(times) * 1e3:.0f})"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--data", type=Path, default=Path("build/bench"), help="where the dumps lie"
    )
    parser.add_argument("--full", action="store_true", help="M with 2 GB a side instead of 400 MB")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--rows", default="8 9 10 1 3 4", help="rows of the list of goals")
    parser.add_argument("--json", type=Path, help="write the ratios here as well")
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        child(*args.child, args.data, args.full)
        return
    found: list[dict[str, object]] = []
    for row in args.rows.split():
        if row == "9":
            found += report_command(generate(args.data, "S", args.full), args.rounds)
        elif row == "10":
            generate(args.data, "S", args.full)
            generate(args.data, "L", args.full)
            found += report_memory(args.data, args.full)
        else:
            sides = generate(args.data, GOALS[row][1], args.full)
            found += report_case(row, sides, args.rounds)
    start_up(args.rounds)
    if args.json:
        args.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
