"""Find the order of a sum from its results.

Of n terms one is M, one is -M, and all others are a unit. Units that are added to ±M before these meet are lost;
those that are added later are counted. So n units - result = leaves below the node where the two meet, and these
counts for all pairs are the tree. The method is that of FPRev (USENIX ATC 2025); nothing of its code is used.

Nothing is believed untested: all units together must give n; counts must fit one tree; and random vectors,
computed again in that tree, say in which format partial sums are kept and whether they come out to the bit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from workbench._values import NamedTuple
from workbench.core.dtypes import dtype as dtype_row
from workbench.core.errors import GraphError, check_seed
from workbench.npu.orders.tree import MOST_TERMS, PRODUCTS, Order, Tree, canonical

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    Array = NDArray[Any]
    Measure = Callable[[int, Sequence[int]], list[int]]


class Scale(NamedTuple):
    """How large the two terms and how small the others are, and where that serves."""

    mask: float
    unit: float
    why: str


SCALES: dict[str, tuple[Scale, ...]] = {
    "float64": (Scale(2.0**600, 1.0, "beyond every accumulator"),),
    "float32": (
        Scale(2.0**100, 1.0, "beyond accumulators of up to 64 bits"),
        Scale(2.0**15, 2.0**-24, "units that read float32 as float16"),
    ),
    "bfloat16": (Scale(2.0**100, 1.0, "beyond accumulators of up to 64 bits"),),
    "float16": (
        Scale(2.0**15, 2.0**-24, "beyond float32; the units are subnormal"),
        Scale(
            2.0**15,
            2.0**-14,
            "units that take subnormal numbers for zero, up to 32 terms in float32",
        ),
    ),
}
"""Probes by number format: those that serve are found by trying them in order."""

CHECKS = 300
"""Random vectors that an order is tried on."""

_ACCUMULATORS = ("float16", "bfloat16", "float32", "float64")


def probe_order(
    fn: Callable[..., Any],
    n: int,
    dtype: str = "float32",
    *,
    product: bool = False,
    operator: str = "",
    device: str = "",
    checks: int = CHECKS,
    seed: int = 0,
) -> Order:
    """Find the order in which a function sums ``n`` terms.

    Parameters
    ----------
    fn : callable (x) -> number, or (x, y) -> number for products
        Gets arrays of shape (n,) in ``dtype`` and returns one number, for products their inner product.
    dtype : str
        A key of `SCALES`.
    operator, device : str
        Whose order it is: the type of the operator, as ``ReduceSum``.
    checks : int
        Random vectors on which the order is tried; `Order.is_confirmed` says what came of it.

    Raises
    ------
    GraphError
        ``n`` or ``dtype`` is out of range, or the results are those of no order: the accumulator keeps M + 1 apart
        from M, or one and the same sum is computed in several orders.

    >>> probe_order(lambda x: ((x[0] + x[1]) + x[2]) + x[3], 4).tree.steps
    ((0, 1), (4, 2), (5, 3))
    """
    check_terms(n, dtype)
    check_seed(seed)
    kind = dtype_row(dtype).storage
    ones = np.ones(n, kind)

    def run(x: Array) -> float:
        with np.errstate(all="ignore"):
            given = x.astype(kind)
            return float(np.asarray(fn(given, ones) if product else fn(given)))

    tree = _tried(n, dtype, run)
    left, right = check_vectors(n, dtype, checks, seed, product=product)
    with np.errstate(all="ignore"):
        found = [fn(x, y) if product else fn(x) for x, y in zip(left, right, strict=True)]
    results = np.array([np.asarray(one).reshape(()) for one in found])
    return confirmed(tree, dtype, left, right if product else None, results).named(operator, device)


def check_terms(n: int, dtype: str) -> None:
    """Raise GraphError for a number format that is not probed, or more terms than it can count."""
    if dtype not in SCALES:
        raise GraphError("core/choice", subject="dtype", got=dtype, known=sorted(SCALES))
    most = min(MOST_TERMS, 2 ** (dtype_row(dtype).mantissa + 1))
    if not 1 < n <= most:
        raise GraphError("run/order-count", dtype=dtype, got=n, limit=most)


def probe_rows(n: int, scale: Scale) -> Iterator[tuple[int, int, Array]]:
    """Yield every pair of terms with its probe, (n,) of float64; the row of units alone comes first, as (0, 0)."""
    yield 0, 0, np.full(n, scale.unit)
    for i in range(n):
        for j in range(i + 1, n):
            yield i, j, probe(n, i, j, scale)


def probe(n: int, i: int, j: int, scale: Scale) -> Array:
    """Return units with M in place ``i`` and -M in place ``j``."""
    row = np.full(n, scale.unit)
    row[i], row[j] = scale.mask, -scale.mask
    return row


def count(n: int, result: float, scale: Scale) -> int | None:
    """Leaves below the node where the two meet, from a result; ``None``: it is no such count."""
    lost = n - result / scale.unit
    return int(lost) if np.isfinite(lost) and lost == int(lost) and 2 <= lost <= n else None


def _tried(n: int, dtype: str, run: Callable[[Array], float]) -> Tree:
    """Return the tree that the first fitting scale gives."""
    trouble: GraphError | None = None
    for scale in SCALES[dtype]:
        try:
            return _measured(n, scale, run)
        except GraphError as error:
            trouble = trouble or error
    assert trouble is not None
    raise trouble


def _measured(n: int, scale: Scale, run: Callable[[Array], float]) -> Tree:
    whole = run(np.full(n, scale.unit)) / scale.unit
    if whole != n:
        raise GraphError("run/order-units", got=whole, expected=n)

    def measure(i: int, others: Sequence[int]) -> list[int]:
        found = []
        for j in others:
            lost = count(n, run(probe(n, i, j, scale)), scale)
            if lost is None:
                raise GraphError("run/order-none", i=i, j=j)
            found.append(lost)
        return found

    return tree_from_counts(n, measure)


def tree_from_counts(n: int, measure: Measure) -> Tree:
    """Return the tree whose counts ``measure(i, others)`` gives; asks for about n log n of them.

    Raises GraphError if they are those of no tree.
    """
    clusters: list[Array] = []
    work = [(np.arange(n), n + 1)]
    while work:
        members, level = work.pop()
        if len(members) < 2:
            continue
        first, others = int(members[0]), members[1:]
        counts = np.array(measure(first, others.tolist()))
        beside = counts >= level  # other operands of the same adder
        if beside.any():
            work.append((others[beside], level))
            others, counts = others[~beside], counts[~beside]
        inside = np.array([first])
        for size in np.unique(counts).tolist():
            group = others[counts == size]
            inside = np.concatenate([inside, group])
            if len(inside) != size:
                raise GraphError("run/order-none", i=first, j=int(group[0]))
            clusters.append(inside)
            work.append((group, size))
    return _from_clusters(n, clusters)


def _from_clusters(n: int, clusters: list[Array]) -> Tree:
    """Return the tree whose nodes have these leaves."""
    clusters.sort(key=len)
    node = np.arange(n)
    steps: list[tuple[int, ...]] = []
    for leaves in clusters:
        steps.append(tuple(np.unique(node[leaves]).tolist()))
        node[leaves] = n + len(steps) - 1
    return canonical(n, steps)


def check_vectors(
    n: int, dtype: str, checks: int, seed: int, *, product: bool
) -> tuple[Array, Array]:
    """Return random vectors (checks, n) whose sums depend on the order, and as many to multiply them with."""
    rng = np.random.default_rng(seed)
    kind = dtype_row(dtype).storage
    spread = 2.0 ** rng.integers(-3, 4, (checks, n))
    left = (rng.standard_normal((checks, n)) * spread).astype(kind)
    right = rng.standard_normal((checks, n)) if product else np.ones((checks, n))
    return left, right.astype(kind)


def confirmed(tree: Tree, dtype: str, left: Array, right: Array | None, results: Array) -> Order:
    """Return the order with the accumulator, and the rounding of products, that most results agree with.

    ``results`` (checks,) are what the device gave; they are compared in the format that it gave them in.
    """
    kinds = [
        name for name in _ACCUMULATORS if dtype_row(name).mantissa >= dtype_row(dtype).mantissa
    ]
    kinds.sort(key=lambda name: (name != dtype, name != "float32"))
    best: Order | None = None
    stored = dtype_row(dtype).storage  # a file of npy holds bfloat16 as float32
    for name in kinds:
        for how in PRODUCTS if right is not None else ("",):
            order = Order(tree, dtype, name, how)
            sums = order.total(left) if right is None else order.dot(left, right)
            equal = max(_count_equal(sums, results), _count_equal(sums.astype(stored), results))
            if best is None or equal > best.equal:
                best = Order(tree, dtype, name, how, equal=equal, checks=len(results))
    assert best is not None
    return best


def _count_equal(sums: Array, results: Array) -> int:
    with np.errstate(all="ignore"):
        return int(np.count_nonzero(sums.astype(results.dtype) == results))
