"""What a comparison found beside its result, put away: bytes while nobody looks, values for whoever does.

A walk of 8,000 pairs is half a million small values, 4 to 8 KB a pair, and few look at it after the result is there.
`PackedWalk` keeps it as packed bytes, a tenth of that, with the columns of figures and the arrays of dumps in memory as
they are. Whoever asks gets values that are made anew, shared by all who hold them, and gone when nobody does, as the
views of `workbench.comparison.rows` are. Records come back as rows of their index.

The bytes are made and read in memory by this module alone; no file of a dump ever comes here.
"""

from __future__ import annotations

import io
import pickle
import weakref
import zlib
from array import array
from bisect import bisect_left
from contextvars import ContextVar
from dataclasses import fields
from itertools import islice
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench._values import NamedTuple
from workbench.comparison.columns import Figures
from workbench.comparison.pair.pairing import Pairing
from workbench.core.long_work import collection_paused
from workbench.core.tensors import ArraySource, TensorRecord
from workbench.dump.index import Index, Records
from workbench.npu.orders.known import Orders

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from workbench.comparison.columns import Titles
    from workbench.comparison.differing import Followed
    from workbench.comparison.explain.origins import Origins
    from workbench.comparison.follow.state import Assessment
    from workbench.comparison.follow.trace import Trace
    from workbench.comparison.measure.measure import Measured

    Finish = Callable[..., Followed]


UNPACKABLE = pickle.PicklingError, TypeError, AttributeError
"""What packing raises where a value is none that can be: a source of a reader of the user's own."""


class PackedWalk:
    """What a walk found and what explains it, packed until somebody asks.

    ``finish`` makes it of what was packed; it can travel to another process where it is a function of a module.
    """

    def __init__(self, packed: Sequence[bytes], held: Sequence[Any], finish: Finish) -> None:
        self._packed, self._held, self._finish = packed, held, finish
        self._flow: weakref.ref[Trace] | None = None

    @property
    def flow(self) -> Trace:
        """What the walk found; the same value as long as somebody holds it."""
        flow = None if self._flow is None else self._flow()
        return self._made().flow if flow is None else flow

    @property
    def origins(self) -> Origins:
        """Where errors begin, and why."""
        return self._made().origins

    def _made(self) -> Followed:
        found = self._finish(*_unpacked(self._packed, self._held))
        self._flow = weakref.ref(found.flow)
        return found

    def __reduce__(self) -> tuple[Callable[..., PackedWalk], tuple[Any, ...]]:
        """Travel packed, figures too."""
        held = [_packed_figures(one) if isinstance(one, array) else one for one in self._held]
        return _arrived, (self._packed, held, self._finish)


def _packed_figures(figures: array[float]) -> bytes:
    return zlib.compress(figures.tobytes(), 1)


def _arrived(packed: Sequence[bytes], held: Sequence[Any], finish: Finish) -> PackedWalk:
    opened = [array("d", zlib.decompress(one)) if isinstance(one, bytes) else one for one in held]
    return PackedWalk(packed, opened, finish)


def pack_walk(
    pairing: Pairing,
    measured: Sequence[Measured],
    events: Iterable[Assessment],
    finish: Finish,
    values: tuple[Any, ...],
) -> PackedWalk:
    """Pack what gives a walk: ``finish(*values)``.

    What there is one of for every pair is packed by itself, a few at a time: runs of operators, pairs, what was
    ``measured``, and the ``events`` of the walk. All else says the number of it.
    """
    with collection_paused():
        packer = _Packer()
        packer.add_indexes(pairing)
        runs = (run for one in pairing.sides for some in one.runs.values() for run in some.values())
        for several in (runs, pairing.pairs, measured, events):
            packer.add(several)
        return PackedWalk((*packer.parts, packer.packed(values)), packer.held, finish)


# --- packing -----------------------------------------------------------------------------------

_TOGETHER = 1_000
"""Values that are packed at once: while they are, three times their size is needed."""

_MANY = 100
"""Entries of a mapping from which on it is packed as columns."""

_Column = tuple["Callable[..., list[Any]]", tuple[Any, ...]]
"""What makes a list of values, and of what."""


class _Pickler(pickle.Pickler):
    """Writes values of some types as functions say."""

    def __init__(self, out: io.BytesIO, known: Mapping[type, Callable[[Any], Any]]) -> None:
        super().__init__(out, pickle.HIGHEST_PROTOCOL)
        self.dispatch_table = known


class _Identities:
    """Where values stand, by their identity: a fifth of a dictionary's memory, and many are found at once."""

    def __init__(self, ids: NDArray[np.int64], first: int = 0) -> None:
        self._order = np.argsort(ids, kind="stable").astype(np.uint32)
        self._ids, self._first = ids[self._order], first
        self._each = self._ids.data

    def numbers(self, values: Sequence[Any]) -> NDArray[np.uint32] | None:
        """Return the numbers of values; ``None`` if one is not among them."""
        ids = _ids(values)
        at = np.searchsorted(self._ids, ids)
        if not len(ids) or at.max() == len(self._ids) or (self._ids[at] != ids).any():
            return None
        numbers: NDArray[np.uint32] = self._order[at] + np.uint32(self._first)
        return numbers

    def number(self, value: Any) -> int | None:
        """Return the number of a value; ``None`` if it is not among them."""
        own = id(value)
        at = bisect_left(self._each, own)
        if at == len(self._each) or self._each[at] != own:
            return None
        return self._first + int(self._order[at])


def _ids(values: Sequence[Any]) -> NDArray[np.int64]:
    return np.fromiter(map(id, values), np.int64, len(values))


class _Packer:
    """Packs values part by part; what an earlier part holds is said by its number in the later ones."""

    def __init__(self) -> None:
        self.parts: list[bytes] = []
        self.held: list[Any] = []
        self._count = 0
        self._numbers: dict[type, _Identities] = {}
        self._rows: list[_Identities] = []
        self._places: dict[int, int] = {}
        self._known: dict[type, Callable[[Any], Any]] = {
            MappingProxyType: self._packed_view,
            Figures: self._packed_figures,
            Pairing: self._packed_pairing,
            ArraySource: self._packed_as_held,
            Orders: self._packed_as_held,
        }

    def add_indexes(self, pairing: Pairing) -> None:
        """Pack the indexes of both sides, of which records are rows."""
        sides = [one.records for one in pairing.sides if isinstance(one.records, Records)]
        self.parts.append(self.packed(sides))
        self._rows = [_Identities(_ids(some)) for some in sides]
        self._known |= {
            TensorRecord: self._packed_record,
            Records: lambda one: _side(_records, [one is some for some in sides], one),
            Index: lambda one: _side(_index, [one is some.columns for some in sides], one),
        }

    def add(self, values: Iterable[Any]) -> None:
        """Pack values of one kind, which later ones are made of."""
        values, kind, ids = iter(values), None, list[Any]()
        while some := [*islice(values, _TOGETHER)]:
            kind = type(some[0])
            self.parts.append(self.packed(self._column(some)))
            ids.append(_ids(some))
        if kind is not None:
            known = self._numbers[kind] = _Identities(np.concatenate(ids), self._count)
            self._known[kind] = lambda one: _packed_number(known, one)
            self._count += sum(map(len, ids))

    def packed(self, value: Any) -> bytes:
        """Return a value as bytes."""
        out = io.BytesIO()
        _Pickler(out, self._known).dump(value)
        return zlib.compress(out.getbuffer(), 1)

    # --- many values at once

    def _column(self, values: Sequence[Any]) -> _Column:
        """Return values as what they consist of, where all are of one kind that is known to; else as they are."""
        kinds = {*map(type, values)}
        if len(kinds) == 1:
            (kind,) = kinds
            for take in (self._by_number, self._by_row, self._by_figures, self._by_part):
                if (found := take(kind, values)) is not None:
                    return found
        return _as_is, ([*values],)

    def _by_number(self, kind: type, values: Sequence[Any]) -> _Column | None:
        numbers = self._numbers[kind].numbers(values) if kind in self._numbers else None
        return None if numbers is None else (_of_numbers, (numbers,))

    def _by_row(self, kind: type, values: Sequence[Any]) -> _Column | None:
        for side, known in enumerate(self._rows if kind is TensorRecord else ()):
            if (rows := known.numbers(values)) is not None:
                return _of_rows, (side, rows)
        return None

    def _by_figures(self, kind: type, values: Sequence[Any]) -> _Column | None:
        if kind is not Figures:
            return None
        titles, held, firsts = zip(*[one.place for one in values], strict=True)
        if not isinstance(held[0], array) or len({*map(id, held)} | {*map(id, titles)}) != 2:
            return None
        return _of_figures, (titles[0], self._place(held[0]), np.array(firsts))

    def _by_part(self, kind: type, values: Sequence[Any]) -> _Column | None:
        """Named tuples by field, others by place, mappings by key and value; not where one is there several times."""
        if len({*map(id, values)}) != len(values):
            return None
        if kind is MappingProxyType:
            keys = self._column([key for one in values for key in one])
            items = self._column([item for one in values for item in one.values()])
            return _of_views, ([*map(len, values)], keys, items)
        made = getattr(kind, "_make", None) if kind is not tuple else tuple
        if made is None or kind in self._known or len({*map(len, values)} | {0}) != 2:
            return None
        return _of_parts, (kind, [self._column(one) for one in zip(*values, strict=True)])

    # --- one by one

    def _packed_view(self, view: Mapping[Any, Any]) -> Any:
        if len(view) < _MANY:
            return _view, (dict(view),)
        return _view_of, (self._column([*view]), self._column([*view.values()]))

    def _packed_pairing(self, one: Pairing) -> Any:
        rest = {field.name: getattr(one, field.name) for field in fields(one)}
        pairs = self._column(rest.pop("pairs"))
        return _pairing, (pairs, rest)

    def _packed_record(self, record: TensorRecord) -> Any:
        for side, rows in enumerate(self._rows):
            if (row := rows.number(record)) is not None:
                return _record, (side, row)
        return record.__reduce_ex__(pickle.HIGHEST_PROTOCOL)

    def _packed_figures(self, one: Figures) -> Any:
        titles, values, first = one.place
        if not isinstance(values, array):
            return one.__reduce__()
        return _figures, (titles, self._place(values), first)

    def _packed_as_held(self, one: ArraySource | Orders) -> Any:
        return _held, (self._place(one),)

    def _place(self, value: Any) -> int:
        """Return where a value stands among those that stay as they are."""
        if id(value) not in self._places:
            self._places[id(value)] = len(self.held)
            self.held.append(value)
        return self._places[id(value)]


def _packed_number(known: _Identities, one: Any) -> Any:
    number = known.number(one)
    return one.__reduce_ex__(pickle.HIGHEST_PROTOCOL) if number is None else (_numbered, (number,))


def _side(made: Callable[[int], Any], fits: list[bool], one: Any) -> Any:
    return (made, (fits.index(True),)) if any(fits) else one.__reduce__()


# --- and back ----------------------------------------------------------------------------------


class _Opened(NamedTuple):
    """What was read so far: records of both sides, numbered values, and what stayed as it was."""

    records: list[Records]
    numbered: list[Any]
    held: Sequence[Any]


_OPENED: ContextVar[_Opened] = ContextVar("_OPENED")


def _unpacked(parts: Sequence[bytes], held: Sequence[Any]) -> Any:
    indexes, *lists, values = parts
    opened = _Opened([], [], held)
    token = _OPENED.set(opened)
    try:
        with collection_paused():
            opened.records.extend(_read(indexes))
            for one in lists:
                opened.numbered.extend(_listed(_read(one)))
            return _read(values)
    finally:
        _OPENED.reset(token)


def _read(part: bytes) -> Any:
    return pickle.loads(zlib.decompress(part))


def _listed(column: _Column) -> list[Any]:
    """Return the values of a column."""
    make, given = column
    return make(*given)


def _as_is(values: list[Any]) -> list[Any]:
    return values


def _of_numbers(numbers: NDArray[np.uint32]) -> list[Any]:
    return [*map(_OPENED.get().numbered.__getitem__, numbers.tolist())]


def _of_rows(side: int, rows: NDArray[np.uint32]) -> list[Any]:
    return [*map(_OPENED.get().records[side].__getitem__, rows.tolist())]


def _of_figures(titles: Titles, number: int, firsts: NDArray[np.int64]) -> list[Any]:
    values = _held(number)
    return [Figures(titles, values, first) for first in firsts.tolist()]


def _of_parts(kind: Any, parts: list[_Column]) -> list[Any]:
    several = zip(*map(_listed, parts), strict=True)
    return [*several] if kind is tuple else [*map(kind._make, several)]


def _of_views(lengths: list[int], keys: _Column, items: _Column) -> list[Any]:
    entries = zip(_listed(keys), _listed(items), strict=True)
    return [MappingProxyType(dict(islice(entries, length))) for length in lengths]


def _view_of(keys: _Column, items: _Column) -> Mapping[Any, Any]:
    return MappingProxyType(dict(zip(_listed(keys), _listed(items), strict=True)))


def _view(held: dict[Any, Any]) -> Mapping[Any, Any]:
    return MappingProxyType(held)


def _pairing(pairs: _Column, rest: dict[str, Any]) -> Pairing:
    return Pairing(pairs=tuple(_listed(pairs)), **rest)


def _record(side: int, row: int) -> TensorRecord:
    return _OPENED.get().records[side][row]


def _records(side: int) -> Sequence[TensorRecord]:
    return _OPENED.get().records[side]


def _index(side: int) -> Index:
    return _OPENED.get().records[side].columns


def _numbered(number: int) -> Any:
    return _OPENED.get().numbered[number]


def _held(number: int) -> Any:
    return _OPENED.get().held[number]


def _figures(titles: Titles, number: int, first: int) -> Figures:
    return Figures(titles, _held(number), first)
