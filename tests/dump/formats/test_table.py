"""Formats of files: what a name says, which format it is of, and that no file of a folder gets lost."""

from __future__ import annotations

import os
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.dump.folder import read_folder
from workbench.dump.formats.file import NO_IDS, FileName, Ids
from workbench.dump.formats.table import FILE_FORMATS, OVERLAPS, format_of, parse_name
from workbench.dump.survey import DumpFolder, survey

FIXED = settings(derandomize=True, deadline=None)
DATE = 20250102030405678
ROWS = {row.id: row for row in FILE_FORMATS}


def npy(op_type, op_name, time, task, stream, io, slot, form="DefaultFormat", dtype=""):
    return FileName("npy", op_type, op_name, time, task, stream, io, slot, form, dtype)


def saved(kind, op_type, op_name, io="output", slot=0, ids=NO_IDS):
    return FileName(kind, op_type, op_name, io=io, slot=slot, ids=ids)


def tensors(op_type, op_name, time, task, stream=None, *place):
    return FileName("tensors", op_type, op_name, time, task, stream, ids=Ids(*place))


NAMES = {
    # MindSpore: every form since 1.3, and what msaccucmp made of containers
    "Conv2D.Conv2D-op12.0.0.1623124369613540.output.0.DefaultFormat.npy":
        npy("Conv2D", "Conv2D-op12", 1623124369613540, 0, 0, "output", 0),
    "Conv2D.Default_conv1-Conv2d_Conv2D-op12.0.3.17.input.1.NC1HWC0.float16.npy":
        npy("Conv2D", "Default_conv1-Conv2d_Conv2D-op12", 17, 0, 3, "input", 1, "NC1HWC0", "float16"),
    "Add.Default_Add-op1.0.0.17.output.0.DefaultFormat.Float32.npy":
        npy("Add", "Default_Add-op1", 17, 0, 0, "output", 0, dtype="float32"),
    "Add.a.0.0.17.output.0.DefaultFormat.uint1.npy": npy("Add", "a", 17, 0, 0, "output", 0, dtype="uint1"),
    "Parameter.moments.conv1.weight.0.0.17.output.0.DefaultFormat.npy":
        npy("Parameter", "moments.conv1.weight", 17, 0, 0, "output", 0),
    "Parameter.input.0.0.0.17.output.0.DefaultFormat.npy":
        npy("Parameter", "input.0", 17, 0, 0, "output", 0),
    "Conv2D.net_conv1.2.7.17.output.0.npy": npy("Conv2D", "net_conv1", 17, 2, 7, "output", 0, ""),
    "Conv2D.net_conv1.2.7.17.input.11.2x20x4x5.npy":
        npy("Conv2D", "net_conv1", 17, 2, 7, "input", 11, ""),
    "MatMul.mm.2.7.17.output.0.64.npy": npy("MatMul", "mm", 17, 2, 7, "output", 0, ""),
    "Conv2D.conv1.2.7.17.output.0.NCHW.npy": npy("Conv2D", "conv1", 17, 2, 7, "output", 0, "NCHW"),
    "Add.a.debug.0.0.17.output.0.ND.npy": npy("Add", "a.debug", 17, 0, 0, "output", 0, "ND"),
    "MatMul.mm.3.1.17.output.0.ND.HIFLOAT8":
        FileName("raw", "MatMul", "mm", 17, 3, 1, "output", 0, "ND", "hifloat8"),
    "MatMul.mm.3.1.17.output.0.ND.UNKNOWN": FileName("raw", "MatMul", "mm", 17, 3, 1, "output", 0, "ND"),
    "conv_output_0_shape_1_2_Float.bin": FileName("oldest"),
    # the graph engine
    "Conv2D.conv1relu.2.7.17": tensors("Conv2D", "conv1relu", 17, 2, 7),
    "Conv2D.conv1relu.2.7.17.4.12.0.0": tensors("Conv2D", "conv1relu", 17, 2, 7, 12, 0, 0),
    "Conv2D.conv1.2.17": tensors("Conv2D", "conv1", 17, 2),
    "Conv2D.conv1.2.7.17.12.0.1": tensors("Conv2D", "conv1", 17, 2, 7, 12, 0, 1),
    "Conv2D.conv1.2.17.4.12.0.1": tensors("Conv2D", "conv1", 17, 2, None, 12, 0, 1),
    "Add.5.2.7.17": tensors("Add", "5", 17, 2, 7),
    "Add.net_add.5.20251302030405678": tensors("Add", "net_add", 20251302030405678, 5),
    "Add.a.b.9.1.2.17": FileName("captured", "Add", "a.b", 17, 1, 2, ids=Ids(dump=9)),
    "Add.a.9.1.2.17.FFTSPLUS.3.4.0": FileName("captured", "Add", "a", 17, 1, 2, ids=Ids(3, 4, 0, 9)),
    "MatMul.mm.3.1.17.csv": FileName("statistics", "MatMul", "mm", 17, 3, 1),
    "MatMul.mm.3.1.17.4.8.1.0.csv": FileName("statistics", "MatMul", "mm", 17, 3, 1, ids=Ids(8, 1, 0)),
    "Opdebug.Node_OpDebug.57.563.17": FileName("overflow", "Opdebug", "Node_OpDebug", 17, 57, 563),
    "Opdebug.Node_OpDebug.57.563.17.output.0.json":
        FileName("overflow-json", "Opdebug", "Node_OpDebug", 17, 57, 563, slot=0),
    f"exception_info.12.5.{DATE}": FileName("brief", "", "exception_info", DATE, 5, 12),
    f"te_add.x.12.5.1.3.{DATE}":
        FileName("callback", "", "te_add.x", DATE, 5, 12, ids=Ids(core_type=1, core=3)),
    f"a.b.12.5.1.3.{DATE}": FileName("callback", "", "a.b", DATE, 5, 12, ids=Ids(core_type=1, core=3)),
    f"1.1.1.1.3.{DATE}": FileName("callback", "", "1", DATE, 1, 1, ids=Ids(core_type=1, core=3)),
    f"a.b.2.7.17.4.12.0.{DATE}": FileName("callback", "", "a.b.2.7", DATE, 4, 17, ids=Ids(core_type=12, core=0)),
    f"Add.net_add.5.{DATE}": FileName("norm", "Add", "net_add", DATE, 5),
    f"te_add.12.5.{DATE}.core": FileName("core", "", "te_add", DATE, 5, 12),
    f"12.5.{DATE}.core": FileName("core", "", "", DATE, 5, 12),
    "conv1.0.17.npy": FileName("golden", "", "conv1", 17, slot=0),
    "scope.conv.1.17.pb": FileName("golden", "", "scope.conv", 17, slot=1),
    # PyTorch
    "add_device_0_0.pt": saved("node", "", "add", ids=Ids(device=0, run=0)),
    "arg0_1_device_12_0.pt": saved("node", "", "arg0_1", ids=Ids(device=12, run=0)),
    "getitem_3_device_0_41.pt": saved("node", "", "getitem_3", ids=Ids(device=0, run=41)),
    "test1_device_0.pt": saved("node", "", "test1", ids=Ids(device=0)),
    "tensor_2026_device_0_1.bin": saved("node", "", "tensor_2026", ids=Ids(device=0, run=1)),
    "x_device_0_1_device_2_3.pth": saved("node", "", "x_device_0_1", ids=Ids(device=2, run=3)),
    "a_shape_1_device_0_1.bin": saved("node", "", "a_shape_1", ids=Ids(device=0, run=1)),
    "Functional.linear.0.forward.input.0.pt": saved("call", "linear", "Functional.linear.0.forward", "input"),
    "Tensor.permute.1.forward.output.0.pt": saved("call", "permute", "Tensor.permute.1.forward"),
    "Module.conv1.Conv2d.forward.0.input.0.pt":
        saved("call", "Conv2d", "Module.conv1.Conv2d.forward.0", "input"),
    "Module.a.b.Net.backward.2.output.1.pt": saved("call", "Net", "Module.a.b.Net.backward.2", slot=1),
    "Cell.fc.Dense.forward.0.output.npy": saved("call", "Dense", "Cell.fc.Dense.forward.0"),
    "Torch.cat.0.forward.input.0.1.pt": saved("call", "cat", "Torch.cat.0.forward.input.0", "input", 1),
    "Torch.add.0.forward.kwargs.alpha.pt":
        saved("call", "add", "Torch.add.0.forward.kwargs.alpha", "input"),
    "Torch.cat.0.forward.kwargs.out.2.pt":
        saved("call", "cat", "Torch.cat.0.forward.kwargs.out", "input", 2),
    "Module.fc.Linear.forward.0.parameters.weight.pt":
        saved("call", "Linear", "Module.fc.Linear.forward.0.parameters.weight", "input"),
    "Module.fc.Linear.parameters_grad.bias.pt":
        saved("call", "Linear", "Module.fc.Linear.parameters_grad.bias"),
    "Torch.add.0.forward.input.x_device_0_1.pt":
        saved("call", "add", "Torch.add.0.forward.input.x_device_0_1", "input"),
    "features.0_Conv_output_0.npy": saved("plain", "", "features.0_Conv_output_0"),
    "x_device_0_0.npy": saved("plain", "", "x_device_0_0"),
    # names that say nothing of a tensor
    "golden.npz": FileName("archive"),
    "statistic.csv": FileName("table"),
    "3141592653589793.npy": FileName("renamed-npy"),
    "18446744073709551615": FileName("renamed"),
    "12345678901234567890123456789012.json": FileName("renamed"),
    "Add.a.json": FileName("json"),
    # no names of a dump
    **dict.fromkeys((
        "", ".npy", "mapping.csv", "Add.a.1", "a/Add.a.1.2.3", "Add..1.2.3", "x.pt",
        "a/x_device_0_0.pt", "x_device_.pt", "Add.a.0.0..output.0.DefaultFormat.npy",
        "Add.a.0.0.17.output.-1.DefaultFormat.npy", "Add.a.0.0.17.output.1_0.DefaultFormat.npy",
        "Add.a.0.0.17.output.³.DefaultFormat.npy", "Add.a.0.0.17.Output.0.DefaultFormat.npy",
        "Add..0.0.17.output.0.DefaultFormat.npy", "Add.a.0.0.17.output.0..npy",
        "Add.a.0.0.17.output.0..float32.npy", "Add.a.0.0.17.output..npy",
        "a.0.0.17.output.0.DefaultFormat.npy", "a.b.2.7.17.4.12.0.x",
        "x" * 5000 + "_device_0_0.pt", "a.forward.input." + "1." * 3000 + "pt",
    )),
}  # fmt: skip


def formats(name):
    """Every format whose grammar fits a name, in the order of trial."""
    return [row.id for row in FILE_FORMATS if row.parse(name) is not None]


@pytest.mark.parametrize("name", NAMES)
def test_a_name_is_read_as_the_table_says(name):
    assert parse_name(name) == NAMES[name]


def test_every_format_has_a_name_here_and_an_example_of_its_own():
    assert {found.kind for found in NAMES.values() if found} == ROWS.keys()
    assert {row.id: parse_name(row.example).kind for row in FILE_FORMATS} == {
        one: one for one in ROWS
    }


@pytest.mark.parametrize("name", sorted({*NAMES, *(row.example for row in FILE_FORMATS)}))
def test_formats_that_fit_one_name_are_listed_with_a_reason(name):
    first, *others = formats(name) or [None]
    assert {(first, other) for other in others} <= OVERLAPS.keys()


@pytest.mark.parametrize("pair", OVERLAPS)
def test_an_overlap_is_real_and_the_first_format_decides(pair):
    names = [name for name in NAMES if set(pair) <= set(formats(name))]
    assert {parse_name(name).kind for name in names} >= {pair[0]}


APART = {
    ("renamed", "table"): "a given name is digits, or 32 of them",
    ("brief", "callback"): "two numbers before the date, or four",
    ("callback", "norm"): "four numbers before the date, or one behind two words",
    ("node", "golden"): "before the suffix golden data have a number alone",
    ("plain", "raw"): "no number format is called like a suffix",
    ("raw", "oldest"): "no number format is called bin",
}
"""Neighbors of which no name fits both, although their ends do not tell."""


@pytest.mark.parametrize(("first", "second"), list(pairwise(ROWS)))
def test_neighbors_cannot_change_places_or_never_both_fit(first, second):
    pair = first, second
    both = [name for name in NAMES if set(pair) <= set(formats(name))]
    ends = ROWS[first].ends, ROWS[second].ends
    told_by_ends = all(ends) and not any(
        a.endswith(b) or b.endswith(a) for a in ends[0] for b in ends[1]
    )
    assert (pair in OVERLAPS, bool(both)) in ((True, True), (False, False))
    assert pair in OVERLAPS or told_by_ends or pair in APART


WORD = st.text("abcXYZ019_-", min_size=1, max_size=12)
ID = st.integers(0, 2**32 - 1)
TIME = st.integers(10**15, 10**16 - 1)
SLOT = st.integers(0, 4095)
IO = st.sampled_from(["input", "output"])
PLACE = {one: st.integers(1, 65534) for one in ("context", "thread", "device")}
FREE = st.text(st.characters(codec="utf-8", exclude_characters="./\\ "), min_size=1, max_size=20)
DTYPE = st.sampled_from(["float32", "bfloat16", "bool", "uint64", "int4", "float8_e4m3fn"])


def ids(**numbers):
    return st.fixed_dictionaries(numbers).map(lambda found: Ids(**found))


def built(kind, *texts, time=TIME, **fields):
    words = dict(zip(("op_name", "op_type"), texts, strict=False))
    found = st.fixed_dictionaries({"timestamp_us": time, **words, **fields})
    return found.map(lambda values: FileName(kind, **values))


OPERATOR = {"task_id": ID, "stream_id": ID}
DATED = {"time": st.just(DATE), **OPERATOR}
DEBUG = st.just("Node_OpDebug"), st.just("Opdebug")
WRITTEN = {
    "npy": built("npy", FREE, FREE, io=IO, slot=SLOT, format=st.just("FRACTAL_NZ"), dtype=DTYPE, **OPERATOR),
    "raw": built("raw", FREE, FREE, io=IO, slot=SLOT, format=st.just("ND"), **OPERATOR,
                 dtype=st.sampled_from(["hifloat8", "float8_e5m2", "int4", ""])),
    "overflow": built("overflow", *DEBUG, **OPERATOR),
    "overflow-json": built("overflow-json", *DEBUG, slot=SLOT, **OPERATOR),
    "core": built("core", WORD, **DATED),
    "brief": built("brief", st.just("exception_info"), **DATED),
    "callback": built("callback", WORD, ids=ids(core_type=ID, core=ID), **DATED),
    "norm": built("norm", WORD, WORD, time=st.just(DATE), task_id=ID),
    "statistics": built("statistics", WORD, WORD, ids=ids() | ids(**PLACE), **OPERATOR),
    "tensors": built("tensors", WORD, WORD, ids=ids() | ids(**PLACE), **OPERATOR)
    | built("tensors", WORD, WORD, task_id=ID),
    "captured": built("captured", WORD, WORD, ids=ids(dump=ID) | ids(dump=ID, **PLACE), **OPERATOR),
    "golden": built("golden", WORD, slot=SLOT),
}  # fmt: skip


def test_every_format_that_is_written_is_read_back_here():
    assert WRITTEN.keys() == {row.id for row in FILE_FORMATS if row.format_name}


@given(st.one_of(list(WRITTEN.values())))
@FIXED
def test_a_written_name_says_what_was_put_in(name):
    assert parse_name(format_of(name).format_name(name)) == name


PIECES = [
    "Add", "a", ".", "_", "7", "17", "17000000", str(DATE), "output", "input", "forward", "ND", "HIFLOAT8",
    "_device_0", "_shape_1", ".npy", ".pt", ".csv", ".json", ".bin", ".core", ".4.1.2.3", "FFTSPLUS", "Opdebug",
    "exception_info", "\0", "\udcff", "/", "\n", "³",
]  # fmt: skip


@given(st.text(max_size=40) | st.lists(st.sampled_from(PIECES), max_size=14).map("".join))
@FIXED
def test_any_name_is_of_the_first_format_that_fits_or_of_none(name):
    found, fitting = parse_name(name), formats(name)
    assert (found and found.kind) == (fitting[0] if fitting else None)
    assert all(not ROWS[one].ends or name.endswith(ROWS[one].ends) for one in fitting)
    assert set(pairwise(fitting[:2])) <= OVERLAPS.keys()


LONG = "9" * 5000
UNKNOWN, UNREADABLE = "unknown-name", "unreadable"
HOSTILE = {
    "slot": ("Add.a.0.0.17.output.999999.ND.float16.npy", UNKNOWN),
    "slot of golden data": ("conv1.4096.17.npy", UNKNOWN),
    "slot of bytes": ("MatMul.mm.3.1.17.output.4096.ND.HIFLOAT8", UNKNOWN),
    "time": (f"Add.a.1.2.{2**63}", UNKNOWN),
    "task": (f"Add.a.{2**32}.2.17", UNKNOWN),
    "stream": (f"Add.a.1.{2**32}.17", UNKNOWN),
    "digits of npy": (f"Add.a.0.0.{LONG}.output.0.ND.float16.npy", UNKNOWN),
    "digits of a container": (f"Add.a.1.2.{LONG}", UNKNOWN),
    "dots": ("." * 1000, UNKNOWN),
    "numbers": ("a.b" + ".1" * 508, UNREADABLE),
    "many numbers": ("1." * 500, UNKNOWN),
    "no text": (os.fsdecode(b"\xff\xfe.\x80"), UNKNOWN),
    "no text in an operator": ("Add." + os.fsdecode(b"\xff") + ".1.2.17", UNREADABLE),
    "zero": ("Add.a\0b.1.2.17", UNKNOWN),
    "path": ("../Add.a.1.2.17", UNKNOWN),
    "line": ("Add.a\n.1.2.x", UNKNOWN),
    "long": ("x" * 100_000, UNKNOWN),
}
"""Name, and why its file is skipped: it is none of a dump, or there is no such file."""


@pytest.mark.parametrize(("name", "reason"), HOSTILE.values(), ids=list(HOSTILE))
def test_a_hostile_name_is_skipped_with_a_reason(tmp_path, name, reason):
    content = read_folder(DumpFolder(str(tmp_path), (name,), "ge"))
    assert (len(content.index), content.notes) == (0, ())
    assert [(one.reason, bool(str(one.detail))) for one in content.skipped] == [(reason, True)]


@pytest.mark.parametrize("row", FILE_FORMATS, ids=lambda row: row.id)
def test_no_file_of_a_folder_gets_lost(tmp_path, row):
    """An empty file is a tensor, skipped, or noted; whoever reads the folder again finds the same."""
    folder = DumpFolder(str(tmp_path), (row.example,), "ge")
    (tmp_path / row.example).touch()
    content = read_folder(folder)
    told = *content.index.records, *content.skipped, *content.notes
    assert len(told) == (row.id != "json")
    assert read_folder(folder) == content


PLACES = {
    "npy": "rank_0/Net/0/0",
    "ge": "20240613143502/0/net/1/0",
    "captured": "0",
    "call": "step0/rank0/dump_tensor_data",
    "node": "worldsize8_global_rank6",
    "golden": "golden",
    "plain": "golden",
}


@pytest.mark.parametrize("row", [row for row in FILE_FORMATS if row.folder], ids=lambda row: row.id)
def test_one_file_of_a_format_makes_its_folder_one_of_a_dump(tmp_path, row):
    folder = tmp_path / PLACES[row.folder]
    folder.mkdir(parents=True)
    (folder / row.example).touch()
    (found,) = survey(tmp_path).folders
    assert (found.path, found.names) == (str(folder), (row.example,))
