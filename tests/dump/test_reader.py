"""What a tree on disk becomes, on trees whose every file is written here."""

from __future__ import annotations

import shutil

import numpy as np
import pytest

from kit.build.small_dumps import START, Shot, chain, given, on_disk, shoot, write_ir
from kit.words import check_said, refused
from workbench.core.errors import FormatError
from workbench.core.tensors import TensorKey
from workbench.dump.reader import load

DATA = np.float32([[1, 2], [3, 4]])


def shot(name="Default_Add-op0", io="output", slot=0, time=START, **changes):
    return Shot("Add", name, io, slot, DATA, time=time, **changes)


def test_a_record_says_what_the_path_says(tmp_path):
    on_disk(tmp_path, [shot(graph_id=2, iteration=7, rank=1, io="input", slot=3, net_name="Le")])
    (record,) = load(tmp_path).records
    assert record.key == TensorKey("Add", "Default_Add-op0", "input", 3, 2, 7, 1, "Le", 0)
    assert record.label == ("float32", None, "DefaultFormat")
    assert record.timestamp_us == START
    assert record.source.array().tolist() == DATA.tolist()


PLAINLY_NONE = (
    ".DS_Store",
    "._x.npy.swp",
    "Thumbs.db",
    "README",
    "Readme.md",
    "run.log",
    "a.b.c.txt",
    "x.py~",
)
TENSORS = (
    f"Add.op.0.0.{START}.output.0.DefaultFormat.Float32.npy.txt",
    f"Add.op.0.0.{START}.output.0.DefaultFormat.Float32.txt",
    f"Add.op.0.0.{START}.log",
    f"Add.op.0.0.{START}~",
    "Add.x.npy",
    "1234.npy",
    "Add",
    "tensor.bin",
)


@pytest.mark.parametrize("name", [*PLAINLY_NONE, *TENSORS])
def test_what_is_plainly_no_tensor_is_noted_and_all_else_is_a_gap(tmp_path, name):
    folder = on_disk(tmp_path, [shot()]) / "rank_0/Net/0/0"
    (folder / name).write_bytes(b"\0")
    dump = load(tmp_path)
    assert bool(dump.skipped) == (name in TENSORS)
    assert ([note.name for note in dump.notes if note.kind == "ignored"] == [name]) == (
        name in PLAINLY_NONE
    )


def long_name(number: int) -> str:
    return f"Add.{'x' * 250}{number}.0.0.{START}.output.0.DefaultFormat.Float32.npy"


@pytest.fixture
def mapped(tmp_path):
    """A tree without metadata in which only two mapped files lie."""
    folder = tmp_path / "rank_0/Net/0/0"
    folder.mkdir(parents=True)
    rows = []
    for number in (1, 2):
        np.save(folder / f"10000{number}.npy", DATA + number)
        rows.append(f"10000{number}.npy,{long_name(number)}\n")
    (folder / "mapping.csv").write_text("".join(rows))
    return tmp_path


def test_a_mapped_file_gets_its_name_back(mapped):
    found = {r.key.op_name[-1]: r.source.array()[0, 0] for r in load(mapped).records}
    assert found == {"1": 2.0, "2": 3.0}


def test_a_mapped_file_of_a_cpu_is_not_taken_for_one_of_an_npu(mapped):
    """The capital letter of the dtype stands in the name it was meant to have."""
    assert load(mapped).info["writer"] == "cpu"


@pytest.mark.parametrize(("word", "writer"), [("Float32", "cpu"), ("float32", "ascend")])
def test_the_writer_is_known_by_how_it_spells_dtypes(tmp_path, word, writer):
    folder = tmp_path / "rank_0/Net/0/0"
    folder.mkdir(parents=True)
    np.save(folder / f"Add.a.0.0.1.output.0.DefaultFormat.{word}.npy", DATA)
    assert load(tmp_path).info["writer"] == writer


@pytest.mark.parametrize("row", ["a.npy,../b.npy", "a.npy,x\\b.npy", "../a.npy,b.npy", "a.npy"])
def test_a_mapping_row_that_leaves_its_folder_is_refused(mapped, row):
    mapping = mapped / "rank_0/Net/0/0/mapping.csv"
    mapping.write_text(f"{row}\n{mapping.read_text()}")
    dump = load(mapped)
    assert [(note.kind, note.detail.code, note.detail.place) for note in dump.notes] == [
        ("mapping", "dump/mapping-row", "mapping.csv:1")
    ]
    assert len(dump.records) == 2


def test_metadata_and_orders_are_read(tmp_path):
    on_disk(tmp_path, [shot()], info={"ms_version": "2.6.0", "rank": 1})
    folder = tmp_path / "rank_0/execution_order"
    folder.mkdir()
    text = "NodeExecutionOrder-FullNameWithScope\nDefault/a\nDefault/b\n"
    (folder / "ms_execution_order_graph_4.csv").write_text(text)
    dump = load(tmp_path)
    assert (dump.info["ms_version"], dump.info["rank"]) == ("2.6.0", "1")
    assert dump.orders == {(0, 4): ("Default/a", "Default/b")}


@pytest.mark.parametrize(
    "text", ["{", "[1]", "\xff", "[" * 100_000], ids=["cut", "list", "bytes", "deep"]
)
def test_broken_metadata_never_stop_the_reading(tmp_path, text):
    on_disk(tmp_path, [shot()])
    (whole,) = load(tmp_path).records
    (tmp_path / "rank_0/.dump_metadata/config.json").write_text(text, encoding="latin-1")
    (read,) = load(tmp_path).records
    assert read.key == whole.key
    np.testing.assert_array_equal(read.source.array(), whole.source.array())


def test_graphs_are_read_under_the_rank_and_number_of_their_file(tmp_path):
    graph = chain("ReLU", "Tanh")
    on_disk(tmp_path, shoot(graph, given(graph), rank=2), rank=2)
    write_ir(tmp_path / "rank_2/graphs/ms_output_trace_code_graph_5.ir", graph)
    write_ir(tmp_path / "rank_2/graphs/ms_output_optimize_graph_6.ir", graph)
    dump = load(tmp_path)
    assert list(dump.graphs) == [(2, 5)]
    assert [op.op_type for op in dump.graphs[2, 5].ops] == ["ReLU", "Tanh"]


def test_a_broken_graph_is_a_note(tmp_path):
    on_disk(tmp_path, [shot()])
    (tmp_path / "rank_0/graphs").mkdir()
    (tmp_path / "rank_0/graphs/ms_output_trace_code_graph_0.ir").write_text("nothing")
    dump = load(tmp_path)
    assert (dump.graphs, [note.kind for note in dump.notes]) == ({}, ["graph"])


def test_a_given_graph_stands_for_those_of_the_tree(tmp_path):
    inside, outside = chain("ReLU"), chain("Tanh", "Exp")
    on_disk(tmp_path / "dump", shoot(inside, given(inside)), inside)
    write_ir(tmp_path / "mine.ir", outside)
    dump = load(tmp_path / "dump", graph=tmp_path / "mine.ir")
    assert [op.op_type for op in dump.graphs[0, 0].ops] == ["Tanh", "Exp"]
    with pytest.raises(FormatError, match="missing"):
        load(tmp_path / "dump", graph=tmp_path / "missing.ir")


STATISTICS = (
    "Op Type,Op Name,Task ID,Stream ID,Timestamp,IO,Slot,Data Size,Data Type,Shape,Max Value\n"
    f'Add,Default_Add-op0,0,0,{START},output,0,16,float32,"(2,2)",4,\n'
    f'Add,Default_Add-op1,0,0,{START},output,0,16,float32,"(2,2)",5,\n'
    "Add,Default_Add-op1,0,0,x,output,0,16,float32,(),5,\n"
)


def test_statistics_stand_in_where_there_is_no_tensor(tmp_path):
    folder = on_disk(tmp_path, [shot()]) / "rank_0/Net/0/0"
    (folder / "statistic.csv").write_text(STATISTICS)
    dump = load(tmp_path)
    full, only = sorted(dump.records, key=lambda record: record.key.op_name)
    assert full.statistics is None
    assert full.source is not None
    assert only.source is None
    assert only.statistics == {"Max Value": 5.0}
    assert only.label[:2] == ("float32", (2, 2))
    ((reason, problem),) = [(s.reason, s.detail) for s in dump.skipped]
    check_said(problem, "dump/cell-number", place=f"{folder / 'statistic.csv'}:4", got="x")
    assert reason == "bad-row"


def test_a_row_of_statistics_with_a_slot_that_no_operator_has_is_bad(tmp_path):
    folder = on_disk(tmp_path, [shot()]) / "rank_0/Net/0/0"
    (folder / "statistic.csv").write_text(
        STATISTICS.replace("output,0,16", "output,4096,16").replace(",x,", ",1,")
    )
    dump = load(tmp_path)
    assert [record.statistics for record in dump.records] == [None]
    assert [one.reason for one in dump.skipped] == ["bad-row"] * 3
    place = f"{folder / 'statistic.csv'}: Default_Add-op0"
    check_said(dump.skipped[0].detail, "dump/name-number", place=place, got=4096, limit=4095)


def test_an_unreadable_statistics_file_is_a_note(tmp_path):
    folder = on_disk(tmp_path, [shot()]) / "rank_0/Net/0/0"
    (folder / "statistic.csv").write_text("What,Is,This\n")
    assert [(n.kind, n.name) for n in load(tmp_path).notes] == [("unreadable", "statistic.csv")]


def test_reading_a_tree_opens_no_tensor(tmp_path):
    """Names only: a broken tensor is met when it is compared, not before."""
    on_disk(tmp_path, [shot()])
    next(tmp_path.rglob("*.npy")).write_bytes(b"broken")
    (record,) = load(tmp_path).records
    with pytest.raises(FormatError):
        record.source.array()


def test_a_dump_can_be_narrowed(tmp_path):
    on_disk(tmp_path, [shot(), shot(io="input")])
    dump = load(tmp_path)
    assert [r.key.io for r in dump.where(lambda record: record.key.io == "input").records] == [
        "input"
    ]


REAL = "identical_rerun"


@pytest.fixture
def rank(real_pairs, tmp_path):
    """The graphs of a real tree without its tensors, free to be changed."""
    shutil.copytree(real_pairs[REAL].target / "rank_0/graphs", tmp_path / "rank_0/graphs")
    (tmp_path / "rank_0/.dump_metadata").mkdir()
    on_disk(tmp_path, [shot()])
    return tmp_path / "rank_0/graphs"


def test_the_ir_of_a_graph_is_read_rather_than_its_pb(rank):
    dump = load(rank.parent.parent)
    assert {key: graph.dialect for key, graph in dump.graphs.items()} == {(0, 0): "mindspore"}
    assert dump.notes == ()


@pytest.mark.parametrize("text", [None, "nothing"])
def test_a_pb_stands_in_for_an_ir_that_cannot_be_read(rank, text):
    ir = rank / "ms_output_trace_code_graph_0.ir"
    ops = [op.name for op in load(rank.parent.parent).graphs[0, 0].ops]
    ir.unlink()
    if text is not None:
        ir.write_text(text)
    dump = load(rank.parent.parent)
    assert dump.graphs[0, 0].dialect == "pb-debugger"
    assert [op.name for op in dump.graphs[0, 0].ops] == ops
    assert [(n.kind, n.name[-3:]) for n in dump.notes] == [("graph", ".ir")] * bool(text) + [
        ("graph", ".pb")
    ]


def test_a_graph_that_neither_file_gives_is_two_notes(rank):
    for path in rank.iterdir():
        path.write_bytes(b"nothing")
    dump = load(rank.parent.parent)
    assert (dump.graphs, [note.kind for note in dump.notes]) == ({}, ["graph", "graph"])


def test_a_given_graph_may_be_of_any_kind(rank, tmp_path):
    other = tmp_path / "net.graph"
    other.write_bytes((rank / "ms_output_trace_code_graph_0.pb").read_bytes())
    assert load(tmp_path, graph=other).graphs[0, 0].dialect == "pb-debugger"
    other.write_text("nothing")
    with refused("graph_files/unknown-kind", FormatError, place=str(other)):
        load(tmp_path, graph=other)
