"""The tensors of a dump as columns: what a tree of a million files is kept as.

`COLUMNS` declares what is known of a tensor that is a number, or the number of something in a table beside it: names
stand once in the bytes of `Strings`, whatever many tensors share (place in the run, label, how the data lie) once as
a value, and what few have (statistics, an event of the device, data in memory) under its row in `Index.extras`. A
tensor takes about 70 bytes besides its names. `Index.records` shows the rows as `TensorRecord`.

An index is never written to: every stage of loading takes one and returns another.
"""

from __future__ import annotations

import weakref
from collections.abc import Mapping, Sequence
from dataclasses import field, fields, replace
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

import numpy as np

from workbench._values import NamedTuple, dataclass
from workbench.core.tensors import TensorKey, TensorRecord, TensorSpec
from workbench.dump.formats.npy import NpySource
from workbench.dump.payload.blocks import ExtentSource
from workbench.dump.payload.extent import Extent

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from numpy.typing import NDArray

    from workbench.core.events import DeviceEvent
    from workbench.core.tensors import Io, Source


class Column(NamedTuple):
    """One column: its name, NumPy format, title and meaning."""

    name: str
    format: str
    title: str
    meaning: str


COLUMNS = (
    Column("op_type", "u4", "OpType", "type of the operator: a number of `Index.op_types`"),
    Column("op_name", "u4", "OpName", "name that its file carries: a number of `Index.op_names`"),
    Column("io", "u1", "Io", "0: input, 1: output"),
    Column("slot", "u4", "Slot", "place among the inputs or outputs of the operator"),
    Column("place", "u4", "Place", "graph, iteration, rank and network: a number of `Index.places`"),
    Column("turn", "u4", "Turn", "how many times the name came before in its iteration"),
    Column("label", "u4", "Label", "what its name states of the data: a number of `Index.labels`"),
    Column("kind", "u4", "Kind", "how its data lie: a number of `Index.kinds`"),
    Column("start", "i8", "Start", "byte of its file where the data begin; 0 where the file tells"),
    Column("address", "u8", "Address", "where the device had it; 0: not stated"),
    Column("origin", "u4", "Origin", "operator it came from: 1 + a number of `Index.origins`; 0: none"),
    Column("origin_slot", "u4", "OriginSlot", "output of that operator"),
    Column("time", "i8", "Timestamp", "microseconds since the epoch, as its name says"),
    Column("task", "u4", "TaskId", "task of the device; 0: not stated"),
    Column("stream", "u4", "StreamId", "stream of the device; 0: not stated"),
    Column("file", "u4", "File", "its file: a number of `Index.files`"),
)  # fmt: skip
"""What is known of every tensor. A new fact of all tensors is a row here and a value in `index_of`."""

DTYPE = np.dtype([(one.name, one.format) for one in COLUMNS])
T = TypeVar("T")

IO: tuple[Io, Io] = ("input", "output")

ENCODING = "utf-8", "surrogatepass"
"""Names of a file system may be no text: each comes back as it was."""

_new = (
    tuple.__new__
)  # makes a key or an extent without a call in between: there is one for every tensor


class Place(NamedTuple):
    """Where a folder's tensors stand in the run."""

    graph_id: int
    iteration: int
    rank: int
    net_name: str


class Extras(NamedTuple):
    """What few tensors have: a source that is no place in a file, and what `TensorRecord` says of the others."""

    source: Source | None = None
    statistics: Mapping[str, float | str] | None = None
    event: DeviceEvent | None = None
    after: str = ""


COMMON = Extras()


# ---------------------------------------------------------------- texts


@dataclass(frozen=True, slots=True, eq=False)
class Strings(Sequence[str]):
    """Texts by number, as spans of bytes; several may share the bytes, and one may be part of another."""

    data: bytes = b""
    starts: NDArray[Any] = field(default_factory=lambda: np.zeros(0, np.uint8))
    ends: NDArray[Any] = field(default_factory=lambda: np.zeros(0, np.uint8))

    @staticmethod
    def of(texts: Iterable[str]) -> Strings:
        """Return texts one behind the other."""
        parts = [text.encode(*ENCODING) for text in texts]
        ends = np.fromiter(accumulate(map(len, parts)), np.int64, len(parts))
        return Strings.at(b"".join(parts), np.concatenate((ends[:1] * 0, ends[:-1])), ends)

    @staticmethod
    def at(data: bytes, starts: NDArray[Any], ends: NDArray[Any]) -> Strings:
        """Return texts that lie in ``data``; places are kept in as few bytes as they need."""
        kind = np.min_scalar_type(len(data))
        return Strings(data, _frozen(starts.astype(kind)), _frozen(ends.astype(kind)))

    def __len__(self) -> int:
        return len(self.starts)

    @overload
    def __getitem__(self, number: int) -> str: ...
    @overload
    def __getitem__(self, number: slice) -> Sequence[str]: ...
    def __getitem__(self, number: int | slice) -> str | Sequence[str]:
        if isinstance(number, slice):
            return self.all()[number]
        return self.data[self.starts[number] : self.ends[number]].decode(*ENCODING)

    def all(self) -> list[str]:
        """All texts; faster than one by one."""
        spans = zip(self.starts.tolist(), self.ends.tolist(), strict=True)
        if self.data.isascii():
            text = self.data.decode("ascii")
            return [text[start:end] for start, end in spans]
        return [self.data[start:end].decode(*ENCODING) for start, end in spans]

    def moved(self, data: bytes, by: int) -> Strings:
        """Return the same texts, which lie ``by`` bytes further on in ``data``."""
        return Strings.at(data, self.starts.astype(np.int64) + by, self.ends.astype(np.int64) + by)


def _frozen(array: NDArray[Any]) -> NDArray[Any]:
    array.setflags(write=False)
    return array


# ---------------------------------------------------------------- the index


@dataclass(frozen=True, slots=True, eq=False)
class Index:
    """Tensors as columns; the order of rows is the order in which files were read.

    Attributes
    ----------
    rows : structured array
        A row for each tensor, by `COLUMNS`; read-only.
    op_names, origins, files : Strings
        Names of operators as files carry them, names of operators of networks, names of files.
    folders : tuple of str
        Folders with a slash behind them; ``file_folders`` has the number of each file's.
    op_types, places, labels, kinds : tuple
        What the columns of these names number. The first of ``kinds`` is `None` (no data, or one of `extras`), any
        other a source whose place is still to be filled in.
    extras : mapping
        Row → what this tensor alone has.
    """

    rows: NDArray[np.void]
    op_names: Strings = Strings()
    files: Strings = Strings()
    file_folders: NDArray[Any] = field(default_factory=lambda: np.zeros(0, np.uint8))
    folders: tuple[str, ...] = ()
    op_types: tuple[str, ...] = ()
    places: tuple[Place, ...] = ()
    labels: tuple[TensorSpec, ...] = ()
    kinds: tuple[Source | None, ...] = (None,)
    origins: Strings = Strings()
    extras: Mapping[int, Extras] = field(default_factory=dict)
    _views: list[Any] = field(default_factory=list, init=False, repr=False)

    def __len__(self) -> int:
        return len(self.rows)

    def __eq__(self, other: object) -> bool:
        """Whether another index has the same tensors in the same order."""
        if not isinstance(other, Index):
            return NotImplemented
        return self is other or self.records == other.records

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<Index of {len(self)} tensors>"

    @property
    def records(self) -> Records:
        """The rows as values."""
        return Records(self)

    @property
    def is_held(self) -> NDArray[np.bool_]:
        """Which tensors have data, and not only statistics."""
        held: NDArray[np.bool_] = self.rows["kind"] != 0
        for row, one in self.extras.items():
            held[row] |= one.source is not None
        return held

    @property
    def places_used(self) -> tuple[Place, ...]:
        """Places that tensors stand at, in the order of their numbers."""
        return tuple(self.places[number] for number in np.unique(self.rows["place"]).tolist())

    def take(self, numbers: NDArray[Any] | Sequence[int]) -> Index:
        """Return some of the tensors, in the order of their numbers; a mask takes those that it marks."""
        numbers = np.asarray(numbers)
        numbers = np.flatnonzero(numbers) if numbers.dtype == np.bool_ else numbers.astype(np.intp)
        extras = self.extras
        if extras:
            extras = {
                row: extras[number]
                for row, number in enumerate(numbers.tolist())
                if number in extras
            }
        return replace(self, rows=_frozen(self.rows[numbers]), extras=extras)

    def with_columns(self, **columns: NDArray[Any] | Sequence[int]) -> Index:
        """Return the tensors with other values in some columns."""
        rows = self.rows.copy()
        for name, values in columns.items():
            rows[name] = values
        return replace(self, rows=_frozen(rows))

    def with_places(self, places: Iterable[Place]) -> Index:
        """Return the tensors with another place for each of ``places``, which may be the same for several."""
        known = Numbers[Place]()
        new = np.array([known.number(place) for place in places], np.uint32)
        moved = self.with_columns(place=new[self.rows["place"]])
        return replace(moved, places=tuple(known.all))

    def __reduce__(self) -> tuple[type[Index], tuple[Any, ...]]:
        return Index, tuple(getattr(self, one.name) for one in fields(self) if one.init)


# ---------------------------------------------------------------- rows as values


class _Views(list[TensorRecord]):
    """Rows as values, which live as long as somebody reads them."""

    __slots__ = ("__weakref__",)


class Records(Sequence[TensorRecord]):
    """The tensors of an index as values, made when they are read.

    All that are read at the same time are the same objects; whoever went over these keeps them.
    """

    __slots__ = ("_index", "_views")

    def __init__(self, index: Index) -> None:
        self._index = index
        self._views: _Views | None = None

    @property
    def columns(self) -> Index:
        """The index that they are rows of."""
        return self._index

    def _all(self) -> _Views:
        if self._views is None:
            self._views = self._index._views[0]() if self._index._views else None
        if self._views is None:
            self._views = _Views(_make_records(self._index))
            self._index._views[:] = [weakref.ref(self._views)]
        return self._views

    def __len__(self) -> int:
        return len(self._index)

    def __iter__(self) -> Iterator[TensorRecord]:
        return iter(self._all())

    @overload
    def __getitem__(self, number: int) -> TensorRecord: ...
    @overload
    def __getitem__(self, number: slice) -> Sequence[TensorRecord]: ...
    def __getitem__(self, number: int | slice) -> TensorRecord | Sequence[TensorRecord]:
        return self._all()[number]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence):
            return NotImplemented
        return len(self) == len(other) and all(a == b for a, b in zip(self, other, strict=True))

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<{len(self)} tensors>"

    def __reduce__(self) -> tuple[type[Records], tuple[Index]]:
        return Records, (self._index,)


def _make_records(index: Index) -> Iterator[TensorRecord]:
    """Make every row a value."""
    op_names, origins, names = index.op_names.all(), index.origins.all(), index.files.all()
    folders = [index.folders[number] for number in index.file_folders.tolist()]
    paths = [folder + name for folder, name in zip(folders, names, strict=True)]
    places = [(one.graph_id, one.iteration, one.rank, one.net_name) for one in index.places]
    for row, one in enumerate(index.rows.tolist()):
        (
            op_type,
            op_name,
            io,
            slot,
            place,
            turn,
            label,
            kind,
            *location,
            time,
            task,
            stream,
            file,
        ) = one
        key = _new(
            TensorKey,
            (index.op_types[op_type], op_names[op_name], IO[io], slot, *places[place], turn),
        )
        extras, path = index.extras.get(row, COMMON), paths[file]
        source = _placed(index.kinds[kind], path, location, origins) if kind else extras.source
        yield TensorRecord(
            key, index.labels[label], source, extras.statistics, time, task, stream, path,
            extras.event, extras.after,
        )  # fmt: skip


def _placed(
    kind: Source | None, path: str, location: Sequence[int], origins: Sequence[str]
) -> Source:
    """Source of the data of one tensor."""
    if isinstance(kind, NpySource):
        return NpySource(path, kind.device, kind.dtype, kind.stated)
    assert isinstance(kind, ExtentSource)
    start, address, origin, slot = location
    came = (origins[origin - 1], slot) if origin else None
    fields = path, start, *kind.extent[2:9], address, came, *kind.extent[11:]
    return ExtentSource(_new(Extent, fields))


# ---------------------------------------------------------------- values as rows


class Numbers(Generic[T]):
    """Numbers of values in the order of first appearance."""

    def __init__(
        self, known: Iterable[T] = (), key: Callable[[T], Any] = lambda value: value
    ) -> None:
        self.all: list[T] = []
        self._key, self._known = key, dict[Any, int]()
        for value in known:
            self.number(value)

    def number(self, value: T) -> int:
        """Return the number of a value, a new one if it is new."""
        found = self._known.setdefault(self._key(value), len(self.all))
        if found == len(self.all):
            self.all.append(value)
        return found


def kind_key(kind: Source | None) -> Any:
    """What two kinds of data that are the same have in common."""
    if isinstance(kind, NpySource):
        return NpySource, kind.device, kind.dtype, kind.stated
    return kind


class Location(NamedTuple):
    """Where data lie: how, from which byte on, at which address, and whose output they are."""

    kind: Source | None = None
    start: int = 0
    address: int = 0
    origin: tuple[str, int] | None = None


def location_of(source: Source | None, path: str) -> Location:
    """Take a source in a file apart; of any other there is no kind."""
    if isinstance(source, NpySource) and source.path == path:
        return Location(NpySource("", source.device, source.dtype, source.stated))
    if not isinstance(source, ExtentSource):
        return Location()
    one = source.extent
    if one.path != path or one.slices or one.problem is not None or one.start < 0:
        return Location()
    kind = ExtentSource(one._replace(path="", start=0, address=0, origin=None))
    return Location(kind, one.start, one.address, one.origin)


def index_of(records: Iterable[TensorRecord]) -> Index:
    """Return records as columns."""
    if isinstance(records, Records):
        return records._index
    op_types, op_names, places = Numbers[str](), Numbers[str](), Numbers[Place]()
    labels, kinds = Numbers[TensorSpec](), Numbers[Any]([None], kind_key)
    origins, paths = Numbers[str](), Numbers[str]()
    extras: dict[int, Extras] = {}
    rows = []
    for row, one in enumerate(records):
        key, location = one.key, location_of(one.source, one.path)
        other = Extras(
            one.source if location.kind is None else None, one.statistics, one.event, one.after
        )
        if other != COMMON:
            extras[row] = other
        name, slot = location.origin or ("", 0)
        rows.append((
            op_types.number(key.op_type), op_names.number(key.op_name), IO.index(key.io), key.slot,
            places.number(Place(key.graph_id, key.iteration, key.rank, key.net_name)), key.turn,
            labels.number(one.label), kinds.number(location.kind), location.start, location.address,
            1 + origins.number(name) if location.origin else 0, slot,
            one.timestamp_us, one.task_id, one.stream_id, paths.number(one.path),
        ))  # fmt: skip
    folders, numbers, names = split_paths(paths.all)
    return Index(
        _frozen(np.array(rows, DTYPE)),
        Strings.of(op_names.all), Strings.of(names), numbers, folders,
        tuple(op_types.all), tuple(places.all), tuple(labels.all), tuple(kinds.all),
        Strings.of(origins.all), extras,
    )  # fmt: skip


def split_paths(paths: Iterable[str]) -> tuple[tuple[str, ...], NDArray[Any], list[str]]:
    """Folders with a slash behind them, the number of each path's, and the names in them."""
    folders, names, numbers = Numbers[str](), [], []
    for path in paths:
        folder, slash, name = path.rpartition("/")
        numbers.append(folders.number(folder + slash))
        names.append(name)
    return tuple(folders.all), as_numbers(numbers, len(folders.all)), names


def as_numbers(numbers: Any, limit: int) -> NDArray[Any]:
    """Return numbers up to a limit, each in as few bytes as that needs."""
    return _frozen(np.asarray(numbers).astype(np.min_scalar_type(limit)))


# ---------------------------------------------------------------- several indexes as one


def join(parts: Iterable[Index]) -> Index:
    """Return the tensors of several indexes, one behind the other."""
    parts = [part for part in parts if len(part)]
    if len(parts) < 2:
        return parts[0] if parts else EMPTY
    rows = np.concatenate([part.rows for part in parts])
    ends = [*accumulate(map(len, parts))]
    spans = [rows[end - len(part) : end] for part, end in zip(parts, ends, strict=True)]
    texts = _join_texts(parts, spans)
    folders = Numbers[str]()
    file_folders = [
        np.array([folders.number(one) for one in part.folders], np.int64)[part.file_folders]
        for part in parts
    ]
    tables = {
        name: _join_table(name, parts, spans) for name in ("op_type", "place", "label", "kind")
    }
    extras = {
        end - len(part) + row: one
        for part, end in zip(parts, ends, strict=True)
        for row, one in part.extras.items()
    }
    return Index(
        _frozen(rows), texts["op_name"], texts["file"],
        as_numbers(np.concatenate(file_folders), len(folders.all)), tuple(folders.all),
        tables["op_type"], tables["place"], tables["label"], tables["kind"], texts["origin"], extras,
    )  # fmt: skip


def _join_table(
    column: str, parts: Sequence[Index], spans: Sequence[NDArray[Any]]
) -> tuple[Any, ...]:
    """What a column numbers in all parts; the column has the new numbers then."""
    known = Numbers[Any](key=kind_key)
    for part, span in zip(parts, spans, strict=True):
        new = [known.number(value) for value in getattr(part, f"{column}s")]
        span[column] = np.array(new, np.uint32)[span[column]]
    return tuple(known.all)


def _join_texts(parts: Sequence[Index], spans: Sequence[NDArray[Any]]) -> dict[str, Strings]:
    """Names of operators and files of all parts in the same bytes; their columns have the new numbers then."""
    all_texts = [one for part in parts for one in (part.op_names, part.files, part.origins)]
    pieces = {id(one.data): one.data for one in all_texts}
    places = dict(zip(pieces, accumulate(map(len, pieces.values()), initial=0), strict=False))
    data = b"".join(pieces.values())
    moved = [one.moved(data, places[id(one.data)]) for one in all_texts]
    files = origins = 0
    known = Numbers[str]()
    kept = []
    for part, span, names in zip(parts, spans, moved[::3], strict=True):
        before = len(known.all)
        new = np.array([known.number(name) for name in part.op_names.all()], np.uint32)
        kept.append(Strings(data, names.starts[new >= before], names.ends[new >= before]))
        span["op_name"] = new[span["op_name"]]
        span["file"] += files
        span["origin"][span["origin"] > 0] += origins
        files, origins = files + len(part.files), origins + len(part.origins)
    lists = {"op_name": kept, "file": moved[1::3], "origin": moved[2::3]}
    return {name: _concatenated(data, all_) for name, all_ in lists.items()}


def _concatenated(data: bytes, texts: Iterable[Strings]) -> Strings:
    """Texts that location in the same bytes, one after the other."""
    texts = [*texts]
    starts = np.concatenate([one.starts for one in texts])
    return Strings.at(data, starts, np.concatenate([one.ends for one in texts]))


EMPTY = index_of(())
