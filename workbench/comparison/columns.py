"""Tables of values as columns: declared once, kept as read-only arrays, read as rows.

A `Columns` says what a table holds: name, number format, title, unit and meaning of every column. A `Table` is one
NumPy structured array of that declaration; what is no number stands once in a table of texts of its own. `Figures`
are the figures of one row under titles that all rows share, as a mapping.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import nan
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import ItemsView, Iterable, Iterator, ValuesView

    from numpy.typing import NDArray

TEXT = "text"
"""Format of columns whose values are no numbers: they are numbers of the table's texts."""


class Column(NamedTuple):
    """One column: its name, NumPy format (or `TEXT`), title, unit (``""``: none) and meaning."""

    name: str
    format: str
    title: str
    unit: str
    meaning: str


class Columns:
    """What a table holds, column by column."""

    def __init__(self, *columns: Column) -> None:
        self.columns = columns
        self.dtype = np.dtype(
            [(one.name, "u4" if one.format == TEXT else one.format) for one in columns]
        )

    def table(self, values: Mapping[str, Sequence[object] | NDArray[Any]]) -> Table:
        """Return a table of the values of every column, all equally long."""
        size = len(values[self.columns[0].name])
        rows, texts = np.empty(size, self.dtype), dict[object, int]()
        for one in self.columns:
            found = values[one.name]
            if len(found) != size:
                raise ValueError(one.name, len(found), size)
            if one.format == TEXT:
                found = [texts.setdefault(text, len(texts)) for text in found]
            rows[one.name] = found
        rows.setflags(write=False)
        return Table(self, rows, tuple(texts))


@dataclass(frozen=True, slots=True, eq=False)
class Table(Sequence[Mapping[str, Any]]):
    """Rows of declared columns: ``rows`` is a structured array, ``texts`` what its text columns number."""

    declared: Columns
    rows: NDArray[np.void]
    texts: tuple[Any, ...]

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, number: Any) -> Any:
        """Return a row as a mapping by column."""
        found = zip(self.declared.columns, self.rows[number].tolist(), strict=True)
        return {one.name: self.texts[v] if one.format == TEXT else v for one, v in found}

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return every column as an array of its own, texts in place of their numbers; read-only."""
        texts = np.empty(len(self.texts), object)
        texts[:] = self.texts
        found = {}
        for one in self.declared.columns:
            values = self.rows[one.name]
            found[one.name] = texts[values] if one.format == TEXT else np.ascontiguousarray(values)
            found[one.name].setflags(write=False)
        return found


class Titles:
    """Titles of figures in order, and which of these are whole numbers."""

    def __init__(self, whole: Mapping[str, bool]) -> None:
        self.places = {title: (at, one) for at, (title, one) in enumerate(whole.items())}
        self.whole = tuple(at for at, one in self.places.values() if one)


class Figures(Mapping[str, float]):
    """Figures of one row by title: those of a flat sequence from a place on, in the order of the titles."""

    __slots__ = ("_first", "_titles", "_values")

    def __init__(self, titles: Titles, values: Sequence[float], first: int = 0) -> None:
        self._titles, self._values, self._first = titles, values, first

    def __getitem__(self, title: str) -> float:
        at, whole = self._titles.places[title]
        value = self._values[self._first + at]
        return int(value) if whole else value

    def __iter__(self) -> Iterator[str]:
        return iter(self._titles.places)

    def __len__(self) -> int:
        return len(self._titles.places)

    def __contains__(self, title: object) -> bool:
        return title in self._titles.places

    def values(self) -> ValuesView[float]:
        """All figures; faster than one by one."""
        return self._as_dict().values()

    def items(self) -> ItemsView[str, float]:
        """All titles with their figures; faster than one by one."""
        return self._as_dict().items()

    def _as_dict(self) -> dict[str, float]:
        values = list(self._values[self._first : self._first + len(self)])
        for at in self._titles.whole:
            values[at] = int(values[at])
        return dict(zip(self._titles.places, values, strict=True))

    def __reduce__(self) -> tuple[type[Figures], tuple[Titles, Sequence[float]]]:
        """Travel with figures of its own alone."""
        return Figures, (self._titles, self._values[self._first : self._first + len(self)])

    def __repr__(self) -> str:
        return repr(self._as_dict())


NO_FIGURES = Figures(Titles({}), ())


class FigureTable:
    """Figures of many rows under the same titles while rows are added, eight bytes a figure."""

    def __init__(self, titles: Titles) -> None:
        self._titles = titles
        self._values = array("d")

    def add(self, values: Iterable[float]) -> Figures:
        """Add a row; the view stays valid while others are added."""
        first = len(self._values)
        self._values.extend(values)
        return Figures(self._titles, self._values, first)

    def fill(self, rows: int) -> None:
        """Make it so many rows: those that are missing hold NaN, those beyond are taken back."""
        missing = rows * len(self._titles.places) - len(self._values)
        if missing > 0:
            self._values.extend([nan] * missing)
        elif missing < 0:
            del self._values[missing:]

    def to_array(self) -> NDArray[np.float64]:
        """Return all rows as a read-only array (rows, titles) in the same memory; none can be added after."""
        found = np.frombuffer(self._values, np.float64).reshape(-1, len(self._titles.places))
        found.setflags(write=False)
        return found
