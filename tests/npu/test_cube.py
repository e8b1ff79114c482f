"""The cube unit: error bounds of blocked accumulation, and shapes of every kind."""

import math
from functools import partial

import numpy as np
import pytest
from ops.cases import CASES

from workbench.npu.cube import BLOCK, CUBE
from workbench.npu.rounding import ROUND
from workbench.ops import OPS

round_float16 = ROUND["float16"]

U = 2.0**-24  # unit roundoff of float32


def gamma(n, u=U):
    """Higham's bound of n rounded additions."""
    return n * u / (1 - n * u)


def test_the_cube_unit_computes_exactly_the_operators_that_name_it():
    assert CUBE.keys() == {name for name, row in OPS.items() if row.engine == "cube"}


@pytest.mark.parametrize(
    ("name", "number"), [(name, i) for name in CUBE for i in range(len(CASES[name].examples))]
)
def test_blocks_give_the_result_of_the_loops(name, number):
    oracle, cases, *_ = CASES[name]
    inputs, settings = cases[number]
    single = [x.astype(np.float32) for x in inputs]
    got = CUBE[name](single, {**OPS[name].defaults, **settings}, None)[0]
    want = oracle(single, settings)[0]
    assert got.dtype == np.float32
    assert got.shape == want.shape
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)


def products(inner, seed=0):
    rng = np.random.default_rng(seed)
    left = round_float16(rng.uniform(0.5, 1, (4, inner)).astype(np.float32))
    right = round_float16(rng.uniform(0.5, 1, (inner, 5)).astype(np.float32))
    exact = np.array(
        [
            [math.fsum((left[i].astype(float) * right[:, j]).tolist()) for j in range(5)]
            for i in range(4)
        ]
    )
    return left, right, exact


PLAIN = {"transpose_a": False, "transpose_b": False}


@pytest.mark.parametrize("inner", [1, 16, 17, 256, 4096])
def test_blocked_accumulation_stays_within_its_bound(inner):
    """Exact products; 15 additions inside a block and one for each block."""
    left, right, exact = products(inner)
    error = np.abs(CUBE["MatMul"]([left, right], PLAIN, None)[0] - exact) / exact
    blocks = -(-inner // BLOCK)
    assert error.max() <= gamma(min(inner, BLOCK) - 1 + blocks)


def spread(rng, inner):
    """Magnitudes over 40 binades and signs of both kinds."""
    return rng.standard_normal(inner) * 2.0 ** rng.integers(-12, 13, inner)


def cancelling(rng, inner):
    """Numbers whose second half undoes the first."""
    first = spread(rng, inner // 2)
    return np.concatenate([first, -first])


def growing(_rng, inner):
    """A large number first, then small ones that a single float32 sum would lose."""
    return np.concatenate([[4096.0], np.full(inner - 1, 2.0**-10)])


def alternating(_rng, inner):
    """Large numbers of both signs that leave nothing but roundings behind."""
    return 20000.0 * (-1.0) ** np.arange(inner) * (1 + np.arange(inner) / inner / 2)


@pytest.mark.parametrize("data", [spread, cancelling, growing, alternating])
@pytest.mark.parametrize("name", ["float16", "bfloat16", "hf32", "hifloat8"])
@pytest.mark.parametrize("inner", [48, 1024])
def test_the_bound_holds_where_sums_cancel_or_absorb(data, name, inner):
    """|error| ≤ γ(15 + K/16) Σ|a·b|, against exact sums."""
    rng = np.random.default_rng(inner)
    left = ROUND[name](data(rng, inner).astype(np.float32).reshape(1, inner))
    right = ROUND[name](rng.uniform(0.5, 1.5, (inner, 3)).astype(np.float32))
    ((got,),) = CUBE["MatMul"]([left, right], PLAIN, None)
    for column in range(3):
        terms = (left[0].astype(float) * right[:, column]).tolist()
        bound = gamma(BLOCK - 1 + inner // BLOCK) * math.fsum(map(abs, terms))
        assert abs(got[column] - math.fsum(terms)) <= bound


INTEGERS = {"int8": (-128, 127), "uint8": (0, 255)}


@pytest.mark.parametrize("kind", INTEGERS)
def test_products_of_8_bit_integers_are_exact(kind):
    low, high = INTEGERS[kind]
    rng = np.random.default_rng(5)
    left = rng.integers(low, high + 1, (3, 1000)).astype(kind)
    right = rng.integers(low, high + 1, (1000, 4)).astype(kind)
    (got,) = CUBE["MatMul"]([left, right], PLAIN, None)
    assert got.dtype == np.int32
    assert got.tolist() == (left.astype(object) @ right.astype(object)).tolist()
    x = rng.integers(low, high + 1, (1, 20, 5, 5)).astype(kind)
    w = rng.integers(low, high + 1, (2, 20, 3, 3)).astype(kind)
    settings = {"group": 1, "stride": 1, "dilation": 1, "pad_mode": "valid"}
    (got,) = CUBE["Conv2D"]([x, w], settings, None)
    want = sum(
        x[:, None, :, i : i + 3, j : j + 3].astype(object) * w[:, :, i, j, None, None].astype(int)
        for i in range(3)
        for j in range(3)
    ).sum(axis=2)
    assert got.tolist() == want.tolist()


def test_sums_of_8_bit_integers_cannot_overflow_up_to_131071_and_saturate_beyond():
    worst = np.full((1, 131_072), -128, np.int8)
    (got,) = CUBE["MatMul"]([worst[:, 1:], worst[:, 1:].T], PLAIN, None)
    assert got.tolist() == [[131_071 * 128 * 128]]
    (got,) = CUBE["MatMul"]([worst, worst.T], PLAIN, None)
    assert got.tolist() == [[2**31 - 1]]


@pytest.mark.parametrize("inner", [256, 2048])
def test_half_accumulation_leaves_that_bound_and_keeps_its_own(inner):
    left, right, exact = products(inner)
    error = np.abs(CUBE["MatMul"]([left, right], PLAIN, round_float16)[0] - exact) / exact
    blocks = -(-inner // BLOCK)
    assert error.max() > 10 * gamma(BLOCK + blocks)
    assert error.max() <= gamma(blocks, 2.0**-11) + gamma(BLOCK + blocks)


def test_a_sum_that_float32_cannot_hold_shows_the_order_of_accumulation():
    """2^24 + 16 ones: adding ones one by one loses all of them, a block of 16 does not."""
    left = np.ones((1, 32), np.float32)
    right = np.ones((32, 1), np.float32)
    left[0, 0], right[0, 0] = 4096, 4096
    left[0, 1:16] = 0
    assert CUBE["MatMul"]([left, right], PLAIN, None)[0][0, 0] == 2**24 + 16


def test_wide_results_are_computed_in_tiles_with_the_same_numbers():
    """Up to the order inside a block, which is the host's."""
    rng = np.random.default_rng(1)
    left = round_float16(rng.uniform(0, 1, (70, 40)).astype(np.float32))
    right = round_float16(rng.uniform(0, 1, (40, 3000)).astype(np.float32))
    whole = CUBE["MatMul"]([left, right], PLAIN, None)[0]
    for start in (0, 900, 1000, 2950):
        piece = np.ascontiguousarray(right[:, start : start + 50])
        narrow = CUBE["MatMul"]([left, piece], PLAIN, None)[0]
        np.testing.assert_allclose(whole[:, start : start + 50], narrow, rtol=2 * gamma(19))


def test_a_block_holds_sixteen_products():
    """Sums of 16 ones reach 32768 in float16; there its spacing is 32, and 16 more are lost."""
    ones = np.ones((1, 40000), np.float32)
    assert CUBE["MatMul"]([ones, ones.T], PLAIN, round_float16)[0][0, 0] == 32768


@pytest.mark.parametrize(("channels", "want"), [(1, 2052), (5, 2048)])
def test_a_block_holds_four_kernel_elements_of_few_channels_and_one_of_many(channels, want):
    """2048 + 1 is lost in float16, unless four ones come in one block."""
    x = np.zeros((1, channels, 1, 8), np.float32)
    x[0, 0] = 1
    w = np.zeros((1, channels, 1, 8), np.float32)
    w[0, 0, 0] = [2048, 0, 0, 0, 1, 1, 1, 1]
    settings = {"group": 1, "stride": 1, "dilation": 1, "pad_mode": "valid"}
    assert CUBE["Conv2D"]([x, w], settings, round_float16)[0].item() == want


@pytest.mark.parametrize("stride", [1, 2])
def test_tall_images_are_convolved_in_strips_with_the_same_result(stride):
    rng = np.random.default_rng(2)
    x = rng.standard_normal((1, 3, 90 * stride, 40)).astype(np.float32)
    w = rng.standard_normal((64, 3, 3, 3)).astype(np.float32)
    settings = {"group": 1, "stride": (stride, 1), "dilation": 1, "pad_mode": "pad", "pad": 1}
    got = CUBE["Conv2D"]([x, w], settings, None)[0]
    padded = np.pad(x.astype(np.float64), ((0, 0), (0, 0), (1, 1), (1, 1)))
    for row in (0, 24, 25, 26, 51, 89):
        part = padded[0, :, row * stride : row * stride + 3, 7:10]
        want = (w.astype(np.float64) * part).sum((1, 2, 3))
        np.testing.assert_allclose(got[0, :, row, 7], want, rtol=1e-4, atol=1e-5)


def test_the_rounding_of_the_accumulator_can_saturate():
    left = np.full((1, 64), 200, np.float32)
    clip = partial(np.clip, a_min=-65504, a_max=65504)
    total = CUBE["MatMul"]([left, left.T], PLAIN, lambda x: clip(round_float16(x)))[0]
    assert total.tolist() == [[65504.0]]
