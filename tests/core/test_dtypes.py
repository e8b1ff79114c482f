"""Number formats, against the spacing of their neighbours and the codes of ge.proto."""

import numpy as np
import pytest

from kit.words import refused
from workbench.core.dtypes import DTYPES, dtype, dtype_name, roundoff
from workbench.core.errors import FormatError

FLOATS = ["float16", "bfloat16", "float32", "float64", "float8_e5m2", "float8_e4m3fn"]


@pytest.mark.parametrize("name", FLOATS)
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


def test_exact_and_unknown_formats_round_nothing():
    assert roundoff("int32") == roundoff("no such format") == 0.0


def test_codes_are_those_of_ge_proto_and_unique():
    codes = {name: DTYPES[name].code for name in ("float32", "float16", "int8", "bool", "bfloat16")}
    assert codes == {"float32": 1, "float16": 2, "int8": 3, "bool": 11, "bfloat16": 27}
    assert len({row.code for row in DTYPES.values()}) == len(DTYPES)


@pytest.mark.parametrize("word", ["BFloat16", "BF16", "bfloat16"])
def test_producers_spell_one_format_in_several_ways(word):
    assert dtype_name(word) == "bfloat16"


def test_an_unknown_format_is_refused_with_the_known_ones():
    with refused("core/choice", FormatError, subject="dtype", got="half2", known=sorted(DTYPES)):
        dtype("half2")
