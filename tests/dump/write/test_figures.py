"""Tensors about to become files: how many bytes they have, and what of them is kept."""

from __future__ import annotations

import numpy as np
import pytest

from workbench.core.tensors import ArraySource, TensorKey, TensorRecord, TensorSpec
from workbench.dump.write.figures import TensorContent, content_of, stored_bytes
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
