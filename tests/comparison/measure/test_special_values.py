"""Every value that makes other tools pass what differs, or fail what agrees, and our answer.

The cases are those which the field's tools are known to get wrong (the comment names the wrong
answer), and the ones that any tool must define. Both kernels give the same answers.
"""

from __future__ import annotations

import math

import ml_dtypes
import numpy as np
import pytest

from kit.kernels import KERNELS
from workbench.comparison.measure.tensors import measure_arrays
from workbench.core.words import Message

INF, NAN = math.inf, math.nan
F16, F32, F64, I64, U64 = np.float16, np.float32, np.float64, np.int64, np.uint64
BF16 = ml_dtypes.bfloat16
RAMP = np.arange(1, 101, dtype=F32)


def f32(*values):
    return np.array(values, F32)


# name: (target, golden, what must hold)
CASES = {
    # zero golden: relative errors were 0 (dropped), or 8388.6 for 0.001 against 0
    "one golden zero, target 5": (
        f32(5, 10), f32(0, 10),
        {"equal": False, "error": 0.5, "MaxRelativeError": 0.5, "MeanRelativeError": 0.25,
         "MaxAbsoluteError": 5, "OneThousandthErrRatio": 0.5},
    ),
    "one golden zero, target 0.001": (
        np.array([0.001, 1.0]), np.array([0.0, 1.0]),
        {"equal": False, "MaxRelativeError": 0.001, "MaxAbsoluteError": 0.001},
    ),
    # all errors were 0 and the verdict "no error"
    "golden all zero, target all 7": (
        f32(7, 7, 7), f32(0, 0, 0),
        {"equal": False, "error": INF, "RelativeEuclideanDistance": INF,
         "MaxRelativeError": 7, "MeanRelativeError": 7, "CosineSimilarity": 0,
         "OneThousandthErrRatio": 0},
    ),
    "target all zero": (
        f32(0, 0), f32(3, 4),
        {"equal": False, "error": 1, "CosineSimilarity": 0, "TargetZero": 2},
    ),
    "both all zero": (
        f32(0, 0), f32(0, 0),
        {"equal": True, "error": 0, "CosineSimilarity": 1, "MaxRelativeError": 0,
         "OneThousandthErrRatio": 1, "worst": -1},
    ),
    "zeros of both signs": (f32(0.0, -0.0), f32(-0.0, 0.0), {"equal": True, "error": 0}),
    # near zero is treated like zero: 1e-17 against 0 of a tensor of scale 1 is no error of 1
    "rounding residue beside ones": (
        np.array([1e-17, 1.0]), np.array([2e-17, 1.0]),
        {"equal": False, "MaxRelativeError": 1e-17, "error": 1e-17},
    ),
    # NaN: the verdict was "no error"
    "target all NaN": (
        f32(NAN, NAN), f32(1, 2),
        {"equal": False, "mismatch": 2, "error": INF, "CosineSimilarity": NAN,
         "TargetNaN": 2, "OneThousandthErrRatio": 0},
    ),
    "one NaN in the target": (
        f32(NAN, 2, 3), f32(1, 2, 3),
        {"equal": False, "mismatch": 1, "error": 0, "NonFiniteMismatch": 1, "MaxAbsoluteError": 0,
         "OneThousandthErrRatio": 2 / 3},
    ),
    "one NaN in the golden": (
        f32(1, 2), f32(1, NAN), {"equal": False, "mismatch": 1, "GoldenNaN": 1, "TargetNaN": 0},
    ),
    # counted as perfect agreement
    "NaN at the same place": (
        f32(NAN, 2), f32(NAN, 2), {"equal": False, "mismatch": 1, "OneThousandthErrRatio": 0.5},
    ),
    "NaN of both signs": (
        np.array([0x7FC00000, 0xFFC00000], np.uint32).view(F32), f32(1, 1),
        {"equal": False, "mismatch": 2, "TargetNaN": 2},
    ),
    # cosine 1, all errors 0
    "+Inf against -Inf": (
        f32(INF, 1), f32(-INF, 1),
        {"equal": False, "mismatch": 1, "TargetPosInf": 1, "GoldenNegInf": 1, "TargetNegInf": 0},
    ),
    "the same infinities": (
        f32(INF, -INF, 1), f32(INF, -INF, 1),
        {"equal": True, "mismatch": 0, "error": 0, "CosineSimilarity": 1,
         "OneThousandthErrRatio": 1},
    ),
    "nothing but the same infinity": (
        f32(INF, INF), f32(INF, INF),
        {"equal": True, "mismatch": 0, "error": 0, "CosineSimilarity": 1,
         "TargetMax": NAN},
    ),
    "Inf against a number": (
        f32(INF, 1), f32(65504, 1), {"equal": False, "mismatch": 1, "error": 0},
    ),
    "float16 overflow against its float32 value": (
        np.array([INF, 1], F16), f32(70000, 1), {"equal": False, "mismatch": 1},
    ),
    # KL divergence and cosine saw nothing
    "y = 2x + 3": (2 * RAMP + 3, RAMP, {"equal": False, "error": lambda e: 1 < e < 1.1}),
    "y = 2x": (
        2 * RAMP, RAMP,
        {"equal": False, "error": 1, "CosineSimilarity": 1, "MaxRelativeError": 1,
         "FiveThousandthsErrRatio": 0},
    ),
    "y = -x": (-RAMP, RAMP, {"equal": False, "error": 2, "CosineSimilarity": -1}),
    # cosine 1, KL 0
    "constant 4 against 3": (
        np.full(50, 4, F32), np.full(50, 3, F32),
        {"equal": False, "error": 1 / 3, "CosineSimilarity": 1,
         "TargetStd": 0, "GoldenStd": 0},
    ),
    "constant 3 against 4": (
        np.full(50, 3, F32), np.full(50, 4, F32), {"equal": False, "error": 0.25},
    ),
    # cosine 0: the norm overflowed float32
    "identical 1e30": (
        np.full(9, 1e30, F32), np.full(9, 1e30, F32),
        {"equal": True, "error": 0, "CosineSimilarity": 1},
    ),
    "1e30 against its double": (
        np.full(9, 1e30, F32), np.full(9, 2e30, F32),
        {"equal": False, "error": lambda e: abs(e - 0.5) < 1e-6, "CosineSimilarity": 1},
    ),
    "identical 1e300": (
        np.full(9, 1e300), np.full(9, 1e300), {"equal": True, "error": 0, "CosineSimilarity": 1},
    ),
    "1e300 against its double": (
        np.full(9, 1e300), np.full(9, 2e300),
        {"equal": False, "error": 0.5, "CosineSimilarity": 1,
         "MeanAbsoluteError": 1e300, "RootMeanSquareError": 1e300, "TargetMean": 1e300,
         "TargetStd": 0},
    ),
    "a difference beyond float64": (
        np.array([1.7e308]), np.array([-1.7e308]),
        {"equal": False, "error": 2, "MaxAbsoluteError": INF, "CosineSimilarity": -1},
    ),
    "1e-300 against its double": (
        np.full(9, 1e-300), np.full(9, 2e-300),
        {"equal": False, "error": 0.5, "CosineSimilarity": 1,
         "OneThousandthErrRatio": 0},
    ),
    "float32 subnormals": (
        np.array([1, 2, 3], np.uint32).view(F32), np.array([1, 2, 6], np.uint32).view(F32),
        {"equal": False, "error": 3 / math.sqrt(41),
         "OneThousandthErrRatio": 2 / 3, "GoldenZero": 0},
    ),
    "float16 subnormals flushed to zero": (
        np.zeros(2, F16), np.array([1, 3], np.uint16).view(F16),
        {"equal": False, "error": 1, "TargetZero": 2, "GoldenZero": 0},
    ),
    # float32 lost the difference
    "int64 that differ by 1 near 2^40": (
        np.array([2**40 + 1], I64), np.array([2**40], I64),
        {"equal": False, "MaxAbsoluteError": 1, "error": 2.0**-40},
    ),
    "int64 that differ by 1 near 2^60": (
        np.array([2**60 + 1, 5], I64), np.array([2**60, 5], I64),
        {"equal": False, "MaxAbsoluteError": 1, "MeanAbsoluteError": 0.5, "worst": 0},
    ),
    "uint64 that differ by 1 at the top": (
        np.array([2**64 - 1], U64), np.array([2**64 - 2], U64),
        {"equal": False, "MaxAbsoluteError": 1},
    ),
    "int64 at both ends": (
        np.array([2**63 - 1], I64), np.array([-(2**63)], I64),
        {"equal": False, "error": 2, "MaxAbsoluteError": 2.0**64},
    ),
    "int64 against uint64, equal": (
        np.array([2**62 + 1], I64), np.array([2**62 + 1], U64), {"equal": True, "error": 0},
    ),
    "int64 against uint64, off by 1": (
        np.array([2**62 + 1], I64), np.array([2**62], U64),
        {"equal": False, "MaxAbsoluteError": 1},
    ),
    "int64 against the float64 beside it": (
        np.array([2**60 + 1], I64), np.array([2.0**60]), {"equal": False, "MaxAbsoluteError": 1},
    ),
    # several algorithms raised
    "bool, equal": (
        np.array([True, False]), np.array([True, False]),
        {"equal": True, "error": 0, "CosineSimilarity": 1},
    ),
    "bool, different": (
        np.array([True, True]), np.array([True, False]),
        {"equal": False, "error": 1, "MaxAbsoluteError": 1, "MaxRelativeError": 1},
    ),
    "bool bytes beyond 1": (
        np.array([2, 0], np.uint8).view(np.bool_), np.array([True, False]), {"equal": True},
    ),
    "bool against float": (np.array([True, False]), f32(1, 0), {"equal": True}),
    # "unsupported"
    "0-d": (
        np.array(2, F32), np.array(1, F32),
        {"equal": False, "size": 1, "error": 1, "CosineSimilarity": 1, "MaxAbsoluteError": 1},
    ),
    "0-d, equal": (np.array(2, F32), np.array(2, F32), {"equal": True, "CosineSimilarity": 1}),
    "no elements": (
        np.empty((0, 3), F32), np.empty((0, 3), F32),
        {"equal": True, "size": 0, "error": 0, "metrics": {}, "reason": None},
    ),
    "one element against none": (
        f32(1), f32(), {"equal": False, "reason": Message("compare/sizes-differ", target=1, golden=0)},
    ),
    "different element counts": (
        f32(1, 2, 3), f32(1, 2),
        {"equal": False, "error": INF, "metrics": {}, "reason": Message("compare/sizes-differ", target=3, golden=2)},
    ),
    "another shape, equal": (
        f32(1, 2, 3, 4).reshape(2, 2), f32(1, 2, 3, 4), {"equal": True},
    ),
    # skipped, for their types differ
    "float16 against float32": (
        np.array([0.1, 1], F16), f32(0.1, 1),
        {"equal": False, "reason": None, "error": lambda e: 1e-5 < e < 1e-4},
    ),
    "bfloat16 against float32, equal": (
        np.array([1.5, -2], BF16), f32(1.5, -2), {"equal": True, "error": 0},
    ),
    "float8 against bfloat16": (
        np.array([1.5, -2], ml_dtypes.float8_e4m3fn), np.array([1.5, -2.5], BF16),
        {"equal": False, "MaxAbsoluteError": 0.5},
    ),
    "int4 against int8": (
        np.array([-8, 7], ml_dtypes.int4), np.array([-8, 7], np.int8), {"equal": True},
    ),
    "int8 wrapped around": (
        np.array([-128], np.int8), np.array([128], np.uint8),
        {"equal": False, "MaxAbsoluteError": 256, "error": 2},
    ),
    "complex, one imaginary part off": (
        np.array([3 + 4j, 1j], np.complex64), np.array([3 + 4j, 0j], np.complex64),
        {"equal": False, "size": 2, "error": 0.2, "worst": 1, "MaxAbsoluteError": 1},
    ),
    "complex against real": (
        np.array([2 + 0j]), np.array([2.0]), {"equal": True, "size": 1},
    ),
}  # fmt: skip


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("case", CASES)
def test_special_values_are_judged_as_pinned(case, kernel):
    target, golden, expected = CASES[case]
    found = measure_arrays(target, golden, kernel=kernel)
    for name, want in expected.items():
        got = getattr(found, name) if hasattr(found, name) else found.metrics[name]
        if callable(want):
            assert want(got), (name, got)
        elif want is None or isinstance(want, Message):
            assert got == want
        else:
            assert got == pytest.approx(want, rel=1e-12, abs=0, nan_ok=True), name


def test_every_title_of_the_table_is_measured():
    from workbench.comparison.measure.metrics import METRICS

    assert list(measure_arrays(f32(1), f32(2)).metrics) == list(METRICS)
