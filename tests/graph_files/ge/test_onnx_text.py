"""GE's graph as text of ONNX: what onnx's own parser makes of it, and what is refused."""

from __future__ import annotations

import pytest
from google.protobuf import text_format

from kit.build.graph_files import ge_onnx
from kit.words import refused
from workbench.core.errors import FormatError
from workbench.graph.graph import FreeRef, Value
from workbench.graph_files.ge.onnx_text import parse_ge_onnx


def node(name: str, *inputs: str, attributes: str = "") -> str:
    return (
        f'node {{ name: "{name}" op_type: "ge:T" '
        + "".join(f'input: "{edge}" ' for edge in inputs)
        + attributes
        + "} "
    )


def attribute(name: str, value: str) -> str:
    return f'attribute {{ name: "{name}" {value} }} '


VALUES = {
    "a number": ("i: 3 type: INT", 3),
    "0, which is left out": ("type: INT", 0),
    "a fraction": ("f: 0.1 type: FLOAT", 0.1),
    "a text": ('s: "a" type: STRING', "a"),
    "no text": ("type: STRING", ""),
    "numbers": ("ints: [1, 2] type: INTS", (1, 2)),
    "no numbers": ("type: INTS", ()),
    "texts": ('strings: "a" strings: "b" type: STRINGS', ("a", "b")),
    "fractions": ("floats: 1 type: FLOATS", (1.0,)),
    "a tensor": ('t { dims: 1 raw_data: "x" } type: TENSOR', None),
}


@pytest.mark.parametrize("case", VALUES)
def test_an_attribute_has_the_value_of_its_type(case):
    text, value = VALUES[case]
    graph = parse_ge_onnx(f"graph {{ {node('a', attributes=attribute('k', text))} }}")
    assert graph.ops[0].attrs.get("k") == value
    assert graph.unknown_lines == 0


def test_edges_are_those_of_ge():
    nodes = node("a") + node("b", "a:0", "a:-1", "", "gone:1")
    graph = parse_ge_onnx(f"graph {{ {nodes} }}")
    a, unconnected, gone = graph.ops[1].inputs
    assert (a, unconnected.dtype, gone) == (Value(0), "None", FreeRef("", "gone:1"))


def test_graphs_inside_nodes_are_subgraphs():
    inner = f'g {{ name: "inner" {node("c")} }} type: GRAPH'
    two = f'graphs {{ name: "two" {node("d", attributes=attribute("e", inner))} }}'
    both = f'graphs {{ name: "one" }} {two} type: GRAPHS'
    graph = parse_ge_onnx(f'graph {{ name: "g" {node("a", attributes=attribute("then", both))} }}')
    assert [one.name for one in graph.subgraphs] == ["one", "two", "inner"]
    assert graph.ops[0].attrs["subgraph_name"] == ("one", "two")


def test_onnx_reads_the_same_text():
    onnx = pytest.importorskip("onnx")
    text = ge_onnx().decode()
    theirs = text_format.Parse(text, onnx.ModelProto())
    mine = parse_ge_onnx(text)
    assert [(op.name, f"ge:{op.op_type}") for op in mine.ops] == [
        (one.name, one.op_type) for one in theirs.graph.node
    ]
    for op, one in zip(mine.ops, theirs.graph.node, strict=True):
        stated = {row.name: onnx.helper.get_attribute_value(row) for row in one.attribute}
        assert op.attrs["alpha"] == stated["alpha"]
        assert op.attrs["output_desc"][0]["shape"] == tuple(stated["output_desc_shape:0"])


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ('producer_name: "GE"', "graph_files/no-onnx-graph"),
        ("graph { node { name: 3 } }", "proto/value-kind"),
        ("graph { node {", "proto/block-open"),
    ],
)
def test_what_is_no_graph_is_refused_with_its_line(text, code):
    with refused(code, FormatError, place="g:1"):
        parse_ge_onnx(text, "g")


def test_unknown_lines_are_counted():
    assert parse_ge_onnx(f"graph {{ new: 1\n {node('a')} }}\nnewer: 2").unknown_lines == 2
