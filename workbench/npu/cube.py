"""The cube unit: matrix products of 16×16×16 blocks with a float32 accumulator.

Inputs arrive rounded to a format whose products are exact in float32 (float16, bfloat16, HF32,
float8, hifloat8). Each block of 16 products is summed in float32 and added to the accumulator in
float32; the order inside a block is not documented and follows the host's BLAS. A convolution walks
its inner dimension as the device format lays it out: 16 channels at a time, and for each of these the
rows and columns of the kernel; the gradient of its weight is summed over the pixels of one image after
the other. Nothing here is shared with the reference's matrix products;
recurrent layers share the arithmetic between their products.

**Error.** With u = 2^-24 and γ(n) = nu / (1 - nu), every computed element of a product over K differs
from the exact one by at most γ(15 + K/16) Σ|aᵢbᵢ|: a product passes through at most 15 additions in
its block, whatever their order, and through one for each block (Higham, *Accuracy and Stability of
Numerical Algorithms*, §3.1 and §4.2). One long sum would have γ(K - 1). An accumulator of unit
roundoff v adds γᵥ(K/16). 8-bit integers are summed exactly, as in int32: K up to 131,071 cannot
overflow it; what does saturates.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench._doors import find
from workbench.ops.kernels.matrix import padded3d, positions3d, views3d
from workbench.ops.kernels.window import Window, window
from workbench.ops.table import call_kernel

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    Array = NDArray[Any]
    F32 = NDArray[np.float32]
    Rounding = Callable[[F32], F32]
    Unit = Callable[[Sequence[Array], Mapping[str, Any], Rounding | None], list[Array]]

BLOCK = 16
_FEW = 4  # up to this many channels the C04 formats put four elements of the kernel into a block
_SIDE = 256  # rows and columns of the accumulator that are worked on at a time, in the cache
_TILE = _SIDE * _SIDE


class Accumulator:
    """Sums of blocks in float32 or float64; ``rounding``, if any, follows every block."""

    def __init__(
        self, shape: tuple[int, ...], kind: type[np.floating[Any]], rounding: Rounding | None
    ) -> None:
        self.total: Array = np.zeros(shape, kind)
        self._space: F32 = np.empty(shape, np.float32)
        self._round = rounding

    def add(self, left: F32, right: F32) -> None:
        """Add the product of two blocks."""
        np.matmul(left, right, out=self._space)
        self.total += self._space
        if self._round is not None:
            self.total = self._round(self.total)


def _read(inputs: Sequence[Array]) -> tuple[F32, F32, type[np.floating[Any]]]:
    """Return both inputs as float32, and what their sums are kept in.

    Integers of 8 bits and sums of 16 of their products are exact in float32, all sums in float64.
    """
    left, right = (array.astype(np.float32, copy=False) for array in inputs)
    return left, right, np.float32 if inputs[0].dtype.kind == "f" else np.float64


def _written(sums: Array) -> Array:
    """Return sums as the unit writes them: float32, or int32."""
    if sums.dtype == np.float32:
        return sums
    limits = np.iinfo(np.int32)
    return np.clip(sums, limits.min, limits.max).astype(np.int32)


def matmul(
    inputs: Sequence[Array], settings: Mapping[str, Any], rounding: Rounding | None
) -> Array:
    """Product of two (stacks of) matrices, block by block along the inner dimension."""
    left, right, kind = _read(inputs)
    if settings["transpose_a"]:
        left = left.swapaxes(-1, -2)
    if settings["transpose_b"]:
        right = right.swapaxes(-1, -2)
    stack = np.broadcast_shapes(left.shape[:-2], right.shape[:-2])
    rows, inner, columns = left.shape[-2], left.shape[-1], right.shape[-1]
    left = np.broadcast_to(left, (*stack, rows, inner)).reshape(-1, rows, inner)
    right = np.broadcast_to(right, (*stack, inner, columns)).reshape(-1, inner, columns)
    out = np.empty((left.shape[0], rows, columns), kind)
    count = max(_TILE // max(rows * columns, 1), 1)  # small matrices are worked on together
    for start in range(0, left.shape[0], count):
        some = slice(start, start + count)
        _product(left[some], right[some], out[some], rounding)
    return _written(out.reshape(*stack, rows, columns))


def _product(left: F32, right: F32, out: Array, rounding: Rounding | None) -> None:
    """Write the products of a stack of matrices, tile by tile."""
    count, rows, columns = out.shape
    for j in range(0, columns, _SIDE):
        piece = right[..., j : j + _SIDE]
        for i in range(0, rows, _SIDE):
            part = left[:, i : i + _SIDE]
            shape = (count, part.shape[1], piece.shape[2])
            sums = Accumulator(shape, out.dtype.type, rounding)
            for k in range(0, left.shape[2], BLOCK):
                sums.add(part[..., k : k + BLOCK], piece[:, k : k + BLOCK])
            out[:, i : i + _SIDE, j : j + _SIDE] = sums.total


def conv2d(
    inputs: Sequence[Array], settings: Mapping[str, Any], rounding: Rounding | None
) -> Array:
    """Convolve (N, C, H, W) with (O, C / group, kh, kw), block by block."""
    x, weight, kind = _read(inputs)
    group = int(settings["group"])
    view = window(settings, x.shape[2:], weight.shape[2:], settings["stride"])
    rows, columns = view.output(*x.shape[2:])
    top, bottom, left, right = view.pads
    grouped = x.reshape(x.shape[0], group, -1, *x.shape[2:])
    padded = np.pad(grouped, ((0, 0), (0, 0), (0, 0), (top, bottom), (left, right)))
    # (group, O / group, kh · kw, C / group)
    factors = weight.reshape(group, -1, *weight.shape[1:]).transpose(0, 1, 3, 4, 2)
    factors = factors.reshape(*factors.shape[:2], -1, factors.shape[-1])
    out = np.empty((x.shape[0], weight.shape[0], rows, columns), kind)
    height = max(_TILE // max(weight.shape[0] * columns, 1), 1)
    for image, target in zip(padded, out, strict=True):
        for start in range(0, rows, height):
            count = min(height, rows - start)
            strip = image[..., start * view.stride[0] :, :]
            shape = (group, factors.shape[1], count * columns)
            sums = Accumulator(shape, kind, rounding)
            _strip(sums, strip, factors, view, (count, columns))
            target[:, start : start + count] = sums.total.reshape(-1, count, columns)
    return _written(out)


def _strip(
    sums: Accumulator, image: F32, factors: F32, view: Window, size: tuple[int, int]
) -> None:
    """Convolve some output rows of one image: (group, O / group, rows · columns)."""
    group, channels = image.shape[:2]
    taps = list(np.ndindex(view.kernel))
    together = BLOCK // _FEW if channels <= _FEW else 1
    for channel in range(0, channels, BLOCK):
        block = image[:, channel : channel + BLOCK]
        depth = block.shape[1]
        space = np.empty((group, together * depth, *size), np.float32)
        for first in range(0, len(taps), together):
            chosen = taps[first : first + together]
            for place, (i, j) in enumerate(chosen):
                down = _positions(i, size[0], view.stride[0], view.dilation[0])
                along = _positions(j, size[1], view.stride[1], view.dilation[1])
                space[:, place * depth : (place + 1) * depth] = block[:, :, down, along]
            part = factors[:, :, first : first + len(chosen), channel : channel + BLOCK]
            used = space[:, : len(chosen) * depth]
            sums.add(part.reshape(*part.shape[:2], -1), used.reshape(*used.shape[:2], -1))


def _positions(tap: int, count: int, stride: int, dilation: int) -> slice:
    """Input positions that one element of the kernel meets in ``count`` windows."""
    return slice(tap * dilation, tap * dilation + (count - 1) * stride + 1, stride)


def conv2d_transpose(
    inputs: Sequence[F32], settings: Mapping[str, Any], rounding: Rounding | None
) -> F32:
    """Return what the input of a convolution is given, 16 of its output channels at a time."""
    x, weight = inputs
    group, size = int(settings["group"]), tuple(settings["input_size"])
    view = window(settings, size[2:], weight.shape[2:], settings["stride"])
    top, bottom, left, right = view.pads
    factors = weight.reshape(group, -1, *weight.shape[1:])
    out = np.empty(size, np.float32)
    padded = (group, size[1] // group, size[2] + top + bottom, size[3] + left + right)
    for image, target in zip(x, out, strict=True):
        total = np.zeros(padded, np.float32)
        blocks = image.reshape(group, -1, *image.shape[1:])
        for channel in range(0, blocks.shape[1], BLOCK):
            block = blocks[:, channel : channel + BLOCK]
            part = factors[:, channel : channel + BLOCK]
            total = _spread(total, block, part, view, rounding)
        whole = total.reshape(size[1], *padded[2:])
        target[:] = whole[:, top : top + size[2], left : left + size[3]]
    return out


def _spread(total: F32, block: F32, part: F32, view: Window, rounding: Rounding | None) -> F32:
    """Add what 16 channels give to every input position that each element of the kernel meets."""
    rows, columns = block.shape[2:]
    flat = block.reshape(*block.shape[:2], -1)
    for i, j in np.ndindex(view.kernel):
        down = _positions(i, rows, view.stride[0], view.dilation[0])
        along = _positions(j, columns, view.stride[1], view.dilation[1])
        piece = np.matmul(part[..., i, j].swapaxes(1, 2), flat)
        total[..., down, along] += piece.reshape(*piece.shape[:2], rows, columns)
        if rounding is not None:
            total = rounding(total)
    return total


def conv2d_filter(
    inputs: Sequence[F32], settings: Mapping[str, Any], rounding: Rounding | None
) -> F32:
    """Return what the weight of a convolution is given, 16 pixels of its output at a time."""
    dout, x = inputs
    group, size = int(settings["group"]), tuple(settings["filter_size"])
    view = window(settings, x.shape[2:], size[2:], settings["stride"])
    top, bottom, left, right = view.pads
    padded = np.pad(x, ((0, 0), (0, 0), (top, bottom), (left, right)))
    rows, columns = dout.shape[2:]
    pixels, inner = rows * columns, size[1] * size[2] * size[3]
    sums = Accumulator((group, size[0] // group, inner), np.float32, rounding)
    space = np.empty((x.shape[1], *view.kernel, rows, columns), np.float32)
    for image, blame in zip(padded, dout, strict=True):
        for i, j in np.ndindex(view.kernel):
            down = _positions(i, rows, view.stride[0], view.dilation[0])
            along = _positions(j, columns, view.stride[1], view.dilation[1])
            space[:, i, j] = image[:, down, along]
        seen = space.reshape(group, inner, pixels).swapaxes(1, 2)
        left_side = blame.reshape(group, -1, pixels)
        for start in range(0, pixels, BLOCK):
            some = slice(start, start + BLOCK)
            sums.add(left_side[..., some], seen[:, some])
    return sums.total.reshape(size)


def conv3d(
    inputs: Sequence[Array], settings: Mapping[str, Any], rounding: Rounding | None
) -> Array:
    """Convolve (N, C, D, H, W) with (O, C / group, kd, kh, kw), 16 channels of one place at a time."""
    x, weight, kind = _read(inputs)
    group, views = int(settings["group"]), views3d(settings, x.shape[2:], weight.shape[2:])
    counts = [view.number for view in views]
    out = np.empty((x.shape[0], weight.shape[0], *counts), kind)
    for image, target in zip(padded3d(x, views), out, strict=True):
        shape = (group, weight.shape[0] // group, math.prod(counts))
        sums = Accumulator(shape, kind, rounding)
        for place in np.ndindex(*weight.shape[2:]):
            pixels = image[(slice(None), *positions3d(views, place))].reshape(group, -1, shape[2])
            factors = weight[(slice(None), slice(None), *place)].reshape(group, -1, weight.shape[1])
            for start in range(0, weight.shape[1], BLOCK):
                some = slice(start, start + BLOCK)
                sums.add(factors[..., some], pixels[:, some])
        target[:] = sums.total.reshape(target.shape)
    return _written(out)


def _single(function: Callable[..., Array]) -> Unit:
    """Return the unit of an operator with one output."""
    return lambda inputs, settings, rounding: [function(inputs, settings, rounding)]


def _recurrent(name: str) -> Unit:
    """Return the unit of a recurrent layer by its kernel: its products are those of the cube, the rest float32."""

    def unit(
        inputs: Sequence[F32], settings: Mapping[str, Any], rounding: Rounding | None
    ) -> list[F32]:
        kernel = find(f"workbench.ops.kernels.recurrent:{name}")
        plain = {"transpose_a": False, "transpose_b": False}
        return call_kernel(
            kernel, inputs, settings, product=lambda a, b: matmul((a, b), plain, rounding)
        )

    return unit


CUBE: dict[str, Unit] = {
    "Conv2D": _single(conv2d),
    "Conv2DTranspose": _single(conv2d_transpose),
    "Conv2DBackpropInput": _single(conv2d_transpose),
    "Conv2DBackpropFilter": _single(conv2d_filter),
    "Conv3D": _single(conv3d),
    "MatMul": _single(matmul),
    "BatchMatMul": _single(matmul),
    "DynamicRNN": _recurrent("dynamic_rnn"),
    "DynamicGRUV2": _recurrent("dynamic_gru"),
    "LSTM": _recurrent("lstm"),
    "DynamicRNNGrad": _recurrent("dynamic_rnn_grad"),
    "LSTMGrad": _recurrent("lstm_grad"),
}
"""What the cube unit computes from float32, by operator type."""
