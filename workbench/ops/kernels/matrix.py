"""Kernels of products and convolutions."""

from __future__ import annotations

import math
from functools import wraps
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from workbench._values import NamedTuple
from workbench.core.errors import GraphError
from workbench.ops.definition import Kernel
from workbench.ops.kernels.window import (
    Window,
    check_sizes,
    integers,
    same_padding,
    window,
    windows_along,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    Array = NDArray[Any]


_NEAR = 1 << 16
"""Elements of the windows that are worked on at a time; they stay in the second-level cache."""


def exact_integers(kernel: Kernel) -> Kernel:
    """Return the kernel of a product that sums int8 as the cube unit does: exactly, in int32.

    NumPy multiplies integers without BLAS; float64 holds every sum of fewer than 2^38 products.
    """

    @wraps(kernel)
    def wrapped(x: Array, y: Array, **settings: Any) -> Array:
        if x.dtype != np.int8:
            return np.asarray(kernel(x, y, **settings))
        sums = kernel(x.astype(np.float64), y.astype(np.float64), **settings)
        return np.asarray(sums).astype(np.int64).astype(np.int32)

    return wrapped


def matmul(left: Array, right: Array, *, transpose_a: Any, transpose_b: Any) -> Array:
    """Product of two matrices, or of two stacks of them; either may be transposed."""
    if transpose_a:
        left = left.swapaxes(-1, -2)
    if transpose_b:
        right = right.swapaxes(-1, -2)
    if right.ndim == 2 < left.ndim:  # one product of joined rows, not one for each matrix
        flat = np.matmul(left.reshape(-1, left.shape[-1]), right)
        return np.asarray(flat.reshape(*left.shape[:-1], right.shape[-1]))
    return np.asarray(np.matmul(left, right))


def conv2d(x: Array, weight: Array, **settings: Any) -> Array:
    """Convolve (N, C, H, W) with (O, C / group, kh, kw): windows as columns, then a product."""
    group = int(settings["group"])
    view = window(settings, x.shape[2:], weight.shape[2:], settings["stride"])
    if group == x.shape[1] == weight.shape[0] and group > 1:
        shape = (*x.shape[:2], *view.output(*x.shape[2:]))
        return _depthwise(pad(x, view, 0), weight, view, np.empty(shape, x.dtype))
    return _convolved(x, weight, view, group)


class View(NamedTuple):
    """Windows along one axis: padding before and behind, their size, distance and dilation, how many."""

    before: int
    behind: int
    size: int
    stride: int
    dilation: int
    number: int


def views3d(settings: Mapping[str, Any], sizes: Sequence[int], kernel: Sequence[int]) -> list[View]:
    """Windows of a convolution along depth, height and width; raises GraphError for what makes none."""
    strides, dilations = (_three(settings[name]) for name in ("stride", "dilation"))
    mode = str(settings["pad_mode"]).lower()
    if mode not in ("valid", "same", "pad"):
        known = ["pad", "same", "valid"]
        raise GraphError("core/choice", subject="pad_mode", got=mode, known=known)
    pads = _six(settings["pad"]) if mode == "pad" else (0,) * 6
    check_sizes("kernel", tuple(kernel), 1)
    check_sizes("stride", strides, 1)
    check_sizes("dilation", dilations, 1)
    check_sizes("padding", pads, 0)
    found = []
    for axis, (size, width) in enumerate(zip(sizes, kernel, strict=True)):
        stride, dilation = strides[axis], dilations[axis]
        before, behind = pads[2 * axis : 2 * axis + 2]
        if mode == "same":
            before, behind = same_padding(size, width, stride, dilation)
        count = windows_along(size + before + behind, width, stride, dilation)
        found.append(View(before, behind, width, stride, dilation, count))
    return found


def _three(value: Any) -> tuple[int, ...]:
    sizes = (value,) * 3 if isinstance(value, int) else integers(value)[-3:]
    if len(sizes) != 3:
        raise GraphError("graph/window-sizes", got=value)
    return sizes


def _six(value: Any) -> tuple[int, ...]:
    pads = (value,) * 6 if isinstance(value, int) else integers(value)
    if len(pads) != 6:
        raise GraphError("graph/window-pad", got=value)
    return pads


def padded3d(x: Array, views: Sequence[View]) -> Array:
    """Put zeros around the last three axes."""
    return np.pad(x, [(0, 0), (0, 0), *((view.before, view.behind) for view in views)])


def positions3d(views: Sequence[View], place: Sequence[int]) -> tuple[slice, ...]:
    """What one place of a kernel meets of a padded input, along the last three axes."""
    return tuple(
        slice(k * v.dilation, k * v.dilation + (v.number - 1) * v.stride + 1, v.stride)
        for k, v in zip(place, views, strict=True)
    )


def conv3d(x: Array, weight: Array, **settings: Any) -> Array:
    """Convolve (N, C, D, H, W) with (O, C / group, kd, kh, kw): one product for each place of the kernel."""
    group, views = int(settings["group"]), views3d(settings, x.shape[2:], weight.shape[2:])
    x = padded3d(x, views)
    counts = tuple(view.number for view in views)
    out = np.zeros((x.shape[0], group, weight.shape[0] // group, *counts), x.dtype)
    for place in np.ndindex(*weight.shape[2:]):
        pixels = x[(slice(None), slice(None), *positions3d(views, place))].reshape(
            x.shape[0], group, -1, *counts
        )
        factors = weight[(slice(None), slice(None), *place)].reshape(group, -1, weight.shape[1])
        out += np.einsum("goc,ngcdhw->ngodhw", factors, pixels)
    return out.reshape(x.shape[0], weight.shape[0], *counts)


def _convolved(x: Array, weight: Array, view: Window, group: int) -> Array:
    rows, columns = view.output(*x.shape[2:])
    out = np.empty((x.shape[0], weight.shape[0], rows, columns), x.dtype)
    flat = weight.reshape(group, weight.shape[0] // group, -1)
    for some, matrix in windows(x, view, (rows, columns)):
        pixels = matrix.reshape(group, flat.shape[2], -1)
        if len(target := out[some]) == 1:
            np.matmul(flat, pixels, out=target.reshape(group, flat.shape[1], -1))
        else:
            target[:] = (
                np.matmul(flat, pixels).reshape(-1, len(target), rows, columns).swapaxes(0, 1)
            )
    return out


def together(count: int, size: int) -> Iterator[slice]:
    """Cut ``count`` images, each of which needs ``size`` elements, into blocks that stay near.

    Small images are worked on together: a matrix product and a copy for each would be too small.
    """
    step = max(1, _NEAR // max(size, 1))
    return (slice(start, start + step) for start in range(0, count, step))


def windows(x: Array, view: Window, out: tuple[int, int]) -> Iterator[tuple[slice, Array]]:
    """Yield the windows (C, kh, kw, images, rows, columns) of some images after the others.

    What is yielded may be overwritten by the next.
    """
    shape = (x.shape[1], *view.kernel, *out)
    blocks = list(together(len(x), math.prod(shape)))
    if len(blocks) < len(x):
        padded = pad(x, view, 0).swapaxes(0, 1)
        return ((some, _gathered(padded[:, some], view, out)) for some in blocks)
    return zip(blocks, _single(x, view, np.empty(shape, x.dtype)), strict=True)


def _gathered(images: Array, view: Window, out: tuple[int, int]) -> Array:
    """Copy of the windows of padded images (C, images, H, W)."""
    (high, wide), (rows, columns) = view.stride, out
    (down, along), (height, width) = view.dilation, view.kernel
    span = ((height - 1) * down + 1, (width - 1) * along + 1)
    seen = sliding_window_view(images, span, (2, 3))[:, :, ::high, ::wide, ::down, ::along]
    return np.ascontiguousarray(seen[:, :, :rows, :columns].transpose(0, 4, 5, 1, 2, 3))


def _single(x: Array, view: Window, space: Array) -> Iterator[Array]:
    """Fill ``space`` (C, kh, kw, rows, columns) with the windows of one image after the other."""
    moved = view.stride == (1, 1) and x.shape[2:] == space.shape[3:]
    if _plain(view):
        yield from x
    elif moved:
        yield from (_moved(image, view, space) for image in x)
    else:
        yield from (_columns(image, view, space) for image in pad(x, view, 0))


def pad(x: Array, view: Window, value: float) -> Array:
    """Input of a window with its padding around it; the input itself if there is none."""
    top, bottom, left, right = view.pads
    if not any(view.pads):
        return x
    padded = np.full(
        (*x.shape[:2], x.shape[2] + top + bottom, x.shape[3] + left + right), value, x.dtype
    )
    padded[:, :, top : top + x.shape[2], left : left + x.shape[3]] = x
    return padded


def taps(size: int, step: int, gap: int, tap: int) -> slice:
    """Positions that element ``tap`` of a window meets in ``size`` windows."""
    start = tap * gap
    return slice(start, start + (size - 1) * step + 1, step)


def _plain(view: Window) -> bool:
    """Whether the input itself is its matrix of windows (a 1×1 kernel with stride 1)."""
    return view.kernel == (1, 1) and view.stride == (1, 1)


def _columns(image: Array, view: Window, space: Array) -> Array:
    """Fill ``space`` (C, kh, kw, rows, columns) with the windows of one image."""
    rows, columns = space.shape[3:]
    for i in range(view.kernel[0]):
        down = taps(rows, view.stride[0], view.dilation[0], i)
        for j in range(view.kernel[1]):
            along = taps(columns, view.stride[1], view.dilation[1], j)
            space[:, i, j] = image[:, down, along]
    return space


def _moved(image: Array, view: Window, space: Array) -> Array:
    """As `_columns`, where output and input have one size, from an input without its padding.

    Every element of the kernel then meets the whole input, moved: one long copy for each channel
    instead of one for each row. What moved from the end of one row into the next is padding.
    """
    rows, columns = image.shape[1:]
    flat, size = image.reshape(image.shape[0], -1), rows * columns
    for i in range(view.kernel[0]):
        down = i * view.dilation[0] - view.pads[0]
        for j in range(view.kernel[1]):
            along = j * view.dilation[1] - view.pads[2]
            offset = down * columns + along
            start, stop = max(-offset, 0), min(size - offset, size)
            place = space[:, i, j]
            if start < stop:
                target = place.reshape(place.shape[0], -1)
                target[:, start:stop] = flat[:, start + offset : stop + offset]
            place[:, _outside(down, rows)] = 0
            place[:, :, _outside(along, columns)] = 0
    return space


def _outside(move: int, size: int) -> slice:
    """Places among ``size`` that lie outside of it when they are moved."""
    return slice(max(size - move, 0), size) if move > 0 else slice(0, -move)


def _depthwise(padded: Array, weight: Array, view: Window, out: Array) -> Array:
    """Each channel with its own kernel: one multiplication for each element of the kernel."""
    rows, columns = out.shape[2:]
    out[:] = 0
    product = np.empty_like(out)
    for i in range(view.kernel[0]):
        down = taps(rows, view.stride[0], view.dilation[0], i)
        for j in range(view.kernel[1]):
            along = taps(columns, view.stride[1], view.dilation[1], j)
            factor = weight[:, 0, i, j].reshape(1, -1, 1, 1)
            np.multiply(padded[:, :, down, along], factor, out=product)
            out += product
    return out


def conv2d_transpose(x: Array, weight: Array, **settings: Any) -> Array:
    """Return what a convolution's input must be given: every output spread by the weight, summed.

    Input (N, O, h, w), weight (O, C / group, kh, kw), output ``input_size``.
    """
    group, size = int(settings["group"]), tuple(settings["input_size"])
    view = window(settings, size[2:], weight.shape[2:], settings["stride"])
    if group == 1 and view.stride == (1, 1) and x.shape[2:] == size[2:]:
        return _turned(x, weight, view)
    top, bottom, left, right = view.pads
    padded = (size[1], size[2] + top + bottom, size[3] + left + right)
    flat = weight.reshape(group, weight.shape[0] // group, -1).swapaxes(1, 2)
    out = np.empty(size, x.dtype)
    for some in together(len(x), size[1] * math.prod((*view.kernel, *x.shape[2:]))):
        images = x[some].transpose(1, 2, 3, 0)  # the images last: long rows to add
        spread = np.matmul(flat, images.reshape(group, flat.shape[2], -1))
        whole = _overlay(spread.reshape(size[1], *view.kernel, *images.shape[1:]), view, padded)
        inside = whole[:, top : top + size[2], left : left + size[3]]
        out[some] = inside.transpose(3, 0, 1, 2)
    return out


def _turned(x: Array, weight: Array, view: Window) -> Array:
    """Transposed convolution that keeps the size: a convolution with the kernel turned around."""
    (high, wide), (down, along) = view.kernel, view.dilation
    reach = ((high - 1) * down,) * 2 + ((wide - 1) * along,) * 2
    pads = tuple(far - near for far, near in zip(reach, view.pads, strict=True))
    back = Window(view.kernel, view.stride, view.dilation, (pads[0], pads[1], pads[2], pads[3]))
    turned = weight[:, :, ::-1, ::-1].swapaxes(0, 1)
    return _convolved(x, np.ascontiguousarray(turned), back, 1)


def _overlay(pieces: Array, view: Window, shape: tuple[int, ...]) -> Array:
    """Sum of windows (C, kh, kw, rows, columns, images) where they lie: the reverse of `windows`."""
    rows, columns, images = pieces.shape[3:]
    out = np.zeros((*shape, images), pieces.dtype)
    for i in range(view.kernel[0]):
        down = taps(rows, view.stride[0], view.dilation[0], i)
        for j in range(view.kernel[1]):
            along = taps(columns, view.stride[1], view.dilation[1], j)
            out[:, down, along] += pieces[:, i, j]
    return out


def conv2d_filter(dout: Array, x: Array, **settings: Any) -> Array:
    """Sum of every window of (N, C, H, W) times what its output (N, O, h, w) is blamed for.

    Returns (O, C / group, kh, kw), which is ``filter_size``.
    """
    group, size = int(settings["group"]), tuple(settings["filter_size"])
    view = window(settings, x.shape[2:], size[2:], settings["stride"])
    if group == x.shape[1] == size[0] and group > 1:
        return _depthwise_filter(dout, pad(x, view, 0), view).reshape(size)
    total = np.zeros((group, size[1] * size[2] * size[3], size[0] // group), x.dtype)
    for some, matrix in windows(x, view, (dout.shape[2], dout.shape[3])):
        blame = dout[some].swapaxes(0, 1).reshape(group, total.shape[2], -1)
        total += np.matmul(matrix.reshape(*total.shape[:2], -1), blame.swapaxes(1, 2))
    return np.ascontiguousarray(total.swapaxes(1, 2)).reshape(size)


def _depthwise_filter(dout: Array, padded: Array, view: Window) -> Array:
    """Each channel with its own kernel: one sum for each element of the kernel."""
    rows, columns = dout.shape[2:]
    out = np.empty((dout.shape[1], *view.kernel), dout.dtype)
    for i, j in np.ndindex(view.kernel):
        down = taps(rows, view.stride[0], view.dilation[0], i)
        along = taps(columns, view.stride[1], view.dilation[1], j)
        out[:, i, j] = (dout * padded[:, :, down, along]).sum(axis=(0, 2, 3))
    return out
