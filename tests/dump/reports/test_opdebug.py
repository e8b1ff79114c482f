"""Overflow records: two layouts, three spellings, byte for byte, and nothing else accepted."""

from __future__ import annotations

import json
import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kit.build.foreign_files import MSACCUCMP
from kit.build.small_dumps import container_bytes
from kit.cases import examples
from kit.oracle import dump_files as wire
from kit.words import refused
from workbench.core.errors import FormatError
from workbench.dump.reports.opdebug import (
    ACCELERATORS,
    CLASSIC,
    Accelerator,
    OverflowRecord,
    overflow_container,
    parse_record,
    read_overflow,
    record_bytes,
)
from workbench.dump.reports.opdebug_json import parse_json, record_json

FIXED = settings(derandomize=True, deadline=None, max_examples=examples(100))

CORE = (514, 563, 57, 0, 0x1008005B0000, 0x100800297000)


def classic(core=CORE, status=(0x1008005AE000, 1, 32)) -> bytes:
    """The documents' example, put together from its offsets."""
    data = bytearray(2048)
    struct.pack_into("<6Q", data, 256, *core)
    struct.pack_into("<3Q", data, 1024, *status)
    return bytes(data)


def magic(kind: int, numbers, version: int = 0, valid: int = 1, length: int | None = None) -> bytes:
    head = struct.pack(
        "<6I", 0x5A5A5A5A, version, valid, kind, 0, 8 * len(numbers) if length is None else length
    )
    return (head + struct.pack(f"<{len(numbers)}Q", *numbers)).ljust(2048, b"\0")


AIV = (9, 12, 4, 0, 65535, 65535, 0x1240, 0x1260, 0, 3, 32)

_ATOMIC = (
    '{"model_id":0,"para_base":"0x0","pc_start":"0x0","status":0,'
    '"stream_id":0,"task_id":0,"task_type":0}'
)
MINDSPORE = (
    '{"AI Core":{"block_idx":1,"kernel_code":"0x1008005ae000","model_id":514,'
    '"para_base":"0x100800297000","pc_start":"0x1008005b0000","status":32,"stream_id":563,'
    '"task_id":57,"task_type":0},"DHA Atomic Add":' + _ATOMIC + ',"L2 Atomic Add":' + _ATOMIC + "}"
)
MSPROBE = MINDSPORE.replace("5ae000", "5AE000").replace("5b0000", "5B0000")

MAGIC_JSON = """{
    "magic": "0x5a5a5a5a",
    "version": 0,
    "acc_list": {
        "valid": 1,
        "acc_type": "AIV",
        "rsv": 0,
        "data_len": 88,
        "data": {
            "model_id": 9,
            "stream_id": 12,
            "task_id": 4,
            "task_type": 0,
            "context_id": 65535,
            "thread_id": 65535,
            "pc_start": "0x1240",
            "para_base": "0x1260",
            "core_id": 0,
            "block_id": 3,
            "status": 32
        }
    }
}"""

# ---------------------------------------------------------------- JSON


@pytest.mark.parametrize(
    ("form", "text"), [("mindspore", MINDSPORE), ("msprobe", MSPROBE), ("msaccucmp", MSACCUCMP)]
)
def test_a_classic_record_is_spelt_byte_for_byte(form, text):
    record = parse_record(classic())
    assert record_json(record, form) == text
    assert parse_json(text) == record
    assert record_bytes(parse_json(text)) == classic()


def test_a_record_with_a_magic_number_is_spelt_byte_for_byte():
    record = parse_record(magic(1, AIV))
    assert record_json(record, "msaccucmp") == MAGIC_JSON
    assert parse_json(MAGIC_JSON) == record
    assert record_bytes(parse_json(MAGIC_JSON)) == magic(1, AIV)


def test_version_1_has_four_words_of_status():
    data = magic(0, (*AIV[:-1], 1, 0, 3, 2**64 - 1), version=1)
    record = parse_record(data)
    assert record.accelerators[0].statuses == (1, 0, 3, 2**64 - 1)
    tree = json.loads(record_json(record, "msaccucmp"))
    assert (tree["version"], tree["acc_list"]["data_len"]) == (1, 112)
    assert tree["acc_list"]["data"]["status"] == [1, 0, 3, 2**64 - 1]
    assert parse_json(json.dumps(tree)) == record
    assert record_bytes(record) == data


def test_addresses_of_every_accelerator_are_hexadecimal():
    sdma = parse_record(magic(3, (1, 2, 3, 4, 5, 6, 0xAB, 0xCD, 9, 1)))
    data = json.loads(record_json(sdma, "msaccucmp"))["acc_list"]
    assert (data["acc_type"], data["data_len"]) == ("SDMA", 80)
    assert (data["data"]["src_addr"], data["data"]["dst_addr"]) == ("0xab", "0xcd")
    cpu = parse_record(magic(2, range(8)))
    assert json.loads(record_json(cpu, "msaccucmp"))["acc_list"]["data"] == {
        "model_id": 0, "stream_id": 1, "task_id": 2, "task_type": 3, "context_id": 4, "cpu_id": 5,
        "thread_id": 6, "status": 7,
    }  # fmt: skip


NUMBER = "dump/overflow-number"


@pytest.mark.parametrize("form", ["mindspore", "msprobe"])
def test_other_programs_do_not_know_the_magic_number(form):
    with refused("dump/overflow-form", FormatError, got=form):
        record_json(parse_record(magic(1, AIV)), form)


def test_the_manuals_own_name_of_a_block_is_read():
    assert parse_json(MSACCUCMP.replace("block_idx", "block_id")) == parse_record(classic())


@pytest.mark.parametrize(
    ("text", "code", "values"),
    [
        ("", "dump/json", {}),
        ("[" * 100_000, "dump/json", {}),
        ("[]", "dump/json-object", {"subject": "overflow record", "got": "[]"}),
        ("{}", "dump/json-object", {"subject": "DHA Atomic Add", "got": None}),
        (MSACCUCMP.replace("563", "-1"), NUMBER, {"name": "stream_id", "bits": 64, "got": -1}),
        (MSACCUCMP.replace("563", "1" * 5000), "dump/json", {}),
        (MSACCUCMP.replace("563", str(2**64)), NUMBER, {"name": "stream_id", "got": 2**64}),
        (MSACCUCMP.replace("563", "5.5"), NUMBER, {"name": "stream_id", "got": 5.5}),
        (MSACCUCMP.replace("563", "true"), NUMBER, {"name": "stream_id", "got": True}),
        (MSACCUCMP.replace("563", '"0x1"'), NUMBER, {"name": "stream_id", "got": "0x1"}),
        (MSACCUCMP.replace("0x1008005b0000", "0x"), NUMBER, {"name": "pc_start", "got": "0x"}),
        (MAGIC_JSON.replace("5a5a", "5a5b"), "dump/overflow-magic", {"expected": "0x5a5a5a5a"}),
        (MAGIC_JSON.replace("AIV", "GPU"), "core/choice", {"subject": "acc_type", "got": "GPU"}),
        (MAGIC_JSON.replace('"version": 0', '"version": 1'), "dump/overflow-status", {}),
        (MAGIC_JSON.replace("88", str(2**32)), NUMBER, {"name": "data_len", "bits": 32}),
        (" " * (1 << 20) + "{}", "core/too-large", {"got": (1 << 20) + 2, "limit": 1 << 20}),
    ],
)
def test_other_json_is_refused(text, code, values):
    with refused(code, FormatError, place="r.json", **values):
        parse_json(text, "r.json")


# ---------------------------------------------------------------- bytes


def test_the_fields_of_a_record_are_where_the_layout_has_them():
    data = b"".join(struct.pack("<Q", number) for number in range(256))
    record = parse_record(data)
    dha, l2, core = (tuple(one.fields.values()) for one in record.accelerators)
    assert dha == (0, 1, 2, 3, 4, 5, 64)
    assert l2 == (16, 17, 18, 19, 20, 21, 96)
    assert core == (32, 33, 34, 35, 36, 37, 128, 129, 130)


WORD = st.integers(0, 2**64 - 1)
HALF = st.integers(0, 2**32 - 1)


@st.composite
def records(draw):
    if draw(st.booleans()):
        found = []
        for title, place in CLASSIC.items():
            names = ("model_id", "stream_id", "task_id", "task_type", "pc_start", "para_base")
            found.append(Accelerator(title, {name: draw(WORD) for name in (*names, *place.last)}))
        return OverflowRecord(tuple(found))
    title, names = draw(st.sampled_from(list(ACCELERATORS.values())))
    version = draw(st.integers(0, 2))
    fields = {name: draw(WORD) for name in names}
    if version == 1 and title in ("AIC", "AIV"):
        fields["status"] = draw(st.tuples(*[WORD] * 4))
    one = Accelerator(title, fields, draw(HALF), draw(HALF), draw(HALF))
    return OverflowRecord((one,), version)


@given(records())
@FIXED
def test_a_record_survives_bytes_and_every_spelling(record):
    if record.accelerators[0].fields["model_id"] % 2**32 != 0x5A5A5A5A:
        assert parse_record(record_bytes(record)) == record
    for form in ("msaccucmp", "mindspore", "msprobe"):
        if record.version is None or form == "msaccucmp":
            assert parse_json(record_json(record, form)) == record


def test_more_accelerators_follow_as_long_as_they_are_valid():
    first = magic(2, range(8))[:88]
    second = struct.pack("<4I", 1, 3, 0, 80) + struct.pack("<10Q", *range(10))
    for tail in (b"", struct.pack("<4I", 1, 2, 0, 63), struct.pack("<4I", 1, 9, 0, 0)):
        record = parse_record((first + second + tail).ljust(2048, b"\0"))
        assert [one.title for one in record.accelerators] == ["AICPU", "SDMA"]
    assert record_bytes(record)[: 88 + 96] == first + second


@pytest.mark.parametrize(
    ("data", "code", "got"),
    [
        (b"", "overflow-size", 0),
        (bytes(2047), "overflow-size", 2047),
        (magic(4, range(8)), "overflow-accelerator", 4),
        (magic(0, AIV)[:100], "overflow-short", 100),
        (magic(0, AIV)[:20], "overflow-short", 20),
    ],
)
def test_other_bytes_are_refused(data, code, got):
    with refused(f"dump/{code}", FormatError, got=got):
        parse_record(data)


def test_a_status_is_told_in_words():
    def words(title, status):
        return Accelerator(title, {"status": status}).meaning

    assert words("AI Core", 0x110) == (
        "integer addition, subtraction or multiplication overflowed",
        "conversion to float16 overflowed",
    )
    assert words("AI Core", 0x1) == ("status 0x1",)
    assert words("DHA Atomic Add", 0xD) == ("source and destination are NaN",)
    assert words("L2 Atomic Add", 7) == ("status 0x7",)
    assert words("L2 Atomic Add", 0) == words("AICPU", 32) == ()
    assert words("AIV", 32) == ("floating-point or integer overflow",)
    assert words("AIC", 1 << 8 | 1 << 10 | 1 << 20) == (
        "result of the cube unit overflowed on its way out",
        "accumulator of the cube unit overflowed",
        "status 0x100000",
    )
    assert words("AIV", (32, 0, 0, 0)) == ("floating-point or integer overflow",)
    assert words("AIV", (32, 1, 0, 0)) == ()


def test_the_first_accelerator_with_a_status_is_the_one():
    record = parse_record(classic())
    assert (record.first.title, record.first.fields["task_id"]) == ("AI Core", 57)
    assert parse_record(bytes(2048)).first is None


# ---------------------------------------------------------------- files


@pytest.mark.parametrize("data", [classic(), magic(1, AIV)], ids=["classic", "magic"])
def test_a_record_is_one_output_of_bytes(tmp_path, data):
    made = container_bytes(*overflow_container(parse_record(data), 1700000000000006))
    header, ((part, _, stated, payload),) = wire.container(made)
    assert (part, payload) == ("output", data)
    assert (header["op_name"], header["dump_time"]) == ("Node_OpDebug", 1700000000000006)
    assert (stated["data_type"], stated["format"], stated["size"]) == (4, 2, 2048)
    assert stated["shape"]["dim"] == [2048]
    assert stated["original_op"]["name"] == "Node_OpDebug"
    path = tmp_path / "Opdebug.Node_OpDebug.57.563.1700000000000006"
    path.write_bytes(made)
    assert read_overflow(path) == (parse_record(data),)


def test_a_file_without_a_record_is_refused(tmp_path):
    path = tmp_path / "x"
    cases = [
        ("dump/overflow-none", {}, wire.field(4, wire.field(5, 1))),
        ("dump/overflow-size", {"got": 4096}, wire.field(3, wire.field(6, 4096))),
        ("dump/overflow-size", {"got": 1}, wire.field(3, wire.field(6, 1))),
    ]
    for code, values, header in cases:
        path.write_bytes(struct.pack("<Q", len(header)) + header + bytes(4096))
        with refused(code, FormatError, **values) as caught:
            read_overflow(path)
        assert caught.value.place.startswith(f"{path}: byte ")
