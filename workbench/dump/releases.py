"""What MindSpore's releases write beside the tensors of operators: one row each.

Sources: MindSpore ``e2e_dump.cc``, ``cpu_e2e_dump.cc``, ``debugger.cc`` and ``tensor_stat_dump.cc`` from
r1.3 to r2.7 and after it, the vendor's tutorials of these releases, and real dumps of 2.0.0, 2.7.0 and
2.10.0. How names and IR are spelled say `workbench.dump.formats.mindspore_name` and
`workbench.graph_files.mindspore.spelling`.
"""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

from workbench.core.errors import FormatError

Device = Literal["CPU", "GPU", "Ascend"]
Feature = Literal["metadata", "global order", "parameters", "constants", "statistics"]
Release = tuple[int, int, int]


class Span(NamedTuple):
    """Releases from ``first`` on, and before ``end`` if there is one."""

    first: Release
    end: Release | None = None


_FROM_1_3, _FROM_1_6 = Span((1, 3, 0)), Span((1, 6, 0))
_UNTIL_2_3 = Span((1, 3, 0), (2, 3, 0))

FEATURES: dict[Feature, dict[Device, Span]] = {
    "metadata": {"CPU": _FROM_1_6, "GPU": _FROM_1_6, "Ascend": Span((1, 6, 0), (2, 3, 0))},
    "global order": {"CPU": _FROM_1_6, "GPU": _FROM_1_6, "Ascend": Span((1, 6, 0), (2, 3, 0))},
    "parameters": {"CPU": _FROM_1_3, "GPU": _FROM_1_3, "Ascend": _UNTIL_2_3},
    "constants": {"CPU": _UNTIL_2_3, "GPU": _FROM_1_3, "Ascend": _UNTIL_2_3},
    "statistics": {"GPU": _FROM_1_6, "Ascend": _FROM_1_6},
}
"""What is written → on which device, and in which releases.

``metadata`` is the folder ``.dump_metadata``, ``global order`` the list of iterations that ran. From 2.3 on
a CPU looks for the constants of a scope under a name that they no longer have."""

OLDEST: Release = (1, 3, 0)
"""First release with npy files."""

FULL_NAMES: Release = (2, 3, 0)
"""From here on names hold the whole scope; before, the last part alone."""

CONSTANTS_APART: Release = (1, 6, 0)
"""From here on constants have a folder of their own; before, they lie in that of every iteration."""

RENAMED: Release = (2, 1, 0)
"""From here on a file whose name is too long gets another one; before, it failed."""

BY_MSPROBE: Release = (2, 7, 0)
"""From here on msprobe writes the dump of O2."""

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
    """Return the numbers of a version; raises FormatError if its dumps cannot be written."""
    number = release(version)
    if number < OLDEST:
        raise FormatError("dump/version-old", got=version)
    return number


def by_msprobe(surface: str, version: str) -> bool:
    """Whether msprobe writes the dump of a surface, and not MindSpore or AscendCL."""
    return surface == "mindspore-o2" and release(version) >= BY_MSPROBE


def writes(feature: Feature, device: Device, version: str) -> bool:
    """Whether a release writes something on a device.

    >>> writes("constants", "CPU", "2.2.14"), writes("constants", "CPU", "2.3.0")
    (True, False)
    """
    span = FEATURES[feature].get(device)
    number = release(version)
    return span is not None and span.first <= number and (span.end is None or number < span.end)
