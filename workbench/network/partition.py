"""Part a trace with control flow into graphs, as MindSpore's runtime does.

MindSpore makes a function of everything between two points where control flow meets. A function becomes
one graph a stretch of operators, cut where it calls others. Graphs are numbered function by function: the
stretches of a function first, what it calls afterwards. What follows a loop is a function that the
condition calls. Source: kernel graphs that MindSpore 2.10 writes on a CPU.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING

from workbench.graph.constants import operand_spec
from workbench.graph.control_flow import Bind, ControlFlow, If, Run, While
from workbench.graph.graph import Const, Graph, Param, Parameter, Value
from workbench.graph.rewrite import live_ops, map_operands
from workbench.network.finish import updating
from workbench.network.regions import Block, IfRegion, WhileRegion

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from workbench.core.tensors import TensorSpec
    from workbench.graph.control_flow import FlowStep, Network, Source
    from workbench.graph.graph import Op, Operand
    from workbench.network.regions import Region


def split(
    name: str,
    parameters: Sequence[Parameter],
    ops: Sequence[Op],
    outputs: tuple[Operand, ...],
    parts: Sequence[Region],
) -> ControlFlow:
    """Return the flow of a trace.

    Operators that a flag leaves out (`workbench.graph.graph.Op.unless`) are the side of a choice.
    """
    return _Splitter(parameters, ops, outputs, parts).flow(name)


def parted(network: Network) -> Network:
    """Return a network in which a flag leaves operators out as MindSpore runs it: as several graphs."""
    if isinstance(network, ControlFlow) or not any(op.unless for op in network.ops):
        return network
    parts = [Block(tuple(range(len(network.ops))))]
    flow = split(network.name, network.parameters, network.ops, network.outputs, parts)
    return replace(flow, batches=network.batches)


class _Splitter:
    """A trace while it is parted."""

    def __init__(
        self,
        parameters: Sequence[Parameter],
        ops: Sequence[Op],
        outputs: tuple[Operand, ...],
        parts: Sequence[Region],
    ) -> None:
        self._parameters, self._ops, self._outputs = parameters, ops, outputs
        own = tuple(operand for part in _all(parts) for operand in _operands(part))
        self._alive = live_ops(ops, (*outputs, *own), updating(ops))
        self._numbers = {op.name: number for number, op in enumerate(ops)}
        self._main = self._tidy(parts) or [Block()]
        blocks = list(self._numbered(self._main))
        self._ids = {block: graph_id for graph_id, block in enumerate(blocks)}
        self._ops = _counted(ops, blocks)
        home = {number: block for block in blocks for number in block.ops}
        choices = (operand for part in _all(self._main) for operand in _operands(part))
        self._chosen = (*outputs, *choices)
        away = {operand for operand in self._chosen if isinstance(operand, Value)}
        for number in self._alive:
            for operand in ops[number].flat_inputs():
                if isinstance(operand, Value) and home[operand.op] is not home[number]:
                    away.add(operand)
        order = sorted(away, key=lambda value: (value.op, value.slot))
        self._exports: dict[Block, list[Value]] = {block: [] for block in blocks}
        for value in order:
            self._exports[home[value.op]].append(value)

    def flow(self, name: str) -> ControlFlow:
        entry = self._main[0] if isinstance(self._main[0], Block) and self._main[0].ops else None
        graphs = [self._graph(block, inner=block is not entry) for block in self._ids]
        read = {parameter.name for graph in graphs for parameter in graph.parameters}
        read |= {self._parameters[o.index].name for o in self._chosen if isinstance(o, Param)}
        return ControlFlow(
            name=name,
            graphs=tuple(graphs),
            steps=tuple(self._steps(self._main)),
            parameters=tuple(
                parameter
                for parameter in self._parameters
                if not parameter.captured and (not parameter.is_weight or parameter.name in read)
            ),
            results=tuple(self._source(operand) for operand in self._outputs),
        )

    def _tidy(self, parts: Sequence[Region]) -> list[Region]:
        """Drop what nothing needs; what follows a choice stays, since the choice returns there."""
        found: list[Region] = []
        for part in parts:
            if isinstance(part, Block):
                pieces = self._pieces(part)
                found += pieces or ([Block()] if found and isinstance(found[-1], IfRegion) else [])
            elif isinstance(part, IfRegion):
                then, orelse = self._tidy(part.then), self._tidy(part.orelse)
                found.append(replace(part, then=then, orelse=orelse))
            else:
                condition, body = self._tidy(part.condition), self._tidy(part.body)
                found.append(replace(part, condition=condition, body=body))
        return found

    def _pieces(self, part: Block) -> list[Region]:
        """Cut a stretch where operators are left out if a flag is true."""
        alive = [number for number in part.ops if number in self._alive]
        found: list[Region] = []
        for flag, group in groupby(alive, lambda number: self._ops[number].unless):
            piece = Block(tuple(group))
            if flag:
                value = Value(self._numbers[flag])
                found.append(IfRegion(value, (), [], (), [piece], ()))
            else:
                found.append(piece)
        return [*found, Block()] if found and isinstance(found[-1], IfRegion) else found

    def _numbered(self, parts: Sequence[Region], *, again: bool = False) -> Iterator[Block]:
        """Yield the stretches of a function, then those of the functions that it calls.

        A function that has read weights and ends in a call has a graph for what comes after that, which
        is nothing. ``again`` says that it ends in one to the condition of a loop; what follows a choice is
        then a function as well.
        """
        own: list[Block] = []
        called: list[tuple[Sequence[Region], bool]] = []
        for place, part in enumerate(parts):
            if isinstance(part, Block):
                own.append(part)
                continue
            rest = parts[place + 1 :]
            if isinstance(part, WhileRegion):
                called += [(part.condition, False), (part.body, True), (rest, again)]
                again = True
                break
            sides = [(part.then, False), (part.orelse, False)]
            called += [(rest, again), *sides] if again else sides
            if again:
                loads = any(map(self._reads_weights, _all([part])))
                own += [Block(), Block()] if loads else []
                again = False
                break
        if again and any(map(self._reads_weights, own)):
            own.append(Block())
        yield from own
        for function, ends in called:
            yield from self._numbered(function, again=ends)

    def _reads_weights(self, block: Region) -> bool:
        if not isinstance(block, Block):
            return False
        operands = (o for number in block.ops for o in self._ops[number].flat_inputs())
        return any(isinstance(o, Param) and self._parameters[o.index].is_weight for o in operands)

    def _value_name(self, value: Value) -> str:
        return f"{self._ops[value.op].name}:{value.slot}"

    def _source(self, operand: Operand) -> Source:
        """What a value is called, or the constant that it is."""
        if isinstance(operand, Const):
            return operand
        if isinstance(operand, Value):
            return self._value_name(operand)
        assert isinstance(operand, Param)
        return self._parameters[operand.index].name

    def _steps(self, parts: Sequence[Region]) -> Iterator[FlowStep]:
        for part in parts:
            if isinstance(part, Block):
                if part.ops:
                    yield Run(self._ids[part], tuple(map(self._value_name, self._exports[part])))
            elif isinstance(part, IfRegion):
                names = self._names(part.results)
                then = (*self._steps(part.then), *_bound(names, self._named(part.then_values)))
                orelse = (*self._steps(part.orelse), *_bound(names, self._named(part.else_values)))
                yield If(self._source(part.predicate), then, orelse)
            else:
                names = self._names(part.carried)
                yield Bind(names, self._named(part.first))
                condition, predicate = tuple(self._steps(part.condition)), part.predicate
                body = (*self._steps(part.body), *_bound(names, self._named(part.after)))
                yield While(part.name, condition, self._source(predicate), body)

    def _named(self, operands: Sequence[Operand]) -> tuple[Source, ...]:
        return tuple(self._source(operand) for operand in operands)

    def _names(self, params: Sequence[Param]) -> tuple[str, ...]:
        return tuple(self._parameters[param.index].name for param in params)

    def _graph(self, block: Block, *, inner: bool) -> Graph:
        """Return the graph of a stretch; one without operators hands a value of the network on."""
        name, graph_id = f"kernel_graph{self._ids[block]}", self._ids[block]
        if not block.ops:
            parameter = Parameter("result", self._spec(self._outputs[0]), captured=True)
            return Graph(name, (parameter,), (), (Param(0),), graph_id, inner=inner)
        numbers = {old: new for new, old in enumerate(block.ops)}
        read = self._read(block.ops)
        order = sorted(read, key=lambda operand: not read[operand].is_weight)
        places = {old: Param(new) for new, old in enumerate(order)}

        def new(operand: Param | Value) -> Operand:
            if operand in places:
                return places[operand]
            assert isinstance(operand, Value)
            return replace(operand, op=numbers[operand.op])

        ops = (self._ops[number] for number in block.ops)
        return Graph(
            name,
            tuple(read[operand] for operand in order),
            tuple(
                replace(op, inputs=tuple(map_operands(o, new) for o in op.inputs), unless="")
                for op in ops
            ),
            tuple(new(value) for value in self._exports[block]),
            graph_id,
            inner=inner,
        )

    def _read(self, numbers: Sequence[int]) -> dict[Param | Value, Parameter]:
        """What operators read that none of them writes, in the order of reading."""
        read: dict[Param | Value, Parameter] = {}
        for number in numbers:
            for operand in self._ops[number].flat_inputs():
                if isinstance(operand, Param):
                    read[operand] = self._parameters[operand.index]
                elif isinstance(operand, Value) and operand.op not in numbers:
                    name = self._value_name(operand)
                    read[operand] = Parameter(name, self._spec(operand), captured=True)
        return read

    def _spec(self, operand: Operand) -> TensorSpec:
        spec = operand_spec(operand, self._ops, self._parameters)
        assert spec is not None
        return spec


def _counted(ops: Sequence[Op], blocks: Sequence[Block]) -> list[Op]:
    """Return operators with ids that count those of one scope and type through the graphs in order."""
    counts: Counter[str] = Counter()
    found = list(ops)
    for number in (number for block in blocks for number in block.ops):
        stem = ops[number].name.rpartition("-op")[0]
        found[number] = replace(ops[number], name=f"{stem}-op{counts[stem]}")
        counts[stem] += 1
    return found


def _bound(names: tuple[str, ...], values: tuple[Source, ...]) -> Iterator[Bind]:
    if names:
        yield Bind(names, values)


def _all(parts: Sequence[Region]) -> Iterator[Region]:
    """Parts, and those inside them."""
    for part in parts:
        yield part
        if isinstance(part, WhileRegion):
            yield from _all(part.condition)
            yield from _all(part.body)
        elif isinstance(part, IfRegion):
            yield from _all(part.then)
            yield from _all(part.orelse)


def _operands(part: Region) -> tuple[Operand, ...]:
    return () if isinstance(part, Block) else part.operands()
