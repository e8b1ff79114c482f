"""How far data magnify errors: known sums, from whole tensors and from their statistics."""

import math

import numpy as np
import pytest

from workbench.comparison.measure.conditioning import condition_number, golden_norm
from workbench.comparison.measure.measure import Measured
from workbench.comparison.measure.statistics import measure_statistics
from workbench.comparison.measure.tensors import measure
from workbench.core.tensors import ArraySource
from workbench.graph.graph import Const, Op, Param, Value

STATISTICS = ("Max Value", "Min Value", "Avg Value", "L2Norm Value")


def whole(array):
    return Measured(None, measure(ArraySource(array), ArraySource(array)))


def stated(array, *left_out):
    wide = array.astype(np.float64)
    figures = [wide.max(), wide.min(), wide.mean(), math.sqrt(np.square(wide).sum())]
    golden = dict(zip(STATISTICS, figures, strict=True))
    target = {title: value for title, value in golden.items() if title not in left_out}
    return Measured(None, measure_statistics(target, golden, array.size))


KNOWN = {
    "tensors": whole,
    "statistics": stated,
    "no norm in the target": lambda x: stated(x, "L2Norm Value"),
}


@pytest.mark.parametrize("known", KNOWN.values(), ids=KNOWN)
def test_a_reduction_magnifies_by_what_cancels(known):
    x = np.array([[3.0, 1.0], [-4.0, 1.0]], np.float32)
    op = Op("r", "ReduceSum", (Value(0), Const((0,))))
    expected = math.sqrt(27 / 5)
    assert golden_norm(known(x)) == pytest.approx(math.sqrt(27))
    assert condition_number(op, {0: known(x)}, {0: known(x.sum(0))}) == pytest.approx(expected)


@pytest.mark.parametrize("known", KNOWN.values(), ids=KNOWN)
def test_a_normalization_magnifies_by_the_mean_that_it_takes_away(known):
    x = np.array([9.0, 11.0], np.float32)
    found = condition_number(Op("n", "LayerNorm", (Value(0),)), {0: known(x)}, {0: known(x - 10)})
    assert found == pytest.approx(math.sqrt(101))


def test_a_sum_of_which_a_term_is_not_known_has_no_estimate():
    x = np.array([1.0, 2.0], np.float32)
    op = Op("b", "BiasAdd", (Value(0), Param(0), Const(0, "int64")))
    assert condition_number(op, {0: whole(x)}, {0: whole(x)}) is None
    assert condition_number(op, {0: whole(x), 1: whole(x)}, {0: whole(2 * x)}) == pytest.approx(1)
