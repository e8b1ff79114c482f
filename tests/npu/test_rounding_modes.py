"""The oracle of rounding against a search among neighbors, ml_dtypes, and the fast rounding of the device."""

import math
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.oracle.exact_numbers import GRIDS, ROUND_MODES, STORAGE, TABLED, all_values, cast, probes
from workbench.npu.profiles import HF32, HF32_AWAY
from workbench.npu.rounding import ROUND


def neighbors(values, x):
    """Closest values of a format below and above each number that lies inside its range."""
    wide = x.astype(np.float64)
    inside = np.abs(wide) <= values[-1]
    wide = wide[inside]
    low = values[np.searchsorted(values, wide, side="right") - 1]
    high = values[np.searchsorted(values, wide, side="left")]
    return x[inside], wide, low, high


def odd_ones(name, low, high):
    """Of two neighbors, those whose code is odd; of zero and the least value, the latter."""
    if name == "hifloat8":
        codes = {float(v): i for i, v in enumerate(all_values(name))}
        middle = codes[0.0]
        return np.array(
            [a if (codes[a] - middle) % 2 else b for a, b in zip(low, high, strict=True)]
        )
    size = np.dtype(STORAGE[name]).itemsize
    odd = low.astype(STORAGE[name]).view(f"u{size}") % 2 == 1
    return np.where(odd, low, high)


@pytest.mark.parametrize("mode", ROUND_MODES)
@pytest.mark.parametrize("name", TABLED)
def test_every_mode_takes_the_neighbor_that_it_should(name, mode):
    """At every value and midpoint of the format, and beside them."""
    values = all_values(name)
    x, wide, low, high = neighbors(values, probes(values))
    got = cast(x, name, mode).astype(np.float64)
    exact = low == high
    np.testing.assert_array_equal(got[exact], wide[exact])
    x, wide, low, high, got = (a[~exact] for a in (x, wide, low, high, got))
    inner = np.where(np.abs(low) < np.abs(high), low, high)
    outer = np.where(np.abs(low) < np.abs(high), high, low)
    to_low, to_high = wide - low, high - wide
    near = np.where(to_low < to_high, low, high)
    tie = to_low == to_high
    if mode == "ODD" or (mode == "RINT" and name == "hifloat8"):
        return  # what is even where the spacing changes is checked below
    even = np.where(odd_ones(name, low, high) == low, high, low)
    want = {
        "RINT": np.where(tie, even, near),
        "ROUND": np.where(tie, outer, near),
        "FLOOR": low,
        "CEIL": high,
        "TRUNC": inner,
    }[mode]
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("name", STORAGE)
def test_odd_rounding_leaves_an_odd_last_bit_or_the_exact_value(name):
    values = all_values(name)
    x, wide, low, high = neighbors(values, probes(values))
    want = np.where(low == high, wide, odd_ones(name, low, high))
    np.testing.assert_array_equal(cast(x, name, "ODD").astype(np.float64), want)


@pytest.mark.parametrize("name", [*STORAGE, "float8_e8m0"])
def test_casting_to_nearest_equals_ml_dtypes(name):
    storage = STORAGE.get(name, ml_dtypes.float8_e8m0fnu)
    bits = np.random.default_rng(3).integers(0, 2**32, 100_000, dtype=np.uint64)
    x = np.concatenate([bits.astype(np.uint32).view(np.float32), np.float32([0, -0.0, 1, np.inf])])
    if name == "float8_e8m0":  # ml_dtypes rounds everything between its two least values up
        x = x[(x < 2.0**-127) | (x >= 2.0**-126)]
    with np.errstate(all="ignore"):
        want = x.astype(storage)
    got = cast(x, name)
    assert got.dtype == storage
    np.testing.assert_array_equal(got.astype(np.float32), want.astype(np.float32))


@pytest.mark.parametrize("name", sorted(ROUND))
def test_the_device_rounds_as_the_instruction_does(name):
    bits = np.random.default_rng(4).integers(0, 2**32, 100_000, dtype=np.uint64)
    x = bits.astype(np.uint32).view(np.float32)
    for saturate in (False, True):
        got = cast(x, name, saturate=saturate).astype(np.float32)
        np.testing.assert_array_equal(got, ROUND[name](x, saturate=saturate))


def test_float64_is_rounded_once():
    """Just above a midpoint of float16: by way of float32 it would go down."""
    x = np.float64([1 + 2.0**-11 + 2.0**-40])
    assert cast(x, "float16").tolist() == [1 + 2.0**-10]
    assert x.astype(np.float32).astype(np.float16).tolist() == [1.0]


@given(st.integers(-(2**63), 2**63 - 1), st.sampled_from(["float32", "float16", "bfloat16"]))
def test_large_integers_are_rounded_once(number, name):
    (got,) = cast(np.array([number]), name).astype(np.float64).tolist()
    if math.isinf(got):
        assert abs(number) >= ROUND[name].overflow
        return
    storage = STORAGE.get(name, np.float32)
    error = abs(Fraction(got) - number)
    for direction in (-np.inf, np.inf):
        with np.errstate(over="ignore"):
            other = float(np.nextafter(storage(got), storage(direction)))
        if math.isfinite(other):
            assert error <= abs(Fraction(other) - number)


def test_directed_modes_stop_at_the_largest_value():
    x = np.float32([70000.0, -70000.0])
    assert cast(x, "float16", "FLOOR").tolist() == [65504.0, -math.inf]
    assert cast(x, "float16", "CEIL").tolist() == [math.inf, -65504.0]
    assert cast(x, "float16", "TRUNC").tolist() == [65504.0, -65504.0]
    assert cast(x, "float16", "ODD").tolist() == [65504.0, -65504.0]
    assert cast(np.float32([np.inf]), "float16", "TRUNC").tolist() == [math.inf]


def test_both_tie_rules_of_hf32():
    x = np.float32([1 + 2**-12, 1 + 3 * 2**-12])
    assert cast(x, HF32).tolist() == [1.0, 1 + 2**-10]
    assert cast(x, HF32_AWAY).tolist() == [1 + 2**-11, 1 + 2**-10]


def test_scales_have_neither_zero_nor_sign():
    got = cast(np.float32([0.0, -2.0, np.inf, np.nan]), "float8_e8m0").astype(np.float64)
    assert np.isnan(got).all()
    least = 2.0**-127
    x = np.float64([1e-45, 1.4 * least, 1.6 * least, 2.9, 3.0])
    got = cast(x, "float8_e8m0").astype(np.float64)
    assert got.tolist() == [least, least, 2 * least, 2.0, 4.0]


def test_every_format_that_is_rounded_to_can_be_cast_to():
    assert ROUND.keys() <= GRIDS.keys()
    for name, grid in GRIDS.items():
        if name in ROUND:
            assert grid.largest == ROUND[name].largest
