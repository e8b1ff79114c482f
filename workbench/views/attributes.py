"""What both graphs say of an operator: settings side by side, and the lines of its graph file."""

from __future__ import annotations

import re
from collections import deque
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from workbench.comparison.align.differences import setting_differences
from workbench.core.errors import WorkbenchError
from workbench.core.words import Message
from workbench.graph.graph import Bundle, Graph, Param, Parameter, Value
from workbench.graph_files.mindspore.write_text import write_ms_text
from workbench.ops import settings

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from workbench.core.tensors import TensorSpec
    from workbench.graph.graph import Op, Operand

_LARGEST = 256 << 20
_LONGEST = 2000
_MOST = 60
_PIECE = 1 << 20
_STARTS = re.compile(r"\s*(%\S+ ?=|%\d+\(|(op|node|attribute) ?\{|subgraph )")
_TEXT_FILES = frozenset((".ir", ".txt", ".pbtxt", ".dat"))


@dataclass(frozen=True, slots=True)
class AttributeRow:
    """A setting of an operator on both sides, in words; empty where a side does not have it."""

    name: str
    target: str
    golden: str
    differs: bool


@dataclass(frozen=True, slots=True)
class GraphLines:
    """Lines of a graph file around an operator: ``first`` is the number of the first one, 0 for lines written anew.

    ``here`` are the numbers (from 0) of those that are the operator's; ``note`` says what the lines are.
    """

    path: str
    first: int
    lines: tuple[str, ...]
    here: range
    note: Message | None = None


def settings_of_both(target: Op | None, golden: Op | None) -> tuple[AttributeRow, ...]:
    """Return all settings of both sides, those that differ first."""
    ours, theirs = (settings(op) if op is not None else {} for op in (target, golden))
    unlike: set[str] = set()
    if target is not None and golden is not None:
        unlike = {one.subject for one in setting_differences(target, golden, 0.0)}
    names = sorted({**ours, **theirs}, key=lambda name: (name not in unlike, name))
    return tuple(
        AttributeRow(name, _words(ours, name), _words(theirs, name), name in unlike)
        for name in names
    )


def _words(found: dict[str, object], name: str) -> str:
    return repr(found[name]) if name in found else ""


def graph_lines(graph: Graph | None, number: int, around: int = 3) -> GraphLines | None:
    """Return what the graph file says of an operator; of a binary one the same, written as text.

    ``None`` without a graph.
    """
    if graph is None or not 0 <= number < len(graph.ops):
        return None
    op, path = graph.ops[number], Path(graph.path) if graph.path else None
    if path is not None and path.suffix in _TEXT_FILES:
        found = _from_file(path, op, around)
        if found is not None:
            return found
    why = "ir-binary" if path is not None and path.is_file() else "ir-none"
    if path is not None and path.suffix in _TEXT_FILES:
        why = "ir-changed"
    return _anew(graph, op, Message(f"views/{why}"))


def _from_file(path: Path, op: Op, around: int) -> GraphLines | None:
    """Find the operator's lines in a text file by its name."""
    needles = (f"Fullname with scope: ({op.name})", f'name: "{op.name}"')
    try:
        if not path.is_file() or path.stat().st_size > _LARGEST:
            return None
        number = _line_with(path, [needle.encode() for needle in needles])
        if not number:
            return None
        with path.open(encoding="utf-8", errors="replace", newline="\n") as file:
            near = islice(enumerate(file, 1), max(0, number - 1 - _MOST - around), None)
            return _searched(str(path), map(_cut, near), needles, around)
    except OSError:
        return None


def _line_with(path: Path, needles: Sequence[bytes]) -> int:
    """Return the number of the first line that holds one of the needles; 0 if none does.

    Large graphs have a million lines: whole pieces of the file are searched, not one line after the other.
    """
    longest = max(map(len, needles))
    done, left = 1, b""
    with path.open("rb") as file:
        while piece := file.read(_PIECE):
            text = left + piece
            places = [place for needle in needles if (place := text.find(needle)) >= 0]
            if places:
                return done + text.count(b"\n", 0, min(places))
            left = text[-longest:]
            done += text.count(b"\n", 0, len(text) - len(left))
    return 0


def _cut(numbered: tuple[int, str]) -> tuple[int, str]:
    number, text = numbered[0], numbered[1].rstrip("\r\n")
    return number, text if len(text) <= _LONGEST else f"{text[:_LONGEST]} …"


def _searched(
    path: str, lines: Iterator[tuple[int, str]], needles: tuple[str, ...], around: int
) -> GraphLines | None:
    """Return the statement that holds one of the needles, and some lines around it."""
    before: deque[tuple[int, str]] = deque(maxlen=_MOST + around + 1)
    for one in lines:
        before.append(one)
        if any(needle in one[1] for needle in needles):
            break
    else:
        return None
    number = before[-1][0]
    start = max((at for at, line in before if _STARTS.match(line)), default=0)
    own = [one for one in before if one[0] >= max(start, number - _MOST)]
    first = own[0][0]
    shown = [one for one in before if first - around <= one[0] < first] + own
    end, left = 0, around
    for at, line in lines:
        if not end and (_STARTS.match(line) or line.startswith("}") or at - first > _MOST):
            end = at
        if end:
            left -= 1
        if left < 0:
            break
        shown.append((at, line))
    end = end or shown[-1][0] + 1
    here = range(first - shown[0][0], min(end - shown[0][0], len(shown)))
    return GraphLines(path, shown[0][0], tuple(text for _, text in shown), here)


def _anew(graph: Graph, op: Op, note: Message) -> GraphLines | None:
    """Write an operator alone as MindSpore's text, its inputs as parameters."""
    alone = _alone(graph, op)
    try:
        text = write_ms_text(alone).splitlines()
    except (WorkbenchError, ValueError, TypeError, KeyError, IndexError):  # of another dialect
        return None
    needles = (f"Fullname with scope: ({op.name})",)
    own = _searched(graph.path, iter(list(enumerate(text, 1))), needles, 0)
    return replace(own, first=0, note=note) if own is not None else None


def _alone(graph: Graph, op: Op) -> Graph:
    parameters: list[Parameter] = []

    def outside(operand: Operand) -> Operand:
        if isinstance(operand, Bundle):
            return replace(operand, items=tuple(map(outside, operand.items)))
        if not isinstance(operand, Value | Param):
            return operand
        parameters.append(_stand_in(graph, operand))
        return Param(len(parameters) - 1)

    own = replace(op, inputs=tuple(map(outside, op.inputs)), unless="")
    return Graph(graph.name, tuple(parameters), (own,), (Value(0, 0),), graph.graph_id)


def _stand_in(graph: Graph, operand: Value | Param) -> Parameter:
    if isinstance(operand, Param):
        return graph.parameters[operand.index]
    made = graph.ops[operand.op]
    return Parameter(f"{made.name}:{operand.slot}", _spec(made, operand.slot))


def _spec(op: Op, slot: int) -> TensorSpec:
    from workbench.core.tensors import TensorSpec

    return op.outputs[slot] if slot < len(op.outputs) else TensorSpec("", None)
