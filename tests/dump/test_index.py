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
from hypothesis import example, given
from hypothesis import strategies as st

from benchmarks.index import write_containers, write_npy
from kit.build.small_dumps import ge_dump, ge_network
from workbench.core.events import DeviceEvent
from workbench.core.tensors import ArraySource, TensorKey, TensorRecord, TensorSpec
from workbench.dump import folder as module
from workbench.dump.dump import CONSTANT_ITERATION
from workbench.dump.formats import container
from workbench.dump.formats.container_header import (
    FormCache,
    decode_numbers,
    find_places,
    message_class,
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


ALTERED = st.lists(st.tuples(st.integers(0, 250), st.integers(0, 255)), max_size=2)


def header(fields, origin, op_name=b"net/a", time=1_700_000_000_000_000):
    """A file up to the end of a header with an input and an output."""
    message = message_class("DumpData")(version=b"2.0", dump_time=time, op_name=op_name)
    message.output.append(encode(fields, origin, "output"))
    message.input.append(encode(fields, None, "input"))
    data = message.SerializeToString()
    return len(data).to_bytes(8, "little") + data


def alter(data, changes):
    """Replace bytes at some places; places behind the end count for nothing."""
    found = bytearray(data)
    for at, byte in changes:
        if at < len(found):
            found[at] = byte
    return bytes(found)


def without_free(data):
    """What the library reads of a header but for what differs between headers of one form, and that."""
    message = message_class("DumpData").FromString(data[8:])
    tensors = [*message.input, *message.output]
    names = [one.original_op.name for one in message.output]
    addresses = [one.address for one in tensors]
    for one in message.output:
        if one.original_op.name:
            one.original_op.name = b"x"
    for one in (message, *tensors):
        one.ClearField("dump_time" if one is message else "address")
    message.ClearField("op_name")
    return message.SerializeToString(deterministic=True), addresses, names


@given(
    st.fixed_dictionaries({}, optional=FIELDS), ORIGIN,
    st.fixed_dictionaries({}, optional=FIELDS), ORIGIN, ALTERED,
)  # fmt: skip
def test_a_header_whose_form_is_known_says_what_the_library_reads(
    fields, origin, others, other, changes
):
    """Two headers, and damage of the second: whatever has the first one's form has its fields."""
    first = header(fields, origin)
    places, mask = find_places(first)
    cache = FormCache()
    cache.put(first, mask, places)
    second = alter(header(fields | others, other or origin), changes)
    found = cache.get(second)
    if found is None:
        return
    rest, addresses, names = without_free(second)
    assert rest == without_free(first)[0]
    spans = np.array([(one.address, one.address_end) for one in found])
    assert decode_numbers(second, *spans.T).tolist() == addresses
    assert [second[one.name : one.name_end] for one in found] == [b"", *names]


def test_headers_of_one_form_are_known_by_the_first():
    fields = {"data_type": 1, "format": 2, "shape": [2, 3], "size": 24, "address": 1 << 40}
    first = header(fields, {"name": b"net/a", "output_index": 1})
    cache = FormCache()
    cache.put(first, find_places(first)[1], "form")
    alike = {
        "fields": fields | {"address": (1 << 41) + 77},
        "origin": {"name": b"net/b", "output_index": 1},
    }
    assert cache.get(header(**alike, op_name=b"other", time=1_700_000_000_000_001)) == "form"
    for name, value in (("size", 25), ("shape", [3, 2]), ("address", 1 << 50)):
        assert cache.get(header(alike["fields"] | {name: value}, alike["origin"])) is None
    assert cache.get(header(fields, {"name": b"net/a", "output_index": 2})) is None


def test_a_cache_of_forms_forgets():
    """Headers of one length whose free bytes lie elsewhere, more than it tries; and more than it may hold."""
    cache = FormCache()
    for number in range(100):
        mask = bytes(number == at for at in range(100))
        cache.put(bytes(100), mask, number)
        assert cache.get(bytes(100)) is not None
    assert sum(map(len, cache._by_length.values())) <= 16
    for number in range(9):
        cache.put(bytes([number]) * (1 << 20), b"\xff" * (1 << 20), number)
    assert cache.get(bytes([8]) * (1 << 20)) == 8
    assert sum(size * len(masks) for size, masks in cache._by_length.items()) <= 6 << 20


@given(st.lists(st.integers(0, (1 << 64) - 1)))
def test_numbers_are_decoded_as_the_library_encodes_them(numbers):
    parts = [message_class("DumpData")(dump_time=one).SerializeToString()[1:] for one in numbers]
    ends = np.cumsum([*map(len, parts)])
    starts = ends - [*map(len, parts)]
    assert decode_numbers(b"".join(parts), starts, ends).tolist() == numbers


def test_of_a_number_of_ten_bytes_64_bits_count():
    place = np.array([0])
    assert decode_numbers(b"\xff" * 9 + b"\x7f", place, place + 10).tolist() == [(1 << 64) - 1]
    assert decode_numbers(b"\x05", place, place).tolist() == [0]


def read_both_ways(folder, monkeypatch):
    """What is read of a folder with quick ways, and without."""
    quick = load(folder)
    with monkeypatch.context() as patch:
        patch.setattr(module, "_read_common", lambda _, names, __: ([], range(len(names))))
        patch.setattr(container, "read_form", lambda path: None)
        return quick, load(folder)


WRONG_TYPE = [(24, 0x0A)]
"""The byte before an output's number format, as if a text followed."""


@given(st.lists(ALTERED, max_size=4))
@example([WRONG_TYPE])
def test_damaged_headers_are_read_as_without_quick_ways(tmp_path_factory, changes):
    base = tmp_path_factory.mktemp("damaged")
    folder = write_containers(base, 1 + len(changes), 1)
    sound, *files = sorted(folder.iterdir())
    for file, change in zip(files, changes, strict=True):
        file.write_bytes(alter(file.read_bytes(), change))
    with pytest.MonkeyPatch.context() as patch:
        quick, careful = read_both_ways(base, patch)
    assert quick.index == careful.index
    assert (quick.skipped, quick.notes) == (careful.skipped, careful.notes)
    assert {record.path for record in quick.records} >= {str(sound)}
