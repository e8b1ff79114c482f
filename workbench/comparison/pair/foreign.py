"""Outputs of another framework without any graph: names of fused kernels taken apart, then values.

A kernel that the graph engine has fused bears the names of its operators, one behind the other, and gives what the
last of them gives. Names agree easily, so they count only where sizes agree, where there is one way to take the name
apart, and where no part has a file of its own. Values tell the rest: an output is the golden whose elements are
nearly its own, if no other tensor of that shape comes near. What is far off pairs with nothing, so nobody is accused.
"""

from __future__ import annotations

from collections import Counter
from hashlib import sha256
from math import inf
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from workbench.comparison.align.rules import JOINED, NEAREST
from workbench.comparison.bind.wiring import array_of, infer_wiring
from workbench.comparison.graphs.named_kernels import take_apart
from workbench.comparison.graphs.quantization import (
    ended_layer,
    inserted_names,
    names_quantization,
)
from workbench.comparison.graphs.view import hands_on
from workbench.comparison.limits import limits
from workbench.comparison.pair.kernels import COPY, FUSED
from workbench.comparison.pair.producers import is_of_one_size
from workbench.core.cancel import checkpoint
from workbench.dump.formats.ge_name import standard_name

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from numpy.typing import NDArray

    from workbench.comparison.bind.binding import OperatorRun
    from workbench.comparison.pair.claims import Claims, ExecutionPair, Place
    from workbench.comparison.result import Side
    from workbench.core.tensors import TensorRecord

    Runs = Mapping[int, OperatorRun]


def pair_joined(claims: Claims, at: ExecutionPair, score: float) -> None:
    """Pair what a fused kernel gives with the golden of the last operator that it is called after."""
    golden = _by_name(at.golden)
    inserted = inserted_names(golden)
    parts = golden.keys() - {standard_name(run.op_name) for run in at.target.values()}
    quantized = parts | inserted
    for run in at.target.values():
        checkpoint()
        name, place = standard_name(run.op_name), ("output", 0)
        ways = take_apart(name, quantized if names_quantization("", name) else parts)
        named = ways[0] if len(ways) == 1 else ended_layer(name, golden)
        members = [golden[part] for part in named if part not in inserted]
        if not members or (not ways and len(members) > 1):
            continue
        last, record = members[-1], run.tensors.get(place)
        there = last.tensors.get(place)
        if record is None or there is None or not is_of_one_size(record, there):
            continue
        if claims.pair(at, (run, last), (place, place), JOINED, score):
            claims.skip_left("golden", members, FUSED)


def _by_name(runs: Runs) -> dict[str, OperatorRun]:
    """Operators by the names of their files, as far as one alone has it."""
    times = Counter(standard_name(run.op_name) for run in runs.values())
    named = {standard_name(run.op_name): run for run in runs.values()}
    return {name: run for name, run in named.items() if times[name] == 1}


_MOST = 1 << 31
"""Bytes of a side that are looked at for values."""


class _Tensor(NamedTuple):
    """A tensor that values may tell: where it is, what was dumped of it, its shape, and its Euclidean norm."""

    run: OperatorRun
    place: Place
    record: TensorRecord
    shape: tuple[int, ...]
    norm: float


def pair_nearest(claims: Claims, at: ExecutionPair, score: float) -> None:
    """Pair outputs that no name tells with the golden that has nearly their values, and that no other comes near."""
    golden = list(_readable(claims, "golden", at.golden))
    if not golden or not at.target:
        return
    target = list(_candidates(claims, at, {one.shape for one in golden}))
    near = {
        (i, j)
        for i, one in enumerate(target)
        for j, other in enumerate(golden)
        if _is_near(one, other)
    }
    ours, theirs = Counter(i for i, _ in near), Counter(j for _, j in near)
    for i, j in sorted(near):
        if ours[i] == theirs[j] == 1:
            one, other = target[i], golden[j]
            claims.pair(at, (one.run, other.run), (one.place, other.place), NEAREST, score)


def _is_near(one: _Tensor, other: _Tensor) -> bool:
    """Whether two tensors are one value but for an error; norms of such differ by no more than that."""
    most = limits().exchanged_most * other.norm
    if one.shape != other.shape or abs(one.norm - other.norm) > most:
        return False
    checkpoint()
    flat, there = _flat(one.record), _flat(other.record)
    return flat is not None and there is not None and float(np.linalg.norm(flat - there)) <= most


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
        if (
            source is None
            or at.target[source[0]].tensors["output", source[1]].spec.shape != one.shape
        ):
            yield one


def _readable(claims: Claims, side: Side, runs: Runs) -> Iterator[_Tensor]:
    """Tensors that nothing has taken, and that tell themselves from others."""
    left = _MOST
    for run in runs.values():
        for place, record in run.tensors.items():
            checkpoint()
            flat = _flat(record) if left > 0 and claims.is_free(side, record) else None
            shape = record.spec.shape if flat is not None else None
            if flat is None or shape is None:
                continue
            left -= flat.nbytes
            norm = float(np.linalg.norm(flat))
            if 0 < norm < inf:
                yield _Tensor(run, place, record, shape, norm)


def _flat(record: TensorRecord) -> NDArray[np.float64] | None:
    """Return the elements of floats; ``None`` if they cannot be read, or do not tell tensors apart."""
    array = array_of(record)
    if array is None or array.dtype.kind not in "fV":
        return None
    return array.astype(np.float64).reshape(-1)


def skip_copies(claims: Claims, at: ExecutionPair) -> None:
    """Skip goldens with the elements of a golden that is compared: what only reshapes runs nothing on a device."""
    waiting: dict[int | None, list[tuple[OperatorRun, TensorRecord]]] = {}
    compared: list[TensorRecord] = []
    for run in at.golden.values():
        for record in run.tensors.values():
            if claims.is_free("golden", record):
                waiting.setdefault(record.spec.size, []).append((run, record))
            elif claims.is_paired("golden", record):
                compared.append(record)
    known = _digests(one for one in compared if one.spec.size in waiting)
    for some in waiting.values() if known else ():
        for run, record in some:
            if not known.isdisjoint(_digests([record])):
                claims.skip("golden", run.op_name, [record], COPY)


def _digests(records: Iterable[TensorRecord]) -> set[bytes]:
    """What tells the elements of tensors, of those that are not all alike."""
    found, left = set[bytes](), _MOST
    for record in records:
        checkpoint()
        array = array_of(record) if left > 0 else None
        if array is None or array.size < 2 or bool((array == array.flat[0]).all()):
            continue
        left -= array.nbytes
        found.add(sha256(array.dtype.str.encode() + array.tobytes()).digest())
    return found
