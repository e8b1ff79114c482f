"""A network cut for the ranks of one job, before pipeline stages: local operators, with collectives behind sums."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from workbench.core.errors import GraphError
from workbench.core.tensors import TensorSpec
from workbench.graph.graph import Bundle, Const, Op, Param, Value
from workbench.graph.rewrite import map_operands
from workbench.ops import bind
from workbench.simulation.split.lies import Lie
from workbench.simulation.split.rules import SHAPED, Place, place_outputs
from workbench.simulation.split.weights import lie_of

if TYPE_CHECKING:
    from workbench.graph.graph import Graph, Operand
    from workbench.run.parallel import Parallel

LOSS = "SparseSoftmaxCrossEntropyWithLogits"
GRADIENTS = "Default/grad_reducer-DistributedGradReducer"
"""Scope of the collectives of data parallelism, as ``nn.DistributedGradReducer`` has it."""


@dataclass(frozen=True, slots=True)
class Placed:
    """Operators of the whole network with the specs of a rank's parts.

    Attributes
    ----------
    ops : tuple of Op
        In order; operands are `Value` of these operators and `Param` of the network's parameters.
    lies : tuple of tuple of Lie
        How the outputs of each operator lie.
    parameters : tuple of Lie
        How the parameters do.
    came : tuple of int
        The operator of the network that each is, or that it stands behind.
    """

    ops: tuple[Op, ...]
    lies: tuple[tuple[Lie, ...], ...]
    parameters: tuple[Lie, ...]
    came: tuple[int, ...]

    def lie(self, operand: Operand) -> Lie | None:
        """Return how an operand lies; `None` for a constant."""
        if isinstance(operand, Value):
            return self.lies[operand.op][operand.slot]
        return self.parameters[operand.index] if isinstance(operand, Param) else None


class _Placing:
    """A network while its operators are placed."""

    def __init__(self, graph: Graph, parallel: Parallel) -> None:
        self.graph, self.parallel = graph, parallel
        self.parameters = tuple(lie_of(one, parallel) for one in graph.parameters)
        self.ops: list[Op] = []
        self.lies: list[tuple[Lie, ...]] = []
        self.came: list[int] = []
        self._now: dict[Value, Value] = {}
        self._names = Counter(op.name for op in graph.ops)

    def place(self, number: int) -> None:
        """Place an operator, and behind it what makes its results whole."""
        op = self.graph.ops[number]
        bound = bind(op)
        tensors = [one for one in bound.tensors if not isinstance(one, Const)]
        shapes = tuple(self.graph.spec(one).shape or () for one in tensors)  # type: ignore[union-attr]
        lies = place_outputs(Place(op, tuple(map(self._lie, tensors)), shapes, bound.settings))
        self._check(op, lies)
        specs = tuple(
            lie.spec(spec, self.parallel) for lie, spec in zip(lies, op.outputs, strict=True)
        )
        inputs = tuple(map_operands(one, self._new) for one in op.inputs)
        if op.op_type in SHAPED:
            inputs = (inputs[0], self._shape(inputs[1], specs[0]), *inputs[2:])
        own = self._add(replace(op, inputs=inputs, outputs=specs, input_specs=()), lies, number)
        for slot, lie in enumerate(lies):
            whole = (
                self._reduced(Value(own, slot), lie, number) if lie.partial else Value(own, slot)
            )
            if op.op_type == LOSS and lie.mean and op.attrs.get("is_grad"):
                whole = self._averaged(whole, lie, number)
            self._now[Value(number, slot)] = whole

    def _lie(self, operand: Operand) -> Lie:
        if isinstance(operand, Param):
            return self.parameters[operand.index]
        assert isinstance(operand, Value)
        now = self._now[operand]
        return self.lies[now.op][now.slot]

    def _new(self, operand: Param | Value) -> Operand:
        return self._now[operand] if isinstance(operand, Value) else operand

    def _shape(self, operand: Operand, spec: TensorSpec) -> Operand:
        """Return the shape that a rank's part is given, for that of the whole."""
        if not isinstance(operand, Const | Bundle):
            raise GraphError("simulation/split-operator", op="", type="Reshape", axis="")
        shape = spec.shape or ()
        given = operand.value if isinstance(operand, Const) else ()
        if isinstance(given, tuple) and -1 in given:
            shape = tuple(-1 if one == -1 else size for one, size in zip(given, shape, strict=True))
        return (
            Const(shape, "tuple")
            if not isinstance(operand, Const)
            else replace(operand, value=shape)
        )

    def _check(self, op: Op, lies: tuple[Lie, ...]) -> None:
        for lie, spec in zip(lies, op.outputs, strict=True):
            for size, axis in zip(spec.shape or (), lie.axes, strict=True):
                if axis and size % self.parallel.size(axis):
                    ranks = self.parallel.size(axis)
                    raise GraphError(
                        "simulation/split-size", op=op.name, axis=axis, ranks=ranks, got=size
                    )

    def _add(self, op: Op, lies: tuple[Lie, ...], came: int) -> int:
        self.ops.append(op)
        self.lies.append(lies)
        self.came.append(came)
        return len(self.ops) - 1

    def _reduced(self, value: Value, lie: Lie, came: int) -> Value:
        """Add up parts of a sum, one axis after the other."""
        for axis in lie.partial:
            before = self.ops[value.op]
            lie = Lie(lie.axes, tuple(one for one in lie.partial if one != axis))
            scope = GRADIENTS if axis == "dp" else before.scope
            attrs = {
                "op": "sum",
                "group": axis,
                "index": 0,
                "fusion": int(axis == "dp"),
                "no_eliminate": True,
            }
            op = self._inserted("AllReduce", scope, (value,), before.outputs[value.slot], attrs)
            value = Value(self._add(op, (lie,), came))
        return value

    def _averaged(self, value: Value, lie: Lie, came: int) -> Value:
        """Divide a gradient of the mean over a rank's batch by the ranks: it is that of the mean over all batches."""
        ranks = self.parallel.dp
        scale = Const(1.0 / ranks, "float32", ())
        spec = self.ops[value.op].outputs[value.slot]
        op = self._inserted("Mul", "Gradients/Default/_VirtualDiv", (value, scale), spec, {})
        return Value(self._add(op, (Lie(lie.axes),), came))

    def _inserted(
        self,
        kind: str,
        scope: str,
        inputs: tuple[Operand, ...],
        spec: TensorSpec,
        attrs: dict[str, Any],
    ) -> Op:
        number = 0
        while self._names[f"{scope}/{kind}-op{number}"]:
            number += 1
        name = f"{scope}/{kind}-op{number}"
        self._names[name] += 1
        return Op(name, kind, inputs, attrs, (spec,))


def place_network(graph: Graph, parallel: Parallel) -> Placed:
    """Cut a traced network for the axes of a job; raises GraphError for an operator that cannot be cut so."""
    placing = _Placing(graph, parallel)
    for parameter, lie in zip(graph.parameters, placing.parameters, strict=True):
        for size, axis in zip(parameter.spec.shape or (), lie.axes, strict=True):
            if axis and size % parallel.size(axis):
                ranks = parallel.size(axis)
                raise GraphError(
                    "simulation/split-size", op=parameter.name, axis=axis, ranks=ranks, got=size
                )
    for number in range(len(graph.ops)):
        placing.place(number)
    return Placed(tuple(placing.ops), tuple(placing.lies), placing.parameters, tuple(placing.came))
