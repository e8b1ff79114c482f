"""Measure a pair of tensors: read both in blocks, feed a kernel, finish its sums.

Memory is bounded whatever the tensors' size, as long as the sources can be read in blocks (npy
files in C order can). The compiled kernel serves where its library was built with the package, else NumPy's, which is
several times slower and gives the same figures, but for the last digits of sums.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Literal

from workbench.comparison.limits import limits
from workbench.comparison.measure.kernel_compiled import CompiledKernel, library
from workbench.comparison.measure.metrics import (
    CANCELLED,
    SIZES,
    Divergence,
    Sums,
    finish,
    unmeasured,
)
from workbench.comparison.measure.reading import Job, Kernel, OpenPair
from workbench.core.tensors import ArraySource
from workbench.core.words import Message

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from workbench.comparison.columns import FigureTable
    from workbench.core.tensors import Source

    Cancelled = Callable[[], bool]

KernelName = Literal["numpy", "compiled"]

_WORTH = 0.5
"""Share of `slice_least` from which slices are looked at: rounding of the sums must not decide."""

_HUGE, _MINUTE = 2.0**480, 2.0**-480


def kernel_name() -> KernelName:
    """Return which kernel serves: the compiled one wherever there is its library."""
    return "numpy" if library() is None else "compiled"


def _kernel(name: KernelName) -> type[Kernel]:
    if name == "compiled":
        return CompiledKernel
    from workbench.comparison.measure.kernel_numpy import NumpyKernel

    return NumpyKernel


def measure(
    target: Source,
    golden: Source,
    *,
    kernel: KernelName | None = None,
    cancelled: Cancelled | None = None,
    threads: int = 0,
    table: FigureTable | None = None,
) -> Divergence:
    """Return how far ``target`` is from ``golden``.

    Parameters
    ----------
    kernel : {"numpy", "compiled"}, optional
        By default the compiled kernel if there is its library, else NumPy's.
    cancelled : callable, optional
        Asked before each block; once it is true the result is unmeasured with the reason `CANCELLED`.
    threads : int
        Largest number of threads for one large pair of files; 0 for as many as there are cores, up
        to four. The result does not depend on it.
    table : FigureTable, optional
        Where the metrics of many pairs stand together.

    Raises
    ------
    FormatError
        A source cannot be read or is not what it claims.
    RuntimeError
        The compiled kernel is asked for and there is no library.
    """
    worth = _WORTH * limits().slice_least
    job = Job(target, golden, _kernel(kernel or kernel_name()), cancelled, threads, least=worth)
    with OpenPair(target, golden) as pair:
        ours, theirs = pair.target, pair.golden
        size = ours.size
        if size != theirs.size:
            return unmeasured(Message(SIZES, target=size, golden=theirs.size), size)
        parts = 2 if pair.complex else 1
        sums = job.gather(pair)
    if sums is not None:
        sums = job.complete(sums)
    scale = 1.0
    if sums and _leaves_float64(sums):
        scaled = job._replace(exponent=math.frexp(sums.largest)[1] - 1)
        scale = 2.0**scaled.exponent
        sums = _rescale(scaled, sums)
    if sums is None:
        return unmeasured(CANCELLED, size)
    return finish(sums, parts=parts, scale=scale, table=table)


def measure_arrays(
    target: NDArray[Any],
    golden: NDArray[Any],
    *,
    kernel: KernelName | None = None,
    table: FigureTable | None = None,
) -> Divergence:
    """Return how far the array ``target`` is from ``golden``, as `measure` does.

    >>> import numpy as np
    >>> measure_arrays(np.array([2.0, 4.0]), np.array([1.0, 2.0])).error
    1.0
    """
    return measure(ArraySource(target), ArraySource(golden), kernel=kernel, table=table)


def _leaves_float64(sums: Sums) -> bool:
    """Whether squares of the data may have left the range of float64."""
    if _MINUTE < sums.target_target + sums.golden_golden < _HUGE:
        return False
    return sums.largest > _HUGE or 0.0 < sums.largest < _MINUTE


def _rescale(job: Job, sums: Sums) -> Sums | None:
    """Gather again from scaled data; only sums that can leave float64 change."""
    with OpenPair(job.target, job.golden) as pair:
        again = job.gather(pair)
    if again is None:
        return None
    return sums._replace(**{name: getattr(again, name) for name in _SCALED})


_SCALED = (
    "target_mean",
    "target_m2",
    "golden_mean",
    "golden_m2",
    "target_golden",
    "target_target",
    "golden_golden",
    "square",
    "absolute",
    "error_golden",
    "weighted_square",
)
