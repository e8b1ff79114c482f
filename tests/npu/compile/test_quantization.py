"""The words that dequantization scales by, and how exactly they are followed."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.ops import OPS, run_kernel

VECTORS = [
    (1.0, None, 0x40003F800000),
    (0.1, None, 0x40003DCCC000),
    (0.1, -3, 0x7FA03DCCC000),
    (0.0078125, 7, 0x40E03C000000),
]
"""Scale, offset and word, from CANN."""


def words(*inputs, **settings):
    arrays = [np.array([one], np.float32) for one in inputs if one is not None]
    defaults = OPS["TransQuantParamV2"].defaults
    return run_kernel("TransQuantParamV2", arrays, {**defaults, **settings})[0]


@pytest.mark.parametrize(("scale", "offset", "word"), VECTORS)
def test_a_scale_becomes_the_word_of_the_hardware(scale, offset, word):
    assert words(scale, offset).tolist() == [word]


@given(st.floats(2**-90, 2**90, width=32), st.integers(-(2**31) + 1, 2**31 - 1), st.integers(0, 1))
def test_dequantizing_by_a_word_is_dequantizing_by_its_nineteen_bits(scale, total, mode):
    word = words(scale, round_mode=mode)
    x = np.array([total], np.int32)
    settings = OPS["AscendDequant"].defaults
    (got,) = run_kernel("AscendDequant", [x, word], settings)
    used = Fraction(
        float(run_kernel("AscendDequant", [np.array([1], np.int32), word], settings)[0][0])
    )
    assert abs(used / Fraction(scale) - 1) <= Fraction(1, 2**10 if mode == 0 else 2**11)
    assert mode == 1 or used <= Fraction(scale)
    assert abs(Fraction(float(got[0])) - total * used) <= abs(total * used) / 2**22


@given(st.floats(-1e6, 1e6), st.floats(2**-30, 2**30, width=32))
def test_an_offset_leaves_the_scale_alone(offset, scale):
    (both,), (alone,) = words(scale, offset).tolist(), words(scale).tolist()
    assert both & 0x4000FFFFFFFF == alone
    signed = (both >> 37 & 0x1FF ^ 0x100) - 0x100
    assert signed == min(max(round(offset), -256), 255)
