"""A folder of dump files while its tree grows: names that are taken, lines of its tables."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from workbench.dump.formats.renamed import FILE_NAME, renamed

if TYPE_CHECKING:
    from random import Random

    from workbench.dump.formats.renamed import Writer
    from workbench.dump.write.sink import Sink

_RETRIES = 10


@dataclass(slots=True)
class TreeLeaf:
    """A folder, by its path below the dump's own.

    ``rows`` are those of its statistic.csv, ``mapping`` lines of its mapping.csv, ``names`` the files
    and operators that it has.
    """

    path: str
    rows: list[str] = field(default_factory=list)
    mapping: list[str] = field(default_factory=list)
    names: set[str] = field(default_factory=set)

    def fitting(self, writer: Writer, name: str, random: Random) -> str:
        """Return the name itself, or the one that a writer gives in place of one that is too long.

        adump's number depends on the folder: here that is the one below the dump's own, so that trees
        are the same wherever they are written.
        """
        way = renamed(writer, name, self.path, random)
        for _ in range(_RETRIES):
            if way is None or way[0] not in self.names:
                break
            way = renamed(writer, name, self.path, random)
        if way is None:
            return name
        self.names.add(way[0])
        self.mapping.append(way[1])
        return way[0]

    def finish(self, sink: Sink, header: str) -> None:
        """Hand the tables on; ``header`` is the first line of statistic.csv."""
        if self.rows:
            sink.table(f"{self.path}/statistic.csv", [header, *self.rows])
        if self.mapping:
            sink.text(f"{self.path}/{FILE_NAME}", "".join(self.mapping))
