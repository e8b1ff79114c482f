"""Outputs of another framework without any graph: names of fused kernels taken apart, then values.

A kernel that the graph engine has fused bears the names of its operators, one behind the other, and gives what the
last of them gives. Names agree easily, so they count only where sizes agree, where there is one way to take the name
apart, and where no part has a file of its own. Values tell the rest: an output is the golden whose elements are
nearly its own, if no other tensor of that shape comes near. What is far off pairs with nothing, so nobody is accused.
"""

from __future__ import annotations

from collections import Counter
from math import inf
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from workbench.comparison.align.rules import JOINED, NEAREST
from workbench.comparison.bind.wiring import array_of, infer_wiring
from workbench.comparison.graphs.view import hands_on
from workbench.comparison.limits import limits
from workbench.comparison.pair.kernels import FUSED
from workbench.comparison.pair.producers import is_of_one_size, is_of_outputs
from workbench.core.cancel import checkpoint
from workbench.dump.formats.mindspore_name import sanitize

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from numpy.typing import NDArray

    from workbench.comparison.bind.binding import OperatorRun
    from workbench.comparison.pair.claims import Claims, ExecutionPair, Place
    from workbench.comparison.result import Side
    from workbench.core.tensors import TensorRecord

    Runs = Mapping[int, OperatorRun]

_MOST_PARTS = 64
"""Most operators that one kernel is taken for."""


def take_apart(name: str, known: Collection[str], most: int = 2) -> list[tuple[str, ...]]:
    """Return the ways in which a name is several known ones, one behind the other; no more than ``most``.

    >>> take_apart("conv1relu1", {"conv1", "relu1", "conv"})
    [('conv1', 'relu1')]
    >>> take_apart("aab", {"a", "ab", "aa", "b"}), take_apart("conv1", {"conv1"})
    ([('a', 'ab'), ('aa', 'b')], [])
    """
    lengths = sorted({len(one) for one in known if one})
    ways: list[list[tuple[str, ...]]] = [[()], *([] for _ in name)]
    for end in range(1, len(name) + 1):
        for length in lengths:
            if length > end or name[end - length : end] not in known:
                continue
            longer = [
                (*way, name[end - length : end])
                for way in ways[end - length]
                if len(way) < _MOST_PARTS
            ]
            ways[end] = (ways[end] + longer)[: most + 1]
    return [way for way in ways[-1] if len(way) > 1][:most]


def pair_joined(claims: Claims, at: ExecutionPair, score: float) -> None:
    """Pair what a fused kernel gives with the golden of the last operator that it is called after."""
    if not is_of_outputs(claims):
        return
    golden = _by_name(at.golden)
    own = {sanitize(run.op_name) for run in at.target.values()}
    for run in at.target.values():
        checkpoint()
        ways = take_apart(sanitize(run.op_name), golden.keys() - own)
        if len(ways) != 1:
            continue
        place = ("output", 0)
        members = [golden[name] for name in ways[0]]
        last, record = members[-1], run.tensors.get(place)
        there = last.tensors.get(place)
        if record is None or there is None or not is_of_one_size(record, there):
            continue
        if claims.pair(at, (run, last), (place, place), JOINED, score):
            claims.skip_left("golden", members, FUSED)


def _by_name(runs: Runs) -> dict[str, OperatorRun]:
    """Operators by the names of their files, as far as one alone has it."""
    times = Counter(sanitize(run.op_name) for run in runs.values())
    named = {sanitize(run.op_name): run for run in runs.values()}
    return {name: run for name, run in named.items() if times[name] == 1}


class _Tensor(NamedTuple):
    """A tensor that values may tell: where it is, its shape, and its elements."""

    run: OperatorRun
    place: Place
    shape: tuple[int, ...]
    flat: NDArray[np.float64]


def pair_nearest(claims: Claims, at: ExecutionPair, score: float) -> None:
    """Pair outputs that no name tells with the golden that has nearly their values, and that no other comes near."""
    if not is_of_outputs(claims) or not at.target:
        return
    golden = list(_readable(claims, "golden", at.golden))
    target = list(_candidates(claims, at, {one.shape for one in golden}))
    near = {
        (i, j)
        for i, one in enumerate(target)
        for j, other in enumerate(golden)
        if one.shape == other.shape and distance(one.flat, other.flat) <= limits().exchanged_most
    }
    ours, theirs = Counter(i for i, _ in near), Counter(j for _, j in near)
    for i, j in sorted(near):
        if ours[i] == theirs[j] == 1:
            one, other = target[i], golden[j]
            claims.pair(at, (one.run, other.run), (one.place, other.place), NEAREST, score)


def distance(one: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    """How far two tensors are apart, relative to the second; infinite where that says nothing.

    >>> float(distance(np.array([1.0, 2.0]), np.array([1.0, 2.0])))
    0.0
    """
    size = float(np.linalg.norm(other))
    if not 0 < size < inf:
        return inf
    apart = float(np.linalg.norm(one - other))
    return apart / size if apart < inf else inf


def _candidates(
    claims: Claims, at: ExecutionPair, shapes: Collection[tuple[int, ...]]
) -> Iterator[_Tensor]:
    """Tensors of the target that are values of their own: no copies of others under another name."""
    block = next(run.block for run in at.target.values())
    wiring = infer_wiring(claims.sides.target, block)
    for one in _readable(claims, "target", at.target):
        io, slot = one.place
        if one.shape not in shapes or (io == "output" and hands_on(one.run.op_type)):
            continue
        source = wiring.producers.get((one.run.op, slot)) if io == "input" else None
        if source is None or _shape(at.target[source[0]].tensors["output", source[1]]) != one.shape:
            yield one


def _readable(claims: Claims, side: Side, runs: Runs) -> Iterator[_Tensor]:
    """Tensors that nothing has taken, and that tell themselves from others."""
    for run in runs.values():
        for place, record in run.tensors.items():
            checkpoint()
            if not claims.is_free(side, record):
                continue
            array, shape = array_of(record), _shape(record)
            if array is not None and shape is not None and array.dtype.kind in "fV":
                yield _Tensor(run, place, shape, array.astype(np.float64).reshape(-1))


def _shape(record: TensorRecord) -> tuple[int, ...] | None:
    return record.spec.shape
