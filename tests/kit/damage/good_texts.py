"""Good graphs, forms, results and names, to be damaged by `mutations`, and all that can be asked of one."""

from __future__ import annotations

import io
import json
import tarfile
import zipfile
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

import workbench as wb
from kit.build.foreign_files import DATA, SPELLED, old_file
from kit.build.small_dumps import write_ms_pb
from kit.damage.good_dumps import (
    START,
    attempt,
    container_files,
    exception_files,
    golden_files,
    overflow_files,
    overflow_texts,
    touch,
)
from workbench.config import HOMES, get, load, new
from workbench.core.errors import ConfigError
from workbench.dump.files.raw_tensor import parse_raw_name
from workbench.dump.names.ge import recognize
from workbench.dump.names.mindspore import NameParts, format_name
from workbench.graph.networks import load_graph
from workbench.ir.ge_files import find_computational_graph
from workbench.ir.ge_messages import message_class
from workbench.ir.ge_text_writer import write_ge_text
from workbench.ir.ms_text import read_ms_text
from workbench.ir.ms_text_writer import write_ms_text

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Files = dict[str, bytes]


def real_members(suffix: str) -> Files:
    """Graphs of one real dump."""
    found: Files = {}
    with tarfile.open(DATA / "real/kernels_partial.tar.xz") as archive:
        for member in archive:
            if member.name.endswith(suffix) and "dump_a" in member.name:
                content = archive.extractfile(member)
                assert content is not None
                found["real_" + member.name.rpartition("/")[2]] = content.read()
    return found


def ir_texts() -> Files:
    """Every dialect, a real file, and our own."""
    found = {f"v{version}.ir": old_file(row).encode() for version, row in SPELLED.items()}
    return found | real_members(".ir") | {"ours.ir": write_ms_text(load_graph("lenet")).encode()}


def pb_files() -> Files:
    found = {path.name: path.read_bytes() for path in sorted((DATA / "pb").glob("*.pb"))}
    return found | real_members(".pb") | {"ours.pb": write_ms_pb(load_graph("lenet"))}


GE_TEXT = r"""graph {
  name: "net"
  op {
    name: "data/x"
    type: "Data"
    attr { key: "index" value { i: 0 } }
    output_desc { dtype: DT_FLOAT shape { dim: 2 dim: -1 } layout: "ND" }
  }
  op {
    name: "IteratorV2"
    type: "Const"
    attr { key: "value" value { t { desc { dtype: DT_INT8 shape { dim: 2 } } data: "\000A" } } }
    attr { key: "ranges" value { list_list_int { list_list_i { list_i: 1 list_i: -1 } } } }
    attr { key: "_datadump_original_op_names" value { list { s: "a" s: "\347\275\221/b" val_type: VT_LIST_STRING } } }
    attr { key: "func" value { func { name: "f" attr { key: "k" value { f: 1e-05 } } } } }
  }
  op { name: "out" type: "NetOutput" input: "data/x:0" input: "IteratorV2:0" input: "data/x:-1" subgraph_name: "then" }
}
graph { name: "then" }
"""


def ge_texts() -> Files:
    ours = write_ge_text(load_graph("mlp")).encode()
    return {"ge_proto_00000001_Build.txt": GE_TEXT.encode(), "ge_proto_00000292_Build.txt": ours}


def ge_models() -> Files:
    from google.protobuf import text_format

    found = {}
    for name, text in ge_texts().items():
        model = message_class("ModelDef")()
        text_format.Parse(text.decode(), model)
        found[f"{name}.bin"] = model.SerializeToString()
    return found


GRAPH_FILES: dict[str, Callable[[], Files]] = {
    "IR text (.ir)": ir_texts,
    "MindSpore protobuf (.pb)": pb_files,
    "GE text (ge_proto_*.txt)": ge_texts,
    "GE binary model": ge_models,
}


def ask_graph(_root: Path, path: Path, number: int) -> object:
    graph = wb.read_ir(path)
    touch(graph)
    if graph.dialect != "ge" and path.suffix == ".ir":
        read_ms_text(path)
    return graph.ops


def onnx_models() -> Files:
    """A convolution, what follows it, and a shape that is computed."""
    from kit.build.onnx_models import model, node

    image = np.zeros((1, 4, 8, 8), np.float32)
    nodes = [
        node("Conv", ["x", "w"], ["c"], "conv", {"k": "v"}, strides=[2, 1], pads=[1, 1, 0, 1]),
        node("MaxPool", ["c"], ["p"], kernel_shape=[2, 2], ceil_mode=1),
        node("Shape", ["p"], ["s"]),
        node("Slice", ["s", "zero", "two"], ["front"]),
        node("Concat", ["front", "minus"], ["wanted"], axis=0),
        node("Reshape", ["p", "wanted"], ["f"]),
        node("Split", ["f"], ["l", "r"], axis=-1, num_outputs=2),
    ]
    numbers = {"zero": np.array([0]), "two": np.array([2]), "minus": np.array([-1])}
    weights = {"w": np.ones((4, 4, 3, 3), np.float32), **numbers}
    made = model(nodes, {"x": image}, ["l", "r"], weights, opset=18)
    return {"net.onnx": made.SerializeToString()}


def ask_onnx(_root: Path, path: Path, _number: int) -> object:
    graph = wb.read_onnx(path)
    touch(graph)
    return graph.ops


def ask_search(root: Path, path: Path, number: int) -> object:
    operator = ("", "data/x", "relu", "網")[number % 4]
    files = sorted(root.rglob("*_Build.txt"))
    return find_computational_graph(files, operator, folders=("net", "x")).folder


# ---------------------------------------------------------------- configurations, results, names


FORMS = {
    "acl": {
        "acl_dump_0": '{"dump":{"dump_list":[],"dump_mode":"all","dump_op_switch":"on","dump_path":"/dump/0"}}'
    }
}
"""Surface → forms of it that another tool writes: MindSpore O2 tells AscendCL what to dump."""


def forms(surface: str) -> Callable[[], Files]:
    """The first form of a surface, and the forms that its rules take and refuse."""

    def made() -> Files:
        row = get(surface)
        suffix = "json" if row.language == "json" else "py"
        found = {"first": new(surface).to_text()} | FORMS.get(surface, {})
        for rule in row.rules:
            for name, example in (("breaks", rule.breaks), ("keeps", rule.keeps)):
                found[f"{rule.id}_{name}"] = row.encode(example.form)
        return {f"{name}.{suffix}": text.encode("utf-8", "replace") for name, text in found.items()}

    return made


def ask_form(surface: str) -> Callable[[Path, Path, int], object]:
    others = list(HOMES)

    def asked(_root: Path, path: Path, number: int) -> object:
        attempt(path, lambda: load(path))
        config = load(path, surface)
        problems = config.check()
        config.explain()
        config.to_text()
        for act in (config.plan, config.code, lambda: config.convert(others[number % len(others)])):
            with suppress(ConfigError):
                act()
        return problems

    return asked


def results() -> Files:
    tables = sorted((DATA / "results").glob("*.csv"))
    own = json.dumps(wb.read_result(tables[0]).to_json())
    return {path.name: path.read_bytes() for path in tables} | {"ours.json": own.encode()}


def ask_result(_root: Path, path: Path, number: int) -> object:
    found = wb.read_result(path)
    found.to_json()
    return found.rows


def workbook() -> bytes:
    import csv

    from openpyxl import Workbook

    book = Workbook(write_only=True)
    for name in ("msprobe_tensor.csv", "msprobe_statistics.csv"):
        sheet = book.create_sheet(name[:20])
        for row in csv.reader(results()[name].decode().splitlines()):
            sheet.append(row)
    file = io.BytesIO()
    book.save(file)
    return file.getvalue()


@cache
def workbook_parts() -> Files:
    with zipfile.ZipFile(io.BytesIO(workbook())) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def repacked(name: str, data: bytes) -> bytes:
    """A workbook with one part in place of the good one."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for part, good in workbook_parts().items():
            archive.writestr(part, data if part == name else good)
    return file.getvalue()


MAP = {
    "pairs": [{"target": "Default/b/ReLU-op1", "golden": "Default/a/ReLU-op0"}],
    "ignore": ["Default/x"],
}


def names() -> Files:
    """Names of every kind of file, each as the content of a file."""
    parts = NameParts("Add", "Default/net/Add-op1", 0, 3, 17, "output", 0, dtype="int8")
    found = [path.rpartition("/")[2] for path in (*container_files(), *overflow_files())]
    found += [path.rpartition("/")[2] for path in (*exception_files(), *overflow_texts())]
    found += [*(format_name(parts, version) for version in ("1.3.0", "2.2.0", "2.6.0"))]
    found += [f"MatMul.mm.3.1.{START}.output.0.ND.HIFLOAT8", *golden_files(), "3141592653589793.npy"]  # fmt: skip
    return {f"name{number}": name.encode() for number, name in enumerate(found)}


def ask_name(_root: Path, path: Path, number: int) -> object:
    name = path.read_bytes().decode("utf-8", "surrogateescape")
    recognize(name)
    parse_raw_name(name)
    return True
