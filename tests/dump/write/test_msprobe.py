"""msprobe's tree of an O2 dump, written: names, bytes and tables against what its source does."""

from __future__ import annotations

import csv
import hashlib
import json
import re

import ml_dtypes
import numpy as np
import pytest

import workbench as wb
from kit.build.every_tensor import CELLS, record
from kit.build.every_tensor import GRAPH as EVERY
from kit.oracle import dump_files
from kit.trees import files
from workbench.core.events import DeviceEvent
from workbench.core.plan import DumpPlan, Iterations
from workbench.core.tensors import ArraySource, TensorKey, TensorRecord, TensorSpec
from workbench.dump.write.targets import Target
from workbench.dump.write.trees import write_tree
from workbench.graph.graph import Graph, Op, Param, Parameter

L2 = Target("mindspore-o2", device=3, rank=5, version="2.7.0")
STEP = "rank_5/20231114221320/step_0"
NPY = DumpPlan("/dump")
F = TensorSpec("float32", (2, 3))
X = np.arange(6, dtype=np.float32).reshape(2, 3)
GRAPH = Graph("g", (Parameter("x", F),), (Op("scope/op.a", "Add", (Param(0),), {}, (F,)),))
MATMUL = Graph("g", GRAPH.parameters, (Op("mm", "MatMul", (Param(0), Param(0)), {}, (F,)),))
SUPPORTED = {
    "FLOAT", "FLOAT16", "INT8", "UINT8", "INT16", "UINT16", "INT32", "INT64", "UINT32", "UINT64",
    "BOOL", "DOUBLE", "BF16", "COMPLEX64", "COMPLEX128", "INT4",
}  # fmt: skip
"""Types of which msprobe makes npy files."""
WIDE = ("BF16", "INT4")
"""Those that it widens, in whatever format they are."""


def tensor(array=X, io="output", slot=0, name="scope/op.a", dtype="", form="DefaultFormat", **more):
    key = TensorKey("Add", name, io, slot, 0, more.pop("iteration", 0))
    label = TensorSpec(dtype or array.dtype.name, array.shape, form)
    return TensorRecord(key, label, ArraySource(array), **more)


def written(root, records, plan=NPY, target=L2, graph=GRAPH):
    write_tree(records, plan, root, graph=graph, target=target)
    return files(root)


def by_tail(files, levels=5):
    """Files of one folder by what follows type, name, task, stream and time."""
    assert {name.rpartition("/")[0] for name in files} == {STEP}
    return {path.name.split(".", levels)[levels]: path for path in files.values()}


def test_names_end_in_format_and_type_in_capitals(tmp_path):
    bf16 = np.arange(8).reshape(1, 2, 2, 2).astype(ml_dtypes.bfloat16)
    int4 = np.array([-8, 7, 3]).astype(ml_dtypes.int4)
    files = by_tail(
        written(
            tmp_path,
            [
                tensor(io="input"),
                tensor(bf16, io="input", slot=1),
                tensor(np.array(2.5)),
                tensor(int4, slot=1),
                tensor(np.array([1 + 2j]), slot=2),
                tensor(np.zeros((0, 4), np.float32), slot=3),
            ],
        )
    )
    found = {tail: np.load(path) for tail, path in files.items()}
    assert {tail: (a.dtype.name, a.tolist()) for tail, a in found.items()} == {
        "input.0.ND.FLOAT.npy": ("float32", X.tolist()),
        "input.1.NCHW.BF16.npy": ("float32", bf16.astype(np.float32).tolist()),
        "output.0.ND.DOUBLE.npy": ("float64", 2.5),
        "output.1.ND.INT4.npy": ("int8", [-8, 7, 3]),
        "output.2.ND.COMPLEX128.npy": ("complex128", [1 + 2j]),
    }
    assert len({tuple(path.name.split(".")[:5]) for path in files.values()}) == 1
    assert all(path.name.startswith("Add.scope_op_a.1.1.17") for path in files.values())


def test_of_other_types_the_bytes_are_written(tmp_path):
    codes = np.array([0, 1, 255, 16], np.uint8)
    files = by_tail(
        written(
            tmp_path,
            [
                tensor(codes.view(ml_dtypes.float8_e5m2)),
                tensor(np.array([1, 0, 1, 1, 0, 0, 0, 0, 1], np.uint8), slot=1, dtype="uint1"),
                tensor(np.array([-2, 5], np.int16), slot=2, dtype="qint16"),
            ],
        )
    )
    assert {tail: path.read_bytes() for tail, path in files.items()} == {
        "output.0.ND.UNKNOWN": bytes(codes),
        "output.1.ND.UINT1": bytes([0b10110000, 0b10000000]),
        "output.2.ND.QINT16": b"\xfe\xff\x05\x00",
    }


def test_bytes_of_a_type_without_a_name_are_told_of_and_left_out(tmp_path):
    written(tmp_path, [tensor(X.astype(ml_dtypes.float8_e4m3fn)), tensor(X, slot=1)])
    dump = wb.load(tmp_path)
    assert (dump.layout, len(dump.records)) == ("msprobe", 1)
    (skipped,) = dump.skipped
    assert (skipped.reason, skipped.name.endswith(".output.0.ND.UNKNOWN")) == ("unknown-type", True)


def test_every_cell_is_an_npy_file_or_the_bytes_that_the_device_holds(tmp_path):
    """The bytes are those of a container of the same tensor, decoded by the tests' own reader."""
    records = [record(cell, cell.array()) for cell in CELLS]
    files = written(tmp_path / "l2", records, graph=EVERY)
    bins = DumpPlan("/dump", files="bin", host_format=False)
    raw = written(tmp_path / "bin", records, bins, Target("acl"), EVERY)
    held = {p.name.split(".")[1]: dump_files.container(p.read_bytes())[1] for p in raw.values()}
    assert len(files) == len(CELLS)
    seen = set()
    for path in files.values():
        name, *_, form, word = path.name.removesuffix(".npy").split(".")[1:]
        ((_, _, _, data),) = held[name]
        cell = next(c for c in CELLS if c.name.replace("/", "_") == name)
        is_npy = path.suffix == ".npy"
        strange = cell.format in ("CHWN", "NC", "CN", "FRACTAL_NZ_C0_8") and word not in WIDE
        assert is_npy == (word in SUPPORTED and not strange)
        seen.add((is_npy, word))
        if not is_npy:
            assert path.read_bytes() == bytes(data)
            assert form == ("NCHW" if len(cell.shape) == 4 else "ND")
        elif form in ("NCHW", "ND"):
            here = np.load(path)
            assert here.shape == cell.shape
            assert here.astype(cell.number.storage).tobytes() == cell.array().tobytes()
        else:  # no way from this format: the device's order behind a header of the graph's shape
            assert form == cell.format.partition(":")[0]
            assert not cell.is_cut or len(cell.shape) != 4 or form == "FRACTAL_Z_C04"
    assert {word for is_npy, word in seen if is_npy} == SUPPORTED
    assert {"UNKNOWN", "UINT1", "QINT8", "UINT2"} <= {word for is_npy, word in seen if not is_npy}


def test_sums_are_those_of_the_bytes_on_the_host(tmp_path):
    plan = DumpPlan("/dump", saved="full", statistics=("max", "md5"))
    bf16 = np.arange(8).reshape(1, 2, 2, 2).astype(ml_dtypes.bfloat16)
    raw = np.array([3], np.int8)
    files = written(
        tmp_path,
        [
            tensor(io="input", name="mm"),
            tensor(bf16, name="mm", slot=1),
            tensor(raw, name="mm", slot=2, dtype="qint8"),
        ],
        plan,
        graph=MATMUL,
    )
    table = files.pop(f"{STEP}/statistic.csv").read_text().splitlines()
    assert [path.name.split(".", 5)[5] for path in files.values()] == ["output.2.ND.QINT8"]
    stamp = next(iter(files.values())).name.split(".")[4]
    own = f"Add,mm,1,1,{stamp}"
    first, *rows = table
    assert first == (
        "Op Type,Op Name,Task ID,Stream ID,Timestamp,Input/Output,Slot,Data Size,Data Type,Format,"
        "Shape,MD5 Value"
    )
    there = np.zeros((1, 1, 16, 16), np.float32)
    there[0, 0, :2, :3] = X
    assert rows == [
        f"{own},input,0,1024,FLOAT,FRACTAL_NZ,(2,3),{hashlib.md5(there).hexdigest()}",
        f"{own},output,1,16,BF16,NCHW,(1,2,2,2),{hashlib.md5(bf16.tobytes()).hexdigest()}",
    ]
    assert len(wb.load(tmp_path).records) == 3


def test_other_statistics_are_cells_of_the_devices_tables(tmp_path):
    asked = ("l2norm", "min", "nan count")
    plan = DumpPlan("/dump", saved="statistic", statistics=asked)
    key = TensorKey("MatMul", "mm", "input", 0)
    records = [
        TensorRecord(key, F._replace(format="DefaultFormat"), ArraySource(X - 2)),
        TensorRecord(key._replace(io="output"), F._replace(format="DefaultFormat"), ArraySource(X)),
    ]
    (path,) = written(tmp_path / "l2", records, plan, graph=MATMUL).values()
    bins = DumpPlan("/d", saved="statistic", statistics=asked, files="bin", host_format=False)
    (table,) = written(tmp_path / "acl", records, bins, Target("acl"), MATMUL).values()
    first, *rows = csv.reader(path.read_text().splitlines())
    assert first[11:] == ["Min Value", "L2Norm Value", "NaN Count"]
    device = list(csv.DictReader(table.read_text().splitlines()))
    assert [row[5:] for row in rows] == [
        [*list(row.values())[:6], row["Min Value"], row["l2norm"], row["Nan Count"]]
        for row in device
    ]
    assert rows[0][5:12] == ["Input", "0", "1024", "DT_FLOAT", "FRACTAL_NZ", "1x1x16x16", "-2"]


def test_no_statistic_leaves_no_table(tmp_path):
    assert written(tmp_path, [tensor()], DumpPlan("/d", saved="statistic", statistics=())) == {}


def test_containers_lie_where_acl_writes_them(tmp_path):
    plan = DumpPlan("/dump", files="bin", host_format=False)
    (name,) = written(tmp_path, [tensor()], plan)
    assert re.fullmatch(
        rf"{STEP}/20231114221320/3/kernel_graph1/1/0/Add\.scope_op_a\.1\.1\.\d{{16}}", name
    )
    dump = wb.load(tmp_path)
    assert (dump.layout, len(dump.records), dump.records[0].key.rank) == ("msprobe", 1, 5)


def test_every_step_has_a_folder_below_that_of_the_run(tmp_path):
    plan = DumpPlan("/dump", initial_iteration=4, iterations=Iterations(None))
    form = []
    target = L2._replace(form=lambda *place: form.append(place) or {}, steps=2)
    files = written(tmp_path, [tensor(iteration=4), tensor(iteration=5)], plan, target)
    start = "20231114221320"
    assert [name.rpartition("/")[0] for name in files] == [
        f"rank_5/{start}/step_0",
        f"rank_5/{start}/step_1",
    ]
    assert form[:2] == [(0, start), (1, start)]


def test_overflow_is_told_in_capital_digits_whatever_the_files_are(tmp_path):
    event = DeviceEvent("scope/op.a", "overflow", "vector", ("float",))
    plan = DumpPlan("/dump", kind="overflow", files="bin", host_format=False, saved="full")
    files = written(tmp_path, [tensor(io="input"), tensor(event=event)], plan)
    (report,) = (path for name, path in files.items() if name.endswith(".json"))
    tails = sorted(path.name.split(".", 5)[5] for path in files.values() if path != report)
    assert tails == ["input.0.ND.FLOAT.npy", "output.0.ND.FLOAT.npy"]
    core = json.loads(report.read_text())["AI Core"]
    assert re.fullmatch(r"0x[0-9A-F]+", core["para_base"])
    assert re.search("[A-F]", core["para_base"])
    assert core["status"] == event.status
    assert len(wb.load(tmp_path).overflows) == 1


def test_a_name_that_is_too_long_becomes_32_digits_in_the_mapping(tmp_path):
    name = "scope/" + "x" * 240
    graph = Graph("g", GRAPH.parameters, (Op(name, "Add", (Param(0),), {}, (F,)),))
    records = [tensor(name=name), tensor(np.array([3], np.int8), slot=1, name=name, dtype="qint8")]
    files = written(tmp_path, records, graph=graph)
    lines = files.pop(f"{STEP}/mapping.csv").read_text().splitlines()
    given = dict(line.split(",") for line in lines)
    assert sorted(given) == sorted(path.name for path in files.values())
    assert all(re.fullmatch(r"\d{32}\.(npy|QINT8)", new) for new in given)
    full = [f"Add.scope_{'x' * 240}.1.1." in old for old in given.values()]
    assert full == [True, True]
    dump = wb.load(tmp_path)
    assert {r.key.op_name for r in dump.records} == {"scope_" + "x" * 240}
    assert (len(dump.records), dump.skipped) == (2, ())


@pytest.mark.parametrize(
    ("version", "top"), [("2.6.0", "0"), ("2.7.0", "rank_5"), ("2.10", "rank_5")]
)
def test_msprobe_writes_from_2_7_on(tmp_path, version, top):
    (name,) = written(tmp_path, [tensor()], target=L2._replace(version=version))
    assert name.split("/")[0] == top
