"""What a tensor says of itself: the number of its elements, and its type in memory."""

import ml_dtypes
import numpy as np
import pytest

from workbench.core.tensors import ArraySource, TensorKey, TensorRecord, TensorSpec

SIZES = {
    (): 1,
    (0, 5): 0,
    (2, 3, 4): 24,
    (2, -1): None,
    None: None,
}


@pytest.mark.parametrize(("shape", "size"), SIZES.items(), ids=map(str, SIZES))
def test_a_type_knows_how_many_elements_it_has(shape, size):
    assert TensorSpec("float32", shape).size == size


@pytest.mark.parametrize(
    ("array", "stored", "dtype"),
    [
        (np.zeros((2, 3), np.float32), "", "float32"),
        (np.zeros((2, 3), ml_dtypes.bfloat16), "", "bfloat16"),
        (np.zeros((2, 3), np.int8), "int4", "int4"),
    ],
    ids=["float32", "bfloat16", "stored in fewer bits"],
)
def test_data_in_memory_state_their_type(array, stored, dtype):
    source = ArraySource(array, stored)
    assert source.spec() == (dtype, (2, 3), "DefaultFormat")
    assert source.array() is array
    assert TensorRecord(TensorKey("Add", "a", "output", 0), source.spec()).source is None
