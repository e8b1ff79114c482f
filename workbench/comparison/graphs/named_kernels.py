"""The kernels that a graph was compiled into, as far as the names of their files tell.

Of a run that has files of the graph engine and no graph, another framework's model knows operators, order and edges.
A kernel that bears the name of a node stands for it; one that bears the names of several, one behind the other, for
all of these, if they hang together and one value alone leaves them. What the compiler has inserted is called so.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from workbench._values import NamedTuple
from workbench.comparison.graphs.quantization import (
    ended_layer,
    inserted_names,
    names_quantization,
)
from workbench.dump.formats.ge_name import standard_name
from workbench.graph.graph import ORIGINAL_NAMES, Op, Value
from workbench.graph_files.onnx.dialect import OUTPUTS

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from workbench.graph.graph import Graph, Operand

_MOST_PARTS = 64
"""Most operators that one kernel is taken for."""


def take_apart(name: str, known: Collection[str], most: int = 2) -> list[tuple[str, ...]]:
    """Return the ways in which a name is several known ones, one behind the other; no more than ``most``.

    >>> take_apart("conv1relu1", {"conv1", "relu1", "conv"})
    [('conv1', 'relu1')]
    >>> sorted(take_apart("abc", {"a", "bc", "ab", "c"})), take_apart("conv1", {"conv1"})
    ([('a', 'bc'), ('ab', 'c')], [])
    """
    lengths = sorted({len(one) for one in known if one})
    ways: list[list[tuple[str, ...]]] = [[()], *([] for _ in name)]
    for end in range(1, len(name) + 1):
        for length in lengths:
            if length > end or not ways[end - length] or name[end - length : end] not in known:
                continue
            longer = [
                (*way, name[end - length : end])
                for way in ways[end - length]
                if len(way) < _MOST_PARTS
            ]
            ways[end] = (ways[end] + longer)[: most + 1]
    return [way for way in ways[-1] if len(way) > 1][:most]


_INSERTED = re.compile(r"trans_(?:Cast|TransData)_\d{1,9}", re.ASCII)
"""What GE calls the casts and changes of layout that it inserts."""


def names_inserted(name: str) -> bool:
    """Whether the graph engine calls a cast or a change of layout so that it has inserted."""
    return _INSERTED.fullmatch(name) is not None


class _Kernel(NamedTuple):
    """A file's operator, and the nodes that it stands for, in their order."""

    op_type: str
    name: str
    members: tuple[int, ...]


def compiled_as(graph: Graph, files: Iterable[tuple[str, str]]) -> Graph:
    """Return the graph of another framework's model as the graph engine's, with the kernels that files tell.

    ``files`` are types and names. Nodes without a file stay as they are. Nothing of the result may be computed:
    settings are the model's.
    """
    files = sorted(set(files))
    nodes = _Nodes.of(graph, [standard_name(name) for _, name in files])
    ends = [nodes.ended(standard_name(name)) for _, name in files]
    ended = {number for members in ends for number in members}
    kernels: dict[int, _Kernel] = {}
    taken = set[int]()
    inserted: list[Op] = []
    for (op_type, name), layer in zip(files, ends, strict=True):
        own = nodes.members(standard_name(name))
        members = layer or (() if ended.intersection(own) else own)
        if members and taken.isdisjoint(members):
            taken.update(members)
            kernels[members[-1]] = _Kernel(op_type, name, members)
        elif names_inserted(name) or own or standard_name(name) in nodes.inserted:
            inserted.append(_inserted(op_type, name))
    return _rebuilt(graph, kernels, taken, inserted)


def _by_name(graph: Graph) -> dict[str, int]:
    """Nodes by the names that files give them, as far as one alone has it."""
    found: dict[str, int] = {}
    twice = set[str]()
    for number, op in enumerate(graph.ops):
        name = standard_name(op.name)
        if name in found:
            twice.add(name)
        found[name] = number
    return {name: number for name, number in found.items() if name not in twice}


class _Nodes(NamedTuple):
    """Nodes of a model by the names of files: all, and those that no file bears; and what may be inserted beside."""

    graph: Graph
    numbers: Mapping[str, int]
    silent: frozenset[str]
    inserted: frozenset[str]

    @classmethod
    def of(cls, graph: Graph, files: Collection[str]) -> _Nodes:
        numbers = _by_name(graph)
        return cls(graph, numbers, frozenset(numbers.keys() - {*files}), inserted_names(numbers))

    def members(self, name: str) -> tuple[int, ...]:
        """Nodes that a kernel stands for; none if nobody knows."""
        if name in self.numbers:
            return (self.numbers[name],)
        known = self.silent | self.inserted if names_quantization("", name) else self.silent
        ways = take_apart(name, known)
        if len(ways) != 1:
            return ()
        named = [self.numbers[part] for part in ways[0] if part in self.silent]
        if len(set(named)) < len(named) or not named:
            return ()
        return self._together(self._with_folded(named))

    def ended(self, name: str) -> tuple[int, ...]:
        """Nodes of the layer whose sums a file's operator makes floats again, if a file has these sums."""
        layer = sorted(self.numbers[node] for node in ended_layer(name, self.numbers))
        summing = [n for n in layer if standard_name(self.graph.ops[n].name) not in self.silent]
        return self._together(layer) if len(summing) == 1 and summing == layer[:1] else ()

    def _with_folded(self, members: Collection[int]) -> list[int]:
        """Add nodes between members that went into their weights: no kernel bears the name of such a one."""
        found = set(members)
        for number in sorted(members)[:-1]:
            between = _readers(self.graph, number)
            if len(between) == 1 and between.isdisjoint(found) and self._is_folded(*between):
                found |= between if _readers(self.graph, *between) <= found else set()
        return sorted(found)

    def _is_folded(self, number: int) -> bool:
        """Whether no file bears a node's name, and it reads one value and weights."""
        op = self.graph.ops[number]
        kinds = [isinstance(one, Value) for one in op.flat_inputs()]
        return standard_name(op.name) in self.silent and kinds.count(True) == 1 < len(kinds)

    def _together(self, members: Sequence[int]) -> tuple[int, ...]:
        return tuple(members) if _hangs_together(self.graph, members) else ()


def _hangs_together(graph: Graph, members: Sequence[int]) -> bool:
    """Whether each but the last is read by another one, and the last alone by others."""
    for number in members:
        read = _readers(graph, number)
        inside = bool(read) and read <= set(members)
        if inside == (number == members[-1]):
            return False
    return True


def _readers(graph: Graph, number: int) -> set[int]:
    """Nodes that read what a node gives."""
    slots = range(max(1, len(graph.ops[number].outputs)))
    return {reader for slot in slots for reader, _ in graph.consumers.get(Value(number, slot), ())}


def _inserted(op_type: str, name: str) -> Op:
    return Op(name, op_type, (), {ORIGINAL_NAMES: (), OUTPUTS: ()}, ())


def _rebuilt(
    graph: Graph,
    kernels: Mapping[int, _Kernel],
    taken: Collection[int],
    inserted: Sequence[Op],
) -> Graph:
    """Put kernels in the places of their last nodes, and what was inserted behind all."""
    places: dict[int, int] = {}
    ops: list[Op] = []

    def moved(operand: Operand) -> Operand:
        return replace(operand, op=places[operand.op]) if isinstance(operand, Value) else operand

    for number, op in enumerate(graph.ops):
        kernel = kernels.get(number)
        if kernel is None and number in taken:
            continue
        members = kernel.members if kernel is not None else (number,)
        inputs = tuple(moved(one) for one in _outer(graph, members))
        for member in members:
            places[member] = len(ops)
        ops.append(replace(op, inputs=inputs) if kernel is None else _op(graph, kernel, inputs))
    outputs = tuple(map(moved, graph.outputs))
    return replace(graph, ops=(*ops, *inserted), outputs=outputs, dialect="ge")


def _outer(graph: Graph, members: Sequence[int]) -> Iterator[Operand]:
    """What members read that none of them gives, in their order."""
    for member in members:
        for operand in graph.ops[member].inputs:
            if not (isinstance(operand, Value) and operand.op in members):
                yield operand


def _op(graph: Graph, kernel: _Kernel, inputs: tuple[Operand, ...]) -> Op:
    last = graph.ops[kernel.members[-1]]
    stands = tuple(graph.ops[member].name for member in kernel.members)
    attrs = {OUTPUTS: (), ORIGINAL_NAMES: stands}
    return Op(kernel.name, kernel.op_type, inputs, attrs, last.outputs)
