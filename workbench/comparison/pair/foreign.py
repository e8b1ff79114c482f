"""Outputs of another framework without any graph: names of fused kernels taken apart, then values.

A kernel that the graph engine has fused bears the names of its operators, one behind the other, and gives what the
last of them gives. Names agree easily, so they count only where sizes agree, where there is one way to take the name
apart, and where no part has a file of its own. Values tell the rest: an output is the golden whose elements are
nearly its own, if no other tensor of that shape comes near. What is far off pairs with nothing, so nobody is accused.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from hashlib import sha256
from math import inf
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench._values import NamedTuple
from workbench.comparison.align.rules import EXPANDED, JOINED, NEAREST
from workbench.comparison.bind.wiring import array_of, elements_of, infer_wiring
from workbench.comparison.graphs.named_kernels import take_apart
from workbench.comparison.graphs.quantization import (
    ended_layer,
    inserted_names,
    names_quantization,
)
from workbench.comparison.graphs.view import hands_on
from workbench.comparison.limits import limits
from workbench.comparison.pair.claims import is_of_one_size
from workbench.comparison.pair.kernels import COPY, FUSED, PART, UNREAD
from workbench.core.long_work import checkpoint
from workbench.dump.formats.ge_name import standard_name

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from numpy.typing import NDArray

    from workbench.comparison.bind.binding import OperatorRun
    from workbench.comparison.pair.claims import Claims, ExecutionPair, Given, Place
    from workbench.comparison.result import Side
    from workbench.core.tensors import TensorRecord
    from workbench.dump.reports.golden_roles import Role

    Runs = Mapping[int, OperatorRun]


def pair_expanded(claims: Claims, at: ExecutionPair, score: float) -> None:
    """Pair what a node gives with the last of its kernels of that size: ``conv_BiasAdd``, where that ends ``conv``."""
    golden, target, place = _by_name(at.golden), _by_name(at.target), ("output", 0)
    families: dict[str, list[OperatorRun]] = {}
    for name, run in target.items():
        base = _expanded_node(name)
        if base in golden and base in target and name not in golden:
            families.setdefault(base, [target[base]]).append(run)
    for base, kernels in families.items():
        there = golden[base].tensors.get(place)
        fitting = [run for run in kernels if _is_given(run, there)]
        last = max(fitting, key=lambda run: run.time, default=target[base])
        if last is not target[base] and claims.pair(
            at, (last, golden[base]), (place, place), EXPANDED, score
        ):
            for run in kernels:
                claims.skip("target", run.op_name, _outputs(run), PART)


def _is_given(run: OperatorRun, there: TensorRecord | None) -> bool:
    record = run.tensors.get(("output", 0))
    return record is not None and there is not None and is_of_one_size(record, there)


_MADE = re.compile(r"(?P<node>.+)_[A-Z][A-Za-z0-9]*(?:_\d{1,4})?", re.ASCII)
"""What the graph engine calls a kernel that it makes for a node: node, type, and a number from the second on."""


def _expanded_node(name: str) -> str:
    """The node for which a compiler made a kernel, by its name; empty if it is not called so."""
    found = _MADE.fullmatch(name)
    return found["node"] if found is not None else ""


def _outputs(run: OperatorRun) -> list[TensorRecord]:
    return [record for (io, _), record in run.tensors.items() if io == "output"]


class _Joined(NamedTuple):
    """A fused kernel, and the golden's operators that its name joins, in their order."""

    run: OperatorRun
    members: list[OperatorRun]

    @property
    def ends(self) -> tuple[TensorRecord, TensorRecord] | None:
        """What the kernel gives and what the last of its operators gives, if both were dumped and are of one size."""
        record = self.run.tensors.get(("output", 0))
        there = self.members[-1].tensors.get(("output", 0))
        if record is None or there is None or not is_of_one_size(record, there):
            return None
        return record, there


def pair_joined(claims: Claims, at: ExecutionPair, score: float) -> None:
    """Pair what a fused kernel gives with the golden of the last operator that it is called after."""
    place = "output", 0
    for kernel in _joined(at, at.target.values()):
        if kernel.ends is None:
            continue
        joined = claims.pair(at, (kernel.run, kernel.members[-1]), (place, place), JOINED, score)
        if joined or claims.are_paired(*kernel.ends):
            claims.skip_left("golden", kernel.members, FUSED)


def _joined(at: ExecutionPair, runs: Iterable[OperatorRun]) -> Iterator[_Joined]:
    """Those of some kernels whose names can be taken apart in one way."""
    golden = _by_name(at.golden)
    inserted = inserted_names(golden)
    parts = golden.keys() - {standard_name(run.op_name) for run in at.target.values()}
    quantized = parts | inserted
    for run in runs:
        checkpoint()
        name = standard_name(run.op_name)
        ways = take_apart(name, quantized if names_quantization("", name) else parts)
        named = ways[0] if len(ways) == 1 else ended_layer(name, golden)
        members = [golden[part] for part in named if part not in inserted]
        if members and (ways or len(members) == 1):
            yield _Joined(run, members)


def skip_enclosed(claims: Claims, at: ExecutionPair) -> None:
    """Skip goldens that a fused kernel computes on its way, though its name does not say so.

    By time they lie between operators in its name (``matmulrelu`` holds the bias that was added), or, of a kernel that
    the compiler has called after its last operator and its type (``add_LayerNorm``), between what it reads and what it
    gives. Nothing there may be compared, and all must have the shape of one of these ends, or ones in its place.
    """
    order = sorted(at.golden.values(), key=lambda run: run.time)
    times = [run.time for run in order]
    givers = claims.givers()
    for first, last in (*_between_parts(claims, at, givers), *_between_values(at, givers)):
        inside = order[bisect_right(times, first.time) : bisect_left(times, last.time)]
        records = [record for run in inside for record in run.tensors.values()]
        ends = [_shape(run) for run in (first, last)]
        if any(claims.is_paired("golden", record) for record in records):
            continue
        if all(_is_between(record.spec.shape, ends) for record in records):
            claims.skip_left("golden", inside, FUSED)


_Span = tuple["OperatorRun", "OperatorRun"]


def _between_parts(
    claims: Claims, at: ExecutionPair, givers: Mapping[int, Given]
) -> Iterator[_Span]:
    runs = (run for run in at.target.values() if _ends_with_its_golden(run, givers))
    for kernel in _joined(at, runs):
        if kernel.ends is not None and claims.are_paired(*kernel.ends):
            yield kernel.members[0], kernel.members[-1]


def _ends_with_its_golden(run: OperatorRun, givers: Mapping[int, Given]) -> bool:
    """Whether a kernel's name is longer than that of the golden of what it gives, and ends with it."""
    given = _giver(givers, run.tensors.get(("output", 0)))
    own, other = standard_name(run.op_name), standard_name(given.op_name) if given else ""
    return bool(other) and own != other and own.endswith(other)


def _between_values(at: ExecutionPair, givers: Mapping[int, Given]) -> Iterator[_Span]:
    """What a kernel reads and gives; if it has no inputs, what was compared last before it stands for what it reads."""
    names, before = _by_name(at.golden), None
    for run in sorted(at.target.values(), key=lambda run: run.time):
        read, given = (_giver(givers, run.tensors.get((io, 0))) for io in ("input", "output"))
        base = _expanded_node(standard_name(run.op_name))
        first = read if ("input", 0) in run.tensors else before
        if base and given is names.get(base) and first is not None and given is not None:
            yield first, given
        before = given or before


def _giver(givers: Mapping[int, Given], record: TensorRecord | None) -> OperatorRun | None:
    known = givers.get(id(record))
    return known.run if known is not None else None


def _shape(run: OperatorRun) -> tuple[int, ...] | None:
    record = run.tensors.get(("output", 0))
    return record.spec.shape if record is not None else None


def _is_between(shape: tuple[int, ...] | None, ends: Iterable[tuple[int, ...] | None]) -> bool:
    """Whether a shape is one of some ends', or has ones in its place, as means and variances have."""
    return shape is not None and any(
        end is not None
        and len(end) == len(shape)
        and all(ours in (1, theirs) for ours, theirs in zip(shape, end, strict=True))
        for end in ends
    )


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
    """Skip goldens that only repeat what is compared or fed: what reshapes, splits or joins need not run on a device.

    One is a copy if it has the elements of one golden that is compared, is a part of such a golden along one axis,
    or is made of such goldens along one axis. A copy is as good as what it repeats. What its data call a copy needs no
    telling elements, but the elements of what it is a copy of; what they call unread has no counterpart.
    """
    waiting: list[_Waiting] = []
    repeated = [*claims.sides.golden.dump.fed]
    for run in at.golden.values():
        for record in run.tensors.values():
            if claims.is_free("golden", record):
                waiting.append((run, record))
            elif claims.is_paired("golden", record):
                repeated.append(record)
    known = _Known(repeated, {record.spec.size for _, record in waiting})
    said = _SaidCopies(claims.sides.golden.dump.roles, repeated)
    _skip_said(claims, waiting, said, known)
    for run, record in waiting if repeated else ():
        array = known.read(record) if claims.is_free("golden", record) else None
        if array is not None and known.repeats(array):
            claims.skip("golden", run.op_name, [record], COPY)
            known.add(record, array)
            said.add(record)
    _skip_said(claims, waiting, said, known)
    for run, record in waiting:
        if said.is_unread(record):
            claims.skip("golden", run.op_name, [record], UNREAD)


_Waiting = tuple["OperatorRun", "TensorRecord"]


def _skip_said(
    claims: Claims, waiting: Iterable[_Waiting], said: _SaidCopies, known: _Known
) -> None:
    """Skip what is called a copy of what is compared or fed, and has its elements."""
    for run, record in waiting:
        original = said.original(record) if claims.is_free("golden", record) else None
        if original is not None and known.is_same(record, original):
            claims.skip("golden", run.op_name, [record], COPY)
            known.add(record)
            said.add(record)


class _SaidCopies:
    """What golden data call copies of one another, in groups, and one of each that is compared or repeats such."""

    def __init__(self, roles: Mapping[str, Role], records: Iterable[TensorRecord]) -> None:
        self._roles = roles
        self._groups = _grouped(roles)
        self._first: dict[str, TensorRecord] = {}
        for record in records:
            self.add(record)

    def add(self, record: TensorRecord) -> None:
        """Know one more tensor that is compared, or repeats such."""
        self._first.setdefault(self._groups.get(record.path, ""), record)

    def original(self, record: TensorRecord) -> TensorRecord | None:
        """A compared tensor that one is called a copy of, over however many others."""
        group = self._groups.get(record.path, "")
        return self._first.get(group) if group else None

    def is_unread(self, record: TensorRecord) -> bool:
        """Whether nothing is said to read a tensor."""
        role = self._roles.get(record.path)
        return role is not None and role.role == "unread"


def _grouped(roles: Mapping[str, Role]) -> dict[str, str]:
    """Return a file that stands for all that are called copies of one another, by each; circles do no harm."""
    above: dict[str, str] = {}

    def top(path: str) -> str:
        while above.setdefault(path, path) != path:
            above[path] = path = above[above[path]]
        return path

    for path, role in roles.items():
        if role.role == "copy":
            above[top(path)] = top(role.of)
    return {path: top(path) for path in tuple(above)}


_TELLING = 16
"""Different elements that a tensor must have to be told by its parts: fewer may be alike by chance."""


class _Known:
    """Tensors that are compared, or repeat such, while they are gathered; ``sizes`` are those of what is looked for."""

    def __init__(self, records: Iterable[TensorRecord], sizes: Collection[int | None]) -> None:
        self._left = _MOST
        self._sizes = sizes
        self._records: list[TensorRecord] = []
        self._digests = set[bytes]()
        for record in records:
            self.add(record)

    def read(self, record: TensorRecord) -> NDArray[Any] | None:
        """Return the elements of a tensor, if they can be read, tell it, and not too much was read before.

        Elements that are all alike tell nothing, but for a single one with more digits than a short float has.
        """
        checkpoint()
        array = elements_of(record) if self._left > 0 else None
        if array is None or not array.size:
            return None
        if not (_is_long(array) if array.size == 1 else (array != array.flat[0]).any()):
            return None
        self._left -= array.nbytes
        return array

    def is_same(self, record: TensorRecord, original: TensorRecord) -> bool:
        """Whether two tensors have the same elements, alike or not, as far as both can be read."""
        checkpoint()
        one, other = (elements_of(each) if self._left > 0 else None for each in (record, original))
        if one is None or other is None:
            return False
        self._left -= one.nbytes + other.nbytes
        return _digest(one) == _digest(other)

    def add(self, record: TensorRecord, array: NDArray[Any] | None = None) -> None:
        """Know one more tensor."""
        self._records.append(record)
        if record.spec.size in self._sizes:
            array = self.read(record) if array is None else array
            if array is not None:
                self._digests.add(_digest(array))

    def repeats(self, array: NDArray[Any]) -> bool:
        """Whether an array has the elements of a known one, is a part of one, or is made of several."""
        if _digest(array) in self._digests:
            return True
        if np.unique(array).size < _TELLING:
            return False
        return self._is_part(array) or self._is_made(array)

    def _is_part(self, array: NDArray[Any]) -> bool:
        for record in self._records:
            axis = _axis_between(array.shape, record.spec.shape)
            whole = self.read(record) if axis is not None else None
            if (
                axis is not None
                and whole is not None
                and any(True for _ in _places(array, whole, axis))
            ):
                return True
        return False

    def _is_made(self, array: NDArray[Any]) -> bool:
        ends: dict[int, dict[int, int]] = {}
        for record in self._records:
            axis = _axis_between(record.spec.shape, array.shape)
            part = self.read(record) if axis is not None else None
            if axis is None or part is None:
                continue
            longest = ends.setdefault(axis, {})
            for begin in _places(part, array, axis):
                longest[begin] = max(longest.get(begin, 0), begin + part.shape[axis])
        return any(_reached(longest) == array.shape[axis] for axis, longest in ends.items())


def _reached(ends: Mapping[int, int]) -> int:
    """How far one gets from 0, going from a part's begin to its end."""
    place = 0
    while place in ends:
        place = ends[place]
    return place


def _is_long(array: NDArray[Any]) -> bool:
    """Whether a single number is no short one, as constants and flags are."""
    with np.errstate(over="ignore", invalid="ignore"):
        return array.dtype in (np.float32, np.float64) and bool(
            (array.astype(np.float16) != array).all()
        )


def _digest(array: NDArray[Any]) -> bytes:
    return sha256(array.dtype.str.encode() + array.tobytes()).digest()


def _axis_between(part: tuple[int, ...] | None, whole: tuple[int, ...] | None) -> int | None:
    """The only axis along which a shape is smaller than another; ``None`` if they differ otherwise."""
    if part is None or whole is None or len(part) != len(whole):
        return None
    differing = [n for n, (few, many) in enumerate(zip(part, whole, strict=True)) if few != many]
    smaller = len(differing) == 1 and 0 < part[differing[0]] < whole[differing[0]]
    return differing[0] if smaller else None


def _places(part: NDArray[Any], whole: NDArray[Any], axis: int) -> Iterator[int]:
    """Yield where on an axis an array begins in a larger one."""
    ours, theirs = np.moveaxis(part, axis, 0), np.moveaxis(whole, axis, 0)
    if ours.dtype != theirs.dtype or ours.shape[1:] != theirs.shape[1:]:
        return
    first_of_each: tuple[Any, ...] = (slice(None), *(0,) * (part.ndim - 1))
    firsts = theirs[first_of_each] == ours.flat[0]
    for begin in np.flatnonzero(firsts[: len(theirs) - len(ours) + 1]).tolist():
        if np.array_equal(theirs[begin : begin + len(ours)], ours):
            yield begin
