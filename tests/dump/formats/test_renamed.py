"""Too long names: what each of the four writers makes of them."""

from __future__ import annotations

import os
import random
import uuid

import pytest

from workbench.core.words import Message
from workbench.dump.formats.renamed import (
    MANY,
    RENAME_RULES,
    is_renamed,
    parse_mapping,
    renamed,
    string_hash,
)

LONG = f"Add.{'x' * 300}.0.0.17.output.0.ND.float16.npy"


def of_length(count: int) -> str:
    return "x" * (count - 4) + ".npy"


@pytest.mark.parametrize(
    ("writer", "longest"),
    [("mindspore", 255), ("adump", 255), ("msprobe", 255), ("msaccucmp", 254)],
)
def test_a_name_stays_up_to_the_writers_limit(writer, longest):
    assert RENAME_RULES.keys() == {"mindspore", "adump", "msprobe", "msaccucmp"}
    assert renamed(writer, of_length(longest), "/d", random.Random(1)) is None
    new, line = renamed(writer, of_length(longest + 1), "/d", random.Random(1))
    assert line == f"{new},{of_length(longest + 1)}\n"
    assert is_renamed(new)
    assert parse_mapping([line]) == ({new: of_length(longest + 1)}, [])


def test_a_limit_counts_bytes():
    assert renamed("mindspore", "é" * 126 + ".npy", "/d", random.Random(1)) is not None


def test_mindspore_gives_a_number_below_2_to_the_31():
    for seed in range(50):
        new, _ = renamed("mindspore", LONG, "/d", random.Random(seed))
        assert new.endswith(".npy")
        assert 0 <= int(new[:-4]) < 2**31


def test_adump_gives_the_hash_of_the_path_without_a_suffix():
    name = "Add." + "x" * 300
    new, _ = renamed("adump", name, "/d/0", random.Random(1))
    assert new == str(string_hash(f"/d/0/{name}".encode()))
    assert renamed("adump", name, "/d/1", random.Random(1))[0] != new


def test_msprobe_gives_32_digits_and_keeps_the_suffix():
    new, _ = renamed("msprobe", LONG, "/d", random.Random(1))
    assert new[32:] == ".npy"
    assert len(new) == 36
    assert new[:32].isdecimal()


@pytest.mark.parametrize("suffix", [".npy", ".bin"])
def test_msaccucmp_gives_the_names_uuid(suffix):
    name = LONG[:-4] + suffix
    text = str(uuid.uuid3(uuid.UUID("6ba7b810-9dad-11d1-80b4-00c04fd430c8"), name))
    assert renamed("msaccucmp", name, "/d", random.Random(1))[0] == text.replace("-", "") + suffix


@pytest.mark.parametrize(
    ("text", "number"),
    [  # printed by g++ 12, std::hash<std::string>
        (b"", 6142509188972423790),
        (b"a", 4993892634952068459),
        (b"hello", 2762169579135187400),
        (b"12345678", 10113836418918046885),
        (b"/d/Conv2D.x.1.2.1700000000000000", 12408241198328241638),
        (b"x" * 300, 2506931269542500285),
        (b"\xff\xfe\x80\x81\x82\x83\x84\x85\x86\x90", 14406039619615320306),
    ],
)
def test_a_string_is_hashed_as_by_gnus_library(text, number):
    assert string_hash(text) == number


@pytest.mark.parametrize("name", ["12.npy", "1.2.npy", "x123.npy", "123.csv", "1" * 21, "ab" * 16])
def test_other_names_are_not_taken_for_given_ones(name):
    assert not is_renamed(name)


def test_lines_that_lead_elsewhere_or_say_nothing_are_told():
    lines = [
        "123.npy,Add.a.npy\n",
        "\n",
        "../x,Add.npy",
        "124.npy,../../etc/x",
        "125.npy",
        "126.npy,",
    ]
    table, wrong = parse_mapping(lines)
    assert table == {"123.npy": "Add.a.npy"}
    assert {one.code for one in wrong} == {"dump/mapping-row"}
    assert [one.place for one in wrong] == [f"mapping.csv:{line}" for line in (3, 4, 5, 6)]


def test_a_file_of_wrong_lines_is_told_in_bounded_words():
    table, wrong = parse_mapping([*["x\n"] * (MANY + 5), "1.npy,Add.a.npy\n"])
    assert table == {"1.npy": "Add.a.npy"}
    assert len(wrong) == MANY + 1
    assert wrong[-1] == Message("dump/mapping-more", place=f"mapping.csv:{MANY + 6}", more=5)


def test_a_name_that_is_no_text_has_a_new_name():
    new, _ = renamed("msaccucmp", os.fsdecode(b"\xff" * 300), "/d", random.Random(1))
    assert is_renamed(new)
