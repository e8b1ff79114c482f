"""Measuring reads any two sources in blocks, bounded in memory, and reports what it cannot do."""

from __future__ import annotations

import itertools
import math
import os
import threading
import tracemalloc

import numpy as np
import pytest
from hypothesis import settings

from kit.kernels import KERNELS
from kit.words import check_said, refused
from workbench.comparison.measure.metrics import CANCELLED
from workbench.comparison.measure.reading import SEGMENT, OpenPair
from workbench.comparison.measure.tensors import measure, measure_arrays
from workbench.core.errors import FormatError
from workbench.core.tensors import ArraySource
from workbench.dump.formats.npy import NpySource, write_npy
from workbench.dump.payload.blocks import BLOCK

OTHER = list(KERNELS)[-1]
FIXED = settings(derandomize=True, deadline=None)


@pytest.fixture
def save(tmp_path):
    """A function that writes an array to a new file and returns its source."""
    number = itertools.count()

    def write(array, name: str | None = None) -> NpySource:
        path = tmp_path / f"{next(number)}.npy"
        with path.open("wb") as file:
            write_npy(file, array, name or array.dtype.name)
        return NpySource(str(path))

    return write


def noisy(size: int, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    g = rng.standard_normal(size).astype(np.float32)
    return g * (1 + np.float32(1e-3) * rng.standard_normal(size).astype(np.float32)), g


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("types", list(itertools.product(["float16", "float32", "int8"], repeat=2)))
def test_files_in_blocks_give_what_arrays_in_memory_give(save, kernel, types):
    size = 2 * BLOCK + 77  # several blocks even of int8, of different length on both sides
    t, g = (np.clip(x * 40, -127, 127).astype(k) for x, k in zip(noisy(size), types, strict=True))
    found = measure(save(t), save(g), kernel=kernel)
    want = measure_arrays(t, g, kernel=kernel)
    assert found.size == size
    assert found.worst == want.worst
    assert found.mismatch == want.mismatch == 0
    for name, value in want.metrics.items():
        assert found.metrics[name] == pytest.approx(value, rel=1e-12), name


def test_a_file_and_an_array_can_be_compared(save):
    t, g = noisy(100)
    assert measure(save(t), ArraySource(g)) == measure_arrays(t, g)


def test_bfloat16_files_are_compared_with_their_float32_original(save):
    _, g = noisy(1000)
    found = measure(save(g, "bfloat16"), save(g))
    assert 0 < found.error < 2**-8
    assert found.metrics["OneThousandthErrRatio"] < 1


@pytest.mark.parametrize("orders", ["FF", "FC", "CF"])
def test_memory_order_does_not_change_what_is_compared(tmp_path, orders):
    rng = np.random.default_rng(2)
    t, g = rng.standard_normal((2, 30, 40))
    for name, x, order in zip("tg", (t, g), orders, strict=True):
        np.save(tmp_path / f"{name}.npy", np.asarray(x, order=order))
    found = measure(NpySource(str(tmp_path / "t.npy")), NpySource(str(tmp_path / "g.npy")))
    assert found == measure_arrays(t, g)


def test_big_endian_files_are_compared_by_value(tmp_path):
    t, g = noisy(50)
    np.save(tmp_path / "t.npy", t.astype(">f4"))
    np.save(tmp_path / "g.npy", g)
    found = measure(NpySource(str(tmp_path / "t.npy")), NpySource(str(tmp_path / "g.npy")))
    assert found == measure_arrays(t, g)


def test_another_shape_of_the_same_size_is_compared_flat(save):
    x = np.arange(6, dtype=np.float32)
    assert measure(save(x), save(x.reshape(2, 3))).equal


def test_different_counts_are_a_reason_not_an_error(save):
    found = measure(save(np.zeros(6, np.float32)), save(np.zeros(7, np.float32)))
    check_said(found.reason, "compare/sizes-differ", target=6, golden=7)
    assert found.metrics == {}
    assert found.error == math.inf


@pytest.mark.parametrize("bad", [0, 1])
def test_a_broken_file_raises_on_either_side_and_leaves_nothing_open(save, tmp_path, bad):
    path = tmp_path / "broken.npy"
    path.write_bytes(b"\x93NUMPY\x01\x00v\x00{'descr': '<f4'")
    good = save(np.zeros(3, np.float32))
    pair = [good, good]
    pair[bad] = NpySource(str(path))
    with pytest.raises(FormatError, match=r"broken\.npy: byte"):
        measure(*pair)
    assert measure(good, good).equal


@pytest.mark.parametrize("array", [np.array(["a"]), np.array([None]), np.zeros(2, "V2")])
def test_what_holds_no_numbers_is_refused(array):
    with refused("compare/not-numbers", FormatError, got=array.dtype):
        measure_arrays(array, array)


def test_cancelling_stops_at_the_next_block_and_measures_nothing(save):
    t, g = (save(x) for x in noisy(4 * BLOCK // 4))
    answers = iter([False, False, True])
    found = measure(t, g, cancelled=lambda: next(answers))
    assert found.reason == CANCELLED
    assert found.metrics == {}
    assert next(answers, None) is None


@pytest.mark.parametrize("kernel", KERNELS)
def test_memory_does_not_grow_with_the_tensor(save, kernel):
    small, large = (save(np.ones(size, np.float16)) for size in (5_000_000, 12_000_000))
    measure(small, small, kernel=kernel)
    peaks = []
    for source in (small, large):
        tracemalloc.start()
        measure(source, source, kernel=kernel)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < peaks[0] + 1_000_000


def test_results_do_not_depend_on_what_the_thread_measured_before(save):
    t, g = (save(x) for x in noisy(1000))
    before = measure(t, g)
    measure_arrays(np.full(20_000, np.nan), np.zeros(20_000))
    assert measure(t, g) == before


def test_threads_measure_independently(save):
    from concurrent.futures import ThreadPoolExecutor

    pairs = [tuple(save(x) for x in noisy(30_000, seed)) for seed in range(6)]
    alone = [measure(*pair, kernel="numpy") for pair in pairs]
    with ThreadPoolExecutor(3) as pool:
        together = list(pool.map(lambda pair: measure(*pair, kernel="numpy"), pairs * 4))
    assert together == alone * 4


@pytest.mark.parametrize("threads", [1, 2, 3, 7])
def test_the_number_of_threads_changes_nothing(save, threads):
    t, g = (x.astype(np.float16) for x in noisy(3 * SEGMENT + 12_345))
    t[[5, SEGMENT + 5]] = np.nan
    t[2 * SEGMENT + 9] = 1000
    pair = save(t), save(g)
    found = measure(*pair, kernel=OTHER, threads=threads)
    assert found == measure(*pair, kernel=OTHER)
    assert found.worst == 2 * SEGMENT + 9
    assert found.mismatch == 2
    want = measure_arrays(t, g, kernel=OTHER)
    assert found.metrics == pytest.approx(want.metrics, rel=1e-12)


@pytest.fixture
def meet(monkeypatch):
    """What the caller's thread does while two others have opened the files and wait with their first segment."""
    caller, arrived, done = threading.current_thread(), threading.Barrier(3), threading.Event()
    segment = OpenPair.segment

    def waiting(pair, first, count):
        if threading.current_thread() is not caller and not done.is_set():
            arrived.wait(60)
            done.wait(60)
        return segment(pair, first, count)

    def meet(call):
        if not done.is_set():
            arrived.wait(60)
            call()
            done.set()

    monkeypatch.setattr(OpenPair, "segment", waiting)
    return meet


def test_a_file_cut_under_several_threads_raises_in_the_callers(save, meet):
    whole, cut = (save(np.ones(16 * SEGMENT, np.int8)) for _ in "tg")

    def cut_it() -> bool:
        meet(lambda: os.truncate(cut.path, SEGMENT))
        return False

    before = set(threading.enumerate())
    with pytest.raises(FormatError, match=r"byte \d+"):
        measure(whole, cut, kernel=OTHER, cancelled=cut_it, threads=3)
    assert set(threading.enumerate()) <= before


def test_cancelling_stops_every_thread(save, meet):
    source = save(np.ones(16 * SEGMENT, np.int8))

    def cancelled() -> bool:
        meet(lambda: None)
        return True

    before = set(threading.enumerate())
    found = measure(source, source, kernel=OTHER, cancelled=cancelled, threads=3)
    assert found.reason == CANCELLED
    assert set(threading.enumerate()) <= before
