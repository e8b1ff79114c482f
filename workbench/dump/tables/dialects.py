"""Tables of statistics: who writes them, how a file is recognised, and what its columns are called.

One row a dialect. A file is recognised by its first line alone; two dialects can share one, and then
the rows read alike. Sources: MindSpore ``tensor_stat_dump.cc``, the device writer ``dump_task.cpp``,
adump ``adx_dump_record.cpp`` (figures computed by a kernel, "KFC"), msprobe
``AclDumpDataProcessor.cpp``.
"""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING, NamedTuple

from workbench.core.errors import FormatError
from workbench.dump.tables.statistic import FIXED_CATEGORIES, IDENTITY, TITLES

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

    ``titles`` maps categories to column titles, in the dialect's own order. ``choice`` says which of
    them a table has: those ``asked`` for in that order, those asked for in the dialect's ``own``
    order, or ``all``. ``missing`` stands for a figure that could not be computed.
    """

    name: str
    identity: tuple[str, ...]
    titles: Mapping[str, str]
    choice: str
    missing: str


DIALECTS: dict[str, Dialect] = {
    row.name: row
    for row in (
        Dialect(
            "mindspore-fixed",
            IDENTITY,
            {name: TITLES[name] for name in FIXED_CATEGORIES},
            "all",
            "null",
        ),
        Dialect("mindspore", IDENTITY, TITLES, "asked", "null"),
        Dialect("ge", GE_IDENTITY, _GE_TITLES, "all", ""),
        Dialect("ge-kfc", GE_IDENTITY, _GE_TITLES | {"l2norm": "l2norm"}, "own", "NA"),
        Dialect("msprobe-l2", L2_IDENTITY, _L2_TITLES, "own", ""),
    )
}
"""Every dialect by name; of two that fit a first line the earlier one is meant.

``mindspore-fixed`` is MindSpore 1.6 to 2.3.0; a newer one that was asked for just these columns has
the same first line."""


def columns(dialect: Dialect, categories: Iterable[str]) -> tuple[str, ...]:
    """Categories that a table has, in column order, when ``categories`` are asked for.

    A KFC table counts elements in its fourth column if it has exactly the default categories, else
    in its first, asked for or not.

    >>> columns(DIALECTS["ge-kfc"], ("l2norm", "max"))
    ('count', 'max', 'l2norm')
    """
    asked = tuple(categories)
    if dialect.choice == "all":
        return tuple(dialect.titles)
    unknown = [name for name in asked if name not in dialect.titles]
    if unknown:
        known = list(dialect.titles)
        raise FormatError("dump/statistics", table=dialect.name, got=unknown, known=known)
    if dialect.choice == "asked":
        return asked
    own = tuple(name for name in dialect.titles if name in asked)
    if dialect.name != "ge-kfc":
        return own
    others = tuple(name for name in own if name != "count")
    default = (*_FINITE, *_ODD)
    return (*_FINITE, "count", *_ODD) if others == default else ("count", *others)


def recognize(first_line: str) -> Dialect | None:
    """Return the dialect of a table by its first line; ``None`` if it is no table of statistics.

    >>> recognize("Input/Output,Index,Data Size,Data Type,Format,Shape,Count,Max Value").name
    'ge-kfc'
    """
    try:
        titles = tuple(next(csv.reader([first_line]), []))
    except csv.Error:
        return None
    return next((row for row in DIALECTS.values() if _fits(row, titles)), None)


def _fits(dialect: Dialect, titles: tuple[str, ...]) -> bool:
    size = len(dialect.identity)
    if titles[:size] != dialect.identity:
        return False
    rest = titles[size:]
    if dialect.choice == "all":
        return rest == tuple(dialect.titles.values())
    return set(rest) <= set(dialect.titles.values())
