"""Rounding against a search among neighbors, and against ml_dtypes."""

import math

import numpy as np
import pytest

from kit.oracle.exact_numbers import STORAGE, TABLED, all_values, probes, search
from workbench.npu.profiles import HF32, HF32_AWAY
from workbench.npu.rounding import ROUND


def test_hifloat8_has_the_values_of_its_documents():
    """Largest 2^15, least normal 2^-15, least of all 2^-22; 38 exponents; 1 + 3 bits around 1."""
    values = all_values("hifloat8")
    assert values.size == 256 - 3  # NaN, two infinities
    assert values[-1] == 2.0**15
    assert values[values > 0][0] == 2.0**-22
    assert 2.0**-15 * 1.5 in values
    assert 2.0**-16 * 1.5 not in values
    around_one = values[(values >= 1) & (values < 2)]
    assert around_one.tolist() == [1 + k / 8 for k in range(8)]
    assert len(set(np.frexp(values[values > 0])[1].tolist())) == 38


@pytest.mark.parametrize("name", TABLED)
def test_narrow_rounding_finds_the_nearest_value(name):
    """Every value, every midpoint, and what lies beside them."""
    values = all_values(name)
    x = probes(values)
    got = ROUND[name](x)
    # the format's own values come back; a number between two values becomes the closer one
    below = np.searchsorted(values, x.astype(np.float64), side="right") - 1
    below = np.clip(below, 0, values.size - 2)
    low, high = values[below], values[below + 1]
    inside = np.abs(x.astype(np.float64)) <= values[-1]
    wide = x.astype(np.float64)
    with np.errstate(invalid="ignore"):
        nearest = np.minimum(wide - low, high - wide)
        np.testing.assert_array_equal(np.abs(got - wide)[inside], np.abs(nearest)[inside])
        tie = inside & (wide - low == high - wide)
    assert tie.sum() >= values.size - 2
    if name == "hifloat8":
        outer = np.where(np.abs(low) > np.abs(high), low, high)
        np.testing.assert_array_equal(got[tie], outer[tie])
    else:
        bits = got[tie].astype(STORAGE[name]).view(f"u{np.dtype(STORAGE[name]).itemsize}")
        assert (bits % 2 == 0).all()


@pytest.mark.parametrize("name", STORAGE)
def test_narrow_rounding_equals_ml_dtypes(name):
    """Every value and midpoint with its neighbors, and numbers of every size."""
    bits = np.random.default_rng(2).integers(0, 2**32, 200_000, dtype=np.uint64)
    x = np.concatenate([probes(all_values(name)), bits.astype(np.uint32).view(np.float32)])
    with np.errstate(all="ignore"):
        want = x.astype(STORAGE[name]).astype(np.float32)
    got = ROUND[name](x)
    np.testing.assert_array_equal(got, want)
    number = ~np.isnan(want)
    np.testing.assert_array_equal(np.signbit(got[number]), np.signbit(want[number]))


@pytest.mark.parametrize("name", ["float16", "bfloat16"])
def test_rounding_of_random_numbers_equals_a_search(name):
    values = all_values(name).tolist()
    limit = values[-1] + (values[-1] - values[-2]) / 2
    bits = np.random.default_rng(1).integers(0, 2**32, 4000, dtype=np.uint64).astype(np.uint32)
    x = bits.view(np.float32)
    x = x[np.isfinite(x)]
    got = ROUND[name](x)
    assert got.tolist() == [search(v, values, limit) for v in x.tolist()]
    np.testing.assert_array_equal(np.signbit(got), np.signbit(x))


def test_hf32_finds_the_nearest_value_of_eleven_mantissa_bits():
    """Every pattern of the lowest 13 bits, under many exponents and signs."""
    heads = np.arange(0, 2**19, 4099, dtype=np.uint32) << np.uint32(13)
    bits = (heads[:, None] | np.arange(2**13, dtype=np.uint32)).ravel()
    bits = bits[bits % 2**31 < 0x7F7FF000]  # finite, and not rounded up to infinity
    x = bits.view(np.float32)
    below = bits & np.uint32(0xFFFFF000)
    low = below.view(np.float32).astype(np.float64)
    high = (below + np.uint32(4096)).view(np.float32).astype(np.float64)
    to_low, to_high = np.abs(x - low), np.abs(high - x)
    even = np.where(below & np.uint32(4096), high, low)
    for name, at_tie in ((HF32, even), (HF32_AWAY, high)):
        want = np.where(to_low < to_high, low, np.where(to_low > to_high, high, at_tie))
        np.testing.assert_array_equal(ROUND[name](x), want)
    assert np.count_nonzero(to_low == to_high) == bits.size / 4096


def test_vectors_of_the_documents():
    x = np.float32([1 + 2**-12, 0.1])
    assert ROUND[HF32](x).tolist() == [1.0, 0.100006103515625]
    assert ROUND[HF32_AWAY](x).tolist()[0] == 1.00048828125
    x = np.float32([1.00390625, 0.1, 3.4e38])
    brain = ROUND["bfloat16"](x).view(np.uint32) >> np.uint32(16)
    assert brain.tolist() == [0x3F80, 0x3DCD, 0x7F80]


@pytest.mark.parametrize("name", sorted(ROUND))
def test_rounding_keeps_nan_infinity_and_the_sign_of_zero(name):
    quiet = np.uint32([0x7FC00000, 0xFFC00000, 0x7F800001, 0xFFFFFFFF]).view(np.float32)
    x = np.concatenate([quiet, np.float32([np.inf, -np.inf, -0.0, 0.0, 1.0])])
    got = ROUND[name](x)
    assert np.isnan(got[:4]).all()
    if name == "float8_e4m3fn":
        assert np.isnan(got[4:6]).all()
    else:
        assert got[4:6].tolist() == [math.inf, -math.inf]
    assert got[6:].tolist() == [0.0, 0.0, 1.0]
    assert np.signbit(got[6]) == (name != "hifloat8")  # it has one zero
    assert not np.signbit(got[7])


@pytest.mark.parametrize("name", sorted(ROUND))
def test_the_ends_of_a_format_are_where_its_rounding_says(name):
    row = ROUND[name]
    top = np.float32([row.largest, -row.largest])
    np.testing.assert_array_equal(row(top), top)
    with np.errstate(over="ignore"):
        end = np.float32(row.overflow)
    assert not np.isfinite(row(np.float32([end, -end]))).any()
    before = np.nextafter(end, np.float32(0))
    if name not in (HF32, HF32_AWAY, "bfloat16") or before < row.overflow:
        np.testing.assert_array_equal(row(np.float32([before, -before])), top)


@pytest.mark.parametrize("name", sorted(ROUND))
def test_saturation_gives_the_largest_value_and_zero_for_nan(name):
    largest = ROUND[name].largest
    top = np.finfo(np.float32).max
    x = np.float32([top, -top, np.inf, -np.inf, np.nan, 1.0])
    got = ROUND[name](x, saturate=True).tolist()
    assert got == [largest, -largest, largest, -largest, 0.0, 1.0]


@pytest.mark.parametrize("name", sorted(ROUND))
def test_rounding_twice_changes_nothing_and_keeps_shapes(name):
    rng = np.random.default_rng(2)
    x = (rng.standard_normal((3, 50000)) * 10.0 ** rng.integers(-9, 4, (3, 50000))).astype(
        np.float32
    )
    once = ROUND[name](x)
    assert once.shape == x.shape
    np.testing.assert_array_equal(ROUND[name](once), once)
    view = x[:, ::7]
    np.testing.assert_array_equal(ROUND[name](view), once[:, ::7])
    assert ROUND[name](np.zeros((0, 3), np.float32)).shape == (0, 3)


def test_large_arrays_are_rounded_like_small_ones_across_chunk_borders():
    x = np.random.default_rng(3).standard_normal(100_001).astype(np.float32)
    x[32768 * 2 + 5] = 70000.0  # one chunk takes the slow way
    with np.errstate(over="ignore"):
        want = x.astype(np.float16).astype(np.float32)
    np.testing.assert_array_equal(ROUND["float16"](x), want)


@pytest.mark.parametrize("name", sorted(ROUND))
def test_an_array_of_ones_own_is_rounded_where_it_is_and_no_other(name):
    x = np.random.default_rng(4).standard_normal((3, 40000)).astype(np.float32) * 1000
    want = ROUND[name](x)
    kept, view = x.copy(), x[:, ::3]
    np.testing.assert_array_equal(ROUND[name](view, own=True), want[:, ::3])
    np.testing.assert_array_equal(x, kept)
    got = ROUND[name](x, own=True)
    assert got is x
    np.testing.assert_array_equal(got, want)
