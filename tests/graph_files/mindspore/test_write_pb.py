"""The writer of MindSpore's .pb: against the real files, field by field, and read back."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from hypothesis import given
from hypothesis import strategies as st

from kit.build.foreign_files import PAIRS
from kit.build.small_dumps import write_ms_pb
from kit.oracle.dump_files import assert_agree
from kit.words import refused
from workbench.core.errors import GraphError
from workbench.core.tensors import TensorSpec
from workbench.graph.graph import (
    Bundle,
    Const,
    FreeRef,
    Graph,
    GraphRef,
    Op,
    Param,
    Parameter,
    SourceFrame,
    Value,
)
from workbench.graph_files.mindspore.pb import parse_ms_pb
from workbench.graph_files.mindspore.text import read_ms_text
from workbench.graph_files.mindspore.write_pb import pb_and_constants
from workbench.network.models import MODELS, load_graph

# A decoder of its own: numbers of debug_graph.proto alone, everything declared here.
FIELDS = {
    "Model": "1 ir_version 3, 4 graph Graph",
    "Graph": "1 node Node*, 2 name 9, 3 parameters Named*, 4 outputs Named*, 5 const_vals Value*, 6 root_name 9",
    "Node": "1 input Input*, 2 name 9, 3 op_type 9, 4 scope 9, 5 attribute Value*, 6 output_type Type, "
    "8 full_name 9, 9 source_address 9",
    "Input": "1 name 9, 2 type 5",
    "Named": "1 name 9, 2 type Type",
    "Value": "1 key 9, 2 value Content, 3 full_name 9",
    "Content": "1 dtype 5, 2 bool_val 8, 3 int_val 3, 4 uint_val 4, 5 float_val 2, 6 double_val 1, 7 str_val 9, "
    "18 values Content*, 20 type_val Type",
    "Type": "1 data_type 5, 2 tensor_type Tensor, 3 sequence_type Items",
    "Items": "1 elem_types Type*",
    "Tensor": "1 elem_type 5, 2 shape Shape",
    "Shape": "1 dim Dim*",
    "Dim": "1 size 3",
}  # fmt: skip


def model_class():
    file = descriptor_pb2.FileDescriptorProto(name="own.proto", package="own")
    for message, rows in FIELDS.items():
        described = file.message_type.add(name=message)
        for row in rows.split(", "):
            number, name, kind = row.split()
            field = described.field.add(name=name, number=int(number))
            field.label = 3 if kind.endswith("*") else 1
            field.type = int(kind) if kind.isdecimal() else 11
            if not kind.isdecimal():
                field.type_name = f".own.{kind.rstrip('*')}"
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(file.SerializeToString())
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("own.Model"))


MODEL = model_class()

# Byte for byte where nothing was differentiated.
EXACT = {"alexnet_padmode", "kernels_partial"}
# Nodes whose tracebacks the text does not tell exactly, of all nodes.
TRACEBACKS = {
    "identical_rerun": (7, 73), "lenet_train_fp16": (8, 155), "lenet_train_fp16_ms200": (2, 142),
    "optimizer_lr": (2, 69), "transformer_fp16": (0, 239), "transformer_ln_eps": (0, 129),
    "alexnet_padmode": (0, 36), "kernels_partial": (0, 36),
}  # fmt: skip


def both(real_pairs, name):
    """Real bytes of the target side, and ours from the text beside them."""
    (path,) = (real_pairs[name].target / "rank_0/graphs").glob("*.pb")
    text = path.with_suffix(".ir").read_text(encoding="utf-8")
    return path.read_bytes(), pb_and_constants(text)[0]


@pytest.mark.parametrize("name", sorted(EXACT))
def test_a_graph_without_gradients_comes_out_byte_for_byte(real_pairs, name):
    real, ours = both(real_pairs, name)
    assert ours == real


@pytest.mark.parametrize("name", PAIRS)
def test_the_nodes_are_those_of_the_real_file(real_pairs, name):
    real, ours = (MODEL.FromString(data).graph for data in both(real_pairs, name))
    assert (ours.name, ours.root_name) == (real.name, real.root_name)
    assert list(ours.parameters) == list(real.parameters)
    assert list(ours.outputs) == list(real.outputs)
    assert len(ours.node) == len(real.node)
    different = 0
    for mine, theirs in zip(ours.node, real.node, strict=True):
        for field in ("name", "op_type", "scope", "full_name", "output_type"):
            assert getattr(mine, field) == getattr(theirs, field), theirs.full_name
        assert [f.name for f, _ in mine.ListFields()] == [f.name for f, _ in theirs.ListFields()]
        assert [a.key for a in mine.attribute] == [a.key for a in theirs.attribute]
        different += mine.source_address != theirs.source_address
    assert (different, len(real.node)) == TRACEBACKS[name]


def without_kinds(value):
    """A value without what the text does not tell: list or tuple, 32 or 64 bits, ``1`` or ``1.0``."""
    if value.dtype in (31, 32):
        return tuple(without_kinds(item) for item in value.values)
    fields = [(f.name, v) for f, v in value.ListFields() if f.name != "dtype"]
    if fields and fields[0][0] in ("int_val", "float_val"):
        return fields[0][1]
    return value.dtype, fields


@pytest.mark.parametrize("name", PAIRS)
def test_values_are_those_of_the_real_file(real_pairs, name):
    real, ours = (MODEL.FromString(data).graph for data in both(real_pairs, name))
    kinds = Counter()
    for mine, theirs in zip(ours.node, real.node, strict=True):
        for attr, other in zip(mine.attribute, theirs.attribute, strict=True):
            assert without_kinds(attr.value) == without_kinds(other.value), theirs.full_name
            if attr.value != other.value:
                kinds[attr.value.dtype, other.value.dtype] += 1
    plain = {(5, 11)} if "ms200" in name else set()
    assert set(kinds) <= {(32, 31), (5, 4), *plain}


@pytest.mark.parametrize("name", PAIRS)
def test_constants_are_those_of_the_real_file_that_say_the_same(real_pairs, name):
    """Where MindSpore has one constant here is one; where it has several that are equal, here is one."""
    real, ours = (MODEL.FromString(data).graph for data in both(real_pairs, name))
    mine, theirs = ({c.key: c for c in graph.const_vals} for graph in (ours, real))
    named: dict[str, str] = {}
    for node, other in zip(ours.node, real.node, strict=True):
        for use, real_use in zip(node.input, other.input, strict=True):
            assert use.type == real_use.type
            if real_use.name not in theirs:
                assert use.name == real_use.name
                continue
            assert named.setdefault(real_use.name, use.name) == use.name
            constant, real_constant = mine[use.name], theirs[real_use.name]
            assert constant.HasField("value") == real_constant.HasField("value")
            if not ("ms200" in name and constant.value.dtype):
                assert constant.value == real_constant.value
    keys = [constant.key for constant in ours.const_vals]
    assert keys == [f"cst{number}" for number in range(1, len(keys) + 1)]
    assert [c.full_name for c in ours.const_vals] == [f"Default_data-{n}" for n in range(len(keys))]


@pytest.mark.parametrize("name", sorted(MODELS))
def test_a_traced_network_reads_back(name):
    graph = load_graph(name)
    read = parse_ms_pb(write_ms_pb(graph))
    assert read == replace(
        graph,
        dialect="pb-debugger",
        attrs={},
        ops=tuple(
            replace(op, input_specs=again.input_specs, device_inputs=(), device_outputs=(), unique_id="",
                    outputs=(*op.outputs[:1], *again.outputs[1:]))
            for op, again in zip(graph.ops, read.ops, strict=True)
        ),
    )  # fmt: skip
    for op, again in zip(graph.ops, read.ops, strict=True):
        stated = zip(op.input_specs, again.input_specs, strict=False)
        assert all(mine is None or mine == spec for mine, spec in stated)
        assert [spec.dtype for spec in op.outputs] == [spec.dtype for spec in again.outputs]


@pytest.mark.parametrize("name", PAIRS)
def test_every_real_graph_reads_back_as_far_as_the_format_holds_it(real_pairs, name):
    for path in real_pairs[name].folder.rglob("*.ir"):
        graph = read_ms_text(path)
        read = parse_ms_pb(write_ms_pb(graph))
        assert_agree(read, graph, "pb-debugger")


# Small graphs.

F = TensorSpec("float32", (2, 3))


def graph_of(*ops: Op, **more) -> Graph:
    return Graph("g", (Parameter("x", F),), ops, (Value(len(ops) - 1),), **more)


def op_of(*inputs, **more) -> Op:
    return Op("Default/a-A/Add-op0", "Add", inputs, outputs=(F,), **more)


def written(graph: Graph):
    return MODEL.FromString(write_ms_pb(graph)).graph


@pytest.mark.parametrize(
    ("const", "fields"),
    [
        (Const(True, "bool", ()), {"dtype": 1, "bool_val": True}),
        (Const(-3, "int64", ()), {"dtype": 5, "int_val": -3}),
        (Const(3, "int8", ()), {"dtype": 2, "int_val": 3}),
        (Const(2**64 - 1, "uint64", ()), {"dtype": 9, "uint_val": 2**64 - 1}),
        (Const(0.5, "float16", ()), {"dtype": 10, "float_val": 0.5}),
        (Const(0.5, "bfloat16", ()), {"dtype": 46, "float_val": 0.5}),
        (Const(0.1, "float64", ()), {"dtype": 12, "double_val": 0.1}),
        (Const("same"), {"dtype": 13, "str_val": "same"}),
        (Const(None, "None"), {"dtype": 34, "str_val": "None"}),
        (Const("U", "monad"), {}),
    ],
)
def test_a_constant_has_the_field_of_its_dtype(const, fields):
    (constant,) = [
        c for c in written(graph_of(op_of(Param(0), const))).const_vals if c.key == "cst1"
    ]
    assert {f.name: value for f, value in constant.value.ListFields()} == fields
    assert constant.HasField("value")


def test_a_tensor_constant_has_no_value():
    graph = written(graph_of(op_of(Const((1, 2), "int32", (2,)))))
    assert not graph.const_vals[0].HasField("value")


def test_equal_constants_are_one_and_others_are_not():
    one, true = Const(1, "int64", ()), Const(True, "bool", ())
    graph = written(graph_of(op_of(one, true, one, Const(1.0, "float32", ()))))
    assert [use.name for use in graph.node[0].input] == ["cst1", "cst2", "cst1", "cst3"]


def test_types_of_attributes_keep_their_kind_alone():
    attrs = {
        "a": "Float16",
        "b": "Int32",
        "c": "UInt8",
        "d": "Bool",
        "e": "BFloat16",
        "f": "Floating",
    }
    values = [a.value for a in written(graph_of(op_of(Param(0), attrs=attrs))).node[0].attribute]
    assert [v.type_val.data_type for v in values[:5]] == [38, 36, 37, 1, 38]
    assert [v.dtype for v in values] == [39] * 5 + [13]


def test_attributes_have_the_kind_of_their_value():
    attrs = {
        "IsFeatureMapInputList": (0, 2), "pads": (0, -1), "names": ("x", "w"), "empty": (),
        "on": True, "eps": 1e-5, "exact": 0.1 + 0.2, "none": None, "word": "NCHW", "deep": ((1, 2), (True,)),
    }  # fmt: skip
    graph = graph_of(op_of(Param(0), attrs=attrs))
    values = {a.key: a.value for a in written(graph).node[0].attribute}
    assert {key: value.dtype for key, value in values.items()} == {
        "IsFeatureMapInputList": 31, "pads": 31, "names": 32, "empty": 31,
        "on": 1, "eps": 11, "exact": 12, "none": 34, "word": 13, "deep": 31,
    }  # fmt: skip
    assert [v.dtype for v in values["IsFeatureMapInputList"].values] == [9, 9]
    assert [v.dtype for v in values["pads"].values] == [5, 5]
    assert parse_ms_pb(write_ms_pb(graph)).ops[0].attrs == attrs


FRAMES = (
    SourceFrame("/w/net.py", 7, "    def construct(self, x):", 9, 4, 30),
    SourceFrame("/w/net.py", 8, "        return f(g(x))", 0, 8, 22),
    SourceFrame("/w/net.py", 8, "        return f(g(x))", 0, 17, 21),
    SourceFrame("/w/lib.py", 3, "    @jit", 9, 4, 10),
    SourceFrame("/w/lib.py", 4, "    if a:", 6, 4, 10),
    SourceFrame("/w/lib.py", 5, "        y = a", 0, 8, 9),
)


def test_tracebacks_begin_inside_and_leave_out_what_only_encloses():
    lines = written(graph_of(op_of(Param(0), frames=FRAMES))).node[0].source_address.splitlines()
    assert lines == [
        "      # In file /w/lib.py:5, 8~9/        y = a/",
        "      # In file /w/lib.py:3~9, 4~10/    @jit/",
        "      # In file /w/net.py:8, 17~21/        return f(g(x))/",
        "      # In file /w/net.py:7~9, 4~30/    def construct(self, x):/",
    ]


def test_groups_of_tracebacks_have_a_head_and_a_mark():
    frames = tuple(
        replace(f, group=g) for g in ("candidate", "forward") for f in FRAMES[:1] + FRAMES[2:3]
    )
    lines = written(graph_of(op_of(Param(0), frames=frames))).node[0].source_address.splitlines()
    assert lines[0] == "      # Corresponding code candidate:"
    assert lines[1].startswith("      #  - In file /w/net.py:8, 17~21/")
    assert lines[2].startswith("      #    In file /w/net.py:7~9, 4~30/")
    assert lines[3] == "      # Corresponding forward node candidate:"


def test_structural_nodes_have_the_numbers_of_the_text():
    weight = Parameter("w", F, True, "w")
    graph = replace(
        graph_of(op_of(Param(0), Bundle((Param(1), Param(0))))),
        parameters=(Parameter("x", F), weight),
    )
    nodes = written(graph).node
    assert [(n.name, n.op_type) for n in nodes][:3] == [
        ("1", "Load"),
        ("2", "MakeTuple"),
        ("3", "Add"),
    ]
    assert [use.name for use in nodes[2].input] == ["x", "2"]
    assert [kind.data_type for kind in nodes[1].output_type.sequence_type.elem_types] == [14, 14]
    assert nodes[-1].op_type == "MakeTuple"


def test_a_call_is_an_empty_node_that_keeps_its_turn():
    call = Op("(1)", "call", (GraphRef("body"), Param(0)), outputs=(F,))
    graph = graph_of(call, op_of(Value(0)), subgraphs=(Graph("body"),))
    nodes = written(graph).node
    assert not nodes[0].ListFields()
    assert [use.name for use in nodes[1].input] == ["1"]


def test_the_graph_is_its_own_root():
    assert written(graph_of(op_of(Param(0)), graph_id=3)).root_name == "3"


@pytest.mark.parametrize("shape", [(), (-1, 3), None, (0,)])
def test_a_parameter_keeps_its_shape(shape):
    spec = TensorSpec("bfloat16", shape)
    graph = Graph("g", (Parameter("größe γ", spec),), (), (Param(0),))
    assert parse_ms_pb(write_ms_pb(graph)).parameters == graph.parameters


def test_a_value_of_another_graph_has_no_place():
    with refused("graph_files/foreign-operand", GraphError, got="$(@main:CNode_3)"):
        write_ms_pb(graph_of(op_of(FreeRef("main", "CNode_3"))))


@pytest.mark.parametrize("value", [10**20 - 1, -(2**63) - 1])
def test_a_scalar_that_fits_no_field_is_refused(value):
    with refused("graph_files/scalar", GraphError, field="int_val"):
        write_ms_pb(graph_of(op_of(Const(value, "int64", ()), Param(0))))


def test_a_float_beyond_32_bits_is_a_double_without_a_warning():
    op = replace(op_of(Param(0)), attrs={"limit": 1e300})
    node = MODEL.FromString(write_ms_pb(graph_of(op))).graph.node[0]
    (attribute,) = (one for one in node.attribute if one.key == "limit")
    assert attribute.value.double_val == 1e300


@pytest.mark.parametrize("dim", ["1" * 6000, str(2**63)])
def test_a_dimension_beyond_64_bits_is_open(dim):
    text = f"subgraph @g() {{\n  %0(y) = Op()\n      : () -> (<Tensor[Float32], ({dim}, 3)>)\n}}\n"
    (node,) = MODEL.FromString(pb_and_constants(text)[0]).graph.node
    assert [dim.size for dim in node.output_type.tensor_type.shape.dim] == [-1, 3]


def test_results_of_which_the_text_states_no_type_are_left_out():
    text = "subgraph @g() {\n  %0(y) = Op()\n      : () -> (<Tensor[Float32], (2)>)\n  Return(%0, %0)\n"
    assert list(MODEL.FromString(pb_and_constants(text + "}\n")[0]).graph.outputs) == []
    one = pb_and_constants(text + "      : (<Tensor[Float32], (2)>)\n}\n")[0]
    assert [kept.name for kept in MODEL.FromString(one).graph.outputs] == ["1"]


SCALARS = (
    st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.none()
    | st.floats(allow_nan=False).map(lambda x: float(np.float32(min(max(x, -1e30), 1e30))))
    | st.sampled_from(["valid", "NCHW", "a b", "größe", "x"])
)  # fmt: skip


@given(
    st.dictionaries(st.sampled_from("abcdef"), SCALARS | st.lists(st.integers(-9, 9)).map(tuple)),
    st.lists(st.integers(1, 9), max_size=5).map(tuple),
    st.sampled_from(["float32", "float16", "bfloat16", "int4", "uint64", "bool"]),
)
def test_any_operator_reads_back(attrs, shape, dtype):
    spec = TensorSpec(dtype, shape)
    op = Op("Default/Op-op0", "Op", (Param(0),), attrs, (spec,), (spec,))
    graph = Graph("g", (Parameter("x", spec),), (op,), (Value(0),), dialect="pb-debugger")
    assert parse_ms_pb(write_ms_pb(graph)) == graph
