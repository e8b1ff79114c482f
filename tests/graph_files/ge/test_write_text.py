"""The writer of GE's graph text: protobuf's own parser and printer, and our reader, say the same."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from google.protobuf import text_format
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kit.build.foreign_files import DATA
from kit.build.ge_random import plain, same
from kit.cases import examples
from kit.words import refused
from workbench.core.errors import GraphError
from workbench.graph.graph import Graph, Op
from workbench.graph_files.ge.lower import ge_graph_of
from workbench.graph_files.ge.schema import GE_IR
from workbench.graph_files.ge.text import parse_ge_text
from workbench.graph_files.ge.write_text import quoted, write_ge_text
from workbench.network.models import MODELS, load_graph

SLOW = settings(deadline=None, max_examples=examples(60), suppress_health_check=list(HealthCheck))


def message(text: str):
    return text_format.Parse(text, GE_IR.message_class("ModelDef")())


TEXT = (DATA / "ge/every_field.txt").read_text().partition("\nattr {")[0].replace(
    's: "\\n', 'bt: "\\n'
) + "\n"
"""A graph as C++ prints it: of bytes a writer says that they are bytes, and models have no attributes of their own."""


def test_the_layout_is_that_of_protobufs_printer():
    """Every byte of a text as C++ prints it."""
    assert write_ge_text(parse_ge_text(TEXT)) == TEXT


def test_another_layout_of_the_same_text_gives_the_same_text():
    assert write_ge_text(parse_ge_text(" ".join(TEXT.split()))) == TEXT


def test_level_2_leaves_out_weights():
    graph = parse_ge_text(write_ge_text(parse_ge_text(TEXT), level=2))
    assert "value" not in graph.op("w").attrs
    assert set(parse_ge_text(TEXT).ops[2].attrs) == set(graph.ops[2].attrs)
    assert "GraphOptions" in graph.attrs
    assert [op.inputs for op in graph.ops] == [op.inputs for op in parse_ge_text(TEXT).ops]


def test_level_3_leaves_out_the_options_too():
    graph = parse_ge_text(write_ge_text(parse_ge_text(TEXT), level=3))
    assert set(graph.attrs) == {"mine"}
    assert graph.ops[2].device_outputs == parse_ge_text(TEXT).ops[2].device_outputs


@pytest.mark.parametrize("level", [0, 4, None])
def test_there_are_three_levels(level):
    with refused("core/choice", GraphError, subject="level", got=level, known=(1, 2, 3)):
        write_ge_text(parse_ge_text(TEXT), level=level)


SCALARS = (
    st.booleans(),
    st.integers(-(1 << 63), (1 << 63) - 1),
    st.floats(width=32),
    st.text(st.characters(codec="utf-8"), max_size=6),
    st.binary(max_size=6),
)
VALUES = st.one_of(
    *SCALARS,
    *(st.lists(kind, max_size=3).map(tuple) for kind in SCALARS),
    *(
        st.lists(st.lists(kind, min_size=1, max_size=3).map(tuple), min_size=1, max_size=3).map(
            tuple
        )
        for kind in SCALARS[1:3]
    ),
)
"""What the attributes of an operator of a network may be."""


@settings(deadline=None)
@given(st.dictionaries(st.text(st.characters(codec="utf-8"), max_size=4), VALUES, max_size=4))
def test_an_attribute_is_the_message_that_protobuf_reads(attrs):
    op = Op("a", "Add", attrs=attrs)
    read = message(write_ge_text(Graph("g", ops=(op,)))).graph[0].op[0]
    stated = {key: plain(value) for key, value in read.attr.items()}
    assert same(stated, attrs)
    kinds = {bool: "b", int: "i", float: "f", str: "s", bytes: "bt"}
    for key, value in attrs.items():
        member = read.attr[key].WhichOneof("value")
        deep = isinstance(value, tuple) and value and isinstance(value[0], tuple)
        lists = ("list_list_int", "list_list_float") if deep else ("list",)
        assert member in (lists if isinstance(value, tuple) else (kinds[type(value)],))


@pytest.mark.parametrize(
    ("name", "iterator"), [*((name, False) for name in sorted(MODELS)), ("mlp", True)]
)
def test_a_traced_network_reads_back_and_is_what_protobuf_prints(name, iterator):
    graph = ge_graph_of(load_graph(name), iterator=iterator)
    text = write_ge_text(graph)
    read = parse_ge_text(text)
    assert read == graph
    assert read.unknown_lines == 0
    printed = text_format.MessageToString(message(text))  # Python's protobuf; C++ writes 1, not 1.0
    assert re.sub(r"(: -?\d+)\.0$", r"\1", printed, flags=re.MULTILINE) == text


def test_a_graph_of_another_kind_is_lowered_first():
    graph = load_graph("mlp")
    assert write_ge_text(graph, level=2) == write_ge_text(ge_graph_of(graph), level=2)


def test_an_operator_without_its_definition_is_refused():
    graph = Graph("g", ops=(Op("a", "Add"),), dialect="ge")
    with refused("graph_files/no-opdef", GraphError, got="a"):
        write_ge_text(graph)


@given(st.binary(max_size=20) | st.text(st.characters(codec="utf-8"), max_size=10))
def test_strings_are_read_by_protobuf(value):
    text = f"graph {{ op {{ attr {{ key: 'a' value {{ s: {quoted(value)} }} }} }} }}"
    data = value if isinstance(value, bytes) else value.encode()
    assert message(text).graph[0].op[0].attr["a"].s == data


@given(st.floats(width=32))
def test_floats_are_read_by_protobuf_to_the_bit(value):
    graph = parse_ge_text("graph { op { name: 'a' attr { key: 'f' value { f: 1 } } } }")
    fields = {"name": "a", "attr": {"f": value}}
    op = replace(graph.ops[0], attrs=type(graph.ops[0].attrs)(fields))
    read = message(write_ge_text(replace(graph, ops=(op,)))).graph[0].op[0].attr["f"].f
    assert np.float32(read).tobytes() == np.float32(value).tobytes() or np.isnan(value)
