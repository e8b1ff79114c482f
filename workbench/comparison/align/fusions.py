"""Kernels that stand for other operators of the network than those of the other side's graph.

The graph engine fuses operators into one, makes several of one, and inserts some; its graph says which
(`workbench.comparison.graphs.ge_origins`). Kernels that have an original operator in common belong together, and so
do those of both sides: connected components, which may be of any size on either side. Inside, outputs
correspond that are the same tensor of the network.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from workbench.comparison.align.alignment import Fusion
from workbench.comparison.align.groups import Components, side_of
from workbench.comparison.graphs.ge_origins import (
    is_inserted,
    is_part,
    origin_of,
    original_names,
    states_origin,
)
from workbench.comparison.graphs.roles import ANTI_QUANT, LEAVES, quantised_weight
from workbench.comparison.graphs.traverse import readers
from workbench.comparison.graphs.view import Origin, hands_on
from workbench.dump.formats.ge_name import standard_name
from workbench.dump.formats.mindspore_name import sanitize
from workbench.graph.graph import Value
from workbench.graph_files.ge.fields import ITERATOR
from workbench.ops import IDENTITY

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from workbench.comparison.align.groups import Item
    from workbench.comparison.graphs.view import GraphView
    from workbench.graph.graph import Graph, Op


_NUMBERED = re.compile(r"(.*-op)(\d{1,9})", re.DOTALL)


def find_fusions(target: GraphView, golden: GraphView) -> list[Fusion]:
    """Return the components that only the graph engine's graph tells of; none if neither is its.

    Types are GE's own, too: of an operator that keeps its name, the name is what counts.
    """
    if "ge" not in (target.graph.dialect, golden.graph.dialect):
        return []
    ours, theirs = _stands(target.graph), _stands(golden.graph)
    same = paired_names(_in_order(ours), _in_order(theirs))
    joined = Components()
    for side, stands in (("t", ours), ("g", theirs)):
        for number, names in stands.items():
            joined.add((side, number))
            for name in names:
                key = ("name", same.get(name, "") if side == "t" else name)
                if key[1]:
                    joined.add(key)
                    joined.join((side, number), key)
    found = [_fusion(members, target, golden, same) for members in joined.sets()]
    return [one for one in found if one is not None]


def _stands(graph: Graph) -> dict[int, tuple[str, ...]]:
    """Operator → names of the operators that it stands for; leaves and inserted ones are left out."""
    found: dict[int, tuple[str, ...]] = {}
    for number, op in enumerate(graph.ops):
        names = original_names(op)
        if op.op_type not in LEAVES and names != ():
            found[number] = names or (op.name,)
    return found


def _says_more(op: Op) -> bool:
    names = original_names(op)
    return names is not None and names not in ((), (op.name,))


def _in_order(stands: Mapping[int, tuple[str, ...]]) -> list[str]:
    return list(dict.fromkeys(name for names in stands.values() for name in names))


def paired_names(ours: Iterable[str], theirs: Iterable[str]) -> dict[str, str]:
    """Names that two compilers have given the same operators.

    Operators of one scope and type are numbered, and anew by every compiler. Where both sides have as
    many of them, their order tells which is which, else the names themselves.
    """
    mine, other = _by_stem(ours), _by_stem(theirs)
    found: dict[str, str] = {}
    for stem, names in mine.items():
        there = other.get(stem, {})
        if len(names) == len(there):
            found |= dict(zip(_sorted(names), _sorted(there), strict=True))
        else:
            found |= {names[key]: there[key] for key in names if key in there}
    return found


def _by_stem(names: Iterable[str]) -> dict[str, dict[int, str]]:
    """Names by number, by what stands before it as files write it; -1 without a number."""
    table: dict[str, dict[int, str]] = {}
    for name in names:
        match = _NUMBERED.fullmatch(name)
        stem, number = (match[1], int(match[2])) if match else (name, -1)
        table.setdefault(standard_name(stem), {}).setdefault(number, name)
    return table


def _sorted(names: Mapping[int, str]) -> list[str]:
    return [names[number] for number in sorted(names)]


def _fusion(
    members: Sequence[Item],
    target: GraphView,
    golden: GraphView,
    same: Mapping[str, str],
) -> Fusion | None:
    ours, theirs = side_of(members, "t"), side_of(members, "g")
    if not ours or not theirs:
        return None
    plain = len(ours) == len(theirs) == 1
    if plain and not _differ(target.graph.ops[ours[0]], golden.graph.ops[theirs[0]]):
        return None
    there = dict(_tensors(golden.graph, theirs))
    values = tuple(
        (here, there[same[name], slot])
        for (name, slot), here in _tensors(target.graph, ours)
        if (same.get(name, ""), slot) in there
    )
    return Fusion(ours, theirs, values)


def _differ(op: Op, other: Op) -> bool:
    """Whether no other rule could tell that two kernels are the same: by name and type.

    A compiler may write the characters of a node's name in its own way (`conv@0` as `conv_0`).
    """
    spelled = standard_name(op.name) == standard_name(other.name)
    renamed = op.name != other.name and (spelled or _says_more(op) or _says_more(other))
    return renamed or (op.name == other.name and op.op_type != other.op_type)


def _tensors(graph: Graph, numbers: Collection[int]) -> Iterator[tuple[tuple[str, int], Origin]]:
    """Tensors of the network that operators give: (operator's name, slot) and where.

    Several kernels that one operator became may bear its name without a word on their outputs: of these the last one
    that does more than hand on gives its result.
    """
    given = {number: [*_given(graph.ops[number])] for number in numbers}
    for number, tensors in given.items():
        for origin, slot in tensors:
            inside = any(
                origin in dict(given.get(reader, ())) and not hands_on(graph.ops[reader].op_type)
                for reader, _ in readers(graph, Value(number, slot), IDENTITY)
            )
            if not inside or states_origin(graph.ops[number], slot):
                yield origin, Origin("op", number, slot)


def _given(op: Op) -> Iterator[tuple[tuple[str, int], int]]:
    """Tensors of the network that a kernel gives by its own account, and in which slots."""
    for slot in range(max(len(op.outputs), 0 if is_part(op) else 1)):
        origin = origin_of(op, slot)
        if origin is not None:
            yield origin, slot


def inserted(graph: Graph) -> set[int]:
    """Operators to which nothing of the network corresponds."""
    return {number for number, op in enumerate(graph.ops) if is_inserted(op)}


def find_leaves(target: Graph, golden: Graph) -> dict[Origin, Origin]:
    """Outputs of the target's data operators → the golden's parameters: by name, or the only feed."""
    names: dict[str, int] = {}
    for index, parameter in enumerate(golden.parameters):
        names.setdefault(sanitize(parameter.name), index)
    feeds = [i for i, parameter in enumerate(golden.parameters) if not parameter.is_weight]
    found: dict[Origin, Origin] = {}
    data: list[int] = []
    for number, op in enumerate(target.ops):
        if op.op_type == ITERATOR and len(op.outputs) == len(feeds):
            found |= {Origin("op", number, s): Origin("param", i) for s, i in enumerate(feeds)}
        elif op.op_type in LEAVES or op.op_type in ANTI_QUANT:
            named = names.get(sanitize(quantised_weight(target, op) or op.name))
            if named is not None:
                found[Origin("op", number, 0)] = Origin("param", named)
            elif op.op_type in ("Data", "AippData"):
                data.append(number)
    left = [index for index in feeds if Origin("param", index) not in found.values()]
    if len(data) == len(left) == 1:
        found[Origin("op", data[0], 0)] = Origin("param", left[0])
    return found
