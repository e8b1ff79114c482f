"""Tables of values as columns: declared once, kept as read-only arrays, read as rows.

A `Columns` says what a table holds: name, number format, title, unit and meaning of every column. A `Table` is one
NumPy structured array of that declaration; what is no number stands once in a table of texts of its own. `Figures`
are the figures of one row under titles that all rows share, as a mapping.

Whoever reads a whole column asks for all its `values` at once; reading row by row takes ten times as long.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from math import nan
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar, overload

import numpy as np

from workbench._values import NamedTuple, dataclass
from workbench.core.words import Message

if TYPE_CHECKING:
    from collections.abc import Callable, ItemsView, Iterable, Iterator, ValuesView

    from numpy.typing import NDArray

_Default = TypeVar("_Default")

TEXT = "text"
"""Format of columns whose values are no numbers: they are numbers of the table's texts."""

MAYBE = "f8?"
"""Format of columns of float64 that hold ``None`` where nobody knows a number; NaN is a number."""


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
        self.dtype = np.dtype([field for one in columns for field in _fields(one)])
        self.formats: Mapping[str, str] = MappingProxyType(
            {one.name: one.format for one in columns}
        )

    def table(self, values: Mapping[str, Sequence[object] | NDArray[Any]]) -> Table:
        """Return a table of the values of every column, all equally long."""
        return self.filled(len(values[self.columns[0].name]), values.__getitem__)

    def filled(self, size: int, values_of: Callable[[str], Any]) -> Table:
        """Return a table of ``size`` rows; ``values_of`` gives those of a column by its name, one column at a time."""
        rows, texts = np.empty(size, self.dtype), _Texts()
        for one in self.columns:
            found = values_of(one.name)
            if len(found) != size:
                raise ValueError(one.name, len(found), size)
            _fill(rows, one, found, texts)
        rows.setflags(write=False)
        return Table(self, rows, texts.all)


def _fields(column: Column) -> list[tuple[str, str]]:
    """What the array of a table holds of a column."""
    if column.format == TEXT:
        return [(column.name, "u4")]
    if column.format == MAYBE:
        return [(column.name, "f8"), (_known(column.name), "?")]
    return [(column.name, column.format)]


def _known(name: str) -> str:
    """Field that says in which rows a column of numbers holds one."""
    return f"{name}?"


def _fill(rows: NDArray[np.void], column: Column, values: Any, texts: _Texts) -> None:
    if column.format == TEXT:
        values = texts.numbers(values)
    elif column.format == MAYBE:
        rows[_known(column.name)] = [value is not None for value in values]
        values = [nan if value is None else value for value in values]
    rows[column.name] = values


class _Texts:
    """Numbers of what is no number, in the order of first appearance.

    Messages of one code hash alike whatever their values, so they are not looked up by their value: each is compared
    with the one before of its code.
    """

    def __init__(self, known: Iterable[Any] = ()) -> None:
        self._last: dict[str, Message] = {}
        self._all = list(known)
        self._numbers: dict[Any, int] = {}
        for number, one in enumerate(self._all):
            self._numbers.setdefault(self._key(one), number)

    @property
    def all(self) -> tuple[Any, ...]:
        """All of them by number."""
        return tuple(self._all)

    def number(self, value: Any) -> int:
        """Return the number of a text, a new one if it is new."""
        found = self._numbers.setdefault(self._key(value), len(self._all))
        if found == len(self._all):
            self._all.append(value)
        return found

    def numbers(self, values: Iterable[Any]) -> list[int]:
        """Return the numbers of many texts."""
        values = [*values]
        if any(issubclass(kind, Message) for kind in {*map(type, values)}):
            held = dict(zip(map(id, values), values, strict=True))
            found = {key: self.number(one) for key, one in held.items()}
            return [found[key] for key in map(id, values)]
        known, texts = self._numbers, self._all
        for value in values:
            if value not in known:
                known[value] = len(texts)
                texts.append(value)
        return [*map(known.__getitem__, values)]

    def _key(self, value: Any) -> Any:
        if not isinstance(value, Message):
            return value
        if (last := self._last.get(value.code)) is None or last != value:
            last = self._last[value.code] = value
        return id(last)  # no text is a number


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
        found: dict[str, Any] = dict(
            zip(self.rows.dtype.names or (), self.rows[number].item(), strict=True)
        )
        for name, kind in self.declared.formats.items():
            if kind == TEXT:
                found[name] = self.texts[found[name]]
            elif kind == MAYBE and not found.pop(_known(name)):
                found[name] = None
        return found

    def values(self, name: str, make: Callable[[Any], Any] | None = None) -> list[Any]:
        """Return a column as values of Python; ``make`` is applied to each, once to those that are the same text."""
        found, kind = self.rows[name].tolist(), self.declared.formats[name]
        if kind == TEXT:
            texts: Any = self.texts
            if make is not None:
                texts = {number: make(texts[number]) for number in {*found}}
            return [texts[number] for number in found]
        if kind == MAYBE:
            for number in np.flatnonzero(~self.rows[_known(name)]).tolist():
                found[number] = None
        return found if make is None else [make(value) for value in found]

    def where(self, name: str, fits: Callable[[Any], object]) -> NDArray[np.bool_]:
        """Return in which rows a column of texts holds one that fits."""
        numbers, found = self.rows[name], np.zeros(len(self.texts), np.bool_)
        for number in np.unique(numbers).tolist():
            found[number] = bool(fits(self.texts[number]))
        where: NDArray[np.bool_] = found[numbers]
        return where

    def known(self, name: str) -> NDArray[np.bool_]:
        """Return in which rows a column that may hold none holds a number."""
        where: NDArray[np.bool_] = self.rows[_known(name)]
        return where

    def take(self, numbers: Sequence[int]) -> Table:
        """Return a table of some rows, in the order of their numbers."""
        rows = self.rows[np.asarray(numbers, np.intp)]
        rows.setflags(write=False)
        return Table(self.declared, rows, self.texts)

    def with_values(self, name: str, values: Sequence[object]) -> Table:
        """Return a table with other values in one column."""
        rows, texts = self.rows.copy(), _Texts(self.texts)
        column = next(one for one in self.declared.columns if one.name == name)
        _fill(rows, column, values, texts)
        rows.setflags(write=False)
        return Table(self.declared, rows, texts.all)


class Titles:
    """Titles of figures in order, and which of these are whole numbers."""

    def __init__(self, whole: Mapping[str, bool]) -> None:
        self.places = {title: (at, one) for at, (title, one) in enumerate(whole.items())}
        self.whole = tuple(at for at, one in self.places.values() if one)

    def columns(self, figures: NDArray[np.float64]) -> list[list[float]]:
        """Return figures (rows, titles) as numbers of Python, title by title."""
        found: list[list[float]] = figures.T.tolist()
        for whole in self.whole:
            found[whole] = [*map(int, found[whole])]
        return found

    def is_whole(self, title: str) -> bool:
        """Whether figures under a title are whole numbers, or there are none."""
        return self.places.get(title, (0, True))[1]


class Figures(Mapping[str, float]):
    """Figures of one row by title: those of a flat sequence from a place on, in the order of the titles."""

    __slots__ = ("_first", "_titles", "_values")

    def __init__(self, titles: Titles, values: Sequence[float], first: int = 0) -> None:
        self._titles, self._values, self._first = titles, values, first

    def __getitem__(self, title: str) -> float:
        at, whole = self._titles.places[title]
        value = self._values[self._first + at]
        return int(value) if whole else value

    @overload
    def get(self, key: str, /) -> float | None: ...
    @overload
    def get(self, key: str, /, default: float) -> float: ...
    @overload
    def get(self, key: str, /, default: _Default) -> float | _Default: ...
    def get(self, key: str, /, default: object = None) -> object:
        """Return a figure by its title; faster than `Mapping`'s, which is asked for some of every pair."""
        found = self._titles.places.get(key)
        if found is None:
            return default
        at, whole = found
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
        own = self._values[self._first : self._first + len(self)]
        return Figures, (self._titles, array("d", own))

    @property
    def place(self) -> tuple[Titles, Sequence[float], int]:
        """Its titles, the figures of many rows among which its own are, and where they begin."""
        return self._titles, self._values, self._first

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

    def take(self, figures: Figures) -> Figures:
        """Return figures as those of a row of this table, which is added unless they are its own already."""
        _, values, first = figures.place
        if values is self._values:
            return figures
        return self.add(values[first : first + len(figures)])

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
