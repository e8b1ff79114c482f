"""Watch mode: after which operators the outputs of which others are looked at again."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.core.plan import DumpPlan, Selector
from workbench.core.tensors import TensorKey, TensorRecord, TensorSpec
from workbench.dump.formats.mindspore_name import sanitize
from workbench.dump.index import index_of
from workbench.dump.watched import joint_name, split_watched, watch_of
from workbench.graph.graph import Graph, Op

SPEC = (TensorSpec("float32", (4,)),)
NAMES = {"a": "Add", "c": "Add", "all": "HcomAllReduce", "b": "Mul", "d": "Add"}
GRAPH = Graph("g", ops=tuple(Op(name, kind, outputs=SPEC) for name, kind in NAMES.items()))


def plan(*layer, watched=("d", "c"), kind="watch"):
    select = tuple(Selector("name", name) for name in layer)
    return DumpPlan("/d", kind=kind, select=select, watched=watched)


@pytest.mark.parametrize(
    ("asked", "want"),
    [
        (plan("a", "b"), {"a": ("c", "d"), "b": ("c", "d")}),
        (plan(), {"a": ("c", "d"), "b": ("c", "d")}),  # neither collective nor watched ones
        (plan("all", "c", "b"), {"b": ("c", "d")}),
        (plan("a", watched=("d", "no such")), {"a": ("d",)}),
        (plan("a", watched=("no such",)), {}),
        (plan("no such"), {}),
        (plan("a", kind="data"), {}),
    ],
)
def test_what_is_looked_at_after_which_operator(asked, want):
    assert watch_of(asked, GRAPH) == want


def test_operators_of_subgraphs_count_too():
    inner = Graph("inner", ops=(Op("e", "Add", outputs=SPEC),))
    graph = Graph("g", ops=GRAPH.ops, subgraphs=(inner,))
    assert watch_of(plan("e", watched=("a",)), graph) == {"e": ("a",)}


def test_names_after_another_operator_are_joined():
    assert joint_name("net/A", "net/C") == "net/A_To_net/C"
    assert joint_name("", "net/C") == "net/C"


F = TensorSpec("float32", None, "ND")


def record(op_name, io="output", slot=0, op_type="Add", iteration=0, label=F):
    return TensorRecord(TensorKey(op_type, op_name, io, slot, 0, iteration), label)


def parted(*records, graphs=()):
    table = {(0, number): graph for number, graph in enumerate(graphs)}
    own, again = split_watched(index_of(records), table)
    assert len(own) + len(again) == len(records)
    return [r.key.op_name for r in own.records], [(r.after, r.key.op_name) for r in again]


def test_what_was_looked_at_again_is_told_from_operators_of_their_own():
    assert parted(record("c"), record("a_To_c"), record("b_To_c")) == (
        ["c"], [("a", "c"), ("b", "c")],
    )  # fmt: skip
    assert parted(record("a_To_c")) == (["a_To_c"], [])  # nothing of c itself
    assert parted(record("c", op_type="Mul"), record("a_To_c")) == (["c", "a_To_c"], [])
    assert parted(record("c", iteration=1), record("a_To_c")) == (["c", "a_To_c"], [])
    assert parted(record("c", label=F._replace(dtype="float16")), record("a_To_c"))[1] == []
    assert parted(record("c"), record("_To_c"), record("a_To_"))[1] == []


def test_an_operator_that_has_inputs_or_is_in_the_graph_is_one():
    joint = record("a_To_c")
    assert parted(record("c"), joint, record("a_To_c", "input"))[1] == []
    graph = Graph("g", ops=(Op("a_To/c", "Add", outputs=SPEC),))
    assert parted(record("c"), joint, graphs=[graph])[1] == []
    assert parted(record("c"), joint, graphs=[GRAPH])[1] == [("a", "c")]


def test_names_with_the_joint_in_them_are_parted_at_the_operator_that_was_dumped():
    own = record("x_To_y")
    assert parted(own, record("a_To_x_To_y")) == (["x_To_y"], [("a", "x_To_y")])
    assert parted(record("c"), record("x_To_y_To_c"))[1] == [("x_To_y", "c")]


WORDS = st.text("ab_To/", min_size=1, max_size=8)


@given(WORDS, WORDS)
def test_joined_names_come_apart_again(after, op_name):
    own = record(sanitize(op_name))
    again = record(sanitize(joint_name(after, op_name)))
    kept, found = split_watched(index_of([own, again]), {})
    assert kept.records == [own]
    assert [joint_name(r.after, r.key.op_name) for r in found] == [again.key.op_name]
    assert found[0].key.op_name == own.key.op_name
