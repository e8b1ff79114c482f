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
from contextvars import ContextVar
from itertools import islice
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from workbench._values import NamedTuple
from workbench.comparison.columns import Figures
from workbench.comparison.stages import collection_paused
from workbench.core.tensors import ArraySource, TensorRecord
from workbench.dump.index import Index, Records
from workbench.npu.orders.known import Orders

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from workbench.comparison.columns import Titles
    from workbench.comparison.differing import Followed
    from workbench.comparison.explain.origins import Origins
    from workbench.comparison.follow.state import Assessment
    from workbench.comparison.follow.trace import Trace
    from workbench.comparison.measure.measure import Measured
    from workbench.comparison.pair.pairing import Pairing

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
        packer.add_indexes(_Rows(pairing))
        runs = (run for one in pairing.sides for some in one.runs.values() for run in some.values())
        for several in (runs, pairing.pairs, measured, events):
            packer.add(several)
        return PackedWalk((*packer.parts, packer.packed(values)), packer.held, finish)


# --- packing -----------------------------------------------------------------------------------

_TOGETHER = 1_000
"""Values that are packed at once: while they are, three times their size is needed."""


class _Pickler(pickle.Pickler):
    """Writes values of some types as functions say."""

    def __init__(self, out: io.BytesIO, known: Mapping[type, Callable[[Any], Any]]) -> None:
        super().__init__(out, pickle.HIGHEST_PROTOCOL)
        self.dispatch_table = known


class _Packer:
    """Packs values part by part; what an earlier part holds is said by its number in the later ones."""

    def __init__(self) -> None:
        self.parts: list[bytes] = []
        self.held: list[Any] = []
        self._numbers: dict[int, int] = {}
        self._count = 0
        self._places: dict[int, int] = {}
        self._known: dict[type, Callable[[Any], Any]] = {
            MappingProxyType: _packed_view,
            Figures: self._packed_figures,
            ArraySource: self._packed_as_held,
            Orders: self._packed_as_held,
        }

    def add_indexes(self, rows: _Rows) -> None:
        """Pack the indexes of both sides, of which records are rows."""
        self.parts.append(self.packed(rows.sides))
        self._known |= rows.known

    def add(self, values: Iterable[Any]) -> None:
        """Pack values of one kind, which later ones are made of."""
        values, kind = iter(values), None
        while some := [*islice(values, _TOGETHER)]:
            kind = type(some[0])
            self.parts.append(self.packed(some))
            for one in some:
                self._numbers.setdefault(id(one), self._count)
                self._count += 1
        if kind is not None:
            self._known[kind] = self._packed_number

    def packed(self, value: Any) -> bytes:
        """Return a value as bytes."""
        out = io.BytesIO()
        _Pickler(out, self._known).dump(value)
        return zlib.compress(out.getbuffer(), 1)

    def _packed_number(self, one: Any) -> Any:
        number = self._numbers.get(id(one))
        return (
            one.__reduce_ex__(pickle.HIGHEST_PROTOCOL) if number is None else (_numbered, (number,))
        )

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


def _packed_view(view: Mapping[Any, Any]) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    return _view, (dict(view),)


def _view(held: dict[Any, Any]) -> Mapping[Any, Any]:
    return MappingProxyType(held)


class _Rows:
    """Packs records as rows of their index, and both indexes once."""

    def __init__(self, pairing: Pairing) -> None:
        self.sides = [one.records for one in pairing.sides if isinstance(one.records, Records)]
        self._rows = [{id(one): row for row, one in enumerate(some)} for some in self.sides]

    @property
    def known(self) -> Mapping[type, Callable[[Any], Any]]:
        """What packs records and indexes, by type."""
        return {
            TensorRecord: self._packed_record,
            Records: lambda one: self._side(_records, [one is some for some in self.sides], one),
            Index: lambda one: self._side(
                _index, [one is some.columns for some in self.sides], one
            ),
        }

    def _packed_record(self, record: TensorRecord) -> Any:
        for side, rows in enumerate(self._rows):
            if (row := rows.get(id(record))) is not None:
                return _record, (side, row)
        return record.__reduce_ex__(pickle.HIGHEST_PROTOCOL)

    @staticmethod
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
                opened.numbered.extend(_read(one))
            return _read(values)
    finally:
        _OPENED.reset(token)


def _read(part: bytes) -> Any:
    return pickle.loads(zlib.decompress(part))


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
