"""What lies at a path, told from names alone: the layout of a dump, its ranks, iterations, models and graphs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from workbench.core.text import one_line
from workbench.dump.survey import survey

if TYPE_CHECKING:
    from collections.abc import Iterable

SHOWN = 8
"""Most numbers of a list that are told one by one."""


@dataclass(frozen=True, slots=True)
class TreeSummary:
    """A dump tree as its names tell it; no tensor has been read."""

    path: str
    layout: str
    files: int
    ranks: tuple[int, ...]
    iterations: tuple[int, ...]
    models: tuple[str, ...]
    graphs: int

    def __str__(self) -> str:
        parts = [f"{self.layout}: {self.files:,} files"]
        numbered = (("rank", self.ranks), ("iteration", self.iterations))
        parts += [f"{word} {_numbers(found)}" for word, found in numbered if found]
        if len(self.models) > 1:
            parts.append(f"{len(self.models)} models: {', '.join(self.models[:SHOWN])}")
        parts.append(f"{self.graphs} graph files of GE" if self.graphs else "")
        return one_line(", ".join(filter(None, parts)))


def summarize_tree(path: str | Path) -> TreeSummary:
    """Return what lies at ``path``; raises FormatError if it is no dump, or several."""
    found = survey(Path(path))
    return TreeSummary(
        path=found.base,
        layout=found.layout,
        files=sum(len(one.names) for one in found.folders),
        ranks=tuple(sorted({one.rank for one in found.folders})),
        iterations=tuple(sorted({one.iteration for one in found.folders})),
        models=tuple(sorted({one.net_name for one in found.folders if one.net_name})),
        graphs=len(found.graph_files),
    )


def _numbers(found: Iterable[int]) -> str:
    """Tell numbers: one by one if they are few, else how many and between which.

    >>> _numbers([0]), _numbers([0, 1, 5]), _numbers(range(40))
    ('0', '0, 1, 5', '0 to 39 (40)')
    """
    numbers = list(found)
    if len(numbers) <= SHOWN:
        return ", ".join(map(str, numbers))
    return f"{numbers[0]} to {numbers[-1]} ({len(numbers)})"
