"""What an operator is: one row with everything known of it, and what shape rules are made of.

A shape rule takes a `Call` and returns the specs of the outputs. It raises GraphError by `reject`; whoever
calls it adds operator and source line.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any, Literal, NoReturn

import numpy as np

from workbench._values import dataclass
from workbench.core.dtypes import DTYPES, dtype, dtype_name, names_by
from workbench.core.errors import GraphError
from workbench.core.tensors import TensorSpec

if TYPE_CHECKING:
    from workbench.ops.gradient import GradientRule

Engine = Literal["cube", "vector", "mixed", "none"]
Effect = Literal["compute", "identity", "move", "choose", "contract", "sum"]
ShapeRule = Callable[["Call"], tuple[TensorSpec, ...]]
Kernel = Callable[..., Any]

TYPE_IDS = names_by("type_id")
"""MindSpore's numbers of dtypes, as `Cast` carries them in ``dst_type``."""

LARGEST = 1 << 31
"""Elements of an output whose shape is a setting."""

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
            reject("graph/open-shape", subject=f"input {index}")
        return shape

    def sizes(self, name: str) -> tuple[int, ...]:
        """Setting that is a tuple of integers; a single integer is a tuple of one."""
        value = self.settings.get(name)
        items = (value,) if isinstance(value, int) else value
        if not isinstance(items, tuple | list) or not all(isinstance(i, int) for i in items):
            reject("graph/sizes-unknown", subject=name, got=value)
        return tuple(items)


def reject(code: str, **values: Any) -> NoReturn:
    """Raise the GraphError of a broken rule."""
    raise GraphError(code, **values)


def no_attributes(call: Call) -> Mapping[str, Any]:
    """Return no derived attributes."""
    return {}


def unknown_shapes(call: Call) -> tuple[TensorSpec, ...]:
    """Refuse a type whose outputs we cannot foretell."""
    reject("core/choice", subject="operator type", got=call.op_type, known=[])


@dataclass(frozen=True, slots=True)
class OpDef:
    """One operator type, with everything that is known of it.

    ``names`` are its arguments, blank-separated, tensors and settings alike, as MindSpore's
    operator definitions (2.0 to 2.10) or CANN's have them. ``tensors`` counts the leading arguments
    that are tensors (-1: the first argument is a tuple of tensors); where settings stand between
    them ``places`` gives the positions. ``defaults`` gives settings that may be left out, attributes
    among them. ``only`` gives the values for which it is computed, of settings that its kernel does not
    read. ``floats`` counts, from 0, which of its tensors hold floats alone. ``engine`` is the unit that
    computes it: ``mixed`` is both of them, ``none`` only renames data. ``derived``
    gives attributes that follow from the others and the shapes, as MindSpore writes them into its
    IR. ``writes`` are the positions of tensor arguments that it overwrites; with ``writes_if`` only
    where that setting is true. ``unwritten_on_cpu`` are outputs that MindSpore's CPU kernel leaves
    as they were.

    ``kernel`` computes it (`workbench.ops.kernels`); a type without one is known from files, and is
    not computed. ``gradient`` records its gradient, ``onnx`` is the ONNX operator that is the same
    with its inputs in the same order.

    ``effect`` says what it does to errors: ``identity`` hands a value on, at most in another number
    or device format; ``move`` moves elements, ``choose`` picks or negates them, so neither rounds;
    ``contract`` sums products on the cube unit, ``sum`` sums or normalizes on the vector unit.
    ``commutative``: inputs may stand in any order. ``discontinuous``: a small difference of an
    input may change an output element altogether. ``libm``: libraries compute it by approximations
    good to about ten units in the last place.

    The row itself says ``arguments``, the names in order; ``positions`` of those that are tensors, or a
    tuple of them; and ``settings``, the names of the others in order.
    """

    names: str
    shape_rule: ShapeRule = unknown_shapes
    engine: Engine = "vector"
    tensors: int = 1
    defaults: Mapping[str, Any] = field(default_factory=dict)
    derived: Callable[[Call], Mapping[str, Any]] = no_attributes
    places: tuple[int, ...] = ()
    writes: tuple[int, ...] = ()
    writes_if: str = ""
    unwritten_on_cpu: tuple[int, ...] = ()
    only: Mapping[str, Any] = field(default_factory=dict)
    floats: tuple[int, ...] = ()
    kernel: Kernel | None = None
    gradient: GradientRule | None = None
    onnx: str = ""
    effect: Effect = "compute"
    commutative: bool = False
    discontinuous: bool = False
    libm: bool = False
    arguments: tuple[str, ...] = field(init=False)
    positions: tuple[int, ...] = field(init=False)
    settings: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        arguments = tuple(self.names.split())
        positions = self.places or tuple(range(abs(self.tensors)))
        settings = tuple(name for i, name in enumerate(arguments) if i not in positions)
        derived = {"arguments": arguments, "positions": positions, "settings": settings}
        for name, value in derived.items():
            object.__setattr__(self, name, value)

    def named(self, values: Sequence[Any]) -> dict[str, Any]:
        """Settings by name, of operands that are no tensors; the last ones may be missing."""
        return dict(zip(self.settings, values, strict=False))


def same_as_input(call: Call) -> tuple[TensorSpec, ...]:
    """Output like the first input."""
    return output_like(call, call.shape())


def unary(names: str = "input", shape_rule: ShapeRule = same_as_input, **facts: Any) -> OpDef:
    """Row of an operator on one tensor, whose output is like it."""
    return OpDef(names, shape_rule, **facts)


def grad_of(names: str, **facts: Any) -> OpDef:
    """Row of a gradient that is computed of one and another tensor of its shape."""
    return OpDef(names, same_shape, tensors=2, floats=(0, 1), **facts)


def foreign(names: str = "", **facts: Any) -> OpDef:
    """Row of a type that stands in files of others and is not computed here."""
    return OpDef(names, **facts)


def cast_target(value: Any, what: str = "dst_type") -> str:
    """Dtype name of a ``dst_type``: a number of MindSpore, its word, or a plain name."""
    name = TYPE_IDS.get(value, "") if isinstance(value, int) else ""
    name = name or _FLOAT_WORDS.get(str(value), "") or dtype_name(str(value))
    if not name:
        reject("core/choice", subject=what, got=value, known=sorted(DTYPES))
    return name


def same_dtype(call: Call) -> None:
    """Refuse inputs of different dtypes."""
    dtypes = {spec.dtype for spec in call.tensors}
    if len(dtypes) > 1:
        got = tuple(spec.dtype for spec in call.tensors)
        reject("graph/dtypes-differ", subject="inputs", got=got)


def same_shape(call: Call) -> tuple[TensorSpec, ...]:
    """Inputs of one dtype and shape; output as the inputs."""
    same_dtype(call)
    shapes = tuple(call.shape(index) for index in range(len(call.tensors)))
    if len(set(shapes)) != 1:
        reject("graph/shapes-differ", subject="inputs", got=shapes)
    return output_like(call, shapes[0])


def expect_shapes(call: Call, wanted: Mapping[str, tuple[int, tuple[int, ...]]]) -> None:
    """Refuse a tensor argument (by name: its place) of another shape."""
    for name, (index, shape) in wanted.items():
        if call.shape(index) != shape:
            reject("graph/shape", subject=name, expected=shape, got=call.shape(index))


def expect_floats(call: Call, places: Iterable[int]) -> None:
    """Refuse tensors of integers and flags; there may be fewer tensors than places."""
    for place in places:
        for spec in call.tensors[place : place + 1]:
            if not dtype(spec.dtype).is_float and not dtype(spec.dtype).is_complex:
                reject("graph/dtype-float", subject=f"input {place}", got=spec.dtype)


def expect_numbers(call: Call, *names: str) -> None:
    """Refuse settings that are no single numbers."""
    for name in names:
        value = call.settings[name]
        if value is None or isinstance(value, str) or np.ndim(value):
            reject("graph/number", subject=name, got=value)


def numbers_if_given(call: Call, *names: str) -> None:
    """Refuse settings that are neither single numbers nor left out."""
    expect_numbers(call, *(name for name in names if call.settings[name] is not None))


def shape_setting(call: Call, name: str) -> tuple[int, ...]:
    """Setting that is the shape of an output."""
    shape = call.sizes(name)
    if min(shape, default=0) < 0 or math.prod(shape) > LARGEST:
        reject("graph/sizes", subject=name, most=LARGEST, got=shape)
    return shape


def integers(call: Call, index: int, what: str) -> None:
    """Refuse a tensor argument that is not of an integer type."""
    if not call.tensors[index].dtype.startswith(("int", "uint")):
        reject("graph/dtype-integer", subject=what, got=call.tensors[index].dtype)


def output_like(call: Call, shape: Sequence[int], index: int = 0) -> tuple[TensorSpec, ...]:
    """One output of the dtype of a tensor argument."""
    return (TensorSpec(call.tensors[index].dtype, tuple(shape)),)


def one_axis(axis: Any, rank: int, what: str = "axis") -> int:
    """Axis counted from the front."""
    if isinstance(axis, bool) or not isinstance(axis, int) or not -rank <= axis < max(rank, 1):
        reject("graph/axis", subject=what, low=-rank, high=rank, got=axis)
    return axis % max(rank, 1)


def reduced_axes(axis: Any, rank: int) -> tuple[int, ...]:
    """Axes of a reduction: an integer, a tuple of them, or nothing for all."""
    return tuple(range(rank)) if axis is None or axis == () else some_axes(axis, rank)


def some_axes(axis: Any, rank: int) -> tuple[int, ...]:
    """Axes counted from the front, of an integer or a tuple of them; none may be named twice."""
    axes = tuple(
        one_axis(one, rank) for one in (axis if isinstance(axis, tuple | list) else (axis,))
    )
    if len(set(axes)) < len(axes):
        reject("graph/axis-twice", got=axis)
    return axes
