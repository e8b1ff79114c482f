"""How much a dump slows a run down: rough classes, one row each.

Copying tensors to the host, computing on them there and creating files all cost time that depends on
machine, network and disk. The classes only order dumps by what the run has to wait for; they promise
no factor.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench._values import NamedTuple
from workbench.core.words import Message

if TYPE_CHECKING:
    from workbench.core.plan import DumpPlan
    from workbench.core.words import Message


class OverheadClass(NamedTuple):
    """A class of overhead, and the most bytes and files of one iteration that it stands for."""

    name: str
    nbytes: float
    files: float


CLASSES = (
    OverheadClass("none", 0, 0),
    OverheadClass("light", 64 << 20, 1_000),
    OverheadClass("noticeable", 1 << 30, 10_000),
    OverheadClass("heavy", 16 << 30, 100_000),
    OverheadClass("extreme", float("inf"), float("inf")),
)
"""Every class, the mildest first; a dump belongs to the first that holds its bytes and its files."""


class Overhead(NamedTuple):
    """The class of a dump, and why."""

    name: str
    reason: str | Message


def estimate_overhead(plan: DumpPlan, moved: int, written: int, files: int) -> Overhead:
    """Return the class of a dump.

    Parameters
    ----------
    moved, written : int
        Bytes of one iteration that are copied from the device, and that become files.
    files : int
        Files of one iteration.

    >>> from workbench.core.plan import DumpPlan
    >>> estimate_overhead(DumpPlan("/dump"), 5 << 20, 5 << 20, 40).name
    'light'
    """
    on_device = plan.saved == "statistic" and plan.statistics_on == "device"
    work = written if on_device else max(moved, written)
    row = next(row for row in CLASSES if work <= row.nbytes and files <= row.files)
    meaning = Message(f"dump/overhead-{row.name}")
    if not files:
        return Overhead(row.name, meaning)
    code = "dump/overhead"
    if plan.saved == "statistic":
        code = "dump/overhead-on-device" if on_device else "dump/overhead-on-host"
    return Overhead(row.name, Message(code, copied=work, files=files, meaning=meaning))


def readable(nbytes: int | None) -> str:
    """Write a number of bytes.

    >>> readable(900), readable(1536), readable(3 << 30)
    ('900 B', '1.5 KiB', '3.0 GiB')
    """
    if nbytes is None:
        return "?"
    size, units = float(nbytes), ["KiB", "MiB", "GiB", "TiB", "PiB"]
    if size < 1024:
        return f"{nbytes} B"
    while size >= 1024 and units:
        size, unit = size / 1024, units.pop(0)
    return f"{size:.1f} {unit}"
