"""Both kernels, element by element: pieces as short as a case is, of the compiled one where there is a compiler.

What a piece is shows only at its edges, which tensors of thousands of elements hide.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache, partial

import ml_dtypes
import numpy as np
import pytest

from kit.cases import nightly
from kit.kernels import build, variants_here
from kit.oracle.exact_numbers import exact, finite, numbers
from workbench.comparison.measure import kernel_numpy
from workbench.comparison.measure.kernel_compiled import CompiledKernel
from workbench.comparison.measure.metrics import NEAR_ZERO, finish

INF, NAN = math.inf, math.nan
BRAIN, EIGHT = ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn
RAMP = np.arange(1.0, 31.0)
"""Longer than any piece."""


def off(*, by, base=RAMP, kind=np.float64):
    """A tensor and one that differs from it at some places: place → factor or value."""
    target = base.copy()
    for place, value in by.items():
        target[place] = value
    return target.astype(kind), base.astype(kind)


def alternating(value, size=30):
    return np.where(np.arange(size) % 2, value, -value)


CASES = {
    "equal": off(by={}),
    "one element": off(by={17: 0.0}),
    "the last": off(by={29: -4.0}, kind=np.float32),
    "a larger difference in a later piece": off(by={3: 5.0, 21: 25.0}),
    "a smaller one in a later piece": off(by={3: 25.0, 21: 25.0}),
    "on either side of the shares": (
        np.array([1001.1, 1000.9, 1005.1, 1004.9, 7.0]),
        np.array([1000.0, 1000.0, 1000.0, 1000.0, 7.0]),
    ),
    "all negative": off(by={11: -1.5}, base=-RAMP, kind=np.float32),
    "of both signs": off(by={4: 1.0, 9: -3.0}, base=alternating(2.0)),
    "zeros of both signs": (
        np.array([0.0, -0.0, 1.0, 0.0, 2.0], np.float32),
        np.array([-0.0, 0.0, 1.0, 3.0, 0.0], np.float32),
    ),
    "all zero": (np.zeros(9), np.zeros(9)),
    "a golden of zeros": (np.arange(9.0), np.zeros(9)),
    "about as near to zero as counts": (
        np.array([1.0, NEAR_ZERO * 3, NEAR_ZERO * 3, 0.0, 1e-17, 5.0]),
        np.array([1.0, NEAR_ZERO, NEAR_ZERO * 2, 1e-20, 1e-17, NEAR_ZERO / 2]),
    ),
    "near to zero and hardly off": (
        np.array([1.0, 1.0004e-17, 1.003e-17, 1.1e-17]),
        np.array([1.0, 1e-17, 1e-17, 1e-17]),
    ),
    "near to zero in float32": (
        np.array([1.0, 2e-17, 0.0], np.float32),
        np.array([1.0, 1e-17, 3e-17], np.float32),
    ),
    "a NaN": off(by={12: NAN}),
    "NaN at the same place": off(by={}, base=np.where(RAMP == 9, NAN, RAMP)),
    "infinities": off(by={2: INF, 3: -INF, 20: INF}, base=np.where(RAMP == 21, INF, RAMP)),
    "infinities of other signs": (np.array([INF, -INF, 1.0]), np.array([-INF, -INF, 2.0])),
    "nothing finite": (np.full(9, NAN, np.float32), np.full(9, INF, np.float32)),
    "the worst behind a NaN": off(by={8: NAN, 10: 30.0, 13: 15.0}, kind=np.float32),
    "integers without a NaN beside them": (np.array([2**60, 5]), np.array([2**60 + 1, 5])),
    "integers and floats": (np.array([2**53 + 1, 3, -7]), np.array([1.5, NAN, -7.0])),
    "unsigned integers": (
        np.array([2**64 - 1, 2**63, 0], np.uint64),
        np.array([2**64 - 2, 2**63, 7], np.uint64),
    ),
    "small integers": (np.array([-128, 5, 0], np.int8), np.array([127, 5, 1], np.int8)),
    "words": (np.array([1, 65535], np.uint16), np.array([2, 65535], np.uint16)),
    "bools": (np.array([True, False, True]), np.array([True, True, False])),
    "bools of other bytes": (
        np.array([2, 0, 255], np.uint8).view(np.bool_),
        np.array([1, 0, 0], np.uint8).view(np.bool_),
    ),
    "halves": off(by={5: -70.0, 6: 6e-8, 7: INF, 8: NAN}, kind=np.float16),
    "brains": off(by={5: -70.0, 6: 1e-38, 7: -INF, 8: NAN}, kind=BRAIN),
    "halves and brains": (RAMP.astype(np.float16), (RAMP * 1.01).astype(BRAIN)),
    "eights": off(by={5: -7.0, 6: NAN}, kind=EIGHT),
    "eights and doubles": (RAMP.astype(EIGHT), RAMP * 1.01),
}
"""Target and golden."""


PIECES = {"pieces": (8, 4), "short pieces": (3, 2), "whole": (64, 64)}
"""Elements of a piece and of its parts."""


@pytest.fixture(scope="module")
def library_of(tmp_path_factory):
    """Gives the library of such pieces, built when first asked for; ``None`` where there is no compiler."""
    folder = tmp_path_factory.mktemp("kernels")
    return cache(lambda pieces: build(folder, BLOCK=pieces[0], STRIP=pieces[1]))


@pytest.fixture(
    params=nightly(
        [pytest.param(pieces, id=name) for name, pieces in PIECES.items()],
        [
            (PIECES["pieces"],),
            (PIECES["short pieces"],),
        ],  # whole ones are those of `test_kernels.py`
    )
)
def kernels(request, library_of, monkeypatch):
    """Both kernels, the compiled one in all of its variants, with pieces of so many elements and parts of these."""
    piece, part = request.param
    work = type(kernel_numpy._work)()
    for name, value in {"CHUNK": piece, "_SHORT": part // 2, "_PIECE": part, "_work": work}.items():
        monkeypatch.setattr(kernel_numpy, name, value)
    found = library_of(request.param)
    if found is None:
        return [kernel_numpy.NumpyKernel]
    compiled = [partial(CompiledKernel, variant=one, found=found) for one in variants_here()]
    return [kernel_numpy.NumpyKernel, *compiled]


def measured(kernel, target, golden):
    """What a kernel makes of a pair whose first element has the index 100."""
    made = kernel()
    with np.errstate(all="ignore"):
        made.add(target, golden, 100)
    return finish(made.sums())


def worst_place(target, golden):
    """Where a pair is furthest apart; -1 if it is nowhere."""
    pairs = zip(numbers(target), numbers(golden), strict=True)
    apart = [abs(Fraction(t) - Fraction(g)) if finite(t) and finite(g) else 0 for t, g in pairs]
    return 100 + apart.index(max(apart)) if any(apart) else -1


def close(got, want):
    if math.isnan(want):
        return math.isnan(got)
    return got == want or abs(got - want) <= 1e-12 * abs(want) + 1e-15


@pytest.mark.parametrize("case", CASES)
def test_pieces_give_what_exact_arithmetic_gives(case, kernels):
    target, golden = CASES[case]
    known = exact(target, golden)
    for kernel in kernels:
        found = measured(kernel, target, golden)
        assert (found.equal, found.worst) == (known["equal"], worst_place(target, golden))
        assert close(found.error, known["error"])
        wrong = {
            name: (found.metrics[name], value)
            for name, value in known.items()
            if name in found.metrics and not close(found.metrics[name], value)
        }
        assert not wrong


def test_the_shares_are_strict_at_their_bounds(kernels):
    g = np.array([1000.0, 3000.0, 200.0, 7000.0])
    t = np.array([1001.0, 3003.0, 201.0, 7000.0])
    for kernel in kernels:
        found = measured(kernel, t, g).metrics
        assert found["OneThousandthErrRatio"] == 0.25
        assert found["FiveThousandthsErrRatio"] == 0.75
