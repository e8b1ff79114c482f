"""Elements of dumped tensors as NumPy can hold them, in the order that is asked for, piece by piece.

What cannot be rearranged in pieces and is larger than `LIMIT` lies in a file without a name meanwhile.
"""

from __future__ import annotations

import math
import mmap
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from workbench.core.device_shape import device_shape, is_plain, permutation
from workbench.core.errors import FormatError
from workbench.core.formats import FORMATS, row_of
from workbench.core.transdata import host_chunks, to_host
from workbench.dump.payload.boxes import PIECE, boxes
from workbench.dump.payload.route import Layout, Route

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import IO

    from numpy.typing import NDArray

    from workbench.core.dtypes import DType
    from workbench.dump.payload.elements import Elements

    Array = NDArray[Any]
    Scratch = Callable[[], IO[bytes]]

LIMIT = 64 << 20
"""Bytes that are rearranged in memory."""

_HOSTS = ("NCHW", "NHWC", "HWCN", "CHWN", "NCDHW", "NDHWC", "DHWCN", "DHWNC", "ND")
"""Formats that an original shape can be meant in, in the order of trial."""


_CHANNEL_FIRST = {4: "NCHW", 5: "NCDHW"}
"""What ND is read as."""


def disk_type(row: DType) -> np.dtype[Any]:
    """NumPy's own type that a number format is written as; formats it lacks become wider ones.

    Bytes of no known type are int8, as msaccucmp has them.

    >>> from workbench.core.dtypes import data_type_of
    >>> [str(disk_type(data_type_of(name))) for name in ("bfloat16", "uint1", "int4", "undefined")]
    ['float32', 'uint8', 'int8', 'int8']
    """
    if row.code == 0:
        return np.dtype(np.int8)
    if row.storage.isbuiltin == 1:
        return row.storage
    whole = {"int": np.int8, "uint": np.uint8}
    return np.dtype(whole.get(row.name.rstrip("0123456789"), np.float32))


def to_disk(pieces: Iterable[Array], kind: np.dtype[Any]) -> Iterator[Array]:
    """Elements as a type of NumPy's own."""
    for piece in pieces:
        if piece.dtype.isbuiltin == 1:
            yield piece.view(kind)  # of the same size: int8 for bytes without a type
        else:
            yield piece.astype(kind)


def find_route(source: Layout, original: tuple[int, ...] | None, target: str) -> Route:
    """Return the way to host format ``target``; raises FormatError with the reason if there is none.

    ``original`` is the host shape; nobody states its format. It is read as the target, or as the
    first host format whose device shape is the one at hand.
    """
    row = row_of(source.format)
    if row.name == "ND" != target:
        raise FormatError("dump/route-axes")
    if is_plain(source.format, target):
        order = permutation(source.format, target, len(source.shape))
        return Route(source, source, order)
    if not row.device:
        raise FormatError("dump/route-arrangement", format=row.name)
    if not original or min(original) < 0:
        raise FormatError("dump/route-original", format=row.name, got=original)
    hosts = (one for one in (target, *_HOSTS) if fits(source, original, one))
    host = next(hosts, None)
    if host is None:
        raise FormatError(
            "dump/route-shape", original=original, format=row.name, shape=source.shape
        )
    order = permutation(host, target, len(original))
    source = _opened(source, original, host)
    others = (one for one in hosts if _extents(one, original) != _extents(host, original))
    doubt = next(others, "") if "*" in row.device else ""
    return Route(source, Layout(host, original), order, doubt)


def _opened(source: Layout, original: tuple[int, ...], host: str) -> Layout:
    """Give a flat source the shape that it must have; one that stays flat on the device keeps its own."""
    if len(source.shape) > 1:
        return source._replace(c0=source.shape[-1])
    if source.shape == original:
        return source
    shape = device_shape(original, host, source.format, "", groups=source.groups, c0=source.c0)
    return source._replace(shape=shape)


def _extents(host: str, shape: tuple[int, ...]) -> dict[str, int]:
    axes = row_of(host).axes
    return dict(
        zip(_CHANNEL_FIRST.get(len(shape), "") if axes == "*" else axes, shape, strict=False)
    )


def fits(source: Layout, original: tuple[int, ...], host: str) -> bool:
    """Whether a tensor of an original shape in ``host`` lies as the source does on the device."""
    row = row_of(source.format)
    c0 = source.shape[-1] if source.c0 is None and len(source.shape) > 1 else source.c0
    groups = source.groups
    try:
        found = device_shape(original, host, row.name, "", groups=groups, c0=c0)
        column = row.axes == "RC" and len(original) == 1
        columns = device_shape((*original, 1), host, row.name, "", c0=c0) if column else found
    except FormatError:
        return False
    held = math.prod(source.shape)
    if len(source.shape) == 1:
        return math.prod(found) == held or source.shape == original
    return source.shape in (found, columns)


def rearranged(elements: Elements, route: Route, scratch: Scratch) -> Iterator[Array]:
    """Elements of a tensor at the end of its route, in pieces along its first axis."""
    source, origin, order, _ = route
    kind = elements.row.storage
    cuts = boxes(route, kind.itemsize)
    if cuts is None:
        yield from _at_once(elements, route, scratch)
        return
    for box, array in elements.boxes(source.shape, cuts):
        if not is_plain(source.format, origin.format):
            array = to_host(array, source.format, origin.format, box.shape, c0=source.c0)
        yield np.ascontiguousarray(array.transpose(order))


def _at_once(elements: Elements, route: Route, scratch: Scratch) -> Iterator[Array]:
    """Go a route whose result lies all over the device array, such as that of grouped weights."""
    source, origin, order, _ = route
    kind = elements.row.storage
    spool = Spool(elements.pieces(), kind, elements.count, scratch)
    if not is_plain(source.format, origin.format):
        pieces = spool.read(
            host_chunks(
                spool.array.reshape(source.shape), source.format, origin.format, origin.shape,
                groups=source.groups, c0=source.c0, limit=PIECE,
            )
        )  # fmt: skip
        if order == tuple(range(len(order))):
            yield from pieces
            return
        spool = Spool(pieces, kind, math.prod(origin.shape), scratch)
    view = spool.array.reshape(origin.shape).transpose(order)
    step = max(1, PIECE * len(view) // max(1, view.nbytes))
    windows = (view[start : start + step] for start in range(0, len(view), step))
    yield from spool.read(map(np.ascontiguousarray, windows))


class Spool:
    """All elements of a tensor side by side, in memory or in a file without a name."""

    def __init__(
        self, pieces: Iterable[Array], kind: np.dtype[Any], count: int, scratch: Scratch
    ) -> None:
        self._map: mmap.mmap | None = None
        if count * kind.itemsize <= LIMIT:
            self.array: Array = np.empty(count, kind)
            at = 0
            for piece in pieces:
                self.array[at : at + piece.size] = piece.reshape(-1)
                at += piece.size
            return
        with scratch() as file:
            for piece in pieces:
                file.write(cast("Any", piece.reshape(-1).view(np.uint8).data))
            file.flush()
            self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        self.array = np.frombuffer(self._map, kind, count)

    def read(self, pieces: Iterable[Array]) -> Iterator[Array]:
        """Pass pieces on and give back the memory of what they were made of."""
        for piece in pieces:
            yield piece
            if self._map is not None and hasattr(mmap, "MADV_DONTNEED"):
                self._map.madvise(mmap.MADV_DONTNEED)


def known_hosts() -> tuple[str, ...]:
    """Formats that tensors can be converted to."""
    return tuple(name for name, row in FORMATS.items() if row.is_host and row.code >= 0)
