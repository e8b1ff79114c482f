"""The IR reader: MindSpore 2.x dialects, traps included, and text that is broken."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.build.foreign_files import PAIRS, SPELLED, old_file
from kit.words import check_said, refused
from workbench.core.errors import FormatError
from workbench.core.tensors import TensorSpec
from workbench.dump.reader import load
from workbench.graph.graph import Bundle, Const, FreeRef, Param, Value
from workbench.graph_files.formats import read_graph
from workbench.graph_files.mindspore.text import parse_ms_text, read_ms_text
from workbench.graph_files.mindspore.values import (
    parse_const,
    parse_device_type,
    parse_host_type,
    parse_value,
    split_top,
)
from workbench.graph_files.mindspore.write_text import write_ms_text

HEAD = "# IR entry: @g\n# Total params: 1\n# Params:\n"
LONG = "1" * 6000
PARAM = "%para1_x: <Tensor[Float32], (2, 3)>  :  <Float32xDefaultFormat[const vector]{2, 3}>  :  IsWeight: false\n"


def graph_of(*lines: str, params: str = PARAM):
    body = "\n".join(lines)
    return parse_ms_text(f"{HEAD}{params}\nsubgraph @g() {{\n{body}\n}}\n")


@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize("side", ["golden", "target"])
def test_the_operators_are_those_of_the_execution_order(real_pairs, name, side):
    root = getattr(real_pairs[name], side) / "rank_0"
    for ir in root.glob("graphs/*.ir"):
        graph = read_ms_text(ir)
        order = root / f"execution_order/ms_execution_order_graph_{graph.graph_id}.csv"
        names = order.read_text(encoding="utf-8").splitlines()[1:]
        assert sorted(op.name for op in graph.ops) == sorted(names)
        assert graph.unknown_lines == 0


@pytest.mark.parametrize("name", PAIRS)
def test_every_operand_comes_from_an_earlier_operator(real_pairs, name):
    for ir in (real_pairs[name].target / "rank_0/graphs").glob("*.ir"):
        graph = read_ms_text(ir)
        for number, op in enumerate(graph.ops):
            for operand in op.flat_inputs():
                if isinstance(operand, Value):
                    assert operand.op < number
                    assert operand.slot < max(1, len(graph.ops[operand.op].outputs))
                else:
                    assert isinstance(operand, Param | Const | Bundle)


def test_a_source_line_is_read_with_its_columns_and_slashes():
    graph = graph_of(
        "  %0(y) = ReLU(%para1_x) primitive_attrs: {a: I64(1)}",
        "      : (<Tensor[Float32], (2, 3)>) -> (<Tensor[Float32], (2, 3)>)",
        "      # Fullname with scope: (Default/relu-ReLU/ReLU-op0)",
        "      # In file /w/net.py:7~9, 4~30/    def construct(self, x):/",
        '      # In file /w/net.py:8, 12~24/        y = a / b if "x/(y" else c/',
        "      # In file /v/site-packages/mindspore/nn.py:3, 1~2/        return f(x)/",
    )
    frame = graph.ops[0].frame
    assert (frame.file, frame.line, frame.column, frame.column_end) == ("/w/net.py", 8, 12, 24)
    assert frame.code.strip() == 'y = a / b if "x/(y" else c'
    assert graph.ops[0].frames[0].line_end == 9
    assert graph.ops[0].frames[2].library


def test_candidate_and_forward_lines_are_kept_apart():
    graph = graph_of(
        "  %0(y) = ReluGrad(%para1_x)",
        "      # Fullname with scope: (Gradients/Default/ReluGrad-op0)",
        "      # Corresponding code candidate:",
        "      # In file /v/site-packages/m.py:3/        lib()/",
        "      # Corresponding forward node candidate:",
        "      # In file /w/net.py:8/        y = relu(x)/",
    )
    assert [frame.group for frame in graph.ops[0].frames] == ["candidate", "forward"]
    assert graph.ops[0].frame.file == "/w/net.py"


def test_the_2_0_location_without_columns_and_with_inlined_is_read():
    graph = graph_of(
        "  %0([CNode]11) = ReLU(%para1_x)",
        "      # Fullname with scope: (Default/ReLU-op17)",
        "      # inlined:In file /w/net.py:15/        return self.fc1(x)/",
    )
    assert graph.ops[0].frame.line == 15


def test_an_operand_over_several_lines_is_joined():
    graph = graph_of(
        "  %0(CNode_23) = PrimFunc_Select(%para1_x, Tensor(shape=[2, 2], dtype=Float32, value=",
        "[[ 0.0e+00 1.5e+00]",
        " [ 2.0e+00 3.0e+00]])) primitive_attrs: {k: Bool(0)}",
        "      # Fullname with scope: (Default/Select-op0)",
    )
    op = graph.ops[0]
    assert op.op_type == "Select"
    assert op.inputs[1] == Const((0.0, 1.5, 2.0, 3.0), "float32", (2, 2))
    assert op.attrs == {"k": False}


def test_structural_nodes_disappear_and_their_values_point_through():
    graph = graph_of(
        "  %0(a) = Load(%para1_x, UMonad[U])",
        "  %1(b) = Split(%0, I64(2)) primitive_attrs: {axis: I64(1)}",
        "      : (<Tensor[Float32], (2, 3)>, <Int64, NoShape>) -> "
        "(<Tuple[Tensor[Float32]*2], TupleShape((2, 1), (2, 2))>)",
        "      # Fullname with scope: (Default/Split-op0)",
        "  %2(c) = TupleGetItem(%1, I64(1))",
        "  %3(d) = MakeTuple(%2, %0)",
        "      : (Tensor, Tensor) -> (TupleUnfold)",
        "  %4(e) = Concat(%3, I64(0))",
        "      # Fullname with scope: (Default/Concat-op0)",
        "  %5(f) = Depend(%4, %1)",
        "  Return(%5)",
    )
    split, concat = graph.ops
    assert [spec.shape for spec in split.outputs] == [(2, 1), (2, 2)]
    assert list(concat.flat_inputs()) == [Value(0, 1), Param(0), Const(0, "int64", ())]
    assert graph.outputs == (Value(1),)


def test_results_in_tuples_of_tuples_are_all_outputs():
    """A training step returns ``(loss, (gradients, …))``; none of them is unused."""
    graph = graph_of(
        "  %0(a) = ReLU(%para1_x)",
        "  %1(b) = Tanh(%0)",
        "  %2(c) = Exp(%0)",
        "  %3(d) = MakeTuple(%1, %2)",
        "  %4(e) = MakeTuple(%0, %3)",
        "  Return(%4)",
    )
    assert graph.outputs == (Value(0), Value(1), Value(2))


def test_parameters_without_a_name_are_found_by_their_number():
    params = "%para1_: <Tensor[Int32], ()>  :  <Int32xDefaultFormat[const vector]{}>  :  IsWeight: false\n"
    graph = graph_of("  %0(a) = Add(%para1_фi, %para1_Parameter_76)", params=params)
    assert graph.ops[0].inputs == (Param(0), Param(0))


@pytest.mark.parametrize("name", ["enc/layer.0:weight", "w with space-1", "größe.γ"])
def test_parameter_names_with_odd_characters_are_kept(name):
    kind = f"<Ref[Tensor[Float32]], (3), ref_key={name}, is_parameter>"
    params = f"%para1_{name}: {kind}  :  has_default  :  <X>  :  IsWeight: true\n"
    (parameter,) = graph_of(params=params).parameters
    assert (parameter.name, parameter.is_weight, parameter.ref_key) == (name, True, name)
    assert parameter.spec == TensorSpec("float32", (3,))


def test_subgraphs_and_calls_of_stage_files_are_read():
    text = (
        "# IR entry: @main\n# Total params: 1\n# Params:\n" + PARAM + "\n"
        "# Parameters: 1, (<Tensor[Float32], (2, 3)>)\n"
        "subgraph @body_✓(%para2_h) {\n  %0(r) = ReLU(%para2_h)\n      # Fullname with scope: (Default/ReLU-op0)\n"
        "  Return(%0)\n}\n\n"
        "subgraph @main() {\n  %0(p) = Partial(@body_✓, %para1_x)\n  %1(s) = Switch(%para1_x, %0, %0)\n"
        "  %2(c) = %1[@FuncUnion(@body_✓, @body_✓)]()\n      # Fullname with scope: (1)\n"
        "  %3(d) = call @body_✓(%2)\n  Return(%3)\n}\n"
    )
    graph = parse_ms_text(text)
    assert graph.name == "main"
    assert [op.op_type for op in graph.ops] == ["Partial", "Switch", "call", "call"]
    (body,) = graph.subgraphs
    assert body.parameters[0].spec.shape == (2, 3)
    assert body.ops[0].inputs == (Param(0),)


@pytest.mark.parametrize(
    "line",
    [
        ": (Default/MatMul-op3)",
        ": full_name_with_scope: (Default/MatMul-op3)",
        "# fullname_with_scope: (Default/MatMul-op3)",
        "# Fullname with scope: (Default/MatMul-op3)",
    ],
)
def test_every_spelling_of_the_full_name_is_known(line):
    assert (
        graph_of("  %0(y) = MatMul(%para1_x)", f"      {line}").ops[0].name == "Default/MatMul-op3"
    )


@pytest.mark.parametrize("text", ["", "garbage\n\x00\x01", "{}", "subgraph attr:\n"])
def test_text_without_a_graph_is_refused_with_its_place(text):
    with refused("graph_files/no-subgraph", FormatError, place="x.ir:1"):
        parse_ms_text(text, "x.ir")


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_line_ends_of_any_system_are_read(tmp_path, end):
    path = tmp_path / "x.ir"
    text = old_file(SPELLED["2.3"])
    path.write_text(text.replace("\n", end), newline="")
    assert read_ms_text(path) == parse_ms_text(text)


@given(st.text(alphabet='%()[]{}<>," :=#@abcRelu01\n', max_size=200))
def test_no_text_stops_the_reader(noise):
    graph = parse_ms_text(f"subgraph @g() {{\n  %0(a) = ReLU(%para1_x)\n{noise}\n}}\n")
    assert graph.name == "g"


@pytest.mark.parametrize(
    ("text", "value"),
    [("true", True), ("0.5", 0.5), ("Float16", "Float16"), ("F32(inf)", float("inf")), ("UMonad[U]", "UMonad[U]")],
)  # fmt: skip
def test_spellings_of_a_value_that_nobody_writes_are_read(text, value):
    assert parse_value(text) == value
    assert parse_const("UMonad[U]").dtype == "monad"
    assert parse_const("Tensor(shape=[], dtype=Float32, value=0.6)") == Const(0.6, "float32", ())


@pytest.mark.parametrize(
    ("shape", "text"),
    [("[2]", "[1 2 3]"), ("[3]", "[1 2]"), ("[2]", "[1 x]"), ("[]", "[1 2]"), ("[]", "x"),
     (f"[{LONG}]", "[1]"), ("[2]", "[1 I64(2)]")],
)  # fmt: skip
def test_elements_that_do_not_fill_their_shape_stay_text(shape, text):
    const = parse_const(f"Tensor(shape={shape}, dtype=Float32, value={text})")
    assert const.value == text
    graph = graph_of(f"  %0(y) = Add(%para1_x, Tensor(shape={shape}, dtype=Float32, value={text}))")
    assert parse_ms_text(write_ms_text(graph)).ops[0].inputs[1].value == text


def test_a_tensor_of_truth_values_is_read_and_written():
    const = parse_const("Tensor(shape=[3], dtype=Bool, value=[ True, False,  True])")
    assert const == Const((True, False, True), "bool", (3,))
    graph = graph_of(
        "  %0(y) = Or(%para1_x, Tensor(shape=[3], dtype=Bool, value=[ True False  True]))"
    )
    assert parse_ms_text(write_ms_text(graph)).ops[0].inputs[1] == const


def test_a_tuple_type_gives_every_tensor_it_holds():
    text = "<Tuple[Tensor[Float32]*2,Int64], TupleShape((1, 64), (64), NoShape)>"
    assert [spec.shape for spec in parse_host_type(text).specs] == [(1, 64), (64,), ()]


def test_commas_inside_brackets_and_quotes_do_not_split():
    assert list(split_top('a, (b, c), "d, e", <f, (g)>')) == ["a", "(b, c)", '"d, e"', "<f, (g)>"]


def test_tuples_of_tuples_do_not_fill_the_memory():
    doubled = (f"  %{n}(t) = MakeTuple(%{n - 1}, %{n - 1})" for n in range(1, 60))
    with refused("graph_files/tuples", FormatError, place="<text>"):
        graph_of("  %0(t) = MakeTuple(%para1_x, %para1_x)", *doubled, "  Return(%59)")


def test_tuples_may_hold_more_in_a_long_file_than_in_a_short_one():
    """Each level doubles what an operator takes: a short file must not say a million operands."""

    def file(levels: int, more: int) -> str:
        text = "# IR entry: @g\n\n%para1_x: <Tensor[Float32], (2)>\n\nsubgraph @g() {\n"
        text += "  %0(a) = MakeTuple(%para1_x, %para1_x)\n"
        for number in range(1, levels):
            text += f"  %{number}(a) = MakeTuple(%{number - 1}, %{number - 1})\n"
        text += "".join(f"  %{levels + n}(b) = Add(%para1_x, %para1_x)\n" for n in range(more))
        return text + f"  %{levels + more}(c) = Concat(%{levels - 1})\n}}\n"

    assert len(list(parse_ms_text(file(13, 0)).ops[-1].flat_inputs())) == 2**13
    with refused("graph_files/tuples", FormatError, place="<text>") as caught:
        parse_ms_text(file(16, 0))
    assert 10_000 <= caught.value.values["most"] < 100_000 < caught.value.values["values"]
    assert parse_ms_text(file(16, 4000)).unknown_lines == 0


# Text that asks for more than it gives.


def in_tuples(depth: int, inner: str = "Int64", count: str = "") -> str:
    return "Tuple[" * depth + inner + f"]{count}" * depth


@pytest.mark.parametrize(
    "kind",
    [
        "Tuple[Tensor[Float32]*99999999999]",
        f"List[Tensor[Float32]*{LONG}]",
        "Tuple[*99999]",
        in_tuples(3000),
        in_tuples(10, count="*64"),
    ],
    ids=["a run", "a long number", "a run of nothing", "deep", "runs of runs"],
)
def test_a_tuple_type_of_more_than_it_spells_out_is_an_unknown_line(kind):
    graph = graph_of(
        "  %0(y) = ReLU(%para1_x)",
        f"      : (<Tensor[Float32], (2, 3)>) -> (<{kind}, NoShape>)",
        "      : (<Float32xDefaultFormat[const vector]{2, 3}>) -> (<Float16xNZ[const vector]{4}>)",
    )
    (op,) = graph.ops
    assert (op.input_specs[0].shape, op.outputs, graph.unknown_lines) == ((2, 3), (), 1)
    assert op.device_outputs == (TensorSpec("float16", (4,), "NZ"),)


def test_a_parameter_of_such_a_type_keeps_its_place():
    kind = "<Tuple[Int64*99999999999], NoShape>"
    params = f"%para1_x: {kind}  :  <X>  :  IsWeight: false\n" + PARAM.replace("para1_x", "para2_y")
    graph = graph_of("  %0(a) = Add(%para1_x, %para2_y)", params=params)
    assert graph.ops[0].inputs == (Param(0), Param(1))
    assert [p.spec.shape for p in graph.parameters] == [None, (2, 3)]
    assert graph.unknown_lines == 1


def test_a_type_line_over_a_subgraph_may_hold_empty_tuples():
    text = "# Parameters: 1, (<Tuple[], TupleShape()>)\nsubgraph @g(%para1_x) {\n}\n"
    assert parse_ms_text(text).parameters[0].spec == TensorSpec("", None)


def test_long_runs_and_tuples_of_tuples_are_written_out_where_shapes_are_listed():
    shapes = ", ".join(f"({n}, 3)" for n in range(2000))
    kind = f"Tuple[Tuple[Tensor[Float32]*2000],Tuple[Int64,Bool]*2], TupleShape(TupleShape({shapes}), TupleShape("
    specs = parse_host_type(f"<{kind}NoShape, NoShape), TupleShape(NoShape, NoShape))>").specs
    assert specs[:2000] == tuple(TensorSpec("float32", (n, 3)) for n in range(2000))
    assert specs[2000:] == (TensorSpec("int64", ()), TensorSpec("bool", ())) * 2


@pytest.mark.parametrize("dims", [LONG, "1" * 30, ", ".join(["4096"] * 6), ", ".join(["9"] * 5000)])
def test_a_shape_of_more_elements_than_there_can_be_is_unknown(dims):
    const = parse_const(f"Tensor(shape=[{dims}], dtype=Float32, value=[...])")
    assert const == Const("[...]", "float32", None)
    assert parse_host_type(f"<Tensor[Float32], ({dims})>").specs == (TensorSpec("float32", None),)


def test_the_largest_shape_is_known():
    assert parse_host_type(f"<Tensor[Int8], ({2**62}, 1)>").specs[0].size == 2**62


@pytest.mark.parametrize(
    ("text", "value"),
    [("18446744073709551615", 2**64 - 1), ("-9223372036854775808", -(2**63)), (LONG, float("inf"))],
    ids=["largest", "smallest", "beyond"],
)
def test_integers_have_64_bits(text, value):
    assert parse_value(f"I64({text})") == value


@pytest.mark.parametrize(
    "text", ["1" * 1_000_000 + "x", "<" + "x" * 1_000_000], ids=["number", "type"]
)
def test_long_words_take_no_longer_than_their_length(text):
    """Either took the square of it: days."""
    assert parse_value(text) == text
    assert parse_device_type(text) == TensorSpec("", None, "")


@pytest.mark.parametrize("number", [LONG, "1" * 10])
def test_a_node_number_beyond_all_reason_is_an_unknown_line(number):
    graph = graph_of(
        "  %0(y) = ReLU(%para1_x)",
        "      # Fullname with scope: (Default/ReLU-op0)",
        f"  %{number}(z) = Tanh(%0)",
        "      # Fullname with scope: (Default/Tanh-op0)",
        f"  %1(w) = Exp(%{number}, %para{number}_x)",
        f"  %2(c) = %{number}(%1)",
    )
    assert [op.name for op in graph.ops] == ["Default/ReLU-op0", "", ""]
    assert [type(operand).__name__ for operand in graph.ops[1].inputs] == ["FreeRef", "FreeRef"]
    assert graph.ops[2].inputs == (Value(1),)
    assert graph.unknown_lines == 2  # the node and the name behind it


def in_brackets(mark: str, inside: str) -> str:
    return mark[0] * 20_000 + inside + mark[1] * 20_000


RELU, MARKS = "  %0(y) = ReLU(%para1_x)", ("()", "[]", "{}")
LEFT_OUT = {
    "no lines of an IR": ((RELU, "      ? what is this", "@@@ nonsense (", "  %1(z) = Broken((("), ["ReLU"], 3),
    "line number": ((RELU, f"      # In file /w/net.py:{LONG}/code/"), ["ReLU"], 1),
    "head": ((f"  %0(y) = call @f{'[' * 20_000}(%para1_x)",), [], 1),
    **{
        f"operands in {mark} around {inside}": (
            (RELU, f"  %1(z) = Add(%0, {in_brackets(mark, inside)})", "  %2(w) = Exp(%0)"), ["ReLU", "Exp"], 1,
        )
        for mark in MARKS
        for inside in ("I64(1)", "%para1_x")
    },
    **{
        f"attributes in {mark}": ((f"{RELU} primitive_attrs: {{axis: {in_brackets(mark, 'I64(1)')}}}",), ["ReLU"], 1)
        for mark in MARKS
    },
}  # fmt: skip
"""What nobody understands, or what is beyond all reason: lines, operators that are read all the same, unknown lines."""


@pytest.mark.parametrize(("lines", "kinds", "unknown"), LEFT_OUT.values(), ids=LEFT_OUT)
def test_what_is_left_out_is_counted_and_does_no_harm(lines, kinds, unknown):
    graph = graph_of(*lines)
    assert ([op.op_type for op in graph.ops], graph.unknown_lines) == (kinds, unknown)
    assert not any(op.attrs or op.frames for op in graph.ops)


def test_a_node_that_never_closes_ends_at_the_next_one():
    graph = graph_of("  %0(y) = ReLU((%para1_x", *["(" * 500] * 6000, "  %1(z) = Exp(%para1_x)")
    assert [op.op_type for op in graph.ops] == ["Exp"]


def test_operands_and_attributes_in_some_brackets_are_read():
    graph = graph_of(
        f"  %0(y) = ReLU({'(' * 40}%para1_x{')' * 40}) {{a: {'[' * 40}I64(7){']' * 40}}}"
    )
    operand, value = graph.ops[0].inputs[0], graph.ops[0].attrs["a"]
    for _ in range(40):
        (operand,), (value,) = operand.items, value
    assert (operand, value, graph.unknown_lines) == (Param(0), 7, 0)


@pytest.mark.parametrize(
    ("index", "value"), [(-1, Param(0)), (1, Param(0)), (-2, Value(0)), (0, Value(0))]
)
def test_an_item_is_taken_out_of_a_tuple_as_in_python(index, value):
    lines = ("  %0(a) = ReLU(%para1_x)", "  %1(b) = MakeTuple(%0, %para1_x)")
    assert graph_of(
        *lines, f"  %2(c) = TupleGetItem(%1, I64({index}))", "  Return(%2)"
    ).outputs == (value,)


@pytest.mark.parametrize("source", ["%0", "%1"])
@pytest.mark.parametrize("index", ["-7", LONG, "9"])
def test_an_item_that_is_not_there_stops_nobody(source, index):
    lines = ("  %0(a) = ReLU(%para1_x)", "  %1(b) = MakeTuple(%0, %para1_x)")
    graph = graph_of(*lines, f"  %2(c) = TupleGetItem({source}, I64({index}))", "  %3(d) = Exp(%2)")
    assert [op.op_type for op in graph.ops] == ["ReLU", "Exp"]
    first, rest = next(iter(graph.ops[1].flat_inputs())), graph.ops[1].inputs[1:]
    assert isinstance(first, Value)  # of the tuple or of its first item
    assert (first.op, rest) == (0, ())


def test_graphs_that_list_no_parameters_share_those_of_the_file():
    graph = parse_ms_text(HEAD + PARAM + "subgraph @g() {\n}\n" + "subgraph @h() {\n}\n" * 3)
    assert [one.name for one in graph.parameters] == ["x"]
    assert all(sub.parameters is graph.parameters for sub in graph.subgraphs)


@pytest.mark.parametrize(
    ("line", "inner"),
    [
        ("%para1_: <Tensor[Int32], ()>  :  <Int32x[const vector]{}>  :  IsWeight: false", True),
        ("%para1__4924: <UMonad, NoShape>  :  <UMonadx[const vector]{}>  :  IsWeight: false", True),
        ("%para1_u: <UMonad, NoShape>  :  <UMonadx[const vector]{}>  :  IsWeight: false", True),
        (
            "%para1_n: <Tensor[Int32], ()> : []  :  <Int32x[const vector]{}>  :  IsWeight: false",
            False,
        ),
    ],
)
def test_parameters_without_a_name_of_their_own_come_from_other_graphs(line, inner):
    text = f"# IR entry: @g\n# Total subgraphs: 1\n\n# Params:\n{line}\n\nsubgraph @g() {{\n}}\n"
    graph = parse_ms_text(text)
    assert (graph.inner, graph.parameters[0].captured) == (inner, inner)


EXCERPT = """\
%20(equivoutput) = Conv2D(%17, %19) {instance name: conv2d} primitive_attrs: {kernel_size: (3, 3), input_names: [
x, w], pri_format: NC1HWC0, pad: (0, 0, 0, 0), output_used_num:
(1), stream_id: 0, group: 1}
: (<Tensor[Float32], (32, 256, 13, 13)>, <Tensor[Float32], (384, 256, 3, 3)>) -> (<Tensor[Float32], (32, 384, 13, 13)>)
: (<Float16xNC1HWC0[const vector][32, 16, 13, 13, 16]>) -> (<Float32xNC1HWC0[const vector][32, 24, 13, 13, 16]>)
: full_name_with_scope: (Default/conv3-Conv2d/Conv2D-op12)
...
# In file ./train.py(175)/ x = self.conv3(x)/
"""
"""Operators as a document prints them: no header, no block, attributes over several lines."""


def test_an_excerpt_without_a_header_is_read_as_far_as_it_goes(tmp_path):
    (tmp_path / "excerpt.ir").write_text(EXCERPT)
    graph = read_graph(tmp_path / "excerpt.ir")
    (conv,) = graph.ops
    assert (conv.name, conv.op_type) == ("Default/conv3-Conv2d/Conv2D-op12", "Conv2D")
    assert conv.inputs == (FreeRef("", "%17"), FreeRef("", "%19"))
    assert conv.outputs[0].shape == (32, 384, 13, 13)
    assert conv.device_inputs[0] == TensorSpec("float16", (32, 16, 13, 13, 16), "NC1HWC0")
    assert (conv.attrs["input_names"], conv.attrs["group"]) == (("x", "w"), 1)
    assert [(frame.file, frame.line) for frame in conv.frames] == [("./train.py", 175)]
    assert (graph.is_excerpt, graph.unknown_lines) == (True, 1)


def test_a_dump_with_an_excerpt_says_so(tmp_path):
    folder = tmp_path / "rank_0" / "graphs"
    folder.mkdir(parents=True)
    (folder / "ms_output_trace_code_graph_0.ir").write_text(EXCERPT)
    data = tmp_path / "rank_0/Net/0/0"
    data.mkdir(parents=True)
    name = "Conv2D.Default_conv3-Conv2d_Conv2D-op12.0.0.1700000000000000.output.0.DefaultFormat.float32.npy"
    np.save(data / name, np.zeros((2, 2), np.float32))
    notes = [note.detail for note in load(tmp_path).notes if note.kind == "graph"]
    check_said(notes[0], "dump/graph-excerpt", operators=1)


def test_a_whole_graph_is_no_excerpt(real_pairs):
    root = next(iter(real_pairs.values())).target / "rank_0"
    assert not any(read_ms_text(ir).is_excerpt for ir in root.glob("graphs/*.ir"))


def test_text_with_neither_header_nor_operator_is_no_graph():
    with refused("graph_files/no-subgraph", FormatError):
        parse_ms_text("...\n# In file ./train.py(175)/ x = 1/\n")
