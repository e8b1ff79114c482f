"""Good files and trees of every kind that is read, to be damaged by `mutations`, and all that can be asked of one.

`READERS` has one row for every reader, `TREES` one for every surface and writer. Rows go over the package's own
tables: a new kind of file without a good example here is a KeyError. Dump files are in `good_dumps`.
"""

from __future__ import annotations

import io
import json
import tarfile
import zipfile
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

import workbench as wb
from kit.build import graph_files as built
from kit.build.foreign_files import DATA, SPELLED, old_file
from kit.build.small_dumps import write_ms_pb
from kit.damage import good_dumps as dumps
from workbench.comparison.map_file import read_overrides
from workbench.config import SURFACES, get, load, new
from workbench.config.config import of_example
from workbench.core.errors import ConfigError
from workbench.dump.formats.file import FileName
from workbench.dump.formats.mindspore_name import format_name
from workbench.dump.formats.table import parse_name
from workbench.graph.graph import Value
from workbench.graph_files.formats import GRAPH_FORMATS
from workbench.graph_files.ge.files import find_computational_graph
from workbench.graph_files.ge.schema import GE_IR
from workbench.graph_files.ge.write_text import write_ge_text
from workbench.graph_files.mindspore.text import read_ms_text
from workbench.graph_files.mindspore.write_text import write_ms_text
from workbench.network.models import load_graph

if TYPE_CHECKING:
    from collections.abc import Callable

    from workbench.graph.graph import Graph

    Files = dict[str, bytes]

# ---------------------------------------------------------------- graphs


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
        model = GE_IR.message_class("ModelDef")()
        text_format.Parse(text.decode(), model)
        found[f"{name}.bin"] = model.SerializeToString()
    return found


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


def take_first(files: Files) -> Files:
    """The sample of a format that is whole."""
    return dict(list(files.items())[:1])


GRAPH_FILES: dict[str, Callable[[], Files]] = {
    **{title: partial(take_first, files) for title, files in built.SAMPLES.items()},
    "IR text (.ir)": ir_texts,
    "MindSpore protobuf (.pb)": pb_files,
    "GE text (ge_proto_*.txt)": ge_texts,
    "GE binary model": ge_models,
    "offline model (.om)": lambda: {"new.om": built.om(), "old.om": built.om(wide=False)},
    "ONNX model (.onnx)": onnx_models,
}


def ask_graph(_root: Path, path: Path, number: int) -> object:
    graph = wb.read_ir(path)
    dumps.touch(graph)
    if graph.dialect != "ge" and path.suffix == ".ir":
        read_ms_text(path)
    for at, op in enumerate(graph.ops if path.suffix in (".ir", ".pb") else ()):
        producers = [one.op for one in op.flat_inputs() if isinstance(one, Value)]
        assert all(producer < at for producer in producers)
    return graph.ops


def ask_onnx(_root: Path, path: Path, _number: int) -> object:
    graph = wb.read_onnx(path)
    dumps.touch(graph)
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
                found[f"{rule.id}_{name}"] = of_example(row, example).to_text()
        return {f"{name}.{suffix}": text.encode("utf-8", "replace") for name, text in found.items()}

    return made


def ask_form(surface: str) -> Callable[[Path, Path, int], object]:
    others = list(SURFACES)

    def asked(_root: Path, path: Path, number: int) -> object:
        dumps.attempt(path, lambda: load(path))
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
    parts = FileName(
        "npy", "Add", "Default/net/Add-op1", 17, 0, 3, "output", 0, "DefaultFormat", dtype="int8"
    )
    found = [
        path.rpartition("/")[2] for path in (*dumps.container_files(), *dumps.overflow_files())
    ]
    found += [
        path.rpartition("/")[2] for path in (*dumps.exception_files(), *dumps.overflow_texts())
    ]
    found += [*(format_name(parts, version) for version in ("2.3.0", "2.6.0"))]
    found += ["Add.Add-op1.0.3.17.output.0.DefaultFormat.npy"]
    found += [f"MatMul.mm.3.1.{dumps.START}.output.0.ND.HIFLOAT8"]
    found += [*dumps.golden_files(), "3141592653589793.npy"]
    return {f"name{number}": name.encode() for number, name in enumerate(found)}


def ask_name(_root: Path, path: Path, number: int) -> object:
    name = path.read_bytes().decode("utf-8", "surrogateescape")
    parse_name(name)
    return True


# ---------------------------------------------------------------- readers of a file


@dataclass(frozen=True)
class Reader:
    """A reader: its good files, their good neighbours, and what asks everything of a file.

    Paths are relative to a folder of their own. ``ask`` gets that folder and the file, and a number by
    which it may choose options; it raises nothing but the package's errors. ``packed`` makes the file
    of a damaged piece.
    """

    files: Callable[[], Files]
    ask: Callable[[Path, Path, int], object]
    around: Callable[[], Files] = dict
    packed: Callable[[str, bytes], bytes] = field(default=lambda _name, data: data)


READERS: dict[str, Reader] = {
    "npy": Reader(dumps.npy_files, dumps.ask_npy),
    "container": Reader(dumps.container_files, dumps.ask_container),
    "slice": Reader(dumps.slice_files, dumps.ask_tree, dumps.slice_files),
    "conversion of a container": Reader(dumps.container_files, dumps.ask_conversion),
    "conversion of an npy file": Reader(dumps.device_npy_files, dumps.ask_conversion),
    "conversion of an overflow record": Reader(dumps.overflow_files, dumps.ask_conversion),
    "overflow record": Reader(dumps.overflow_files, dumps.ask_record),
    "overflow JSON": Reader(dumps.overflow_texts, dumps.ask_record),
    "exception": Reader(dumps.exception_files, dumps.ask_failure),
    "core of a kernel": Reader(dumps.core_files, dumps.ask_failure),
    "bare tensor": Reader(dumps.raw_files, dumps.ask_tree, dumps.container_files),
    "golden npy": Reader(dumps.golden_files, dumps.ask_tree),
    "golden archive": Reader(dumps.archives, dumps.ask_tree),
    "PyTorch file": Reader(dumps.pytorch_files, dumps.ask_tree),
    **{
        f"statistic.csv of {name}": Reader(dumps.tables(name), dumps.ask_tree)
        for name in dumps.TABLES
    },
    "mapping.csv": Reader(
        lambda: {
            f"{at}/mapping.csv": "".join(text).encode() for at, text in dumps.mapped()[0].items()
        },
        dumps.ask_mapping,
        lambda: dumps.mapped()[1],
    ),
    "roles.csv": Reader(dumps.role_files, dumps.ask_tree, dumps.golden_files),
    "orders, metadata and graphs of a tree": Reader(
        dumps.side_files, dumps.ask_tree, dumps.mindspore_tree
    ),
    **{row.title: Reader(GRAPH_FILES[row.title], ask_graph) for row in GRAPH_FORMATS},
    "ONNX model": Reader(onnx_models, ask_onnx),
    "search for the computational graph": Reader(ge_texts, ask_search, ge_texts),
    **{f"form of {name}": Reader(forms(name), ask_form(name)) for name in SURFACES},
    "result as CSV": Reader(results, ask_result),
    "result as a workbook": Reader(lambda: {"result.xlsx": workbook()}, ask_result),
    "result as the parts of a workbook": Reader(workbook_parts, ask_result, packed=repacked),
    "map file": Reader(
        lambda: {"map.json": json.dumps(MAP).encode()},
        lambda _root, path, _: read_overrides(path),
    ),
    "name of a file": Reader(names, ask_name),
}


# ---------------------------------------------------------------- trees


@cache
def mlp() -> Graph:
    return load_graph("mlp")


def simulated(surface: str, device: str = "a2", **settings: object) -> Callable[[Path], object]:
    """The tree that a surface's form asks for."""

    def make(root: Path) -> object:
        config = new(surface, **settings)
        return wb.simulate(mlp(), None, config, root, device=device, surface=surface)

    return make


def tree_of(*tables: Callable[[], dumps.Files]) -> Callable[[Path], object]:
    """A tree out of good files, ours or a vendor's."""

    def make(root: Path) -> None:
        for table in tables:
            for path, data in table().items():
                (root / path).parent.mkdir(parents=True, exist_ok=True)
                (root / path).write_bytes(data)

    return make


def with_graphs(surface: str) -> Callable[[Path], object]:
    def make(root: Path) -> None:
        simulated(surface)(root)
        for path, data in ge_texts().items():
            (root / path).write_bytes(data)

    return make


TREES: dict[str, Callable[[Path], object]] = {
    "mindspore-o0o1": simulated("mindspore-o0o1"),
    "mindspore-o0o1 with statistics": simulated(
        "mindspore-o0o1", e2e_dump_settings__stat_calc_mode="host", common_dump_settings__saved_data="full"
    ),
    "mindspore-cpu": simulated("mindspore-cpu", "reference"),
    "mindspore-o2": simulated("mindspore-o2", common_dump_settings__file_format="npy"),
    "mindspore-o2 in containers": simulated("mindspore-o2", common_dump_settings__file_format="bin"),
    "mindspore-ge": simulated("mindspore-ge"),
    "tensorflow": with_graphs("tensorflow"),
    "torchair": simulated("torchair"),
    "acl": simulated("acl"),
    "graph engine with records": tree_of(
        dumps.container_files, dumps.overflow_files, dumps.overflow_texts, dumps.exception_files, dumps.raw_files
    ),
    "statistics of the graph engine": tree_of(dumps.tables("ge")),
    "statistics of msprobe": tree_of(dumps.tables("msprobe-l2")),
    "golden": tree_of(dumps.golden_files),
    "mapped names": tree_of(dumps.mindspore_tree, dumps.side_files, dumps.mapped_tree),
}  # fmt: skip


def acts(root: Path, tree: Path, whole: Path, number: int) -> list[Callable[[], object]]:
    """Load, look into, compare with the whole tree, convert."""
    return [
        lambda: dumps.ask_tree(tree),
        lambda: json.dumps(wb.inspect(wb.load(tree), at="networks.py:100")),
        lambda: _compare(tree, whole, number),
        lambda: _compare(whole, tree, number + 1),
        lambda: dumps.ask_conversion(root, tree, number),
    ]


def _compare(target: Path, golden: Path, number: int) -> None:
    found = wb.compare(target, golden)
    cover, result = found.coverage, found.result
    for side, tensors in (("target", result.target.tensors), ("golden", result.golden.tensors)):
        skipped = sum(count for key, count in cover.skipped.items() if key.startswith(side))
        assert cover.matched + getattr(cover, f"unmatched_{side}") + skipped == tensors, (
            side,
            cover,
        )
    assert json.dumps(found.to_json(), allow_nan=False)
    assert found._repr_html_()
    if number % 10 == 0:
        from kit.build.sample_results import csv_text
        from workbench.show.report import report_html

        assert report_html(result)
        assert csv_text(result)
