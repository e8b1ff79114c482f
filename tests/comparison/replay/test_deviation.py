"""How results were stored: a coarser format, bits cut off, or just as the graph says."""

import ml_dtypes
import numpy as np
import pytest

from kit.build.altered_runs import cut, rounded, truncated
from workbench.comparison.replay.deviation import Store, deviation_of, store_of

X = np.random.default_rng(11).standard_normal(4096) * 3
F32 = X.astype(np.float32)


def as_float32(change):
    return change(None, X).astype(np.float32)


FOUND = {
    "as it should be": (F32, F32, None),
    "rounding of float32": (np.nextafter(F32, np.float32(9)), F32, None),
    "bfloat16 in float32": (as_float32(rounded("bfloat16")), F32, Store("bfloat16", False)),
    "float16 in float32": (as_float32(rounded("float16")), F32, Store("float16", False)),
    "hf32 in float32": (as_float32(rounded("hf32")), F32, Store("hf32", False)),
    "bfloat16 cut in float32": (as_float32(truncated("bfloat16")), F32, Store("bfloat16", True)),
    "float16 out of its range": ((as_float32(rounded("float16")) * np.float32(2**30)), F32 * np.float32(2**30),
                                 Store("hf32", False)),
    "a result of few bits": (np.ones(99, np.float32), np.ones(99, np.float32), None),
    "few of many off the grid": (F32.astype(int).astype(np.float32),
                                 np.where(np.arange(4096) < 40, F32, F32.astype(int)).astype(np.float32), None),
    "float16, rounded": (X.astype(np.float16), X.astype(np.float16), None),
    "float16, cut": (cut(X, "float16").astype(np.float16), X.astype(np.float16), Store("float16", True)),
    "bfloat16, cut": (cut(X, "bfloat16").astype(ml_dtypes.bfloat16), X.astype(ml_dtypes.bfloat16),
                      Store("bfloat16", True)),
    "float16, a factor": ((X * 0.999).astype(np.float16), X.astype(np.float16), None),
    "float16, away from zero": (np.nextafter(X.astype(np.float16), np.float16(np.inf)), X.astype(np.float16), None),
    "few elements of float16": (cut(X[:20], "float16").astype(np.float16), X[:20].astype(np.float16), None),
    "other shapes": (F32[:9], F32[:8], None),
    "nothing": (F32[:0], F32[:0], None),
    "float64": (X, X * 1.1, None),
}  # fmt: skip


@pytest.mark.parametrize("case", FOUND)
def test_the_store_is_told(case):
    given, expected, want = FOUND[case]
    assert store_of(given, expected) == want


@pytest.mark.parametrize(
    ("store", "format_", "within"),
    [
        (Store("bfloat16", False), "hf32", True),
        (Store("float16", True), "float16", True),
        (Store("hf32", False), "bfloat16", False),
    ],
)
def test_a_coarser_format_is_within_a_finer_one(store, format_, within):
    assert store.is_within(format_) is within


def test_cutting_leaves_twice_what_rounding_leaves():
    assert Store("bfloat16", True).roundoff == 2 * Store("bfloat16", False).roundoff == 2.0**-7


def test_integers_do_not_deviate():
    assert deviation_of(np.arange(9), np.arange(9), "Add") is None
