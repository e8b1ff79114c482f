"""Text and binary models against protobuf's own classes, which write the one and the other."""

from __future__ import annotations

import warnings

import pytest
from google.protobuf import text_format
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kit.build.ge_random import models, plain, same
from kit.cases import examples
from kit.wire import msg
from kit.words import refused
from workbench.core.errors import FormatError
from workbench.core.tensors import TensorSpec
from workbench.graph.graph import Value
from workbench.graph_files.ge.binary import parse_ge_model
from workbench.graph_files.ge.schema import GE_IR
from workbench.graph_files.ge.text import parse_ge_text

SLOW = settings(deadline=None, max_examples=examples(60), suppress_health_check=list(HealthCheck))
STYLES = st.fixed_dictionaries(
    {
        "as_one_line": st.booleans(),
        "as_utf8": st.booleans(),
        "pointy_brackets": st.booleans(),
        "use_short_repeated_primitives": st.booleans(),
        "force_colon": st.booleans(),
    }
)


def check(graph, model) -> None:
    """Every field of the model is in the graph, under the name and with the value of the field."""
    graphs = (graph, *graph.subgraphs)
    assert [one.name for one in graphs] == [one.name for one in model.graph]
    rest = {key: value for key, value in plain(model).items() if key != "graph"}
    assert same(graph.attrs.get("model", {}), rest) or "model" in model.graph[0].attr
    for mine, theirs in zip(graphs, model.graph, strict=True):
        fields = plain(theirs)
        expected = {k: v for k, v in fields.get("attr", {}).items() if k != "model"}
        assert same({k: v for k, v in mine.attrs.items() if k != "model"}, expected)
        assert len(mine.ops) == len(theirs.op)
        for op, op_fields in zip(mine.ops, fields.get("op", ()), strict=True):
            assert (op.name, op.op_type) == (op_fields.get("name", ""), op_fields.get("type", ""))
            others = {k: v for k, v in op_fields.items() if k not in ("name", "type", "attr")}
            assert same(op.attrs, {**others, **op_fields.get("attr", {})})


@SLOW
@given(models(), STYLES)
def test_every_style_of_text_says_what_the_message_says(model, style):
    canonical = parse_ge_text(text_format.MessageToString(model))
    styled = parse_ge_text(text_format.MessageToString(model, **style))
    binary = parse_ge_model(model.SerializeToString())
    for graph in (canonical, styled, binary):
        check(graph, model)
        assert [repr(op.outputs + op.device_inputs) for op in graph.ops] == [
            repr(op.outputs + op.device_inputs) for op in binary.ops
        ]
        assert [op.inputs for op in graph.ops] == [op.inputs for op in binary.ops]


PIECES = st.sampled_from(
    ['"', "'", "\\", "{", "}", "<", ">", "[", "]", ":", ";", ",", "#", "\n", " ", "0", "-", "x", "i: 1", "}\n", ""]
)  # fmt: skip


@SLOW
@given(models(3), st.booleans(), PIECES, st.data())
def test_damaged_text_is_refused_where_protobuf_refuses_it(model, one_line, piece, data):
    text = text_format.MessageToString(model, as_one_line=one_line)
    start = data.draw(st.integers(0, len(text)))
    text = text[:start] + piece + text[start + data.draw(st.sampled_from([0, 1, 8])) :]
    try:
        with warnings.catch_warnings():
            # protobuf's Python reader only warns of escapes that its C++ reader refuses
            warnings.simplefilter("error", DeprecationWarning)
            theirs = text_format.Parse(text, GE_IR.message_class("ModelDef")())
    except (text_format.ParseError, ValueError, DeprecationWarning) as error:
        theirs, reason = None, str(error)
    try:
        mine, code = parse_ge_text(text), ""
    except FormatError as error:
        mine, code = None, error.code
    if mine is None:
        ours = ("proto/escape", "graph_files/no-ge-graph", "graph_files/no-ge-operators")
        assert theirs is None or code in ours
        return
    assert repr(mine.ops)  # what was let pass is read whole
    if theirs is not None:
        check(mine, theirs)
    else:
        # fields and words of newer versions pass, and the bytes of no character in a name
        newer = ("enum", "AttrGroups", "utf-8", "UTF-8")
        assert mine.unknown_lines or any(word in reason for word in newer)


def entry(number: int, key: bytes, value: bytes) -> bytes:
    return msg(number, msg(1, key) + msg(2, value))


def test_field_numbers_are_those_of_ge():
    desc = b"\x10\x02" + msg(3, msg(1, b"\x02\x08")) + msg(4, b"NCHW") + b"\x50\x40"
    desc += entry(5, b"origin_data_type", msg(2, b"DT_FLOAT"))
    op = msg(1, b"b") + msg(2, b"Relu") + msg(5, b"a:0") + b"\xa8\x01\x07\xb0\x01\x01"
    op += entry(10, b"_no_task", b"\x28\x01") + entry(10, b"i", b"\x18\x05")
    op += entry(10, b"f", b"\x25\x00\x00\x80\x3f") + entry(10, b"bt", msg(7, b"\xff"))
    op += entry(10, b"l", msg(1, msg(2, b"x") + msg(3, b"\x03") + b"\xa0\x01\x01"))
    op += entry(10, b"ll", msg(14, msg(1, msg(1, b"\x01\x02"))))
    op += msg(34, desc) + msg(35, b"sub")
    graph = msg(1, b"g") + msg(6, msg(1, b"a")) + msg(6, op) + msg(5, b"b:0")
    read = parse_ge_model(msg(1, b"m") + b"\x10\x02" + msg(7, graph))
    assert (read.name, read.attrs["model"]) == ("g", {"name": "m", "version": 2})
    assert read.outputs == (Value(1, 0),)
    relu = read.ops[1]
    assert (relu.op_type, relu.inputs) == ("Relu", (Value(0, 0),))
    assert relu.outputs == (TensorSpec("float32", (2, 8), "NCHW"),)
    assert relu.device_outputs == (TensorSpec("float16", (2, 8), "NCHW"),)
    names = ("_no_task", "i", "f", "bt", "l", "ll", "id", "stream_id", "subgraph_name")
    assert [relu.attrs[name] for name in names] == [
        True, 5, 1.0, b"\xff", ("x", 3), ((1, 2),), 7, 1, ("sub",),
    ]  # fmt: skip
    assert relu.attrs["output_desc"][0]["size"] == 64


@pytest.mark.parametrize(
    ("data", "code", "byte"),
    [
        (b"", "graph_files/model-without-graph", 0),
        (b"\xff\xff\xff", "proto/varint", 0),
        (b"\x0a\x05ab", "proto/cut-off", 0),
        (b"\x3a\x02\x0a" * 3, "proto/cut-off", 2),
        (b"\x0a\x01g" + msg(7, msg(6, msg(1, b"a")), b"\x32\x05ab"), "proto/cut-off", 10),
        (msg(7, msg(6, b"\x08\x01")), "proto/field-type", 5),  # the name is a number
        (msg(7, msg(6, msg(10, b"\x12\x01\x18"))), "proto/varint", 9),
    ],
)
def test_bytes_that_are_no_model_are_refused_with_their_byte(data, code, byte):
    with refused(code, FormatError, place=f"m.om: byte {byte}"):
        parse_ge_model(data, "m.om")


def test_what_a_model_may_hold_is_bounded(monkeypatch):
    """Google's library makes objects of 50 bytes of two; the reader as many again."""
    descriptors = msg(7, msg(6, msg(33) * 200_001))
    with refused("proto/fields", FormatError, place="m: byte 600011", limit=200_000):
        parse_ge_model(descriptors, "m")
    monkeypatch.setattr("workbench.graph_files.ge.binary.MAX_ENTRIES", 3)
    with refused("proto/fields", FormatError, limit=3):
        parse_ge_model(msg(7, msg(6) * 4))
    monkeypatch.setattr("workbench.graph_files.ge.binary.MAX_MESSAGES", 3)
    with refused("graph_files/model-messages", FormatError, limit=3):
        parse_ge_model(msg(7, msg(6, msg(33) * 3)))


def test_nesting_without_end_is_refused():
    data = b""
    for _ in range(300):
        data = msg(11, msg(2, msg(13, data)))
    with pytest.raises(FormatError):
        parse_ge_model(msg(7, data))
