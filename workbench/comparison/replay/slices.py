"""Own errors slice by slice: what one norm over a result hides beside its outliers.

A result is held against what the operator's own inputs make of it, slice by slice, and every slice against what
rounding explains of it. The values of a slice do not tell that: of a sum that cancels, and of a row of a product
whose inputs hold an outlier, rounding leaves more than they are large. So the noise of an element is

    u · |expected| + (2 · u_inside + √K · 2⁻²⁴) · |expected' - expected| / ε + what an approximation adds + tiny

where expected' comes of the same inputs, every element off by ε up or down at random (`floors.condition` measures the
same over the whole result), u is the unit of what is written, and tiny the smallest normal number. What
rounds otherwise than the kernel that is computed here (jumps, recurrent layers) is not judged.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench._values import NamedTuple
from workbench.comparison.limits import limits
from workbench.comparison.measure.noise import CUBE_INPUT, reduction_length
from workbench.comparison.measure.slices import (
    Gatherer,
    Slice,
    begin_of,
    grid_of,
    relative,
    slice_sums,
)
from workbench.comparison.replay.attempt import TROUBLE
from workbench.comparison.replay.floors import (
    FLOAT32,
    RECURRENT,
    unit_inside,
    unit_of,
    written_unit,
)
from workbench.comparison.replay.kernel import Computation
from workbench.core.errors import FormatError
from workbench.core.words import Message
from workbench.ops import APPROXIMATED, CONTRACTIONS, MOVEMENT, STEPS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from workbench.comparison.measure.slices import Grid
    from workbench.comparison.replay.attempt import Attempt
    from workbench.core.tensors import Source
    from workbench.npu.arithmetic import Arithmetic

    Floats = NDArray[np.float64]

_STEP = 2.0**-14
_DRAWS = 2
_CHUNK = 1 << 14
_MOST = 1 << 24
"""Elements of the largest result that is looked at."""

_HOLDS = 0.8
"""Share of the error that slices must hold to tell where it is."""

_SILENT = STEPS | RECURRENT


class SliceError(NamedTuple):
    """Slices of a result that rounding does not explain.

    ``worst`` is the slice that is farthest beyond its ``floor``; its relative error Σ|d| / Σ|expected| is ``error``,
    ``times`` what rounding explains of it; a tile begins at the index ``begin``. ``wrong`` of the ``whole`` slices
    along that axis are beyond theirs, and ``elements`` of the result's ``size`` elements are farther off than
    rounding at their place explains.
    """

    worst: Slice
    error: float
    floor: float
    times: float
    wrong: int
    whole: int
    elements: int
    size: int
    begin: tuple[int, ...] = ()

    @property
    def said(self) -> dict[str, Any]:
        """Values of the sentences that say where it is."""
        axis, index = self.worst
        worst = Message("compare/slice-index", index=index, axis=axis)
        slices = Message("compare/slices-axis", count=self.wrong, whole=self.whole, axis=axis)
        if self.begin:
            worst = Message("compare/slice-tile", begin=list(self.begin))
            slices = Message("compare/slices-tiles", count=self.wrong, whole=self.whole)
        return {
            "worst": worst, "error": self.error, "times": self.times, "slices": slices,
            "elements": self.elements, "size": self.size,
        }  # fmt: skip


@np.errstate(all="ignore")  # of what lies near the end of float64
def slice_error(
    attempt: Attempt, slot: int, arithmetic: Arithmetic, *, npu: bool
) -> SliceError | None:
    """Return the slices of an output that nothing explains; ``None``: there are none, or it cannot be told.

    ``npu``: products may have read their inputs in a coarser format. Raises one of ``attempt.TROUBLE``.
    """
    given = attempt.given.get(slot)
    grid = grid_of(given.shape) if given is not None and given.size <= _MOST else None
    if given is None or grid is None or slot < 0 or attempt.invented or not _is_judged(attempt):
        return None
    expected = attempt.results(arithmetic).get(slot)
    if expected is None or expected.shape != given.shape:
        return None
    own, off = np.abs(_wide(expected)), np.abs(_wide(given) - _wide(expected))
    noise = _noise(attempt, slot, own, arithmetic, npu=npu)
    if noise is None:
        return None
    usable = np.isfinite(off) & np.isfinite(noise)
    own, off, noise = (np.where(usable, one, 0.0) for one in (own, off, noise))
    return _beyond(grid, own, off, noise)


def copied_slices(target: Source, golden: Source, unit: float) -> SliceError | None:
    """Return the slices of a tensor that nothing was computed of, and that rounding does not explain.

    ``unit`` is the coarsest roundoff that its values may have gone through; quantized values, which are rounded
    against the largest of a tensor, are not judged.
    """
    grid = grid_of(golden.spec().shape or ())
    if unit > _COARSEST or grid is None or math.prod(grid.shape) > _MOST:
        return None
    try:
        ours, theirs = target.array(), golden.array()
    except FormatError:
        return None
    if ours.shape != theirs.shape:
        return None
    units = (unit_of(ours), unit_of(theirs))
    if min(units) == 0.0 or max(units) > _COARSEST:
        return None
    unit = max(unit, *units)
    own, off = np.abs(_wide(theirs)), np.abs(_wide(ours) - _wide(theirs))
    noise = 2.0 * unit * own + _tiny(unit)
    usable = np.isfinite(off) & np.isfinite(noise)
    own, off, noise = (np.where(usable, one, 0.0) for one in (own, off, noise))
    return _beyond(grid, own, off, noise)


_COARSEST = 2.0**-8
"""Roundoff of bfloat16."""


def _tiny(unit: float) -> float:
    """Magnitude below which a format may take numbers for zero; float16 comes with bfloat16 at times."""
    return 2.0**-14 if unit >= 2.0**-12 else 2.0**-126


def _is_judged(attempt: Attempt) -> bool:
    return not any(op.op_type in _SILENT for op in (*attempt.kernel.ops, attempt.op))


def _noise(
    attempt: Attempt, slot: int, own: Floats, arithmetic: Arithmetic, *, npu: bool
) -> Floats | None:
    """Return what rounding explains of every element of a result; ``None``: it is not known."""
    unit = written_unit(attempt, slot, arithmetic)
    if not unit:
        return None
    noise = unit * own + _tiny(unit)
    if all(op.op_type in MOVEMENT for op in attempt.kernel.ops):
        return noise
    noise += _inside(attempt, arithmetic, npu=npu) * _spread(attempt, slot)
    if any(op.op_type in APPROXIMATED for op in attempt.kernel.ops):
        finite = own[np.isfinite(own)]
        noise += limits().slice_approximation * (own + (finite.mean() if finite.size else 0.0))
    return noise


def _inside(attempt: Attempt, arithmetic: Arithmetic, *, npu: bool) -> float:
    """Relative error that rounding inside a kernel is worth in its inputs."""
    ops = attempt.kernel.ops
    unit = max(unit_inside(op, attempt.inputs, arithmetic, wide=False) for op in ops)
    if npu and any(op.op_type in CONTRACTIONS for op in ops):
        unit = max(unit, CUBE_INPUT)
    length = max(reduction_length(op) for op in ops)
    return 2.0 * unit + FLOAT32 * math.sqrt(length)


def _spread(attempt: Attempt, slot: int) -> Floats:
    """Return how far errors of the inputs, each element's up or down by its whole, move every element of a result."""
    rng = np.random.default_rng(0)
    still = _wide(attempt.computed((slot,))[slot])
    most = np.zeros(still.shape)
    for _ in range(_DRAWS):
        moved = dict(attempt.inputs)
        for number, array in attempt.inputs.items():
            if unit_of(array):
                signs = rng.integers(0, 2, array.shape) * 2 - 1
                moved[number] = _wide(array) * (1.0 + _STEP * signs)
        other = Computation(attempt.kernel, moved).computed((slot,))[slot]
        with np.errstate(all="ignore"):
            np.maximum(most, np.abs(_wide(other) - still) / _STEP, out=most)
    return most.reshape(attempt.given[slot].shape)


def _wide(array: NDArray[Any]) -> Floats:
    with np.errstate(all="ignore"):  # NaN of the smaller formats
        return array.astype(np.float64)


def _beyond(grid: Grid, own: Floats, off: Floats, noise: Floats) -> SliceError | None:
    """Return the worst of the slices that are beyond their noise.

    What shows along several axes and in tiles is told of that of which the smallest share holds most of the error.
    """
    found = [
        _worst(grid, axis, (scale, explained, far))
        for (axis, scale, far), (_, explained, _) in zip(
            _gathered(grid, own, off), _gathered(grid, noise, off), strict=True
        )
    ]
    wrong = [one for one in found if one is not None]
    if not wrong:
        return None
    _, best = min(wrong, key=lambda one: (*one[0], -one[1].times))
    return best._replace(elements=_far_off(off, noise), size=own.size)


def _worst(
    grid: Grid, axis: int, sums: tuple[Floats, Floats, Floats]
) -> tuple[tuple[bool, float], SliceError] | None:
    """Return the worst slice along an axis, and first how well the wrong ones tell where the error is (less: better).

    ``sums`` are those of scale, noise and error of all slices.
    """
    known = limits()
    scale, explained, far = sums
    errors, times = relative(scale, far), relative(explained, far)
    beyond = (times > known.slice_factor) & (errors > known.slice_least)
    if not beyond.any():
        return None
    index = int(np.argmax(np.where(beyond, times, 0.0)))
    worst, error = Slice(axis, index), float(errors[index])
    floor = error / float(times[index]) if math.isfinite(error) else 0.0
    share = float(np.mean(beyond)) * (1 if axis >= 0 else 2)  # tiles of whole channels are channels
    misses = float(far[beyond].sum()) < _HOLDS * float(far.sum())
    return (misses, share), SliceError(
        worst, error, floor, float(times[index]), int(beyond.sum()), beyond.size, 0, 0, begin_of(worst, grid)
    )  # fmt: skip


def _far_off(off: Floats, noise: Floats) -> int:
    """Number of elements that are farther off than rounding explains of them and of their row or column."""
    rows = noise.reshape(-1, noise.shape[-1])
    around = np.minimum(rows.mean(axis=1, keepdims=True), rows.mean(axis=0)).reshape(noise.shape)
    return int(np.count_nonzero(off > limits().slice_factor * (noise + around)))


def _gathered(grid: Grid, own: Floats, off: Floats) -> Iterator[tuple[int, Floats, Floats]]:
    gatherer = Gatherer(grid)
    sizes = np.stack([own.reshape(-1), off.reshape(-1)])
    for at in range(0, own.size, _CHUNK):
        gatherer.add(sizes[:, at : at + _CHUNK], at)
    return slice_sums(gatherer.sums())


def least_slice_error(
    attempt: Attempt, slot: int, arithmetics: Iterable[Arithmetic], *, npu: bool
) -> SliceError | None:
    """The slices that are off by whichever arithmetic explains most; ``None``: one explains them all."""
    least: SliceError | None = None
    for arithmetic in arithmetics:
        try:
            found = slice_error(attempt, slot, arithmetic, npu=npu)
        except TROUBLE:
            return None
        if found is None:
            return None
        least = found if least is None or found.times < least.times else least
    return least
