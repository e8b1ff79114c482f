"""Faults inside a kernel of several operators: one of them gave something else, and the others went on with it."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench._values import NamedTuple
from workbench.comparison.explain.case import Budget, Candidate, Evaluation
from workbench.comparison.explain.hypotheses.attributes import fit_number
from workbench.comparison.explain.hypotheses.elements import count_runs, describe_places
from workbench.comparison.explain.hypotheses.outputs import (
    exchanged,
    is_negligible,
    limit_between,
    round_numbers_near,
)
from workbench.comparison.limits import limits
from workbench.comparison.replay.kernel import Change, Trial
from workbench.core.formats import c0_of
from workbench.core.words import Message
from workbench.graph.graph import Bundle, Const, Kernel, Op, Param, Value
from workbench.ops import CONTRACTIONS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from workbench.graph.graph import Operand

    Array = NDArray[Any]
    Function = Callable[[Array], Array]


_LANES = 1 << 16  # elements above which every distance of lanes is too many


class Step(NamedTuple):
    """An operator of a kernel, what it should have handed on, and the case of what comes behind it."""

    case: Evaluation
    op: Op
    given: Array
    behind: Evaluation

    def handing(self, function: Function) -> Array | None:
        """Return the kernel's output if the operator had handed on something else."""
        self.case.budget.spend(self.behind.cost)
        return self.behind.recomputed(Change(0, store=lambda outputs: [function(outputs[0])]))


def inside(case: Evaluation) -> Iterator[Candidate]:
    """Faults of what an operator of the kernel hands on to the next one."""
    for part, op in case.parts():
        step = step_at(case, part, op)
        if step is None:
            continue
        if part < len(case.trial.kernel.ops) - 1:
            yield from _of_all(step)
            yield from _overwritten(step)
        yield from _nan(step)
        yield from _flipped(step)
        if not case.trial.arithmetic.saturates:
            how = step.behind.trial.arithmetic._replace(saturates=True)
            behind = Evaluation(replace(step.behind.trial, arithmetic=how), Budget(math.inf))
            step = step._replace(behind=behind)
            yield from _nan(step)
            yield from _flipped(step)


def step_at(case: Evaluation, part: int, op: Op) -> Step | None:
    """Return an operator of a kernel with the operators behind it as a kernel of their own."""
    kernel = case.trial.kernel
    if any(one.op_type in CONTRACTIONS for one in kernel.ops[part + 1 :]):
        return None
    handed = _handed(case, kernel, part)
    if not handed or Value(part, 0) not in handed:
        return None
    given = handed[Value(part, 0)]
    if given.dtype.kind != "f":
        return None
    first = max(kernel.needed, default=0) + 1
    places = {value: first + number for number, value in enumerate(handed)}
    inputs = {**case.trial.inputs, **{places[value]: array for value, array in handed.items()}}
    moved = partial(_moved, part=part, places=places)
    held = Op("held", "Reshape", (Param(places[Value(part, 0)]), Const(given.shape)))
    rest = [replace(one, inputs=tuple(map(moved, one.inputs))) for one in kernel.ops[part + 1 :]]
    results = tuple(moved(value) for value in kernel.results)
    slot = case.trial.slot
    if not isinstance(results[slot], Value):
        return None
    few = Kernel((held, *rest), (results[slot],))
    arithmetic = case.trial.arithmetic._replace(inputs="")
    trial = Trial(
        few, inputs, 0, case.trial.given, case.trial.expected, case.trial.floor, arithmetic
    )
    return Step(case, op, given, Evaluation(trial, Budget(math.inf)))


def _handed(case: Evaluation, kernel: Kernel, part: int) -> dict[Value, Array]:
    """What the operators up to one hand on to those behind it, each computed anew."""
    read = {o for one in kernel.ops[part + 1 :] for o in one.flat_inputs() if isinstance(o, Value)}
    wanted = {value for value in (*read, *kernel.results) if value.op <= part}
    found: dict[Value, Array] = {}
    for number in sorted({value.op for value in wanted} | {part}):
        seen: list[Array] = []

        def store(outputs: list[Array], seen: list[Array] = seen) -> list[Array]:
            seen[:] = outputs
            return outputs

        if case.recomputed(Change(number, store=store)) is None:
            return {}
        found |= {Value(number, slot): array for slot, array in enumerate(seen)}
    return found


def _moved(operand: Any, part: int, places: dict[Value, int]) -> Any:
    """Return an operand as the kernel of what comes behind has it: held by its first operator, read, or computed."""
    if isinstance(operand, Bundle):
        items: tuple[Operand, ...] = tuple(_moved(item, part, places) for item in operand.items)
        return replace(operand, items=items)
    if not isinstance(operand, Value):
        return operand
    if operand.op > part or operand == Value(part, 0):
        return Value(operand.op - part, operand.slot)
    return Param(places[operand])


def _of_all(step: Step) -> Iterator[Candidate]:
    """Every element that is handed on is changed alike."""
    for kind, said, function, free in _changes(step):
        output = step.handing(function)
        if output is not None:
            yield Candidate(kind, output, said, free + limits().choice_numbers)
    yield from _scaled(step)


def _changes(step: Step) -> Iterator[tuple[str, Message, Function, float]]:
    """Kind, what to say, what is made of the array, and free numbers."""
    own = step.op.op_type
    yield "wrong-sign", Message("compare/inside-sign", op_type=own), np.negative, 0.0
    limits = _limits(step)
    if limits is not None:
        low, high = limits
        floor = limit_between(low[0], low[1]) if low[0] < low[1] else 0.0
        if floor:
            said = Message("compare/inside-flush", op_type=own, limit=floor)
            yield "flush-to-zero", said, partial(_flushed, limit=floor), 1.0
        if high[0] < high[1]:
            yield from _cut(step, *high)
    yield from _lanes(step)


def _limits(step: Step) -> tuple[tuple[float, float], tuple[float, float]] | None:
    """Magnitudes between which a limit is, of those that are too small, and of those that are too large."""
    if step.given.shape != step.behind.shape:
        return None
    size, off = np.abs(step.given).reshape(-1), step.behind.off
    if not off.any() or off.all() or not np.isfinite(size).all():
        return None
    gone, stayed = size[off], size[~off]
    above = stayed[stayed > gone.max()]
    below = stayed[stayed < gone.min()]
    return (
        (float(gone.max()), float(above.min()) if above.size else 0.0),
        (float(below.max()) if below.size else np.inf, float(gone.min())),
    )


def _flushed(array: Array, limit: float) -> Array:
    return np.where(np.abs(array) < limit, array.dtype.type(0), array)


def _clipped(array: Array, limit: float) -> Array:
    return np.clip(array, -limit, limit)


def _cut(step: Step, low: float, high: float) -> Iterator[tuple[str, Message, Function, float]]:
    """Magnitudes beyond a limit are cut: a round one near what fits best."""

    def compute(limit: float) -> Array | None:
        return step.handing(partial(_clipped, limit=limit))

    solved = fit_number(step.behind, compute, (low + high) / 2, step.behind.error)
    if solved is None or is_negligible(
        solved / (float(np.abs(step.given).mean()) or 1.0), step.behind
    ):
        return
    for limit in dict.fromkeys((*round_numbers_near(solved), solved)):
        said = Message("compare/inside-saturated", op_type=step.op.op_type, limit=limit)
        free = 1.0 if limit == solved else 0.5
        yield "saturated", said, partial(_clipped, limit=limit), free


def _lanes(step: Step) -> Iterator[tuple[str, Message, Function, float]]:
    """Channels inside a block of C0 are exchanged."""
    shape = step.given.shape
    if not shape or step.given.size > _LANES:
        return
    axis = 1 if len(shape) > 3 else len(shape) - 1
    for distance in range(1, min(c0_of("float32"), 2 * shape[axis])):
        said = Message("compare/inside-lanes", op_type=step.op.op_type, distance=distance)
        yield "wrong-layout-lanes", said, partial(exchanged, axis=axis, distance=distance), 0.5


def _scaled(step: Step) -> Iterator[Candidate]:
    """Every element is multiplied by one factor: a round one near what fits best."""

    def compute(factor: float) -> Array | None:
        return step.handing(lambda array: (array.astype(np.float64) * factor).astype(array.dtype))

    solved = fit_number(step.behind, compute, 1.0, step.behind.error)
    if solved is None or is_negligible(solved, step.behind):
        return
    if min(abs(solved - 1.0), abs(solved + 1.0)) <= 2 * step.behind.floor:
        return
    for factor in dict.fromkeys((*round_numbers_near(solved), solved)):
        output = compute(factor)
        if output is not None:
            said = Message("compare/inside-scale", op_type=step.op.op_type, factor=factor)
            free = 1.0 if factor == solved else 0.5
            yield Candidate("scaled-output", output, said, free + limits().choice_numbers)


def _places(step: Step) -> NDArray[np.bool_] | None:
    """Where what is handed on can be wrong: where the output is, or in those of its channels."""
    off, shape = step.behind.off.reshape(step.behind.shape), step.given.shape
    if off.shape == shape:
        return off
    if len(shape) > 1 and off.shape == shape[1:2]:
        found = np.zeros(shape, np.bool_)
        found[:, off] = True
        return found
    return None


def _nan(step: Step) -> Iterator[Candidate]:
    """NaN in few elements, which later steps or the device make something else of."""
    places = _places(step)
    if places is None or not 0 < step.behind.off.mean() < 1:
        return
    output = step.handing(lambda array: np.where(places, array.dtype.type(np.nan), array))
    if output is not None:
        flat = step.behind.places
        place = describe_places(flat, step.behind.shape)
        said = Message("compare/inside-nan", op_type=step.op.op_type, where=place)
        yield Candidate("nan-output", output, said, 0.5 * (1 + count_runs(flat)))


def _overwritten(step: Step) -> Iterator[Candidate]:
    """One number in neighbors of what is handed on: the output shows others, as something was added."""
    places, behind = step.behind.places, step.behind
    if step.given.shape != behind.shape or not 1 < places.size < behind.given.size:
        return
    if places[-1] - places[0] + 1 != places.size or places.size > limits().elements_few:
        return
    with np.errstate(all="ignore"):
        there = step.given.reshape(-1)[places] + behind.given[places] - behind.expected[places]
    value = float(np.median(there))
    for number in dict.fromkeys((*round_numbers_near(value), value)):
        output = step.handing(partial(_with_number, places=places, number=number))
        if output is not None:
            place, op_type = describe_places(places, behind.shape), step.op.op_type
            code = "compare/inside-overwritten"
            said = Message(code, where=place, op_type=op_type, value=number)
            free = 2.0 if number == value else 1.5
            yield Candidate("overwritten-element", output, said, free + limits().choice_numbers)


def _with_number(array: Array, places: NDArray[np.intp], number: float) -> Array:
    """Return a copy with one number at flat places."""
    copy = array.copy(order="C")
    copy.reshape(-1)[places] = number
    return copy


def _flipped(step: Step) -> Iterator[Candidate]:
    """The same bit of one or a few neighbors of what is handed on is the other way."""
    places = step.behind.places
    few = 0 < places.size <= min(limits().elements_few, max(step.given.size // 4, 1))
    if step.given.shape != step.behind.shape or not few:
        return
    zero = 0.0 if step.behind.given[places].any() else limits().zero_numbers
    for bit in range(32):
        output = step.handing(partial(_with_bit, places=places, bit=bit))
        if output is None:
            return
        made = output.reshape(-1)[places]
        same = np.array_equal(made, step.behind.trial.given.reshape(-1)[places])
        if same or (not zero and _close(step, made)):
            place, op_type = describe_places(places, step.behind.shape), step.op.op_type
            said = Message("compare/inside-bit", bit=bit, where=place, op_type=op_type)
            yield Candidate(
                "bit-flip",
                output,
                said,
                0.5 * (1 + count_runs(places)) - 0.25 + limits().choice_numbers + zero,
            )


def _close(step: Step, made: Array) -> bool:
    """Whether elements are, but for noise that an element may have of its own, what was given."""
    case = step.behind
    given, wanted = case.given[case.places], case.expected[case.places]
    with np.errstate(all="ignore"):
        gap = np.abs(made.astype(np.float64) - given)
        change = np.abs(given - wanted)
    return bool(
        np.all(gap <= case.floor * (np.abs(given) + case.rms)) and np.all(gap <= 0.1 * change)
    )


def _with_bit(array: Array, places: NDArray[np.intp], bit: int) -> Array:
    """Return a copy with one bit of float32 flipped at flat places."""
    words = np.ascontiguousarray(array, np.float32).copy().view(np.uint32).reshape(-1)
    words[places] ^= np.uint32(1 << bit)
    return words.view(np.float32).reshape(array.shape).astype(array.dtype)
