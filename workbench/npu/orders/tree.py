"""A tree of additions: which partial sums are added when.

A tree is a list of steps, not nested: leaves are 0 to n - 1, and step k adds earlier nodes to node n + k. So its
depth costs nothing, and a file can hold no tree that recursion would not survive.

Rounding of each step: two nodes are added and rounded once to the accumulator. A step of more nodes is an adder
that takes several terms at a time; it is computed exactly and rounded once, which adders of tensor units may do
otherwise (they may cut off the ends of small terms). `workbench.npu.orders.probe` says whether that is what the
device does: an order counts only where random vectors came out to the bit.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from workbench._values import NamedTuple, dataclass
from workbench.core.dtypes import dtype as dtype_row
from workbench.core.errors import FormatError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    Array = NDArray[Any]
    Steps = tuple[tuple[int, ...], ...]

Product = Literal["", "rounded", "fused"]
PRODUCTS: tuple[Product, ...] = ("rounded", "fused")
"""How products enter their sum: each rounded to the accumulator first, or exactly (fused multiply and add).

Where two single products meet, a fused unit rounds the first one and adds the second exactly.
"""

MOST_TERMS = 1 << 16
"""Most terms of a sum whose order is kept."""

_AT_ONCE = 1 << 22
"""Numbers that are held at a time while many sums are computed."""


@dataclass(frozen=True, slots=True)
class Tree:
    """Additions of ``n`` terms; ``steps`` as the module says. Raises FormatError for what is no tree."""

    n: int
    steps: Steps

    def __post_init__(self) -> None:
        check_tree(self.n, self.steps)

    @property
    def is_binary(self) -> bool:
        """Whether no adder takes more than two terms."""
        return all(len(step) == 2 for step in self.steps)

    def levels(self) -> list[list[int]]:
        """Steps by level: those of one level read levels below only, and can be computed together."""
        height = [0] * (self.n + len(self.steps))
        found: list[list[int]] = []
        for number, step in enumerate(self.steps):
            level = 1 + max(height[node] for node in step)
            height[self.n + number] = level
            if level > len(found):
                found.append([])
            found[level - 1].append(number)
        return found

    def common(self) -> NDArray[np.int64]:
        """Leaves below the lowest common node of every two leaves, (n, n); 1 on the diagonal."""
        found = np.ones((self.n, self.n), np.int64)
        below: list[Array | None] = [np.array([leaf]) for leaf in range(self.n)]
        for step in self.steps:
            parts = [part for node in step if (part := below[node]) is not None]
            whole = np.concatenate(parts)
            for number, part in enumerate(parts):
                for other in parts[number + 1 :]:
                    found[np.ix_(part, other)] = found[np.ix_(other, part)] = len(whole)
            for node in step:
                below[node] = None
            below.append(whole)
        return found


def check_tree(n: int, steps: Sequence[Sequence[int]]) -> None:
    """Raise FormatError unless the steps add each of ``n`` terms once, and end with one sum."""
    if not 1 <= n <= MOST_TERMS:
        raise FormatError("run/order-terms", got=n, limit=MOST_TERMS)
    left = bytearray(b"\1" * n)
    for number, step in enumerate(steps):
        if len(left) >= 2 * n:
            raise FormatError("run/order-step", step=number, got=list(step)[:8])
        for node in step:
            if not 0 <= node < len(left) or not left[node]:
                raise FormatError("run/order-step", step=number, got=list(step)[:8])
            left[node] = 0
        if len(step) < 2:
            raise FormatError("run/order-step", step=number, got=list(step)[:8])
        left.append(1)
    if sum(left) != 1:
        raise FormatError("run/order-unfinished", got=sum(left))


def canonical(n: int, steps: Iterable[Sequence[int]]) -> Tree:
    """Return a tree whose steps have one spelling: operands and steps in the order of their first leaves."""
    first, size = list(range(n)), [1] * n
    made: list[tuple[int, int, int]] = []
    given = [tuple(step) for step in steps]
    check_tree(n, given)
    for number, step in enumerate(given):
        first.append(min(first[node] for node in step))
        size.append(sum(size[node] for node in step))
        made.append((size[-1], first[-1], number))
    place = list(range(n)) + [0] * len(given)
    ordered = sorted(made)
    for new, (_, _, number) in enumerate(ordered):
        place[n + number] = n + new
    return Tree(
        n,
        tuple(
            tuple(place[node] for node in sorted(given[number], key=first.__getitem__))
            for _, _, number in ordered
        ),
    )


@dataclass(frozen=True, eq=False)
class Order:
    """In which order an operator of a device sums, and how far that is confirmed.

    Attributes
    ----------
    tree : Tree
    dtype : str
        Number format of the terms, or of both factors of products.
    accumulator : str
        Number format that every partial sum is rounded to.
    product : str
        ``""`` for sums, else a row of `PRODUCTS`.
    device, operator : str
        Whose order it is; the operator is a type, as ``ReduceSum`` or ``MatMul``.
    equal, checks : int
        Of so many random vectors so many gave the same sum, to the bit.
    """

    tree: Tree
    dtype: str = "float32"
    accumulator: str = "float32"
    product: Product = ""
    device: str = ""
    operator: str = ""
    equal: int = 0
    checks: int = 0

    @property
    def n(self) -> int:
        """Number of terms."""
        return self.tree.n

    @property
    def is_confirmed(self) -> bool:
        """Whether every vector that was tried came out to the bit; nothing else is replayed."""
        return 0 < self.checks == self.equal

    def named(self, operator: str, device: str = "") -> Order:
        """Return it as the order of an operator of a device."""
        return replace(self, operator=operator, device=device)

    def total(self, x: Array, axis: int = -1) -> Array:
        """Return sums along an axis of ``n`` terms, in the accumulator's format; products must be given as pairs."""
        terms = np.moveaxis(np.asarray(x), axis, 0)
        return self._summed(terms.astype(self._kind, copy=False), None)

    def dot(self, left: Array, right: Array) -> Array:
        """Return sums of products along the last axis of both, which are broadcast; in the accumulator's format."""
        left, right = np.broadcast_arrays(left, right)
        a, b = (np.moveaxis(one, -1, 0).astype(self._wide) for one in (left, right))
        with np.errstate(all="ignore"):
            exact = a * b  # twice the digits of a format of 24 bits or fewer fit into float64
        return self._summed(exact.astype(self._kind), exact if self.product == "fused" else None)

    def matmul(self, left: Array, right: Array) -> Array:
        """Return the product of two (stacks of) matrices, in the accumulator's format."""
        shape = (
            *np.broadcast_shapes(left.shape[:-2], right.shape[:-2]),
            left.shape[-2],
            right.shape[-1],
        )
        out = np.empty(shape, self._kind)
        columns = right.swapaxes(-1, -2)[..., None, :, :]
        rows = max(1, _AT_ONCE // max(2 * self.n * math.prod(shape) // max(shape[-2], 1), 1))
        for start in range(0, shape[-2], rows):
            some = slice(start, start + rows)
            out[..., some, :] = self.dot(left[..., some, None, :], columns)
        return out

    @property
    def _kind(self) -> np.dtype[Any]:
        return dtype_row(self.accumulator).storage

    @property
    def _wide(self) -> np.dtype[Any]:
        return np.dtype(np.float64)

    @cached_property
    def _plan(self) -> tuple[_Level, ...]:
        return tuple(_levels(self.tree))

    def _summed(self, terms: Array, exact: Array | None) -> Array:
        """Add terms along the first axis; ``exact`` are those that enter unrounded where they are single products."""
        n, rest = terms.shape[0], terms.shape[1:]
        if n != self.n:
            raise ValueError(n, self.n)
        flat = terms.reshape(n, -1)
        fine = None if exact is None else exact.reshape(n, -1)
        out = np.empty(flat.shape[1], self._kind)
        count = max(1, _AT_ONCE // (2 * n))
        for start in range(0, flat.shape[1], count):
            some = slice(start, start + count)
            out[some] = self._block(flat[:, some], None if fine is None else fine[:, some])
        return out.reshape(rest)

    def _block(self, terms: Array, exact: Array | None) -> Array:
        nodes = np.empty((self.n + len(self.tree.steps), terms.shape[1]), self._kind)
        nodes[: self.n] = terms
        with np.errstate(all="ignore"):
            for level in self._plan:
                nodes[level.out] = nodes[level.left] + nodes[level.right]
                if exact is not None and len(level.fused):
                    into, kept, leaf = level.fused.T
                    nodes[into] = _fused(nodes[kept], exact[leaf], self._kind)
                for node, several in level.wider:
                    nodes[node] = _rounded_once(nodes[list(several)], self._kind)
        total: Array = nodes[-1]
        return total


class _Level(NamedTuple):
    """Steps that are computed together: nodes ``out`` = ``left`` + ``right``.

    ``fused`` are (node, operand, leaf) of those whose leaf enters exactly, ``wider`` adders of several terms.
    """

    out: Array
    left: Array
    right: Array
    fused: Array
    wider: tuple[tuple[int, tuple[int, ...]], ...]


def _levels(tree: Tree) -> Iterator[_Level]:
    for numbers in tree.levels():
        plain = [(tree.n + k, *tree.steps[k]) for k in numbers if len(tree.steps[k]) == 2]
        wider = tuple((tree.n + k, tree.steps[k]) for k in numbers if len(tree.steps[k]) > 2)
        fused = [_exact_leaf(tree.n, *one) for one in plain if min(one[1:]) < tree.n]
        rows = np.array(plain, np.intp).reshape(-1, 3)
        out, left, right = rows.T
        yield _Level(out, left, right, np.array(fused, np.intp).reshape(-1, 3), wider)


def _exact_leaf(n: int, node: int, left: int, right: int) -> tuple[int, int, int]:
    """Which operand of a fused step enters exactly: its last single product."""
    return (node, left, right) if right < n else (node, right, left)


def _fused(kept: Array, exact: Array, kind: np.dtype[Any]) -> Array:
    """Return kept + exact, rounded once: the sum in float64 is rounded to odd first, so that rounding twice is one."""
    a = kept.astype(np.float64)
    total = a + exact
    back = total - a
    left_over = (a - (total - back)) + (exact - back)
    even = (total.view(np.int64) & 1) == 0
    off = even & (left_over != 0) & np.isfinite(total)
    total = np.where(off, np.nextafter(total, np.copysign(np.inf, left_over)), total)
    return total.astype(kind)


def _rounded_once(terms: Array, kind: np.dtype[Any]) -> Array:
    """Return the exact sums along the first axis, rounded."""
    columns = terms.astype(np.float64).T.tolist()
    return np.array([math.fsum(column) for column in columns], np.float64).astype(kind)


# --- orders that are not measured --------------------------------------------------------------


def sequential(n: int) -> Tree:
    """Return the order from left to right: ((x0 + x1) + x2) and so on.

    >>> sequential(3).steps
    ((0, 1), (3, 2))
    """
    return canonical(n, [(n + k - 1 if k else 0, k + 1) for k in range(n - 1)])


def pairwise(n: int) -> Tree:
    """Return the order that adds neighbors first, then neighboring sums, until one is left."""
    return canonical(n, _joined(list(range(n)), n, [])[1])


def blocked(n: int, block: int, inside: str = "pairwise") -> Tree:
    """Return the order that sums blocks of terms, ``pairwise`` or ``sequential``, then these from left to right."""
    steps: list[tuple[int, ...]] = []
    totals = []
    for start in range(0, n, block):
        some = list(range(start, min(start + block, n)))
        total, steps = (_chained if inside == "sequential" else _joined)(some, n, steps)
        totals.append(total)
    return canonical(n, _chained(totals, n, steps)[1])


def _chained(
    nodes: list[int], n: int, steps: list[tuple[int, ...]]
) -> tuple[int, list[tuple[int, ...]]]:
    total = nodes[0]
    for node in nodes[1:]:
        steps = [*steps, (total, node)]
        total = n + len(steps) - 1
    return total, steps


def _joined(
    nodes: list[int], n: int, steps: list[tuple[int, ...]]
) -> tuple[int, list[tuple[int, ...]]]:
    steps = [*steps]
    while len(nodes) > 1:
        above = []
        for left, right in zip(nodes[::2], nodes[1::2], strict=False):
            steps.append((left, right))
            above.append(n + len(steps) - 1)
        nodes = above + nodes[len(nodes) // 2 * 2 :]
    return nodes[0], steps
