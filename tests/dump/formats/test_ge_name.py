"""Names of the graph engine's files: the table of the documents, every kind there and back."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kit.words import refused
from workbench.core.errors import FormatError
from workbench.dump.formats.ge_name import (
    BRIEF,
    GRAMMARS,
    GeName,
    format_ge_name,
    parse_ge_name,
    recognize,
)
from workbench.dump.formats.mindspore_name import NameParts

FIXED = settings(derandomize=True, deadline=None)

TABLE = {
    "Conv2D.Conv2D-op12.0.0.1623124369613540.output.0.DefaultFormat.npy": NameParts(
        "Conv2D", "Conv2D-op12", 0, 0, 1623124369613540, "output", 0
    ),
    "Conv2D.Default_conv1-Conv2d_Conv2D-op12.0.3.1700000000000001.input.1.NC1HWC0.float16.npy": NameParts(
        "Conv2D", "Default_conv1-Conv2d_Conv2D-op12", 0, 3, 1700000000000001,
        "input", 1, "NC1HWC0", "float16",
    ),
    "Add.Default_Add-op1.0.0.1700000000000002.output.0.DefaultFormat.Float32.npy": NameParts(
        "Add", "Default_Add-op1", 0, 0, 1700000000000002, "output", 0, dtype="float32"
    ),
    "Parameter.conv1_weight.0.0.1700000000000003.output.0.DefaultFormat.float32.npy": NameParts(
        "Parameter", "conv1_weight", 0, 0, 1700000000000003, "output", 0, dtype="float32"
    ),
    "Conv2D.conv1relu.2.7.1700000000000004": GeName(
        "tensors", "Conv2D", "conv1relu", 1700000000000004, 2, 7
    ),
    "Conv2D.conv1relu.2.7.1700000000000005.4.12.0.0": GeName(
        "tensors", "Conv2D", "conv1relu", 1700000000000005, 2, 7, 12, 0, 0
    ),
    "Opdebug.Node_OpDebug.57.563.1700000000000006": GeName(
        "overflow", "Opdebug", "Node_OpDebug", 1700000000000006, 57, 563
    ),
    "Opdebug.Node_OpDebug.57.563.1700000000000006.output.0.json": GeName(
        "overflow-json", "Opdebug", "Node_OpDebug", 1700000000000006, 57, 563, slot=0
    ),
    "MatMul.mm.3.1.1700000000000007.csv": GeName(
        "statistics", "MatMul", "mm", 1700000000000007, 3, 1
    ),
    "conv1.0.1700000000000008.npy": GeName(
        "golden", op_name="conv1", timestamp=1700000000000008, slot=0
    ),
    "3141592653589793.npy": "renamed",
    "exception_info.12.5.20250102030405678": GeName(
        "brief", op_name="exception_info", timestamp=20250102030405678, task_id=5, stream_id=12
    ),
    # beyond the documents' table: what their grammars say
    "Conv2D.conv1.2.1700000000000004": GeName("tensors", "Conv2D", "conv1", 1700000000000004, 2),
    "Conv2D.conv1.2.7.1700000000000005.12.0.1": GeName(
        "tensors", "Conv2D", "conv1", 1700000000000005, 2, 7, 12, 0, 1
    ),
    "Conv2D.conv1.2.1700000000000005.4.12.0.1": GeName(
        "tensors", "Conv2D", "conv1", 1700000000000005, 2, None, 12, 0, 1
    ),
    "Add.5.2.7.1700000000000004": GeName("tensors", "Add", "5", 1700000000000004, 2, 7),
    "MatMul.mm.3.1.1700000000000007.4.8.1.0.csv": GeName(
        "statistics", "MatMul", "mm", 1700000000000007, 3, 1, 8, 1, 0
    ),
    "Add.a.b.9.1.2.1700000000000007": GeName(
        "captured", "Add", "a.b", 1700000000000007, 1, 2, dump_number=9
    ),
    "Add.a.9.1.2.1700000000000007.FFTSPLUS.3.4.0": GeName(
        "captured", "Add", "a", 1700000000000007, 1, 2, 3, 4, 0, 9
    ),
    "te_add.x.12.5.1.3.20250102030405678": GeName(
        "callback", op_name="te_add.x", timestamp=20250102030405678, task_id=5, stream_id=12,
        core_type=1, core_id=3,
    ),
    "Add.net_add.5.20250102030405678": GeName("norm", "Add", "net_add", 20250102030405678, 5),
    "Add.net_add.5.20251302030405678": GeName("tensors", "Add", "net_add", 20251302030405678, 5),
    "te_add.12.5.20250102030405678.core": GeName(
        "core", op_name="te_add", timestamp=20250102030405678, task_id=5, stream_id=12
    ),
    "12.5.20250102030405678.core": GeName(
        "core", timestamp=20250102030405678, task_id=5, stream_id=12
    ),
    "scope.conv.1.17.pb": GeName("golden", op_name="scope.conv", timestamp=17, slot=1),
    "18446744073709551615": "renamed",
    "mapping.csv": None,
    "statistic.csv": None,
    "Add.a.1": None,
    "a/Add.a.1.2.3": None,
    "Add..1.2.3": None,
    "": None,
}  # fmt: skip


@pytest.mark.parametrize("name", TABLE)
def test_a_name_is_read_as_the_table_says(name):
    assert recognize(name) == TABLE[name]


OLD = ("Conv2D.conv1.2.7.1700000000000005.12.0.1", "scope.conv.1.17.pb")
"""Accepted, and written by nobody today."""


@pytest.mark.parametrize(
    "name", [one for one, found in TABLE.items() if isinstance(found, GeName) and one not in OLD]
)
def test_a_name_that_a_writer_gives_is_given_again(name):
    found = TABLE[name]
    assert format_ge_name(found).removeprefix(f"{BRIEF}." if not found.op_name else "") == name


WORD = st.text("abcXYZ019_-", min_size=1, max_size=12)
ID = st.integers(0, 2**32 - 1)
TIME = st.integers(10**15, 10**16 - 1)
STAMP = st.just(20250102030405678)
PART = {"context_id": st.integers(1, 65534), "thread_id": st.integers(1, 65534), "device_id": ID}


def names(*texts, **numbers):
    """Names of a kind with these fields alone."""
    return st.tuples(st.tuples(*texts), st.fixed_dictionaries(numbers)).map(
        lambda both: GeName(*both[0], **both[1])
    )


TENSORS = names(st.sampled_from(["tensors", "statistics"]), WORD, WORD, TIME, ID, ID)
NAMES = st.one_of(
    TENSORS,
    names(st.just("tensors"), WORD, WORD, TIME, ID, ID, **PART),
    names(st.just("captured"), WORD, WORD, TIME, ID, ID, dump_number=ID, **PART),
    names(st.just("captured"), WORD, WORD, TIME, ID, ID, dump_number=ID),
    names(st.just("norm"), WORD, WORD, STAMP, ID),
    names(st.just("brief"), st.just(""), st.just("exception_info"), STAMP, ID, ID),
    names(st.just("callback"), st.just(""), WORD, STAMP, ID, ID, core_type=ID, core_id=ID),
    names(st.just("core"), st.just(""), WORD, STAMP, ID, ID),
    names(st.just("golden"), st.just(""), WORD, TIME, slot=ID),
)


@given(NAMES)
@FIXED
def test_a_written_name_says_what_was_put_in(name):
    assert parse_ge_name(format_ge_name(name)) == name


def test_only_what_the_writers_replace_is_replaced():
    name = GeName("tensors", "a.b c", "x/y\\z:(1)", 17, 1, 2)
    assert format_ge_name(name) == "a_b_c.x_y_z:(1).1.2.17"


@pytest.mark.parametrize(("context", "thread"), [(65535, 1), (1, 65535), (None, None)])
def test_a_part_is_named_only_if_both_its_ids_are_there(context, thread):
    name = GeName("tensors", "Add", "a", 17, 1, 2, context, thread, 0)
    assert format_ge_name(name) == "Add.a.1.2.17"


@pytest.mark.parametrize(("context", "thread"), [(0, 1), (1, 0)])
def test_a_captured_stream_takes_0_for_absent(context, thread):
    name = GeName("captured", "Add", "a", 17, 1, 2, context, thread, 0, 9)
    assert format_ge_name(name) == "Add.a.9.1.2.17"
    assert format_ge_name(name._replace(kind="tensors")).endswith(f".4.{context}.{thread}.0")


def test_the_name_of_a_core_keeps_its_last_255_bytes():
    name = format_ge_name(GeName("core", "", "k" * 300, 20250102030405678, 5, 12))
    assert len(name) == 255
    assert name.endswith("kkk.12.5.20250102030405678.core")
    assert parse_ge_name(name).stream_id == 12


def test_a_name_without_its_ids_is_refused():
    missing = ["dump_number", "stream_id"]
    with refused("dump/name-ids", FormatError, missing=missing):
        format_ge_name(GeName("captured", "Add", "a", 17, 1))


MSACCUCMP = re.compile(
    r"[A-Za-z0-9_-]+\.([A-Za-z0-9_-]+)\.\d+(\.\d+)?\.\d{1,255}(\.\d+\.\d+\.\d+)?(\.\d+)?"
)


@given(TENSORS, st.sampled_from(["", ".4.1.2.3"]))
@FIXED
def test_msaccucmp_accepts_our_names_of_tensors(name, tail):
    written = format_ge_name(name._replace(kind="tensors")) + tail
    assert MSACCUCMP.fullmatch(written)
    assert parse_ge_name(written).op_name == name.op_name


@given(st.text(max_size=40) | st.from_regex(r"[a-z.0-9]{1,60}", fullmatch=True))
@FIXED
def test_any_text_is_read_or_is_no_name(text):
    found = parse_ge_name(text)
    assert found is None or found.kind in {kind for kind, _ in GRAMMARS}


def test_a_hostile_name_takes_no_time():
    for name in (
        "1." * 500,
        "a." + "1." * 499 + "x",
        "." * 1000,
        "9" * 100_000,
        "a.b" + ".1" * 508,
    ):
        assert parse_ge_name(name) is None or name.startswith("a.b")
