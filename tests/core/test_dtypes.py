"""The table of number formats: complete rows, words that occur once, and what others wrote down of each column."""

from collections import Counter

import ml_dtypes
import numpy as np
import pytest

from kit.words import refused
from workbench.core.dtypes import (
    DATA_TYPES,
    DTYPES,
    PACKED,
    PLAIN,
    data_type_of,
    dtype,
    dtype_name,
    is_exact,
    mindspore_word,
    names_by,
    roundoff,
)
from workbench.core.errors import FormatError

ROWS = list(DATA_TYPES.values())
VENDORS = ("word", "name", "acl", "ir", "scalar", "pb", "type_id", "npy", "tf", "onnx", "torch")

# ge.proto.DataType, from 0 on
GE_WORDS = """
UNDEFINED FLOAT FLOAT16 INT8 UINT8 INT16 UINT16 INT32 INT64 UINT32 UINT64 BOOL DOUBLE STRING DUAL_SUB_INT8
DUAL_SUB_UINT8 COMPLEX64 COMPLEX128 QINT8 QINT16 QINT32 QUINT8 QUINT16 RESOURCE STRING_REF DUAL VARIANT BF16 INT4
UINT1 INT2 UINT2 COMPLEX32 HIFLOAT8 FLOAT8_E5M2 FLOAT8_E4M3FN FLOAT8_E8M0 FLOAT6_E3M2 FLOAT6_E2M3 FLOAT4_E2M1
FLOAT4_E1M2 HIFLOAT4 HIFLOAT4_SCALE
"""
ACL = {
    "FLOAT": 0, "FLOAT16": 1, "INT8": 2, "INT32": 3, "UINT8": 4, "INT16": 6, "UINT16": 7, "UINT32": 8, "INT64": 9,
    "UINT64": 10, "DOUBLE": 11, "BOOL": 12, "STRING": 13, "COMPLEX64": 16, "COMPLEX128": 17, "BF16": 27, "INT4": 29,
    "UINT1": 30, "INT2": 31, "UINT2": 32, "COMPLEX32": 33, "HIFLOAT8": 34,
}  # fmt: skip
ANF = {
    "bool": 1, "int8": 2, "int16": 3, "int32": 4, "int64": 5, "uint8": 6, "uint16": 7, "uint32": 8, "uint64": 9,
    "float16": 10, "float32": 11, "float64": 12, "complex64": 43, "complex128": 44, "bfloat16": 46, "int4": 48,
}  # fmt: skip
# MindSpore's TypeId, from kNumberTypeBool = 30 on
TYPE_IDS = "Bool Int Int8 Int16 Int32 Int64 UInt UInt8 UInt16 UInt32 UInt64 Float Float16 Float32 Float64 BFloat16"
SCALARS = {
    "bool": "Bool", "int8": "I8", "int16": "I16", "int32": "I32", "int64": "I64", "uint8": "U8", "uint16": "U16",
    "uint32": "U32", "uint64": "U64", "float16": "F16", "float32": "F32", "float64": "F64", "bfloat16": "BF16",
}  # fmt: skip
# torch's storage classes, and NumPy's letters for the same types of C
STORAGES = {
    "Bool": "?", "Char": "b", "Byte": "B", "Short": "h", "Int": "i", "Long": "q", "Half": "e", "Float": "f",
    "Double": "d", "ComplexFloat": "F", "ComplexDouble": "D", "BFloat16": ml_dtypes.bfloat16,
}  # fmt: skip
TORCH_DTYPES = {
    "uint16": "uint16", "uint32": "uint32", "uint64": "uint64", "complex32": "complex32", "float8_e5m2": "float8_e5m2",
    "float8_e4m3fn": "float8_e4m3fn", "float8_e8m0fnu": "float8_e8m0",
}  # fmt: skip


def column(name: str) -> dict[str, object]:
    return {row.name: value for row in ROWS if (value := getattr(row, name)) not in ("", None)}


@pytest.mark.parametrize("name", VENDORS)
def test_a_vendor_has_a_word_once(name):
    counts = Counter(column(name).values())
    assert counts.most_common(1)[0][1] == 1
    assert names_by(name) == {word: row for row, word in column(name).items()}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_bits_packing_and_storage_of_a_row_agree(row):
    if row.packing == PLAIN:
        assert row.bits == 8 * row.storage.itemsize
    if row.packing == PACKED:
        assert (8 % row.bits, row.storage.itemsize) == (0, 1)
    if row.is_float and not row.limit:
        assert row.mantissa == ml_dtypes.finfo(row.storage).nmant
    elif row.is_computed and row.name not in ("bool", "hifloat8"):
        assert row.bits == ml_dtypes.iinfo(row.storage).bits


def test_computed_formats_are_named_like_their_storage():
    others = {"hifloat8": "float32", "float8_e8m0": "float8_e8m0fnu"}
    assert {row.name: row.storage.name for row in DTYPES.values()} == {
        name: others.get(name, name) for name in DTYPES
    }
    assert [row.name for row in ROWS if row.limit] == ["hifloat8"]


def test_numbers_and_words_are_those_of_the_graph_engine():
    assert [row.word for row in ROWS] == GE_WORDS.split()
    assert [row.code for row in ROWS] == list(DATA_TYPES) == list(range(len(ROWS)))
    assert {row.word: row.acl for row in ROWS if row.acl is not None} == ACL


def test_numbers_and_words_are_those_of_mindspore():
    assert column("pb") == ANF
    assert column("scalar") == SCALARS
    generic = ("Int", "UInt", "Float")
    ids = {word: 30 + place for place, word in enumerate(TYPE_IDS.split()) if word not in generic}
    assert {mindspore_word(name): number for name, number in column("type_id").items()} == ids
    assert {name: word.lower() for name, word in column("ir").items()} == {
        name: name.replace("_", "")
        for name in DTYPES
        if name not in ("hifloat8", "float8_e8m0")  # no type of MindSpore's
    }


def test_letters_of_npy_are_those_of_numpy():
    letters = column("npy")
    assert letters.pop("bfloat16") == "E2"  # MindSpore's own
    assert {name: np.dtype(word).name for name, word in letters.items()} == {
        name: name for name in DTYPES if getattr(np, name.replace("bool", "bool_"), None)
    }


def test_numbers_of_tensorflow_are_those_of_its_enum():
    """``DataType`` of TensorFlow's ``types.proto`` from 1 on; a dash is one that the table has no row for."""
    enum = (
        "float32 float64 int32 uint8 int16 int8 string complex64 int64 bool qint8 quint8 qint32 bfloat16 qint16"
        " quint16 uint16 complex128 float16 resource variant uint32 uint64 float8_e5m2 float8_e4m3fn - - - int4"
    )
    known = {number: name for number, name in enumerate(enum.split(), 1) if name != "-"}
    assert names_by("tf") == known


def test_numbers_of_onnx_are_those_of_its_enum():
    """``TensorProto.DataType`` from 1 on; a dash is one that the table has no row for."""
    enum = (
        "float32 uint8 int8 uint16 int16 int32 int64 string bool float16 float64 uint32 uint64 complex64 complex128"
        " bfloat16 float8_e4m3fn - float8_e5m2 - - int4 float4_e2m1 float8_e8m0 uint2 int2"
    )
    known = {number: name for number, name in enumerate(enum.split(), 1) if name != "-"}
    assert names_by("onnx") == known


def test_words_of_torch_are_its_storage_classes_and_the_dtypes_without_one():
    classes = {f"{word}Storage": np.dtype(kind).name for word, kind in STORAGES.items()}
    assert names_by("torch") == classes | TORCH_DTYPES


@pytest.mark.parametrize(
    ("spellings", "name"),
    [
        ("BFloat16 BF16 bfloat16 bf16", "bfloat16"),
        ("Float float FLOAT float32 Float32", "float32"),
        ("Double float64", "float64"),
        ("half Half float16", "float16"),
        ("Float8E4M3FN float8e4m3fn float8_e4m3fn", "float8_e4m3fn"),
        ("Bool bool", "bool"),
        ("NC1HWC0 string qint8 String UINT1 I64", ""),
    ],
)
def test_producers_spell_one_format_in_several_ways(spellings, name):
    assert {dtype_name(word) for word in spellings.split()} == {name}


@pytest.mark.parametrize(
    "name", ["float16", "bfloat16", "float32", "float64", "float8_e5m2", "float8_e4m3fn"]
)
def test_the_roundoff_is_half_the_gap_above_one(name):
    row = DTYPES[name]
    bits = np.ones(1, row.storage).view(f"u{row.storage.itemsize}")
    above = float((bits + bits.dtype.type(1)).view(row.storage)[0])
    assert 2 * roundoff(name) == above - 1.0


@pytest.mark.parametrize(
    ("name", "largest"),
    [("float16", 65504.0), ("int8", 127.0), ("bool", 1.0), ("hifloat8", 32768.0)],
)
def test_the_largest_value_is_that_of_the_format(name, largest):
    assert DTYPES[name].largest == largest


@pytest.mark.parametrize(
    ("name", "exact"),
    [
        ("int32", True),
        ("bool", True),
        ("int4", True),
        ("float16", False),
        ("hifloat8", False),
        ("no such", False),
    ],
)
def test_exact_and_unknown_formats_round_nothing(name, exact):
    assert is_exact(name) == exact
    assert (roundoff(name) == 0.0) == (exact or name not in DTYPES)


@pytest.mark.parametrize(
    ("ask", "name", "subject", "known"),
    [
        (dtype, "half2", "dtype", sorted(DTYPES)),
        (dtype, "qint8", "dtype", sorted(DTYPES)),  # no operator computes with it
        (data_type_of, "float7", "container dtype", sorted(row.name for row in ROWS)),
    ],
)
def test_an_unknown_format_is_refused_with_the_known_ones(ask, name, subject, known):
    with refused("core/choice", FormatError, subject=subject, got=name, known=known):
        ask(name)
