"""Format names and numbers, against GE's list as written in its header and its 32-bit words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.words import refused
from workbench.core.formats import (
    FORMATS,
    FormatWord,
    c0_of,
    format_number,
    format_text,
    read_format,
    row_of,
)

GE_NAMES = """
NCHW NHWC ND NC1HWC0 FRACTAL_Z NC1C0HWPAD NHWC1C0 FSR_NCHW FRACTAL_DECONV C1HWNC0
FRACTAL_DECONV_TRANSPOSE FRACTAL_DECONV_SP_STRIDE_TRANS NC1HWC0_C04 FRACTAL_Z_C04 CHWN
FRACTAL_DECONV_SP_STRIDE8_TRANS HWCN NC1KHKWHWC0 BN_WEIGHT FILTER_HWCK HASHTABLE_LOOKUP_LOOKUPS
HASHTABLE_LOOKUP_KEYS HASHTABLE_LOOKUP_VALUE HASHTABLE_LOOKUP_OUTPUT HASHTABLE_LOOKUP_HITS
C1HWNCoC0 MD NDHWC FRACTAL_ZZ FRACTAL_NZ NCDHW DHWCN NDC1HWC0 FRACTAL_Z_3D CN NC DHWNC
FRACTAL_Z_3D_TRANSPOSE FRACTAL_ZN_LSTM FRACTAL_Z_G RESERVED ALL NULL ND_RNN_BIAS FRACTAL_ZN_RNN
NYUV NYUV_A NCL FRACTAL_Z_WINO C1HWC0 FRACTAL_NZ_C0_16 FRACTAL_NZ_C0_32 FRACTAL_NZ_C0_2
FRACTAL_NZ_C0_4 FRACTAL_NZ_C0_8
"""


def test_numbers_are_the_places_in_ge_s_list():
    numbered = {row.code: name for name, row in FORMATS.items() if row.code >= 0}
    assert numbered == {**dict(enumerate(GE_NAMES.split())), 255: "MAX"}
    assert all(read_format(code) == FormatWord(name) for code, name in numbered.items())
    assert all(format_number(FormatWord(name)) == code for code, name in numbered.items())


@pytest.mark.parametrize(
    ("number", "word"),
    [
        (0x05000003, FormatWord("NC1HWC0", 1, 16)),
        (0x05002004, FormatWord("FRACTAL_Z", 32, 16)),
        (0x06000003, FormatWord("NC1HWC0", 1, 32)),
        (0x0400001D, FormatWord("FRACTAL_NZ", 1, 8)),
        (0x0300000C, FormatWord("NC1HWC0_C04", 1, 4)),
        (0x00002004, FormatWord("FRACTAL_Z", 32)),
        (0x0F000003, FormatWord("NC1HWC0", 1, 16384)),
        (0x00FFFF04, FormatWord("FRACTAL_Z", 65535)),
    ],
)
def test_groups_and_c0_are_packed_above_the_format(number, word):
    assert read_format(number) == word
    assert format_number(word) == number


@given(
    st.sampled_from([name for name in FORMATS if name != "DefaultFormat"]),
    st.integers(1, 65535),
    st.none() | st.integers(0, 14).map(lambda power: 2**power),
)
def test_a_word_survives_its_number_and_its_text(name, groups, c0):
    word = FormatWord(name, groups, c0)
    back = read_format(format_number(word))
    assert back == word
    assert read_format(format_text(word)) == word._replace(c0=None)


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("FRACTAL_Z:32", FormatWord("FRACTAL_Z", 32)),
        ("FRACTAL_Z:1", FormatWord("FRACTAL_Z")),
        ("FRACTAL_Z:0", FormatWord("FRACTAL_Z")),
        ("FracZ", FormatWord("FRACTAL_Z")),
        ("FracNZ", FormatWord("FRACTAL_NZ")),
        ("DHWCH", FormatWord("DHWCN")),
        ("FORMAT_NC1HWC0", FormatWord("NC1HWC0")),
        ("ACL_FORMAT_FRACTAL_NZ", FormatWord("FRACTAL_NZ")),
        ("ACL_FRACTAL_Z_3D", FormatWord("FRACTAL_Z_3D")),
        ("FORMAT_RESERVED", FormatWord("RESERVED")),
        ("C1HWNCOC0", FormatWord("C1HWNCoC0")),
        ("defaultformat", FormatWord("DefaultFormat")),
        (" nchw ", FormatWord("NCHW")),
    ],
)
def test_every_producer_s_spelling_is_read(text, word):
    assert read_format(text) == word
    assert row_of(text).name == word.name


def test_graph_texts_show_groups_only():
    assert format_text(FormatWord("FRACTAL_Z", 32, 16)) == "FRACTAL_Z:32"
    assert format_text(FormatWord("FRACTAL_Z", 1, 16)) == "FRACTAL_Z"


@pytest.mark.parametrize(
    ("dtype", "c0"),
    [
        ("float16", 16),
        ("bfloat16", 16),
        ("float32", 16),
        ("float64", 16),
        ("bool", 16),
        ("int64", 16),
        ("complex64", 16),
        ("int8", 32),
        ("uint8", 32),
        ("float8_e5m2", 32),
        ("int4", 64),
        ("int2", 128),
        ("uint2", 128),
        ("uint1", 256),
    ],
)
def test_c0_follows_the_dtype(dtype, c0):
    assert c0_of(dtype) == c0


@pytest.mark.parametrize("number", [55, 200, 254, -1, 1 << 28, 0x05000037])
def test_an_unknown_number_is_refused(number):
    with refused("core/format-number", got=number, last=54):
        read_format(number)


@pytest.mark.parametrize("text", ["", "NHCW", "FORMAT_", "float32", "NCHW\n1", "FRACTAL_Z;32"])
def test_an_unknown_name_is_refused_with_the_known_ones(text):
    with refused("core/choice", subject="format", got=text, known=list(FORMATS)):
        read_format(text)


@pytest.mark.parametrize("groups", ["", "x", "-1", "1:2", "65536", "²", "9" * 5000])
def test_groups_that_no_number_holds_are_refused(groups):
    with refused("core/groups"):
        read_format(f"FRACTAL_Z:{groups}")


def test_a_word_without_a_number_is_refused():
    with refused("core/format-without-number", got="DefaultFormat"):
        format_number(FormatWord("DefaultFormat"))
    with refused("core/c0", got=12):
        format_number(FormatWord("NC1HWC0", 1, 12))
    with refused("core/groups", got=65536):
        format_number(FormatWord("FRACTAL_Z", 65536))
