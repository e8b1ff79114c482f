"""Both kernels give what exact arithmetic gives, in pieces or whole, in any order."""

from __future__ import annotations

import functools
import itertools
import math

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kit.kernels import KERNELS, variants_here
from kit.oracle.exact_numbers import exact
from workbench.comparison.measure.kernel_compiled import CompiledKernel
from workbench.comparison.measure.metrics import Sums, finish, merge
from workbench.comparison.measure.tensors import measure_arrays

FIXED = settings(derandomize=True, deadline=None)

TYPES = {
    name: np.dtype(kind)
    for name, kind in {
        "bool": np.bool_, "int8": np.int8, "uint8": np.uint8, "int16": np.int16,
        "uint16": np.uint16, "int32": np.int32, "uint32": np.uint32, "int64": np.int64,
        "uint64": np.uint64, "float16": np.float16, "float32": np.float32, "float64": np.float64,
        "bfloat16": ml_dtypes.bfloat16, "float8_e5m2": ml_dtypes.float8_e5m2,
        "float8_e4m3fn": ml_dtypes.float8_e4m3fn, "int4": ml_dtypes.int4,
        "complex64": np.complex64, "complex128": np.complex128,
    }.items()
}  # fmt: skip
ORDER_FREE = {"worst"}


def sample(name: str, size: int, seed: int) -> np.ndarray:
    """Numbers of a type: every bit pattern for the small types, mixed magnitudes for floats."""
    rng = np.random.default_rng(seed)
    kind = TYPES[name]
    if name == "bool":
        return rng.integers(0, 2, size).astype(bool)
    if name == "int4":
        return rng.integers(-8, 8, size).astype(kind)
    if kind.kind == "c":
        part = "float32" if name == "complex64" else "float64"
        return sample(part, 2 * size, seed).view(kind)
    if kind.itemsize <= 2 or kind.kind in "iu":
        return np.frombuffer(rng.bytes(size * kind.itemsize), kind)
    scale = np.exp2(rng.integers(-40, 40, size))
    x = rng.standard_normal(size) * scale
    odd = rng.integers(0, 12, size)
    for value, special in enumerate((0.0, -0.0, np.nan, np.inf, -np.inf)):
        x[odd == value] = special
    return x.astype(kind)


def close(got: float, want: float, slack: float) -> bool:
    if math.isnan(want):
        return math.isnan(got)
    return got == want or abs(got - want) <= 1e-12 * abs(want) + slack


def compare(found, want: dict[str, float]) -> None:
    """Counts, extremes and shares equal; sums to 1e-12; the rest to the rounding of its scale."""
    for name, value in want.items():
        if name in ("equal", "error"):
            assert close(float(getattr(found, name)), float(value), 0.0), name
            continue
        slack = 0.0
        if name.endswith(("Mean", "Std")):
            peak = max(abs(want[name[:6] + "Min"]), abs(want[name[:6] + "Max"]))
            slack = peak * (1e-13 if name.endswith("Mean") else 1e-15)
        if name == "CosineSimilarity":
            slack = 1e-15
        if name == "RelativeBias":  # terms of both signs
            slack = 1e-14 * found.error if math.isfinite(found.error) else 0.0
        if name == "RelativeBiasZ":
            slack = 1e-12
        assert close(found.metrics[name], value, slack), (name, found.metrics[name], value)


@pytest.mark.parametrize("target", TYPES)
def test_every_pair_of_types_agrees_with_exact_arithmetic(target):
    t = sample(target, 30, 1)
    for golden in TYPES:
        g = sample(golden, 30, 2)
        want = exact(t, g)
        for kernel in KERNELS:
            compare(measure_arrays(t, g, kernel=kernel), want)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("name", TYPES)
def test_a_few_wrong_elements_are_measured_exactly(name, kernel):
    t = sample(name, 100, 3)
    g = t.copy()
    g[[7, 50]] = t[[50, 7]]
    compare(measure_arrays(t, g, kernel=kernel), exact(t, g))


FLOATS = st.floats(width=32) | st.sampled_from([0.0, -0.0, 1.0, 3.4e38, 1e-45, 2.0**-52, 1e-17])
WHOLE = st.integers(-(2**63), 2**63 - 1) | st.sampled_from([0, 1, 2**60, 2**60 + 1, -(2**63)])


@st.composite
def pairs(draw, elements, kind):
    size = draw(st.integers(1, 12))
    rows = st.lists(elements, min_size=size, max_size=size)
    t, g = np.array(draw(rows), kind), np.array(draw(rows), kind)
    same = draw(st.lists(st.booleans(), min_size=size, max_size=size))
    return np.where(same, g, t), g


@pytest.mark.parametrize("kernel", KERNELS)
@FIXED
@given(pairs(FLOATS, np.float32))
def test_any_float32_pair_agrees_with_exact_arithmetic(kernel, pair):
    compare(measure_arrays(*pair, kernel=kernel), exact(*pair))


@pytest.mark.parametrize("kernel", KERNELS)
@FIXED
@given(pairs(WHOLE, np.int64))
def test_any_int64_pair_agrees_with_exact_arithmetic(kernel, pair):
    compare(measure_arrays(*pair, kernel=kernel), exact(*pair))


@pytest.mark.parametrize("kernel", KERNELS)
@FIXED
@given(st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=8), st.data())
def test_int64_against_uint64_loses_no_difference(kernel, wholes, data):
    g = np.array(wholes, np.uint64)
    t = np.array([data.draw(st.just(min(x, 2**63 - 1)) | WHOLE) for x in wholes], np.int64)
    compare(measure_arrays(t, g, kernel=kernel), exact(t, g))


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float8_e5m2", "float8_e4m3fn"])
def test_every_bit_pattern_of_a_small_float_is_widened_exactly(name):
    kind = TYPES[name]
    patterns = np.arange(2 ** (8 * kind.itemsize)).astype(f"u{kind.itemsize}").view(kind)
    with np.errstate(invalid="ignore"):  # signalling NaNs
        wide = patterns.astype(np.float64)
    for kernel in KERNELS:
        found = measure_arrays(patterns, wide, kernel=kernel)
        odd = np.isnan(wide).sum()
        assert (found.metrics["MaxAbsoluteError"], found.mismatch) == (0, odd), kernel
        assert found.metrics["TargetNaN"] == odd


SIZES = [1, 4095, 8191, 8192, 8193, 16383, 16384, 16385, 65535, 65536, 65537, 200_003]


@functools.cache
def large(seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    g = rng.standard_normal(200_003).astype(np.float32)
    g[rng.integers(0, g.size, 5000)] = 0
    t = g + rng.standard_normal(g.size).astype(np.float32) * 1e-3
    t[rng.integers(0, t.size, 300)] = 0
    return t, g


def two_pass(t: np.ndarray, g: np.ndarray) -> dict[str, float]:
    """Figures of large finite pairs by one formula after the other; sums by math.fsum."""
    t, g = t.astype(np.float64), g.astype(np.float64)
    d = np.abs(t - g)
    scale = np.abs(g).max()
    relative = d / np.where(np.abs(g) > 2.0**-52, np.abs(g), scale)
    fsum = lambda x: math.fsum(x.tolist())  # noqa: E731
    size = t.size
    figures = {
        "MaxAbsoluteError": d.max(),
        "MeanAbsoluteError": fsum(d) / size,
        "RootMeanSquareError": math.sqrt(fsum(d * d) / size),
        "RelativeEuclideanDistance": math.sqrt(fsum(d * d) / fsum(g * g)),
        "AccumulatedRelativeError": fsum(relative),
        "MaxRelativeError": relative.max(),
        "CosineSimilarity": fsum(t * g) / math.sqrt(fsum(t * t) * fsum(g * g)),
        "RelativeBias": fsum((t - g) * g) / fsum(g * g),
        "RelativeBiasZ": fsum((t - g) * g) / math.sqrt(fsum(((t - g) * g) ** 2) or 1.0),
        "OneThousandthErrRatio": ((d == 0) | ((relative < 0.001) & (g != 0))).sum() / size,
        "FiveThousandthsErrRatio": ((d == 0) | ((relative < 0.005) & (g != 0))).sum() / size,
    }
    for side, x in (("Target", t), ("Golden", g)):
        mean = fsum(x) / size
        figures |= {f"{side}Min": x.min(), f"{side}Max": x.max(), f"{side}Zero": (x == 0).sum()}
        figures |= {f"{side}Mean": mean, f"{side}Std": math.sqrt(fsum((x - mean) ** 2) / size)}
    return figures


@functools.cache
def figures_of(size: int) -> dict[str, float]:
    """Those of the first elements of a large pair, for both kernels."""
    return two_pass(*(x[:size] for x in large(11)))


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("size", SIZES)
def test_chunks_of_any_size_agree_with_one_formula_after_the_other(kernel, size):
    t, g = (x[:size] for x in large(11))
    found = measure_arrays(t, g, kernel=kernel)
    compare(found, figures_of(size))
    assert found.worst == int(np.abs(t.astype(float) - g).argmax())


@pytest.mark.parametrize("place", [0, 8191, 8192, 16384, 65535, 65536, 200_002])
def test_one_odd_value_anywhere_is_found_and_spoils_nothing_else(place):
    clean = large(12)
    rest = two_pass(*(np.delete(x, place) for x in clean))
    names = ("AccumulatedRelativeError", "MeanAbsoluteError", "CosineSimilarity")
    for kernel, value, side in itertools.product(KERNELS, (math.nan, math.inf, -math.inf), (0, 1)):
        pair = [x.copy() for x in clean]
        pair[side][place] = value
        found = measure_arrays(*pair, kernel=kernel)
        assert found.mismatch == 1
        for name in names:
            assert found.metrics[name] == pytest.approx(rest[name], rel=1e-12), (name, kernel)


@pytest.mark.parametrize("kernel", KERNELS)
def test_the_worst_place_is_right_in_a_chunk_with_nan(kernel):
    t, g = (x.copy() for x in large(13))
    t[[5, 70_000, 150_000]] = math.nan
    t[150_007] = 1e6
    assert measure_arrays(t, g, kernel=kernel).worst == 150_007


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_large_mean_costs_the_deviation_no_digits(kernel):
    rng = np.random.default_rng(5)
    x = 1e8 + rng.standard_normal(50_000)
    std = math.sqrt(math.fsum((x - math.fsum(x.tolist()) / x.size) ** 2) / x.size)
    found = measure_arrays(x, x, kernel=kernel)
    assert found.metrics["TargetStd"] == pytest.approx(std, rel=1e-9)
    assert found.equal


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("sign", [1, -1])
def test_tensors_of_one_sign_have_the_right_extremes(kernel, sign):
    x = sign * np.linspace(0.5, 7.5, 20_000, dtype=np.float32)
    found = measure_arrays(x, x, kernel=kernel).metrics
    assert (found["TargetMin"], found["TargetMax"]) == (min(0.5 * sign, 7.5 * sign),
                                                        max(0.5 * sign, 7.5 * sign))  # fmt: skip


@pytest.mark.parametrize("variant", variants_here())
@pytest.mark.parametrize("name", ["int8", "float16", "bfloat16", "float32", "float64"])
def test_many_zeros_and_the_extremes_among_them_are_found(name, variant):
    kernel = CompiledKernel(variant=variant)
    target, golden = (np.zeros(20_011, TYPES[name]) for _ in range(2))
    target[[4_095, 20_010]] = -3, 5
    golden[19_999] = 2
    kernel.add(target, golden, 0)
    sums = kernel.sums()
    assert (sums.target_zero, sums.golden_zero) == (20_009, 20_010)
    assert (sums.target_min, sums.target_max) == (-3, 5)
    assert (sums.golden_min, sums.golden_max) == (0, 2)


@pytest.mark.parametrize("kernel", KERNELS)
def test_read_only_strided_and_byte_swapped_arrays_are_measured_too(kernel):
    t, g = (x[:1000] for x in large(14))
    want = measure_arrays(t, g, kernel=kernel)
    frozen = t.copy()
    frozen.flags.writeable = False
    strided = np.zeros((1000, 3), np.float32)
    strided[:, 1] = g
    shifted = np.frombuffer(b"x" + t.tobytes(), np.float32, offset=1)
    for left in (frozen, t.astype(">f4"), shifted):
        assert measure_arrays(left, strided[:, 1], kernel=kernel) == want


# ---------------------------------------------------------------- split and merge, permute


def gather(kernel: str, t: np.ndarray, g: np.ndarray, cuts: list[int]) -> Sums:
    """Merge the sums of the pieces between ``cuts``, each by a kernel of its own."""
    total = Sums()
    edges = [0, *sorted(cut % (t.size + 1) for cut in cuts), t.size]
    for low, high in itertools.pairwise(edges):
        part = KERNELS[kernel]()
        with np.errstate(all="ignore"):
            part.add(t[low:high], g[low:high], low)
        total = merge(total, part.sums())
    return total


def agree(a: Sums, b: Sums, ignored: frozenset[str] = frozenset()) -> None:
    peak = max(a.largest, 1e-300)
    slack = {"target_mean": peak, "golden_mean": peak, "target_golden": a.size * peak * peak,
             "target_m2": a.size * peak * peak * 1e-3, "golden_m2": a.size * peak * peak * 1e-3}  # fmt: skip
    for name, x, y in zip(Sums._fields, a, b, strict=True):
        if name == "slices":
            assert x is y is None  # tests/comparison/measure/test_slices.py
        elif name not in ignored:
            assert close(x, y, 1e-13 * slack.get(name, 0.0)), name


@pytest.mark.parametrize("kernel", KERNELS)
@FIXED
@given(pairs(FLOATS, np.float32), st.lists(st.integers(0, 12), max_size=4))
def test_merged_parts_give_what_the_whole_gives(kernel, pair, cuts):
    t, g = pair
    agree(gather(kernel, t, g, []), gather(kernel, t, g, cuts))


@pytest.mark.parametrize("kernel", KERNELS)
@settings(FIXED, max_examples=10)
@given(st.lists(st.integers(0, 200_003), min_size=1, max_size=6))
def test_large_parts_merge_like_the_whole(kernel, cuts):
    t, g = large(15)
    agree(gather(kernel, t, g, []), gather(kernel, t, g, cuts))


@pytest.mark.parametrize("kernel", KERNELS)
@FIXED
@given(pairs(FLOATS, np.float32), st.randoms(use_true_random=False))
def test_the_order_of_elements_does_not_matter(kernel, pair, random):
    order = list(range(pair[0].size))
    random.shuffle(order)
    moved = [x[order] for x in pair]
    agree(gather(kernel, *pair, []), gather(kernel, *moved, []), frozenset({"worst"}))


@FIXED
@given(pairs(FLOATS, np.float32), pairs(FLOATS, np.float32))
def test_merging_works_in_either_order_and_across_kernels(first, second):
    a, b = gather("numpy", *first, []), gather(list(KERNELS)[-1], *second, [])
    b = b._replace(worst=b.worst + first[0].size if b.worst >= 0 else -1)
    agree(merge(a, b), merge(b, a))
    agree(merge(a, Sums()), a)


@FIXED
@given(pairs(FLOATS, np.float32))
def test_swapping_the_sides_swaps_their_descriptions(pair):
    t, g = pair
    for kernel in KERNELS:
        there, back = measure_arrays(t, g, kernel=kernel), measure_arrays(g, t, kernel=kernel)
        assert there.equal == back.equal
        assert there.mismatch == back.mismatch
        for name in ("Min", "Max", "Mean", "Std", "NaN", "Zero"):
            ours, theirs = there.metrics[f"Target{name}"], back.metrics[f"Golden{name}"]
            assert ours == theirs or (ours != ours and theirs != theirs)


@FIXED
@given(pairs(st.integers(-100, 100), np.float64), st.integers(-300, 300))
def test_a_power_of_two_scales_errors_and_leaves_ratios(pair, exponent):
    t, g = pair
    scale = 2.0**exponent
    plain, scaled = measure_arrays(t, g), measure_arrays(t * scale, g * scale)
    assert scaled.error == pytest.approx(plain.error, rel=1e-12)
    assert scaled.metrics["MaxAbsoluteError"] == plain.metrics["MaxAbsoluteError"] * scale
    assert scaled.metrics["CosineSimilarity"] == pytest.approx(
        plain.metrics["CosineSimilarity"], rel=1e-12, abs=1e-15
    )
    assert scaled.metrics["OneThousandthErrRatio"] == plain.metrics["OneThousandthErrRatio"]


def test_an_unfinished_whole_is_finished_once():
    t, g = (x[:1000] for x in large(16))
    sums = gather("numpy", t, g, [300, 700])
    assert finish(sums).error == pytest.approx(measure_arrays(t, g).error, rel=1e-12)
