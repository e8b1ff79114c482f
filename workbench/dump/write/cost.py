"""How much a dump slows a run down: rough classes, one row each.

Copying tensors to the host, computing on them there and creating files all cost time that depends on
machine, network and disk. The classes only order dumps by what the run has to wait for; they promise
no factor.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from workbench.core.plan import DumpPlan
    from workbench.core.words import Message


class Class(NamedTuple):
    """A class of slow-down, and the most bytes and files of one iteration that it stands for."""

    name: str
    nbytes: float
    files: float
    meaning: str


CLASSES = (
    Class("none", 0, 0, "nothing is written"),
    Class("light", 64 << 20, 1_000, "it stays near its usual time"),
    Class("noticeable", 1 << 30, 10_000, "it takes clearly longer"),
    Class("heavy", 16 << 30, 100_000, "writing takes most of its time"),
    Class(
        "extreme",
        float("inf"),
        float("inf"),
        "it takes minutes or more, and other ranks may time out while they wait",
    ),
)
"""Every class, the mildest first; a dump belongs to the first that holds its bytes and its files."""


class SlowDown(NamedTuple):
    """The class of a dump, and why."""

    name: str
    reason: str | Message


def slow_down(plan: DumpPlan, moved: int, written: int, files: int) -> SlowDown:
    """Return the class of a dump.

    Parameters
    ----------
    moved, written : int
        Bytes of one iteration that are copied from the device, and that become files.
    files : int
        Files of one iteration.

    >>> from workbench.core.plan import DumpPlan
    >>> slow_down(DumpPlan("/dump"), 5 << 20, 5 << 20, 40).name
    'light'
    """
    on_device = plan.saved == "statistic" and plan.statistics_on == "device"
    work = written if on_device else max(moved, written)
    row = next(row for row in CLASSES if work <= row.nbytes and files <= row.files)
    count = f"{files:,} file{'' if files == 1 else 's'}"
    words = f"{readable(work)} copied and {count} written an iteration; {row.meaning}"
    if on_device:
        words += "; statistics are computed on the device, one more kernel each"
    elif plan.saved == "statistic":
        words += "; statistics on the host need every tensor copied, although few bytes are written"
    return SlowDown(row.name, words if files else row.meaning)


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
