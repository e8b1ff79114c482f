"""What a converter asks of a node: inputs, known values, attributes, axes."""

import numpy as np
import pytest

from kit.words import refused
from workbench.core.errors import GraphError
from workbench.core.tensors import TensorSpec
from workbench.graph.graph import Param
from workbench.network.onnx.node import Node, UnsupportedNodeError, values_of
from workbench.network.symbolic import Parameter, Tensor

FED = Tensor(TensorSpec("float16", (2, 3, 4)), Param(0))
WEIGHT = Parameter(np.array([[1, 2], [3, 4]], np.int32))
KNOWN = np.array([5, -6], np.int64)


def node(opset=13, **attrs):
    return Node("Some", [FED, None, WEIGHT, KNOWN], attrs, opset, (True, False, True))


def test_inputs_may_be_left_out_in_the_middle_and_at_the_end():
    assert [node().has(index) for index in range(5)] == [True, False, True, True, False]
    for index in (1, 4):
        with refused("graph/onnx-no-input", GraphError, input=index):
            node().tensor(index)


def test_an_input_has_shape_dtype_and_rank():
    found = node()
    assert (found.shape(), found.dtype(), found.rank()) == ((2, 3, 4), "float16", 3)
    assert (found.shape(2), found.dtype(2), found.rank(2)) == ((2, 2), "int32", 2)
    assert found.tensor() is FED


def test_weights_and_constants_are_known_and_what_is_fed_is_not():
    found = node()
    np.testing.assert_array_equal(found.known(2), [[1, 2], [3, 4]])
    assert found.known_ints(2) == (1, 2, 3, 4)
    assert found.known_ints(3) == (5, -6)
    with refused("graph/onnx-unknown-input", UnsupportedNodeError, input=0):
        found.known(0)
    assert values_of(FED) is None
    assert values_of(KNOWN) is KNOWN


def test_outputs_that_have_a_name_are_wanted():
    assert [node().wants(slot) for slot in range(4)] == [True, False, True, False]
    assert node().count == 3


def test_an_attribute_has_a_value_or_the_default():
    found = node(alpha=0.5, pads=(1, 2))
    assert (found.attr("alpha", 1.0), found.attr("beta", 1.0), found.attr("beta")) == (0.5, 1, None)
    assert (found.ints("pads"), found.ints("strides", (7,)), found.ints("strides")) == (
        (1, 2),
        (7,),
        (),
    )


def test_what_was_an_attribute_is_an_input_from_an_opset_on():
    assert node(12, axes=(0, 1)).moved("axes", 3, 13) == (0, 1)
    assert node(12).moved("axes", 3, 13) is None
    assert node(13, axes=(0, 1)).moved("axes", 3, 13) == (5, -6)
    assert node(13, axes=(0, 1)).moved("axes", 1, 13) is None


@pytest.mark.parametrize(("value", "want"), [(0, 0), (2, 2), (-1, 2), (-3, 0)])
def test_an_axis_is_counted_from_the_front(value, want):
    assert node().axis(value) == want


@pytest.mark.parametrize(("value", "rank"), [(3, None), (-4, None), (1, 1), (1, 0), (-1, 0)])
def test_an_axis_that_is_not_there_is_refused(value, rank):
    size = 3 if rank is None else rank
    with refused("graph/axis", GraphError, low=-size, high=size, got=value):
        node().axis(value, rank)
    assert node().axis(0, 0) == 0


def test_an_attribute_with_another_value_is_refused():
    node(mode="a").only("mode", "b", "a", "b")
    node().only("mode", "b", "b")
    with refused(
        "graph/onnx-attribute", UnsupportedNodeError, name="mode", expected=("b",), got="a"
    ):
        node(mode="a").only("mode", "b", "b")


def test_a_node_with_another_first_input_is_the_same_otherwise():
    other = node(alpha=0.5).with_tensor(WEIGHT)
    assert other.tensor() is WEIGHT
    assert (other.op_type, other.opset, other.attr("alpha"), other.count) == ("Some", 13, 0.5, 3)
    assert [other.has(index) for index in range(4)] == [True, False, True, True]
