"""IR text of every MindSpore version: the same graph, and which version it was.

The text is spelled by `old_file` from one row of `SPELLED` a version; the rows are what MindSpore's
``anf_ir_dump.cc`` prints at that tag.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.core.tensors import TensorSpec
from workbench.graph.nodes import Const, FreeRef, Param, Parameter, SourceFrame, Value
from workbench.ir.ms_dialects import CURRENT, MARKS, VERSIONS, dialect_of, innermost_first
from workbench.ir.ms_text import parse_ms_text


class Spelling(NamedTuple):
    """How one version writes; each field is a template or a word."""

    header: str  # {name}, {count}
    parameter: str  # {number}, {name}, {host}, {device}, {weight}
    reference: str  # an operand that is a parameter
    host: str  # {kind}, {shape}
    weight: str  # host type of a weight
    device: str  # {dtype}, {format}, {shape}
    attrs: str  # {attrs}
    parallel: str
    name: str  # {name}
    location: str  # {file}, {line}
    instance: str = ""
    monads: bool = True
    inward: bool = True  # the operator's own line comes last


OLD_HEADER = "#IR entry      : @{name}\n#attrs         :\nflag : 1\n#Total params  : {count}\n\n"
NEW_HEADER = "# IR entry: @{name}\n# Total subgraphs: 1\n\n# Attrs:\nflag: 1\n\n# Total params: {count}\n# Params:\n"
SQUARE, CURLY = (
    "<{dtype}x{format}[const vector][{shape}]>",
    "<{dtype}x{format}[const vector]{{{shape}}}>",
)
OLD = Spelling(
    OLD_HEADER,
    "%para{number} = {name} : {host}  :  {device}  :  IsWeight:{weight}",
    "%para{number}",
    "<{kind}x[const vector][{shape}]>",
    "<Ref[Tensor(F32)]x[const vector][{shape}]>",
    SQUARE,
    " {{{attrs}}}",
    " {{ strategy: ((1, 1), (1, 1)) }}",
    ": ({name})",
    "In file {file}({line})/",
    monads=False,
    inward=False,
)  # fmt: skip
V1_2 = OLD._replace(attrs=" primitive_attrs: {{{attrs}}} cnode_attrs: {{checkpoint: true}}")
V1_3 = V1_2._replace(
    parameter="%para{number}_{name} : {host}  :  {device}  :  IsWeight:{weight}",
    reference="%para{number}_{name}",
    monads=True,
)
V1_5 = V1_3._replace(host="<{kind}, ({shape})>", weight="<Ref[Tensor(F32)], ({shape})>")
V1_6 = V1_5._replace(parallel=" {{in_strategy: ((1, 1), (1, 1)), out_strategy: ((1, 1))}}")
V1_7 = V1_6._replace(
    name="# fullname_with_scope: ({name})",
    weight="<Ref[Tensor(F32)], ({shape}), ref_key=:fc.weight>",
)
V1_8 = V1_7._replace(instance="subgraph instance: {name} : 0x55afbafbbcd0\n")
V1_9 = V1_8._replace(
    parameter="%para{number}_{name} : {host}  :  has_default  :  {device}  :  IsWeight: {weight}",
    location="In file {file}:{line}/",
)
V2_0 = V1_9._replace(
    header=NEW_HEADER,
    name="# Fullname with scope: ({name})",
    weight="<Ref[Tensor[Float32]], ({shape}), ref_key=:fc.weight>",
    inward=True,
)
V2_2 = V2_0._replace(device=CURLY)
V2_3 = V2_2._replace(
    header=NEW_HEADER + "\nNode counting information:\nTotal number of nodes: 7\n\n",
    parameter="%para{number}_{name}: {host}  :  has_default  :  {device}  :  IsWeight: {weight}",
    weight="<Ref[Tensor[Float32]], ({shape}), ref_key=fc.weight, is_parameter>",
    location="In file {file}:{line}, 4~20/",
)
SPELLED = {
    "1.0": OLD, "1.1": OLD, "1.2": V1_2, "1.3": V1_3, "1.5": V1_5, "1.6": V1_6, "1.7": V1_7, "1.8": V1_8,
    "1.9": V1_9, "1.10": V1_9, "2.0": V2_0, "2.1": V2_0, "2.2": V2_2, "2.3": V2_3,
}  # fmt: skip
SAID = {
    "1.0": "1.0-1.1", "1.1": "1.0-1.1", "1.2": "1.2", "1.3": "1.3", "1.5": "1.5", "1.6": "1.6", "1.7": "1.7-1.8",
    "1.8": "1.8", "1.9": "1.9-1.10", "1.10": "1.9-1.10", "2.0": "2.0-2.1", "2.1": "2.0-2.1", "2.2": "2.2",
}  # fmt: skip

FRAMES = (("/w/net.py", 40), ("/w/net.py", 12), ("/v/site-packages/mindspore/nn/layer.py", 7))


def old_file(spelling: Spelling, *, header: bool = True) -> str:
    """A dense layer and its cast as a version spells them."""
    s = spelling

    def tensor(word: str, shape: str) -> str:
        return s.host.format(kind=f"Tensor[{word}]", shape=shape)

    def device(word: str, form: str, shape: str) -> str:
        return s.device.format(dtype=word, format=form, shape=shape)

    def ref(number: int, name: str) -> str:
        return s.reference.format(number=number, name=name)

    def behind(name: str, lines: tuple[tuple[str, int], ...] = ()) -> str:
        text = f"      {s.name.format(name=name)}\n"
        for file, line in lines if s.inward else reversed(lines):
            place = s.location.format(file=file, line=line)
            text += f"      # {place}        y = f(x)/\n"
        return text

    x, w = tensor("Float32", "2, 3"), s.weight.format(shape="4, 3")
    on = device("Float32", "DefaultFormat", "2, 3"), device("Float32", "DefaultFormat", "4, 3")
    out = device("Float32", "FRACTAL_NZ", "1, 1, 16, 16")
    text = s.header.format(name="kernel_graph_1", count=2) if header else ""
    for number, (name, kind, where, weight) in enumerate(
        (("x", x, on[0], "false"), ("fc.weight", w, on[1], "true")), 1
    ):
        text += s.parameter.format(number=number, name=name, host=kind, device=where, weight=weight)
        text += "\n"
    text += "\n#Total subgraph : 1\n\n" if s.header == OLD_HEADER and header else "\n"
    text += "subgraph attr:\nflag : 1\n" + s.instance.format(name="kernel_graph_1")
    text += "subgraph @kernel_graph_1() {\n"
    read = ref(2, "fc.weight")
    number = 0
    if s.monads:
        text += f"  %0([CNode]11) = Load({read}, U)\n      : ({w}, <UMonad>) -> ({tensor('Float32', '4, 3')})\n"
        text += behind("Default/Load-op1")
        read, number = "%0", 1
    group = s.attrs.format(
        attrs="input_names: [x1, x2], transpose_b: true, eps: 0.5, pad_mode: same"
    )
    text += f"  %{number}(equivy) = MatMul({ref(1, 'x')}, {read}) {{instance name: matmul}}{group}"
    text += f"{s.parallel.format()}\n"
    text += f"      : ({x}, {tensor('Float32', '4, 3')}) -> ({tensor('Float32', '2, 4')})\n"
    text += f"      : ({on[0]}, {on[1]}) -> ({out})\n"
    text += behind("Default/fc-Dense/MatMul-op3", FRAMES)
    text += f"  %{number + 1}(y) = Cast(%{number}){s.attrs.format(attrs='dst_type: Float16')}\n"
    text += f"      : ({tensor('Float32', '2, 4')}) -> ({tensor('Float16', '2, 4')})\n"
    text += f"      : ({out}) -> ({device('Float16', 'FRACTAL_NZ', '1, 1, 16, 16')})\n"
    text += behind("Default/fc-Dense/Cast-op4", FRAMES[:1])
    text += f"  Return(%{number + 1})\n      : ({tensor('Float16', '2, 4')})\n"
    return text + behind("Default/Return-op5") + "}\n\n"


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
    assert innermost_first(graph.dialect) is not SPELLED[version].inward


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
