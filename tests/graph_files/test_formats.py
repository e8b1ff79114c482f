"""Which kind of graph a file is: real files under wrong names, and files that are none or two."""

from __future__ import annotations

import re
import sys
import tempfile
import tracemalloc
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import workbench.graph_files.formats
from kit.build.foreign_files import DATA, PAIRS
from kit.words import refused
from workbench.core.errors import FormatError
from workbench.graph.nodes import Graph
from workbench.graph_files.formats import GRAPH_FORMATS, look_at, read_graph
from workbench.graph_files.mindspore.pb import read_ms_pb
from workbench.graph_files.mindspore.text import read_ms_text

STAGES = DATA / "pb"
IR = b"# IR entry: @g\n\nsubgraph @g() {\n  Return(%para1_x)\n}\n"
GE_TEXT = b'graph {\n  name: "g"\n  op {\n    name: "a"\n    type: "Add"\n  }\n}\n'
GE_MODEL = b"\x0a\x01g\x10\x01\x3a\x04\x0a\x02g0"  # name "g", version 1, graph "g0"
MS_PB = b"\x08\x01\x22\x03\x12\x01g"  # version 1, graph "g"
ONNX_TEXT = b'ir_version: 7\ngraph {\n  node {\n    op_type: "Add"\n  }\n}\n'
ONNX = b"\x08\x07\x12\x02pt\x3a\x03\x12\x01g"  # version 7, producer "pt", graph "g"
IR_OF_MANY = IR.replace(
    b"\nsubgraph", b"%para1_x : <Tensor[Float32], (1)>\n" * 3000 + b"\nsubgraph"
)
MS_PB_BEHIND = b"\x2a\x80\x80\x08" + bytes(1 << 17) + MS_PB  # 128 KiB of metadata in front
MINDIR = b"\x0a\x050.1.0\x12\x02ms\x3a\x02\x12\x00"  # version text, producer, graph


def titles(data: bytes) -> list[str]:
    with tempfile.NamedTemporaryFile() as file:
        Path(file.name).write_bytes(data)
        look = look_at(Path(file.name))
    return [row.title for row in GRAPH_FORMATS if row.fits(look)]


@pytest.mark.parametrize(
    ("data", "title"),
    [
        (IR, "IR text (.ir)"),
        (IR.replace(b"# IR entry:", b"#IR entry      :"), "IR text (.ir)"),
        (GE_TEXT, "GE text (ge_proto_*.txt)"),
        (b'name: "ge_default"\nversion: 1\n' + GE_TEXT, "GE text (ge_proto_*.txt)"),
        (GE_TEXT.replace(b"\n", b"\r\n"), "GE text (ge_proto_*.txt)"),
        (GE_MODEL, "GE binary model"),
        (GE_MODEL[3:], "GE binary model"),
        (MS_PB, "MindSpore protobuf (.pb)"),
        (MS_PB[2:], "MindSpore protobuf (.pb)"),
        (MS_PB[:-1], "MindSpore protobuf (.pb)"),
        (GE_MODEL[:-1], "GE binary model"),
        (ONNX, "ONNX model (.onnx)"),
        (ONNX[:-1], "ONNX model (.onnx)"),
        (IR_OF_MANY, "IR text (.ir)"),
        (MS_PB_BEHIND, "MindSpore protobuf (.pb)"),
    ],
)
def test_each_kind_is_recognised_and_no_other(data, title):
    assert titles(data) == [title]


@pytest.mark.parametrize("data", [ONNX_TEXT, MINDIR, b"", b"PK\x03\x04", b"digraph g {\n}\n"])
def test_other_formats_are_refused_with_the_kinds_there_are(tmp_path, data):
    path = tmp_path / "graph.ir"
    path.write_bytes(data)
    known = [row.title for row in GRAPH_FORMATS]
    code = "graph_files/unknown-kind" if data else "graph_files/empty"
    with refused(code, FormatError, place=str(path), known=known):
        read_graph(path)


def test_a_file_with_the_signs_of_two_kinds_is_refused(tmp_path):
    path = tmp_path / "both.txt"
    path.write_bytes(IR + GE_TEXT)
    kinds = [GRAPH_FORMATS[0].title, GRAPH_FORMATS[2].title]
    with refused("graph_files/several-kinds", FormatError, place=str(path), kinds=kinds):
        read_graph(path)


@pytest.mark.parametrize("name", PAIRS)
def test_a_dumps_graphs_are_read_by_their_readers(real_pairs, name):
    for ir in (real_pairs[name].golden / "rank_0/graphs").glob("*.ir"):
        assert read_graph(ir) == read_ms_text(ir)
        assert read_graph(ir.with_suffix(".pb")) == read_ms_pb(ir.with_suffix(".pb"))


@pytest.mark.parametrize(
    "data", [b"\n" * 1_000_000, b"\ngraph" + b" " * 1_000_000, GE_TEXT[:7] + b"\n" * 1_000_000]
)
def test_blanks_take_no_longer_than_their_number(data):
    """They took the square of it: hours."""
    assert titles(data) == []


def test_a_file_of_very_many_fields_is_no_model():
    """A gigabyte of them would take minutes to walk through."""
    assert titles(GE_MODEL + b"\x10\x01" * 9_000) == ["GE binary model"]
    assert titles(GE_MODEL + b"\x10\x01" * 10_000) == []


def test_the_name_says_nothing(tmp_path):
    text, binary = tmp_path / "net.pb", tmp_path / "ms_output_trace_code_graph_0.ir"
    text.write_bytes((STAGES / "ms_output_optimize.ir").read_bytes())
    binary.write_bytes((STAGES / "ms_output_optimize.pb").read_bytes())
    assert read_graph(text).dialect == "mindspore"
    assert read_graph(str(binary)).dialect == "pb-anf"


@pytest.mark.parametrize(
    ("data", "module", "function"),
    [(GE_TEXT, "ge.text", "read_ge_text"), (GE_MODEL, "ge.binary", "parse_ge_model")],
)
def test_ge_graphs_go_to_their_reader(tmp_path, monkeypatch, data, module, function):
    path = tmp_path / "any.bin"
    path.write_bytes(data)
    seen = []
    stand_in = ModuleType(module)
    setattr(stand_in, function, lambda *given: seen.append(given) or Graph("ge"))
    monkeypatch.setitem(sys.modules, f"workbench.graph_files.{module}", stand_in)
    assert read_graph(path).name == "ge"
    assert seen == [(path,)] if module == "ge.text" else [(data, str(path))]


def test_a_cut_off_pb_says_at_which_byte(tmp_path):
    path = tmp_path / "graph.pb"
    path.write_bytes((STAGES / "ms_output_optimize.pb").read_bytes()[:-20])
    with refused("proto/cut-off", FormatError, number=4) as caught:
        read_graph(path)
    assert re.fullmatch(r".*/graph\.pb: byte \d+", caught.value.place)


def test_what_cannot_be_read_is_named(tmp_path, monkeypatch):
    with refused("core/missing", FormatError, got=str(tmp_path / "gone")):
        read_graph(tmp_path / "gone")
    with refused(("core/unreadable", "core/not-a-file"), FormatError, place=str(tmp_path)):
        read_graph(tmp_path)
    (tmp_path / "large").write_bytes(IR)
    monkeypatch.setattr(workbench.graph_files.formats, "MAX_BYTES", 10)
    with refused("core/too-large", FormatError, limit=10):
        read_graph(tmp_path / "large")


@given(st.binary(max_size=64))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_random_bytes_never_fit_two_protocols(data):
    assert len(titles(data)) <= 1


@pytest.mark.parametrize("begin", [b"", b"digraph g {\n", b"\x3a\xff\xff\xff\x7f"])
def test_a_gigabyte_that_is_no_graph_is_refused_without_being_read(tmp_path, begin):
    path = tmp_path / "graph.ir"
    with path.open("wb") as file:
        file.write(begin)
        file.truncate(1 << 30)
    tracemalloc.start()
    with refused("graph_files/unknown-kind", FormatError, place=str(path)):
        read_graph(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1 << 20


def test_an_onnx_model_is_read_whatever_it_is_called(tmp_path):
    onnx = pytest.importorskip("onnx")
    make = onnx.helper
    value = [make.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [2]) for name in "xy"]
    graph = make.make_graph([make.make_node("Relu", ["x"], ["y"])], "net", value[:1], value[1:])
    path = tmp_path / "graph.bin"
    path.write_bytes(
        make.make_model(graph, opset_imports=[make.make_opsetid("", 17)]).SerializeToString()
    )
    assert [op.op_type for op in read_graph(path).ops] == ["ReLU"]
