"""The cube unit: matrix products of 16×16×16 blocks with a float32 accumulator.

Inputs arrive rounded to a format whose products are exact in float32 (float16, bfloat16, HF32).
Each block of 16 products is summed in float32 and added to the accumulator in float32; the order
inside a block is not documented and follows the host's BLAS. A convolution walks its inner
dimension as the device format lays it out: 16 channels at a time, and for each of these the rows
and columns of the kernel. Nothing here is shared with the reference's matrix products.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.graph.windows import window

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    F32 = NDArray[np.float32]
    Rounding = Callable[[F32], F32]

BLOCK = 16
_TILE = 65536  # elements of the accumulator that are worked on at a time


class Accumulator:
    """Sums of blocks in float32; ``rounding``, if any, follows every block."""

    def __init__(self, shape: tuple[int, ...], rounding: Rounding | None = None) -> None:
        self.total: F32 = np.zeros(shape, np.float32)
        self._space: F32 = np.empty(shape, np.float32)
        self._round = rounding

    def add(self, left: F32, right: F32) -> None:
        """Add the product of two blocks."""
        np.matmul(left, right, out=self._space)
        self.total += self._space
        if self._round is not None:
            self.total = self._round(self.total)


def matmul(inputs: Sequence[F32], settings: Mapping[str, Any], rounding: Rounding | None) -> F32:
    """Product of two (stacks of) matrices, block by block along the inner dimension."""
    left, right = inputs
    if settings["transpose_a"]:
        left = left.swapaxes(-1, -2)
    if settings["transpose_b"]:
        right = right.swapaxes(-1, -2)
    stack = np.broadcast_shapes(left.shape[:-2], right.shape[:-2])
    rows, inner, columns = left.shape[-2], left.shape[-1], right.shape[-1]
    out = np.empty((*stack, rows, columns), np.float32)
    width = max(_TILE // max(out.size // max(columns, 1), 1), BLOCK)
    for start in range(0, columns, width):
        piece = right[..., start : start + width]
        sums = Accumulator((*stack, rows, piece.shape[-1]), rounding)
        for k in range(0, inner, BLOCK):
            sums.add(left[..., k : k + BLOCK], piece[..., k : k + BLOCK, :])
        out[..., start : start + width] = sums.total
    return out


def conv2d(inputs: Sequence[F32], settings: Mapping[str, Any], rounding: Rounding | None) -> F32:
    """Convolve (N, C, H, W) with (O, C / group, kh, kw), block by block."""
    x, weight = inputs
    group = int(settings["group"])
    view = window(settings, x.shape[2:], weight.shape[2:], settings["stride"])
    rows, columns = view.output(*x.shape[2:])
    top, bottom, left, right = view.pads
    grouped = x.reshape(x.shape[0], group, -1, *x.shape[2:])
    padded = np.pad(grouped, ((0, 0), (0, 0), (0, 0), (top, bottom), (left, right)))
    # (kh, kw, group, O / group, C / group): one matrix for each tap of the kernel
    factors = weight.reshape(group, -1, *weight.shape[1:]).transpose(3, 4, 0, 1, 2)
    factors = np.ascontiguousarray(factors)
    out = np.empty((x.shape[0], weight.shape[0], rows, columns), np.float32)
    height = max(_TILE // max(weight.shape[0] * columns, 1), 1)
    for image, target in zip(padded, out, strict=True):
        for start in range(0, rows, height):
            count = min(height, rows - start)
            strip = image[..., start * view.stride[0] :, :]
            sums = _strip(strip, factors, view.stride, view.dilation, (count, columns), rounding)
            target[:, start : start + count] = sums.reshape(-1, count, columns)
    return out


def _strip(
    image: F32,
    factors: F32,
    stride: tuple[int, int],
    dilation: tuple[int, int],
    size: tuple[int, int],
    rounding: Rounding | None,
) -> F32:
    """Convolve some output rows of one image: (group, O / group, rows · columns)."""
    group, channels = image.shape[:2]
    sums = Accumulator((group, factors.shape[3], size[0] * size[1]), rounding)
    for channel in range(0, channels, BLOCK):
        block = image[:, channel : channel + BLOCK]
        for i, j in np.ndindex(factors.shape[:2]):
            down = slice(
                i * dilation[0], i * dilation[0] + (size[0] - 1) * stride[0] + 1, stride[0]
            )
            along = slice(
                j * dilation[1], j * dilation[1] + (size[1] - 1) * stride[1] + 1, stride[1]
            )
            taken = block[:, :, down, along].reshape(group, block.shape[1], -1)
            sums.add(factors[i, j, :, :, channel : channel + BLOCK], taken)
    return sums.total


CUBE: dict[str, Callable[[Sequence[F32], Mapping[str, Any], Rounding | None], F32]] = {
    "Conv2D": conv2d,
    "MatMul": matmul,
    "BatchMatMul": matmul,
}
"""What the cube unit computes, by operator type."""
