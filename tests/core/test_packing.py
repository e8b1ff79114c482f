"""Every number format: how its elements lie in bytes and what they mean."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kit.cases import examples
from kit.words import refused
from workbench.core.dtypes import DATA_TYPES, data_type_of
from workbench.core.errors import FormatError
from workbench.core.packing import decode, encode, packed_bytes

DECODED = [row for row in DATA_TYPES.values() if row.packing]


def read(name: str, data: bytes, count: int):
    return decode(data_type_of(name), np.frombuffer(data, np.uint8), count)


@pytest.mark.parametrize(
    ("name", "data", "values"),
    [
        ("float16", "003c 00c0", [1.0, -2.0]),
        ("bfloat16", "803f 00c0", [1.0, -2.0]),
        ("int32", "ffffffff", [-1]),
        ("int4", "21 f8", [1, 2, -8, -1]),  # low half first
        ("int2", "e4", [0, 1, -2, -1]),
        ("uint2", "e4", [0, 1, 2, 3]),
        ("uint1", "b0", [1, 0, 1, 1, 0, 0, 0, 0]),  # highest bit first
        ("float8_e5m2", "3c fc", [1.0, -np.inf]),
        ("float8_e4m3fn", "38 7e", [1.0, 448.0]),
        ("float8_e8m0", "7f 80", [1.0, 2.0]),
        ("float4_e2m1", "20 f7", [0.0, 1.0, 6.0, -6.0]),
        ("float4_e1m2", "41 cf", [0.25, 1.0, -1.75, -1.0]),
        ("complex32", "003c 00c0", [1 - 2j]),
        ("complex64", "0000803f 000000c0", [1 - 2j]),
        ("qint8", "ff", [-1]),
        ("resource", "feffffffffffffff", [-2]),
        ("string", "6869", [104, 105]),
    ],
)
def test_bytes_mean_what_the_format_says(name, data, values):
    got = read(name, bytes.fromhex(data), len(values))
    wide = complex if got.dtype.kind == "c" else float
    assert got.astype(wide).tolist() == values


def test_hifloat8_follows_its_definition():
    """Exponents of 0 to 4 bits with sign and hidden one; the points are worked out by hand."""
    points = {
        0x00: 0.0, 0x01: 2.0**-22, 0x07: 2.0**-16, 0x08: 1.0, 0x0F: 1.875, 0x10: 2.0, 0x17: 3.75,
        0x18: 0.5, 0x20: 4.0, 0x28: 8.0, 0x30: 0.25, 0x40: 16.0, 0x5F: 2.0**-7 * 1.75, 0x60: 256.0,
        0x6E: 32768.0, 0x6F: np.inf, 0x7E: 2.0**-15, 0x88: -1.0, 0xEF: -np.inf, 0xEE: -32768.0,
    }  # fmt: skip
    got = read("hifloat8", bytes(points), len(points))
    assert got.tolist() == list(points.values())
    assert np.isnan(read("hifloat8", b"\x80", 1)[0])
    every = read("hifloat8", bytes(range(256)), 256)
    assert len(set(every[~np.isnan(every)].tolist())) == 255


@pytest.mark.parametrize("name", ["hifloat8", "float4_e1m2"])
def test_a_decoded_format_rounds_to_the_nearest_value(name):
    row = data_type_of(name)
    table = read(name, bytes(range(256)), 256) if name == "hifloat8" else None
    table = table if table is not None else np.arange(8, dtype=np.float32) / 4
    finite = np.unique(np.abs(table[np.isfinite(table)])).astype(np.float64)
    values = np.random.default_rng(5).choice([-1, 1], 500) * np.exp(np.linspace(-16, 8, 500))
    values = np.clip(values, -finite[-1], finite[-1]).astype(np.float32)
    got = decode(row, encode(row, values), values.size)
    near = np.array([np.abs(finite - abs(value)).min() for value in values.astype(np.float64)])
    assert np.array_equal(np.abs(np.abs(got.astype(np.float64)) - np.abs(values)), near)


def test_hifloat8_keeps_what_is_not_finite():
    row = data_type_of("hifloat8")
    special = np.array([np.inf, -np.inf, np.nan, 1e9], np.float32)
    assert encode(row, special).tolist() == [0x6F, 0xEF, 0x80, 0x6E]


@pytest.mark.parametrize("row", DECODED, ids=lambda row: row.name)
@given(data=st.binary(max_size=64), count=st.integers(0, 64))
@settings(derandomize=True, deadline=None, max_examples=examples(40))
def test_bytes_survive_a_round_trip(row, data, count):
    if row.packing == "opaque" or row.name == "bool":
        data = bytes(byte & 1 for byte in data)
    count = min(count, len(data) * 8 // row.bits)
    elements = decode(row, np.frombuffer(data, np.uint8), count)
    assert elements.shape == (count,)
    assert elements.dtype == row.storage
    again = encode(row, elements)
    assert again.nbytes == packed_bytes(row, count)
    bits = np.unpackbits(again, bitorder="big" if row.bits == 1 else "little")[: count * row.bits]
    was = np.unpackbits(
        np.frombuffer(data, np.uint8), bitorder="big" if row.bits == 1 else "little"
    )[: count * row.bits]
    if row.packing == "pairs":  # which NaN it is may change on its way through float32
        same = decode(row, again, count)
        assert np.array_equal(same.view(np.float32), elements.view(np.float32), equal_nan=True)
    else:
        assert np.array_equal(bits, was)


def test_what_no_source_explains_is_refused():
    rows = [row for row in DATA_TYPES.values() if not row.packing]
    assert [row.word for row in rows] == ["FLOAT6_E3M2", "FLOAT6_E2M3", "HIFLOAT4"]
    for row, call in itertools.product(rows, (encode, lambda row, data: decode(row, data, 1))):
        with refused("core/packing", FormatError, dtype=row.word):
            call(row, np.zeros(3, np.uint8))
