"""Tensors about to become files: how many bytes they have, and what of them is kept."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from workbench.core.plan import CATEGORIES
from workbench.core.tensors import ArraySource, TensorKey, TensorRecord, TensorSpec
from workbench.dump.write.figures import (
    TensorContent,
    content_of,
    engine_figures_of,
    figures_of,
    stored_bytes,
)
from workbench.run.outline import Outlined

X = np.arange(6, dtype=np.float32).reshape(2, 3)
KEY = TensorKey("Add", "a", "output", 0)
NO_DISK = 1 << 60


@pytest.mark.parametrize(
    ("dtype", "size", "held"),
    [
        ("float32", 6, 24), ("int4", 6, 6), ("float32", 0, 0), ("float32", None, None), ("no such", 6, None),
        ("float16", NO_DISK - 1, 2 * NO_DISK - 2), ("float16", NO_DISK, None),
    ],
)  # fmt: skip
def test_bytes_are_known_of_known_types_and_of_what_a_disk_holds(dtype, size, held):
    assert stored_bytes(dtype, size) == held
    shape = None if size is None else (size,)
    assert TensorContent(TensorSpec(dtype, shape)).nbytes == (held or 0)


@pytest.mark.parametrize(
    ("keep", "shape"), [(None, (2, 3)), (7, (2, 3)), (6, (2, 3)), (5, (5,)), (1, (1,))]
)
def test_a_sample_is_the_first_elements_of_what_has_more(keep, shape):
    spec = TensorSpec("float32", (2, 3))
    kept, outlined = (TensorContent(spec, array).sampled(keep) for array in (X, None))
    assert kept.spec == outlined.spec == TensorSpec("float32", shape)
    assert kept.array.tolist() == X.reshape(-1)[: keep or 6].reshape(shape).tolist()
    assert outlined.array is None


def test_nothing_is_left_out_of_a_tensor_whose_size_nobody_knows():
    content = TensorContent(TensorSpec("float32", (-1, 3)))
    assert content.sampled(1) is content


def test_a_record_holds_an_array_its_outline_or_statistics_alone():
    spec = TensorSpec("float32", (2, 3))
    there = X.reshape(3, 2)
    held = content_of(TensorRecord(KEY, spec, ArraySource(X, there=there)))
    assert (held.spec, held.array is X, held.on_device is there) == (spec, True, True)
    assert content_of(TensorRecord(KEY, spec, Outlined(spec))) == (spec, None, None)
    assert content_of(TensorRecord(KEY, spec, None, {"Max Value": 1.0})) is None


ARRAYS = [
    np.array([-1.17549e-38, 3.4e38], np.float32),
    np.array([-2.2250738585072014e-308, 1e-310, 123456.7]),
    np.array([np.nan, np.inf, -np.inf], np.float16),
    np.array([2**63 - 1, -(2**63)]),
    np.array([255, 0], np.uint8),
    np.array([True, False]),
    np.array([1, 2j], np.complex64),
    np.array([1, -1], ml_dtypes.bfloat16),
    np.zeros((2, 0), np.float32),
]
SURE = {"count", "md5", "sha1"}
HOST = [*((name,) for name in (*CATEGORIES, "sha1")), ("count", "md5"), ("max", "count"), ()]


def width(value) -> int:
    """How long a cell of a table becomes."""
    return len(f"{value:.6g}" if isinstance(value, float) else str(value))


def stands_in(computed, outlined) -> None:
    """Every title, at least as wide as what is computed; exact where it is as wide whatever the values."""
    assert outlined.values.keys() >= computed.values.keys()
    for title, value in computed.values.items():
        assert width(value) <= width(outlined.values[title]), title
    if outlined.exact:
        assert [*map(width, outlined.values.values())] == [*map(width, computed.values.values())]
    assert computed.exact


@pytest.mark.parametrize("array", ARRAYS, ids=lambda one: f"{one.dtype.name} of {one.shape}")
def test_figures_of_what_nobody_computed_are_as_wide_as_they_can_become(array):
    spec = TensorSpec(array.dtype.name, array.shape)
    both = TensorContent(spec, array), TensorContent(spec)
    for dialect in ("ge", "ge-kfc"):
        computed, outlined = (engine_figures_of(one, dialect) for one in both)
        stands_in(computed, outlined)
        assert outlined.exact == (not computed.values)
    for categories in HOST:
        stands_in(*(figures_of(one, categories) for one in both))
        assert figures_of(both[1], categories).exact == SURE.issuperset(categories)
        for precision in ("high", "low"):
            computed, outlined = (figures_of(one, categories, precision) for one in both)
            stands_in(computed, outlined)
            assert outlined.exact == (not outlined.values)
