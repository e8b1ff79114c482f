"""What a graph of the graph engine says of the network that it was compiled from.

An operator names the operators that it stands for (``_datadump_original_op_names``; an empty list marks
one that the compiler inserted), and an output the tensor that it is (``_datadump_origin_name`` and
``_datadump_origin_output_index``). How they are read follows msaccucmp's ``fusion_manager``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from workbench.graph.graph import IS_PART, ORIGINAL_NAMES, ORIGINAL_TYPES

if TYPE_CHECKING:
    from workbench.graph.graph import Op

ORIGIN_NAME, ORIGIN_SLOT = "_datadump_origin_name", "_datadump_origin_output_index"


def original_names(op: Op) -> tuple[str, ...] | None:
    """Names of the operators that an operator stands for; ``None`` if it does not say, so for itself."""
    return _words(op.attrs.get(ORIGINAL_NAMES))


def original_types(op: Op) -> tuple[str, ...]:
    """Types of the operators that an operator stands for, as far as it says."""
    return _words(op.attrs.get(ORIGINAL_TYPES)) or (op.op_type,)


def _words(value: Any) -> tuple[str, ...] | None:
    if isinstance(value, str | bytes):
        value = (value,)
    if not isinstance(value, tuple | list):
        return None
    words = (v.decode("utf-8", "replace") if isinstance(v, bytes) else str(v) for v in value)
    return tuple(filter(None, words))


def is_inserted(op: Op) -> bool:
    """Whether the compiler inserted an operator: nothing of the network corresponds to it."""
    return original_names(op) == ()


def is_part(op: Op) -> bool:
    """Whether an operator is one of several that were made of one."""
    return op.attrs.get(IS_PART) is True


def origin_of(op: Op, slot: int) -> tuple[str, int] | None:
    """Operator and slot of the network's tensor that an output is; ``None`` if it is none.

    Where an output does not say, it is that of the last operator which the kernel stands for, unless
    the kernel is a part of it.
    """
    attrs = _desc(op, slot).get("attr", {})
    name = _stated(attrs)
    if name:
        number = attrs.get(ORIGIN_SLOT)
        return name, number if isinstance(number, int) else slot
    names = original_names(op)
    if name == "" or names == () or is_part(op):
        return None
    return (names[-1] if names else op.name), slot


def states_origin(op: Op, slot: int) -> bool:
    """Whether an output says itself which tensor of the network it is."""
    return bool(_stated(_desc(op, slot).get("attr", {})))


def _stated(attrs: Mapping[str, Any]) -> str | None:
    name = attrs.get(ORIGIN_NAME)
    if isinstance(name, bytes):
        name = name.decode("utf-8", "replace")
    return name if isinstance(name, str) else None


def _desc(op: Op, slot: int) -> Mapping[str, Any]:
    descs = op.attrs.get("output_desc", ())
    found = descs[slot] if isinstance(descs, tuple | list) and slot < len(descs) else {}
    return found if isinstance(found, Mapping) else {}
