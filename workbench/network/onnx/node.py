"""The trace of a model: nodes become operators while their converters run."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from workbench.core.errors import GraphError
from workbench.graph import graph as nodes
from workbench.graph.graph import part_of
from workbench.network.onnx.names import kernel_name, safe_name, unique_name
from workbench.network.symbolic import Operators, Parameter, Tensor
from workbench.network.tracer import Trace
from workbench.ops import OPS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from workbench.graph.graph import SourceFrame

    Array = NDArray[Any]
    Item = Operators | Array
    """What a converter computes with: a tensor of the graph, a weight, or a constant."""


class UnsupportedNodeError(GraphError):
    """A node, or a way to use it, for which there are no operators."""


class OnnxTrace(Trace):
    """Collects operators; their names and source lines are those of the node at hand."""

    def __init__(self, seed: int) -> None:
        super().__init__(object(), seed)
        self._lines: tuple[SourceFrame, ...] = ()
        self._taken: set[str] = set()
        self._called: set[str] = set()
        self._first = 0  # operator of the node at hand

    def enter(self, node: nodes.Op) -> None:
        """Let what follows belong to a node."""
        self._lines, self._first = node.frames, len(self.ops)
        self._scopes[-1] = kernel_name(node.name) or safe_name(node.op_type)

    def leave(self, results: Sequence[Item]) -> None:
        """Call the operators of the node as ATC calls its kernels.

        Where a node is several, the one on the cube unit has the node's name, as ATC has no operator for its bias, or
        else the last that computes; others have that name with their type behind it. A node without a name has one
        from the reader.
        """
        numbers = range(self._first, len(self.ops))
        if not numbers:
            return
        engines = {number: OPS[self.ops[number].op_type].engine for number in numbers}
        computing = [number for number in numbers if engines[number] != "none"] or numbers
        main = next((n for n in computing if engines[n] == "cube"), computing[-1])
        whole = replace(self.ops[main], name=unique_name(self._scopes[-1], self._called))
        given: dict[int, dict[int, int]] = {}
        for slot, one in enumerate(results):
            for value in self._same(one):
                given.setdefault(value.op, {}).setdefault(value.slot, slot)
        for number in numbers:
            op, own = self.ops[number], whole.name
            if number != main:
                own = unique_name(f"{whole.name}/{op.op_type}", self._called)
            op = replace(op, name=own)
            self.ops[number] = part_of(op, whole, given.get(number, {})) if len(numbers) > 1 else op

    def _same(self, item: Item) -> Iterator[nodes.Value]:
        """Values of the node at hand that are a result: what gives it, and what it is only another shape of."""
        operand = item.value if isinstance(item, Tensor) else None
        while isinstance(operand, nodes.Value) and operand.op >= self._first:
            yield operand
            op = self.ops[operand.op]
            if OPS[op.op_type].engine != "none":
                break
            operand = op.operand(0)

    def _source(self) -> tuple[SourceFrame, ...]:
        return self._lines

    def add_feed(self, parameter: nodes.Parameter) -> Tensor:
        """Return the symbolic tensor of an input of the graph."""
        return Tensor(parameter.spec, self._add_parameter(parameter))

    def operand(self, item: Item) -> nodes.Operand:
        """Return what stands for an item in a graph."""
        return self._tensor(item, ())[0]

    def own_name(self, text: str, other: str) -> str:
        """Name of a parameter that no other one has."""
        return unique_name(safe_name(text) or other, self._taken)


class Node:
    """One node: its inputs, its attributes, and what converters ask of them."""

    def __init__(
        self,
        op_type: str,
        inputs: list[Item | None],
        attrs: Mapping[str, Any],
        opset: int,
        outputs: tuple[bool, ...],
    ) -> None:
        self.op_type = op_type
        self.inputs = inputs
        self.opset = opset
        self._attrs = attrs
        self._outputs = outputs
        self.count = len(outputs)

    def with_tensor(self, item: Item) -> Node:
        """Return the same node with another first input."""
        inputs = [item, *self.inputs[1:]]
        return Node(self.op_type, inputs, self._attrs, self.opset, self._outputs)

    def has(self, index: int) -> bool:
        """Whether an optional input is there."""
        return index < len(self.inputs) and self.inputs[index] is not None

    def wants(self, index: int) -> bool:
        """Whether anybody may read an output: it has a name."""
        return index < len(self._outputs) and self._outputs[index]

    def tensor(self, index: int = 0) -> Any:
        """Return an input as an operand of an operator."""
        if not self.has(index):
            raise GraphError("graph/onnx-no-input", input=index)
        return self.inputs[index]

    def shape(self, index: int = 0) -> tuple[int, ...]:
        """Shape of an input."""
        return tuple(self.tensor(index).shape)

    def dtype(self, index: int = 0) -> str:
        """Dtype name of an input."""
        return str(self.tensor(index).dtype)

    def rank(self, index: int = 0) -> int:
        """Rank of an input."""
        return len(self.shape(index))

    def known(self, index: int) -> Array:
        """Values of an input that a converter must know before the run."""
        value = values_of(self.tensor(index))
        if value is None:
            raise UnsupportedNodeError("graph/onnx-unknown-input", input=index)
        return value

    def known_ints(self, index: int) -> tuple[int, ...]:
        """Integers of an input."""
        return tuple(int(value) for value in self.known(index).ravel())

    def attr(self, name: str, default: Any = None) -> Any:
        """Value of an attribute; text is a str, several values are a tuple."""
        return self._attrs.get(name, default)

    def ints(self, name: str, default: tuple[int, ...] = ()) -> tuple[int, ...]:
        """Integers of an attribute."""
        return tuple(int(value) for value in self._attrs.get(name, default))

    def moved(self, name: str, index: int, since: int) -> tuple[int, ...] | None:
        """Integers that are an attribute before opset ``since`` and an input from then on."""
        if self.opset >= since:
            return self.known_ints(index) if self.has(index) else None
        return self.ints(name) if name in self._attrs else None

    def axis(self, value: int, rank: int | None = None) -> int:
        """Axis counted from the front."""
        size = self.rank() if rank is None else rank
        if not -size <= value < max(size, 1):
            raise GraphError("graph/axis", subject="axis", low=-size, high=size, got=value)
        return value % max(size, 1)

    def only(self, name: str, default: Any, *wanted: Any) -> None:
        """Refuse an attribute with any other value."""
        value = self.attr(name, default)
        if value not in wanted:
            raise UnsupportedNodeError(
                "graph/onnx-attribute", name=name, expected=wanted, got=value
            )


def values_of(item: Item) -> Array | None:
    """Values that are known before the run: those of weights and constants."""
    if isinstance(item, Parameter):
        import numpy as np

        return np.asarray(item.default)
    return None if isinstance(item, Operators) else item
