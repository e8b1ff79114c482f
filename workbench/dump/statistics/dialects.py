"""Tables of statistics: which columns each writer's have, what they are called, and what the writer knows.

One row a dialect that MindSpore does not write itself. Sources: the device writer ``dump_task.cpp``, adump
``adx_dump_record.cpp`` (figures computed by a kernel, "KFC"), msprobe ``AclDumpDataProcessor.cpp``; of MindSpore's
own ``tensor_stat_dump.cc`` and ``csv_writer.h``.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from workbench._values import NamedTuple
from workbench.core.dtypes import DATA_TYPES
from workbench.core.errors import FormatError
from workbench.core.plan import CATEGORIES
from workbench.dump.releases import release

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

IDENTITY = (
    "Op Type",
    "Op Name",
    "Task ID",
    "Stream ID",
    "Timestamp",
    "IO",
    "Slot",
    "Data Size",
    "Data Type",
    "Shape",
)
"""Titles of the columns that every statistic.csv of MindSpore begins with."""

FIXED_CATEGORIES = CATEGORIES[:10]
"""What MindSpore up to 2.3.0 writes, whatever was asked for."""

LAST_FIXED = (2, 3, 0)
"""Last release with these columns; its rows end without a comma."""

TITLES: dict[str, str] = {
    "max": "Max Value",
    "min": "Min Value",
    "avg": "Avg Value",
    "count": "Count",
    "negative zero count": "Negative Zero Count",
    "positive zero count": "Positive Zero Count",
    "nan count": "NaN Count",
    "negative inf count": "Negative Inf Count",
    "positive inf count": "Positive Inf Count",
    "zero count": "Zero Count",
    "l2norm": "L2Norm Value",
    "md5": "MD5",
    "sha1": "SHA1",
}
"""Category → column title of MindSpore. "Negative zero" counts elements below 0, "positive zero" above 0."""

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
_WIDE = ("float32", "float16", "int8", "uint8", "int16", "uint16", "int32", "int64", "uint32")
_NARROW = ("bfloat16", "float8_e5m2", "float8_e4m3fn")
_LAST_NAMED = 31


class Dialect(NamedTuple):
    """A kind of table.

    ``titles`` maps categories to column titles, in the dialect's own order. A table has ``every`` one of them,
    or those asked for. ``missing`` stands for a figure that could not be computed. ``named`` are the numbers of the
    number formats that the writer has names for, ``computed`` those that it computes; it has names for data formats
    up to the number ``formats``, some ``respelled``. ``unknown`` stands for what has no name.
    """

    name: str
    titles: Mapping[str, str]
    every: bool
    missing: str
    named: frozenset[int]
    computed: frozenset[str] = frozenset()
    formats: int = -1
    respelled: Mapping[str, str] = MappingProxyType({})
    unknown: str = ""


DIALECTS: dict[str, Dialect] = {
    row.name: row
    for row in (
        Dialect(
            "ge", _GE_TITLES, True, "", frozenset(range(26)),
            frozenset((*_WIDE, "uint64", "bool", "float64")), 40, unknown="-",
        ),
        Dialect(
            "ge-kfc", _GE_TITLES | {"l2norm": "l2norm"}, False, "NA", frozenset(range(41)) - {32},
            frozenset((*_WIDE, "bool", *_NARROW)), 49, {"DHWCN": "DHWCH"}, "UNKNOW",
        ),
        Dialect(
            "msprobe-l2", _L2_TITLES, False, "", frozenset(range(_LAST_NAMED + 1)), unknown="UNKNOWN"
        ),
    )
}  # fmt: skip
"""Every dialect that is not MindSpore's own by name."""

NAMED_TYPES = {
    row.name: row.word for row in DATA_TYPES.values() if row.code in DIALECTS["msprobe-l2"].named
}
"""Number formats that msprobe has names for; all others are ``UNKNOWN``."""


def categories_of(version: str, categories: Sequence[str]) -> tuple[str, ...]:
    """Categories that MindSpore ``version`` really writes."""
    return FIXED_CATEGORIES if release(version) <= LAST_FIXED else tuple(categories)


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
