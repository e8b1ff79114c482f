"""The reader of GE's graph text: what a graph becomes, every spelling of the text form, broken text."""

from __future__ import annotations

import pickle
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.build.foreign_files import DATA
from kit.words import check_said, refused
from workbench.core.errors import FormatError
from workbench.core.tensors import TensorSpec
from workbench.core.words import Message
from workbench.graph.graph import Const, FreeRef, Value
from workbench.graph_files.ge.schema import OPERATORS
from workbench.graph_files.ge.text import parse_ge_text, read_ge_text
from workbench.proto.text import MAX_DEPTH

TEXT = (DATA / "ge/every_field.txt").read_text()


def compact(text: str) -> str:
    """The same text on one line."""
    return " ".join(text.split())


@pytest.fixture(params=["canonical", "compact"])
def graph(request):
    return parse_ge_text(TEXT if request.param == "canonical" else compact(TEXT), "g.txt")


def test_names_types_and_edges_are_those_of_the_file(graph):
    assert (graph.name, graph.dialect, graph.unknown_lines) == ("ge_default_1", "ge", 0)
    assert [(op.name, op.op_type) for op in graph.ops] == [
        ("data/x", "Data"),
        ("w", "Const"),
        ("net/conv1relu1", "Conv2D"),
        ("Node_Output", "NetOutput"),
    ]
    assert [sub.name for sub in graph.subgraphs] == ["then"]
    nothing = Const(None, "None")
    assert graph.ops[0].inputs == (nothing,)
    assert graph.ops[2].inputs == (Value(0, 0), Value(1, 1), nothing)
    assert graph.outputs == graph.ops[3].inputs == (Value(2, 0),)


def test_tensors_have_a_host_side_and_a_device_side(graph):
    conv = graph.ops[2]
    assert conv.outputs == (TensorSpec("float32", (1, 32, 8, 8), "NCHW"),)
    assert conv.device_outputs == (TensorSpec("float16", (1, 2, 8, 8, 16), "FRACTAL_Z:32"),)
    assert conv.input_specs == (
        TensorSpec("float16", (1, 3, 8, 8), "NC1HWC0"),
        TensorSpec("bfloat16", None, "ND"),
        None,
    )
    assert conv.device_inputs[0] == TensorSpec("float16", (1, 1, 8, 8, 16), "NC1HWC0")
    assert conv.device_inputs[2] == TensorSpec("", (), "FORMAT_RESERVED")
    assert graph.ops[0].outputs == (TensorSpec("int32", (), "ND"),)


def test_attributes_are_python_values(graph):
    attrs = graph.ops[2].attrs
    assert attrs["_datadump_original_op_names"] == ("scale1", "网/relu1")
    assert (attrs["_datadump_is_multiop"], attrs["_fe_imply_type"]) == (False, 6)
    assert attrs["alpha"] == 1e-05
    assert attrs["op_def"] == b'\n\x08Conv"2\xff'
    assert graph.ops[1].attrs["value"] == {
        "desc": {"dtype": "DT_INT8", "shape": (2,)},
        "data": b"\0A",
    }
    assert graph.attrs["GraphOptions"] == {
        "name": "GraphOptions",
        "attr": {"ge.exec.overflow": "1"},
    }
    assert graph.attrs["model"] == {"attr": {"stream_num": 2}}


def test_the_other_fields_stand_behind_the_attributes(graph):
    attrs = graph.ops[2].attrs
    assert attrs["stream_id"] == "mine"
    assert attrs["id"] == 3
    assert attrs["is_input_const"] == (False, True)
    assert attrs["subgraph_name"] == ("then", "else")
    assert attrs["input"][-1] == "data/x:-1"
    assert attrs["output_desc"][0]["size"] == 4128
    assert attrs["output_desc"][0]["attr"]["_datadump_origin_name"] == "relu1"
    assert attrs["output_desc"][0]["attr"]["shape_range"] == ((1, -1), ())
    assert set(attrs) == {*attrs} >= {"alpha", "input_desc"}
    assert len(attrs) == len(dict(attrs)) == 12
    assert attrs.get("name") is None
    assert "type" not in attrs
    assert "attr" not in attrs
    with pytest.raises(KeyError):
        attrs["missing"]
    with pytest.raises(KeyError):
        attrs["output_desc"][0]["missing"]


def test_every_layout_gives_the_same_graph():
    canonical = parse_ge_text(TEXT)
    assert canonical == parse_ge_text(compact(TEXT))
    assert canonical == parse_ge_text(TEXT.replace("\n", "\r\n"))
    assert canonical == parse_ge_text(
        "# dumped by GE\n" + TEXT.replace(" {", ": < # a\n").replace("}", ">;")
    )
    assert canonical == pickle.loads(pickle.dumps(canonical))
    assert repr(canonical.ops[2].attrs) == repr(dict(canonical.ops[2].attrs))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("i: 0x1F", 31),
        ("i: 017", 15),
        ("i: -0", 0),
        ("i: -9223372036854775808", -(1 << 63)),
        ("i: 3;", 3),
        ("f: 1.5f", 1.5),
        ("f: -0", -0.0),
        ("f: -inf", float("-inf")),
        ("f: Infinity", float("inf")),
        ("f: 1e400", float("inf")),
        ("f: .5", 0.5),
        ("f: 3", 3.0),
        ("b: t,", True),
        ("b: 0", False),
        ("b: False", False),
        ("s: 'it\\'s'", "it's"),
        ('s: "a" \'b\' # "c"\n "d"', "abd"),
        (r's: "\x41\101\a\u00e9\U0001F600"', "AA\aé😀"),
        (r's: "\?\07"', "?\7"),
        ('s: "网络"', "网络"),
        (r's: "\xff"', b"\xff"),
        ('bt: "A"', b"A"),
        ("dt: 3", 3),
        ("list { i: [1, 2] i: 3 i: [] }", (1, 2, 3)),
        ("list { s: ['a', \"b\" 'c'] }", ("a", "bc")),
        ("list { f: [nan] }", (pytest.approx(float("nan"), nan_ok=True),)),
        ("list { val_type: 1 }", ()),
        ("list: { val_type: VT_LIST_NEW }", ()),
        ("list { td: [{ dtype: 3 }, < dtype: DT_NEW >] }", ({"dtype": "DT_INT8"}, {"dtype": "DT_NEW"})),
        ("td { dtype: 4711 attr: [{ key: 'k' value { i: 1 } }] }", {"dtype": 4711, "attr": {"k": 1}}),
        ("td { attr { key: 'k' } attr { value { i: 1 } } }", {"attr": {"k": None, "": 1}}),
        ("list_list_float { list_list_f { list_f: 0.1 } }", ((0.1,),)),
        ("func { attr { key: 'k' value { i: 1 } } attr { key: 'k' value { i: 2 } } }", {"attr": {"k": 2}}),
        ("g { name: 'inner' op { name: 'x' } }", {"name": "inner", "op": ({"name": "x"},)}),
        ("", None),
    ],
)  # fmt: skip
def test_every_spelling_of_a_value_is_read(text, value):
    graph = parse_ge_text(f"graph {{ op {{ attr {{ key: 'k' value {{ {text} }} }} }} }}")
    assert graph.ops[0].attrs["k"] == value
    assert type(graph.ops[0].attrs["k"]) is type(value)
    assert graph.unknown_lines == 0


def test_operators_in_ge_s_layout_take_the_quick_way():
    places = [found.end() - 4 for found in re.finditer(r"^  op \{", TEXT, re.MULTILINE)]
    assert len(places) == 4
    for start in places:
        block, end = OPERATORS.read(TEXT, start)
        assert block["name"] in TEXT[start:end]
        assert TEXT[end - 5 : end] == "\n  }\n"
        assert OPERATORS.read(TEXT.replace("type:", "type :"), start) is None


def test_a_name_that_is_no_text_stays_readable_and_distinct():
    graph = parse_ge_text(r'graph { op { name: "a\377" } op { name: "b" input: "a\377:0" } }')
    assert graph.ops[0].name == r"a\xff"
    assert graph.ops[1].inputs == (Value(0, 0),)


def test_the_layout_of_ge_is_no_excuse_for_a_wrong_name():
    raw = TEXT.replace("net/conv1relu1", "网络/conv").replace("data/x", r"\345\215\267/x\'y")
    graph = parse_ge_text(raw)
    assert [op.name for op in graph.ops] == ["卷/x'y", "w", "网络/conv", "Node_Output"]
    assert graph.ops[2].inputs[0] == Value(0, 0)
    assert graph.outputs == (Value(2, 0),)


def test_producers_that_the_graph_does_not_hold_are_free():
    graph = parse_ge_text('graph { op { name: "a" input: "b:0" input: "a:b:2" input: "c" } }')
    assert graph.ops[0].inputs == (FreeRef("", "b:0"), FreeRef("", "a:b:2"), FreeRef("", "c"))
    assert graph.unknown_lines == 1


def test_graph_outputs_come_first_where_the_file_has_them():
    text = compact(TEXT).replace(
        'name: "ge_default_1"', 'name: "g" output: "w:0" output: "data/x:0"'
    )
    assert parse_ge_text(text).outputs == (Value(1, 0), Value(0, 0))


def test_level_three_has_edges_and_nothing_else():
    text = '  op {\n    name: "a"\n    type: "Relu"\n    input: "a:-1"\n    id: 1\n  }\n'
    op = parse_ge_text(f"graph {{\n{text}}}\n").ops[0]
    assert (op.inputs, op.outputs, dict(op.attrs)) == ((), (), {"input": ("a:-1",), "id": 1})


def test_new_fields_are_left_out_and_counted():
    new = "    future {\n      x: [1, {}]\n      [a.b/c]: 'text'\n      12: -1.5\n    }\n    more: A\n"
    graph = parse_ge_text(TEXT.replace('    type: "Conv2D"\n', '    type: "Conv2D"\n' + new))
    assert graph.unknown_lines == 6
    assert graph == parse_ge_text(TEXT)


def test_attribute_groups_are_known():
    groups = '    attr_groups {\n      attr_group_def {\n        a { s: "x" }\n      }\n    }\n'
    graph = parse_ge_text(TEXT.replace("    id: 3\n", groups + "    id: 3\n"))
    assert graph.unknown_lines == 0
    assert graph.ops[2].attrs["attr_groups"] == {}


def test_graph_attributes_win_over_nothing_the_model_does_not_say():
    assert parse_ge_text("graph { op { } }").attrs == {}
    assert parse_ge_text('name: "m" version: 1 graph { op { } }').attrs == {
        "model": {"name": "m", "version": 1}
    }


# ---------------------------------------------------------------- files


@pytest.mark.parametrize(
    ("name", "graph_id"),
    [
        ("ge_proto_00292_Build.txt", 0),
        ("ge_proto_00000094_graph_11_Build.txt", 11),
        ("ge_proto_00000094_graph_Build.txt", 0),
        ("any.txt", 0),
    ],
)
def test_a_file_tells_its_graph_id(tmp_path, name, graph_id):
    path = tmp_path / name
    path.write_text("\ufeff" + TEXT, encoding="utf-8", newline="\r\n")
    graph = read_ge_text(path)
    assert (graph.graph_id, graph.path) == (graph_id, str(path))
    assert graph.ops == parse_ge_text(TEXT).ops


def test_bytes_that_are_no_text_do_not_stop_the_reading(tmp_path):
    path = tmp_path / "g.txt"
    path.write_bytes(TEXT.replace("data/x", "d").encode().replace(b'"scale1"', b'"sc\xc4le"'))
    conv = read_ge_text(path).ops[2]
    assert conv.attrs["_datadump_original_op_names"][0] == b"sc\xc4le"
    path.write_bytes(b'graph { op { name: "\xc4" } }')
    assert read_ge_text(path).ops[0].name == r"\xc4"


def test_a_file_that_is_too_large_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("workbench.graph_files.ge.text.MAX_BYTES", 10)
    path = tmp_path / "g.txt"
    path.write_text(TEXT, encoding="utf-8")
    with refused("core/too-large", FormatError, limit=10):
        read_ge_text(path)


# ---------------------------------------------------------------- broken text


def error_of(text: str) -> FormatError:
    with pytest.raises(FormatError) as caught:
        parse_ge_text(text, "g.txt")
    return caught.value


def wrong(name: str, kind: str, got: str) -> tuple[str, dict]:
    return "proto/value-kind", {"name": name, "expected": Message(f"proto/{kind}"), "got": got}


BROKEN = {
    "wrong number": ("        i: 6\n", "        i: six\n", *wrong("i", "int64", "six")),
    "number too large": ("        i: 6\n", "        i: 9223372036854775808\n", *wrong("i", "int64", str(1 << 63))),
    "octal eight": ("        i: 6\n", "        i: 08\n", *wrong("i", "int64", "08")),
    "text for a number": ("        i: 6\n", '        i: "6"\n', *wrong("i", "int64", '"6"')),
    "block for a number": ("        i: 6\n", "        i { }\n", "proto/no-colon", {"name": "i"}),
    "number as a block": ("        i: 6\n", "        i: { }\n", *wrong("i", "int64", "{")),
    "number for text": ('s: "scale1"', "s: 1", *wrong("s", "string", "1")),
    "wrong bool": ("b: false\n", "b: no\n", *wrong("b", "bool", "no")),
    "wrong float": ("f: 1e-05", "f: 1e", *wrong("f", "float", "1e")),
    "float in octal": ("f: 1e-05", "f: 010", *wrong("f", "float", "010")),
    "no value": ("        i: 6\n", "        i:\n", "proto/no-value", {"name": "i"}),
    "no colon": ("        i: 6\n", "        i 6\n", "proto/no-colon", {"name": "i"}),
    "open string": ('    type: "Conv2D"\n', "    type: 'Conv2D\n", "proto/string-open", {"name": "type"}),
    "line break in a string": ('s: "scale1"', 's: "scale\n1"', "proto/string-open", {"name": "s"}),
    "wrong escape": ('s: "scale1"', r's: "\q"', "proto/escape", {"name": "s", "got": r"\q"}),
    "octal beyond a byte": ('s: "scale1"', r's: "\777"', "proto/escape", {"got": r"\777"}),
    "half a character": ('s: "scale1"', r's: "\ud800"', "proto/escape", {"got": r"\ud800"}),
    "block as a scalar": ("  shape {\n", "  shape: 1\n", *wrong("shape", "block", "1")),
    "list of one value": ("        i: 6\n", "        i: [6]\n", *wrong("i", "int64", "[")),
    "list without end": ('s: "scale1"', 's: ["scale1"', "proto/list-open", {"name": "s"}),
    "list with a hole": ('s: "scale1"', 's: ["a",]', "proto/item", {"name": "s", "expected": Message("proto/string")}),
    "list of blocks": ('s: "scale1"', "s: [{}]", "proto/item", {"name": "s", "expected": Message("proto/string")}),
    "wrong bracket": ("        i: 6\n      }\n", "        i: 6\n      >\n", "proto/close", {"got": ">"}),
    "one bracket too few": ("        i: 6\n      }\n", "        i: 6\n", "proto/block-open", {"expected": "}"}),
    "one bracket too many": ("        i: 6\n      }\n", "        i: 6\n      }}\n", "proto/close-without-block", {}),
    "two values": ("        i: 6\n", "        i: 6\n        b: true\n", "proto/field-repeated", {"name": "b"}),
    "two names": ('    type: "Conv2D"\n', '    name: "again"\n', "proto/field-repeated", {"name": "name"}),
    "two keys": ('      key: "alpha"\n', '      key: "a"\n      key: "b"\n', "proto/field-repeated", {"name": "key"}),
    "stray text": ("    id: 3\n", "    id: 3\n    %$\n", "proto/no-field", {}),
    "separator alone": ("    id: 3\n", "    id: 3;;\n", "proto/no-field", {}),
    "two separators": ("        f: 1e-05\n      }\n", "      };,\n", "proto/no-field", {}),
    "a name alone": ("    id: 3\n", "    id: 3\n    idle\n", "proto/no-colon", {"name": "idle"}),
    "list of nothing known": ("    id: 3\n", "    new: [1 2]\n", "proto/list-open", {"name": "new"}),
    "list of nothing": ("    id: 3\n", "    new: [,]\n", "proto/item", {"expected": Message("proto/value")}),
    "unknown without colon": ("    id: 3\n", "    new 3\n", "proto/no-colon", {"name": "new"}),
    "unsigned version": ('graph {\n  name: "ge', 'version: -1 graph {\n  name: "ge', *wrong("version", "uint32", "-1")),
    "number for a word": ("dtype: DT_FLOAT16", 'dtype: "x"', *wrong("dtype", "word", '"x"')),
}  # fmt: skip


@pytest.mark.parametrize("case", BROKEN)
@pytest.mark.parametrize("layout", [str, compact])
def test_broken_text_is_refused_with_its_place(case, layout):
    old, new, code, values = BROKEN[case]
    text = TEXT.replace(old, new, 1)
    assert text != TEXT
    if layout is compact and case == "line break in a string":
        return
    error = error_of(layout(text))
    check_said(error, code, **values)
    path, line = error.place.split(":")
    shown, caret = error.values["excerpt"].split("\n")
    assert path == "g.txt"
    assert caret.strip() == "^"
    assert shown in layout(text).split("\n")[int(line) - 1]
    assert len(caret) <= len(shown) + 1


def test_the_caret_stands_under_the_error():
    error = error_of("graph {\n  op {\n\tid: 3 type: x\n  }\n}\n")
    assert error.values["excerpt"] == "?id: 3 type: x\n             ^"
    first, *excerpt = str(error).split("\n")
    assert first.startswith("g.txt:3: ")
    assert excerpt == error.values["excerpt"].split("\n")


@pytest.mark.parametrize(
    ("text", "code", "values"),
    [
        ("", "graph_files/no-ge-graph", {}),
        ("# nothing\n", "graph_files/no-ge-graph", {}),
        ('name: "m"\n', "graph_files/no-ge-graph", {}),
        ("#IR entry : @g\nsubgraph @g() {\n}\n", "proto/no-value", {"name": "subgraph", "got": "@g() {"}),
        ('{"graph": []}', "proto/no-field", {}),
        ('ir_version: 3\ngraph {\n  node {\n    op_type: "x"\n  }\n}\n', "graph_files/no-ge-operators", {}),
        ("graph {\n  op {\n", "proto/block-open", {"line": 2, "expected": "}"}),
    ],
)  # fmt: skip
def test_text_that_is_no_graph_says_so(text, code, values):
    check_said(error_of(text), code, **values)


@pytest.mark.parametrize("opening", ["a {", "graph { op { attr { value { g {", "a: [{", "a <"])
def test_nesting_has_a_bound(opening):
    check_said(error_of(opening * 100_000), "proto/blocks-deep", most=MAX_DEPTH)


def test_nesting_within_the_bound_is_read():
    deep = "graph { op { " + "a { " * (MAX_DEPTH - 2) + "} " * (MAX_DEPTH - 2) + "} }"
    assert len(parse_ge_text(deep).ops) == 1


@given(st.integers(0, len(TEXT) - 1), st.booleans())
def test_text_that_is_cut_off_never_passes(length, one_line):
    text = (compact(TEXT) if one_line else TEXT)[:length]
    try:
        graph = parse_ge_text(text)
    except FormatError:
        return
    assert text.rstrip().endswith("}")
    assert text.count("{") == text.count("}")
    assert graph.ops == parse_ge_text(TEXT).ops
