"""Faults of what an operator reads: operands in another order, cut, or with a wrong element."""

from __future__ import annotations

from functools import partial
from itertools import combinations, permutations
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.comparison.explain.case import Candidate
from workbench.comparison.limits import limits
from workbench.comparison.replay.kernel import Change
from workbench.core.words import Message
from workbench.npu.cube import BLOCK
from workbench.npu.ops_info import INTEGERS
from workbench.ops import bind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from workbench.comparison.explain.case import Evaluation
    from workbench.graph.graph import Op

    Array = NDArray[Any]


def transposed_weight(case: Evaluation) -> Iterator[Candidate]:
    """The weight is read as if two of its axes lay the other way round, or backwards."""
    for part, op in case.parts(INTEGERS):
        shape = _shape_of(case, part)
        axes = [axis for axis, size in enumerate(shape) if size > 1]
        for pair in reversed(list(combinations(axes, 2))):
            guess = case.recomputed(Change(part, load=_second(partial(transposed, axes=pair))))
            if guess is not None:
                said = Message("compare/fault-transposed", first=pair[0], second=pair[1])
                yield Candidate("transposed-weight", guess, said, 0.25)
        if op.op_type == "Conv2D" and len(shape) == 4 and max(shape[2:]) > 1:
            guess = case.recomputed(Change(part, load=_second(lambda w: w[..., ::-1, ::-1])))
            if guess is not None:
                said = Message("compare/fault-flipped")
                yield Candidate("transposed-weight", guess, said, 0.25)


def transposed(weight: Array, axes: tuple[int, int]) -> Array:
    """Return a weight as it looks if two of its axes lie the other way round in memory."""
    shape, (first, second) = list(weight.shape), axes
    shape[first], shape[second] = shape[second], shape[first]
    return np.ascontiguousarray(weight).reshape(shape).swapaxes(first, second)


def _second(change: Callable[[Array], Array]) -> Callable[[list[Array]], list[Array]]:
    """Return a change of the second tensor alone."""

    def load(tensors: list[Array]) -> list[Array]:
        left, weight, *rest = tensors
        return [left, np.ascontiguousarray(change(weight)), *rest]

    return load


def _shape_of(case: Evaluation, part: int) -> tuple[int, ...]:
    """Shape of the second tensor that an operator reads."""
    seen = case.tensors(part)
    return seen[1].shape if len(seen) > 1 else ()


def dropped_k_tail(case: Evaluation) -> Iterator[Candidate]:
    """The last blocks of 16 of the inner dimension are missing from the sums.

    What is left over falls until the right number is missing and rises then: larger numbers are tried
    only as long as it falls.
    """
    for part, op in case.parts(INTEGERS):
        blocks = _blocks(case, part, op)
        tried: dict[int, float] = {}
        for count in _counts(blocks, tried):
            cut = _cut(op, count)
            guess = case.recomputed(Change(part, load=cut))
            if guess is None:
                break
            tried[count] = case.remains(guess)
            said = Message("compare/fault-k-tail", count=count, blocks=blocks, size=BLOCK)
            yield Candidate("dropped-k-tail", guess, said, 0.1 * min(count, 5))


def _counts(blocks: int, tried: dict[int, float]) -> Iterator[int]:
    """Numbers of blocks to try: 1, 2, 4, … while it gets better, then between the best and its neighbors."""
    count, best = 1, float("inf")
    while count <= blocks:
        yield count
        if tried.get(count, best) >= best and count > 4:
            break
        best = min(best, tried.get(count, best))
        count = count * 2 if count > 3 else count + 1
    for _ in range(2 * blocks.bit_length()):
        if not tried:
            return
        middle = min(tried, key=lambda n: tried[n])
        below = max((n for n in tried if n < middle), default=middle)
        above = min((n for n in tried if n > middle), default=min(2 * middle, blocks))
        rest = [(below + middle) // 2, (middle + above + 1) // 2]
        rest = [n for n in rest if n not in tried and 0 < n <= blocks]
        if not rest:
            return
        yield from rest


def _blocks(case: Evaluation, part: int, op: Op) -> int:
    """How many blocks the inner dimension has."""
    shape = _shape_of(case, part)
    if op.op_type == "Conv2D":
        return -(-shape[1] // BLOCK) * shape[2] * shape[3] if len(shape) == 4 else 0
    if len(shape) < 2:
        return 0
    return -(-shape[-1 if _is_set(op, "transpose_b") else -2] // BLOCK)


def _is_set(op: Op, name: str) -> bool:
    return bool(bind(op).settings.get(name))


def _cut(op: Op, count: int) -> Callable[[list[Array]], list[Array]]:
    """Return what takes the last blocks out of the operands."""
    if op.op_type == "Conv2D":
        return _second(lambda weight: _without(weight, count))
    right = -1 if _is_set(op, "transpose_b") else -2
    left = -2 if _is_set(op, "transpose_a") else -1

    def load(tensors: list[Array]) -> list[Array]:
        blocks = -(-tensors[1].shape[right] // BLOCK)
        cut = [
            _zeroed(tensor, axis, (blocks - count) * BLOCK)
            for tensor, axis in zip(tensors[:2], (left, right), strict=True)
        ]
        return [*cut, *tensors[2:]]

    return load


def _zeroed(array: Array, axis: int, start: int) -> Array:
    copy = array.copy()
    np.moveaxis(copy, axis, 0)[start:] = 0
    return copy


def _without(weight: Array, count: int) -> Array:
    """Zeros in the last blocks of a kernel: 16 channels at one of its elements each."""
    depth, taps = weight.shape[1], weight.shape[2] * weight.shape[3]
    kept = weight.reshape(*weight.shape[:2], taps).copy()
    groups = -(-depth // BLOCK)
    for block in range(groups * taps)[-count:]:
        channel = block // taps * BLOCK
        kept[:, channel : channel + BLOCK, block % taps] = 0
    return kept.reshape(weight.shape)


def swapped_inputs(case: Evaluation) -> Iterator[Candidate]:
    """Two inputs of one shape were exchanged."""
    for part, _ in case.parts():
        tensors = case.tensors(part)
        pairs = combinations(range(min(len(tensors), 4)), 2)
        for first, second in pairs:
            if tensors[first].shape == tensors[second].shape and tensors[first].ndim:
                order = list(range(len(tensors)))
                order[first], order[second] = second, first
                guess = case.recomputed(Change(part, load=partial(_reordered, order)))
                if guess is not None:
                    said = Message("compare/fault-swapped", first=first, second=second)
                    yield Candidate("swapped-inputs", guess, said, limits().rare_numbers)


def _reordered(order: list[int], tensors: list[Array]) -> list[Array]:
    return [tensors[number] for number in order]


def transposed_output(case: Evaluation) -> Iterator[Candidate]:
    """The output lies in memory with its axes in another order."""
    expected = case.trial.expected
    wide = [axis for axis, size in enumerate(expected.shape) if size > 1]
    if not 1 < len(wide) <= 4:
        return
    for order in list(permutations(wide))[1:]:
        axes = list(range(expected.ndim))
        for place, axis in zip(wide, order, strict=True):
            axes[place] = axis
        moved = np.ascontiguousarray(expected.transpose(axes)).reshape(expected.shape)
        yield Candidate(
            "transposed-output",
            moved,
            Message("compare/fault-order", axes=axes),
            limits().rare_numbers,
        )
