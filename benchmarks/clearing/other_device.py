"""A second numeric model: the same networks on a device that sums, divides and approximates in its own way.

The simulated device and the replay that judges it share one numeric model, so that a benchmark of one with the other
cannot see what a healthy kernel of somebody else's looks like. This one multiplies blocks of 48 from the last to
the first, sums vectors in 48 lanes, has exponentials of its own, and adds noise to whatever it sums, as large as it
is told: `computing_otherwise`. Formats, fusions and faults stay those of the device.
"""

from __future__ import annotations

import math
import zlib
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from unittest import mock

import numpy as np

from workbench.core.dtypes import DTYPES
from workbench.npu import cube
from workbench.npu import runner as npu
from workbench.npu.device import Device
from workbench.ops import run_kernel

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from workbench.graph.graph import Op
    from workbench.npu.faults import OpExecution
    from workbench.npu.overflow import Status

    Array = NDArray[Any]

LANES = 48
"""Elements that are multiplied or added at a time: no multiple of the 16 that the simulated device takes."""

PRODUCTS = (
    "MatMul",
    "BatchMatMul",
    "Conv2D",
    "Conv2DTranspose",
    "Conv2DBackpropInput",
    "Conv2DBackpropFilter",
)
"""Types that give sums of products: their results carry the noise of sums."""

SUMS = (
    "ReduceSum", "ReduceMean", "BiasAddGrad", "CumSum", "UnsortedSegmentSum", "AvgPool", "AvgPoolV2", "AvgPoolGrad",
    "MaxPoolGrad", "BatchNorm", "BatchNormGrad", "BNTrainingReduce", "LayerNorm", "LayerNormGrad", "GroupNorm",
    "GroupNormGrad", "RmsNorm", "RmsNormGrad", "Softmax", "LogSoftmax", "LogSoftmaxGrad", "LRN",
    "SoftmaxCrossEntropyWithLogits", "SparseSoftmaxCrossEntropyWithLogits",
)  # fmt: skip
"""Types of the vector unit that sum: computed in float64, then off by noise, but for those of `OWN`."""

_LN2_HIGH, _LN2_LOW = np.float32(0.693145752), np.float32(1.42860677e-6)


@contextmanager
def computing_otherwise(noise: float | None, seed: int = 0) -> Iterator[None]:
    """Inside, devices compute with this model; ``None``: as they do.

    ``noise`` is the relative error (root mean square) of every sum in float32. In formats of fewer bits sums are off
    by a last bit at random, before they are rounded.
    """
    if noise is None:
        yield
        return
    hash_of_run = zlib.crc32(repr((noise, seed)).encode())
    own = type("OtherDevice", (_OtherDevice,), {"noise": noise, "seed": hash_of_run})
    with (
        mock.patch.object(npu, "Device", own),
        mock.patch.object(cube, "BLOCK", LANES),
        mock.patch.object(
            cube, "matmul", _noisy_product(noise, hash_of_run)
        ),  # of recurrent layers
    ):
        yield


def off_by(array: Array, noise: float, rng: np.random.Generator) -> Array:
    """Each element off by a relative error of its own: even, of root mean square ``noise``."""
    if array.dtype.kind != "f" or not noise:
        return array
    steps = rng.uniform(-math.sqrt(3), math.sqrt(3), array.shape)
    return np.asarray(array * (1 + noise * steps)).astype(array.dtype, copy=False)


def _noisy_product(noise: float, seed: int) -> Callable[..., Array]:
    plain, rng = cube.matmul, np.random.default_rng([seed, 1])
    return lambda inputs, settings, rounding: off_by(plain(inputs, settings, rounding), noise, rng)


class _OtherDevice(Device):
    """The units of the device that computes otherwise."""

    noise = 0.0
    seed = 0

    def _results(
        self, site: OpExecution, settings: Mapping[str, Any], status: Status
    ) -> list[Array]:
        op, inputs = site.op, site.inputs
        floats = all(array.dtype.kind == "f" for array in inputs)
        if op.op_type in OWN and floats:
            results = [OWN[op.op_type](inputs, settings)]
        elif op.op_type in SUMS:
            wide = [
                array.astype(np.float64) if array.dtype.kind == "f" else array for array in inputs
            ]
            results = [_single(array) for array in run_kernel(op.op_type, wide, settings)]
        elif op.op_type in ("MatMul", "BatchMatMul") and floats:
            turned = _from_the_end(inputs, settings)
            results = super()._results(replace(site, inputs=turned), settings, status)
        else:
            results = super()._results(site, settings, status)
        if op.op_type in (*SUMS, *PRODUCTS):
            rng = np.random.default_rng([self.seed, zlib.crc32(op.name.encode())])
            results = [
                off_by(array, self._noise_of(op, site, slot), rng)
                for slot, array in enumerate(results)
            ]
        return results

    def _noise_of(self, op: Op, site: OpExecution, slot: int) -> float:
        stored = op.outputs[slot].dtype if slot < len(op.outputs) else "float32"
        name = site.formats.output or stored
        row = DTYPES.get(name)
        last_bit = row.roundoff if row is not None and row.roundoff > 2.0**-20 else 0.0
        return max(self.noise, last_bit / math.sqrt(3))


def _single(array: Array) -> Array:
    return array.astype(np.float32) if array.dtype == np.float64 else array


def _from_the_end(inputs: Sequence[Array], settings: Mapping[str, Any]) -> tuple[Array, ...]:
    """Both factors with their inner dimension the other way round: the same sum, from its last term."""
    left, right = inputs
    left_axis = -2 if settings["transpose_a"] else -1
    right_axis = -1 if settings["transpose_b"] else -2
    return np.flip(left, left_axis), np.flip(right, right_axis)


# ---------------------------------------------------------------- what is computed otherwise


def lane_sum(array: Array, axes: int | tuple[int, ...] | None, *, keep: bool = False) -> Array:
    """Sum in float32: each lane from its first element to its last, then the lanes from the last to the first."""
    if axes is None:
        axes = tuple(range(array.ndim))
    axes = tuple(axis % array.ndim for axis in np.atleast_1d(axes).tolist())
    kept = [axis for axis in range(array.ndim) if axis not in axes]
    rows = array.transpose(*kept, *axes).reshape(*(array.shape[axis] for axis in kept), -1)
    missing = -rows.shape[-1] % LANES
    padded = np.concatenate([rows, np.zeros((*rows.shape[:-1], missing), rows.dtype)], axis=-1)
    steps = padded.reshape(*rows.shape[:-1], -1, LANES)
    total = np.zeros((*rows.shape[:-1], LANES), np.float32)
    for number in range(steps.shape[-2]):
        total += steps[..., number, :]
    whole = np.zeros(rows.shape[:-1], np.float32)
    for number in reversed(range(LANES)):
        whole += total[..., number]
    return np.expand_dims(whole, axes) if keep else whole


def exponential(x: Array) -> Array:
    """e^x: a polynomial of sixth degree between the powers of two (Taylor's, good to 2e-7)."""
    x = np.clip(x.astype(np.float32), -87, 88)
    whole = np.floor(x * np.float32(1 / math.log(2)) + np.float32(0.5))
    rest = (x - whole * _LN2_HIGH) - whole * _LN2_LOW
    total = np.full_like(rest, 1 / 720)
    for factor in (1 / 120, 1 / 24, 1 / 6, 1 / 2, 1.0, 1.0):
        total = total * rest + np.float32(factor)
    return np.ldexp(total, whole.astype(np.int32)).astype(np.float32)


def tangent(x: Array) -> Array:
    """Tanh of exponentials; of small numbers by its series, where these would cancel."""
    x = x.astype(np.float32)
    square = x * x
    series = x * (1 + square * np.float32(-1 / 3) + square * square * np.float32(2 / 15))
    both = exponential(-2 * np.abs(x))
    return np.where(np.abs(x) < 0.03, series, np.copysign((1 - both) / (1 + both), x))


def bell(x: Array) -> Array:
    """Sigmoid of an exponential."""
    return np.float32(1) / (1 + exponential(-x))


def _softmax(inputs: Sequence[Array], settings: Mapping[str, Any]) -> Array:
    axis = settings["axis"]
    axis = axis if isinstance(axis, int) else tuple(axis)
    scaled = exponential(inputs[0] - np.max(inputs[0], axis=axis, keepdims=True))
    return scaled * (np.float32(1) / lane_sum(scaled, axis, keep=True))


def _reduced(inputs: Sequence[Array], settings: Mapping[str, Any], *, mean: bool) -> Array:
    (x, *_), axes = inputs, settings["axis"]
    if settings.get("skip_mode") and axes == ():
        return x
    axes = tuple(range(x.ndim)) if axes in ((), None) else axes
    total = lane_sum(x, axes, keep=bool(settings["keep_dims"]))
    count = x.size / max(total.size, 1)
    return total * np.float32(1 / count) if mean else total


OWN: dict[str, Callable[[Sequence[Array], Mapping[str, Any]], Array]] = {
    "Exp": lambda inputs, _: exponential(inputs[0]),
    "Tanh": lambda inputs, _: tangent(inputs[0]),
    "Sigmoid": lambda inputs, _: bell(inputs[0]),
    "SiLU": lambda inputs, _: inputs[0] * bell(inputs[0]),
    "Softmax": _softmax,
    "ReduceSum": lambda inputs, settings: _reduced(inputs, settings, mean=False),
    "ReduceMean": lambda inputs, settings: _reduced(inputs, settings, mean=True),
}
"""What is computed by formulas of its own, in float32."""
