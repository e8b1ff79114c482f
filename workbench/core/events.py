"""What a device reports of an operator while it runs: that it overflowed, or that it failed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from workbench._values import NamedTuple

Unit = Literal["cube", "vector"]


class Cause(NamedTuple):
    """One kind of overflow: its bits in the status of classic devices and in that of newer ones."""

    classic: int
    word: int


CAUSES: dict[str, Cause] = {
    "negation": Cause(0x8, 1 << 5),
    "integer": Cause(0x10, 1 << 5),
    "float": Cause(0x20, 1 << 5),
    "unsigned": Cause(0x80, 1 << 7),
    "conversion": Cause(0x100, 1 << 5),
    "cube output": Cause(0x100, 1 << 8),
    "accumulator": Cause(0x400, 1 << 10),
}
"""Cause by name.

Classic bits are those of an overflow record's AI Core, newer ones those of ``asc_get_status``. The
newer devices have no bits for integers and conversions of their own.
"""


@dataclass(frozen=True, slots=True)
class DeviceEvent:
    """What a device reports of one operator.

    ``overflow``: Inf or NaN came of finite inputs, or a finite value did not fit its format; ``causes``
    are keys of `CAUSES`, in the order in which they came about. ``failure``: it did not finish, so
    its outputs are memory that it has not written. ``unit`` is the part of the AI Core that reports.
    """

    op_name: str
    kind: Literal["overflow", "failure"]
    unit: Unit
    causes: tuple[str, ...] = ()

    @property
    def status(self) -> int:
        """Status of classic devices (910A, 310P): bits of all causes."""
        bits = 0
        for cause in self.causes:
            bits |= CAUSES[cause].classic
        return bits

    @property
    def word(self) -> int:
        """Status of newer devices (A2, A3): bits of all causes."""
        bits = 0
        for cause in self.causes:
            bits |= CAUSES[cause].word
        return bits
