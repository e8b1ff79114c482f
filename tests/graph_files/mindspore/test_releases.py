"""IR text of every MindSpore version (`old_ir`): the same graph, and which version it was."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.build.foreign_files import FRAMES, SPELLED, V1_5, old_file
from workbench.core.tensors import TensorSpec
from workbench.graph.graph import Const, FreeRef, Param, Parameter, SourceFrame, Value
from workbench.graph_files.mindspore.releases import (
    CURRENT,
    MARKS,
    VERSIONS,
    dialect_of,
    inner_frame_first,
)
from workbench.graph_files.mindspore.text import parse_ms_text

SAID = {
    "1.0": "1.0-1.1", "1.1": "1.0-1.1", "1.2": "1.2", "1.3": "1.3", "1.5": "1.5", "1.6": "1.6", "1.7": "1.7-1.8",
    "1.8": "1.8", "1.9": "1.9-1.10", "1.10": "1.9-1.10", "2.0": "2.0-2.1", "2.1": "2.0-2.1", "2.2": "2.2",
}  # fmt: skip


@pytest.mark.parametrize("version", VERSIONS)
def test_every_version_gives_the_same_graph(version):
    graph = parse_ms_text(old_file(SPELLED[version]), "x.ir")
    assert graph.unknown_lines == 0
    assert graph.name == "kernel_graph_1"
    keyed = "fc.weight" if "ref_key" in SPELLED[version].weight else ""
    f32 = TensorSpec("float32", (2, 4))
    assert graph.parameters == (
        Parameter("x", TensorSpec("float32", (2, 3))),
        Parameter("fc.weight", TensorSpec("float32", (4, 3)), True, keyed),
    )
    matmul, cast = graph.ops
    assert (matmul.op_type, matmul.name) == ("MatMul", "Default/fc-Dense/MatMul-op3")
    assert matmul.inputs == (Param(0), Param(1))
    assert matmul.attrs == {
        "input_names": ("x1", "x2"),
        "transpose_b": True,
        "eps": 0.5,
        "pad_mode": "same",
    }
    assert matmul.outputs == (f32,)
    assert matmul.input_specs == (TensorSpec("float32", (2, 3)), TensorSpec("float32", (4, 3)))
    assert matmul.device_inputs == matmul.input_specs
    assert matmul.device_outputs == (TensorSpec("float32", (1, 1, 16, 16), "FRACTAL_NZ"),)
    assert [(f.file, f.line) for f in matmul.frames] == list(FRAMES)
    assert matmul.frame == replace(matmul.frames[1], file="/w/net.py", line=12)
    assert (cast.inputs, cast.outputs) == ((Value(0),), (TensorSpec("float16", (2, 4)),))
    assert graph.outputs == (Value(1),)


@pytest.mark.parametrize("version", VERSIONS)
def test_the_dialect_names_the_versions_that_spell_so(version):
    graph = parse_ms_text(old_file(SPELLED[version]), "x.ir")
    assert graph.dialect == (f"{CURRENT} {SAID[version]}" if version in SAID else CURRENT)
    assert inner_frame_first(graph.dialect) is not SPELLED[version].inward


@pytest.mark.parametrize("version", [v for v in VERSIONS if v in SAID])
def test_the_dialect_is_known_without_the_header(version):
    """Somebody cut the graph out of its file; the versions that only the header tells apart are one range."""
    first, _, last = (
        dialect_of(old_file(SPELLED[version], header=False))
        .removeprefix("mindspore ")
        .partition("-")
    )
    span = VERSIONS.index(first), VERSIONS.index(last or first)
    assert span[0] <= VERSIONS.index(version) <= span[1]


def test_of_two_spellings_that_contradict_each_other_the_header_counts():
    text = old_file(V1_5).replace("In file /w/net.py(12)/", "In file /w/net.py:12, 4~20/")
    assert dialect_of(text) == "mindspore 1.5"


ALONE = {
    "#Total subgraph : 3": "1.0-1.10",
    "#IR entry      : @g": "1.0-2.0",
    "# IR entry: @g": "2.0-",
    "%para1 = x : <Int64>": "1.0-1.2",
    "%para1_x : <Int64>": "1.3-2.2",
    "%para1_x: <Int64>": "2.3-",
    "      : (<Tensor[Float32]x[const vector]>)": "1.0-1.3",
    "      : (<Tensor[Float32]x(2, 3)>)": "1.3-1.5",
    "      : (<Tensor[Float32], (2, 3)>)": "1.5-",
    "  %0(y) = Op(%1) {group: 1}": "1.0-1.1",
    "  %0(y) = Op(%1) primitive_attrs: {group: 1}": "1.2-",
    "  %0(y) = Op(%1) cnode_primal_attrs: {unique_id: 7}": "1.3-",
    "  %0(y) = Op(%1) { strategy: ((1, 1)) }": "1.0-1.5",
    "  %0(y) = Op(%1) {in_strategy: ((1, 1))}": "1.6-",
    "      : (<Tuple[Int64], sequence_nodes={}>)": "1.6-",
    "      : (<Int64, value=...>)": "1.6-",
    "      : (<Ref[Tensor(F32)], ref_key=:w>)": "1.7-2.2",
    "      : (<Ref[Tensor(F32)], ref_key=w>)": "2.3-",
    "      : (Default/net/Op-op1)": "1.0-1.6",
    "      # fullname_with_scope: (Op-op1)": "1.7-2.0",
    "      # scope: (Default)": "1.7-2.0",
    "      # Fullname with scope: (Op-op1)": "2.0-",
    "      # Scope: (Default)": "2.0-",
    "      # In file /w/net.py(12)/        y = f(x)/": "1.0-1.8",
    "      # In file /w/net.py:12/        y = f(x)/": "1.9-2.2",
    "      # In file /w/net.py:12, 4~20/        y = f(x)/": "2.3-",
    "      # In file /w/net.py:12~13, 4~20/        y = f(x)/": "2.3-",
    "subgraph instance: g : 0x55afbafbbcd0": "1.8-",
    "subgraph @b parent: [subgraph @a]() {": "2.0-",
    "indirect: 1": "2.2-",
    "<Int64>  :  has_default": "1.9-",
    "<Int64>  :  IsWeight:true": "1.0-1.8",
    "<Int64>  :  IsWeight: true": "1.9-",
    "<Float32xDefaultFormat[const vector][2]>": "1.0-2.1",
    "<Float32xDefaultFormat[const vector]{2}>": "2.2-",
    "  %0(y) = Op(%1, Bool(1))": "2.1-",
}
"""Lines that say something for themselves, and the first and last version that wrote them, if it was not the last."""

BESIDE = {"2.1": ("%para1_x : <Int64>", "2.2"), "2.2": ("%para1_x : <Int64>", "2.2")}
EARLIER = ("#IR entry      : @g", "2.0")


def span_of(text):
    """First and last version that a text may be of; none for the newest ones."""
    first, _, last = dialect_of(text).removeprefix(CURRENT).strip().partition("-")
    return first, last or first


@pytest.mark.parametrize("line", [line for line, span in ALONE.items() if span[-1] != "-"])
def test_a_spelling_that_was_given_up_tells_the_versions_that_have_it(line):
    assert span_of(line) == tuple(ALONE[line].split("-"))


@pytest.mark.parametrize("line", [line for line, span in ALONE.items() if span[-1] == "-"])
def test_a_spelling_that_stayed_tells_the_versions_before_it_apart(line):
    """It shows beside a line that newer versions do not write; what 2.3 brought counts more than such a line."""
    first = ALONE[line].strip("-")
    if first == "2.3":
        assert dialect_of(f"{line}\n<Int64>  :  IsWeight:true\n") == CURRENT
        return
    beside, last = BESIDE.get(first, EARLIER)
    assert span_of(f"{beside}\n{line}\n") == (first, last)


def test_every_mark_has_versions_in_order():
    assert all(0 <= mark.first <= mark.last < len(VERSIONS) for mark in MARKS)
    for mark in MARKS:  # a spelling that all versions have says nothing
        assert (mark.first, mark.last) != (0, len(VERSIONS) - 1)


@given(st.text(alphabet="#%para12_ :<>[](){}Tensorx,IRentyInfile/.\n", max_size=400))
def test_any_text_has_a_dialect(text):
    assert re.fullmatch(r"mindspore(?: [\d.]+(?:-[\d.]+)?)?", dialect_of(text))


def test_long_lines_do_not_slow_the_dialect_down():
    text = "#IR entry      : @g\n%para1_" + "x" * 500_000 + "\nsubgraph @g() {\n" + "(" * 500_000
    assert dialect_of(text + "In file " + "a" * 500_000) == "mindspore 1.0-2.0"


# Lines that only some versions or some files have.

SEED = """\
{blank}%20(equivoutput) = Conv2D(%17, %19) {{instance name: conv2d}} primitive_attrs: {{group: 1, input_names: [
x, w],    pad_mod: same, stride:
(1, 1, 1, 1), compile_info: , visited: true}}
{more}: (<Tensor[Float32], (2, 16, 5, 5)>, <Tensor[Float32], (8, 16, 3, 3)>) -> (<Tensor[Float32], (2, 8, 5, 5)>)
{more}: (<Float16xNC1HWC0[const vector][2, 1, 5, 5, 16]>, <Float16xFracZ[const vector][9, 1, 16, 16]>) -> (<Float32>)
{more}: full_name_with_scope: (Default/conv3-Conv2d/Conv2D-op12)
{more}# In file ./net.py(175)/        x = self.conv3(x)/
"""


@pytest.mark.parametrize(
    ("blank", "more"), [("  ", "      "), ("  ", "       "), ("", "    "), ("", "")]
)
def test_a_node_is_read_however_far_its_lines_are_indented(blank, more):
    """Documents move the lines of a node, and break them inside its attributes."""
    graph = parse_ms_text("subgraph @g() {\n" + SEED.format(blank=blank, more=more) + "}\n")
    (conv,) = graph.ops
    assert (conv.name, graph.unknown_lines) == ("Default/conv3-Conv2d/Conv2D-op12", 0)
    assert conv.inputs == (FreeRef("", "%17"), FreeRef("", "%19"))
    assert conv.attrs == {
        "group": 1,
        "input_names": ("x", "w"),
        "pad_mod": "same",
        "stride": (1, 1, 1, 1),
        "compile_info": "",
        "visited": True,
    }
    assert conv.device_inputs[1] == TensorSpec("float16", (9, 1, 16, 16), "FracZ")
    assert conv.frames == (SourceFrame("./net.py", 175, "        x = self.conv3(x)"),)


def nodes(*lines: str, params: str = ""):
    body = "\n".join(lines)
    return parse_ms_text(
        f"#IR entry      : @g\n{params}\n#Total subgraph : 1\n\nsubgraph @g() {{\n{body}\n}}\n"
    )


def test_tracebacks_of_fused_operators_are_turned_one_by_one():
    graph = nodes(
        "  %0(y) = Fused(%1)",
        "      # Corresponding code candidate:",
        "      #  - In file /w/b.py(2)/b/",
        "      #    In file /w/a.py(1)/a/",
        "      #  - In file /w/d.py(4)/d/",
        "      #    In file /w/c.py(3)/c/",
        "      # Corresponding forward node candidate:",
        "      #  - In file /w/f.py(6)/f/",
        "      #    In file /w/e.py(5)/e/",
    )
    frames = graph.ops[0].frames
    assert [f.line for f in frames] == [1, 2, 3, 4, 5, 6]
    assert [f.group for f in frames] == ["candidate"] * 4 + ["forward"] * 2
    assert graph.unknown_lines == 0


@pytest.mark.parametrize(
    ("kind", "specs"),
    [
        ("<Tensor[Float32]x[const vector][2, 3]>", [("float32", (2, 3))]),
        ("<Tensor[Float32]x[const vector][]>", [("float32", ())]),
        ("<Tensor[Float16]x(4, 5)>", [("float16", (4, 5))]),
        ("<Ref[Tensor(F32)]x[const vector][6]>", [("float32", (6,))]),
        ("<Ref[Tensor(I32)], (), ref_key=:step>", [("int32", ())]),
        ("<Ref[Tensor(BF16)], (1)>", [("bfloat16", (1,))]),
        ("<Tuple[Tensor[Float16],Tensor[Float32]*2]>", [("float16", None), ("float32", None), ("float32", None)]),
        ("<UMonad>", [("UMonad", ())]),
        (
            "<Tuple[Tensor[Int64]*2], sequence_nodes={node={ValueNode<ValueTuple> (0, 0), elements_use_flags: "
            "{ptr: 0x560e8fef5fa0, value: [const vector][1, 1]}}, node={<freed node>}}>",
            [("int64", None), ("int64", None)],
        ),
    ],
)  # fmt: skip
def test_old_host_types_are_read(kind, specs):
    (op,) = nodes("  %0(y) = Op(%9)", f"      : ({kind}) -> ({kind})").ops
    assert [(spec.dtype, spec.shape) for spec in op.outputs] == specs


def test_a_monad_without_a_shape_is_a_monad():
    (op,) = nodes("  %0(y) = Op(%9)", "      : (<UMonad>) -> (<Tensor[Float32], (2)>)").ops
    assert op.input_specs == (None,)


def test_attributes_without_a_label_may_begin_with_the_input_names():
    (op,) = nodes(
        "  %0(y) = Op(%9) {instance name: op} {input_names: [x, w], a: 1} { strategy: ((1, 1)) }"
    ).ops
    assert op.attrs == {"input_names": ("x", "w"), "a": 1}


def test_values_of_other_graphs_have_had_two_spellings():
    graph = nodes("  %0(y) = Op($(@main.3:para4_w), $(main.3:[CNode]7), %para_w, %arg)")
    assert graph.ops[0].inputs[:2] == (FreeRef("main.3", "para4_w"), FreeRef("main.3", "[CNode]7"))
    assert all(isinstance(operand, FreeRef | Const) for operand in graph.ops[0].inputs[2:])


def test_flags_and_unnamed_nodes_are_read():
    text = (
        "#IR entry      : @g.1\n#flags         :\nkeep : 1\n#Total params  : 0\n\n#Total subgraph : 1\n\n"
        "subgraph flag:\nkeep : 1\nswitch_input: 1\nsubgraph @g.1(%arg) {\n  %0 = Op()\n  return(%0)\n      : (5)\n}\n"
    )
    graph = parse_ms_text(text)
    assert (graph.name, graph.outputs, graph.unknown_lines) == ("g.1", (Value(0),), 0)


def test_a_call_has_only_a_number_for_a_name():
    assert nodes("  %0(y) = call @f.2(%9)", "      : (5)").ops[0].name == "5"


@pytest.mark.parametrize(
    ("line", "weight"),
    [
        ("%para1_w : <Ref[Tensor(F32)], (2)>", True),
        ("%para1_w : <Ref[Tensor(F32)], (2)>  :  <X>  :  IsWeight:false", False),
        ("%para1_w : <Tensor[Float32], (2)>  :  <X>  :  IsWeight:true", True),
        ("%para1_w : <Tensor[Float32], (2)>", False),
    ],
)
def test_a_reference_is_a_weight_unless_the_file_says_otherwise(line, weight):
    assert nodes(params=line).parameters[0].is_weight is weight
