"""The rows of a result as columns, and a row of them as a value.

A result of many pairs is kept as one array: 370 bytes a pair and its texts, where a value each takes three times as
much. Whoever reads whole columns (`Rows.column`, `Rows.metric`) reads the array. Whoever reads row by row gets
values that are made for that pass, shared by all who read at the same time, and gone when nobody holds them.
"""

from __future__ import annotations

import weakref
import zlib
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, fields
from math import nan
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np

from workbench._values import NamedTuple, dataclass
from workbench.comparison.columns import (
    MAYBE,
    TEXT,
    Column,
    Columns,
    Figures,
    Table,
    Titles,
)
from workbench.core.text import one_line
from workbench.core.words import Message

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from workbench.core.tensors import TensorSpec
    from workbench.graph.graph import SourceFrame

Status = Literal["equal", "pass", "warn", "fail", "uncomparable"]


@dataclass(frozen=True, slots=True, weakref_slot=True, repr=False, eq=False)
class Row:
    """One matched pair of tensors, or one tensor alone (``match_rule`` empty).

    ``order`` is the position of the operator in data-flow order over the whole run; ``metrics`` are
    under the field's own titles; errors are relative and dimensionless: ``error`` the measured one
    (RelativeEuclideanDistance, against the golden scale; of statistics the one against the forecast if
    that is smaller), ``inherited_error`` what came in through
    the inputs, ``noise_floor`` what the number formats explain, ``own_error`` what the operator adds to this
    result by itself (``None``: nobody knows, or it is read here and made elsewhere). ``envelope`` and
    ``envelope_slice`` are how many times the error, and that of the worst slice along any axis, is what rounding of
    the network's inputs moves (`workbench.run.envelope`; ``None``: no envelope was given, or it does not know).
    ``between_runs`` is the largest relative difference between runs of the target that counts as noise (``None``: no
    other run was given, or none shows any here).
    ``dont_care`` elements were left out, as their values mean nothing (`workbench.ops.dont_care`).
    """

    op_name: str
    op_type: str
    graph_id: int
    iteration: int
    io: str
    slot: int
    golden_op_name: str
    match_rule: str
    match_score: float
    status: Status
    reason: str | Message
    metrics: Mapping[str, float]
    source: SourceFrame | None
    order: int = 0
    turn: int = 0
    rank: int = 0
    error: float | None = None
    inherited_error: float | None = None
    noise_floor: float | None = None
    target_spec: TensorSpec | None = None
    golden_spec: TensorSpec | None = None
    target_path: str = ""
    golden_path: str = ""
    own_error: float | None = None
    envelope: float | None = None
    envelope_slice: float | None = None
    between_runs: float | None = None
    dont_care: int = 0
    _home: tuple[Rows, int] | None = field(default=None, init=False)

    @property
    def graph_key(self) -> tuple[int, int]:
        """Rank and graph id: of which graph its operator is."""
        return self.rank, self.graph_id

    @property
    def reason_code(self) -> str:
        """Code of the reason; empty if there is none, or another tool's."""
        return self.reason.code if isinstance(self.reason, Message) else ""

    def __eq__(self, other: object) -> bool:
        """Whether another row says the same; NaN is the same as NaN."""
        if self is other or not isinstance(other, Row):
            return self is other
        if self.op_name != other.op_name or self.slot != other.slot:  # most rows differ in these
            return False
        if not all(_same(getattr(self, name), getattr(other, name)) for name in _SAID):
            return False
        metrics, others = self.metrics, other.metrics
        return metrics.keys() == others.keys() and all(
            _same(value, others[title]) for title, value in metrics.items()
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        name = self.op_name or self.golden_op_name
        error = "" if self.error is None else f", error {self.error:.3g}"
        return one_line(f"<Row {name} {self.io}.{self.slot}: {self.status}{error}>")


def _same(a: object, b: object) -> bool:
    return a == b or (a != a and b != b)  # NaN alone differs from itself


ROWS = Columns(
    Column("order", "i8", "Order", "", "place of the operator in data-flow order over the whole run"),
    Column("op_name", TEXT, "NPUDump", "", "operator or parameter of the target; empty: the golden's alone"),
    Column("op_type", TEXT, "OpType", "", "type of the operator"),
    Column("io", TEXT, "Io", "", "input or output of the operator"),
    Column("slot", "i8", "Slot", "", "place among the inputs or outputs of the operator"),
    Column("rank", "i8", "Rank", "", "rank that the tensor is of"),
    Column("graph_id", "i8", "GraphId", "", "graph that the operator is of"),
    Column("iteration", "i8", "Iteration", "", "iteration; below 0: of none"),
    Column("turn", "i8", "Turn", "", "how many times the operator ran before in this iteration"),
    Column("status", TEXT, "Status", "", "equal, pass, warn, fail, uncomparable; in files unmatched (no pair)"),
    Column("error", MAYBE, "Error", "1", "relative error of the target's tensor; none: nothing was measured"),
    Column("own_error", MAYBE, "OwnError", "1", "error that the operator adds by itself; none: nobody knows"),
    Column("inherited_error", MAYBE, "InheritedError", "1", "error that came in through the operator's inputs"),
    Column("noise_floor", MAYBE, "NoiseFloor", "1", "error that the number formats explain"),
    Column("envelope", MAYBE, "Envelope", "1", "error over what rounding of the inputs moves; none: no envelope"),
    Column("envelope_slice", MAYBE, "EnvelopeSlice", "1", "the same of the worst slice along any axis"),
    Column("between_runs", MAYBE, "BetweenRuns", "1", "difference between runs that counts as noise; none: unknown"),
    Column("dont_care", "i8", "DontCare", "1", "excluded elements, which are undefined; the figures are the others'"),
    Column("target_spec", TEXT, "Spec", "", "dtype, shape and format of the target's tensor; none: it has none"),
    Column("golden_spec", TEXT, "GroundTruthSpec", "", "the same of the golden's tensor"),
    Column("golden_op_name", TEXT, "GroundTruth", "", "operator or parameter of the golden"),
    Column("match_rule", TEXT, "MatchRule", "", "rule that matched the pair; empty: a tensor alone"),
    Column("match_score", "f8", "MatchScore", "1", "how sure the match is, 0 to 1"),
    Column("reason", TEXT, "Reason", "", "why the figures decide nothing, or what the status rests on"),
    Column("source", TEXT, "Source", "", "line of the network's source; none: nobody knows"),
    Column("target_path", TEXT, "NPUDumpFile", "", "file of the target's tensor"),
    Column("golden_path", TEXT, "GroundTruthFile", "", "file of the golden's tensor"),
    Column("titles", TEXT, "Metrics", "", "which metrics are known"),
    Column("first", "i8", "FirstFigure", "", "place of the first of them among the figures of all rows"),
)  # fmt: skip
"""A pair of tensors, or a tensor alone, a row each; metrics stand beside it as figures."""

_NAMES = tuple(one.name for one in fields(Row) if one.init)
_SAID = tuple(name for name in _NAMES if name != "metrics")


class MaybeNumbers(NamedTuple):
    """A number of every row as float64: NaN where nobody knows one, and in which rows somebody does."""

    values: NDArray[np.float64]
    known: NDArray[np.bool_]

    @staticmethod
    def of(cells: Sequence[object]) -> MaybeNumbers:
        """Return numbers that stand in a list, with ``None`` where nobody knows one."""
        known = np.fromiter((cell is not None for cell in cells), np.bool_, len(cells))
        return MaybeNumbers(np.array(cells, np.float64), known)  # None becomes NaN


class _Views(list[Row]):
    """Rows as values, which live as long as somebody reads them, and the columns they were made of."""

    __slots__ = ("__weakref__", "home")

    def __init__(self, rows: Iterable[Row], home: Rows) -> None:
        super().__init__(rows)
        self.home = home


_NO_PLACE = (0, False)


class Rows(Sequence[Row]):
    """Rows as columns (`ROWS`), with the figures of all their metrics in one array of float64.

    A sequence of `Row`. All that are read at the same time are the same objects.
    """

    __slots__ = ("__weakref__", "_figures", "_held", "_kinds", "_views", "table")

    def __init__(self, table: Table, figures: array[float]) -> None:
        self.table = table
        self._figures = figures
        self._held: weakref.WeakValueDictionary[int, Row] = weakref.WeakValueDictionary()
        self._views: Callable[[], _Views | None] = _nothing
        self._kinds: tuple[tuple[Titles, NDArray[np.intp]], ...] | None = None

    @staticmethod
    def of(rows: Iterable[Row]) -> Rows:
        """Return rows as columns."""
        if isinstance(rows, Rows | _Views):
            return rows if isinstance(rows, Rows) else rows.home
        rows = [*rows]
        return _made(rows, *(_shared(rows) or _gathered(rows)))

    # --- whole columns ---------------------------------------------------------------------------

    def column(self, name: str, make: Callable[[Any], Any] | None = None) -> list[Any]:
        """Return an attribute of every row; ``make`` is applied to each, once to those that are the same text."""
        return self.table.values(name, make)

    @property
    def titles(self) -> tuple[str, ...]:
        """Every metric that some row has, in the order of first appearance."""
        numbers = self.table.rows["titles"]
        _, first = np.unique(numbers, return_index=True)
        kinds = [self.table.texts[numbers[at]] for at in np.sort(first).tolist()]
        return tuple(dict.fromkeys(title for kind in kinds for title in kind.places))

    def numbers(self, name: str) -> MaybeNumbers:
        """Return a number of every row by its attribute."""
        values = np.asarray(self.table.rows[name], np.float64)
        if ROWS.formats[name] != MAYBE:
            return MaybeNumbers(values, np.ones(len(self), np.bool_))
        known = self.table.known(name)
        return MaybeNumbers(np.where(known, values, nan), known)

    def metric(self, title: str) -> list[float | None]:
        """Return a metric of every row; ``None`` where it was not measured."""
        values, known = self.metric_numbers(title)
        found: list[Any] = values.tolist()
        for kind, at in self.kinds():
            if kind.places.get(title, _NO_PLACE)[1]:
                for number in at.tolist():
                    found[number] = int(found[number])
        for number in np.flatnonzero(~known).tolist():
            found[number] = None
        return found

    def metric_numbers(self, title: str) -> MaybeNumbers:
        """Return a metric of every row, and in which rows it was measured."""
        values, known = np.full(len(self), nan), np.zeros(len(self), np.bool_)
        for kind, at in self.kinds():
            if (place := kind.places.get(title)) is not None:
                values[at] = self.figures[self.table.rows["first"][at] + place[0]]
                known[at] = True
        return MaybeNumbers(values, known)

    @property
    def figures(self) -> NDArray[np.float64]:
        """The figures of all rows, one behind the other; read-only."""
        found = np.asarray(self._figures, np.float64)
        found.setflags(write=False)
        return found

    @property
    def metrics(self) -> list[Mapping[str, float]]:
        """The metrics of every row."""
        places = zip(self.column("titles"), self.column("first"), strict=True)
        return [Figures(titles, self._figures, first) for titles, first in places]

    def figures_of(self, kind: Titles, at: NDArray[np.intp]) -> NDArray[np.float64]:
        """Return the figures (rows, titles) of rows that have these titles."""
        found: NDArray[np.float64] = self.figures[
            self.table.rows["first"][at][:, None] + np.arange(len(kind.places))
        ]
        return found

    def kinds(self) -> Sequence[tuple[Titles, NDArray[np.intp]]]:
        """Return titles that rows have together, with the numbers of these rows."""
        if self._kinds is None:
            numbers, texts = self.table.rows["titles"], self.table.texts
            self._kinds = tuple(
                (texts[number], np.flatnonzero(numbers == number))
                for number in np.unique(numbers).tolist()
            )
        return self._kinds

    # --- other rows ------------------------------------------------------------------------------

    def take(self, numbers: Sequence[int]) -> Rows:
        """Return some of the rows, in the order of their numbers."""
        return Rows(self.table.take(numbers), self._figures)

    def with_column(self, name: str, values: Sequence[object]) -> Rows:
        """Return the rows with another value of one attribute each."""
        return Rows(self.table.with_values(name, values), self._figures)

    # --- row by row ------------------------------------------------------------------------------

    def views(self) -> Sequence[Row]:
        """Return all rows as values: the same as long as somebody holds them."""
        found = self._views()
        if found is None:
            values = [self.metrics if name == "metrics" else self.column(name) for name in _NAMES]
            found = _Views(map(Row, *values), self)
            for number, row in self._held.items():
                found[number] = row
            for number, row in enumerate(found):
                object.__setattr__(row, "_home", (self, number))
            self._views = weakref.ref(found)
        return found

    def number_of(self, row: Row) -> int:
        """Return the number of one of these rows, or of the first that says the same; -1 if there is none."""
        if row._home is not None and row._home[0] is self:
            return row._home[1]
        return next((number for number, one in enumerate(self) if one == row), -1)

    def __len__(self) -> int:
        return len(self.table)

    def __iter__(self) -> Iterator[Row]:
        return iter(self.views())

    @overload
    def __getitem__(self, number: int) -> Row: ...
    @overload
    def __getitem__(self, number: slice) -> Sequence[Row]: ...
    def __getitem__(self, number: int | slice) -> Row | Sequence[Row]:
        if isinstance(number, slice):
            return tuple(self[one] for one in range(*number.indices(len(self))))
        if (found := self._views()) is not None:
            return found[number]
        number = range(len(self))[number]
        if (row := self._held.get(number)) is None:
            values = self.table[number]
            figures = Figures(values.pop("titles"), self._figures, values.pop("first"))
            row = self._held[number] = Row(metrics=figures, **values)
            object.__setattr__(row, "_home", (self, number))
        return row

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence):
            return NotImplemented
        return len(self) == len(other) and all(a == b for a, b in zip(self, other, strict=True))

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<{len(self)} rows>"

    # --- on the way to another process -----------------------------------------------------------

    def __reduce__(self) -> tuple[Callable[..., Rows], tuple[Any, ...]]:
        """Travel with what its own rows need, compressed: names of files and numbers of one kind repeat themselves."""
        from json import dumps

        own = _made([*self], *_gathered(self))
        texts = own.table.texts
        plain = [one if isinstance(one, str) else None for one in texts]
        rest = {number: one for number, one in enumerate(texts) if plain[number] is None}
        parts = (own.table.rows.tobytes(), own.figures.tobytes(), dumps(plain).encode())
        return _unpacked, (*(zlib.compress(part, 1) for part in parts), rest)


def _nothing() -> None:
    return None


def _unpacked(rows: bytes, figures: bytes, plain: bytes, rest: dict[int, Any]) -> Rows:
    from json import loads

    texts = loads(zlib.decompress(plain))
    for number, one in rest.items():
        texts[number] = one
    table = np.frombuffer(zlib.decompress(rows), ROWS.dtype)
    return Rows(Table(ROWS, table, tuple(texts)), array("d", zlib.decompress(figures)))


# --- from values to columns --------------------------------------------------------------------


_Figured = tuple["array[float]", list[Titles], "array[int]"]
"""Figures of all rows, and for each row the titles of its own and where they begin."""

_NONE = Titles({})


def _made(
    rows: Sequence[Row], figures: array[float], titles: list[Titles], firsts: array[int]
) -> Rows:
    placed: dict[str, Sequence[Any]] = {"titles": titles, "first": firsts}

    def values_of(name: str) -> Sequence[Any]:
        return placed[name] if name in placed else [*map(attrgetter(name), rows)]

    return Rows(ROWS.filled(len(rows), values_of), figures)


def _shared(rows: Iterable[Row]) -> _Figured | None:
    """The array that the figures of all rows stand in already; ``None`` if it is not one."""
    found: array[float] | None = None
    several, firsts = list[Titles](), array("q")
    for row in rows:
        if not len(row.metrics):
            several.append(_NONE)
            firsts.append(0)
            continue
        titles, values, first = row.metrics.place if isinstance(row.metrics, Figures) else _NOWHERE
        if not isinstance(values, array) or (found is not None and found is not values):
            return None
        found = values
        several.append(titles)
        firsts.append(first)
    return None if found is None else (found, several, firsts)


_NOWHERE: tuple[Titles, Sequence[float], int] = (_NONE, (), 0)


def _gathered(rows: Iterable[Row]) -> _Figured:
    """Figures of all rows in a new array, without those that no row has."""
    figures, several, firsts = array("d"), list[Titles](), array("q")
    known: dict[tuple[object, ...], Titles] = {}
    for row in rows:
        metrics = dict(row.metrics.items())
        key = (*metrics, *map(type, metrics.values()))
        if (titles := known.get(key)) is None:
            whole = {title: isinstance(value, int) for title, value in metrics.items()}
            titles = known[key] = Titles(whole)
        several.append(titles)
        firsts.append(len(figures))
        figures.extend(metrics.values())
    return figures, several, firsts
