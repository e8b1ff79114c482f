"""Shape and dtype rules, one small function per family of operators, one module per kind.

A rule takes a `Call` and returns the specs of the outputs. It raises GraphError by `refuse`; whoever
calls it adds operator and source line.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

from workbench.core.dtypes import DTYPES, dtype_name, names_by
from workbench.core.errors import GraphError
from workbench.core.tensors import TensorSpec

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

TYPE_IDS = names_by("type_id")
"""MindSpore's numbers of dtypes, as `Cast` carries them in ``dst_type``."""

_FLOAT_WORDS = {row.scalar: row.name for row in DTYPES.values() if row.is_float and row.scalar}


@dataclass(frozen=True, slots=True)
class Call:
    """An operator about to be added: specs of its tensor arguments, and its settings."""

    op_type: str
    tensors: tuple[TensorSpec, ...]
    settings: Mapping[str, Any]

    def shape(self, index: int = 0) -> tuple[int, ...]:
        """Shape of a tensor argument; raises GraphError if it is unknown."""
        shape = self.tensors[index].shape
        if shape is None:
            refuse("graph/open-shape", subject=f"input {index}")
        return shape

    def sizes(self, name: str) -> tuple[int, ...]:
        """Setting that is a tuple of integers; a single integer is a tuple of one."""
        value = self.settings.get(name)
        items = (value,) if isinstance(value, int) else value
        if not isinstance(items, tuple | list) or not all(isinstance(i, int) for i in items):
            refuse("graph/sizes-unknown", subject=name, got=value)
        return tuple(items)


def refuse(code: str, **values: Any) -> NoReturn:
    """Raise the GraphError of a broken rule."""
    raise GraphError(code, **values)


def cast_target(value: Any, what: str = "dst_type") -> str:
    """Dtype name of a ``dst_type``: a number of MindSpore, its word, or a plain name."""
    name = TYPE_IDS.get(value, "") if isinstance(value, int) else ""
    name = name or _FLOAT_WORDS.get(str(value), "") or dtype_name(str(value))
    if not name:
        refuse("core/choice", subject=what, got=value, known=sorted(DTYPES))
    return name


def one_dtype(call: Call) -> None:
    """Refuse inputs of different dtypes."""
    dtypes = {spec.dtype for spec in call.tensors}
    if len(dtypes) > 1:
        got = tuple(spec.dtype for spec in call.tensors)
        refuse("graph/dtypes-differ", subject="inputs", got=got)


def integers(call: Call, index: int, what: str) -> None:
    """Refuse a tensor argument that is not of an integer type."""
    if not call.tensors[index].dtype.startswith(("int", "uint")):
        refuse("graph/dtype-integer", subject=what, got=call.tensors[index].dtype)


def like(call: Call, shape: Sequence[int], index: int = 0) -> tuple[TensorSpec, ...]:
    """One output of the dtype of a tensor argument."""
    return (TensorSpec(call.tensors[index].dtype, tuple(shape)),)


def one_axis(axis: Any, rank: int, what: str = "axis") -> int:
    """Axis counted from the front."""
    if not isinstance(axis, int) or not -rank <= axis < max(rank, 1):
        refuse("graph/axis", subject=what, low=-rank, high=rank, got=axis)
    return axis % max(rank, 1)


def reduced_axes(axis: Any, rank: int) -> tuple[int, ...]:
    """Axes of a reduction: an integer, a tuple of them, or nothing for all."""
    if axis is None or axis == ():
        return tuple(range(rank))
    return tuple(one_axis(one, rank) for one in ((axis,) if isinstance(axis, int) else axis))


def nothing(call: Call) -> Mapping[str, Any]:
    """Return no derived attributes."""
    return {}


def same(call: Call) -> tuple[TensorSpec, ...]:
    """Output like the first input."""
    return like(call, call.shape())
