"""The tensors of a dump as columns: what is kept, what it takes in memory, and that quick ways read as careful ones."""

from __future__ import annotations

import builtins
import gc
import os
import pickle
import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from google.protobuf.message import DecodeError
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.index import write_containers, write_npy
from kit.build.small_dumps import ge_dump, ge_network
from workbench.core.events import DeviceEvent
from workbench.core.tensors import ArraySource, TensorKey, TensorRecord, TensorSpec
from workbench.dump import folder as module
from workbench.dump.dump import CONSTANT_ITERATION
from workbench.dump.formats.container_header import (
    EntryCache,
    decode_numbers,
    message_class,
    quick_entries,
)
from workbench.dump.formats.file import FileName
from workbench.dump.formats.mindspore_name import dtype_of_word
from workbench.dump.formats.table import FILE_FORMATS, parse_name, parse_names
from workbench.dump.index import COLUMNS, EMPTY, Strings, index_of, join
from workbench.dump.reader import load

TREES = {
    "npy": write_npy,
    "containers": lambda base, count: write_containers(base, count, 2),
    "device formats": lambda base, count: write_containers(base, count, 2, "NC1HWC0"),
}


@pytest.fixture(scope="module", params=TREES)
def tree(request, tmp_path_factory):
    base = tmp_path_factory.mktemp("tree")
    TREES[request.param](base, 300)
    return base


# ---------------------------------------------------------------- what is kept

SPEC = TensorSpec("float16", (2, -1), "ND")
ODD = [
    TensorRecord(TensorKey("Add", "a", "input", 0), TensorSpec("", None)),
    TensorRecord(
        TensorKey("Add", "a", "output", 4095, 2, CONSTANT_ITERATION, 7, "net", 3), SPEC,
        ArraySource(np.ones(2)), None, (1 << 63) - 1, (1 << 32) - 1, (1 << 32) - 1, "x/y", None, "b",
    ),
    TensorRecord(
        TensorKey("", os.fsdecode(b"\xff\xfe"), "output", 0), SPEC, None, {"Max": 1.0},
        20260102030405678, path="no folder",
    ),
    TensorRecord(TensorKey("Ä\ud800", "é", "input", 1), SPEC, path="/", event=DeviceEvent("a", "b", "c")),
]  # fmt: skip
"""Values that hardly a tensor has, or that only a hostile dump has."""


def test_records_come_back_as_they_were():
    index = index_of(ODD)
    assert index.records == ODD
    assert pickle.loads(pickle.dumps(index_of(ODD[:1] + ODD[2:]))) == index_of(ODD[:1] + ODD[2:])
    assert index.take([3, 1]).records == [ODD[3], ODD[1]]
    assert index.take(np.array([True, False, True, False])).records == [ODD[0], ODD[2]]
    assert join([EMPTY, index, index.take([2]), index]).records == [*ODD, ODD[2], *ODD]
    assert index.is_held.tolist() == [False, True, False, False]
    assert not len(EMPTY)


def test_records_of_files_come_back_as_they_were(tree):
    index = load(tree).index
    assert index_of([*index.records]) == index
    assert join([index.take(range(9)), index.take(range(9, len(index)))]) == index
    assert pickle.loads(pickle.dumps(index)) == index


def test_an_index_is_never_written_to(tree):
    index = load(tree).index
    before = [*index.records]
    arrays = index.rows, index.file_folders, index.files.starts, index.op_names.ends
    assert not any(array.flags.writeable for array in arrays)
    index.with_columns(turn=np.arange(len(index)))
    index.with_places(one._replace(rank=5) for one in index.places)
    assert index.records == before


def test_all_who_read_at_the_same_time_read_the_same_records():
    index = index_of(ODD)
    held = index.records
    first = held[0]
    assert index.records[0] is first
    assert [one is other for one, other in zip(held, index.records, strict=True)] == [True] * 4


def test_every_column_is_declared_once():
    assert len({one.name for one in COLUMNS}) == len({one.title for one in COLUMNS}) == len(COLUMNS)
    assert all(one.meaning for one in COLUMNS)


@given(st.lists(st.text(st.characters())))
def test_texts_come_back_as_they_were(texts):
    found = Strings.of(texts)
    assert found.all() == [*found] == texts


# ---------------------------------------------------------------- memory and files


@pytest.mark.parametrize("kind", TREES)
def test_a_tensor_takes_at_most_200_bytes_with_its_names(tmp_path, kind):
    TREES[kind](tmp_path, 2000)
    load(tmp_path)  # caches and modules
    gc.collect()
    tracemalloc.start()
    try:
        dump = load(tmp_path)
        gc.collect()
        held = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert held / dump.tensors <= 200


def test_loading_opens_each_container_once_and_no_npy_file(tree, monkeypatch):
    opened = []
    for owner in (os, builtins):
        real = owner.open
        monkeypatch.setattr(
            owner,
            "open",
            lambda path, *rest, real=real, **more: (
                opened.append(str(path)) or real(path, *rest, **more)
            ),
        )
    dump = load(tree)
    monkeypatch.undo()
    files = {record.path for record in dump.records}
    assert len(files) == 300
    found = sorted(path for path in opened if path in files)
    assert found == ([] if all(path.endswith(".npy") for path in files) else sorted(files))


# ---------------------------------------------------------------- quick ways read as careful ones


def careful(name: str) -> FileName | None:
    return parse_name(name)


def quick(names: list[str]) -> dict[int, FileName]:
    """What `parse_names` says, as names."""
    parsed = parse_names(names)
    found = {}
    for kind, columns in (("npy", parsed.npy), ("tensors", parsed.tensors)):
        for number, op_type, op_name, task, stream, time, io, slot, form, dtype in zip(
            *columns, strict=True
        ):
            said = op_type, op_name, int(time), int(task), int(stream), io or "output"
            rest = int(slot) if slot else None, form, dtype and dtype_of_word(dtype)
            found[number] = FileName(kind, *said, *rest)
    assert sorted([*found, *parsed.others]) == [*range(len(names))]
    return found


NUMBER = st.sampled_from(["0", "1", "17", "007", "4095", "4096", "-1", "", str(1 << 32), "1" * 20])
TIME = NUMBER | st.sampled_from(["1700000000000000", "20260102030405678", "9" * 18, "9" * 300])
WORD = st.sampled_from(
    [
        "Add",
        "Opdebug",
        "Node_OpDebug",
        "exception_info",
        "a_b",
        "é",
        "",
        "a b",
        "2x3",
        "a\nb",
        "a/b",
        "\0",
    ]
) | st.text(max_size=5)
TAIL = st.sampled_from(
    ["", ".4.1.2.3", ".1.2.3", ".csv", ".json", ".npy", ".output.0.ND.npy", ".output.0.ND.float16.npy",
     ".input.1.DefaultFormat.Float32.npy", ".output.0.2x3.npy", ".output.0..npy", ".output.0.npy", ".core",
     ".output.4096.ND.npy", ".output.0.ND.HIFLOAT8", ".output.output.0.ND.npy"]
)  # fmt: skip
NAME = st.builds(
    lambda words, numbers, time, tail: ".".join((*words, *numbers, time)) + tail,
    st.lists(WORD, min_size=1, max_size=3), st.lists(NUMBER, max_size=3), TIME, TAIL,
)  # fmt: skip


@given(st.lists(NAME | st.sampled_from([row.example for row in FILE_FORMATS]), max_size=6))
def test_names_of_a_folder_are_read_as_one_by_one(names):
    for number, found in quick(names).items():
        assert found == careful(names[number])


def test_common_names_are_read_at_once():
    names = [row.example for row in FILE_FORMATS if row.id in ("npy", "tensors")]
    assert set(quick(names)) == {0, 1}


def test_a_folder_is_read_the_same_without_quick_ways(tree, monkeypatch):
    dump = load(tree)
    monkeypatch.setattr(module, "_read_common", lambda _, names, __: ([], range(len(names))))
    slow = load(tree)
    assert slow.index == dump.index
    assert replace(slow, index=EMPTY) == replace(dump, index=EMPTY)


def test_files_of_several_formats_stay_in_their_order(tmp_path, monkeypatch):
    tree, leaf = tmp_path / "ge", "20240101000000/0/net/1/0"
    ge_dump(tree, ge_network(), leaf, start=0)
    write_npy(tmp_path / "npy", 3)
    for file in (tmp_path / "npy").rglob("*.npy"):
        file.rename(tree / leaf / file.name)
    (tree / leaf / "A.broken.1.2.17").write_bytes(b"x")
    dump = load(tree)
    monkeypatch.setattr(module, "_read_common", lambda _, names, __: ([], range(len(names))))
    slow = load(tree)
    assert {record.path.rpartition(".")[2] for record in dump.records} > {"npy"}
    assert (slow.index, slow.skipped, slow.info) == (dump.index, dump.skipped, dump.info)


# ---------------------------------------------------------------- headers like those before

ORIGIN = st.none() | st.fixed_dictionaries(
    {"name": st.binary(max_size=200)},
    optional={"output_index": st.integers(0, 300), "format": st.integers(0, 40)},
)
DIMS = st.lists(st.integers(0, 200), max_size=4)
FIELDS = {
    "data_type": st.sampled_from([0, 1, 2, 16, 200, -1]), "format": st.sampled_from([0, 2, 3, 300]),
    "shape": DIMS, "original_shape": DIMS, "size": st.integers(0, 300), "sub_format": st.integers(0, 2),
    "address": st.integers(0, (1 << 64) - 1), "offset": st.integers(0, 300), "arg_index": st.integers(0, 2),
}  # fmt: skip


def encode(fields, origin, part):
    """Message of a tensor."""
    message = message_class("OpOutput" if part == "output" else "OpInput")()
    for name, value in fields.items():
        if name.endswith("shape"):
            getattr(message, name).dim.extend(value)
        else:
            setattr(message, name, value)
    if origin is not None and part == "output":
        for name, value in origin.items():
            setattr(message.original_op, name, value)
    return message


def variable(message):
    """What differs between tensors of a kind, and all else."""
    rest = type(message)()
    rest.CopyFrom(message)
    address = rest.address
    rest.ClearField("address")
    name, output = b"", 0
    if hasattr(rest, "original_op") and rest.original_op.name:
        name, output = rest.original_op.name, rest.original_op.output_index
        rest.original_op.name = b"x"
    return address, name, output, rest.SerializeToString(deterministic=True)


@given(st.data(), st.sampled_from(["input", "output"]))
def test_a_message_that_is_known_says_what_the_library_reads(data, part):
    """Two messages, and damage of the second: whatever the cache takes for the first kind has its fields."""
    fields = data.draw(st.fixed_dictionaries({}, optional=FIELDS))
    first = encode(fields, data.draw(ORIGIN), part)
    second = encode(
        fields | data.draw(st.fixed_dictionaries({}, optional=FIELDS)), data.draw(ORIGIN), part
    )
    cache = EntryCache()
    cache.put(part, first.SerializeToString(), first, variable(first)[3])
    raw = bytearray(second.SerializeToString())
    for at, byte in data.draw(
        st.lists(st.tuples(st.integers(0, 60), st.integers(0, 255)), max_size=2)
    ):
        if at < len(raw):
            raw[at] = byte
    entry = cache.get(part, bytes(raw))
    if entry is None:
        return
    address, name, output, rest = variable(type(first).FromString(bytes(raw)))
    assert entry.kind == rest
    number = int(decode_numbers([entry.address])[0])
    assert (number, entry.name, entry.output) == (address, name, output)


def test_messages_of_one_kind_are_known_by_the_first():
    fields = {"data_type": 1, "format": 2, "shape": [2, 3], "size": 24, "address": 1 << 40}
    for part, origin in (("input", None), ("output", {"name": b"net/a", "output_index": 1})):
        cache, first = EntryCache(), encode(fields, origin, part)
        cache.put(part, first.SerializeToString(), first, "kind")
        other = encode(fields | {"address": 77}, origin and origin | {"name": b"net/bc"}, part)
        entry = cache.get(part, other.SerializeToString())
        assert entry == ("kind", b"\x4d", b"net/bc" if origin else b"", 1 if origin else 0)
        larger = encode(fields | {"size": 25}, origin, part)
        assert cache.get(part, larger.SerializeToString()) is None


@given(st.binary(max_size=40) | st.lists(st.sampled_from(
    [b"\x0a\x032.0", b"\x0a\x031.0", b"\x10\x05", b"\x10\x85\x00", b"\x1a\x02\x08\x01", b"\x22\x02\x08\x02",
     b"\x22\x82\x00\x08\x03", b"\x32\x01a", b"\x3a\x00", b"\x1a\x7f", b"\x10" + b"\x80" * 11 + b"\x01", b"\x18\x01"]
)).map(b"".join))  # fmt: skip
def test_messages_of_a_header_are_those_that_the_library_finds(data):
    found = quick_entries(data, 0)
    if found is None:
        return
    try:
        header = message_class("DumpData").FromString(data)
    except DecodeError:
        for part, name in (("input", "OpInput"), ("output", "OpOutput")):
            for one in found[part]:
                try:
                    message_class(name).FromString(one)
                except DecodeError:
                    return  # whoever reads the tensor refuses it
        raise
    assert header.version in (b"1.0", b"2.0")
    for part, name in (("input", "OpInput"), ("output", "OpOutput")):
        read = [message_class(name).FromString(one) for one in found[part]]
        assert read == [*getattr(header, part)]
