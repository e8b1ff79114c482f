"""Which host format the shape of a tensor is meant in: nobody states it, but how it lies on the device tells."""

from __future__ import annotations

from functools import lru_cache
from math import prod
from typing import TYPE_CHECKING

from workbench.core.device_shape import device_shape
from workbench.core.errors import FormatError
from workbench.core.formats import FORMATS, FormatWord

if TYPE_CHECKING:
    from collections.abc import Iterator

Shape = tuple[int, ...]

HOSTS: dict[int, tuple[str, ...]] = {
    4: ("NCHW", "NHWC", "HWCN", "ND"),
    5: ("NCDHW", "NDHWC", "DHWCN", "ND"),
}
"""Rank of the host's shape → host formats that it may be in; ND and NCHW for all others."""

_OTHER_RANKS = ("ND", "NCHW")


@lru_cache(maxsize=4096)
def host_by_shape(
    device: FormatWord, shape: Shape, original: Shape, dtype: str, first: tuple[str, ...] = ()
) -> str:
    """Return the host format in which a tensor of ``original`` has a device shape; ``""`` if there is none.

    Formats of ``first`` are tried before those of `HOSTS`.
    """
    c0 = shape[-1] if len(shape) > 1 else None
    there = _fitting(device, original, dtype, c0, first)
    return next((name for name, wanted in there if wanted == shape), "")


@lru_cache(maxsize=4096)
def host_by_count(
    device: FormatWord, count: int, original: Shape, dtype: str
) -> tuple[str, Shape] | None:
    """Return the host format in which a tensor has so many elements on the device, and its shape there."""
    there = _fitting(device, original, dtype, None, ())
    return next(((name, wanted) for name, wanted in there if prod(wanted) == count), None)


def _fitting(
    device: FormatWord, original: Shape, dtype: str, c0: int | None, first: tuple[str, ...]
) -> Iterator[tuple[str, Shape]]:
    """Host formats that a shape can be in, each with the device shape."""
    names = HOSTS.get(len(original), _OTHER_RANKS)
    if FORMATS[device.name].axes == "RC":
        names = ("ND",)
    for name in (*first, *names):
        try:
            groups = max(1, device.groups)
            yield name, device_shape(original, name, device.name, dtype, groups=groups, c0=c0)
        except FormatError:
            continue
