"""Tables of statistics that MindSpore does not write itself: which columns they have, and what they are called.

One row a dialect. Sources: the device writer ``dump_task.cpp``, adump ``adx_dump_record.cpp`` (figures
computed by a kernel, "KFC"), msprobe ``AclDumpDataProcessor.cpp``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from workbench.core.errors import FormatError
from workbench.dump.statistics.statistic import IDENTITY, TITLES

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

GE_IDENTITY = ("Input/Output", "Index", "Data Size", "Data Type", "Format", "Shape")
"""Titles that the graph engine's tables begin with; the operator is in the name of the file."""

L2_IDENTITY = (*IDENTITY[:5], "Input/Output", "Slot", "Data Size", "Data Type", "Format", "Shape")
"""Titles that msprobe's tables begin with."""

_FINITE = ("max", "min", "avg")
_ODD = ("nan count", "negative inf count", "positive inf count")
_GE_TITLES = {name: TITLES[name] for name in (*_FINITE, "count", *_ODD)} | {
    "nan count": "Nan Count"
}
_L2_TITLES = {name: TITLES[name] for name in (*_FINITE, "l2norm", *_ODD)} | {"md5": "MD5 Value"}


class Dialect(NamedTuple):
    """A kind of table.

    ``titles`` maps categories to column titles, in the dialect's own order. A table has ``every`` one of them,
    or those asked for. ``missing`` stands for a figure that could not be computed.
    """

    name: str
    titles: Mapping[str, str]
    every: bool
    missing: str


DIALECTS: dict[str, Dialect] = {
    row.name: row
    for row in (
        Dialect("ge", _GE_TITLES, True, ""),
        Dialect("ge-kfc", _GE_TITLES | {"l2norm": "l2norm"}, False, "NA"),
        Dialect("msprobe-l2", _L2_TITLES, False, ""),
    )
}
"""Every dialect that is not MindSpore's own by name."""


def columns(dialect: Dialect, categories: Iterable[str]) -> tuple[str, ...]:
    """Categories that a table has, in column order, when ``categories`` are asked for.

    A KFC table counts elements in its fourth column if it has exactly the default categories, else
    in its first, asked for or not.

    >>> columns(DIALECTS["ge-kfc"], ("l2norm", "max"))
    ('count', 'max', 'l2norm')
    """
    asked = tuple(categories)
    if dialect.every:
        return tuple(dialect.titles)
    unknown = [name for name in asked if name not in dialect.titles]
    if unknown:
        known = list(dialect.titles)
        raise FormatError("dump/statistics", table=dialect.name, got=unknown, known=known)
    own = tuple(name for name in dialect.titles if name in asked)
    if dialect.name != "ge-kfc":
        return own
    others = tuple(name for name in own if name != "count")
    default = (*_FINITE, *_ODD)
    return (*_FINITE, "count", *_ODD) if others == default else ("count", *others)
