"""Elements of a pair one by one, against NumPy on arrays whose answers are known by construction."""

import math

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from kit.cases import examples
from kit.words import refused
from workbench.comparison.measure.elements import Elements, read_elements
from workbench.core.errors import FormatError
from workbench.core.tensors import ArraySource

FINITE = hnp.arrays(
    np.float32,
    hnp.array_shapes(max_dims=3, max_side=6),
    elements=st.floats(-1e6, 1e6, width=32),
)


def elements(target, golden, **options):
    target, golden = np.asarray(target), np.asarray(golden)
    return read_elements(
        ArraySource(target), ArraySource(golden), (target.dtype.name, golden.dtype.name), **options
    )


def test_the_worst_element_has_its_index_both_values_and_every_error():
    golden = np.ones((2, 3), np.float32)
    target = golden.copy()
    target[1, 2] = np.nextafter(np.float32(1), np.float32(2))
    target[0, 1] = 3
    first, second = elements(target, golden).worst()
    assert (first.index, first.target, first.golden) == ((0, 1), 3.0, 1.0)
    assert (first.absolute, first.relative) == (2.0, 2.0)
    assert (second.index, second.ulp) == ((1, 2), 1.0)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_ulps_are_those_of_numpy(dtype):
    golden = np.array([1, -1.5, 0, 6e-8, 3e4], dtype)
    target = np.array([1.25, -1, 1, 2e-7, 3.1e4], dtype)
    found = elements(target, golden).errors("ulp")
    wide = np.longdouble
    units = np.abs(target.astype(wide) - golden.astype(wide)) / np.spacing(np.abs(golden))
    assert found == pytest.approx(np.minimum(units, np.finfo(np.float64).max).astype(np.float64))


def test_ulps_are_of_the_coarser_format():
    golden = np.array([1.0], np.float32)
    target = np.array([1.0 + 2.0**-7], ml_dtypes.bfloat16)
    assert elements(target, golden).errors("ulp")[0] == 1.0


@pytest.mark.parametrize(
    ("target", "golden", "error"),
    [
        (math.nan, math.nan, math.inf),
        (math.nan, 1.0, math.inf),
        (1.0, math.nan, math.inf),
        (math.inf, math.inf, 0.0),
        (math.inf, -math.inf, math.inf),
        (1.0, math.inf, math.inf),
        (0.0, -0.0, 0.0),
    ],
)
@pytest.mark.parametrize("kind", ["absolute", "relative", "ulp"])
def test_nan_agrees_with_nothing_and_infinity_with_itself(target, golden, error, kind):
    assert elements(np.float32([target]), np.float32([golden])).errors(kind)[0] == error


def test_near_zero_the_scale_of_the_tensor_counts():
    found = elements(np.float64([1e-3, 2.0]), np.float64([0.0, 4.0]))
    assert found.errors("relative") == pytest.approx([1e-3 / 4, 0.5])
    assert found.worst(2, "relative")[1].relative == pytest.approx(1e-3 / 4)


def test_integers_of_64_bits_are_told_apart_exactly():
    big = np.int64([2**53, 5])
    found = elements(big + np.int64([1, 0]), big)
    assert found.differing == 1
    assert found.worst()[0].target == 2**53 + 1
    assert found.kinds == ("absolute", "relative")
    assert math.isnan(found.worst()[0].ulp)


def test_what_overflows_the_figure_is_large_and_not_without_bound():
    ends = np.float32([3e38]), np.float32([-3e38])
    for kind in ("absolute", "relative", "ulp"):
        assert 1 < elements(*ends).errors(kind)[0] < math.inf
    assert elements(np.float64([1.0]), np.float64([0.0])).worst()[0].ulp < math.inf


def test_bool_and_complex_have_errors():
    assert elements(np.array([True, False]), np.array([False, False])).differing == 1
    found = elements(np.complex64([3 + 4j]), np.complex64([0]))
    assert found.errors()[0] == 5.0
    assert len(found.sample()[0]) == 1


@pytest.mark.parametrize("shape", [(), (0,), (3, 0, 2), (1, 1), (5,)])
def test_every_shape_has_a_heat_map(shape):
    golden = np.zeros(shape, np.float32)
    found = elements(golden + 1, golden)
    plane = found.heat_map()
    assert plane.values.size == (0 if 0 in shape else math.prod(shape))
    assert len(found.worst()) == math.prod(shape)
    assert found.histogram().zero == 0


def test_the_axes_along_which_the_error_varies_are_chosen():
    golden = np.ones((4, 3, 5, 2), np.float32)
    target = golden + np.arange(4, dtype=np.float32)[:, None, None, None]
    target += np.arange(5, dtype=np.float32)[None, None, :, None]
    assert elements(target, golden).most_varying_axes() == (0, 2)


def test_an_error_without_bound_makes_its_axis_telling():
    golden = np.ones((4, 3, 5), np.float32)
    target = golden + np.arange(5, dtype=np.float32) * 1e-6
    target[2] = np.nan
    assert elements(target, golden).most_varying_axes() == (0, 2)


def test_a_plane_lies_where_it_is_told_and_holds_the_errors_there():
    rng = np.random.default_rng(3)
    golden, target = rng.normal(size=(2, 4, 5, 6)).astype(np.float32)
    found = elements(target, golden)
    assert np.array_equal(found.heat_map((2, 1), (3, 0, 0)).values, abs(target - golden)[3].T)
    worst = np.unravel_index(np.argmax(abs(target - golden)), golden.shape)
    assert found.heat_map().at == worst


def test_a_large_plane_keeps_the_largest_error_of_every_cell():
    target = np.zeros((700, 3), np.float32)
    target[699, 2] = 7
    found = elements(target, np.zeros_like(target)).heat_map()
    assert found.step == (3, 1)
    assert found.values.shape == (234, 3)
    assert found.values[233, 2] == 7.0


@settings(max_examples=examples(40), deadline=None)
@given(FINITE)
def test_every_element_is_in_the_histogram_once(golden):
    target = (golden * np.float32(1.01)).astype(np.float32)
    found = elements(target, golden)
    for kind in found.kinds:
        bars = found.histogram(kind)
        assert sum(bars.counts) + bars.zero + bars.unbounded == golden.size


@settings(max_examples=examples(40), deadline=None)
@given(FINITE)
def test_the_worst_come_in_order_and_none_is_worse_than_they(golden):
    target = np.flip(golden)
    found = elements(target, golden).worst(3)
    off = np.sort(np.abs(target.astype(float) - golden.astype(float)).ravel())[::-1]
    off = off[off > 0][:3]
    assert [one.absolute for one in found] == pytest.approx(off.tolist(), rel=1e-6)


def test_of_a_large_tensor_the_first_slices_are_read():
    golden = np.arange(24, dtype=np.float32).reshape(4, 3, 2)
    found = elements(golden, golden, limit=13)
    assert (found.shape, found.whole, found.size, found.total) == ((2, 3, 2), (4, 3, 2), 12, 24)
    assert elements(golden, golden, limit=5).shape == (1, 2, 2)
    assert elements(golden, golden, limit=1).shape == (1, 1, 1)


def test_tensors_of_different_size_have_no_elements_in_common():
    with refused("compare/sizes-differ", FormatError, target=2, golden=3):
        elements(np.zeros(2), np.zeros(3))


def test_what_nobody_knows_is_refused():
    found = elements(np.zeros((2, 2)), np.ones((2, 2)))
    with refused("compare/count", got=0, limit=10_000):
        found.worst(0)
    with refused("core/choice", subject="error", got="x"):
        found.errors("x")
    with refused("compare/axes", known=[0, 1], got=(0, 2)):
        found.heat_map((0, 2))
    with refused("compare/index", shape=(2, 2), got=(0, 5)):
        found.heat_map((0, 1), (0, 5))


def test_a_sample_keeps_the_worst_element():
    golden = np.zeros(50_000, np.float32)
    target = golden.copy()
    target[31_337] = 9
    assert 9.0 in elements(target, golden).sample()[1]
    assert isinstance(elements(target, golden), Elements)
