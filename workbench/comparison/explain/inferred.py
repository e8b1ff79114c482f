"""Overwrite that only results show: what must have lain over an input, so that its reader gave what it gave.

A dump of outputs alone holds every tensor once, as it was written. Where an operator did not give what
these make it give, its input may have been written over before it read it: at the beginning, by whoever
lies below. A reader that is linear in its input tells what lay there; any that agrees then is believed.
"""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench._values import NamedTuple
from workbench.comparison.bind.memory import Overwrite, Snapshot, data
from workbench.comparison.explain.explain import UNEXPLAINED
from workbench.comparison.explain.hypotheses.elements import REPEAT
from workbench.comparison.explain.memory import memory_orders
from workbench.comparison.explain.origins import own_trial, trial_beside
from workbench.comparison.graphs.roles import LEAVES
from workbench.comparison.graphs.traverse import ALIAS, readers, storage_of
from workbench.comparison.limits import limits
from workbench.comparison.replay.attempt import TROUBLE
from workbench.comparison.replay.kernel import NOTHING
from workbench.comparison.trust import may_say
from workbench.core.tensors import ArraySource
from workbench.graph.graph import Value
from workbench.npu.arithmetic import EXACT

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from workbench.comparison.bind.binding import Execution
    from workbench.comparison.explain.origins import Origin
    from workbench.comparison.follow.state import Assessment
    from workbench.comparison.follow.trace import Trace
    from workbench.comparison.replay.kernel import Trial
    from workbench.graph.graph import Graph

    Array = NDArray[Any]

_MOST = 1 << 16  # elements of an input or result with which anything is computed again
_GUESSES = 64  # outputs, and places in them, that are tried where nothing can be fitted
_NUMBERS = (0.0, *(sign * 10.0**n for n in range(-2, 5) for sign in (1, -1)))
_FEWEST = (
    4  # elements of which the input and the result must have so many: some number explains any one
)
_SHIFTS = 1 << 16  # places in an output that are tried


class Head(NamedTuple):
    """The beginning of an input in memory: places of its elements there (-1: padding), as many as one step writes."""

    slot: int
    places: NDArray[np.intp]


def may_be_overwritten(flow: Trace, origin: Origin) -> bool:
    """Nobody has dumped its inputs, no difference is named, and no explanation is likely."""
    event, known = origin.event, origin.explanation
    run = flow.pairing.target.runs[event.block].get(event.op)
    if (
        event.open_inputs
        or event.differences
        or run is None
        or any(io == "input" for io, _ in run.tensors)
    ):
        return False
    if known is None or known.kind in (UNEXPLAINED, "overrun"):
        return True
    return known.probability < limits().doubted


def infer_damage(flow: Trace, event: Assessment) -> Overwrite | None:
    """Return the damage of an input that explains an operator's own error; ``None`` if none does."""
    binding = flow.pairing.target
    graph = binding.graph(event.block)
    if graph is None or not may_say("memory", binding.trust(event.block)):
        return None
    try:
        with np.errstate(all="ignore"):  # a file may hold anything
            trial = _trial(flow, graph, event)
            if trial is None:
                return None
            found = [
                one
                for slot, value in _read(graph, event, trial)
                for one in _over(flow, graph, event, trial, slot, value)
            ]
    except TROUBLE:
        return None
    return min(found, key=lambda one: one[0], default=(0.0, None))[1]


def _trial(flow: Trace, graph: Graph, event: Assessment) -> Trial | None:
    """A guilty operator with what it should have read: of its own run, else beside the golden's."""
    replayed = flow.replayed
    if replayed is None:
        return None
    if event.replayed is not None:
        return own_trial(replayed, event, earlier=False)
    trial = trial_beside(replayed, event)
    if trial is None:
        return None
    inputs = dict(trial.inputs)
    for slot, value in _read(graph, event, trial):
        array = replayed.target_inputs.given(event.block, value.op, value.slot)
        if array is None or array.size != inputs[slot].size:
            return None
        inputs[slot] = array.reshape(inputs[slot].shape)
    return replace(trial, inputs=inputs, expected=replace(trial, inputs=inputs).recompute(NOTHING))


def _read(graph: Graph, event: Assessment, trial: Trial) -> Iterator[tuple[int, Value]]:
    """Inputs that operators gave: slots, and whose memory they are."""
    for slot, operand in enumerate(graph.ops[event.op].flat_inputs()):
        if isinstance(operand, Value) and slot in trial.inputs:
            value = storage_of(graph, operand)
            if graph.ops[value.op].op_type not in LEAVES and trial.inputs[slot].size:
                yield slot, value


def _over(
    flow: Trace, graph: Graph, event: Assessment, trial: Trial, slot: int, value: Value
) -> Iterator[tuple[float, Overwrite]]:
    """Overwrite at the beginning of an input that explains the error, in any order it may have; what it leaves."""
    run = flow.pairing.target.runs[event.block].get(value.op)
    record = run.tensors.get(("output", value.slot)) if run is not None else None
    array, since = trial.inputs[slot], _since(flow, graph, event, value)
    if record is None or since + 1 >= event.op or max(array.size, trial.given.size) > _MOST:
        return
    written = replace(record, source=ArraySource(array))
    first = Snapshot(value.op, "output", value.slot, written)
    outputs = [*_outputs(flow, event.block, range(since + 1, event.op))]
    for head in _heads(array, slot):
        for left, lying in _found(trial, head, outputs):
            look = Snapshot(event.op, "input", slot, replace(record, source=ArraySource(lying)))
            yield left, Overwrite(event.block, value, first, look, since, inferred=True)


def _since(flow: Trace, graph: Graph, event: Assessment, value: Value) -> int:
    """The last operator after which an input was as written: whoever read it gave what it had to.

    That one may have written over it itself, when it had read it.
    """
    found = value.op
    for number, _ in readers(graph, value, ALIAS):
        own = flow.own_error(event.block, number)
        if found < number < event.op and own is not None and not own.suspect:
            found = number - 1
    return found


def _outputs(flow: Trace, block: Execution, numbers: Iterable[int]) -> Iterator[Array]:
    """Outputs of operators, flat, in every order they may have."""
    runs = flow.pairing.target.runs[block]
    for number in numbers:
        run = runs.get(number)
        for (io, _), record in run.tensors.items() if run is not None else ():
            array = data(record) if io == "output" else None
            if array is not None and array.size:
                yield from (flat for _, flat in memory_orders(array))


def _heads(array: Array, slot: int) -> Iterator[Head]:
    count = max(REPEAT // array.itemsize, 1)
    numbers = np.arange(1, array.size + 1).reshape(array.shape)
    seen = set()
    for _, flat in memory_orders(numbers, array.dtype.name):
        places = flat[:count].astype(np.intp) - 1
        if places.tobytes() not in seen:
            seen.add(places.tobytes())
            yield Head(slot, places)


def _found(trial: Trial, head: Head, outputs: Sequence[Array]) -> Iterator[tuple[float, Array]]:
    """What an input must have been, and what that leaves over; nothing if damage there might be anything."""
    array = trial.inputs[head.slot]
    if min(int(np.count_nonzero(head.places >= 0)), trial.given.size) < _FEWEST:
        return
    fitted, best = _fitted(trial, head), math.inf
    some: Iterable[Array] = ()
    if fitted is not None:
        values, known, telling = fitted
        some = _candidates(values, known, array.dtype, outputs)
        if telling:
            old = array.reshape(-1)[np.maximum(head.places, 0)].astype(np.float64)
            some = chain(some, [np.where(known, values, old).astype(array.dtype)])
    some = chain(some, _guessed(array, head, outputs))
    for lying in some:
        whole = _laid(array, head, lying)
        left = _left(trial, head.slot, whole)
        if left < best:
            best = left
            yield left, whole


def _guessed(array: Array, head: Head, outputs: Sequence[Array]) -> Iterator[Array]:
    """What may lie at the beginning of an input where nothing can be fitted: numbers, and others' outputs."""
    size = head.places.size
    if array.dtype.kind in "iub":
        return
    for number in _NUMBERS:
        yield np.full(size, number).astype(array.dtype)
    tries = [flat.tobytes() for flat in outputs[:_GUESSES]]
    for raw in tries:
        step = max(len(raw) // (_GUESSES // len(tries)), 1)
        step += -step % array.itemsize
        for phase in range(0, len(raw), step):
            times = -(-(phase + size * array.itemsize) // len(raw))
            yield np.frombuffer((raw * times)[phase:], array.dtype, size)


def _laid(array: Array, head: Head, lying: Array) -> Array:
    whole = array.copy(order="C")
    inside = head.places >= 0
    whole.reshape(-1)[head.places[inside]] = lying[inside]
    return whole


def _left(trial: Trial, slot: int, array: Array) -> float:
    """Share of the error that is left where this is an input; infinite if it does not explain what was given."""
    result = replace(trial, inputs={**trial.inputs, slot: array}).recompute(NOTHING)
    given, expected, result = (
        np.asarray(x, np.float64).reshape(-1) for x in (trial.given, trial.expected, result)
    )
    agree = (given == result) | (np.isnan(given) & np.isnan(result))
    off, scale = np.where(agree, 0.0, given - result), float(np.linalg.norm(expected))
    left, error = float(np.linalg.norm(off)), float(np.linalg.norm(given - expected))
    if not math.isfinite(error):
        return 0.0 if left == 0.0 else math.inf
    rounding = min(4.0 * trial.floor * scale, 0.25 * error)
    explained = left <= max(limits().left_over * error, rounding)
    return left / error if explained and error else math.inf


def _fitted(trial: Trial, head: Head) -> tuple[Array, NDArray[np.bool_], bool] | None:
    """Elements at the beginning that explain the result best; ``None`` if they leave too much of the error.

    With them which of them it depends on, and whether it has many more numbers than these.
    """
    array = trial.inputs[head.slot]
    if array.dtype.kind in "iub":
        return None
    inputs = dict(trial.inputs)
    wide = array.astype(np.float64)
    base = _result(trial, inputs, head.slot, wide)
    given, expected = (x.astype(np.float64).reshape(-1) for x in (trial.given, trial.expected))
    usable = np.isfinite(given) & np.isfinite(base)
    columns = np.zeros((base.size, head.places.size))
    known = wide[np.isfinite(wide)]
    step = float(np.sqrt(np.mean(np.square(known)))) if known.any() else 1.0
    for n, place in enumerate(head.places):
        if place >= 0:
            moved = wide.copy(order="C")
            moved.reshape(-1)[place] += step
            columns[:, n] = (_result(trial, inputs, head.slot, moved) - base) / step
    touched = np.any(columns != 0.0, axis=1)
    off = np.where(usable, given - expected, 0.0)
    allowed = limits().left_over * np.linalg.norm(off)
    if not touched.any() or np.linalg.norm(off[~touched]) > allowed:
        return None
    rows = touched & usable
    known = np.any(columns[rows] != 0.0, axis=0)
    if not np.isfinite(columns[rows]).all() or 8 * known.sum() < known.size:
        return None
    moved, *_ = np.linalg.lstsq(columns[rows][:, known], off[rows], rcond=1e-9)
    left = off[rows] - columns[rows][:, known] @ moved
    if np.linalg.norm(left) > allowed:
        return None
    values = np.zeros(head.places.size)
    values[known] = wide.reshape(-1)[head.places[known]] + moved
    return values, known, int(np.count_nonzero(rows)) >= 2 * int(known.sum())


def _result(trial: Trial, inputs: dict[int, Array], slot: int, array: Array) -> Array:
    wide = np.empty(trial.given.shape)  # nothing is rounded
    result = replace(trial, inputs={**inputs, slot: array}, given=wide, arithmetic=EXACT).recompute(
        NOTHING
    )
    return np.asarray(result, np.float64).reshape(-1)


def _candidates(
    values: Array, known: NDArray[np.bool_], kind: np.dtype[Any], outputs: Iterable[Array]
) -> Iterator[Array]:
    """What could lie there: a number that is repeated, or bytes of an output."""
    repeated = values.copy()
    for start in range(2 if kind.itemsize == 2 else 1):
        some = values[start :: 2 if kind.itemsize == 2 else 1]
        some = some[known[start :: 2 if kind.itemsize == 2 else 1]]
        if some.size:
            repeated[start :: 2 if kind.itemsize == 2 else 1] = np.median(some)
    if _close(repeated, values, known) and np.any(repeated):
        yield repeated.astype(kind)
    for flat in outputs:
        yield from _of_output(values, known, kind, flat)


def _of_output(
    values: Array, known: NDArray[np.bool_], kind: np.dtype[Any], flat: Array
) -> Iterator[Array]:
    """Bytes of an output, or of its endless repetition, that are close to fitted numbers."""
    raw, size = flat.tobytes(), values.size * kind.itemsize
    if not any(raw):
        return
    tiled = raw * (-(-(size + len(raw)) // len(raw)))
    for phase in range(0, kind.itemsize, min(flat.itemsize, kind.itemsize)):
        count = (min(len(raw), _SHIFTS) + size - phase) // kind.itemsize
        there = np.frombuffer(tiled, kind, min(count, (len(tiled) - phase) // kind.itemsize), phase)
        wide = np.where(np.isfinite(there), there, np.inf).astype(np.float64)
        if wide.size < values.size:
            continue
        windows = np.lib.stride_tricks.sliding_window_view(wide, values.size)
        probe = np.flatnonzero(known)[np.argsort(-np.abs(values[known]))[:4]]
        limit = limits().numbers_close * float(np.abs(values[known]).max())
        near = np.all(np.abs(windows[:, probe] - values[probe]) <= limit, axis=1)
        for start in np.flatnonzero(near)[:16]:
            piece = there[start : start + values.size]
            if _close(piece.astype(np.float64), values, known):
                yield piece


def _close(one: Array, values: Array, known: NDArray[np.bool_]) -> bool:
    off = float(np.linalg.norm((one - values)[known]))
    return off <= limits().numbers_close * float(np.linalg.norm(values[known]))
