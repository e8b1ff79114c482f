"""A small graph as a picture: levels from top to bottom, nodes side by side, as plain values for a template."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from workbench._values import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

WIDE, HIGH, GAP, DROP = 244, 44, 16, 28
"""Width and height of a node, space beside it, space below it, in pixels."""


@dataclass(frozen=True, slots=True)
class Node:
    """An operator or a parameter; ``index`` is its worst row (-1: none), ``value`` what it gives, in words."""

    key: str
    level: int
    kind: Literal["operator", "parameter"]
    name: str
    op_type: str
    value: str = ""
    status: str = ""
    error: float | None = None
    index: int = -1


@dataclass(frozen=True, slots=True)
class Edge:
    """``start`` is read by ``end`` as its input ``slot``; both are keys of nodes."""

    start: str
    end: str
    slot: int


@dataclass(frozen=True, slots=True)
class Neighbourhood:
    """What operators read and what reads them, a few levels far; ``hidden`` counts what is left out, by level.

    The operators themselves, keys ``centre``, take the levels from 0 to ``depth``.
    """

    nodes: tuple[Node, ...] = ()
    edges: tuple[Edge, ...] = ()
    hidden: Mapping[int, int] | None = None
    centre: frozenset[str] = frozenset()
    depth: int = 0


class Box(NamedTuple):
    """Where a node is drawn, and whether it is one of the operators that the others surround."""

    x: int
    y: int
    node: Node
    centre: bool = False


class Wire(NamedTuple):
    """How an edge is drawn, as an SVG path, and whether it touches the operator itself."""

    path: str
    near: bool


class Note(NamedTuple):
    """How many nodes beside a level are left out."""

    x: int
    y: int
    hidden: int


class Picture(NamedTuple):
    """A drawing, in pixels."""

    width: int
    height: int
    boxes: tuple[Box, ...]
    wires: tuple[Wire, ...]
    notes: tuple[Note, ...]


def drawn(found: Neighbourhood) -> Picture:
    """Lay out levels from top to bottom, each of them centred."""
    levels: dict[int, list[Node]] = defaultdict(list)
    for node in found.nodes:
        levels[node.level].append(node)
    hidden = found.hidden or {}
    widest = max((len(nodes) for nodes in levels.values()), default=0)
    note = 90 if hidden else 0
    width = widest * (WIDE + GAP) - GAP + 2 + 2 * note
    boxes: dict[str, Box] = {}
    notes = []
    for row, level in enumerate(sorted(levels)):
        nodes, y = levels[level], 1 + row * (HIGH + DROP)
        left = (width - len(nodes) * (WIDE + GAP) + GAP) // 2
        for place, node in enumerate(nodes):
            x = left + place * (WIDE + GAP)
            boxes[node.key] = Box(x, y, node, node.key in found.centre)
        if hidden.get(level):
            right = left + len(nodes) * (WIDE + GAP)
            notes.append(Note(right - 6, y + HIGH // 2 + 4, hidden[level]))
    return Picture(
        max(width, 1),
        max(len(levels) * (HIGH + DROP) - DROP + 2, 1),
        tuple(boxes.values()),
        tuple(_wires(found.edges, boxes)),
        tuple(notes),
    )


def _wires(edges: Sequence[Edge], boxes: Mapping[str, Box]) -> list[Wire]:
    wires = {}
    for edge in edges:
        start, end = boxes[edge.start], boxes[edge.end]
        near = start.centre or end.centre
        path = _path(start, end)
        wires[path] = Wire(path, near)
    return sorted(wires.values(), key=lambda wire: wire.near)


def _path(start: Box, end: Box) -> str:
    """Curve from one node down to another; on one level, or upwards, around their sides."""
    if end.y <= start.y:
        x, y, to_x, to_y = start.x + WIDE, start.y + HIGH // 2, end.x + WIDE, end.y + HIGH // 2
        return f"M{x} {y}C{x + 40} {y} {to_x + 40} {to_y} {to_x} {to_y}"
    x, y, to_x, to_y = start.x + WIDE // 2, start.y + HIGH, end.x + WIDE // 2, end.y
    half = (to_y - y) // 2
    return f"M{x} {y}C{x} {y + half} {to_x} {to_y - half} {to_x} {to_y}"
