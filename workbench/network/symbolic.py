"""Symbolic tensors and parameters: what a network's Python code computes with while it is traced.

Every operation goes to the active recorder (`workbench.network.tracer`); outside a trace there is
none, and the call says so.
"""

from __future__ import annotations

import zlib
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from workbench.core.errors import GraphError
from workbench.core.tensors import TensorSpec

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from workbench.graph.graph import Operand
    from workbench.network.tracer import Trace


ACTIVE: ContextVar[Trace | None] = ContextVar("recorder", default=None)


def recorder(what: str) -> Trace:
    """Return the active recorder; raises GraphError if nothing is being traced."""
    active = ACTIVE.get()
    if active is None:
        raise GraphError("graph/not-tracing", subject=what)
    return active


def is_tracing() -> bool:
    """Whether a network is being traced."""
    return ACTIVE.get() is not None


def record(op_type: str, *operands: Any, **attrs: Any) -> Tensor:
    """Add an operator to the active trace and return its first output."""
    return recorder(op_type).record(op_type, operands, attrs)[0]


def record_all(op_type: str, *operands: Any, **attrs: Any) -> tuple[Tensor, ...]:
    """Add an operator to the active trace and return all its outputs."""
    return recorder(op_type).record(op_type, operands, attrs)


_WIDTH = ("bool", "uint8", "int8", "int16", "int32", "int64")


def _wider(left: str, right: str) -> str:
    """Return the common dtype: float over integer, wider over narrower, fp16 with bf16 is fp32.

    uint8 with int8 is int16, which holds both.
    """
    floats = [d for d in (left, right) if d not in _WIDTH]
    if {left, right} == {"uint8", "int8"}:
        return "int16"
    if not floats:
        return max(left, right, key=_WIDTH.index)
    if len(set(floats)) == 1:
        return floats[0]
    return "float64" if "float64" in floats else "float32"


def binary(op_type: str, left: Any, right: Any) -> Tensor:
    """Record an elementwise operator; a narrower input gets a `Cast`, as MindSpore inserts it."""
    left, right = (_read(side) for side in (left, right))
    dtypes = [_dtype_of(side) for side in (left, right)]
    known = [dtype for dtype in dtypes if dtype]
    common = known[0] if len(known) == 1 else _wider(known[0], known[1])
    if common in _WIDTH and any(isinstance(side, float) for side in (left, right)):
        common = "float32"
    elif common == "bool" and any(_is_integer(side) for side in (left, right)):
        common = "int32"
    sides = [_widen(side, common) for side in (left, right)]
    return record(op_type, *sides)


def _read(side: Any) -> Any:
    return recorder("a weight").read(side) if isinstance(side, Parameter) else side


def _is_integer(side: Any) -> bool:
    return isinstance(side, int | np.integer) and not isinstance(side, bool)


def _dtype_of(side: Any) -> str:
    if isinstance(side, Operators | np.ndarray):
        return str(side.dtype)
    if isinstance(side, bool | int | float | np.generic):
        return ""
    raise GraphError("graph/input-type", got=side)


def _widen(side: Any, dtype: str) -> Any:
    if isinstance(side, Operators):
        return side if side.dtype == dtype else side.astype(dtype)
    return np.asarray(side).astype(dtype)


class Operators:
    """Python's operators and the usual methods, for symbolic tensors and parameters."""

    spec: TensorSpec
    __array_ufunc__ = None  # so that `array + tensor` reaches `__radd__`

    @property
    def shape(self) -> tuple[int, ...]:
        """Sizes of the axes."""
        return self.spec.shape or ()

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def dtype(self) -> str:
        """Name of the dtype, ``float32``."""
        return self.spec.dtype

    def __len__(self) -> int:
        return self.shape[0]

    def __add__(self, other: Any) -> Tensor:
        return binary("Add", self, other)

    def __radd__(self, other: Any) -> Tensor:
        return binary("Add", other, self)

    def __sub__(self, other: Any) -> Tensor:
        return binary("Sub", self, other)

    def __rsub__(self, other: Any) -> Tensor:
        return binary("Sub", other, self)

    def __mul__(self, other: Any) -> Tensor:
        return binary("Mul", self, other)

    def __rmul__(self, other: Any) -> Tensor:
        return binary("Mul", other, self)

    def __truediv__(self, other: Any) -> Tensor:
        return binary("RealDiv", self, other)

    def __rtruediv__(self, other: Any) -> Tensor:
        return binary("RealDiv", other, self)

    def __pow__(self, other: Any) -> Tensor:
        return binary("Pow", self, other)

    def __matmul__(self, other: Any) -> Tensor:
        stacked = self.ndim > 2 or other.ndim > 2
        return record("BatchMatMul" if stacked else "MatMul", self, other, False, False)

    def __neg__(self) -> Tensor:
        return record("Neg", self)

    def __abs__(self) -> Tensor:
        return record("Abs", self)

    def reshape(self, *shape: Any) -> Tensor:
        """Return the same elements in another shape; at most one size may be -1."""
        sizes = shape[0] if len(shape) == 1 and isinstance(shape[0], tuple | list) else shape
        return record("Reshape", self, tuple(sizes))

    def transpose(self, *axes: Any) -> Tensor:
        """Return the axes in another order; reversed if none are given."""
        order = axes[0] if len(axes) == 1 and isinstance(axes[0], tuple | list) else axes
        return record("Transpose", self, tuple(order) or tuple(range(self.ndim))[::-1])

    def astype(self, dtype: Any) -> Tensor:
        """Return the values rounded to another dtype; a tensor that has it already as it is."""
        name = dtype if isinstance(dtype, str) else np.dtype(dtype).name
        if isinstance(self, Tensor) and self.dtype == name:
            return self
        return record("Cast", self, dst_type=name)

    def mean(self, axis: Any = (), keep_dims: bool = False) -> Tensor:
        """Mean over the axes (none: all)."""
        return record("ReduceMean", self, _axes(axis), keep_dims)

    def sum(self, axis: Any = (), keep_dims: bool = False) -> Tensor:
        """Sum over the axes (none: all)."""
        return record("ReduceSum", self, _axes(axis), keep_dims, False)

    def __bool__(self) -> bool:
        raise GraphError("graph/value-condition")

    def __iter__(self) -> NoReturn:
        raise GraphError("graph/value-iteration")

    def __getitem__(self, index: Any) -> Tensor:
        return record("StridedSlice", self, *_bounds(self.shape, index))

    def __array__(self, *_: Any, **__: Any) -> NoReturn:
        raise GraphError("graph/value-numpy")


def _bounds(shape: tuple[int, ...], index: Any) -> list[Any]:
    """Arguments of `StridedSlice` for Python's index: begin, end, strides and the five masks."""
    items = list(index) if isinstance(index, tuple) else [index]
    named = sum(isinstance(item, int | slice) for item in items)
    bounds: list[tuple[int, int, int]] = []
    first, last, new, dropped = 0, 0, 0, 0
    for item in items:
        axis = len(bounds) - new.bit_count()
        size = shape[axis] if axis < len(shape) else 0
        if isinstance(item, slice):
            begin, end, stride = item.indices(size)
            first |= (item.start is None) << len(bounds)
            last |= (item.stop is None) << len(bounds)
            end = end if end >= 0 else -size - 1
            bounds.append(
                (0 if item.start is None else begin, 0 if item.stop is None else end, stride)
            )
        elif item is None:
            new |= 1 << len(bounds)
            bounds.append((0, 1, 1))
        elif isinstance(item, int) and not isinstance(item, bool):
            dropped |= 1 << len(bounds)
            bounds.append((item, item + 1, 1))
        elif item is Ellipsis:
            bounds += [(0, shape[axis + k], 1) for k in range(len(shape) - named)]
        else:
            raise GraphError("graph/value-index")
    begins, ends, strides = zip(*bounds, strict=True) if bounds else ((), (), ())
    return [begins, ends, strides, first, last, 0, new, dropped]


def _axes(axis: Any) -> tuple[int, ...]:
    return (axis,) if isinstance(axis, int) else tuple(axis)


@dataclass(frozen=True, eq=False)
class Tensor(Operators):
    """A value of the network that is being traced."""

    spec: TensorSpec
    value: Operand


@dataclass(frozen=True, slots=True)
class Initial:
    """How a weight starts: ``zeros``, ``ones``, ``normal`` or ``uniform`` times ``scale``.

    ``center`` is added. The numbers depend on the weight's name and the seed alone.
    """

    shape: tuple[int, ...]
    kind: str = "normal"
    scale: float = 1.0
    dtype: str = "float32"
    center: float = 0.0

    def array(self, name: str, seed: int) -> NDArray[Any]:
        """Values of the weight called ``name``."""
        rng = np.random.default_rng([zlib.crc32(name.encode()), seed])
        if self.kind == "uniform":
            values = rng.uniform(-self.scale, self.scale, self.shape)
        elif self.kind == "normal":
            values = rng.standard_normal(self.shape) * self.scale
        else:
            values = np.full(self.shape, float(self.kind == "ones"))
        return (values + self.center).astype(self.dtype)


class Parameter(Operators):
    """A weight. ``default`` is an array, or an `Initial` that depends on the seed of the trace.

    Its full name is the path of attributes that lead to its cell and ``name``, or the attribute it
    stands in if the name is empty: ``conv1.weight``. Optimizers update those that ``requires_grad``.
    """

    def __init__(self, default: Any, name: str = "", requires_grad: bool = True) -> None:
        self.name = self.given_name = name
        self.requires_grad = requires_grad
        self.default = default if isinstance(default, Initial) else np.asarray(default)
        self.spec = TensorSpec(str(self.default.dtype), tuple(self.default.shape))

    def clone(self, prefix: str, init: str) -> Parameter:
        """Return another weight of the shape, ``zeros`` or ``ones``, named ``<prefix>.<full name>``."""
        initial = Initial(self.shape, init, dtype=self.dtype)
        return Parameter(initial, f"{prefix}.{self.name}", self.requires_grad)

    def set_data(self, data: Any) -> None:
        """Replace the values; raises GraphError if the shape differs."""
        array = np.asarray(data)
        if array.shape != self.shape:
            raise GraphError("graph/shape", subject=self.name, expected=self.shape, got=array.shape)
        self.default = array
        self.spec = TensorSpec(str(array.dtype), array.shape)

    def array(self, name: str, seed: int) -> NDArray[Any]:
        """Values, under the name that the network gives it."""
        if isinstance(self.default, Initial):
            return self.default.array(name, seed)
        return np.asarray(self.default)
