"""How a tensor lies in a dump, and its way to the format that was asked for."""

from __future__ import annotations

from typing import NamedTuple


class Layout(NamedTuple):
    """How elements lie: the format, the shape there, and groups of channels."""

    format: str
    shape: tuple[int, ...]
    groups: int = 1
    c0: int | None = None


class Route(NamedTuple):
    """Way of a tensor to a host format: off the device to ``origin`` (if it has blocks), then permuted.

    ``doubt`` names another host format that the original shape could be meant in.
    """

    source: Layout
    origin: Layout
    order: tuple[int, ...]
    doubt: str = ""

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.origin.shape[axis] for axis in self.order)
