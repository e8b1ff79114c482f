"""Cells: their parts in order, names of weights, training and number formats of all below."""

import numpy as np
import pytest

from kit.words import refused
from workbench.core.errors import GraphError
from workbench.core.tensors import TensorSpec
from workbench.graph.graph import Param
from workbench.network.cell import Cell
from workbench.network.symbolic import Parameter, Tensor
from workbench.network.tracer import trace


def weight(name="", requires_grad=True):
    return Parameter(np.ones(2, np.float32), name, requires_grad)


class Leaf(Cell):
    def __init__(self):
        self.a, self.b = weight(), weight("given", requires_grad=False)
        self.size = 3

    def construct(self, x):
        return x * self.a + self.b


class Tree(Cell):
    def __init__(self, auto_prefix=True):
        super().__init__(auto_prefix)
        self.first, self.own, self.second = Leaf(), weight(), Leaf()
        self.again = self.first
        self.words = ["not", "a", "part"]

    def construct(self, x):
        return self.again(self.second(self.first(x))) * self.own


def test_parts_are_attributes_in_their_order():
    tree = Tree()
    assert [name for name, _ in tree.cells()] == ["first", "second", "again"]
    assert [name for name, _ in tree.own_parameters()] == ["own"]
    assert [name for name, _ in tree.first.own_parameters()] == ["a", "b"]


@pytest.mark.parametrize(
    ("auto_prefix", "names"),
    [
        (
            True,
            ["own", "first.a", "first.given", "second.a", "second.given", "again.a", "again.given"],
        ),
        (False, ["own", "a", "given", "a", "given", "a", "given"]),
    ],
)
def test_weights_are_called_by_the_way_to_them(auto_prefix, names):
    tree = Tree(auto_prefix)
    assert [name for name, _ in tree.parameters_and_names()] == names
    assert [name for name, _ in tree.parameters_and_names("net.")] == [
        f"net.{name}" for name in names
    ]


def test_every_weight_is_listed_once_and_called_by_its_first_name():
    tree = Tree()
    assert [one.name for one in tree.get_parameters()] == names_of(tree)
    assert names_of(tree) == ["own", "first.a", "first.given", "second.a", "second.given"]
    assert [one.name for one in tree.trainable_params()] == ["own", "first.a", "second.a"]
    assert tree.first.a.name == "first.a"


def names_of(tree):
    return [one.name for one in trace(tree, np.ones(2, np.float32)).parameters if one.is_weight]


def test_training_and_number_formats_hold_for_all_below():
    tree = Tree()
    assert tree.set_train() is tree
    assert [one.training for one in (tree, tree.first, tree.second)] == [True] * 3
    tree.first.set_train(False)
    assert [one.training for one in (tree, tree.first, tree.second)] == [True, False, True]
    tree.set_train(False)
    assert [one.training for one in (tree, tree.first, tree.second)] == [False] * 3
    assert tree.to_float(np.float16) is tree
    assert [one.float_dtype for one in (tree, tree.first, tree.second)] == ["float16"] * 3
    tree.second.to_float("bfloat16")
    assert [one.float_dtype for one in (tree, tree.first, tree.second)] == [
        "float16",
        "float16",
        "bfloat16",
    ]


@pytest.mark.parametrize("dtype", ["float64", "int32", np.int8])
def test_a_cell_computes_in_floats_of_at_most_32_bits(dtype):
    with refused(
        "core/choice", GraphError, subject="dtype", known=["float16", "float32", "bfloat16"]
    ):
        Leaf().to_float(dtype)


def test_inputs_are_taken_in_the_cells_own_format():
    single, whole = (Tensor(TensorSpec(name, (2,)), Param(0)) for name in ("float32", "int32"))
    leaf = Leaf()
    assert leaf.taken(single) is single
    leaf.to_float("float32")
    assert leaf.taken(single) is single
    leaf.to_float("float16")
    assert leaf.taken(whole) is whole
    assert leaf.taken([whole, 3, "x"]) == (whole, 3, "x")
    graph = trace(Leaf().to_float("float16"), np.ones(2, np.float32))
    assert {op.outputs[0].dtype for op in graph.ops} == {"float16"}


def test_a_cell_without_construct_says_so():
    with refused("graph/no-construct", GraphError, cell="Cell"):
        trace(Cell(), np.ones(2, np.float32))
