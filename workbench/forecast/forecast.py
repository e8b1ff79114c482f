"""What was foretold of a dump: operators, files, bytes, folders, and how sure that is."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property
from itertools import groupby
from typing import TYPE_CHECKING, Any

from workbench._values import NamedTuple
from workbench.dump.write.forecast import Forecast
from workbench.forecast.render import to_dict, to_html, to_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from workbench.core.words import Message
    from workbench.dump.write.cost import Overhead
    from workbench.dump.write.forecast import FileEntry
    from workbench.simulation.operator_list import Selection


@dataclass(frozen=True)
class Folder:
    """A folder of the dump: files and known bytes directly in it; ``bytes`` may be a bound."""

    path: str
    files: int
    bytes: int


@dataclass(frozen=True)
class Disk:
    """Space of the disk that the dump goes to, in bytes."""

    path: str
    free: int
    needed: int

    @property
    def fits(self) -> bool:
        return self.needed <= self.free


class Bound(NamedTuple):
    """Most files and bytes that a dump comes to; ``nbytes`` is ``None`` if no bound is known."""

    files: int
    nbytes: int | None


@dataclass(frozen=True)
class Preview:
    """What a configuration will write of a graph; it shows itself on a terminal and in a notebook.

    Attributes
    ----------
    surface, version, kind : str
        Who asks, the version whose names are predicted, and the plan's kind of dump.
    graph : str
        The graph or graphs that were looked at.
    operators : int
        Operators of the graph.
    selection : Selection
        Operators that will be dumped, and entries of the list that match nothing.
    iterations : tuple of int
        Iterations that run and dump, 0-based.
    forecast : Forecast
        Every file; `files`, `bytes` and `folders` sum it up. Where the run alone knows which operators
        are dumped, those that are written whatever happens.
    bound : Bound, optional
        What such a dump comes to at most.
    overhead : Overhead
        A rough class.
    disk : Disk, optional
        Only where the dump will be written on this machine.
    inexact_because, notes : tuple of Message
        Why the forecast is not exact; what else the user should know.
    """

    surface: str
    version: str
    kind: str
    graph: str
    operators: int
    selection: Selection
    iterations: tuple[int, ...]
    overhead: Overhead
    inexact_because: tuple[str | Message, ...] = ()
    notes: tuple[Message, ...] = ()
    disk: Disk | None = None
    forecast: Forecast = field(default_factory=Forecast, repr=False)
    bound: Bound | None = None

    @property
    def exact(self) -> bool:
        """Whether names and bytes are those that the simulated device writes."""
        return not self.inexact_because

    @property
    def never_dumped(self) -> tuple[tuple[str, Message | str], ...]:
        """Operators that were chosen and write nothing, with the reason."""
        return tuple(self.forecast.without_dump.items())

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Path of every listed file, in the order of writing."""
        return tuple(entry.path for entry in self.forecast.files)

    @cached_property
    def per_iteration(self) -> tuple[int, int]:
        """Files and known bytes of the iteration that writes most."""
        return largest_iteration(self.forecast.files)

    @cached_property
    def files(self) -> int:
        """Files of all iterations."""
        return totals(self.forecast)[0]

    @cached_property
    def bytes(self) -> int:
        """Known bytes of all files."""
        return totals(self.forecast)[1]

    @cached_property
    def folders(self) -> tuple[Folder, ...]:
        """Every folder that holds files, by name."""
        ordered = sorted(self.forecast.files, key=_folder_key)
        return tuple(
            Folder(path, *_sums(list(entries)))
            for path, entries in groupby(ordered, lambda e: e.path.rpartition("/")[0])
        )

    def to_dict(self) -> dict[str, Any]:
        """Return JSON values, schema ``workbench.preview/1``."""
        return to_dict(self)

    def __str__(self) -> str:
        return to_text(self)

    def _repr_html_(self) -> str:
        return to_html(self)


def _folder_key(entry: FileEntry) -> tuple[tuple[bool, int, str], ...]:
    """Sort numbers by value."""
    parts = entry.path.split("/")[:-1]
    return tuple((part.isdecimal(), len(part) if part.isdecimal() else 0, part) for part in parts)


def _sums(entries: Sequence[FileEntry]) -> tuple[int, int]:
    return len(entries), sum(entry.size or 0 for entry in entries)


def totals(forecast: Forecast) -> tuple[int, int]:
    """Files and known bytes of all iterations, those that are not listed included."""
    files, size = _sums(forecast.files)
    numbers = [entry.iteration for entry in forecast.files if entry.iteration is not None]
    if forecast.unlisted_iterations and numbers:
        last = _sums([entry for entry in forecast.files if entry.iteration == max(numbers)])
        more = forecast.unlisted_iterations
        files, size = files + more * last[0], size + more * last[1]
    return files, size


def largest_iteration(files: Sequence[FileEntry]) -> tuple[int, int]:
    """Files and known bytes of the iteration that writes most."""
    sums: dict[int, tuple[int, int]] = {}
    for entry in files:
        if entry.iteration is not None:
            count, size = sums.get(entry.iteration, (0, 0))
            sums[entry.iteration] = count + 1, size + (entry.size or 0)
    return max(sums.values(), default=(0, 0), key=lambda pair: (pair[1], pair[0]))


def merge_forecasts(forecasts: Sequence[Forecast]) -> Forecast:
    """Return what several processes write into one folder; files that all of them write are there once."""
    files = {entry.path: entry for forecast in forecasts for entry in forecast.files}
    tensors = Counter[str]()
    for forecast in forecasts:
        tensors.update(forecast.tensors)
    return Forecast(
        files=tuple(files.values()),
        tensors=tensors,
        rows=sum(forecast.rows for forecast in forecasts),
        moved=max(forecast.moved for forecast in forecasts),
        without_dump={name: why for one in forecasts for name, why in one.without_dump.items()},
        unlisted_iterations=max(one.unlisted_iterations for one in forecasts),
        uncertain=tuple(dict.fromkeys(why for one in forecasts for why in one.uncertain)),
    )
