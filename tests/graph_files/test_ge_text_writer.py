"""The writer of GE's graph text: protobuf's own parser and printer, and our reader, say the same."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from google.protobuf import text_format
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kit.build.ge_random import models, plain, same
from kit.cases import examples
from kit.words import refused
from workbench.core.errors import GraphError
from workbench.graph.models import MODELS
from workbench.graph.networks import load_graph
from workbench.graph.nodes import Graph, Op
from workbench.graph_files.ge.lower import ge_graph_of
from workbench.graph_files.ge.schema import GE_IR
from workbench.graph_files.ge.text import parse_ge_text
from workbench.graph_files.ge.write_text import quoted, write_ge_text

SLOW = settings(deadline=None, max_examples=examples(60), suppress_health_check=list(HealthCheck))


def message(text: str):
    return text_format.Parse(text, GE_IR.message_class("ModelDef")())


TEXT = """\
graph {
  name: "ge_default_1"
  op {
    name: "w"
    type: "Const"
    attr {
      key: "value"
      value {
        t {
          desc {
            dtype: DT_INT8
            shape {
              dim: 2
            }
          }
          data: "\\000A"
        }
      }
    }
  }
  op {
    name: "net/\\345\\215\\267/conv"
    type: "Conv2D"
    input: "w:0"
    input: ""
    input: "w:-1"
    attr {
      key: "_datadump_original_op_names"
      value {
        list {
          s: "conv1"
          s: "relu\\'\\"1"
          val_type: VT_LIST_STRING
        }
      }
    }
    attr {
      key: "alpha"
      value {
        f: 0.333333343
      }
    }
    attr {
      key: "func_def"
      value {
        s: "x"
      }
    }
    attr {
      key: "node_def"
      value {
        s: "\\n\\010Conv\\"2\\377"
      }
    }
    attr {
      key: "off"
      value {
        b: false
      }
    }
    attr {
      key: "ranges"
      value {
        list_list_int {
          list_list_i {
            list_i: 1
            list_i: -1
          }
          list_list_i {
          }
        }
      }
    }
    attr {
      key: "zero"
      value {
        i: 0
      }
    }
    id: 1
    is_input_const: true
    is_input_const: false
    input_desc {
      dtype: DT_FLOAT16
      shape {
        dim: 1
        dim: 16
      }
      layout: "NC1HWC0"
      attr {
        key: "origin_format"
        value {
          s: "NCHW"
        }
      }
    }
    output_desc {
      dtype: DT_BF16
      shape {
      }
      layout: "ND"
      size: 32
      device_type: "NPU"
    }
    subgraph_name: "then"
  }
  op {
    name: "Node_Output"
    type: "NetOutput"
    input: "net/\\345\\215\\267/conv:0"
  }
  attr {
    key: "GraphOptions"
    value {
      func {
        name: "GraphOptions"
        attr {
          key: "ge.exec.overflow"
          value {
            s: "1"
          }
        }
      }
    }
  }
  attr {
    key: "mine"
    value {
      f: 3
    }
  }
}
graph {
  name: "then"
}
attr {
  key: "stream_num"
  value {
    i: 2
  }
}
"""


def test_text_of_ge_is_written_as_it_was_read():
    """Every byte: the layout of protobuf's C++ printer."""
    assert write_ge_text(parse_ge_text(TEXT)) == TEXT


def test_another_layout_of_the_same_text_gives_the_same_text():
    assert write_ge_text(parse_ge_text(" ".join(TEXT.split()))) == TEXT


def test_level_2_leaves_out_weights_and_definitions_of_the_framework():
    graph = parse_ge_text(write_ge_text(parse_ge_text(TEXT), level=2))
    assert "value" not in graph.ops[0].attrs
    assert set(parse_ge_text(TEXT).ops[1].attrs) - set(graph.ops[1].attrs) == {
        "node_def",
        "func_def",
    }
    assert "GraphOptions" in graph.attrs
    assert [op.inputs for op in graph.ops] == [op.inputs for op in parse_ge_text(TEXT).ops]


def test_level_3_leaves_out_the_options_too():
    graph = parse_ge_text(write_ge_text(parse_ge_text(TEXT), level=3))
    assert set(graph.attrs) == {"mine", "model"}
    assert graph.ops[1].device_outputs == parse_ge_text(TEXT).ops[1].device_outputs


@pytest.mark.parametrize("level", [0, 4, None])
def test_there_are_three_levels(level):
    with refused("core/choice", GraphError, subject="level", got=level, known=(1, 2, 3)):
        write_ge_text(parse_ge_text(TEXT), level=level)


@SLOW
@given(models())
def test_protobuf_reads_the_message_that_the_graph_was_read_from(model):
    graph = parse_ge_text(text_format.MessageToString(model))
    again = message(write_ge_text(graph))
    assert len(again.graph) == len(model.graph)
    for ours, theirs in zip(again.graph, model.graph, strict=True):
        mine, yours = plain(ours), plain(theirs)
        for lost in ("input", "output", "attr_groups"):  # nobody reads a graph's own inputs
            mine.pop(lost, None)
            yours.pop(lost, None)
        if not yours.get("attr", {}).keys() & {"model"}:
            assert same(told(mine), told(yours))


def test_bytes_in_a_list_keep_their_order():
    """Found by chance: what is no text was written as another kind than what is."""
    for item in ('bt: "" bt: "\\200"', 's: "\\200" s: "a"', 'bt: "\\200" bt: "a"'):
        text = f'graph {{ name: "g" attr {{ key: "k" value {{ list {{ {item} }} }} }} }}'
        graph = parse_ge_text(text)
        assert parse_ge_text(write_ge_text(graph)).attrs["k"] == graph.attrs["k"]


def told(tree):
    """A tree without groups of attributes, whose content nobody reads.

    Lists of several kinds, which GE does not write, keep the order within a kind.
    """
    if hasattr(tree, "items"):
        return {key: told(value) for key, value in tree.items() if key != "attr_groups"}
    if not isinstance(tree, tuple):
        return tree
    return tuple(sorted(map(told, tree), key=lambda item: type(item).__name__))


@SLOW
@given(models())
def test_what_was_written_reads_back(model):
    graph = parse_ge_text(text_format.MessageToString(model))
    text = write_ge_text(graph)
    again = parse_ge_text(text)
    assert write_ge_text(again) == text
    assert [op.inputs for op in again.ops] == [op.inputs for op in graph.ops]
    assert again.outputs == graph.outputs
    assert repr([op.outputs + op.device_inputs for op in again.ops]) == repr(
        [op.outputs + op.device_inputs for op in graph.ops]
    )


@pytest.mark.parametrize("iterator", [False, True])
@pytest.mark.parametrize("name", sorted(MODELS))
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


def test_results_that_no_netoutput_names_are_written():
    text = 'graph {\n  name: "g"\n  output: "a:0"\n  op {\n    name: "a"\n    type: "Add"\n  }\n}\n'
    assert write_ge_text(parse_ge_text(text)) == text


def test_other_graphs_with_an_attribute_called_model_keep_it():
    text = TEXT.replace('key: "mine"', 'key: "model"')
    first = parse_ge_text(text)
    assert parse_ge_text(write_ge_text(replace(first, attrs={"model": 3.0}))).attrs == {
        "model": 3.0
    }


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
