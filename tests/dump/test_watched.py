"""Watch mode: after which operators the outputs of which others are looked at again."""

import pytest

from workbench.core.plan import DumpPlan, Selector
from workbench.core.tensors import TensorSpec
from workbench.dump.watched import joint_name, watch_of
from workbench.graph.nodes import Graph, Op

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
