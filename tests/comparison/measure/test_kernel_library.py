"""The library of the compiled kernel: there where a compiler is, ready to run, the same bits on every processor."""

from __future__ import annotations

import ctypes.util
import itertools
import os
import subprocess
import sys
import zlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from kit.kernels import SOURCES, compiler, variants_here
from workbench.comparison.measure import tensors
from workbench.comparison.measure.kernel_compiled import (
    LIBRARY,
    VARIANTS,
    CompiledKernel,
    library,
    load,
)
from workbench.comparison.measure.slices import grid_of
from workbench.comparison.measure.tensors import kernel_name, measure_arrays

ROOT = Path(__file__).parents[3]
TYPES = {
    name: np.dtype(kind)
    for name, kind in {
        "bool": np.bool_, "int8": np.int8, "uint8": np.uint8, "int16": np.int16, "uint16": np.uint16,
        "int32": np.int32, "uint32": np.uint32, "int64": np.int64, "uint64": np.uint64,
        "float16": np.float16, "float32": np.float32, "float64": np.float64,
        "bfloat16": ml_dtypes.bfloat16, "float8": ml_dtypes.float8_e5m2,
    }.items()
}  # fmt: skip
SIZES = (1, 2, 7, 8, 9, 15, 16, 17, 31, 4095, 4096, 4097, 9001)

needs_library = pytest.mark.skipif(library() is None, reason="no library, and no compiler for it")


def test_a_checkout_has_the_library_of_its_sources():
    if library() is None:
        assert compiler() is None, f"there is a compiler and no {LIBRARY}: make .venv/developed"
        pytest.skip("there is no compiler")
    now = zlib.crc32(b"".join(path.read_bytes() for path in SOURCES))
    assert library().source == now, f"{LIBRARY} is of other sources: make .venv/developed"


# ---------------------------------------------------------------- nothing is compiled

WATCHED = """
import os, sys
written, started = [], []
def watch(event, given):
    if event in ("subprocess.Popen", "os.exec", "os.posix_spawn", "os.system", "os.fork"):
        started.append((event, given[0]))
    if event == "open" and isinstance(given[0], str):
        mode, flags = given[1], given[2]
        if (mode and set(mode) & set("wax+")) or (flags or 0) & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
            written.append(given[0])
    if event in ("os.mkdir", "os.rename"):
        written.append(given[0])
sys.addaudithook(watch)
import workbench as wb
found = wb.compare("sample_dumps/simulated_pair/target", "sample_dumps/simulated_pair/golden")
assert found.result.verdict != "pass"
from workbench.comparison.measure.tensors import kernel_name
print(kernel_name(), started, [name for name in written if name != os.devnull],
      [name for name in sys.modules if name.partition(".")[0] in ("numba", "llvmlite", "cffi", "Cython", "setuptools")])
"""


@needs_library
def test_a_comparison_compiles_starts_and_writes_nothing(tmp_path):
    names = {"HOME", "TMPDIR", "XDG_CACHE_HOME"}
    clean = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
    env = clean | {"PYTHONDONTWRITEBYTECODE": "1", "PATH": ""} | dict.fromkeys(names, str(tmp_path))
    code = f"import sys; sys.path.insert(0, {str(ROOT)!r}); {WATCHED}"
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, env=env, check=False
    )
    assert (run.returncode, run.stdout) == (0, "compiled [] [] []\n"), run.stderr
    assert list(tmp_path.iterdir()) == []


def test_nothing_in_the_package_asks_for_a_compiler():
    wanted = ("numba", "llvmlite", "cffi", "distutils", "setuptools")
    files = [*(ROOT / "workbench").rglob("*.py"), ROOT / "pyproject.toml"]
    found = {
        (path.name, line)
        for path in files
        for line in path.read_text(encoding="utf-8").splitlines()
        if any(f"import {name}" in line or f"from {name}" in line or f'"{name}>' in line for name in wanted)
    }  # fmt: skip
    builds, of_tests = 'requires = ["setuptools>=70.1"]', '  "setuptools>=70.1",'
    assert found == {("pyproject.toml", builds), ("pyproject.toml", of_tests)}


# ---------------------------------------------------------------- the same bits


def sample(name: str, size: int, seed: int) -> np.ndarray:
    """Elements of a type: of all bits, or near to each other with zeros between."""
    rng, kind = np.random.default_rng(seed), TYPES[name]
    if name == "bool" or seed % 2:
        return np.frombuffer(rng.bytes(size * kind.itemsize), kind)
    x = np.random.default_rng(size).standard_normal(size) * 30
    x[::7] = 0
    with np.errstate(all="ignore"):
        return (x * (1 + 1e-3 * rng.standard_normal(size) * (seed > 2))).astype(kind)


def bits(kernel: CompiledKernel, target: np.ndarray, golden: np.ndarray, start: int = 0) -> bytes:
    """What a kernel makes of a pair, to the last bit; NaN is NaN, of whatever sign."""
    with np.errstate(all="ignore"):
        kernel.add(target, golden, start)
    sums = kernel.sums()
    arrays = [np.array(sums[:14], np.int64), np.array(sums[14:-1])]
    if sums.slices is not None:
        arrays += [sums.slices.columns, *(part for _, part in sums.slices.rows + sums.slices.tiles)]
    return b"".join(np.where(x == x, x, np.nan).tobytes() for x in arrays)


@needs_library
@pytest.mark.parametrize("target", TYPES)
def test_every_variant_gives_the_same_bits(target):
    for golden, size, seeds in itertools.product(TYPES, SIZES, ((2, 4), (1, 3), (2, 3))):
        pair = sample(target, size, seeds[0]), sample(golden, size, seeds[1])
        found = {bits(CompiledKernel(variant=one), *pair) for one in variants_here()}
        assert len(found) == 1, (golden, size, seeds)


@needs_library
@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("shape", [(33, 64), (70, 100), (2, 3, 40, 65), (3, 5000)], ids=str)
def test_every_variant_gives_the_same_bits_of_slices(name, shape):
    size = int(np.prod(shape))
    pair = sample(name, size, 2), sample(name, size, 4)
    pair[0][size // 2] = np.nan
    found = set()
    for one in variants_here():
        kernel = CompiledKernel(grid_of(shape), variant=one)
        kernel.add(pair[0][:777], pair[1][:777], 0)
        found.add(bits(kernel, pair[0][777:], pair[1][777:], 777))
    assert len(found) == 1


@needs_library
@pytest.mark.parametrize("number", variants_here(), ids=lambda number: VARIANTS[number])
def test_every_variant_that_this_processor_has_runs_in_a_process_of_its_own(number):
    code = (
        "import numpy as np, sys\n"
        "from workbench.comparison.measure.kernel_compiled import CompiledKernel\n"
        f"kernel = CompiledKernel(variant={number})\n"
        "kernel.add(np.arange(1000, dtype=np.float16), np.ones(1000, np.float16), 0)\n"
        "print(kernel.sums().absolute)"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert float(run.stdout) == sum(abs(i - 1) for i in range(1000))


@needs_library
def test_threads_at_once_give_the_bits_of_one_alone():
    pairs = [(sample("float32", 50_000, 2), sample("float16", 50_000, n)) for n in range(4, 12)]
    alone = [bits(CompiledKernel(), *pair) for pair in pairs]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda pair: bits(CompiledKernel(), *pair), pairs * 3))
    assert together == alone * 3


# ---------------------------------------------------------------- what is given to C


def shifted(x: np.ndarray) -> np.ndarray:
    """The same elements on an odd address."""
    return np.frombuffer(b"x" + x.tobytes(), x.dtype, offset=1)


@needs_library
@pytest.mark.parametrize("name", TYPES)
def test_how_elements_lie_changes_no_bit(name):
    for size in (1, 7, 5000):
        t, g = sample(name, size, 2), sample(name, size, 4)
        for one in variants_here():
            want = bits(CompiledKernel(variant=one), t, g)
            strided = np.zeros((size, 3), t.dtype)
            strided[:, 1] = g
            backward = t[::-1].copy()[::-1]
            for ours, theirs in (
                (shifted(t), g),
                (t, shifted(g)),
                (t, strided[:, 1]),
                (backward, g),
            ):
                assert bits(CompiledKernel(variant=one), ours, theirs) == want
            if t.dtype.kind != "V":
                other = t.astype(t.dtype.newbyteorder(">"))
                assert bits(CompiledKernel(variant=one), other, g) == want


@needs_library
def test_no_elements_are_no_elements():
    none = np.empty(0, np.float32)
    assert bits(CompiledKernel(), none, none) == bits(CompiledKernel(), none[:0], none, 5)
    assert CompiledKernel().sums().size == 0
    assert measure_arrays(none, none, kernel="compiled").size == 0


ONES = np.ones(2048, np.float32)
HOSTILE = {
    "a shorter target": (ONES[:9], ONES, 0),
    "a shorter golden": (ONES, ONES[:-1], 0),
    "a matrix": (ONES.reshape(32, 64), ONES.reshape(32, 64), 0),
    "a number": (ONES[0], ONES[0], 0),
    "in front of the first": (ONES, ONES, -1),
    "beyond all numbers": (ONES, ONES, 2**62),
    "text": (ONES.astype("U1"), ONES, 0),
    "beyond the tensor": (ONES, ONES, 1),
}


@needs_library
@pytest.mark.parametrize("case", HOSTILE)
@pytest.mark.parametrize("method", ["add", "add_slices"])
def test_what_does_not_fit_is_refused_before_c_sees_it(case, method):
    t, g, start = HOSTILE[case]
    kernel = CompiledKernel(grid_of((32, 64)))
    if case == "text":
        t = np.array(["x"] * t.size)
    with pytest.raises(ValueError, match=r"want |could not convert"):
        getattr(kernel, method)(np.asarray(t), np.asarray(g), start)
    assert kernel.sums().size == 0


@needs_library
@pytest.mark.parametrize("number", [-1, len(variants_here()), 99])
def test_a_variant_that_this_processor_lacks_is_refused(number):
    with pytest.raises(ValueError, match="want a variant below"):
        CompiledKernel(variant=number)


# ---------------------------------------------------------------- without it


def test_what_is_no_library_of_ours_is_none(tmp_path):
    text = tmp_path / "text.so"
    text.write_text("no library")
    assert load(tmp_path / "none.so") is load(text) is None
    other = ctypes.util.find_library("c")
    assert other is None or load(Path(other)) is None


def test_without_a_library_numpy_serves(monkeypatch):
    monkeypatch.setattr(tensors, "library", lambda: None)
    monkeypatch.setattr("workbench.comparison.measure.kernel_compiled.library", lambda: None)
    t, g = sample("float32", 5000, 2), sample("float32", 5000, 4)
    assert kernel_name() == "numpy"
    assert measure_arrays(t, g) == measure_arrays(t, g, kernel="numpy")
    with pytest.raises(RuntimeError, match=r"no library of the kernel at .*_kernel\.so"):
        measure_arrays(t, g, kernel="compiled")
