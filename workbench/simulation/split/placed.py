"""A network cut for the ranks of one job, before pipeline stages: local operators, with collectives behind sums."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from workbench.core.errors import GraphError
from workbench.graph.graph import Bundle, Const, Op, Param, Value
from workbench.graph.rewrite import map_operands
from workbench.ops import COLLECTIVES, bind
from workbench.simulation.split.lies import Cutting, Lie
from workbench.simulation.split.moves import MOVE, Move, exchange
from workbench.simulation.split.rules import (
    SHAPED,
    Exchange,
    Place,
    exchange_of,
    exchanged,
    factors_of,
    place_outputs,
    refuse,
    share_ranks,
)
from workbench.simulation.split.weights import has_experts, is_tokens, lie_of, sequence_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from workbench.core.tensors import TensorSpec
    from workbench.graph.graph import Graph, Operand
    from workbench.run.parallel import Parallel
    from workbench.simulation.split.moves import Insert

PRODUCTS = ("MatMul", "BatchMatMul")
UPDATES = ("Adam", "SGD", "ApplyMomentum", "Assign", "AssignAdd")
"""Operators that change weights, of which each rank changes its part."""

SHARED = "Default/parallel_optimizer"
"""Scope in which weights are gathered that ranks share."""

SEQUENCES = ("cp", "sp")
"""Axes that cut a sequence."""

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
        self._gathered: dict[tuple[Value | Param, str], Value] = {}
        self._weight_of = dict(_gradients(graph))
        self._forward = {op.unique_id: n for n, op in enumerate(graph.ops) if op.unique_id}
        self._names = Counter(op.name for op in graph.ops)

    def place(self, number: int) -> None:
        """Place an operator, before it what makes its inputs whole, and behind it what makes its results so."""
        op = self.graph.ops[number]
        taken = self._taken(number)
        tensors = [one for one in bind(op).tensors if not isinstance(one, Const)]
        lies = place_outputs(self._place(number, [taken.get(one, one) for one in tensors]))
        self._check(op, lies)
        specs = tuple(
            lie.spec(spec, self.parallel) for lie, spec in zip(lies, op.outputs, strict=True)
        )
        inputs = tuple(map_operands(one, lambda o: taken[o]) for one in op.inputs)
        if op.op_type in SHAPED:
            inputs = (inputs[0], self._shape(inputs[1], specs[0]), *inputs[2:])
        own = self._add(replace(op, inputs=inputs, outputs=specs, input_specs=()), lies, number)
        for slot, lie in enumerate(lies):
            self._now[Value(number, slot)] = self._settled(Value(own, slot), lie, number, slot)

    def _taken(self, number: int) -> dict[Operand, Operand]:
        """Return what each operand is now; those of a product with what its factors have to have whole."""
        op = self.graph.ops[number]
        taken: dict[Operand, Operand] = {one: self._new(one) for one in _values(op)}
        if op.op_type not in UPDATES:
            for one in taken:
                if isinstance(one, Param) and (cut := self._shared_cut(one)) is not None:
                    taken[one] = self._whole(one, 0, cut, number)
        if op.op_type not in PRODUCTS:
            return taken
        factors = [one for one in bind(op).tensors if not isinstance(one, Const)]
        while True:
            place = self._place(number, [taken[one] for one in factors])
            sent = exchange_of(place)
            if sent is not None:
                one = factors[sent.which]
                taken[one] = self._exchanged(taken[one], place, sent, number)
                continue
            moved = _to_gather(place)
            if moved is None:
                return taken
            which, dim, cut = moved
            value = taken[factors[which]]
            if not isinstance(value, Value):
                refuse(place, (cut,))
            taken[factors[which]] = self._whole(value, dim, cut, number)

    def _place(self, number: int, tensors: Sequence[Operand]) -> Place:
        """Return an operator as its rule sees it, with operands that are already placed."""
        op = self.graph.ops[number]
        bound = bind(op)
        own = [one for one in bound.tensors if not isinstance(one, Const)]
        shapes = tuple(self.graph.spec(one).shape or () for one in own)  # type: ignore[union-attr]
        lies = tuple(map(self._lie, tensors))
        like = self._forward.get(op.forward_id)
        first = None if like is None else self.graph.ops[like].operand(0)
        known = self._lie(self._new(first)) if isinstance(first, Param | Value) else None
        return Place(op, lies, shapes, bound.settings, self.parallel, known)

    def _shared_cut(self, weight: Param) -> Cutting | None:
        """Return the cut of a weight's rows by data parallelism, if ranks share it."""
        rows = next(iter(self.parameters[weight.index].axes), ())
        return rows[-1] if rows and rows[-1].axis == "dp" and self._is_weight(weight) else None

    def _is_weight(self, weight: Param) -> bool:
        return self.graph.parameters[weight.index].is_weight

    def _whole(self, value: Value | Param, dim: int, cut: Cutting, number: int) -> Value:
        """Gather a dimension of a value along the axis that cuts it innermost; once for all who read it."""
        key = value, cut.axis
        if key not in self._gathered:
            lie, spec = self._lie(value), self._spec(value)
            dim %= len(lie.axes)
            axes = [*lie.axes]
            axes[dim] = axes[dim][:-1]
            move = Move(self._insert(number, value), self.parallel, dim, cut)
            self._gathered[key] = move.gather(value, spec, Lie(tuple(axes)))
        return self._gathered[key]

    def _exchanged(self, value: Operand, place: Place, sent: Exchange, number: int) -> Value:
        """Send a factor to the ranks of experts, or back; once for all who read it."""
        lie = exchanged(place, sent)
        if not isinstance(value, Value):
            refuse(place, (Cutting("ep"),))
        if (value, "ep") not in self._gathered:
            shape = place.shapes[sent.which]
            _check_sizes(place.op.name, shape, lie, self.parallel)
            insert, spec = self._insert(number, value), self._spec(value)
            self._gathered[value, "ep"] = exchange(insert, self.parallel, value, spec, sent, lie)
        return self._gathered[value, "ep"]

    def _spec(self, value: Value | Param) -> TensorSpec:
        """Return the spec of a rank's part."""
        if isinstance(value, Value):
            return self.ops[value.op].outputs[value.slot]
        whole = self.graph.parameters[value.index]
        return self.parameters[value.index].spec(whole.spec, self.parallel)

    def _settled(self, value: Value, lie: Lie, number: int, slot: int) -> Value:
        """Return a result whose parts are added up: whole on all ranks, or a part of the sequence on each."""
        op = self.graph.ops[number]
        for axis in lie.partial:
            cuts = self._part_of_sum(op, lie, axis, number, slot)
            lie = replace(lie, partial=tuple(one for one in lie.partial if one != axis))
            if cuts is None:
                value = self._reduced(value, lie, axis, number)
                continue
            dim, cut = cuts
            axes = [*lie.axes]
            axes[dim] = (*axes[dim], cut)
            lie = replace(lie, axes=tuple(axes))
            move = Move(self._insert(number, value), self.parallel, dim, cut)
            spec = self.ops[value.op].outputs[value.slot]
            _check_sizes(op.name, op.outputs[slot].shape or (), lie, self.parallel)
            value = move.scatter(value, spec, lie)
        if op.op_type != LOSS:
            for axis in lie.mean:
                lie = replace(lie, mean=tuple(one for one in lie.mean if one != axis))
                value = self._reduced(value, replace(lie, known=False), axis, number)
                value = self._averaged(value, lie, axis, number)
        elif lie.mean and op.attrs.get("is_grad"):
            for axis in lie.mean:
                value = self._averaged(value, Lie(lie.axes), axis, number)
        return value

    def _part_of_sum(
        self, op: Op, lie: Lie, axis: str, number: int, slot: int
    ) -> tuple[int, Cutting] | None:
        """Return which dimension of parts of a sum each rank keeps a part of, and how; `None` if all keep the whole.

        Those are gradients of keys and values, which context parallelism cuts as these are; with sequence parallelism
        results of products that tensor parallelism cuts; and gradients of weights that data parallel ranks share.
        """
        weight = self._weight_of.get(Value(number, slot))
        if axis == "dp" and weight is not None:
            cut = self._shared_cut(weight)
            return None if cut is None else (0, cut)
        if axis == "cp" and op.op_type == "BatchMatMul":
            return len(lie.axes) - 2, Cutting("cp", zigzag=self.parallel.zigzag)
        if axis == "tp" and self.parallel.sp > 1 and op.op_type == "MatMul":
            samples = self._samples((op.outputs[0].shape or (0,))[0])
            return (0, Cutting("sp", samples // self.parallel.dp)) if samples else None
        return None

    def _samples(self, rows: int) -> int:
        """Return how many sequences the rows of a matrix are of; 0 if they are no tokens."""
        shapes = [one.spec.shape or () for one in self.graph.parameters if is_tokens(one)]
        return next((samples for samples, length in shapes if samples * length == rows), 0)

    def _lie(self, operand: Operand) -> Lie:
        """Return how an operand lies that is already placed."""
        if isinstance(operand, Param):
            return self.parameters[operand.index]
        assert isinstance(operand, Value)
        return self.lies[operand.op][operand.slot]

    def _new(self, operand: Operand) -> Operand:
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
        for lie, spec in zip(lies, op.outputs, strict=False):
            _check_sizes(op.name, spec.shape or (), lie, self.parallel)

    def _add(self, op: Op, lies: tuple[Lie, ...], came: int) -> int:
        self.ops.append(op)
        self.lies.append(lies)
        self.came.append(came)
        return len(self.ops) - 1

    def _reduced(self, value: Value, lie: Lie, axis: str, came: int) -> Value:
        """Add up the parts that the ranks of an axis hold."""
        before = self.ops[value.op]
        scope = before.scope if axis == "tp" else GRADIENTS
        attrs = {
            "op": "sum",
            "group": axis,
            "index": 0,
            "fusion": int(axis != "tp"),
            "no_eliminate": True,
        }
        op = self._inserted("AllReduce", scope, (value,), before.outputs[value.slot], attrs)
        return Value(self._add(op, (lie,), came))

    def _averaged(self, value: Value, lie: Lie, axis: str, came: int) -> Value:
        """Divide by the ranks: the mean of each rank's own part, or its gradient, is that over all."""
        scale = Const(1.0 / self.parallel.size(axis), "float32", ())
        spec = self.ops[value.op].outputs[value.slot]
        scope = "Gradients/Default/_VirtualDiv"
        if not self.ops[value.op].name.startswith("Gradients/"):
            scope = "Default/_VirtualDiv"
        op = self._inserted("Mul", scope, (value, scale), spec, {})
        return Value(self._add(op, (lie,), came))

    def _insert(self, came: int, value: Value | Param) -> Insert:
        """Return what puts in the operators of a move, behind the operator of a value."""
        scope = SHARED
        if isinstance(value, Value):
            scope = self.ops[value.op].scope.partition("/_Virtual")[0]

        def insert(
            kind: str,
            inputs: tuple[Operand, ...],
            spec: TensorSpec,
            attrs: dict[str, Any],
            lie: Lie,
        ) -> Value:
            there = scope if kind in COLLECTIVES else f"{scope}/{MOVE}"
            op = self._inserted(kind, there, inputs, spec, attrs)
            return Value(self._add(op, (lie,), came))

        return insert

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


def _gradients(graph: Graph) -> Iterator[tuple[Value, Param]]:
    """Yield the gradients that an optimizer reads, and the weight of each."""
    for op in graph.ops:
        if op.op_type in UPDATES:
            weight = op.operand(0)
            for one in op.flat_inputs():
                if isinstance(weight, Param) and isinstance(one, Value):
                    shape = graph.parameters[weight.index].spec.shape
                    given = graph.spec(one)
                    if shape and given is not None and given.shape == shape:
                        yield one, weight


def _values(op: Op) -> Iterator[Operand]:
    """Yield the operands of an operator that are placed, those in tuples among them."""
    return (one for one in op.flat_inputs() if isinstance(one, Param | Value))


def _to_gather(place: Place) -> tuple[int, int, Cutting] | None:
    """Return the factor of a product that has to have a dimension whole which a sequence is cut in, and the cut.

    It is that of the second factor where both have one: the keys of attention.
    """
    rows, inner, other, columns = factors_of(place)
    if inner[0] != other[0]:
        for which, (cuts, dim), others in ((1, other, inner[0]), (0, inner, other[0])):
            if cuts and cuts[-1].axis in SEQUENCES and cuts[-1] not in others:
                return which, dim, cuts[-1]
    elif share_ranks(rows[0], columns[0], place.parallel):
        for which, (cuts, dim) in ((1, columns), (0, rows)):
            if cuts[-1].axis in SEQUENCES:
                return which, dim, cuts[-1]
    return None


def _check_sizes(name: str, shape: tuple[int, ...], lie: Lie, parallel: Parallel) -> None:
    """Refuse sizes that the axes that cut them do not divide."""
    for size, cuts in zip(shape, lie.axes, strict=True):
        left = size
        for cut in cuts:
            ranks = parallel.size(cut.axis)
            if left % (cut.each * ranks * cut.pieces):
                code = "simulation/split-zigzag" if cut.zigzag else "simulation/split-size"
                raise GraphError(code, op=name, axis=cut.axis, ranks=ranks, got=size)
            left //= ranks


def place_network(graph: Graph, parallel: Parallel) -> Placed:
    """Cut a traced network for the axes of a job; raises GraphError for an operator that cannot be cut so."""
    if sequence_of(parallel) and not any(map(is_tokens, graph.parameters)):
        raise GraphError("simulation/split-sequence", got=graph.name)
    if parallel.ep > 1 and not has_experts(graph.parameters):
        raise GraphError("simulation/split-experts", got=graph.name)
    placing = _Placing(graph, parallel)
    for parameter, lie in zip(graph.parameters, placing.parameters, strict=True):
        _check_sizes(parameter.name, parameter.spec.shape or (), lie, parallel)
    for number in range(len(graph.ops)):
        placing.place(number)
    return Placed(tuple(placing.ops), tuple(placing.lies), placing.parameters, tuple(placing.came))
