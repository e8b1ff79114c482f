"""Which pairs a seed draws: a network, what is done to one side, and what is left to lean on."""

from __future__ import annotations

import zlib
from collections import Counter
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from diagnosing.renaming import word

from aligning.changes import CHANGES
from aligning.twin import Twin
from workbench.graph.graph import Graph, Value
from workbench.graph.rewrite import map_operands
from workbench.network.models import MODELS, TRAININGS, load_graph

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.random import Generator

    from workbench.graph.graph import Op

NETWORKS = (*MODELS, *TRAININGS)

TWICE = "used twice"
"""A part of the network that is applied again to what it gives, on both sides: with the same weights."""

MIXED = "three of these"


class Hints(NamedTuple):
    """What one side keeps: names are ``kept``, ``meaningless`` or ``another's``."""

    names: str
    lines: bool
    parameters: bool = True


HINTS: dict[str, Hints] = {
    "names, lines": Hints("kept", True),
    "names": Hints("kept", False),
    "lines": Hints("meaningless", True),
    "neither": Hints("meaningless", False),
    "false names": Hints("another's", False),
    "no weights' names either": Hints("meaningless", False, False),
}
"""What an alignment may lean on, beside structure."""

ROWS = (*CHANGES, TWICE, MIXED)
MIXES = 3
"""How many mixes there are of every network and hint, a seed."""

LARGEST = 60
"""Operators of a part that is used twice."""


@dataclass(frozen=True)
class Case:
    """Two graphs, and for every name of the target's operators those of the golden's."""

    network: str
    row: str
    hints: str
    target: Graph
    golden: Graph
    truth: Mapping[str, frozenset[str]]
    done: tuple[str, ...] = ()


@lru_cache(maxsize=len(NETWORKS))
def network(name: str) -> Graph:
    """A network of the catalogue; weights do not matter."""
    graph = load_graph(name, 0)
    if not isinstance(graph, Graph):
        raise TypeError(f"network must be one graph, got {name!r}")
    return graph


def draw(seed: int, networks: tuple[str, ...] = NETWORKS) -> Iterator[Case]:
    """All pairs of a seed: every network with every change and every mix, under every hint."""
    for name in networks:
        for row in ROWS:
            for hints in HINTS:
                for number in range(MIXES if row == MIXED else 1):
                    made = make(seed, name, row, hints, number)
                    if made is not None:
                        yield made


def make(seed: int, name: str, row: str, hints: str, number: int = 0) -> Case | None:
    """One pair; ``None`` if the network has no place for the change."""
    rng = np.random.default_rng([seed, zlib.crc32(repr((name, row, hints, number)).encode())])
    golden = network(name)
    if row == TWICE or (row == MIXED and rng.random() < 0.25):
        golden = used_twice(golden, rng)
        if golden is None:
            return None
    twin = Twin(golden)
    changes = {MIXED: [], TWICE: ["reordered"]}.get(row, [row])
    if row == MIXED:
        changes = [[*CHANGES][int(i)] for i in 1 + rng.permutation(len(CHANGES) - 1)[:3]]
    done = [
        one for one in changes if CHANGES[one](twin, rng, (0.1, 0.4, 1.0)[int(rng.integers(3))])
    ]
    if not done:
        return None
    _hide(twin, HINTS[hints], rng)
    case = Case(name, row, hints, twin.graph(), golden, twin.truth(), tuple(done))
    return _turned(case) if rng.random() < 0.5 else case


def _turned(case: Case) -> Case:
    """The same pair with the changed graph for a golden."""
    truth: dict[str, set[str]] = {op.name: set() for op in case.golden.ops}
    for name, stands in case.truth.items():
        for one in stands:
            truth[one].add(name)
    inverse = {name: frozenset(found) for name, found in truth.items()}
    return replace(case, target=case.golden, golden=case.target, truth=inverse)


def _hide(twin: Twin, hints: Hints, rng: Generator) -> None:
    """Take away what is not to be leaned on."""
    if hints.names == "meaningless":
        twin.rename(lambda op, number: f"{word(op.name)}{number}")
    elif hints.names == "another's":
        _exchange(twin, rng)
    if not hints.lines:
        for number, op in twin.ops.items():
            twin.ops[number] = replace(op, frames=())
    if not hints.parameters:
        order = rng.permutation(len(twin.parameters))
        twin.parameters = [
            replace(one, name=f"w{order[n]}") if one.is_weight else one
            for n, one in enumerate(twin.parameters)
        ]


def _exchange(twin: Twin, rng: Generator) -> None:
    """Give every operator another one's scope, and number it there anew: names of others come up again."""
    scopes = [op.scope for op in twin.ops.values()]
    mixed = dict(zip(twin.ops, (scopes[int(i)] for i in rng.permutation(len(scopes))), strict=True))
    counts: Counter[str] = Counter()

    def other(op: Op, number: int) -> str:
        stem = f"{mixed[number]}/{op.op_type}"
        counts[stem] += 1
        return f"{stem}-op{counts[stem] - 1}"

    twin.rename(other)


def used_twice(graph: Graph, rng: Generator) -> Graph | None:
    """A part of the graph applied twice in sequence; ``None`` if no part fits."""
    twin = Twin(graph)
    for number in rng.permutation(len(graph.ops)):
        end = int(number)
        found = [part for part in _parts(graph, end) if len(part[1]) <= LARGEST]
        if found:
            first, part = found[int(rng.integers(len(found)))]
            _again(twin, first, sorted(part), end)
            return twin.graph()
    return None


def _parts(graph: Graph, end: int) -> Iterator[tuple[Value, set[int]]]:
    """Parts that end in an operator: the only value they read, and their operators."""
    inside: set[int] = {end}
    while True:
        values = {
            one
            for n in inside
            for one in graph.ops[n].flat_inputs()
            if isinstance(one, Value) and one.op not in inside
        }
        if not values or len(inside) > LARGEST:
            return
        if len(values) == 1:
            (value,) = values
            same = graph.ops[value.op].outputs[value.slot : value.slot + 1]
            if same == graph.ops[end].outputs[:1] and not any(graph.ops[n].unless for n in inside):
                yield value, set(inside)
        inside.add(max(value.op for value in values))


def _again(twin: Twin, first: Value, part: list[int], end: int) -> None:
    """Copy a part behind its end."""
    new: dict[int, int] = {}
    readers = twin.readers(Value(end, 0))
    for step, number in enumerate(part):
        op = twin.ops[number]
        copied = replace(op, name=f"{op.name}{len(twin.ops)}")
        value = twin.add(copied, (), twin.places[end] + (step + 1) / 100)
        new[number] = value.op

    def moved(operand):
        if operand == first:
            return Value(end, 0)
        if isinstance(operand, Value) and operand.op in new:
            return replace(operand, op=new[operand.op])
        return operand

    for number in new.values():
        op = twin.ops[number]
        twin.put(number, replace(op, inputs=tuple(map_operands(one, moved) for one in op.inputs)))
    twin.redirect(Value(end, 0), Value(new[end], 0), keep=[n for n in twin.ops if n not in readers])
