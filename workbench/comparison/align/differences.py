"""Causes: what differs between two aligned operators apart from their data, as named evidence."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

from workbench._values import NamedTuple
from workbench.comparison.graphs.ge_origins import is_inserted
from workbench.comparison.graphs.view import Origin
from workbench.core.words import Message
from workbench.graph.graph import Const, Param, Value
from workbench.graph_files.ge.fields import OpAttrs
from workbench.graph_files.mindspore.values import UNKNOWN
from workbench.graph_files.onnx.dialect import is_onnx
from workbench.ops import COMMUTATIVE, IDENTITY, argument_name, settings

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from workbench.comparison.align.alignment import Alignment, Group
    from workbench.core.tensors import TensorSpec
    from workbench.graph.graph import Graph, Op, Value


_TYPE = re.compile(r"(b?)(f(?:loat)?|i(?:nt)?|u(?:int)?)(\d*)")
"""Number formats as graphs spell them: ``Float16``, ``F16``, and ``Float`` where the bits are not known."""


_VARIABLES = frozenset(("Variable", "RefData"))
"""Data operators of GE that hold what lives on from step to step; ``Data`` is what comes in anew."""

WIRING = "compare/wiring"
"""Code of an input that is read from elsewhere."""


class Difference(NamedTuple):
    """One difference between two operators: a kind of KINDS, its subject, and what is said of it.

    ``exact``: it is one of integers or truth values, or one that replay shows of what the target read, which counts
    however little it shows.
    """

    kind: str
    subject: str
    said: Message
    exact: bool = False

    @property
    def values(self) -> tuple[object, ...]:
        """What the subject is on both sides, or how far apart it is; empty where neither is known."""
        held = self.said.values
        if "target" in held and "golden" in held:
            return held["target"], held["golden"]
        return (f"{held['error']:.3g}",) if "error" in held else ()


CONVERTING = frozenset(("Cast", "TransData"))
"""Inserted operators that hand a parameter on, so that it is called by its own name."""


def setting_differences(op: Op, golden: Op, tolerance: float) -> list[Difference]:
    """Settings (attributes and constant arguments) that both operators have with other values.

    Numbers within ``tolerance`` (relative) of each other are equal: a constant that was rounded to
    the run's number format is no cause.
    """
    if is_onnx(op) != is_onnx(golden) or _is_same(op, golden):
        return []
    ours, theirs = _settings(op), _settings(golden)
    found = []
    for name in sorted(ours.keys() & theirs.keys()):
        if not same_value(ours[name], theirs[name], tolerance):
            here, there = _literal(ours[name]), _literal(theirs[name])
            said = Message("compare/setting", name=name, target=here, golden=there)
            found.append(Difference("attribute", name, said))
    # words say more than numbers: pad_mode before pad
    return sorted(found, key=lambda d: (not isinstance(ours[d.subject], str), d.subject))


def _is_same(op: Op, golden: Op) -> bool:
    """Whether both have the same attributes, plain ones, and no constant arguments: most operators do."""
    try:
        if type(op.attrs) is not dict or type(golden.attrs) is not dict or op.attrs != golden.attrs:
            return False
    except ValueError:  # of arrays nobody can say whether they are one truth
        return False
    return all(isinstance(one, Value | Param) for one in (*op.inputs, *golden.inputs))


def _settings(op: Op) -> dict[str, Any]:
    """Settings of an operator without what GE notes beside them: edges, numbers, its private attributes."""
    found = settings(op)
    if is_onnx(op):
        return {
            name: value for name, value in found.items() if _is_plain(value) and ":" not in name
        }
    if not isinstance(op.attrs, OpAttrs):
        return found
    beside = op.attrs.fields.keys() - op.attrs.fields.get("attr", {}).keys()
    return {
        name: value
        for name, value in found.items()
        if name not in beside and not name.startswith("_")
    }


def _is_plain(value: Any) -> bool:
    """Whether a setting is a number, a text or several of them; tensors and graphs are known by their place alone."""
    return all(
        isinstance(one, bool | int | float | str)
        for one in (value if isinstance(value, tuple) else (value,))
    )


def same_value(a: Any, b: Any, tolerance: float) -> bool:
    """Whether two settings mean the same, as far as both are known."""
    if isinstance(a, tuple | list) and isinstance(b, tuple | list):
        return len(a) == len(b) and all(
            same_value(x, y, tolerance) for x, y in zip(a, b, strict=True)
        )
    if isinstance(a, bool | int | float) and isinstance(b, bool | int | float):
        if isinstance(a, int) and isinstance(b, int):
            return int(a) == int(b)
        both_nan = math.isnan(a) and math.isnan(b)
        return both_nan or math.isclose(a, b, rel_tol=max(tolerance, 1e-7), abs_tol=0.0)
    if isinstance(a, str) and isinstance(b, str):
        return UNKNOWN in (a, b) or _same_word(a.lower(), b.lower())
    if isinstance(a, str) or isinstance(b, str):
        return True  # two spellings of different dialects; not comparable, so no evidence
    return bool(a == b)


def _same_word(a: str, b: str) -> bool:
    if a == b:
        return True
    ours, theirs = _TYPE.fullmatch(a), _TYPE.fullmatch(b)
    if not ours or not theirs or ours[2][0] != theirs[2][0]:
        return False
    bits = {f"{found[1]}{found[3]}" for found in (ours, theirs)}
    return len(bits) == 1 or "" in bits


def _literal(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "…"


def format_differences(op: Op, golden: Op) -> Iterator[Message]:
    """Outputs that the two operators are declared to produce in different number formats."""
    for slot, (ours, theirs) in enumerate(zip(_stored(op), _stored(golden), strict=False)):
        if ours.dtype != theirs.dtype and ours.dtype and theirs.dtype:
            yield Message("compare/format", slot=slot, target=ours.dtype, golden=theirs.dtype)


def _stored(op: Op) -> tuple[TensorSpec, ...]:
    """Outputs as the graph engine stores them, else as the graph states them."""
    return op.device_outputs if isinstance(op.attrs, OpAttrs) else op.outputs


def wiring_differences(
    found: Alignment, number: int, only: int | None = None
) -> Iterator[Difference]:
    """Inputs (or the ``only`` one) that an aligned operator reads from elsewhere than its partner."""
    partner = found.match_of.get(number)
    if partner is None:
        return
    op = found.target.graph.ops[number]
    ours = [found.mapped(origin) for origin in found.target.origins(number)]
    theirs = found.golden.origins(partner)
    if op.op_type in COMMUTATIVE and sorted(map(str, ours)) == sorted(map(str, theirs)):
        return
    for slot, origin in enumerate(found.target.origins(number)[: len(theirs)]):
        if (origin.kind, theirs[slot].kind) == ("const", "op") and only in (None, slot):
            instead = found.golden.label(theirs[slot])
            said = Message("compare/constant-instead", slot=slot, golden=instead)
            yield Difference("structure", "constant", said)  # one cause, however many gradients end
    for slot, (mine, other) in enumerate(zip(ours, theirs, strict=False)):
        if mine is None or mine == other or other.kind not in ("op", "param"):
            continue
        if only is not None and slot != only:
            continue
        known = found.matched_golden if other.kind == "op" else found.params.values()
        if other.number not in known:
            continue  # its source has no partner: a group says more about it
        reads, instead = found.golden.label(mine), found.golden.label(other)
        said = Message(WIRING, slot=slot, target=reads, golden=instead)
        yield Difference("structure", f"input.{slot}", said)


def group_difference(group: Group, found: Alignment) -> Difference:
    """What a group of leftovers says: inserted, removed or replaced operators."""
    ours = [found.target.graph.ops[n] for n in group.target]
    theirs = [found.golden.graph.ops[n] for n in group.golden]
    if ours and theirs:
        said = Message("compare/replaced", target=_names(ours), golden=_names(theirs))
    elif ours:
        said = Message("compare/inserted", target=_names(ours))
    else:
        said = Message("compare/removed", golden=_names(theirs))
    return Difference("structure", _types(ours) or _types(theirs), said)


def operator_differences(
    found: Alignment, number: int, op: Op, tolerance: float
) -> tuple[Difference, ...]:
    """Everything that the two graphs say differently about an operator of the target."""
    if number in found.match_of or number in found.fused:
        unlike = partner_settings(found, number, op, tolerance)
        return (*unlike, *wiring_differences(found, number))
    if op.op_type in IDENTITY:
        return ()
    group = next((g for g in found.groups if number in g.target), None)
    return (group_difference(group, found),) if group is not None else ()


def of_one_subject(some: Iterable[Difference], others: Iterable[Difference]) -> bool:
    """Whether any of these differences and of those are about the same thing."""
    return not {one.subject for one in some}.isdisjoint(one.subject for one in others)


def partner_settings(
    found: Alignment, number: int, op: Op, tolerance: float
) -> tuple[Difference, ...]:
    """Settings in which an operator of the target differs from its counterpart."""
    partner = found.counterpart(number)
    if partner is None:
        return ()
    return tuple(setting_differences(op, found.golden.graph.ops[partner], tolerance))


def _types(ops: list[Op]) -> str:
    return "+".join(op.op_type for op in ops[:4])


def _names(ops: list[Op]) -> tuple[str, ...]:
    return tuple(f"{op.op_type} ({op.name})" for op in ops)


def input_subject(op: Op, graph: Graph, slot: int, size: int = 1) -> tuple[str, str] | None:
    """Kind and name of an input that no operator produced; ``None`` for a produced one.

    ``size`` is the number of its elements, for a constant whose shape the graph does not know.
    """
    for index, operand in enumerate(op.flat_inputs()):
        if index != slot:
            continue
        if isinstance(operand, Param):
            parameter = graph.parameters[operand.index]
            name = parameter.name or f"parameter {operand.index}"
            return ("parameter" if parameter.is_weight else "input"), name
        if isinstance(operand, Const):
            single = size == 1 if operand.shape is None else operand.shape in ((), (1,))
            name = argument_name(op, slot) or f"input.{slot}"
            return ("attribute" if single else "constant"), name
    return None


def leaf_subject(graph: Graph, value: Value, found: Alignment | None) -> tuple[str, str]:
    """Kind and name of what a data operator of GE holds: by the golden's parameter, else by its type.

    What the compiler has computed comes from weights.
    """
    leaf = graph.ops[value.op]
    name = f"{leaf.name}:{value.slot}" if len(leaf.outputs) > 1 else leaf.name
    known = found.mapped(Origin("op", value.op, value.slot)) if found is not None else None
    if found is not None and known is not None and known.kind == "param":
        parameter = found.golden.graph.parameters[known.number]
        if leaf.op_type in CONVERTING and is_inserted(leaf):
            name = parameter.name
        return ("parameter" if parameter.is_weight else "input"), name
    if is_inserted(leaf) or leaf.op_type in _VARIABLES:
        return "parameter", name
    return ("constant" if leaf.op_type.startswith("Const") else "input"), name
