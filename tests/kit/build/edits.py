"""Trials whose outputs were edited: faults that the simulated device does not have, known to hypotheses and unknown.

What a kernel with a wrong tiling leaves, and what nobody has a name for: the right answer is then to say nothing.
"""

from __future__ import annotations

import random
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from kit.build.runs import (
    DEVICES,
    MODELS,
    Planted,
    clean_run,
    golden_run,
    network,
    trial_of,
)
from workbench.comparison.explain.hypotheses.elements import count_runs
from workbench.npu.numerics import numeric_model
from workbench.ops import op_def

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from workbench.graph.graph import Op

    Array = Any


class Edit(NamedTuple):
    """What is done to a right output, and which kinds of faults may be said of it: none of one nobody knows."""

    right: frozenset[str]
    apply: Callable[[np.random.Generator, Array], Array]


def _axis(rng: np.random.Generator, x: Array) -> int:
    """An axis of some length, channels and rows before images."""
    axes = [axis for axis, size in enumerate(x.shape) if size >= 4]
    return int(rng.choice(axes or [int(np.argmax(x.shape))]))


def _slices(rng: np.random.Generator, x: Array, most: int = 3) -> tuple[Any, ...]:
    """Some slices along an axis."""
    axis = _axis(rng, x)
    count = int(rng.integers(1, max(min(most, x.shape[axis] // 3), 1) + 1))
    places = np.sort(rng.choice(x.shape[axis], count, replace=False))
    return (*(slice(None),) * axis, places)


def _tile(rng: np.random.Generator, x: Array) -> tuple[Any, ...]:
    """A tile of 16 × 16, or a quarter of what is smaller, in the last two axes of one matrix."""
    place: list[Any] = [int(rng.integers(size)) for size in x.shape[:-2]]
    for size in x.shape[-2:]:
        side = min(16, max(size // 2, 1))
        start = int(rng.integers(max(size // side, 1))) * side
        place.append(slice(start, start + side))
    return tuple(place)


def _somewhere(rng: np.random.Generator, x: Array) -> tuple[Any, ...]:
    return _slices(rng, x) if rng.random() < 0.6 else _tile(rng, x)


def _put(x: Array, place: tuple[Any, ...], values: Array) -> Array:
    found = x.copy()
    found[place] = values
    return found


def _zeroed(rng: np.random.Generator, x: Array) -> Array:
    return _put(x, _somewhere(rng, x), 0)


def _one_number(rng: np.random.Generator, x: Array) -> Array:
    return _put(x, _somewhere(rng, x), rng.choice([1.0, -2.5, 7.0, float(np.max(x))]))


def _duplicated(rng: np.random.Generator, x: Array) -> Array:
    axis = _axis(rng, x)
    to, of = rng.choice(x.shape[axis], 2, replace=False)
    moved = np.moveaxis(x.copy(), axis, 0)
    moved[to] = moved[of]
    return np.moveaxis(moved, 0, axis)


def _swapped(rng: np.random.Generator, x: Array) -> Array:
    axis = _axis(rng, x)
    one, other = rng.choice(x.shape[axis], 2, replace=False)
    moved = np.moveaxis(x.copy(), axis, 0)
    moved[[one, other]] = moved[[other, one]]
    return np.moveaxis(moved, 0, axis)


def _off_by_one(rng: np.random.Generator, x: Array) -> Array:
    """Slices from some place on, up to a tile of them, come from one further."""
    axis = _axis(rng, x)
    moved = np.moveaxis(x.copy(), axis, 0)
    count = min(16, max(len(moved) // 2, 1))
    start = int(rng.integers(max(len(moved) - count, 1)))
    moved[start : start + count] = np.roll(moved, -1, 0)[start : start + count]
    return np.moveaxis(moved, 0, axis)


def _scaled(rng: np.random.Generator, x: Array) -> Array:
    place = _somewhere(rng, x)
    return _put(x, place, x[place] * rng.choice([0.5, 2.0, 1.1, -1.0, 0.9]))


def _garbage(rng: np.random.Generator, x: Array) -> Array:
    place = _somewhere(rng, x)
    return _put(x, place, rng.normal(x.mean(), x.std() or 1.0, x[place].shape))


def _noisy_part(rng: np.random.Generator, x: Array) -> Array:
    place = _somewhere(rng, x)
    return _put(x, place, x[place] * (1 + 0.1 * rng.standard_normal(x[place].shape)))


def _noisy(rng: np.random.Generator, x: Array) -> Array:
    return x * (1 + rng.choice([0.01, 0.05, 0.3]) * rng.standard_normal(x.shape))


def _ramp(rng: np.random.Generator, x: Array) -> Array:
    axis = _axis(rng, x)
    shape = [1] * x.ndim
    shape[axis] = x.shape[axis]
    return x * np.linspace(1, rng.choice([0.5, 1.2, 2.0]), x.shape[axis]).reshape(shape)


def _offset(rng: np.random.Generator, x: Array) -> Array:
    return x + rng.choice([0.3, -1.0, 0.05]) * (x.std() or 1.0)


def _compressed(rng: np.random.Generator, x: Array) -> Array:
    size = x.std() or 1.0
    return np.tanh(x / size * 0.7) * size


def _coarse(rng: np.random.Generator, x: Array) -> Array:
    step = (np.ptp(x) or 1.0) / rng.choice([15, 63, 255])
    return np.round(x / step) * step


def _mixed_up(rng: np.random.Generator, x: Array) -> Array:
    return rng.permutation(x.reshape(-1)).reshape(x.shape)


def _dropped(rng: np.random.Generator, x: Array) -> Array:
    return np.where(rng.random(x.shape) < rng.choice([0.02, 0.1, 0.5]), 0, x)


def _smoothed(rng: np.random.Generator, x: Array) -> Array:
    axis = _axis(rng, x)
    return (x + np.roll(x, 1, axis)) / 2


def _magnitudes(_: np.random.Generator, x: Array) -> Array:
    return np.abs(x)


def _per_channel(rng: np.random.Generator, x: Array) -> Array:
    axis = _axis(rng, x)
    shape = [1] * x.ndim
    shape[axis] = x.shape[axis]
    return x + 0.2 * (x.std() or 1.0) * rng.standard_normal(x.shape[axis]).reshape(shape)


def _two_faults(rng: np.random.Generator, x: Array) -> Array:
    return _zeroed(rng, _ramp(rng, x))


def _another(rng: np.random.Generator, x: Array) -> Array:
    return rng.normal(x.mean(), x.std() or 1.0, x.shape)


def _every_other(rng: np.random.Generator, x: Array) -> Array:
    found = x.copy().reshape(-1)
    period = int(rng.choice([2, 4, 8]))
    found[::period] = found[::period] * 1.5 + 0.1 * (x.std() or 1.0)
    return found.reshape(x.shape)


_TILE, _MOVED, _TIMES = (
    frozenset(("unwritten-tile", "unwritten-tail-tile")),
    frozenset(("misplaced-tile", "wrong-layout-lanes", "shifted-output")),
    frozenset(("scaled-tile",)),
)
_NONE: frozenset[str] = frozenset()
_NEIGHBORS, _RUNS = (
    16,
    2,
)  # what the simulated device overwrites at most, and in how many rows it may lie

EDITS: dict[str, Edit] = {
    "tile zero": Edit(_TILE, _zeroed),
    "tile of one number": Edit(_TILE, _one_number),
    "slice duplicated": Edit(_MOVED, _duplicated),
    "slices exchanged": Edit(_MOVED, _swapped),
    "tile off by one": Edit(_MOVED, _off_by_one),
    "tile scaled": Edit(_TIMES, _scaled),
    "tile of garbage": Edit(_NONE, _garbage),
    "tile noisy": Edit(_NONE, _noisy_part),
    "noise": Edit(_NONE, _noisy),
    "ramp": Edit(_NONE, _ramp),
    "offset": Edit(_NONE, _offset),
    "compressed": Edit(_NONE, _compressed),
    "coarse": Edit(_NONE, _coarse),
    "mixed up": Edit(_NONE, _mixed_up),
    "elements dropped": Edit(_NONE, _dropped),
    "smoothed": Edit(_NONE, _smoothed),
    "magnitudes": Edit(_NONE, _magnitudes),
    "offset by channel": Edit(_NONE, _per_channel),
    "two faults": Edit(_NONE, _two_faults),
    "another tensor": Edit(_NONE, _another),
    "every other element": Edit(_NONE, _every_other),
}
"""What was edited → what may be said of it."""


def edited(kind: str, seed: int, mode: str | None = None) -> Iterator[Planted]:
    """Yield trials of an operator whose output was edited, chosen by a seed."""
    rng = random.Random(f"{kind} {seed}")
    model, weights = rng.choice(MODELS), seed % 7
    profile, precision = rng.choice(DEVICES)
    graph = network(model, weights)
    right = clean_run(model, weights, profile, precision)
    op = _chosen(graph.ops, right, rng)
    number = [one.name for one in graph.ops].index(op.name)
    formats = numeric_model(profile, precision).formats(graph)[number]
    output = right[op.name]["output", 0]
    with np.errstate(all="ignore"):
        values = EDITS[kind].apply(np.random.default_rng(seed), output.astype(np.float64))
        given = values.astype(output.dtype)
    faulty = {**right, op.name: {**right[op.name], ("output", 0): given}}
    for how in (mode,) if mode else ("model", "replay", "golden"):
        golden = golden_run(model, weights)
        trial = trial_of(op, kind, how, faulty, right, golden, formats, rng, graph)
        if trial is not None:
            dumped = frozenset(trial.inputs) if how != "golden" else frozenset()
            yield Planted(
                kind, replace(trial, dumped=dumped), how,
                f"{model} {weights} {profile} {precision} {op.name}",
                EDITS[kind].right | _of_few(output, given),
            )  # fmt: skip


def _of_few(output: Array, given: Array) -> frozenset[str]:
    """Whatever was done, a few neighbors that hold something else are called that rightly."""
    places = np.flatnonzero(output.reshape(-1) != given.reshape(-1))
    few = 0 < places.size <= _NEIGHBORS and count_runs(places) <= _RUNS
    return frozenset(("overwritten-element",)) if few else _NONE


def _chosen(ops: tuple[Op, ...], found: Any, rng: random.Random) -> Op:
    """An operator that computes an output of several rows and columns in floats."""

    def fits(op: Op) -> bool:
        output = found.get(op.name, {}).get(("output", 0))
        if output is None or op_def(op.op_type).engine == "none":
            return False
        several = output.ndim >= 2 and output.size >= 64 and max(output.shape) >= 8
        return bool(
            several and output.dtype.kind not in "biu" and np.ptp(output.astype(np.float64))
        )

    return rng.choice([op for op in ops if fits(op)])
