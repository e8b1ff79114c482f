"""What the trees of the graph engine become: keys, headers, statistics, records beside the tensors."""

from __future__ import annotations

import json
import random

import numpy as np
import pytest

from kit.build.small_dumps import (
    LEAF,
    START,
    TIME,
    Call,
    file_name,
    ge_dump,
    ge_network,
    save_container,
)
from kit.words import check_said, refused
from workbench.core.errors import FormatError
from workbench.core.tensors import TensorKey
from workbench.core.words import Message
from workbench.dump.formats.container import block_bytes
from workbench.dump.formats.container_write import write_container
from workbench.dump.formats.renamed import RENAME_RULES, renamed
from workbench.dump.reader import load
from workbench.dump.reports.core_elf import Core, Memory, core_bytes
from workbench.dump.reports.opdebug import (
    CLASSIC,
    WHO,
    Accelerator,
    OverflowRecord,
    overflow_container,
)

ONE = np.float16([[1, 2], [3, 4]])
NAME = f"Add.Default_Add-op1.5.3.{START}"


@pytest.fixture
def leaf(tmp_path):
    folder = tmp_path / LEAF
    folder.mkdir(parents=True)
    return folder


def kinds(dump):
    return [(note.kind, note.name) for note in dump.notes]


TREES = {
    LEAF: TensorKey("Add", "Default_Add-op1", "output", 0, 0, 0, 0, "net"),
    f"{TIME}/3/net/12/8": TensorKey("Add", "Default_Add-op1", "output", 0, 0, 8, 3, "net"),
    f"6/{TIME}/3/net/12/8": TensorKey("Add", "Default_Add-op1", "output", 0, 0, 6, 3, "net"),
    f"{TIME}/3": TensorKey("Add", "Default_Add-op1", "output", 0, 0, 0, 3, ""),
    f"worldsize8_global_rank7/{TIME}/1/net/2/3": TensorKey(
        "Add", "Default_Add-op1", "output", 0, 0, 3, 7, "net"
    ),
    f"rank_5/{TIME}/step_9": TensorKey("Add", "Default_Add-op1", "output", 0, 0, 9, 5, ""),
}


@pytest.mark.parametrize(("folder", "key"), TREES.items())
def test_a_record_says_what_path_name_and_header_say(tmp_path, folder, key):
    save_container(tmp_path / folder / NAME, [ONE, ONE * 2], [ONE * 3], op_name="Default/Add-op1")
    dump = load(tmp_path)
    assert [record.key for record in dump.records] == [
        key._replace(io="input", slot=0),
        key._replace(io="input", slot=1),
        key,
    ]
    record = dump.records[-1]
    assert (record.timestamp_us, record.task_id, record.stream_id) == (START, 5, 3)
    assert (record.label.dtype, record.label.format) == ("float16", "ND")
    assert record.source.spec() == ("float16", (2, 2), "ND")
    assert record.source.array().tolist() == [[3, 6], [9, 12]]
    assert (dump.info, dump.skipped, dump.notes) == ({"writer": "ascend"}, (), ())


@pytest.mark.parametrize(
    ("name", "op_name", "task", "stream"),
    [
        (f"Conv2D.conv1relu.2.7.{START}.4.12.0.0", "conv1relu", 2, 7),
        (f"Conv2D.conv1relu.2.{START}", "conv1relu", 2, 0),
        (f"MatMul.scope.mm.1.3.9.{START}", "scope.mm", 3, 9),
    ],
)
def test_other_names_of_containers_are_read(leaf, name, op_name, task, stream):
    save_container(leaf / name, [], [ONE])
    (record,) = load(leaf).records
    assert (record.key.op_name, record.task_id, record.stream_id) == (op_name, task, stream)


MUL, RECORD = f"Mul.b.6.3.{START}", f"Opdebug.Node_OpDebug.9.3.{START}"
OLDEST = "Default--Conv2D-op1_output_0_shape_2_3_Float32_DefaultFormat.bin"
GIVEN = "3141592653589793.npy"
SKIPPED = {
    "nothing": ({MUL: b""}, "unreadable", "dump/container-short"),
    "half a length": ({MUL: b"\x05\0\0\0"}, "unreadable", "dump/container-short"),
    "no header": ({MUL: b"\xff" * 64}, "unreadable", "dump/header-size"),
    "no protobuf": ({MUL: b"\x08\0\0\0\0\0\0\0" + b"\xff" * 8}, "unreadable", "proto/varint"),
    "an ELF": ({MUL: b"\x7fELF" + bytes(60)}, "unreadable", "dump/elf"),
    "no tensors": ({MUL: b"\x05\0\0\0\0\0\0\0\x0a\x032.0"}, "empty", "dump/container-empty"),
    "more tensors than any operator has": (
        {MUL: (10_000).to_bytes(8, "little") + b"\x22\x00" * 5000}, "unreadable", "dump/tensors",
    ),
    "no overflow record": ({RECORD: b"{"}, "unreadable", "dump/container-short"),
    "no overflow record in JSON": ({f"{RECORD}.output.0.json": b"{"}, "unreadable", "dump/json"),
    "a file of the oldest versions": ({OLDEST: b""}, "too-old", "dump/too-old"),
    "a name of no kind in a mapping": (
        {GIVEN: b"", "mapping.csv": f"{GIVEN},readme\n".encode()}, "unmapped", "dump/mapped-unknown",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("files", "reason", "code"), SKIPPED.values(), ids=SKIPPED)
def test_what_holds_no_tensor_is_skipped_with_the_reason(leaf, files, reason, code):
    save_container(leaf / NAME, [], [ONE])
    for name, data in files.items():
        (leaf / name).write_bytes(data)
    dump = load(leaf)
    assert len(dump.records) == 1
    (skipped,) = dump.skipped
    assert (skipped.reason, skipped.detail.code) == (reason, code)
    if reason == "unreadable":
        assert skipped.detail.place.startswith(f"{leaf}/{next(iter(files))}")


def test_a_container_that_is_cut_off_keeps_what_is_whole(leaf):
    path = save_container(leaf / NAME, [ONE], [ONE * 2])
    path.write_bytes(path.read_bytes()[:-1])
    dump = load(leaf)
    first, second = dump.records
    assert first.source.array().tolist() == ONE.tolist()
    with refused("dump/data-end", FormatError):
        second.source.array()
    assert kinds(dump) == [("container", NAME)]


def test_a_file_that_goes_away_says_so_when_it_is_compared(leaf):
    path = save_container(leaf / NAME, [], [ONE])
    (record,) = load(leaf).records
    path.unlink()
    with refused("core/unreadable", FormatError, place=str(path)):
        record.source.array()


LONG = f"Add.{'n' * 300}.5.3.{START}"


@pytest.mark.parametrize("writer", RENAME_RULES)
def test_a_name_that_was_too_long_comes_back_in_all_four_ways(leaf, writer):
    intended = (
        f"{LONG}.output.0.ND.float16.npy"
        if writer == "msaccucmp" or writer == "mindspore"
        else LONG
    )
    new, line = renamed(writer, intended, str(leaf), random.Random(1))
    if new.endswith(".npy"):
        np.save(leaf / new, ONE)
    else:
        save_container(leaf / new, [], [ONE])
    (leaf / "mapping.csv").write_text(line)
    (record,) = load(leaf).records
    assert (record.key.op_name, record.timestamp_us) == ("n" * 300, START)
    assert record.source.array().tolist() == ONE.tolist()


def test_msprobe_maps_to_a_name_without_npy(leaf):
    """32 digits and the last part of the name, whatever that is."""
    new, line = renamed("msprobe", LONG, str(leaf), random.Random(1))
    save_container(leaf / new, [], [ONE])
    (leaf / "mapping.csv").write_text(line + "broken\n")
    dump = load(leaf)
    assert [record.key.op_name for record in dump.records] == ["n" * 300]
    assert [(n.kind, n.detail.place) for n in dump.notes] == [("mapping", "mapping.csv:2")]


GE_STATISTICS = (
    "Input/Output,Index,Data Size,Data Type,Format,Shape,Max Value,Min Value,Avg Value,Count,"
    "Nan Count,Negative Inf Count,Positive Inf Count\n"
    "Input,0,12,DT_FLOAT16,ND,2x3,6,1,3.5,6,0,0,0\n"
    "Output,0,x,DT_FLOAT16,ND,2x3,6,1,3.5,6,0,0,0\n"
)


def test_statistics_of_one_operator_are_read(leaf):
    (leaf / f"MatMul.mm.3.1.{START}.csv").write_text(GE_STATISTICS)
    dump = load(leaf)
    (record,) = dump.records
    assert record.key == TensorKey("MatMul", "mm", "input", 0, 0, 0, 0, "net")
    assert (record.source, record.task_id, record.stream_id) == (None, 3, 1)
    assert record.label == ("float16", (2, 3), "ND")
    assert record.statistics["Max Value"] == 6
    assert [s.reason for s in dump.skipped] == ["bad-row"]


@pytest.mark.parametrize("form", ["npy", "container"])
def test_statistics_of_a_tensor_that_has_a_file_are_no_second_record(leaf, form):
    base = f"MatMul.mm.3.1.{START}"
    if form == "npy":
        np.save(leaf / f"{base}.input.0.ND.float16.npy", ONE)  # sorted behind the table
    else:
        save_container(leaf / base, [ONE], [])
    (leaf / f"{base}.csv").write_text(GE_STATISTICS)
    (record,) = load(leaf).records
    assert record.source.array().tolist() == ONE.tolist()


def test_statistics_that_are_none_are_told(leaf):
    (leaf / f"MatMul.mm.3.1.{START}.csv").write_text("a,b\n")
    assert kinds(load(leaf)) == [("unreadable", f"MatMul.mm.3.1.{START}.csv")]


def test_msprobe_writes_npy_bytes_and_statistics(tmp_path):
    folder = tmp_path / f"rank_1/{TIME}/step_4"
    folder.mkdir(parents=True)
    np.save(folder / f"Add.a.0.1.{START}.output.0.ND.FLOAT16.npy", ONE)
    np.save(folder / f"Add.a.0.1.{START}.input.0.ND.BF16.npy", ONE.astype(np.float32))
    (folder / f"Add.a.0.1.{START}.input.1.ND.FLOAT8_E5M2").write_bytes(bytes([0x3C, 0x40, 0]))
    (folder / "statistic.csv").write_text(
        "Op Type,Op Name,Task ID,Stream ID,Timestamp,Input/Output,Slot,Data Size,Data Type,Format,Shape,MD5 Value\n"
        f"Add,a,0,1,{START},output,0,8,FLOAT16,ND,(2,2),0123\n"
        f"Mul,b,0,1,{START},output,0,8,FLOAT16,ND,(2,2),4567\n"
    )
    found = load(tmp_path)
    told = {(r.key.op_name, r.key.io, r.key.slot): r for r in found.records}
    assert {key: r.label.dtype for key, r in told.items()} == {
        ("a", "output", 0): "float16",
        ("a", "input", 0): "bfloat16",
        ("a", "input", 1): "float8_e5m2",
        ("b", "output", 0): "float16",
    }
    raw = told["a", "input", 1].source
    assert (raw.spec().shape, raw.array().astype(float).tolist()) == ((3,), [1, 2, 0])
    assert told["b", "output", 0].statistics == {"MD5": "4567"}
    assert {(r.key.rank, r.key.iteration) for r in found.records} == {(1, 4)}
    assert (found.layout, found.info["writer"], found.skipped) == ("msprobe", "ascend", ())


def test_golden_data_know_no_type(tmp_path):
    np.save(tmp_path / f"scope_conv1.2.{START}.npy", ONE)
    (tmp_path / f"scope_conv2.0.{START}.quant").write_bytes(b"")
    dump = load(tmp_path)
    (record,) = dump.records
    assert record.key == TensorKey("", "scope_conv1", "output", 2)
    assert (record.timestamp_us, dump.info) == (START, {})
    assert record.source.array().tolist() == ONE.tolist()
    detail = Message("dump/golden-suffix", got="quant")
    assert [(s.reason, s.detail) for s in dump.skipped] == [("not-npy", detail)]


def overflow(task=5, stream=3):
    """The record of an AI Core whose float16 overflowed; the other two are silent."""
    accelerators = []
    for title, place in CLASSIC.items():
        fields = dict.fromkeys((*WHO, *place.last), 0)
        if title == "AI Core":
            fields |= {"task_id": task, "stream_id": stream, "status": 0x120}
        accelerators.append(Accelerator(title, fields))
    return OverflowRecord(tuple(accelerators))


def write_overflow(path, record):
    container, payload = overflow_container(record, START)
    with path.open("wb") as file:
        write_container(file, container, payload)


@pytest.mark.parametrize("form", ["container", "json"])
def test_an_overflow_names_the_operator_of_its_task(leaf, form):
    save_container(leaf / NAME, [], [ONE])
    base = leaf / f"Opdebug.Node_OpDebug.99.3.{START + 5}"
    record = overflow()
    if form == "container":
        write_overflow(base, record)
    else:
        text = json.dumps({one.title: dict(one.fields) for one in record.accelerators})
        base.with_name(base.name + ".output.0.json").write_text(text)
    dump = load(leaf)
    (found,) = dump.overflows
    assert (found.op_name, found.record) == ("Default_Add-op1", record)
    ((kind, name, detail),) = [(n.kind, n.name, n.detail) for n in dump.notes]
    assert (kind, name) == ("overflow", "Default_Add-op1")
    bits = record.first.meaning
    check_said(detail, "dump/overflow", unit="AI Core", task=5, stream=3, status=bits)
    assert len(bits) == 2
    assert (len(dump.records), dump.skipped) == (1, ())


def test_an_overflow_of_an_operator_that_was_not_dumped_is_named_by_its_file(leaf):
    name = f"Opdebug.Node_OpDebug.99.3.{START + 5}"
    write_overflow(leaf / name, overflow(task=8))
    dump = load(leaf)
    assert dump.overflows[0].op_name == ""
    assert kinds(dump) == [("overflow", name)]


def test_an_exception_is_told_beside_the_tensors(tmp_path):
    dump_of = ge_dump(tmp_path, ge_network())
    folder = tmp_path / "extra-info/data-dump/0"
    norm = "MatMul.layer1_MatMul.7.20250102030405678"
    save_container(
        folder / norm, [ONE], [ONE], op_name="layer1/MatMul", dfx_message="core 3 stopped\n"
    )
    memories = (Memory(3, 512, 8), Memory(2, 1024, 4, (1, 2)), Memory(101, 64, 16))
    core = Core("te_relu", chip=5, vectors=(2,), memories=memories)
    name = "kernel.7.5.20250102030405678.core"
    (folder / name).write_bytes(core_bytes(core, [b"OUTPUTS!", b"INPT", bytes(16)]))
    (folder / "kernel.8.5.20250102030405678.core").write_bytes(b"\x7fELF")
    (folder / "exception_info.12.5.20250102030405678").write_bytes(b"")
    found = load(dump_of)
    failure, other = found.failures
    assert (other.scene, other.op_name, other.core.vectors) == ("detail", "te_relu", (2,))
    blocks = other.container.blocks
    assert [(b.part, b.size, b.shape, b.address) for b in blocks] == [
        ("input", 4, (1, 2), 1024),
        ("output", 8, None, 512),
    ]
    data = [block_bytes(other.path, block) for block in blocks]
    assert data == [b"INPT", b"OUTPUTS!"]
    assert (failure.scene, failure.op_name, len(failure.container.blocks)) == (
        "norm",
        "layer1/MatMul",
        2,
    )
    assert kinds(found) == [("exception", "layer1/MatMul"), ("exception", "te_relu")]
    check_said(found.notes[0].detail, "dump/failed-log", log="core 3 stopped", scene="norm")
    check_said(found.notes[1].detail, "dump/failed", inputs=1, outputs=1, scene="detail")
    assert [s.reason for s in found.skipped] == ["unreadable"] * 2
    assert len(found.records) == 10


def test_arguments_of_kernels_are_passed_over(leaf):
    save_container(leaf / NAME, [], [ONE])
    (leaf / "Conv2D.Default_Conv2D-op1.json").write_text("{}")
    assert load(leaf).tensors == 1


def test_what_mindspore_told_acl_is_ignored_with_a_note(tmp_path):
    ge_dump(tmp_path, ge_network(), f"4/{LEAF}")
    (tmp_path / "acl_dump_0.json").write_text("{}")
    found = load(tmp_path)
    assert (found.layout, kinds(found)) == ("mindspore-o2", [("ignored", "acl_dump_0.json")])


def test_a_folder_of_no_layout_is_counted(tmp_path):
    ge_dump(tmp_path, ge_network())
    save_container(tmp_path / TIME / "0/net/x/y" / NAME, [], [ONE])
    found = load(tmp_path)
    assert [(s.reason, s.name.rpartition("/")[2]) for s in found.skipped] == [("unplaced", "y")]


def test_one_operator_that_is_called_twice_is_two_turns(leaf):
    for number, task in enumerate((5, 9)):
        save_container(leaf / f"Add.a.{task}.3.{START + number}", [ONE], [ONE])
    assert [(r.key.io, r.key.turn) for r in load(leaf).records] == [
        ("input", 0),
        ("output", 0),
        ("input", 1),
        ("output", 1),
    ]


def test_names_of_files_are_those_of_the_vendors(tmp_path):
    """Full names come sanitised, as the files carry them."""
    ge_dump(tmp_path, [Call("a/b.c d", "Add", (), (ONE,))])
    (record,) = load(tmp_path).records
    assert record.key.op_name == file_name("a/b.c d") == "a_b_c_d"


def test_an_output_that_was_dumped_again_is_skipped_by_both_names(leaf):
    save_container(leaf / f"Add.C.5.3.{START}", [], [ONE])
    save_container(leaf / f"Add.A_To_C.6.3.{START + 1}", [], [ONE])
    ((name, detail),) = [(s.name, s.detail) for s in load(leaf).skipped]
    assert (name, detail) == ("A_To_C", Message("dump/watched", after="A"))
