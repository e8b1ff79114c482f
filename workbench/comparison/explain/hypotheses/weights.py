"""A wrong element of a weight: its trace in the output is one row, column or channel, off by a known pattern."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.comparison.explain.case import FAILURES, Candidate
from workbench.comparison.limits import limits
from workbench.comparison.replay.kernel import Change
from workbench.core.words import Message
from workbench.graph.graph import Param
from workbench.ops import bind
from workbench.ops.kernels.window import window

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from workbench.comparison.explain.case import Evaluation
    from workbench.graph.graph import Op

    Array = NDArray[Any]
    Place = tuple[int, ...]

_SEARCHED = 1 << 20  # numbers in which all runs of neighbors are looked at
_LONGEST = 16  # run of neighbors with one number
_MOST = 4  # wrong elements that are looked for
_PATCHES = 1 << 24  # numbers that the patches of a convolution may take


def wrong_weight_element(case: Evaluation) -> Iterator[Candidate]:
    """One element of what the operator multiplies with, or adds, is another one."""
    if not case.places.size:
        return
    for part, op in case.parts():
        try:
            found = list(_suspects(case, part, op))
        except FAILURES:
            continue
        for place, index, value in found:
            yield from _replaced(case, part, place, index, value)


def _replaced(
    case: Evaluation, part: int, place: int, index: list[Place], value: list[float]
) -> Iterator[Candidate]:
    """Yield what the operator gives with other elements of a tensor that it reads."""
    guess = case.recomputed(Change(part, load=_holding(place, index, value)))
    if guess is not None:
        was = case.tensors(part)[place][index[0]]
        said = Message(
            "compare/fault-weight", index=[int(n) for n in index[0]], slot=place, value=value[0],
            expected=float(was),
        )  # fmt: skip
        count = 2 * len(set(value))
        accused = _input_of(case, part, place)
        yield Candidate(
            "wrong-weight-element", guess, said, float(count), loose=True, accuses=accused
        )


def _input_of(case: Evaluation, part: int, place: int) -> int:
    """Flat input of the kernel that a tensor of one of its operators is, -1 for a result of another of them."""
    operand = bind(case.trial.kernel.ops[part]).tensors[place]
    return operand.index if isinstance(operand, Param) else -1


def _holding(
    place: int, index: list[Place], value: list[float]
) -> Callable[[list[Array]], list[Array]]:
    """Return a change of some elements of one tensor."""

    def load(tensors: list[Array]) -> list[Array]:
        changed = tensors[place].copy()
        for one, number in zip(index, value, strict=True):
            changed[one] = number
        return [changed if n == place else tensor for n, tensor in enumerate(tensors)]

    return load


def _suspects(
    case: Evaluation, part: int, op: Op
) -> Iterator[tuple[int, list[Place], list[float]]]:
    """Elements of inputs that the error may come from, with the values that they must have had."""
    tensors = case.tensors(part)
    last = part == len(case.trial.kernel.ops) - 1
    if op.op_type == "MatMul" and last and len(tensors) == 2:
        yield from _of_product(case, bind(op).settings, tensors)
    elif op.op_type == "Conv2D" and last and len(tensors) == 2:
        yield from _of_convolution(case, bind(op).settings, tensors)
    for place, tensor in enumerate(tensors):
        if tensor.size > 1 and tensor.dtype.kind == "f":
            yield from _of_vector(case, part, place, tensor)
    if op.op_type == "Gather" and len(tensors) == 2 and last:
        yield from _of_table(case, bind(op).settings, tensors)


def _of_product(
    case: Evaluation, settings: Any, tensors: list[Array]
) -> Iterator[tuple[int, list[Place], list[float]]]:
    """Every column of a product is off by multiples of the left side's columns."""
    left = tensors[0].T if settings["transpose_a"] else tensors[0]
    rest = _rest(case).reshape(case.shape)
    columns = np.flatnonzero(case.off.reshape(case.shape).any(axis=0))
    if not 0 < columns.size <= _LONGEST:
        return
    weight = tensors[1] if settings["transpose_b"] else tensors[1].T
    atoms = left.astype(np.float64)
    if columns.size > _MOST:
        found = _one_row(atoms, rest[:, columns], weight[columns], columns)
    else:
        found = [
            (int(column), row, number)
            for column in columns
            for row, number in _explained(atoms, rest[:, column], weight[column])
        ]
    index: list[Place] = [(c, r) if settings["transpose_b"] else (r, c) for c, r, _ in found]
    yield 1, index, [number for _, _, number in found]


def _one_row(
    atoms: Array, rest: Array, weight: Array, columns: NDArray[np.intp]
) -> list[tuple[int, int, float]]:
    """The place along the inner dimension at which one number stands in many columns."""
    norms = np.einsum("ij,ij->j", atoms, atoms)
    steps = (atoms.T @ rest) / np.where(norms > 0, norms, np.inf)[:, None]
    row = int(np.argmax((steps**2).sum(axis=1) * norms))
    number = float(np.mean(weight[:, row] + steps[row]))
    return [(int(column), row, number) for column in columns]


def _of_convolution(
    case: Evaluation, settings: Any, tensors: list[Array]
) -> Iterator[tuple[int, list[Place], list[float]]]:
    """Every channel that is off is so by what elements of a kernel see of the image."""
    x, weight = tensors
    off = case.off.reshape(case.shape)
    channels = np.flatnonzero(off.any(axis=(0, 2, 3)))
    if not 0 < channels.size <= 2:
        return
    rest = _rest(case).reshape(case.shape)
    depth = weight.shape[1]
    index: list[Place] = []
    value: list[float] = []
    for channel in channels:
        start = int(channel) // (weight.shape[0] // int(settings["group"])) * depth
        atoms = _patches(x[:, start : start + depth], weight, settings, case.shape)
        error = rest[:, channel].reshape(-1)
        for number, found in _explained(atoms, error, weight[channel].reshape(-1)):
            tap = np.unravel_index(number, weight.shape[1:])
            index.append((int(channel), *(int(i) for i in tap)))
            value.append(found)
    if index:
        yield 1, index, value


def _patches(x: Array, weight: Array, settings: Any, shape: tuple[int, ...]) -> Array:
    """What every element of a kernel meets: (images · rows · columns, elements)."""
    view = window(settings, x.shape[2:], weight.shape[2:], settings["stride"])
    top, bottom, left, right = view.pads
    elements = x.shape[1] * view.kernel[0] * view.kernel[1]
    count = shape[0] * shape[2] * shape[3]
    if elements * count > _PATCHES:
        raise MemoryError
    padded = np.pad(x.astype(np.float64), ((0, 0), (0, 0), (top, bottom), (left, right)))
    seen = np.empty((x.shape[1], *view.kernel, shape[0], *shape[2:]))
    for i, j in np.ndindex(view.kernel):
        down = slice(i * view.dilation[0], None, view.stride[0])
        along = slice(j * view.dilation[1], None, view.stride[1])
        piece = padded[:, :, down, along][:, :, : shape[2], : shape[3]]
        seen[:, i, j] = piece.swapaxes(0, 1)
    return seen.reshape(elements, count).T


def _explained(atoms: Array, rest: Array, weight: Array) -> list[tuple[int, float]]:
    """Numbers that elements of a weight must have had for a vector to be off as it is.

    One number in a run of neighbors if that does, else a number for each of a few columns.
    """
    first = _pursued(atoms, rest, 1)[0][0]
    run, number, left = _run(atoms, rest, weight.astype(np.float64), first)
    several = _pursued(atoms, rest, _MOST)
    apart = rest - atoms[:, [one for one, _ in several]] @ np.array([step for _, step in several])
    noise = limits().weights_nothing * float(np.linalg.norm(rest))
    if left <= max(2 * float(np.linalg.norm(apart)), noise):
        return [(place, number) for place in run]
    return [(one, float(weight[one]) + step) for one, step in several]


def _run(atoms: Array, rest: Array, weight: Array, near: int) -> tuple[range, float, float]:
    """The run of neighbors that one number in all of them explains best, that number, and what it leaves.

    All runs are looked at, those around a column where that would take too long.
    """
    low, high = 0, weight.size
    if atoms.size > _SEARCHED:
        low, high = max(near - _LONGEST, 0), min(near + _LONGEST, weight.size)
    sums = np.zeros((atoms.shape[0], high - low + 1))
    np.cumsum(atoms[:, low:high], axis=1, out=sums[:, 1:])
    was = np.zeros_like(sums)
    np.cumsum(atoms[:, low:high] * weight[low:high], axis=1, out=was[:, 1:])
    best = range(near, near + 1), float(weight[near]), math.inf
    for length in range(1, min(_LONGEST, high - low) + 1):
        atom = sums[:, length:] - sums[:, :-length]
        wanted = rest[:, None] + was[:, length:] - was[:, :-length]
        below = np.einsum("ij,ij->j", atom, atom)
        number = np.einsum("ij,ij->j", atom, wanted) / np.where(below > 0, below, np.inf)
        left = np.linalg.norm(wanted - atom * number, axis=0)
        first = int(np.argmin(left))
        if left[first] < 0.95 * best[2]:
            run = range(low + first, low + first + length)
            best = run, float(number[first]), float(left[first])
    return best


def _pursued(atoms: Array, rest: Array, most: int) -> list[tuple[int, float]]:
    """Columns that a vector is made of, each chosen by what the others leave, with their factors.

    Orthogonal matching pursuit (Pati, Rezaiifar and Krishnaprasad, 1993), up to a few columns.
    """
    norms = np.linalg.norm(atoms, axis=0)
    if not (np.isfinite(norms).all() and np.isfinite(rest).all()):
        raise ArithmeticError  # LAPACK writes about these to the terminal
    usable = np.where(norms > 0, norms, np.inf)
    chosen: list[int] = []
    steps, left, whole = np.zeros(0), rest, float(np.linalg.norm(rest))
    while not chosen or len(chosen) < min(most, rest.size):
        fit = np.abs(left @ atoms) / usable
        fit[chosen] = 0.0
        chosen.append(int(np.argmax(fit)))
        steps = np.linalg.lstsq(atoms[:, chosen], rest, rcond=None)[0]
        left = rest - atoms[:, chosen] @ steps
        if float(np.linalg.norm(left)) < limits().weights_nothing * whole:
            break
    return [(one, float(step)) for one, step in zip(chosen, steps, strict=True)]


def _of_vector(
    case: Evaluation, part: int, place: int, tensor: Array
) -> Iterator[tuple[int, list[Place], list[float]]]:
    """A tensor that is laid along some axes of the output: few of its places are off everywhere."""
    for axes in _laid(tensor.shape, case.shape):
        others = tuple(n for n in range(len(case.shape)) if n not in axes)
        places = np.flatnonzero(case.off.reshape(case.shape).any(axis=others))
        if not 0 < places.size <= _LONGEST:
            continue
        index = [tuple(int(i) for i in np.unravel_index(one, tensor.shape)) for one in places]
        common = _element(case, part, place, index)
        if common is not None:
            yield place, index, [common] * len(index)
        if 1 < places.size <= _MOST:
            values = [_element(case, part, place, [one]) for one in index]
            if all(value is not None for value in values):
                yield place, index, [float(value) for value in values if value is not None]


def _laid(small: Place, large: Place) -> Iterator[Place]:
    """Axes of the output that a tensor may lie along: the last ones, or any one if it is a vector."""
    if len(small) == 1:
        yield from ((axis,) for axis, size in enumerate(large) if size == small[0])
    elif 1 < len(small) < len(large) and large[-len(small) :] == small:
        yield tuple(range(len(large) - len(small), len(large)))


def _element(case: Evaluation, part: int, place: int, index: list[Place]) -> float | None:
    """Value of one element, or of several alike, by steps of Gauss and Newton, the first of them long."""
    was = float(case.tensors(part)[place][index[0]])
    number, step = was, abs(was) or 1.0
    for _ in range(3):
        here = _with_element(case, part, place, index, number)
        there = _with_element(case, part, place, index, number + step)
        if here is None or there is None:
            return None
        change, rest = there - here, case.given - here
        usable = np.isfinite(change) & np.isfinite(rest)
        below = float(change[usable] @ change[usable])
        if not below:
            return None
        number += step * float(rest[usable] @ change[usable]) / below
        step = 1e-2 * abs(number) or 1e-3
    return number if number != was else None


def _with_element(
    case: Evaluation, part: int, place: int, index: list[Place], number: float
) -> Array | None:
    guess = case.recomputed(Change(part, load=_holding(place, index, [number] * len(index))))
    return None if guess is None else guess.reshape(-1).astype(np.float64)


def _of_table(
    case: Evaluation, settings: Any, tensors: list[Array]
) -> Iterator[tuple[int, list[Place], list[float]]]:
    """Every look-up of one row of a table shows the same wrong number."""
    table, indices = tensors
    if settings.get("axis") or table.ndim != 2:
        return
    rows = indices.reshape(-1)[case.places // table.shape[1]]
    columns = case.places % table.shape[1]
    found = {
        (int(r), int(c)): float(v)
        for r, c, v in zip(rows, columns, case.given[case.places], strict=True)
    }
    if 0 < len(found) <= _MOST:
        yield 0, list(found), list(found.values())


def _rest(case: Evaluation) -> Array:
    """What is to be explained, zero where it is not finite."""
    with np.errstate(all="ignore"):
        rest = case.given.astype(np.float64) - case.expected
    return np.where(np.isfinite(rest), rest, 0.0)
