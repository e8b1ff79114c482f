"""Slices: both kernels give what plain NumPy gives slice by slice, in pieces or whole; the worst is named."""

from __future__ import annotations

import itertools

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kit.kernels import KERNELS
from workbench.comparison.limits import Limits, using
from workbench.comparison.measure import slices
from workbench.comparison.measure.metrics import Sums, finish, merge
from workbench.comparison.measure.slices import Slice, begin_of, grid_of, slice_sums, worst_slice
from workbench.comparison.measure.tensors import measure, measure_arrays
from workbench.dump.formats.npy import NpySource, write_npy

OTHER = list(KERNELS)[-1]
TYPES = {
    "float16": np.float16, "float32": np.float32, "float64": np.float64, "bfloat16": ml_dtypes.bfloat16,
}  # fmt: skip
SHAPES = [
    (128, 256), (4, 70, 100), (2, 3, 40, 65), (8, 16, 7, 7), (33, 64), (2, 600), (3, 20000), (2, 2, 17, 130),
    (5, 3, 1, 200),
]  # fmt: skip


def pair(shape, kind, seed=0):
    """Two tensors a thousandth apart, with channels of very different scale and some numbers that are none."""
    rng = np.random.default_rng(seed)
    golden = rng.standard_normal(shape) * np.exp2(rng.integers(-8, 8, shape[-1]))
    target = golden * (1 + 1e-3 * rng.standard_normal(shape))
    for side, value in ((target, np.nan), (golden, np.inf), (target, -np.inf)):
        side.flat[rng.integers(0, side.size, 3)] = value
    golden.flat[7] = target.flat[7] = np.inf
    return target.astype(kind), golden.astype(kind)


def oracle(target, golden):
    """Σ|g| and Σ|d| of every slice, by axis; those of tiles by their first element."""
    t, g = target.astype(np.float64), golden.astype(np.float64)
    with np.errstate(all="ignore"):
        off = np.abs(t - g)
    finite = np.isfinite(off)
    off, own = np.where(finite, off, 0.0), np.where(finite, np.abs(g), 0.0)
    found = {}
    for axis, length in enumerate(t.shape):
        if length > 1 and t.size // length >= 32:
            for number in range(length):
                found[axis, number] = own.take(number, axis).sum(), off.take(number, axis).sum()
    if t.shape[-1] >= 64 and t.shape[-2] >= 2:
        for lead in np.ndindex(t.shape[:-2]):
            for row, column in itertools.product(
                range(0, t.shape[-2], 16), range(0, t.shape[-1], 16)
            ):
                place = (*lead, slice(row, row + 16), slice(column, column + 16))
                if own[place].size >= 32:
                    found[*lead, row, column] = own[place].sum(), off[place].sum()
    return found


def told(sums):
    """What a kernel gathered, keyed as `oracle` does."""
    found = {}
    for axis, own, off in slice_sums(sums):
        for number, figures in enumerate(zip(own.tolist(), off.tolist(), strict=True)):
            key = begin_of(Slice(axis, number), sums.grid) or (axis, number)
            if axis >= 0 or figures != (0.0, 0.0):
                found[key] = figures
    return found


def gather(kernel, target, golden, cuts=()):
    """Merge the sums of the pieces between ``cuts``, each by a kernel of its own."""
    total, flat = Sums(), (target.ravel(), golden.ravel())
    edges = [0, *sorted(cut % target.size for cut in cuts), target.size]
    for low, high in itertools.pairwise(edges):
        part = KERNELS[kernel](grid_of(golden.shape))
        middle = (low + high) // 2
        for start, end in ((low, middle), (middle, high)):
            if end > start:
                part.add(flat[0][start:end], flat[1][start:end], start)
        total = merge(part.sums(), total)
    return total.slices


def agree(found, want, close=2e-5):
    assert found.keys() == want.keys()
    for place, figures in want.items():
        assert found[place] == pytest.approx(figures, rel=close), place


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_every_slice_has_the_sums_of_its_elements(shape, kind, kernel):
    target, golden = pair(shape, TYPES[kind])
    agree(told(gather(kernel, target, golden)), oracle(target, golden))


@pytest.mark.parametrize("kernel", KERNELS)
@settings(derandomize=True, deadline=None, max_examples=25)
@given(st.sampled_from(SHAPES), st.lists(st.integers(0, 10**6), max_size=5))
def test_merged_parts_give_what_the_whole_gives(kernel, shape, cuts):
    target, golden = pair(shape, np.float32)
    agree(told(gather(kernel, target, golden, cuts)), oracle(target, golden))


@settings(derandomize=True, deadline=None, max_examples=25)
@given(st.sampled_from(SHAPES), st.integers(1, 10**6))
def test_the_parts_of_two_kernels_merge_in_either_order(shape, cut):
    target, golden = pair(shape, np.float16)
    cut %= target.size
    parts = []
    for kernel, low, high in (("numpy", 0, cut), (OTHER, cut, target.size)):
        part = KERNELS[kernel](grid_of(shape))
        part.add(target.ravel()[low:high], golden.ravel()[low:high], low)
        parts.append(part.sums())
    for a, b in (parts, parts[::-1]):
        agree(told(merge(a, b).slices), oracle(target, golden))


def test_segments_of_a_large_file_are_gathered_by_several_threads(tmp_path, monkeypatch):
    monkeypatch.setattr("workbench.comparison.measure.reading.SEGMENT", 10_007)
    target, golden = pair((40, 30, 100), np.float32)
    for name, array in (("t", target), ("g", golden)):
        with (tmp_path / name).open("wb") as file:
            write_npy(file, array, "float32")
    sources = [NpySource(tmp_path / name) for name in ("t", "g")]
    for threads in (1, 3):
        found = measure(*sources, kernel=OTHER, threads=threads)
        assert found.worst_slice == measure_arrays(target, golden, kernel="numpy").worst_slice


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize(
    ("spoil", "worst"),
    [
        (np.s_[:, 3], Slice(1, 3)),
        (np.s_[9], Slice(0, 9)),
        (np.s_[16:32, 32:48], Slice(-1, 1 * 16 + 2)),
    ],
    ids=["channel", "token", "tile"],
)
def test_the_worst_slice_is_named_with_its_error(kernel, spoil, worst):
    golden = np.random.default_rng(0).uniform(1, 2, (64, 256)).astype(np.float32)
    golden[:, 200] = 3e4
    target = golden.copy()
    target[spoil] *= -1
    found = measure_arrays(target, golden, kernel=kernel)
    assert found.worst_slice == worst
    assert found.slice_error == pytest.approx(2.0, rel=1e-5)
    assert (found.metrics["WorstSliceAxis"], found.metrics["WorstSliceIndex"]) == worst


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("shape", [(2000,), (30, 30), (100, 10, 3), (600, 1), ()], ids=str)
def test_a_tensor_without_slices_is_one_slice(kernel, shape):
    golden = np.ones(shape, np.float32)
    found = measure_arrays(golden * np.float32(1.5), golden, kernel=kernel)
    assert (grid_of(shape), found.worst_slice, found.slice_error) == (None, None, 0.0)
    assert found.metrics["WorstSliceError"] == pytest.approx(0.5)
    assert (found.metrics["WorstSliceAxis"], found.metrics["WorstSliceIndex"]) == (-1, -1)


@pytest.mark.parametrize("kind", [np.int32, np.bool_, np.complex64])
def test_integers_truth_values_and_complex_numbers_have_no_slices(kind):
    golden = np.ones((64, 64), kind)
    target = golden.copy()
    target[3] = 0
    assert measure_arrays(target, golden).worst_slice is None


def test_agreement_has_no_worst_slice():
    golden = np.ones((64, 64), np.float32)
    found = measure_arrays(golden.copy(), golden)
    assert (found.worst_slice, found.metrics["WorstSliceError"]) == (None, 0.0)


def test_a_slice_of_zeros_that_should_be_zeros_agrees_and_one_that_should_be_others_is_infinitely_off():
    golden = np.ones((64, 64), np.float32)
    golden[:, 5] = golden[:, 6] = 0
    target = golden.copy()
    target[3, 6] = 1e-3
    found = measure_arrays(target, golden)
    assert (found.worst_slice, found.slice_error) == (Slice(1, 6), np.inf)


def test_what_leaves_the_range_of_the_sums_accuses_no_slice():
    golden = np.full((64, 64), 3e38, np.float32)
    golden[:, 0] = 1.0
    target = golden.copy()
    target[:, 0] = 1.5
    for kernel in KERNELS:
        found = measure_arrays(target, golden, kernel=kernel)
        assert (found.worst_slice, found.slice_error) == (Slice(1, 0), pytest.approx(0.5))


def test_the_number_of_sums_is_bounded():
    for shape in ((1 << 24, 3), (1 << 22, 64), (10, 1 << 20), (7, 5, 3, 1 << 18)):
        grid = grid_of(shape)
        if grid is not None:
            assert grid.rows <= slices._MOST_ROWS
            assert grid.width <= slices._WIDEST


def test_merging_nothing_changes_nothing():
    target, golden = pair((64, 64), np.float32)
    sums = gather("numpy", target, golden)
    assert slices.merge_slices(None, sums) is slices.merge_slices(sums, None) is sums
    assert worst_slice(None) is None
    assert finish(Sums(size=1, finite=1)).worst_slice is None


SHIFTS = {"none": 0.0, "small": 2.0**-8, "near": 1.01 * 2.0**-6, "large": 0.25}
"""How far a channel is off, of itself; below 2^-6 no slice is looked at."""


def with_a_shift(shape, kind, shift, row):
    golden = np.random.default_rng(3).uniform(1, 2, shape).astype(kind)
    target = golden.astype(np.float64)
    target[row:, 3] *= 1 + shift
    return target.astype(kind), golden


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("row", [0, 900], ids=["from the first row", "in the last rows"])
@pytest.mark.parametrize("shift", SHIFTS)
def test_what_was_read_before_a_slice_can_be_off_counts_as_well(shift, row, kernel):
    target, golden = with_a_shift((1000, 100), np.float32, SHIFTS[shift], row)
    found = measure_arrays(target, golden, kernel=kernel)
    if SHIFTS[shift] < 2.0**-6:
        assert (found.worst_slice, found.metrics["WorstSliceError"]) == (None, found.error)
        return
    error, place = worst_slice(gather(kernel, target, golden))
    assert found.worst_slice == place
    assert found.slice_error == pytest.approx(error, rel=1e-5)


@pytest.mark.parametrize("shift", SHIFTS)
def test_neither_threads_nor_kernels_change_the_worst_slice(shift, tmp_path, monkeypatch):
    monkeypatch.setattr("workbench.comparison.measure.reading.SEGMENT", 10_007)
    target, golden = with_a_shift((1000, 100), np.float16, SHIFTS[shift], 700)
    for name, array in (("t", target), ("g", golden)):
        with (tmp_path / name).open("wb") as file:
            write_npy(file, array, "float16")
    sources = [NpySource(tmp_path / name) for name in ("t", "g")]
    one, three = (measure(*sources, kernel=OTHER, threads=n) for n in (1, 3))
    other = measure(*sources, kernel="numpy")
    assert one == three
    assert one.worst_slice == other.worst_slice
    assert one.metrics["WorstSliceError"] == pytest.approx(other.metrics["WorstSliceError"], 1e-5)


@pytest.mark.parametrize("kernel", KERNELS)
def test_one_element_beside_a_golden_of_zeros_has_its_slices_looked_at(kernel):
    golden = np.ones((600, 100), np.float32)
    golden[:, 6] = 0
    target = golden.copy()
    target[590, 6] = 1e-6
    found = measure_arrays(target, golden, kernel=kernel)
    assert (found.worst_slice, found.slice_error) == (Slice(1, 6), np.inf)


def test_a_lower_limit_looks_at_more_slices():
    target, golden = with_a_shift((1000, 100), np.float32, SHIFTS["small"], 0)
    with using(Limits(slice_least=2.0**-9)):
        found = measure_arrays(target, golden)
    assert (found.worst_slice, found.slice_error) == (Slice(1, 3), pytest.approx(2.0**-8, rel=1e-4))
