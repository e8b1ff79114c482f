"""Constants of graphs as arrays, and the specs that they have without being made."""

import ml_dtypes
import numpy as np
import pytest

from kit.words import refused
from workbench.core.errors import GraphError
from workbench.core.tensors import TensorSpec
from workbench.graph.constants import constant, constant_spec, literal
from workbench.graph.graph import Const, GraphRef, Param

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
ARRAYS = [
    (Const(True, "bool", ()), True, "bool"),
    (Const(3, "int64", ()), 3, "int64"),
    (Const(3, "int32", ()), 3, "int32"),
    (Const(0.1, "float32", ()), np.float32(0.1), "float32"),
    (Const(0.1, "float16", ()), np.float16(0.1), "float16"),
    (Const(70000.0, "float16", ()), np.inf, "float16"),
    (Const(0.1, "bfloat16", ()), BFLOAT16.type(0.1), "bfloat16"),
    (Const((1, 2), "int64", (2,)), [1, 2], "int64"),
    (Const((1, 2, 3, 4), "int8", (2, 2)), [[1, 2], [3, 4]], "int8"),
    (Const([[1.0], [2.0]], "float32", (2, 1)), [[1], [2]], "float32"),
    (Const(2.5, "float32", (2, 3)), [[2.5] * 3] * 2, "float32"),
    (Const((7,), "int32", (2,)), [7, 7], "int32"),
    (Const(1.5, "float32"), 1.5, "float32"),
    (Const((1, 2), "tuple"), [1, 2], "int64"),
    (Const((), "tuple"), [], "int64"),
    (Const((0.5, 2), "tuple", (9,)), [0.5, 2], "float64"),
    (Const((True,), ""), [True], "bool"),
]
"""Constant, its values and its dtype."""


@pytest.mark.parametrize(("operand", "values", "dtype"), ARRAYS)
def test_a_constant_is_the_array_that_is_dumped(operand, values, dtype):
    array = constant(operand)
    assert array.dtype == (BFLOAT16 if dtype == "bfloat16" else dtype)
    assert array.shape == np.shape(values)
    np.testing.assert_array_equal(array, values)
    assert constant_spec(operand) == TensorSpec(dtype, np.shape(values))
    np.testing.assert_array_equal(literal(operand), array)


NONE = [
    Const("valid", "str"),
    Const(None, "None"),
    Const("[...]", "tuple"),
    Const(("a", "b"), "tuple"),
    Const(((1, 2), 3), "tuple"),
    Const("U", "monad"),
    Const(300, "int8", ()),
    Const((None, 1), "tuple"),
]


@pytest.mark.parametrize("operand", NONE)
def test_what_is_no_number_has_no_array(operand):
    assert constant(operand) is None
    assert constant_spec(operand) is None


def test_a_constant_that_is_cut_short_has_a_spec_and_no_values():
    cut = Const("[...]", "float32", (99,))
    assert constant(cut) is None
    assert constant_spec(cut) == TensorSpec("float32", (99,))


@pytest.mark.parametrize("operand", [*NONE[:2], Param(0), GraphRef("g")])
def test_a_constant_that_must_have_values_and_has_none_is_refused(operand):
    with refused("run/no-constant", GraphError, got=operand):
        literal(operand)
