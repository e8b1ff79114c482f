"""Statistics of tensors: tables of every writer.

In: text of a table, or an array. Out: rows by column title, the text of a table, or figures.
`dialects` names the columns of each writer; `parse`, `print` and `compute` read them from there.
A writer's table is added as a row in `dialects`.
"""

from typing import TYPE_CHECKING

from workbench._doors import make_door

if TYPE_CHECKING:
    from workbench.dump.statistics.compute import statistics_of
    from workbench.dump.statistics.dialects import TITLES
    from workbench.dump.statistics.parse import read_ge_statistics, read_statistics

__all__ = [
    "TITLES",
    "read_ge_statistics",
    "read_statistics",
    "statistics_of",
]

PLACES = {
    "TITLES": "workbench.dump.statistics.dialects:TITLES",
    "read_ge_statistics": "workbench.dump.statistics.parse:read_ge_statistics",
    "read_statistics": "workbench.dump.statistics.parse:read_statistics",
    "statistics_of": "workbench.dump.statistics.compute:statistics_of",
}
"""What others import from here, by name; each is loaded when it is first used."""

__getattr__, __dir__ = make_door(__name__, PLACES)
