"""What shape rules are made of: settings as sizes, dtypes by every spelling, axes."""

import pytest

from kit.oracle.families import X, spec
from kit.words import refused
from workbench.core.errors import GraphError
from workbench.core.tensors import TensorSpec
from workbench.ops.definition import (
    LARGEST,
    Call,
    OpDef,
    cast_target,
    expect_floats,
    expect_numbers,
    foreign,
    integers,
    numbers_if_given,
    one_axis,
    reduced_axes,
    same_dtype,
    same_shape,
    shape_setting,
    some_axes,
    unknown_shapes,
)


def call(*tensors, **settings):
    return Call("Some", tensors, settings)


@pytest.mark.parametrize(("value", "sizes"), [(3, (3,)), ((2, 3), (2, 3)), ([2], (2,)), ((), ())])
def test_sizes_are_integers_or_one_of_them(value, sizes):
    assert call(size=value).sizes("size") == sizes


@pytest.mark.parametrize("value", [None, 2.0, (1, 2.0), "12", (1, None)])
def test_what_are_no_sizes_is_refused(value):
    with refused("graph/sizes-unknown", GraphError, subject="size", got=value):
        call(size=value).sizes("size")


def test_an_open_shape_is_refused():
    with refused("graph/open-shape", GraphError, subject="input 1"):
        call(X, TensorSpec("float32", None)).shape(1)


DTYPES = [
    (42, "float16"), (43, "float32"), (45, "bfloat16"), (30, "bool"), (34, "int32"), (35, "int64"),
    ("Float32", "float32"), ("F16", "float16"), ("BF16", "bfloat16"), ("float64", "float64"), ("int8", "int8"),
]  # fmt: skip


@pytest.mark.parametrize(("word", "dtype"), DTYPES)
def test_a_dtype_is_read_by_number_word_and_name(word, dtype):
    assert cast_target(word) == dtype


FLOATS = ["float16", "bfloat16", "float32", "float64", "complex64"]


@pytest.mark.parametrize("dtype", FLOATS)
def test_floats_are_taken_where_floats_must_be(dtype):
    expect_floats(call(spec(2, dtype=dtype), spec(2, dtype="int32")), (0, 2))


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "int64", "bool"])
def test_integers_are_refused_where_floats_must_be(dtype):
    with refused("graph/dtype-float", GraphError, subject="input 1", got=dtype):
        expect_floats(call(X, spec(2, dtype=dtype)), (0, 1))


@pytest.mark.parametrize("word", [999, "float7", None, ""])
def test_what_is_no_dtype_is_refused(word):
    with refused("core/choice", GraphError, subject="kind", got=word):
        cast_target(word, "kind")


@pytest.mark.parametrize(
    ("axis", "rank", "want"), [(0, 3, 0), (2, 3, 2), (-1, 3, 2), (-3, 3, 0), (0, 0, 0)]
)
def test_an_axis_is_counted_from_the_front(axis, rank, want):
    assert one_axis(axis, rank) == want


@pytest.mark.parametrize(
    ("axis", "rank"), [(3, 3), (-4, 3), (1, 0), (1.0, 3), (True, 3), (None, 3)]
)
def test_an_axis_that_is_not_there_is_refused(axis, rank):
    with refused("graph/axis", GraphError, subject="dim", low=-rank, high=rank, got=axis):
        one_axis(axis, rank, "dim")


@pytest.mark.parametrize(
    ("axis", "axes"),
    [(None, (0, 1, 2)), ((), (0, 1, 2)), (1, (1,)), ((-1, 0), (2, 0)), ([1, 2], (1, 2))],
)
def test_a_reduction_has_one_axis_some_or_all(axis, axes):
    assert reduced_axes(axis, 3) == axes


def test_no_axis_is_named_twice():
    for axis in ((1, 1), (0, -3)):
        with refused("graph/axis-twice", GraphError, got=axis):
            some_axes(axis, 3)
    assert some_axes((), 3) == ()


def test_dtypes_and_shapes_must_agree_where_a_rule_says_so():
    same_dtype(call(X, spec(7)))
    with refused("graph/dtypes-differ", GraphError, got=("float32", "int8")):
        same_dtype(call(X, spec(7, dtype="int8")))
    assert same_shape(call(X, X)) == (X,)
    with refused("graph/shapes-differ", GraphError, got=((2, 3, 4), (4,))):
        same_shape(call(X, spec(4)))


@pytest.mark.parametrize("dtype", ["int8", "int64", "uint8"])
def test_integers_are_signed_or_not(dtype):
    integers(call(spec(2, dtype=dtype)), 0, "x")


@pytest.mark.parametrize("dtype", ["float32", "bool"])
def test_what_is_no_integer_is_refused(dtype):
    with refused("graph/dtype-integer", GraphError, subject="x", got=dtype):
        integers(call(spec(2, dtype=dtype)), 0, "x")


def test_an_output_of_a_given_shape_has_a_limit():
    assert shape_setting(call(shape=(0, 5)), "shape") == (0, 5)
    assert shape_setting(call(shape=(LARGEST,)), "shape") == (LARGEST,)
    for shape in ((LARGEST + 1,), (-1, 2)):
        with refused("graph/sizes", GraphError, subject="shape", most=LARGEST, got=shape):
            shape_setting(call(shape=shape), "shape")


def test_a_setting_is_a_number_or_left_out_where_that_is_allowed():
    expect_numbers(call(a=1, b=0.5), "a", "b")
    numbers_if_given(call(a=None, b=2), "a", "b")
    for value in (None, "1", (1,)):
        with refused("graph/number", GraphError, subject="a", got=value):
            expect_numbers(call(a=value), "a")
    with refused("graph/number", GraphError, subject="a", got="1"):
        numbers_if_given(call(a="1"), "a")


def test_a_row_knows_its_arguments():
    row = OpDef("x shape y axis", tensors=2, places=(0, 2))
    assert row.arguments == ("x", "shape", "y", "axis")
    assert (row.positions, row.settings) == ((0, 2), ("shape", "axis"))
    assert row.named([(1, 2)]) == {"shape": (1, 2)}
    row = OpDef("tensors axis", tensors=-1)
    assert (row.positions, row.settings) == ((0,), ("axis",))


def test_a_type_of_other_programs_has_no_shapes():
    row = foreign("x y", effect="move")
    assert (row.shape_rule, row.kernel, row.effect) == (unknown_shapes, None, "move")
    with refused("core/choice", GraphError, subject="operator type", got="Some"):
        row.shape_rule(call(X))
