"""The Cast instruction to integers: towards zero, saturated."""

import math

import numpy as np
import pytest

from workbench.npu.rounding import to_integer


@pytest.mark.parametrize("name", ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64"])
def test_floats_are_cut_off_and_saturate(name):
    limits = np.iinfo(name)
    x = np.float32([2.5, 3.5, -2.5, -0.4, 0.6, 1e30, -1e30, np.inf, -np.inf, np.nan])
    want = [min(max(math.trunc(v), limits.min), limits.max) for v in x[:5].tolist()]
    want += [limits.max, limits.min, limits.max, limits.min, 0]
    assert to_integer(x, name).tolist() == want


def test_integers_saturate_among_themselves():
    x = np.array([300, -300, 7, 2**40], np.int64)
    assert to_integer(x, "int8").tolist() == [127, -128, 7, 127]
    assert to_integer(x, "uint8").tolist() == [255, 0, 7, 255]
    assert to_integer(x, "int4").astype(int).tolist() == [7, -8, 7, 7]
    assert to_integer(np.array([2**64 - 1], np.uint64), "int64").tolist() == [2**63 - 1]
    assert to_integer(np.array([True, False]), "int32").tolist() == [1, 0]
