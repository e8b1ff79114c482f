"""Names of the graph engine's files as its writers make them; what they say is in test_table.py."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kit.words import refused
from workbench.core.errors import FormatError
from workbench.dump.formats.file import FileName, Ids
from workbench.dump.formats.ge_name import format_ge_name
from workbench.dump.formats.table import parse_name

FIXED = settings(derandomize=True, deadline=None)
WORD = st.text("abcXYZ019_-", min_size=1, max_size=12)
ID = st.integers(0, 2**32 - 1)


def test_only_what_the_writers_replace_is_replaced():
    name = FileName("tensors", "a.b c", "x/y\\z:(1)", 17, 1, 2)
    assert format_ge_name(name) == "a_b_c.x_y_z:(1).1.2.17"


@pytest.mark.parametrize(("context", "thread"), [(65535, 1), (1, 65535), (None, None)])
def test_a_part_is_named_only_if_both_its_ids_are_there(context, thread):
    name = FileName("tensors", "Add", "a", 17, 1, 2, ids=Ids(context, thread, 0))
    assert format_ge_name(name) == "Add.a.1.2.17"


@pytest.mark.parametrize(("context", "thread"), [(0, 1), (1, 0)])
def test_a_captured_stream_takes_0_for_absent(context, thread):
    name = FileName("captured", "Add", "a", 17, 1, 2, ids=Ids(context, thread, 0, 9))
    assert format_ge_name(name) == "Add.a.9.1.2.17"
    assert format_ge_name(name._replace(kind="tensors")).endswith(f".4.{context}.{thread}.0")


def test_the_name_of_a_core_keeps_its_last_255_bytes():
    name = format_ge_name(FileName("core", "", "k" * 300, 20250102030405678, 5, 12))
    assert len(name) == 255
    assert name.endswith("kkk.12.5.20250102030405678.core")
    assert parse_name(name).stream_id == 12


def test_a_name_without_its_ids_is_refused():
    missing = ["dump", "stream_id"]
    with refused("dump/name-ids", FormatError, missing=missing):
        format_ge_name(FileName("captured", "Add", "a", 17, 1))


MSACCUCMP = re.compile(
    r"[A-Za-z0-9_-]+\.([A-Za-z0-9_-]+)\.\d+(\.\d+)?\.\d{1,255}(\.\d+\.\d+\.\d+)?(\.\d+)?"
)


@given(WORD, WORD, st.integers(10**15, 10**16 - 1), ID, ID, st.sampled_from(["", ".4.1.2.3"]))
@FIXED
def test_msaccucmp_accepts_our_names_of_tensors(op_type, op_name, time, task, stream, tail):
    name = FileName("tensors", op_type, op_name, time, task, stream)
    written = format_ge_name(name) + tail
    assert MSACCUCMP.fullmatch(written)
    assert parse_name(written).op_name == op_name
