"""The reader of MindSpore's .pb graphs: real files against their .ir, hand-made bytes, damage."""

from __future__ import annotations

import re
from collections import Counter

import pytest

import workbench.graph_files.mindspore.pb
from kit.build.foreign_files import DATA, PAIRS
from kit.oracle.dump_files import assert_agree
from kit.wire import f32, f64, msg, num, varint
from kit.words import refused
from workbench.core.errors import FormatError
from workbench.core.tensors import TensorSpec
from workbench.graph.graph import Const, Param, Value
from workbench.graph_files.mindspore.pb import parse_ms_pb, read_ms_pb
from workbench.graph_files.mindspore.text import read_ms_text

STAGES = DATA / "pb"


def tensor_type(*dims: int, elem: int = 11) -> bytes:
    shape = msg(2, *(msg(1, num(1, dim)) for dim in dims)) if dims else b""
    return num(1, 14) + msg(2, num(1, elem), shape)


def node(name: str, kind: str, *inputs: str, output: bytes = b"", more: bytes = b"") -> bytes:
    ins = (msg(1, msg(1, i), num(2, 0)) for i in inputs)
    output = msg(6, output) if output else b""
    return msg(
        1, *ins, msg(2, name), msg(3, kind), msg(4, "Default"), output, msg(8, f"n{name}"), more
    )


def param(name: str, kind: bytes = b"") -> bytes:
    return msg(3, msg(1, name), msg(2, kind or tensor_type(2, 3)))


def const(key: str, *value: bytes) -> bytes:
    return msg(5, msg(1, key), *(msg(2, v) for v in value))


def model(*entries: bytes, debugger: bool = True) -> bytes:
    root = msg(6, "0") if debugger else b""
    return num(1, 1) + msg(4, *entries, msg(2, "kernel_graph0"), root)


def attr(name: str, *value: bytes) -> bytes:
    return msg(5, msg(1, name), msg(2, *value))


# Real files.


def used_outputs(graph) -> set[Value]:
    return {operand for operand in graph.consumers if isinstance(operand, Value)}


def pairs_of(real_pairs, name):
    for side in ("golden", "target"):
        folder = getattr(real_pairs[name], side) / "rank_0/graphs"
        for pb in folder.glob("*.pb"):
            yield read_ms_pb(pb), read_ms_text(pb.with_suffix(".ir"))


@pytest.mark.parametrize("name", PAIRS)
def test_a_dumps_pb_says_what_its_ir_says(real_pairs, name):
    found = list(pairs_of(real_pairs, name))
    assert found
    for ours, theirs in found:
        assert ours.name == theirs.name
        assert_agree(ours, theirs, "pb-debugger")
        assert [p.is_weight for p in ours.parameters] == [p.is_weight for p in theirs.parameters]
        assert [p.ref_key for p in ours.parameters] == [p.ref_key for p in theirs.parameters]


@pytest.mark.parametrize("name", PAIRS)
def test_shapes_are_those_of_the_ir_unless_nobody_takes_them_out_of_their_tuple(real_pairs, name):
    for ours, theirs in pairs_of(real_pairs, name):
        used = used_outputs(ours)
        for number, (op, other) in enumerate(zip(ours.ops, theirs.ops, strict=True)):
            for slot, (mine, yours) in enumerate(zip(op.outputs, other.outputs, strict=True)):
                unknown = mine.shape is None and len(op.outputs) > 1
                assert mine == yours or (unknown and Value(number, slot) not in used)


# Operators whose forward line the two files of a dump give differently. The layer is called several times
# and differentiated once; the .ir tells the calls apart, the .pb has the last call's line for all.
LAST_CALL = {
    "identical_rerun": {"SigmoidGrad": 2},
    "lenet_train_fp16": {"ReluGrad": 4, "MaxPoolGrad": 2},
}


@pytest.mark.parametrize("name", PAIRS)
def test_source_lines_are_those_of_the_ir(real_pairs, name):
    """Of the lines that a merged operator may come from the .pb has fewer, in whole tracebacks."""
    for ours, theirs in pairs_of(real_pairs, name):
        differing = Counter()
        for op, other in zip(ours.ops, theirs.ops, strict=True):
            groups = {f.group for f in op.frames}
            assert groups == {f.group for f in other.frames}
            if "own" in groups:
                assert set(op.frames) == set(other.frames)
                assert op.frame == other.frame
            elif "candidate" in groups:
                assert set(op.frames) == set(other.frames)
            elif not set(op.frames) <= set(other.frames):
                differing[op.op_type] += 1
                assert op.frame.file == other.frame.file
            elif op.frame is not None:
                assert op.frame == other.frame
        assert differing == LAST_CALL.get(name, {})


@pytest.mark.parametrize("name", ["vm_build_0", "vm_build_1", "optimize"])
def test_a_stages_pb_says_what_its_ir_says(name):
    ours = read_ms_pb(STAGES / f"ms_output_{name}.pb")
    theirs = read_ms_text(STAGES / f"ms_output_{name}.ir").with_id(ours.graph_id)
    assert ours.name == theirs.name
    if name == "vm_build_1":  # its .ir numbers the nameless parameters differently
        assert [p.spec for p in ours.parameters] == [p.spec for p in theirs.parameters]
        assert ours.outputs == theirs.outputs
        assert ours.graph_id == 1
    else:
        assert_agree(ours, theirs, "pb-anf")
        assert all(not op.frames for op in ours.ops)


def test_the_fields_of_a_stage_are_the_ones_that_mindspores_own_classes_find():
    """Taken down from ``anf_ir_pb2`` of MindSpore 2.10 for the same bytes."""
    graph = read_ms_pb(STAGES / "ms_output_vm_build_0.pb")
    bn = graph.op("Default/bn-BatchNorm1d/BatchNorm-op0")
    assert [spec.shape for spec in bn.outputs] == [(2, 3), None, None, None, None]
    assert [operand.value for operand in bn.inputs[5:9]] == [True, 1e-05, 0.1, 0]
    assert bn.inputs[9].dtype == "monad"
    mul = graph.op("Default/Mul-op0")
    assert mul.inputs == (Value(2), Const("...", "float32", (2, 3)))
    assert [op.op_type for op in graph.ops] == [
        "MatMul", "BiasAdd", "ReLU", "Mul", "Add", "BatchNorm", "Concat", "ReduceSum", "Greater",
    ]  # fmt: skip


# Bytes by hand.


def test_every_part_of_a_graph_is_read_from_its_field_number():
    kind = tensor_type(2, 3)
    graph = parse_ms_pb(
        model(
            node("1", "Load", "w", "cst1", output=kind),
            node(
                "2",
                "Mul",
                "x",
                "1",
                "cst2",
                output=kind,
                more=attr("axis", num(1, 5), num(3, -1))
                + attr("pads", num(1, 31), msg(18, num(1, 4), num(3, 7)), msg(18, num(1, 1)))
                + attr("fmt", num(1, 13), msg(7, "NCHW"))
                + attr("eps", num(1, 12), f64(6, 0.1))
                + attr("rate", num(1, 11), f32(5, 0.1))
                + attr("old", num(1, 20), msg(11, varint(1), varint(300)))
                + attr("kind", num(1, 39), msg(20, num(1, 36)))
                + attr("table", num(1, 33), msg(19, msg(1, "k"), msg(2, num(1, 6), num(4, 9))))
                + attr("none", num(1, 34))
                + attr("tensor", num(1, 14))
                + msg(9, "      # In file /w/b.py:7, 1~2/in/\n      # In file /w/a.py:3/out/\n"),
            ),
            param("x"),
            param("w"),
            msg(4, msg(1, "2"), msg(2, kind)),
            const("cst1", b""),
            const("cst2"),
        )
    )
    (op,) = graph.ops
    assert (graph.name, graph.dialect) == ("kernel_graph0", "pb-debugger")
    assert (op.name, op.op_type) == ("n2", "Mul")
    assert op.inputs == (Param(0), Param(1), Const("..."))
    assert op.outputs == (TensorSpec("float32", (2, 3)),)
    assert op.input_specs == (TensorSpec("float32", (2, 3)), TensorSpec("float32", (2, 3)), None)
    assert op.attrs == {
        "axis": -1,
        "pads": (7, False),
        "fmt": "NCHW",
        "eps": 0.1,
        "rate": 0.1,
        "old": (1, 300),
        "kind": "Int",
        "table": {"k": 9},
        "none": None,
        "tensor": "...",
    }
    assert [(f.file, f.line) for f in op.frames] == [("/w/a.py", 3), ("/w/b.py", 7)]
    assert [p.is_weight for p in graph.parameters] == [False, True]
    assert graph.outputs == (Value(0),)


def test_a_stage_keeps_the_shape_of_its_tensor_constants():
    tensor = msg(8, num(1, 4), num(1, 5), num(2, 10))
    graph = parse_ms_pb(
        model(node("1", "Add", "cst1", "cst2"), const("cst1", num(1, 14), tensor), const("cst2", msg(7, "U")),
              debugger=False)
    )  # fmt: skip
    assert graph.dialect == "pb-anf"
    assert graph.ops[0].inputs == (Const("...", "float16", (4, 5)), Const("U", "monad"))


@pytest.mark.parametrize(
    "mark", [msg(6, "0"), node("1", "A", more=msg(9, "")), const("c", b"") + msg(5, msg(3, "f"))]
)
def test_three_fields_are_the_debuggers_alone(mark):
    data = num(1, 1) + msg(4, mark, msg(2, "g"))
    assert parse_ms_pb(data).dialect == "pb-debugger"


def test_candidate_lines_keep_their_groups_and_unknown_lines_are_counted():
    text = (
        "      # Corresponding code candidate:\n"
        "      #  - In file /w/b.py:2/b/\n      #    In file /w/a.py:1/a/\n"
        "      #  - In file /w/d.py:4/d/\n"
        "      # Corresponding forward node candidate:\n      #  - In file /w/e.py:5/e/\n"
        "      # something new\n"
    )
    graph = parse_ms_pb(model(node("1", "Add", more=msg(9, text))))
    assert [(f.line, f.group) for f in graph.ops[0].frames] == [
        (1, "candidate"),
        (2, "candidate"),
        (4, "candidate"),
        (5, "forward"),
    ]
    assert graph.unknown_lines == 1


def test_a_result_in_a_tuple_gets_the_shape_of_the_node_that_takes_it_out():
    pair = num(1, 31) + msg(3, *(msg(1, num(1, 14), msg(2, num(1, 11))) for _ in range(2)))
    graph = parse_ms_pb(
        model(
            node("1", "Split", "x", output=pair),
            node("2", "Depend", "1", "x", output=pair),
            node("3", "TupleGetItem", "2", "cst1", output=tensor_type(2, 1)),
            msg(4, msg(1, "3")),
            param("x"),
            const("cst1", num(1, 5) + num(3, 1)),
        )
    )
    assert graph.ops[0].outputs == (TensorSpec("float32", None), TensorSpec("float32", (2, 1)))
    assert graph.outputs == (Value(0, 1),)


def test_an_empty_node_is_a_call_that_others_may_read():
    graph = parse_ms_pb(model(node("1", "A"), msg(1), node("3", "B", "2")))
    assert [op.op_type for op in graph.ops] == ["A", "call", "B"]
    assert graph.ops[2].inputs == (Value(1),)


def test_unknown_fields_and_unknown_numbers_are_tolerated():
    data = model(
        node("1", "A", output=tensor_type(2, elem=99), more=msg(77, "x") + num(78, 1)),
        msg(99, "later"),
        msg(2, b"g\xff"),
    ) + f64(15, 1.0)
    graph = parse_ms_pb(data)
    assert graph.ops[0].outputs == (TensorSpec("type 99", (2,)),)


def test_a_dynamic_shape_keeps_its_open_dimension_and_a_dynamic_rank_is_unknown():
    graph = parse_ms_pb(
        model(node("1", "A", output=tensor_type(-1, 6)), node("2", "A", output=tensor_type(-2)))
    )
    assert [op.outputs[0].shape for op in graph.ops] == [(-1, 6), None]


@pytest.mark.parametrize(
    ("name", "number"),
    [("ms_output_trace_code_graph_12.pb", 12), ("ms_output_vm_build_3.pb", 3), ("else.pb", 0)],
)
def test_the_graph_id_comes_from_the_file_name(tmp_path, name, number):
    path = tmp_path / name
    path.write_bytes(model())
    graph = read_ms_pb(path)
    assert (graph.graph_id, graph.path) == (number, str(path))


# Damage.


def nested(depth: int) -> bytes:
    inner = b""
    for _ in range(depth):
        inner = msg(18, inner)
    return inner


DAMAGED = {
    "nothing": b"",
    "no graph": num(1, 1),
    "zeros": bytes(10_000_000),
    "a length past the end": num(1, 1) + varint(4 << 3 | 2) + varint(1 << 62) + b"x",
    "a number without end": b"\x22" + b"\xff" * 30,
    "a group": b"\x23\x24",
    "wire type 7": b"\x27",
    "node number": num(1, 1) + msg(4, num(1, 5), msg(6, "0")),
    "node name is a number": model(msg(1, num(2, 1), msg(3, "Add"))),
    "input is text where a message belongs": model(msg(1, msg(1, "\x0f"), msg(2, "1"), msg(3, "A"))),
    "output type is a number": model(msg(1, msg(2, "1"), msg(3, "A"), num(6, 1))),
    "a node without a type": model(msg(1, msg(2, "1"))),
    "an unknown input": model(node("1", "Add", "x")),
    "an input without a name": model(msg(1, msg(1, num(2, 0)), msg(2, "1"), msg(3, "A"))),
    "a later node": model(node("1", "Add", "2"), node("2", "Add", "1")),
    "itself": model(node("1", "Add", "1")),
    "one name for two": model(node("1", "Add"), node("1", "Add"), node("2", "Add", "1")),
    "a parameter called as a node": model(param("1"), node("1", "A"), node("2", "A", "1")),
    "an unknown output": model(node("1", "Add"), msg(4, msg(1, "9"))),
    "values 10,000 deep": model(node("1", "A", more=attr("a", num(1, 31), nested(10_000)))),
    "a constant 10,000 deep": model(const("cst1", num(1, 31) + nested(10_000))),
    "packed floats cut off": model(node("1", "A", more=attr("a", num(1, 26), msg(13, b"abc")))),
}  # fmt: skip


@pytest.mark.parametrize("title", DAMAGED)
def test_damage_is_a_format_error_that_says_where(title):
    with pytest.raises(FormatError) as caught:
        parse_ms_pb(DAMAGED[title], "graph.pb")
    assert re.fullmatch(r"graph\.pb: byte \d+", caught.value.place)


def test_tuples_of_tuples_do_not_fill_the_memory():
    doubled = [node("1", "MakeTuple", "x", "x")]
    doubled += [node(str(n), "MakeTuple", str(n - 1), str(n - 1)) for n in range(2, 60)]
    with refused("graph_files/tuples", FormatError, place="g.pb"):
        parse_ms_pb(model(*doubled, msg(4, msg(1, "59")), param("x")), "g.pb")
    deep = [node("1", "MakeTuple", "x")]
    deep += [node(str(n), "MakeTuple", str(n - 1)) for n in range(2, 3000)]
    with refused("graph_files/tuples", FormatError) as caught:
        parse_ms_pb(model(*deep, msg(4, msg(1, "2999")), param("x")), "g.pb")
    assert caught.value.values["levels"] > caught.value.values["deepest"]


def test_a_graph_with_too_many_entries_or_a_huge_one_is_refused(monkeypatch):
    monkeypatch.setattr(workbench.graph_files.mindspore.pb, "MAX_ENTRIES", 5)
    with refused("graph_files/entries", FormatError, number=6, most=5):
        parse_ms_pb(num(1, 1) + msg(4, msg(1) * 6))
    monkeypatch.setattr(workbench.graph_files.mindspore.pb, "MAX_ENTRY", 5)
    with refused("graph_files/entries", FormatError, size=6, largest=5):
        parse_ms_pb(num(1, 1) + msg(4, msg(1, bytes(6))))


def test_a_file_that_cannot_be_read_is_named(tmp_path, monkeypatch):
    with refused("core/missing", FormatError, got=str(tmp_path / "gone.pb")):
        read_ms_pb(tmp_path / "gone.pb")
    with refused(("core/unreadable", "core/not-a-file"), FormatError, place=str(tmp_path)):
        read_ms_pb(tmp_path)
    (tmp_path / "large.pb").write_bytes(model())
    monkeypatch.setattr(workbench.graph_files.mindspore.pb, "MAX_BYTES", 10)
    with refused("core/too-large", FormatError, limit=10):
        read_ms_pb(tmp_path / "large.pb")


STAGE = (STAGES / "ms_output_optimize.pb").read_bytes()


@pytest.mark.parametrize("cut", range(1, len(STAGE), 61))
def test_a_file_cut_off_anywhere_says_at_which_byte(cut):
    with pytest.raises(FormatError) as caught:
        parse_ms_pb(STAGE[:cut], "f")
    assert re.fullmatch(r"f: byte \d+", caught.value.place)
