"""Data between host and device formats: one pass of strided copies, no intermediate array.

The device array is viewed with the axes of the host (the cut axis as blocks and lanes), and blocks are
copied that are full or not. Elements move as bits, so every dtype of 1, 2, 4, 8 or 16 bytes can.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench._values import NamedTuple
from workbench.core.device_shape import Arrangement, arrange, checked_shape, is_plain, permutation
from workbench.core.dtypes import name_of
from workbench.core.errors import FormatError
from workbench.core.formats import row_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    Array = NDArray[Any]

_BITS = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64, 16: np.complex128}

_BLOCK, _STRIP = 1 << 18, 1 << 15
"""Elements of the host and, the other way, of a column of blocks that are moved at once (measured)."""


def to_device(
    array: Array,
    host_format: str,
    device_format: str,
    *,
    groups: int = 1,
    c0: int | None = None,
) -> Array:
    """Return ``array`` as it lies on the device; padding is zero.

    Parameters
    ----------
    array : ndarray
        In ``host_format``. Numbers of any dtype; sub-byte types one element a byte (ml_dtypes).
    host_format, device_format, groups, c0
        As of `workbench.core.device_shape.device_shape`.

    Returns
    -------
    ndarray
        C-contiguous, of the same dtype; ``array`` itself where nothing moves (ND, a scalar).

    Raises
    ------
    FormatError
        The pair cannot be converted, the shape does not fit, or the array holds no numbers.
    """
    array = _numbers(array)
    if is_plain(host_format, device_format):
        return _permuted(array, permutation(host_format, device_format, array.ndim))
    plan = arrange(
        array.shape, host_format, device_format, name_of(array.dtype), groups=groups, c0=c0
    )
    if not plan.dims:
        return array
    shape = checked_shape(plan.shape, array.itemsize)
    bits = _bits(array)
    result = np.zeros(shape, bits.dtype)
    for lanes, host in _pairs(plan, _opened(plan, result), _canonical(plan, bits)):
        far = _farthest(host)
        _copy_in_strips(lanes, host, far, host.size // max(1, host.shape[far]), _BLOCK)
    return result.view(array.dtype)


def to_host(
    array: Array,
    device_format: str,
    host_format: str,
    shape: Sequence[int],
    *,
    groups: int = 1,
    c0: int | None = None,
) -> Array:
    """Return a device array in ``host_format``, without its padding.

    Parameters
    ----------
    array : ndarray
        Of the device shape, whose last dimension tells C0, or flat (then ``c0`` or the dtype does).
        A 1-D tensor in FRACTAL_NZ may also lie as a column or unchanged, as GE's graphs and
        MindSpore leave it.
    shape : sequence of int
        In ``host_format``. FRACTAL_NZ pairs the last two axes whatever they mean: give the format and
        shape that the tensor had before, and permute the result.
    groups, c0
        As of `workbench.core.device_shape.device_shape`.

    Returns
    -------
    ndarray
        C-contiguous, of the same dtype; ``array`` itself where nothing moves.

    Raises
    ------
    FormatError
        The array has another shape than the device shape of ``shape``, or as `to_device`.
    """
    array = _numbers(array)
    plan = _planned(array, device_format, host_format, shape, groups, c0)
    if plan is None:
        return _unpadded(array, device_format, host_format, checked_shape(shape))
    return _moved(plan, array, checked_shape(shape), None)


def host_chunks(
    array: Array,
    device_format: str,
    host_format: str,
    shape: Sequence[int],
    *,
    groups: int = 1,
    c0: int | None = None,
    limit: int = 1 << 26,
) -> Iterator[Array]:
    """Yield `to_host` in pieces along the first host axis, of about ``limit`` bytes each.

    The device array may be a view on a file; nothing but the pieces is allocated (two at a time, if the
    caller drops them). Grouped weights, FRACTAL_Z_C04 and plain permutations come in one piece.
    """
    array = _numbers(array)
    plan = _planned(array, device_format, host_format, shape, groups, c0)
    whole = checked_shape(shape, array.itemsize)
    if plan is None or plan.groups > 1 or plan.cut == "P" or not whole or not math.prod(whole):
        yield to_host(array, device_format, host_format, shape, groups=groups, c0=c0)
        return
    step = max(1, limit // (math.prod(whole[1:]) * array.itemsize))
    if plan.letters[0] == plan.cut:
        lanes = plan.sizes[f"{plan.cut}0"]
        step = max(1, step // lanes) * lanes
    for start in range(0, whole[0], step):
        window = slice(start, min(start + step, whole[0]))
        yield _moved(plan, array, (window.stop - start, *whole[1:]), window)


def _moved(plan: Arrangement, array: Array, shape: tuple[int, ...], window: slice | None) -> Array:
    """Copy a window of the first host axis (``None``: all) off the device."""
    bits = _bits(array)
    result = np.empty(checked_shape(shape, array.itemsize), bits.dtype)
    opened = _opened(plan, bits.reshape(plan.shape))
    if window is not None:
        opened = _windowed(plan, opened, window)
    for lanes, host in _pairs(plan, opened, _canonical(plan, result)):
        _copy_in_strips(host, lanes, host.ndim - 2, host.shape[-1] * 16, _STRIP)
    return result.view(array.dtype)


class _Opened(NamedTuple):
    """The device array with axes of the host: groups first, the cut axis as blocks and lanes."""

    view: Array
    names: tuple[str, ...]


def _opened(plan: Arrangement, device: Array) -> _Opened:
    names: list[str] = []
    sizes: list[int] = []
    for part in plan.dims.replace("*", " ").split():
        axis = part[0]
        if names and part == f"{axis}0" and names[-1] in (f"{axis}1", f"{axis}o"):
            names[-1] = axis if names[-1] == f"{axis}1" else part
            sizes[-1] *= plan.sizes[part]
        else:
            names.append(part)
            sizes.append(plan.sizes[part])
    view = device.reshape(sizes)
    if plan.dims.endswith("Co C0"):
        view = view[..., :: plan.sizes["C0"] + 1]
    if "G" not in names:
        names.insert(0, "G")
        view = view[None]
    cut = plan.cut
    order = ["G"]
    for axis in _axes(plan):
        order += [f"{cut}1", f"{cut}0"] if axis == cut else [axis]
    return _Opened(view.transpose([names.index(name) for name in order]), tuple(order))


def _windowed(plan: Arrangement, opened: _Opened, window: slice) -> _Opened:
    axis = plan.letters[0]
    if axis == plan.cut:
        lanes = plan.sizes[f"{axis}0"]
        axis += "1"
        window = slice(window.start // lanes, -(-window.stop // lanes))
    index = [slice(None)] * opened.view.ndim
    index[opened.names.index(axis)] = window
    return opened._replace(view=opened.view[tuple(index)])


def _axes(plan: Arrangement) -> str:
    """Axes of the host in the order in which both sides are paired."""
    lead = "".join(letter for letter in plan.letters if letter.islower())
    return lead + ("NPC" if plan.cut == "P" else plan.row.axes)


def _canonical(plan: Arrangement, host: Array) -> Array:
    """View a host array with groups and all axes in the order of `_axes`; missing axes have extent 1."""
    axes = _axes(plan).replace("P", "HW")
    view = host.transpose([plan.letters.index(axis) for axis in axes if axis in plan.letters])
    view = view[tuple(slice(None) if axis in plan.letters else None for axis in axes)]
    if plan.cut == "P":
        rows, height, width, depth = view.shape
        view = view.reshape(rows, height * width, depth)
    if plan.groups == 1:
        return view[None]
    return view.reshape(plan.groups, view.shape[0] // plan.groups, *view.shape[1:])


def _pairs(plan: Arrangement, opened: _Opened, host: Array) -> Iterator[tuple[Array, Array]]:
    """Yield equal views of device and host that together hold every element once."""
    at = opened.names.index(f"{plan.cut}1")
    for turn in range(plan.side_by_side):
        part = host[turn :: plan.side_by_side]
        index = [slice(extent) for extent in part.shape]
        index.insert(at, slice(None))
        if plan.side_by_side > 1:
            rows = part.shape[1]
            index[1] = slice(turn * rows, (turn + 1) * rows)
        width = part.shape[at]
        for run in _runs(turn * width, width, plan.sizes[f"{plan.cut}0"]):
            index[at], index[at + 1] = run.blocks, run.lanes
            shape = (*part.shape[:at], *run.shape, *part.shape[at + 1 :])
            source = part[(*(slice(None),) * at, run.host)]
            yield opened.view[tuple(index)], source.reshape(shape)


class _Run(NamedTuple):
    """Neighbours on the cut axis that lie in the same lanes of their blocks."""

    host: slice
    blocks: slice
    lanes: slice

    @property
    def shape(self) -> tuple[int, int]:
        return self.blocks.stop - self.blocks.start, self.lanes.stop - self.lanes.start


def _runs(start: int, length: int, block: int) -> Iterator[_Run]:
    """Cut ``length`` places from ``start`` into full blocks and what is before and behind them."""
    place, stop = start, start + length
    while place < stop:
        first, lane = divmod(place, block)
        count = max(1, (stop - place) // block) if not lane else 1
        end = min(stop, (first + count) * block)
        lanes = slice(lane, lane + (end - place) // count)
        yield _Run(slice(place - start, end - start), slice(first, first + count), lanes)
        place = end


def _farthest(array: Array) -> int:
    """Axis whose neighbours lie farthest apart."""
    steps = [
        abs(stride) * (size > 1) for stride, size in zip(array.strides, array.shape, strict=True)
    ]
    return steps.index(max(steps))


def _copy_in_strips(target: Array, source: Array, axis: int, row: int, size: int) -> None:
    """Copy as many rows of an axis at a time as make up a size, so that neighbours stay in the cache."""
    step = max(1, size // max(1, row))
    index = [slice(None)] * target.ndim
    for start in range(0, target.shape[axis], step):
        index[axis] = slice(start, start + step)
        np.copyto(target[tuple(index)], source[tuple(index)])


def _planned(
    array: Array,
    device_format: str,
    host_format: str,
    shape: Sequence[int],
    groups: int,
    c0: int | None,
) -> Arrangement | None:
    """Return how the array lies; ``None`` if nothing is cut. Raises FormatError if it lies otherwise."""
    matrix = row_of(device_format).axes == "RC"
    if is_plain(device_format, host_format) or (
        matrix and array.ndim < 2 and array.shape == tuple(shape)
    ):
        return None
    if c0 is None and array.ndim > 1:
        c0 = array.shape[-1]

    def arranged(shape: Sequence[int]) -> Arrangement:
        return arrange(
            shape, host_format, device_format, name_of(array.dtype), groups=groups, c0=c0
        )

    plan = arranged(shape)
    if matrix and len(shape) == 1 and array.shape != plan.shape:
        column = arranged((*shape, 1))._replace(letters="R")
        plan = column if array.shape == column.shape else plan
    if array.shape not in (plan.shape, (math.prod(plan.shape),)):
        raise FormatError(
            "core/device-shape",
            shape=tuple(shape),
            host=host_format,
            device=plan.row.name,
            expected=plan.shape,
            got=array.shape,
        )
    return plan


def _unpadded(array: Array, source: str, target: str, shape: tuple[int, ...]) -> Array:
    result = array
    if is_plain(source, target):
        result = _permuted(array, permutation(source, target, array.ndim))
    if result.shape != shape:
        raise FormatError(
            "core/host-shape", source=source, target=target, expected=shape, got=result.shape
        )
    return result


def _permuted(array: Array, order: tuple[int, ...]) -> Array:
    if order == tuple(range(array.ndim)):
        return array
    return np.ascontiguousarray(_bits(array).transpose(order)).view(array.dtype)


def _numbers(array: Array) -> Array:
    found = np.asarray(array)
    if found.dtype.kind not in "biufcV" or found.dtype.hasobject or found.itemsize not in _BITS:
        raise FormatError("core/array-dtype", got=found.dtype)
    return found


def _bits(array: Array) -> Array:
    """View elements as whole numbers of their size, which copy at full speed."""
    return array.view(_BITS[array.itemsize])
