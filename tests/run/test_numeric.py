"""Rounding against a search among neighbors, and the tables of profiles and modes."""

import bisect
import math

import ml_dtypes
import numpy as np
import pytest

from workbench.core.errors import GraphError
from workbench.core.tensors import TensorSpec
from workbench.graph import functional as F
from workbench.graph.tracer import trace
from workbench.run.numeric import (
    HF32,
    MODES,
    PROFILES,
    ROUND,
    Formats,
    numeric_model,
    round_bfloat16,
    round_float16,
    round_hf32,
)


def all_values(storage):
    """Every finite value of a 16-bit format, increasing, as float64."""
    with np.errstate(invalid="ignore"):
        values = np.arange(65536, dtype=np.uint16).view(storage).astype(np.float64)
    return np.unique(values[np.isfinite(values)])


def with_neighbors(points):
    """The points, and the float32 numbers just below and above each."""
    x = points.astype(np.float32)
    with np.errstate(over="ignore"):
        return np.concatenate(
            [x, np.nextafter(x, np.float32(-np.inf)), np.nextafter(x, np.float32(np.inf))]
        )


def probes(values):
    """Values of a format, the midpoints between them, and the float32 neighbors of both."""
    middles = (values[1:] + values[:-1]) / 2
    return np.concatenate([with_neighbors(values), with_neighbors(middles)])


def search(x, values, limit):
    """Nearest of the sorted values by distance, ties to the one with an even last bit."""
    if abs(x) >= limit:
        return math.copysign(math.inf, x)
    right = bisect.bisect_left(values, x)
    if right < len(values) and values[right] == x:
        return x
    low, high = values[right - 1], values[right]
    if x - low != high - x:
        return low if x - low < high - x else high
    step = high - low
    return low if (low / step) % 2 == 0 else high


@pytest.mark.parametrize(
    ("rounding", "storage"), [(round_float16, np.float16), (round_bfloat16, ml_dtypes.bfloat16)]
)
def test_rounding_to_16_bits_finds_the_nearest_value(rounding, storage):
    values = all_values(storage)
    x = probes(values)
    got = rounding(x)
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
    bits = got[tie].astype(storage).view(np.uint16)
    assert tie.sum() > 30000
    assert (bits % 2 == 0).all()


@pytest.mark.parametrize(
    ("rounding", "storage"), [(round_float16, np.float16), (round_bfloat16, ml_dtypes.bfloat16)]
)
def test_rounding_of_random_numbers_equals_a_search(rounding, storage):
    values = all_values(storage).tolist()
    limit = values[-1] + (values[-1] - values[-2]) / 2
    bits = np.random.default_rng(1).integers(0, 2**32, 4000, dtype=np.uint64).astype(np.uint32)
    x = bits.view(np.float32)
    x = x[np.isfinite(x)]
    got = rounding(x)
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
    for ties_away, at_tie in ((False, even), (True, high)):
        want = np.where(to_low < to_high, low, np.where(to_low > to_high, high, at_tie))
        np.testing.assert_array_equal(round_hf32(x, ties_away=ties_away), want)
    assert np.count_nonzero(to_low == to_high) == bits.size / 4096


def test_hf32_vectors_of_the_documents():
    x = np.float32([1 + 2**-12, 0.1])
    assert round_hf32(x).tolist() == [1.0, 0.100006103515625]
    assert round_hf32(x, ties_away=True).tolist()[0] == 1.00048828125


def test_bfloat16_vectors_of_the_documents():
    x = np.float32([1.00390625, 0.1, 3.4e38])
    assert [hex(b >> 16) for b in round_bfloat16(x).view(np.uint32).tolist()] == [
        "0x3f80",
        "0x3dcd",
        "0x7f80",
    ]


@pytest.mark.parametrize("name", sorted(ROUND))
def test_rounding_keeps_nan_infinity_and_the_sign_of_zero(name):
    quiet = np.uint32([0x7FC00000, 0xFFC00000, 0x7F800001, 0xFFFFFFFF]).view(np.float32)
    x = np.concatenate([quiet, np.float32([np.inf, -np.inf, -0.0, 0.0, 1.0])])
    got = ROUND[name](x)
    assert np.isnan(got[:4]).all()
    assert got[4:].tolist() == [math.inf, -math.inf, 0.0, 0.0, 1.0]
    assert np.signbit(got[6])
    assert not np.signbit(got[7])


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
    np.testing.assert_array_equal(round_float16(x), want)


def test_saturation_replaces_infinity_by_the_largest_value_and_nan_by_zero():
    x = np.float32([1e6, -1e6, np.inf, np.nan, 1.0])
    old, new = numeric_model("910a"), numeric_model("a2")
    assert old.round(x, "float16").tolist() == [65504.0, -65504.0, 65504.0, 0.0, 1.0]
    assert new.round(x, "float16").tolist()[:3] == [math.inf, -math.inf, math.inf]
    assert np.isnan(new.round(x, "float16")[3])
    assert old.round(x, "").tolist()[2:4] == [float(np.finfo(np.float32).max), 0.0]


def test_integers_always_saturate():
    x = np.float32([257.0, -5.0, np.nan, 3.5])
    for profile in PROFILES:
        assert numeric_model(profile).store(x, "uint8").tolist() == [255, 0, 0, 3]


def formats(profile, mode, op_type="Conv2D"):
    x, w = TensorSpec("float32", (1, 2, 5, 5)), TensorSpec("float32", (3, 2, 3, 3))
    graph = trace(lambda x, w: F.exp(F.relu(F.conv2d(x, w))), x, w)
    if op_type == "MatMul":
        two = TensorSpec("float32", (2, 2))
        graph = trace(lambda a, b: F.exp(F.relu(F.matmul(a, b))), two, two)
    return numeric_model(profile, mode).formats(graph)


def test_the_default_modes_round_cube_inputs_only():
    assert formats("910a", None) == [Formats("float16", ""), Formats(), Formats()]
    assert formats("a2", None) == [Formats(HF32, ""), Formats(), Formats()]
    assert formats("a2", None, "MatMul") == [Formats(), Formats(), Formats()]


def test_mixed_precision_follows_its_producer_and_spares_the_black_list():
    half = Formats("float16", "float16")
    assert formats("a2", "allow_mix_precision") == [half, half, Formats()]
    assert formats("a2", "force_fp16") == [half, half, half]
    assert formats("a2", "allow_fp32_to_fp16") == [half, Formats(), Formats()]


def test_every_mode_names_formats_that_exist():
    for rule in MODES.values():
        assert {rule.cube_in, rule.cube_out, rule.vector} <= {"", *ROUND}


@pytest.mark.parametrize(
    ("profile", "mode", "words"),
    [
        ("a9", None, "profile must be one of ['910a', 'a2'], got 'a9'"),
        ("a2", "fast", "precision mode must be one of ["),
        ("910a", "allow_fp32_to_bf16", "precision mode of Ascend 910A must be one of ["),
    ],
)
def test_unknown_names_are_refused_with_the_known_ones(profile, mode, words):
    with pytest.raises(GraphError) as error:
        numeric_model(profile, mode)
    assert words in str(error.value)
