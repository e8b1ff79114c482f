"""Which releases of MindSpore are written as, and what they write beside the tensors of operators.

Sources: MindSpore ``e2e_dump.cc``, ``cpu_e2e_dump.cc``, ``debugger.cc`` and ``tensor_stat_dump.cc`` from r2.3 to r2.7
and after it, and real dumps of 2.7.0 and 2.10.0. Dumps of releases from 1.3 on are read: how their names and IR are
spelled say `workbench.dump.formats.mindspore_name` and `workbench.graph_files.mindspore.releases`.
"""

from __future__ import annotations

import re
from typing import Literal

from workbench.core.errors import FormatError
from workbench.core.writers import WRITERS, Platform

Feature = Literal["metadata", "global order", "parameters", "constants"]
Release = tuple[int, int, int]

WRITTEN_ON: dict[Feature, tuple[Platform, ...]] = {
    "metadata": ("CPU", "GPU"),
    "global order": ("CPU", "GPU"),
    "parameters": ("CPU", "GPU"),
    "constants": ("GPU",),
}
"""What is written → on which platforms.

``metadata`` is the folder ``.dump_metadata``, ``global order`` the list of iterations that ran. A CPU looks for the
constants of a scope under a name that they do not have."""

OLDEST: Release = (2, 3, 0)
"""First release whose dumps are written: names hold the whole scope, and ids restart in each scope."""

NUMBERED_ANEW: tuple[Release, Release] = ((2, 7, 0), (2, 10, 0))
"""First and last release that were seen to number operators anew in names of files; their graphs keep other numbers.

Files of 2.0 have the numbers of their graphs."""

LAST_WITHOUT_HASHES: Release = (2, 7, 0)
"""Last release that was seen to lack the hash categories, and to write sanitised names into tables."""


def release(version: str) -> Release:
    """Numbers of a MindSpore version; what follows the third, as in ``2.7.0rc1``, is left out.

    >>> release("2.3.1"), release("2.7.rc1")
    ((2, 3, 1), (2, 7, 0))
    """
    match = re.match(r"(\d{1,9})\.(\d{1,9})(?:\.(\d{1,9}))?", version, re.ASCII)
    if not match:
        raise FormatError("dump/version", got=version)
    return int(match[1]), int(match[2]), int(match[3] or 0)


def check_version(version: str) -> Release:
    """Return the numbers of a version; raises FormatError if its dumps are not written."""
    number = release(version)
    if number < OLDEST:
        raise FormatError("dump/version-old", got=version)
    return number


def by_msprobe(surface: str, version: str) -> bool:
    """Whether msprobe writes the dump of a surface, and not MindSpore or AscendCL."""
    first = WRITERS[surface].msprobe_from
    return bool(first) and release(version) >= first
