"""The contract of `GRAPH_FORMATS`: exactly one row takes each sample, and what no row can read is refused unread."""

from __future__ import annotations

import os
import re
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kit.build import graph_files as built
from kit.build.foreign_files import DATA
from kit.build.graph_files import GE_MODEL, GE_TEXT, IR, KEY_VALUES, ONNX, SAMPLES
from kit.memory import peak_below
from kit.words import refused
from workbench.core.errors import FormatError, WorkbenchError
from workbench.core.tensors import TensorSpec
from workbench.graph.graph import Value
from workbench.graph_files.formats import GRAPH_FORMATS, format_of, most_telling_first, read_graph
from workbench.graph_files.look import MAX_BYTES, look_at
from workbench.graph_files.mindspore.pb import read_ms_pb
from workbench.graph_files.mindspore.text import read_ms_text

STAGES = DATA / "pb"
ONNX_TEXT = b'ir_version: 7\ngraph {\n  node {\n    op_type: "Add"\n  }\n}\n'
MINDIR = b"\x0a\x050.1.0\x12\x02ms\x3a\x02\x12\x00"  # version text, producer, graph
WHOLE = {name: data for files in SAMPLES.values() for name, data in files.items()}


def titles(data: bytes) -> list[str]:
    with tempfile.NamedTemporaryFile() as file:
        Path(file.name).write_bytes(data)
        look = look_at(Path(file.name))
    return [row.title for row in GRAPH_FORMATS if row.fits(look)]


def test_every_format_has_samples():
    assert [row.title for row in GRAPH_FORMATS] == list(SAMPLES)


@pytest.mark.parametrize(
    ("title", "name"), [(title, name) for title, files in SAMPLES.items() for name in files]
)
def test_exactly_one_format_takes_a_sample(title, name):
    assert titles(WHOLE[name]) == [title]


READ = ("ModelDef", "om", "om of 2020", "json", "pbtxt")


@pytest.mark.parametrize("name", READ)
def test_the_same_graph_is_read_of_every_format_of_ge(tmp_path, name):
    """Names, types, edges, tensors, attributes, subgraphs: what the builder was told."""
    path = tmp_path / "any.bin"
    path.write_bytes(WHOLE[name])
    graph = read_graph(path)
    assert (graph.name, graph.dialect, graph.path, graph.unknown_lines) == ("g", "ge", str(path), 0)
    assert [(op.name, op.op_type) for op in graph.ops] == built.OPS
    assert [op.inputs for op in graph.ops[2:]] == [(Value(0), Value(1)), (Value(2),)]
    for number, op in enumerate(graph.ops):
        assert (op.attrs["alpha"], op.attrs.get("id", 0)) == (7, number)
        assert op.outputs == (("float32", built.SHAPE, "NCHW"),)
        assert op.device_outputs == (("float32", built.SHAPE, "ND"),)
    assert [one.name for one in graph.subgraphs] == ["then"]


def test_a_frozen_graph_is_read_node_by_node(tmp_path):
    path = tmp_path / "any.bin"
    path.write_bytes(WHOLE["frozen"])
    graph = read_graph(path)
    assert (graph.dialect, graph.path) == ("tensorflow", str(path))
    assert [(op.name, op.op_type) for op in graph.ops] == [
        ("x", "Placeholder"), ("w", "Const"), ("y", "Split"), ("z", "Relu"),
    ]  # fmt: skip
    assert [op.inputs for op in graph.ops[:3]] == [(), (), (Value(0), Value(1))]
    assert graph.ops[3].inputs[0] == Value(2, 1)
    assert graph.ops[3].inputs[1].node == "lost"
    assert [op.outputs for op in graph.ops] == [
        (TensorSpec("float32", (-1, 16)),),
        (TensorSpec("float32", (2, 16)),),
        (TensorSpec("float32", (2, 16)), TensorSpec("float32", None)),
        (TensorSpec("float32", None),),
    ]
    assert graph.outputs == (Value(3),)
    assert "value" not in [key for key, value in graph.ops[1].attrs.items() if value is not None]


def test_an_onnx_model_is_read_whatever_it_is_called(tmp_path):
    onnx = pytest.importorskip("onnx")
    make = onnx.helper
    value = [make.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [2]) for name in "xy"]
    graph = make.make_graph([make.make_node("Relu", ["x"], ["y"])], "net", value[:1], value[1:])
    path = tmp_path / "graph.bin"
    path.write_bytes(
        make.make_model(graph, opset_imports=[make.make_opsetid("", 17)]).SerializeToString()
    )
    assert [(op.name, op.op_type) for op in read_graph(path).ops] == [("Relu_0", "Relu")]


def test_the_name_says_nothing(tmp_path):
    text, binary = tmp_path / "net.pb", tmp_path / "ms_output_trace_code_graph_0.ir"
    text.write_bytes((STAGES / "ms_output_optimize.ir").read_bytes())
    binary.write_bytes((STAGES / "ms_output_optimize.pb").read_bytes())
    assert read_graph(text) == read_ms_text(text)
    assert read_graph(str(binary)) == read_ms_pb(binary)
    gone = tmp_path / "gone"
    assert most_telling_first([binary, gone, text]) == [gone, text, binary]


@pytest.mark.parametrize(
    "data", [ONNX_TEXT, MINDIR, b"", b"PK\x03\x04", b"digraph g {\n}\n", b"{}"]
)
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
    kinds = ["IR text (.ir)", "GE text (ge_proto_*.txt)"]
    with refused("graph_files/several-kinds", FormatError, place=str(path), kinds=kinds):
        read_graph(path)


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


@given(st.binary(max_size=64))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_random_bytes_never_fit_two_formats(data):
    assert len(titles(data)) <= 1


# ---------------------------------------------------------------- damage and size


CUT = {
    "IR": (IR[:16], "graph_files/no-subgraph"),
    "pb": ((STAGES / "ms_output_optimize.pb").read_bytes()[:-20], "proto/cut-off"),
    "GE text": (GE_TEXT[:-3], "proto/block-open"),
    "pbtxt": (built.ge_onnx()[:-3], "proto/block-open"),
    "ModelDef": (built.ge_model()[:-20], "proto/cut-off"),
    "om": (built.om()[:-250], "graph_files/om-parts"),
    "om inside its header": (built.om()[:100], "graph_files/om-short"),
    "om inside its ModelDef": (built.om(model=built.ge_model()[:-20]), "proto/cut-off"),
    "om, encrypted": (built.om(encrypted=True), "graph_files/om-encrypted"),
    "json": (built.model_json()[:-5], "graph_files/json"),
    "json of many attributes": (KEY_VALUES, "graph_files/json-without-graph"),
    "onnx": (ONNX[:-1], "proto/cut-off"),
    "frozen": (built.frozen()[:-20], "proto/cut-off"),
}
"""What is cut off, and the code of its refusal."""


@pytest.mark.parametrize("name", CUT)
def test_what_is_cut_off_is_refused_with_its_place(tmp_path, name):
    data, code = CUT[name]
    path = tmp_path / "graph.bin"
    path.write_bytes(data)
    with refused(code, WorkbenchError) as caught:
        read_graph(path)
    assert re.match(rf"{re.escape(str(path))}(: byte \d+|:\d+|: model|$)", caught.value.place)


def test_every_format_is_cut_off_somewhere():
    assert {title for data, _ in CUT.values() for title in titles(data)} == {*SAMPLES}


@pytest.mark.parametrize("name", [*READ, "frozen", "GE text", "IR"])
def test_a_sample_cut_off_anywhere_is_read_or_refused_in_its_own_place(tmp_path, name):
    path = tmp_path / "graph.bin"
    for end in range(0, len(WHOLE[name]), 1 + len(WHOLE[name]) // 150):
        path.write_bytes(WHOLE[name][:end])
        try:
            read_graph(path)
        except FormatError as error:
            assert error.place.startswith(str(path))  # noqa: PT017


@pytest.mark.parametrize(
    "begin", [b"", *(next(iter(files.values())) for files in SAMPLES.values())]
)
def test_a_file_over_the_limit_is_refused_without_being_read(tmp_path, begin):
    path = tmp_path / "graph.ir"
    path.write_bytes(begin)
    os.truncate(path, MAX_BYTES + 1)
    too_large = refused("core/too-large", FormatError, place=str(path), limit=MAX_BYTES)
    with peak_below(1 << 18), too_large:
        read_graph(path)


@pytest.mark.parametrize("begin", [b"", b"digraph g {\n", b"\x3a\xff\xff\xff\x7f"])
def test_a_gigabyte_that_is_no_graph_is_refused_after_64_kib(tmp_path, begin):
    path = tmp_path / "graph.ir"
    path.write_bytes(begin)
    os.truncate(path, MAX_BYTES)
    unknown = refused("graph_files/unknown-kind", FormatError, place=str(path))
    with peak_below(1 << 18), unknown:
        read_graph(path)


def test_weights_and_kernels_of_an_offline_model_are_not_read(tmp_path):
    path = tmp_path / "large.om"
    header = bytearray(built.om())
    header[256 + 8 + 24 + 16 : 256 + 8 + 24 + 24] = (1 << 29).to_bytes(8, "little")
    header[256 + 8 + 48 + 8 : 256 + 8 + 48 + 16] = ((1 << 29) + len(built.ge_model())).to_bytes(
        8, "little"
    )
    path.write_bytes(header)
    os.truncate(path, (1 << 29) + len(header))
    with peak_below(1 << 20):
        assert len(read_graph(path).ops) == len(built.OPS)


def test_what_cannot_be_read_is_named(tmp_path):
    with refused("core/missing", FormatError, got=str(tmp_path / "gone")):
        read_graph(tmp_path / "gone")
    with refused(("core/unreadable", "core/not-a-file"), FormatError, place=str(tmp_path)):
        format_of(tmp_path)


def test_a_file_that_the_system_does_not_let_be_read_is_named():
    memory = Path("/proc/self/mem")  # a regular file whose first byte nobody may read
    with refused("core/unreadable", FormatError, place=str(memory), subject="graph"):
        look_at(memory)
