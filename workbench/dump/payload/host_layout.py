"""How the host has a tensor that lies as its device had it: the only place that knows host formats.

Files, graphs and the other side of a comparison state a shape, seldom its format. A format is believed if the shape
in it has just the device shape at hand; of several the one that is stated, else the first in order.
"""

from __future__ import annotations

from functools import lru_cache
from math import prod
from typing import TYPE_CHECKING

from workbench._values import NamedTuple
from workbench.core.device_shape import device_shape
from workbench.core.errors import FormatError
from workbench.core.formats import FORMATS, FormatWord, row_of
from workbench.dump.payload.extent import HostLayout, Shape, is_device_format

if TYPE_CHECKING:
    from collections.abc import Iterator

    from workbench.dump.payload.extent import Extent

HOSTS = ("NCHW", "NHWC", "HWCN", "CHWN", "NCDHW", "NDHWC", "DHWCN", "DHWNC", "ND")
"""Host formats that a shape can be meant in, in the order of trial."""

_NAMED_RANKS = (4, 5)
"""Ranks of the formats that name their axes; a shape of another rank is first tried as ND."""

_CHANNELS_FIRST = {4: "NCHW", 5: "NCDHW"}
"""What ND is read as, by rank."""


class Fit(NamedTuple):
    """A host layout that has the device shape at hand, and that device shape."""

    host: HostLayout
    shape: Shape


def with_host(extent: Extent, stated: HostLayout | None = None, wanted: str = "") -> Extent:
    """Return the extent in the host layout that the file or somebody else states; unchanged if none fits.

    Parameters
    ----------
    extent : Extent
        As its format has located it.
    stated : HostLayout, optional
        What the graph or the other side of a comparison says. Its shape counts where the file's does not fit, its
        format before the file's, its groups where the file has none.
    wanted : str
        Host format that is tried first if nobody states one that fits.
    """
    if not is_device_format(extent.format) or extent.strides is not None:
        return extent
    word, said = _with_groups(extent.format, stated), (stated,) if stated is not None else ()
    prefer = _known((*said, *extent.originals), wanted)
    for one in (*extent.originals, *said):
        fit = find(word, extent.shape, one.shape, extent.dtype.name, prefer)
        if fit is not None:
            return extent._replace(format=word, shape=fit.shape, host=fit.host)
    return extent


def doubt(extent: Extent, wanted: str = "") -> str:
    """Another host format that the shape of a tensor could be meant in, with other axes; empty if there is none.

    Only of formats that merge axes: any other would show its axes in the device shape.
    """
    host = extent.host
    if host is None or "*" not in FORMATS[extent.format.name].device:
        return ""
    prefer = _known(extent.originals, wanted)
    fits = _fits(extent.format, extent.shape, host.shape, extent.dtype.name, prefer)
    here = _axes(host)
    return next((one.host.format for one in fits if _axes(one.host) != here), "")


@lru_cache(maxsize=4096)
def find(
    device: FormatWord,
    shape: Shape,
    original: Shape | None,
    dtype: str,
    prefer: tuple[str, ...] = (),
) -> Fit | None:
    """Return the host layout in which a tensor of shape ``original`` lies with ``shape`` on the device.

    ``shape`` may be flat; formats of ``prefer`` are tried before those of `HOSTS`. ``None`` if none fits.
    """
    return next(_fits(device, shape, original, dtype, prefer), None)


def _with_groups(word: FormatWord, stated: HostLayout | None) -> FormatWord:
    groups = stated.groups if stated is not None else 0
    if groups > 1 and word.groups <= 1 and "G" in FORMATS[word.name].device:
        return word._replace(groups=groups)
    return word


def _known(stated: tuple[HostLayout, ...], wanted: str) -> tuple[str, ...]:
    """Formats that are stated, then the wanted one; each once."""
    names = (*(one.format for one in stated), wanted)
    return tuple(dict.fromkeys(name for name in names if name in FORMATS and FORMATS[name].is_host))


def _fits(
    device: FormatWord, shape: Shape, original: Shape | None, dtype: str, prefer: tuple[str, ...]
) -> Iterator[Fit]:
    """Every host format in which a shape lies as it does on the device, in the order of trial."""
    if original is None:
        return
    if FORMATS[device.name].axes == "RC":
        names: tuple[str, ...] = ("ND",)  # of any format the last two axes
    else:
        names = HOSTS if len(original) in _NAMED_RANKS else ("ND", *HOSTS)
    for name in dict.fromkeys((*prefer, *names)):
        found = _laid(device, shape, original, dtype, name)
        if found is not None:
            yield Fit(HostLayout(original, name), found)


def _laid(device: FormatWord, shape: Shape, original: Shape, dtype: str, host: str) -> Shape | None:
    """Device shape of a tensor in a host format, if it is the one at hand; ``None`` for any other."""
    is_matrix = FORMATS[device.name].axes == "RC"
    if is_matrix and len(shape) < 2 and shape == original:
        return shape  # a vector that stays as it was
    c0 = shape[-1] if len(shape) > 1 else device.c0
    wanted = [original, (*original, 1)] if is_matrix and len(original) == 1 else [original]
    for one in wanted:  # a vector lies as a row or as a column
        try:
            groups = max(1, device.groups)
            found = device_shape(one, host, device.name, dtype, groups=groups, c0=c0)
        except FormatError:
            continue
        if shape == found or (len(shape) == 1 and shape[0] == prod(found)):
            return found
    return None


def _axes(host: HostLayout) -> dict[str, int]:
    """Extent of every axis by its letter; of a format that names none those of the default one."""
    shape = host.shape or ()
    axes = row_of(host.format).axes
    letters = _CHANNELS_FIRST.get(len(shape), "") if axes == "*" else axes
    return dict(zip(letters, shape, strict=False))
