"""Figures of the device: the cases of MindSpore's own system test, and what no kernel takes."""

import math

import ml_dtypes
import numpy as np
import pytest

from workbench.core.tensors import TensorSpec
from workbench.dump.formats.file import FileName
from workbench.dump.statistics.compute import device_statistics_of
from workbench.dump.statistics.print import format_row

FOUR = ("max", "min", "avg", "l2norm")
PARTS = FileName("npy", "Add", "a", 17, 0, 0, "output", 0, "DefaultFormat")
INF = math.inf


def printed(array, precision="high", categories=FOUR):
    values = device_statistics_of(array, categories, precision=precision)
    spec = TensorSpec(array.dtype.name, array.shape)
    line = format_row(PARTS, spec, array.nbytes, values, categories)
    return line.rstrip("\n").split('"')[2]


@pytest.mark.parametrize(
    ("values", "high", "low"),
    [
        ([40000] * 3, ",40000,40000,40000,69282,", ",40000,40000,40000,inf,"),
        ([1, 2, 3], ",3,1,2,3.74166,", ",3,1,2,3.74219,"),
        ([1, 2, INF], ",inf,1,inf,inf,", ",inf,1,inf,inf,"),
        ([-INF, 2, -10], ",2,-inf,-inf,inf,", ",2,-inf,-inf,inf,"),
        ([-INF] * 3, ",-inf,-inf,-inf,inf,", ",-inf,-inf,-inf,inf,"),
        ([1, 1, 2], ",2,1,1.33333,2.44949,", ",2,1,1.33301,2.44922,"),
    ],
)
def test_low_precision_rounds_average_and_norm_to_the_tensors_own_format(values, high, low):
    x = np.float16(values)
    assert printed(x) == high
    assert printed(x, "low") == low


def test_what_a_kernel_does_not_take_is_null():
    assert printed(np.int32([1, 4])) == ",4,1,2.5,null,"
    assert printed(np.float64([3, 4])) == ",4,3,3.5,null,"
    assert printed(np.uint16([3, 4])) == ",null,null,null,null,"
    assert printed(np.complex64([3, 4])) == ",null,null,null,null,"
    assert printed(np.empty((0,), np.float32)) == ",null,null,null,null,"


def test_a_bool_tensor_has_words_and_those_with_high_precision_alone():
    x = np.bool_([True, False])
    assert printed(x) == ",True,False,null,null,"
    assert printed(x, "low") == ",null,null,null,null,"


def test_other_categories_are_left_to_the_host():
    assert printed(np.float32([1]), categories=("count", "max", "md5")) == ",null,1,null,"


def test_whole_numbers_keep_their_digits():
    assert printed(np.int64([2**53 + 1, 3]), categories=("max",)) == ",9007199254740993,"


def test_bfloat16_is_a_number_format_of_its_own():
    x = np.array([1, 1, 2], ml_dtypes.bfloat16)
    assert device_statistics_of(x, ("avg",), precision="low") == {"Avg Value": 1.3359375}
    high = device_statistics_of(x, ("avg",))["Avg Value"]
    assert high == np.float32(4 / 3)
