"""Converters of operators that combine elements along axes."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

from workbench.network.onnx.elementwise import cast, is_float, number
from workbench.network.onnx.node import UnsupportedNodeError
from workbench.network.symbolic import record, record_all

if TYPE_CHECKING:
    from collections.abc import Callable

    from workbench.network.onnx.node import Node

    Converter = Callable[[Node], Any]

INT64 = 35
"""MindSpore's number of int64."""


def _axes(node: Node) -> tuple[tuple[int, ...], bool]:
    """Axes of a reduction, and whether there is nothing to reduce."""
    axes = node.moved("axes", 1, 13 if node.op_type == "ReduceSum" else 18)
    if not axes:
        return tuple(range(node.rank())), bool(node.attr("noop_with_empty_axes", 0))
    return tuple(node.axis(axis) for axis in axes), False


def reduced(op_type: str) -> Converter:
    """Return the converter of a reduction that we have."""

    def convert(node: Node) -> Any:
        axes, nothing = _axes(node)
        return node.tensor() if nothing else apply(op_type, node.tensor(), axes, _keep(node))

    return convert


def extreme(op_type: str, logical: str) -> Converter:
    """Return the converter of the largest or smallest element; of bools it is any or all."""

    def convert(node: Node) -> Any:
        return reduced(logical if node.dtype() == "bool" else op_type)(node)

    return convert


def composed(before: str, after: str = "") -> Converter:
    """Return the converter of a sum of ``before`` of the elements, of which ``after`` is taken."""

    def convert(node: Node) -> Any:
        axes, nothing = _axes(node)
        x = record(before, node.tensor()) if before else node.tensor()
        total = x if nothing else apply("ReduceSum", x, axes, _keep(node))
        return _after(after, total) if after else total

    return convert


def _after(op_type: str, x: Any) -> Any:
    """Root or logarithm; of integers it is computed in float32 and cut off."""
    dtype = str(x.dtype)
    if is_float(dtype):
        return record(op_type, x)
    return cast(record(op_type, cast(x, "float32")), dtype)


def _keep(node: Node) -> bool:
    return bool(node.attr("keepdims", 1))


def apply(op_type: str, x: Any, axes: tuple[int, ...], keep: bool) -> Any:
    """Add a reduction; over no axes at all nothing is left to do."""
    if not axes:
        return x
    skip = (False,) if op_type == "ReduceSum" else ()
    return record(op_type, x, axes, keep, *skip)


def log_sum_exp(node: Node) -> Any:
    """Return max + log(sum(exp(x - max)))."""
    axes, nothing = _axes(node)
    x = node.tensor()
    if nothing:
        return x
    largest = apply("ReduceMax", x, axes, True)
    total = apply("ReduceSum", record("Exp", record("Sub", x, largest)), axes, True)
    found = record("Add", record("Log", total), largest)
    return found if _keep(node) else record("Squeeze", found, axes)


def place_of(op_type: str) -> Converter:
    """Return the converter of the place of an extreme value."""

    def convert(node: Node) -> Any:
        x, axis = node.tensor(), node.axis(node.attr("axis", 0))
        last = bool(node.attr("select_last_index", 0))
        if last:
            x = record("ReverseV2", x, (axis,))
        found = record(op_type, x, axis, INT64)
        if last:
            found = record("Sub", number(node.shape()[axis] - 1, "int64"), found)
        return record("ExpandDims", found, axis) if _keep(node) else found

    return convert


def coerced(node: Node, function: Callable[[Any, int], Any]) -> Any:
    """Apply along an axis; before opset 13 along all axes from ``axis`` on, joined."""
    shape = node.shape()
    axis = node.axis(node.attr("axis", -1 if node.opset >= 13 else 1), max(len(shape), 1))
    if node.opset >= 13 or prod(shape[axis:]) == shape[-1]:
        return function(node.tensor(), axis if node.opset >= 13 else len(shape) - 1)
    flat = record("Reshape", node.tensor(), (prod(shape[:axis]), prod(shape[axis:])))
    return record("Reshape", function(flat, 1), shape)


def softmax(node: Node) -> Any:
    """Softmax along an axis."""
    return coerced(node, lambda x, axis: record("Softmax", x, (axis,)))


def log_softmax(node: Node) -> Any:
    """Logarithm of the softmax along an axis."""
    return coerced(node, lambda x, axis: record("LogSoftmax", x, axis))


def hardmax(node: Node) -> Any:
    """1 at the first largest element, else 0."""

    def function(x: Any, axis: int) -> Any:
        on, off = number(1, str(x.dtype)), number(0, str(x.dtype))
        return record("OneHot", record("Argmax", x, axis, INT64), x.shape[axis], on, off, axis)

    return coerced(node, function)


def top_k(node: Node) -> Any:
    """Return the k largest or smallest elements along an axis, and their places."""
    k = int(node.attr("k")) if node.opset < 10 else node.known_ints(1)[0]
    x, axis = node.tensor(), node.axis(node.attr("axis", -1))
    largest = bool(node.attr("largest", 1))
    order = list(range(node.rank()))
    order[axis], order[-1] = order[-1], order[axis]
    if not largest and node.dtype().startswith("u"):
        raise UnsupportedNodeError("graph/onnx-attribute", name="largest", expected=[1], got=0)
    if axis != node.rank() - 1:
        x = record("Transpose", x, tuple(order))
    values, places = record_all("TopK", x if largest else record("Neg", x), k, sorted=True)
    found = [values if largest else record("Neg", values), cast(places, "int64")]
    if axis != node.rank() - 1:
        found = [record("Transpose", one, tuple(order)) for one in found]
    return found


def cumulative(op_type: str) -> Converter:
    """Return the converter of sums or products of all elements up to each."""

    def convert(node: Node) -> Any:
        axis = node.axis(node.known_ints(1)[0])
        flags = (bool(node.attr("exclusive", 0)), bool(node.attr("reverse", 0)))
        return record(op_type, node.tensor(), axis, *flags)

    return convert


def lp_normalization(node: Node) -> Any:
    """Divide by the norm along an axis; a norm of 0 leaves zeros."""
    node.only("p", 2, 1, 2)
    x, axis = node.tensor(), node.axis(node.attr("axis", -1))
    if node.attr("p", 2) == 1:
        norm = apply("ReduceSum", record("Abs", x), (axis,), True)
    else:
        norm = record("Sqrt", apply("ReduceSum", record("Square", x), (axis,), True))
    zero, one = number(0, node.dtype()), number(1, node.dtype())
    return record("RealDiv", x, record("Select", record("Equal", norm, zero), one, norm))


def mean_variance(node: Node) -> Any:
    """(x - mean) / (√(mean of x² - mean²) + 1e-9)."""
    x, dtype = node.tensor(), node.dtype()
    axes = tuple(node.axis(axis) for axis in node.ints("axes", (0, 2, 3)))
    middle = apply("ReduceMean", x, axes, True)
    squares = apply("ReduceMean", record("Square", x), axes, True)
    spread = record("Sqrt", record("Sub", squares, record("Square", middle)))
    return record("RealDiv", record("Sub", x, middle), record("Add", spread, number(1e-9, dtype)))


def global_pool(op_type: str) -> Converter:
    """Return the converter of a pooling over all of space."""

    def convert(node: Node) -> Any:
        return apply(op_type, node.tensor(), tuple(range(2, node.rank())), True)

    return convert


def global_lp_pool(node: Node) -> Any:
    """p-norm over all of space."""
    power = number(node.attr("p", 2), node.dtype())
    root = number(1 / node.attr("p", 2), node.dtype())
    raised = record("Pow", record("Abs", node.tensor()), power)
    return record("Pow", apply("ReduceSum", raised, tuple(range(2, node.rank())), True), root)
