"""Where the axes of a host tensor lie on the device: shapes and the extents of every part of them."""

from __future__ import annotations

import math
import sys
from functools import lru_cache
from typing import TYPE_CHECKING

from workbench._values import NamedTuple
from workbench.core.errors import FormatError
from workbench.core.formats import (
    FORMATS,
    Format,
    c0_of,
    checked_c0,
    checked_groups,
    read_format,
    row_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

N0 = 16
"""Rows of a block, whatever the dtype."""

MAX_RANK = 24

_ND, _DEFAULT = "ND", "DefaultFormat"

_FEWER: dict[str, tuple[str, ...]] = {
    "NCHW": ("", "C", "CH", "CHW"),
    "NHWC": ("", "C", "HW", "HWC"),
    "HWCN": ("", "C", "CN", "WCN"),
    "CHWN": ("", "C", "WN", "HWN"),
    "NDHWC": ("", "C", "WC", "HWC", "DHWC"),
    "NCDHW": ("", "C", "HW", "DHW", "CDHW"),
    "DHWCN": ("", "C", "CN", "WCN", "HWCN"),
    "DHWNC": ("", "C", "NC", "WNC", "HWNC"),
}
"""Axes that a tensor of rank 0, 1, … has in a format of more (metadef ``DEFAULT_RESHAPE_TYPE``)."""

_CHANNEL_FIRST = {4: "NCHW", 5: "NCDHW"}


class Arrangement(NamedTuple):
    """How one tensor lies on the device.

    ``letters`` names the axes of the host shape, small letters those before a matrix; ``dims`` is the
    row's ``device`` with them. ``sizes`` holds the extent of every part of ``dims``, ``shape`` the
    device shape. ``groups`` groups are laid ``side_by_side`` in one run of blocks.
    """

    row: Format
    letters: str
    dims: str
    sizes: dict[str, int]
    shape: tuple[int, ...]
    groups: int = 1
    side_by_side: int = 1

    @property
    def cut(self) -> str:
        """Letter of the axis that is cut in lanes: C, or P in FRACTAL_Z_C04."""
        return self.dims.rpartition(" ")[2][0]


def device_shape(
    shape: Sequence[int],
    host_format: str,
    device_format: str,
    dtype: str,
    *,
    groups: int = 1,
    c0: int | None = None,
) -> tuple[int, ...]:
    """Return the shape in ``device_format`` of a tensor that has ``shape`` in ``host_format``.

    Parameters
    ----------
    shape : sequence of int
        A tensor of lower rank than its format gets ones in GE's default places (1-D: C).
    host_format : str
        ND of rank 4 and 5 is read as NCHW and NCDHW, of rank 2 in FRACTAL_Z as C, N; DefaultFormat is
        MindSpore's, channels first. FRACTAL_NZ takes the last two axes of any.
    device_format : str
        Also another host format. ``FRACTAL_Z:32`` states its groups.
    dtype : str
        Decides on C0 where ``c0`` and the format do not.
    groups : int
        Of the convolution; only FRACTAL_Z and FRACTAL_Z_3D depend on it.

    Raises
    ------
    FormatError
        The shape does not fit the format, or the pair cannot be converted.

    >>> device_shape((2, 20, 4, 5), "NCHW", "NC1HWC0", "float16")
    (2, 2, 4, 5, 16)
    """
    shape = checked_shape(shape)
    if is_plain(host_format, device_format):
        order = permutation(host_format, device_format, len(shape))
        return tuple(shape[axis] for axis in order)
    return arrange(shape, host_format, device_format, dtype, groups=groups, c0=c0).shape


def is_plain(source: str, target: str) -> bool:
    """Whether no axis is cut between two formats: both are host formats, or they are the same."""
    one, other = row_of(source), row_of(target)
    return one.name == other.name or (one.is_host and other.is_host)


def permutation(source: str, target: str, rank: int) -> tuple[int, ...]:
    """Return the order of ``source``'s axes in ``target``, of two formats that are plain to each other.

    ND has no names for its axes: from and to it nothing moves.
    """
    one, other = row_of(source), row_of(target)
    if one.name == other.name or _ND in (one.name, other.name):
        return tuple(range(rank))
    whole = [sorted(_host_axes(row, rank)) for row in (one, other)]
    before, after = _host_letters(one, rank), _host_letters(other, rank)
    if whole[0] != whole[1] or sorted(before) != sorted(after):
        raise FormatError(
            "core/axes-differ",
            source=source,
            target=target,
            rank=rank,
            source_axes=before,
            target_axes=after,
        )
    return tuple(before.index(letter) for letter in after)


def arrange(
    shape: Sequence[int],
    host_format: str,
    device_format: str,
    dtype: str,
    *,
    groups: int = 1,
    c0: int | None = None,
) -> Arrangement:
    """Return how a tensor lies on the device; parameters and errors as of `device_shape`."""
    return _arranged(checked_shape(shape), host_format, device_format, dtype, groups, c0)


@lru_cache(maxsize=1024)  # a network has few shapes; nobody changes what is returned
def _arranged(
    shape: tuple[int, ...],
    host_format: str,
    device_format: str,
    dtype: str,
    groups: int,
    c0: int | None,
) -> Arrangement:
    word = read_format(device_format)
    row = FORMATS[word.name]
    letters = _letters(shape, row_of(host_format), row)
    if not shape and row.axes == "RC":
        return Arrangement(row, "", "", {}, ())
    lanes = _lanes(row, dtype, c0)
    sizes = dict.fromkeys(row.axes, 1) | dict(zip(letters, shape, strict=True))
    groups = checked_groups(word.groups if groups == 1 else groups) if "G" in row.device else 1
    together = 1
    if "G" in row.device:
        cout = _rows_of_group(sizes["N"], groups)
        together = _side_by_side(sizes["C"], cout, groups, lanes)
        sizes |= {"G": -(-groups // together), "N": cout * together, "C": sizes["C"] * together}
    _cut(row, sizes, lanes)
    lead = [letter for letter in letters if letter.islower()]
    dims = " ".join((*lead, row.device))
    found = tuple(math.prod(sizes[part] for part in dim.split("*")) for dim in dims.split())
    return Arrangement(row, letters, dims, sizes, found, groups, together)


def _cut(row: Format, sizes: dict[str, int], lanes: int) -> None:
    """Add the blocks (``X1``) and the places in a block (``X0``) of every axis to the sizes."""
    if "P" in row.device:
        if sizes["C"] > 4:
            raise FormatError("core/channels", format=row.name, got=sizes["C"])
        sizes |= {"P": sizes["H"] * sizes["W"], "C": 4}
    blocks = {"P": lanes // 4, "C": lanes}
    for axis in tuple(sizes):
        block = blocks.get(axis, N0)
        sizes |= {f"{axis}1": -(-sizes[axis] // block), f"{axis}0": block}
    sizes["Co"] = lanes


def _rows_of_group(rows: int, groups: int) -> int:
    if rows % groups:
        raise FormatError("core/groups-divide", rows=rows, got=groups)
    return rows // groups


def _side_by_side(cin: int, cout: int, groups: int, lanes: int) -> int:
    """How many groups share a run of blocks, so that their channels fill it."""
    if not cin or not cout:
        return 1
    return min(math.lcm(math.lcm(cin, lanes) // cin, math.lcm(cout, N0) // cout), groups)


def _letters(shape: Sequence[int], host: Format, row: Format) -> str:
    """Name the axes of a host shape in the words of a device format."""
    rank = len(shape)
    if not row.device or not host.is_host:
        raise _no_pair(host, row)
    if row.axes == "RC":
        return "".join(map(chr, range(ord("a"), ord("a") + rank - 2))) + "RC"[-rank:] * (rank > 0)
    if host.name == _DEFAULT:
        full = _CHANNEL_FIRST[len(row.axes)]
        return full if rank == len(full) else _fewer(full[1:], rank, host)
    if host.name == _ND:
        if rank == 2 and row.name == "FRACTAL_Z":
            return "CN"
        if rank != len(row.axes):
            raise FormatError(
                "core/axes-unnamed", format=row.name, expected=len(row.axes), got=rank
            )
        return _CHANNEL_FIRST[rank]
    if host.name not in _FEWER or not set(host.axes) <= set(row.axes):
        raise _no_pair(host, row)
    return _host_letters(host, rank)


def _host_axes(host: Format, rank: int) -> str:
    return _CHANNEL_FIRST.get(rank, "NCHW") if host.name == _DEFAULT else host.axes


def _host_letters(host: Format, rank: int) -> str:
    axes = _host_axes(host, rank)
    if rank == len(axes):
        return axes
    fewer = _FEWER.get(axes, ())
    if rank >= len(fewer):
        raise FormatError("core/rank", format=host.name, most=len(axes), got=rank)
    return fewer[rank]


def _fewer(axes: str, rank: int, host: Format) -> str:
    if rank > len(axes):
        raise FormatError("core/rank", format=host.name, most=len(axes) + 1, got=rank)
    return axes[:rank]


def _lanes(row: Format, dtype: str, c0: int | None) -> int:
    if row.c0 and c0 not in (None, row.c0):
        raise FormatError("core/c0-of-format", format=row.name, expected=row.c0, got=c0)
    if row.c0 or c0 is not None:
        found = checked_c0(row.c0 or c0)
        if "P" not in row.device or found >= 4:
            return found
        raise FormatError("core/c0-too-small", format=row.name, got=c0)
    return 16 if "P" in row.device else c0_of(dtype)


def _no_pair(host: Format, row: Format) -> FormatError:
    return FormatError(
        "core/no-conversion",
        host=host.name,
        device=row.name,
        hosts=[*_FEWER, _ND, _DEFAULT],
        devices=[name for name, one in FORMATS.items() if one.device],
    )


def checked_shape(shape: Iterable[int], itemsize: int = 1) -> tuple[int, ...]:
    """Return a shape as whole numbers; raises FormatError if no array of the item size can have it."""
    found = tuple(int(dim) for dim in shape)
    if len(found) > MAX_RANK or min(found, default=0) < 0:
        raise FormatError("core/shape", got=found, most=MAX_RANK)
    if math.prod(dim or 1 for dim in found) * itemsize > sys.maxsize:
        raise FormatError("core/shape-memory", got=found, itemsize=itemsize)
    return found
