"""Slices of an operator (FFTS+) are put together where their attributes say how, and stay apart elsewhere.

Headers are made field by field with the encoder of `dump_files`, which shares nothing with the package.
"""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kit.arrays import read_all
from kit.cases import examples
from kit.oracle import dump_files
from kit.wire import varint
from kit.words import check_said, refused
from workbench.core.errors import FormatError
from workbench.core.transdata import to_device
from workbench.dump.reader import load

START = 1_700_000_000_000_000
LEAF = "20240613143502/0/net/1/0"
TYPES = {"float32": 1, "float16": 2, "int8": 3, "int32": 3}
field = dump_files.field


def ints(values) -> bytes:
    return b"".join(varint(value) for value in values)


def tensor(io: str, array, *, format=2, original=None, shape=None) -> bytes:
    """The message of an input or output."""
    size, origin = (5, 6) if io == "input" else (6, 7)
    message = field(1, {"<f4": 1, "<f2": 2, "|i1": 3}[array.dtype.str]) + field(2, format)
    message += field(3, field(1, ints(array.shape if shape is None else shape)))
    message += field(size, array.nbytes)
    return message + field(origin, field(1, ints(array.shape if original is None else original)))


def write(leaf, name, inputs, outputs, attribute=None, **more):
    """A container of some tensors with an attribute of the compiler's name."""
    header = field(1, b"2.0") + field(2, START)
    header += b"".join(field(3, tensor("output", one, **more)) for one in outputs)
    header += b"".join(field(4, tensor("input", one, **more)) for one in inputs)
    header += field(6, b"net/conv")
    if attribute is not None:
        text = attribute if isinstance(attribute, str) else json.dumps(attribute)
        header += field(7, field(1, b"_sgt_json_info") + field(2, text.encode()))
    leaf.mkdir(parents=True, exist_ok=True)
    payload = b"".join(np.ascontiguousarray(one).tobytes() for one in (*inputs, *outputs))
    (leaf / name).write_bytes(len(header).to_bytes(8, "little") + header + payload)


def thread(number, *, time=START, op="conv", context=12):
    return f"Conv2D.{op}.2.7.{time + number}.4.{context}.{number}.0"


def manual(number, *, time=START):
    return f"Conv2D.net_conv_lxslice{number}.2.7.{time + number}.4.{330 + number}.0.0"


def ranges(windows) -> list:
    return [{"lower": low, "higher": high} for low, high in windows]


def cut(array, axis, ends):
    """Slices of an array that end at some places of an axis, and the window of each."""
    parts, windows, low = [], [], 0
    for high in ends:
        index = [slice(None)] * array.ndim
        index[axis] = slice(low, high)
        parts.append(array[tuple(index)])
        windows.append([(0, n) if at != axis else (low, high) for at, n in enumerate(array.shape)])
        low = high
    return parts, windows


def told(dump, io="output"):
    return [r for r in dump.records if r.key.io == io]


def kinds(dump):
    return [(note.kind, note.name) for note in dump.notes]


@pytest.fixture
def leaf(tmp_path):
    return tmp_path / LEAF


@given(data=st.data())
@settings(max_examples=examples(60), deadline=None)
def test_threads_become_one_tensor_along_any_axis(tmp_path_factory, data):
    """Ranges of every thread, as the compiler writes them; file times run backwards."""
    leaf = tmp_path_factory.mktemp("tree") / LEAF
    shape = tuple(data.draw(st.lists(st.integers(2, 5), min_size=1, max_size=4)))
    axis = data.draw(st.integers(0, len(shape) - 1))
    ends = sorted(data.draw(st.sets(st.integers(1, shape[axis] - 1), max_size=3)) | {shape[axis]})
    array = np.arange(np.prod(shape), dtype=data.draw(st.sampled_from(["f4", "f2"]))).reshape(shape)
    parts, windows = cut(array, axis, ends)
    whole = np.float32([1, 2, 3])
    attribute = {
        "threadMode": True,
        "slice_instance_num": len(parts),
        "output_tensor_slice": [[ranges(one), ranges([(0, 3)])] for one in windows],
        "outputCutList": [
            [len(parts) if at == axis and len(parts) > 1 else 1 for at in range(len(shape))],
            [1],
        ],
        "input_tensor_slice": [],
        "inputCutList": [],
    }
    for number, part in enumerate(parts):
        write(leaf, thread(number, time=START - 2 * number), [], [part, whole], attribute)
    dump = load(leaf)
    first, second = dump.records
    assert (first.key.op_name, first.key.slot, first.key.turn) == ("conv", 0, 0)
    assert (read_all(first.source) == array).all()
    assert (first.source.array() == array).all()
    assert first.source.spec()[:2] == (array.dtype.name, shape)
    assert read_all(second.source).tolist() == [1, 2, 3]
    assert kinds(dump) == [("slices", "conv")]


def test_inputs_that_overlap_are_laid_over_each_other(leaf):
    """A convolution reads a row of its neighbour's, too."""
    array = np.arange(60, dtype=np.float32).reshape(2, 10, 3)
    windows = [[(0, 2), (0, 6), (0, 3)], [(0, 2), (4, 10), (0, 3)]]
    attribute = {
        "threadMode": 1,
        "slice_instance_num": 2,
        "input_tensor_slice": [[ranges(one)] for one in windows],
        "output_tensor_slice": [[ranges([(0, 2)])], [ranges([(2, 4)])]],
        "outputCutList": [[2]],
    }
    write(leaf, thread(0), [array[:, :6]], [np.float32([0, 1])], attribute)
    write(leaf, thread(1), [array[:, 4:]], [np.float32([2, 3])], attribute)
    dump = load(leaf)
    (given_,), (result,) = told(dump, "input"), told(dump)
    assert (read_all(given_.source) == array).all()
    assert read_all(result.source).tolist() == [0, 1, 2, 3]


def test_a_header_may_state_the_shape_of_the_whole(leaf):
    array = np.arange(24, dtype=np.float16).reshape(4, 6)
    parts, windows = cut(array, 1, [2, 6])
    attribute = {"threadMode": True, "slice_instance_num": 2,
                 "output_tensor_slice": [[ranges(one)] for one in windows]}  # fmt: skip
    for number, part in enumerate(parts):
        write(leaf, thread(number), [], [part], attribute, shape=(4, 6))
    (record,) = load(leaf).records
    assert (read_all(record.source) == array).all()


def test_operators_of_their_own_become_one(leaf):
    """Manual mode: the shapes of the slices and the list of cuts; the name without its slice."""
    array = np.arange(48, dtype=np.float32).reshape(2, 12, 2)
    weight = np.float32([7])
    attribute = {"threadMode": False, "slice_instance_num": 3, "outputCutList": [[1, 3, 1], [1]],
                 "inputCutList": [[1]]}  # fmt: skip
    for number, part in enumerate(cut(array, 1, [5, 9, 12])[0]):
        write(leaf, manual(number), [weight], [part, weight], attribute)
    dump = load(leaf)
    assert {record.key.op_name for record in dump.records} == {"net_conv"}
    assert [(r.key.io, r.key.slot) for r in dump.records] == [
        ("input", 0),
        ("output", 0),
        ("output", 1),
    ]
    assert (read_all(told(dump)[0].source) == array).all()
    assert read_all(told(dump, "input")[0].source).tolist() == [7]


def test_inputs_of_operators_that_may_overlap_stay_with_their_slices(leaf):
    attribute = {"threadMode": False, "slice_instance_num": 2, "outputCutList": [[2]],
                 "inputCutList": [[2]]}  # fmt: skip
    for number in range(2):
        write(leaf, manual(number), [np.float32([1, 2, 3])], [np.float32([number])], attribute)
    dump = load(leaf)
    assert [record.key.op_name for record in told(dump, "input")] == [
        "net_conv_lxslice0",
        "net_conv_lxslice1",
    ]
    assert [r.source.array().tolist() for r in told(dump, "input")] == [[1, 2, 3]] * 2
    assert read_all(told(dump)[0].source).tolist() == [0, 1]


@pytest.mark.parametrize("stated", ["whole", "own"])
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_a_device_format_becomes_the_hosts(leaf, stated, axis):
    """The host's shape is that of the whole or that of the slice, whichever the header states."""
    host = np.arange(4 * 48 * 6 * 5, dtype=np.float16).reshape(4, 48, 6, 5)
    ends = {0: [1, 4], 1: [16, 48], 2: [4, 6]}[axis]
    there = to_device(host, "NCHW", "NC1HWC0")
    parts, windows = cut(there, axis, [end // (16 if axis == 1 else 1) for end in ends])
    attribute = {"threadMode": True, "slice_instance_num": 2,
                 "output_tensor_slice": [[ranges(one)] for one in windows]}  # fmt: skip
    for number, (part, own) in enumerate(zip(parts, cut(host, axis, ends)[0], strict=True)):
        original = host.shape if stated == "whole" else own.shape
        write(leaf, thread(number), [], [part], attribute, format=3, original=original)
    (record,) = load(leaf).records
    assert record.source.spec() == ("float16", host.shape, "NCHW")
    assert (record.source.array() == host).all()


def test_padded_slices_are_not_taken_for_one_block(leaf):
    """Two slices of 8 channels fill half a block each: together they are no 16 channels."""
    part = np.ones((1, 1, 2, 2, 16), np.float16)
    attribute = {"threadMode": True, "slice_instance_num": 2, "outputCutList": [[1, 2, 1, 1, 1]]}
    for number in range(2):
        write(leaf, thread(number), [], [part], attribute, format=3, original=(1, 8, 2, 2))
    (record,) = load(leaf).records
    assert record.source.spec() == ("float16", (1, 2, 2, 2, 16), "NC1HWC0")


def test_executions_are_told_apart_by_time(leaf):
    attribute = {"threadMode": True, "slice_instance_num": 2, "outputCutList": [[2]]}
    for turn in range(3):
        for number in range(2):
            name = thread(number, time=START + 100 * turn)
            write(leaf, name, [], [np.float32([10 * turn + number])], attribute)
    dump = load(leaf)
    assert [record.key.turn for record in dump.records] == [0, 1, 2]
    assert [read_all(r.source).tolist() for r in dump.records] == [[0, 1], [10, 11], [20, 21]]


GOOD = {"threadMode": True, "slice_instance_num": 2, "outputCutList": [[2, 1]]}


def with_ranges(*windows):
    return GOOD | {"output_tensor_slice": [[ranges(one)] for one in windows]}


APART = {
    "one is missing": (GOOD | {"slice_instance_num": 3}, "missing"),
    "no axis": ({"threadMode": True, "slice_instance_num": 2}, "axis"),
    "two axes": (GOOD | {"outputCutList": [[2, 2]]}, "axes"),
    "list of another rank": (GOOD | {"outputCutList": [[2]]}, "axis"),
    "list is text": (GOOD | {"outputCutList": "2"}, "axis"),
    "ranges leave a gap": (with_ranges([(0, 1), (0, 2)], [(2, 3), (0, 2)]), "gap"),
    "ranges are less than the data": (with_ranges([(0, 1), (0, 1)], [(1, 2), (0, 1)]), "size"),
    "ranges are more than the data": (
        with_ranges([(0, 1), (0, 1 << 40)], [(1, 2), (0, 1 << 40)]), "size",
    ),
    "ranges of one thread": (with_ranges([(0, 1), (0, 2)]), "ranges"),
    "ranges are no numbers": (with_ranges([("0", 1.5)], [("0", 1.5)]), "ranges"),
    "ranges against the list": (with_ranges([(0, 1), (0, 2)], [(0, 1), (2, 4)]), "axes"),
}  # fmt: skip


@pytest.mark.parametrize(("attribute", "code"), APART.values(), ids=APART.keys())
def test_what_does_not_fit_stays_apart_with_a_reason(leaf, attribute, code):
    for number in range(2):
        write(leaf, thread(number), [], [np.float32([[1, 2]])], attribute)
    dump = load(leaf)
    assert [r.source.array().tolist() for r in dump.records] == [[[1, 2]]] * 2
    (note,) = dump.notes
    assert note.detail.code == "dump/slices-apart"
    check_said(note.detail.values["why"], f"dump/slices-{code}")


ONES = np.float32([[1, 2]])
UNLIKE = {
    "other attributes": ([ONES], GOOD | {"slice_instance_num": 0}, "mixed"),
    "more outputs": ([ONES, ONES], GOOD, "uneven"),
    "another type": ([ONES.astype(np.float16)], GOOD, "types"),
    "another rank": ([ONES[0]], GOOD, "rank"),
}


@pytest.mark.parametrize(("outputs", "attribute", "code"), UNLIKE.values(), ids=UNLIKE.keys())
def test_slices_unlike_each_other_stay_apart(leaf, outputs, attribute, code):
    write(leaf, thread(0), [], [ONES], GOOD)
    write(leaf, thread(1), [], outputs, attribute)
    (note,) = load(leaf).notes
    check_said(note.detail, "dump/slices-apart")
    check_said(note.detail.values["why"], f"dump/slices-{code}")


def test_slices_of_a_type_that_cannot_be_decoded_stay_apart(leaf):
    for number in range(2):
        write(leaf, thread(number), [], [np.float16([[1, 2]])], GOOD)
        path = leaf / thread(number)
        path.write_bytes(path.read_bytes().replace(b"\x08\x02", b"\x08\x25", 1))  # FLOAT6_E3M2
    (note,) = load(leaf).notes
    check_said(note.detail.values["why"], "dump/slices-data-type", got=37)


def test_an_input_of_threads_without_ranges_stays_apart(leaf):
    attribute = GOOD | {"inputCutList": [[2, 1]]}
    for number in range(2):
        write(leaf, thread(number), [ONES], [ONES], attribute)
    (note,) = load(leaf).notes
    check_said(note.detail.values["why"], "dump/slices-threads", place="input 0")


@pytest.mark.parametrize(
    "attribute", [None, "", "{", "[1]", '{"a": 1}', "[" * 5000, '{"threadMode":' + "9" * 5000 + "}"]
)
def test_without_such_an_attribute_a_name_alone_joins_nothing(leaf, attribute):
    for number in range(2):
        write(leaf, manual(number), [], [np.float32([number])], attribute)
    dump = load(leaf)
    names = [record.key.op_name for record in dump.records]
    assert names == ["net_conv_lxslice0", "net_conv_lxslice1"]
    assert dump.notes == ()


def test_a_broken_slice_is_skipped_and_the_others_stay(leaf):
    for number in range(2):
        write(leaf, thread(number), [], [np.float32([[1, 2]])], GOOD)
    (leaf / thread(1)).write_bytes(b"\xff" * 50)
    dump = load(leaf)
    assert [skip.reason for skip in dump.skipped] == ["unreadable"]
    assert len(dump.records) == 1


def test_a_slice_that_is_cut_meanwhile_is_refused(leaf):
    for number in range(2):
        write(leaf, thread(number), [], [np.float32([[1, 2]])], GOOD)
    (record,) = load(leaf).records
    path = leaf / thread(1)
    path.write_bytes(path.read_bytes()[:-4])
    with refused("dump/file-end", FormatError) as caught:
        read_all(record.source)
    assert caught.value.place.startswith(f"{path}: byte ")
