"""One operator on trial: what it read, what it gave, and what it would have given otherwise computed."""

from __future__ import annotations

import math
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench._values import NamedTuple, dataclass
from workbench.core.dtypes import DTYPES, name_of
from workbench.core.errors import GraphError
from workbench.graph.constants import literal
from workbench.graph.graph import Const, Kernel, Param, Value
from workbench.npu.arithmetic import EXACT, Arithmetic, compute, load, round_to, stored_dtype
from workbench.npu.rounding import saturated
from workbench.ops import CONTRACTIONS, OPS, bind, check_settings, in_place_outputs, written

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from numpy.typing import NDArray

    from workbench.graph.graph import Op, Operand

    Array = NDArray[Any]


class Change(NamedTuple):
    """One thing that is done otherwise at operator ``part`` of a kernel.

    ``load`` changes its tensor inputs (as `workbench.ops.bind` sorts them), ``settings`` overrides
    settings, ``store`` changes its outputs, ``arithmetic`` replaces how it is computed.
    """

    part: int = 0
    load: Callable[[list[Array]], list[Array]] | None = None
    settings: Mapping[str, Any] = MappingProxyType({})
    store: Callable[[list[Array]], list[Array]] | None = None
    arithmetic: Arithmetic | None = None


NOTHING = Change(-1)


def compute_kernel(
    kernel: Kernel,
    inputs: Mapping[int, Array],
    arithmetic: Arithmetic = EXACT,
    change: Change = NOTHING,
) -> list[Array]:
    """Return a kernel's outputs, not yet rounded to their dtypes.

    ``inputs`` are its flat inputs by number, as stored. Raises GraphError for an operator without a
    kernel, a missing input, or inputs that do not fit.
    """
    done: list[list[Array]] = []
    with np.errstate(all="ignore"):
        for number, op in enumerate(kernel.ops):
            own = change if change.part == number else NOTHING
            how = own.arithmetic or _inside(kernel, op, arithmetic)
            done.append(_outputs(op, inputs, done, how, own))
        outputs = [done[value.op][value.slot] for value in kernel.results]
        return [_rounded(array, arithmetic.output, arithmetic) for array in outputs]


def _inside(kernel: Kernel, op: Op, arithmetic: Arithmetic) -> Arithmetic:
    """How one of several operators is computed: what stays in the unit is float32, only products read less."""
    if len(kernel.ops) == 1:
        return arithmetic._replace(output="") if arithmetic.output else arithmetic
    inputs = arithmetic.inputs if op.op_type in CONTRACTIONS else ""
    return arithmetic._replace(inputs=inputs, output="")


def compute_update(
    op: Op,
    inputs: Mapping[int, Array],
    arithmetic: Arithmetic = EXACT,
    change: Change = NOTHING,
) -> dict[int, Array]:
    """Return what an operator leaves in the inputs that it overwrites, by their number."""
    with np.errstate(all="ignore"):
        found = _computed(op, inputs, [], arithmetic, change)
    left = found[len(found) - len(written(op)) :]
    outputs = in_place_outputs(op).values()  # stored as what the operator gives
    return {
        place: _rounded(array, arithmetic.output, arithmetic) if place in outputs else array
        for place, array in zip(written(op), left, strict=True)
    }


def _outputs(
    op: Op,
    inputs: Mapping[int, Array],
    done: Sequence[Sequence[Array]],
    arithmetic: Arithmetic,
    change: Change,
) -> list[Array]:
    found = _computed(op, inputs, done, arithmetic, change)
    found = found[: len(found) - len(written(op))]
    found = [_rounded(array, arithmetic.output, arithmetic) for array in found]
    return change.store(found) if change.store is not None else found


def _computed(
    op: Op,
    inputs: Mapping[int, Array],
    done: Sequence[Sequence[Array]],
    arithmetic: Arithmetic,
    change: Change,
) -> list[Array]:
    if op.op_type not in OPS:
        raise GraphError("compare/no-kernel", op_type=op.op_type)
    tensors, settings = _operands(op, inputs, done, arithmetic)
    if change.load is not None:
        tensors = change.load(tensors)
    settings |= change.settings
    check_settings(op.op_type, settings)
    return compute(op, tensors, settings, arithmetic)


def _operands(
    op: Op,
    inputs: Mapping[int, Array],
    done: Sequence[Sequence[Array]],
    arithmetic: Arithmetic,
) -> tuple[list[Array], dict[str, Any]]:
    """Tensors of an operator as the unit reads them, and its settings."""
    bound = bind(op)
    tensors = [_loaded(operand, inputs, done, arithmetic) for operand in bound.tensors]
    settings = {
        name: _plain(_read(value, inputs, done)) if isinstance(value, Value | Param) else value
        for name, value in bound.settings.items()
    }
    return tensors, settings


def _read(operand: Operand, inputs: Mapping[int, Array], done: Sequence[Sequence[Array]]) -> Array:
    if isinstance(operand, Value):
        return done[operand.op][operand.slot]
    if isinstance(operand, Param):
        if operand.index not in inputs:
            raise GraphError("compare/input-missing", slot=operand.index)
        return inputs[operand.index]
    return literal(operand)


def _loaded(
    operand: Operand,
    inputs: Mapping[int, Array],
    done: Sequence[Sequence[Array]],
    arithmetic: Arithmetic,
) -> Array:
    """Return an operand as the unit reads it; integers and bools as they are."""
    array = _read(operand, inputs, done)
    if array.dtype.kind == "c":
        raise GraphError("compare/not-real", dtype=array.dtype.name)
    return array if isinstance(operand, Value) else load(array, arithmetic)


def _rounded(array: Array, name: str, arithmetic: Arithmetic) -> Array:
    """Round results to a format of fewer bits, if there is one."""
    return round_to(array, name, arithmetic.saturates) if name else array


def _plain(array: Array) -> Any:
    """Return a computed setting as constants are given; a mask stays an array."""
    if array.ndim > 1:
        return array
    return array.item() if array.ndim == 0 else tuple(array.tolist())


@dataclass(frozen=True, slots=True)
class Computation:
    """A kernel and what it reads: all that an operator should have given follows from these.

    Results are numbered by slot; ``-1 - s`` is what is left in overwritten input ``s``.

    Attributes
    ----------
    kernel : Kernel
        What it computes; its first operator that multiplies is usually the one that matters.
    inputs : mapping of int to array
        Flat inputs as stored, on the host's axes.
    """

    kernel: Kernel
    inputs: Mapping[int, Array]

    def is_ordered(self, arithmetic: Arithmetic) -> bool:
        """Whether its only operator is a sum that is computed in a known order."""
        if len(self.kernel.ops) != 1 or not arithmetic.orders:
            return False
        (op,) = self.kernel.ops
        tensors, settings = _operands(op, self.inputs, (), arithmetic)
        orders = arithmetic.orders
        return orders.order_of(op.op_type, stored_dtype(op), tensors, settings) is not None

    def computed(
        self,
        slots: Collection[int],
        arithmetic: Arithmetic = EXACT,
        change: Change = NOTHING,
    ) -> dict[int, Array]:
        """Return some of its results, as far as there are any, not yet rounded to their dtypes."""
        found: dict[int, Array] = {}
        if any(slot >= 0 for slot in slots):
            found |= enumerate(compute_kernel(self.kernel, self.inputs, arithmetic, change))
        if len(self.kernel.ops) == 1 and any(slot < 0 for slot in slots):
            left = compute_update(self.kernel.ops[0], self.inputs, arithmetic, change)
            found |= {-1 - slot: array for slot, array in left.items()}
        return {slot: found[slot] for slot in slots if slot in found}


@dataclass(frozen=True, slots=True)
class Trial(Computation):
    """A computation of which one result is on trial.

    Attributes
    ----------
    slot : int
        The result.
    given : array
        What was dumped, in the stored dtype and the host's shape; flat and short where only the first
        elements are known.
    expected : array
        What ``arithmetic`` makes of the inputs, rounded to the dtype of ``given``; same shape.
    floor : float
        Relative error (‖given - expected‖ / ‖expected‖) that the number formats explain.
    arithmetic : Arithmetic
        How the operator is believed to be computed.
    earlier : sequence of arrays
        Other tensors that the device held when it ran, latest first, for what memory may show.
    dumped : set of int
        Flat inputs that are files of the same run: what the operator read lies there.
    read_later : bool
        Whether ``given`` is what a later operator read, rather than what was there when the operator was done.
    """

    slot: int
    given: Array
    expected: Array
    floor: float
    arithmetic: Arithmetic = EXACT
    earlier: Sequence[Array] = ()
    dumped: frozenset[int] = frozenset()
    read_later: bool = False

    @property
    def error(self) -> float:
        """Own error: relative distance of what it gave from what it should have given."""
        return distance(self.given, self.expected)

    def recompute(self, change: Change) -> Array:
        """Return the output as it would be with one thing changed, in the dtype of ``given``."""
        array = self.computed((self.slot,), self.arithmetic, change)[self.slot]
        array = beginning(array, self.given)
        return cast_like(array, self.given, saturates=self.arithmetic.saturates)


def beginning(array: Array, given: Array) -> Array:
    """Return of a result what was given of it: its first elements, flat, where that are all."""
    if given.ndim == 1 and array.size > given.size:
        return array.reshape(-1)[: given.size]
    return array


def cast_like(array: Array, like: Array, *, saturates: bool = False) -> Array:
    """Round an array to the dtype of another and give it the other's shape, if it has as many elements.

    ``saturates``: floats that are too large become the largest.
    """
    row = DTYPES.get(name_of(like.dtype))
    with np.errstate(all="ignore"):
        if saturates and row is not None and row.is_float and array.dtype.kind == "f":
            array = saturated(array, row.largest)
        array = array.astype(like.dtype, copy=False)
    return array.reshape(like.shape) if array.size == like.size else array


def distance(given: Array, expected: Array) -> float:
    """‖given - expected‖ / ‖expected‖; infinite where finite and non-finite values meet, or nothing is left.

    Positions at which both have the same infinity, or both NaN, agree: the operator gave what it had to.
    """
    if given.shape != expected.shape:
        return float("inf")
    with np.errstate(all="ignore"):  # NaN of the smaller formats
        a, b = given.astype(np.float64, copy=False), expected.astype(np.float64, copy=False)
        scale, off = sum_of_squares(b), sum_of_squares(a - b)
    if 0.0 < off < math.inf and 0.0 < scale < math.inf:  # of NaN and Inf there is none
        return math.sqrt(off) / math.sqrt(scale)
    finite = np.isfinite(b)
    if not finite.all() or not np.isfinite(a).all():
        other = (a == b) | (np.isnan(a) & np.isnan(b))
        if not np.all(other | (finite & np.isfinite(a))):
            return float("inf")
        a, b = np.where(finite, a, 0.0), np.where(finite, b, 0.0)
    with np.errstate(all="ignore"):
        scale, off = _norm(b), _norm(a - b)
    if off == 0.0:
        return 0.0
    return off / scale if scale else float("inf")


def sum_of_squares(array: Array) -> float:
    """Σ x² of float64, in NumPy's own order: a product by BLAS would start threads for it."""
    flat = array.reshape(-1)
    return float(np.einsum("i,i->", flat, flat))


def _norm(array: NDArray[np.float64]) -> float:
    """‖array‖, scaled where its square is no number."""
    flat = array.reshape(-1)
    found = math.sqrt(sum_of_squares(flat))
    if math.isfinite(found) and (found > 0.0 or not flat.size):
        return found
    largest = float(np.max(np.abs(flat), initial=0.0))
    if not largest or not math.isfinite(largest):
        return largest
    small = flat / largest
    return largest * math.sqrt(sum_of_squares(small))


def plain_kernel(op: Op) -> Kernel:
    """Return a kernel of one operator of the table, on the operator's own flat inputs.

    Constants that are settings stay what they are; every other operand becomes the kernel's input of the
    same number: a graph prints fewer digits of a constant tensor than a dump has.
    """
    slots = bind(op).slots
    row, given = OPS[op.op_type], sum(1 for _ in op.flat_inputs())
    if row.tensors >= 0 and given > len(row.arguments):
        count = len(row.arguments)
        raise GraphError(
            "graph/inputs-count", op=op.name, type=op.op_type, expected=count, got=given
        )
    operands: list[Operand] = [
        operand if isinstance(operand, Const) and slot not in slots else Param(slot)
        for slot, operand in enumerate(op.flat_inputs())
    ]
    outputs = tuple(Value(0, slot) for slot in range(max(len(op.outputs), 1)))
    return Kernel((replace(op, inputs=tuple(operands)),), outputs)
