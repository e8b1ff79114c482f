"""What is seen of a graph file without reading it: by that its format is told, whatever it is called."""

from __future__ import annotations

from typing import TYPE_CHECKING, BinaryIO, SupportsIndex, overload

from workbench._values import NamedTuple
from workbench.core.errors import FormatError
from workbench.core.files import open_file, size_within, unreadable
from workbench.proto.wire import CutOffError, walk

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

MAX_BYTES = 1 << 30
"""Most bytes of a graph file."""

BEGIN = 1 << 16
"""Bytes that are looked at."""

_PAGE = 1 << 12
_MAX_FIELDS = 10_000
"""More than any model has beside its graph."""


class Look(NamedTuple):
    """The first bytes of a file, and its outermost fields if it may be a protobuf.

    ``wires`` holds the wire types of each field's number, a field that the end of the file cuts off among them;
    ``None``: no message begins so, or one of more fields than a model has.
    """

    begin: bytes
    wires: Mapping[int, frozenset[int]] | None

    def is_model(self, wires: Mapping[int, int], graph: int, other: int = 0) -> bool:
        """Whether the outermost fields are those of a model whose graph is field ``graph``, and ``other`` is not there.

        ``wires`` has the wire types of a model's fields. A file that is cut off inside its graph is a model too:
        its reader says where.
        """
        if self.wires is None or graph not in self.wires or other in self.wires:
            return False
        return all(
            found <= {wires.get(number)} or number not in wires
            for number, found in self.wires.items()
        )


class FileBytes:
    """The bytes of an open file by their places, read page by page: of a gigabyte no more than what is asked for."""

    def __init__(self, file: BinaryIO, size: int) -> None:
        self._file = file
        self._size = size
        self._at, self._page = -1, b""

    def __len__(self) -> int:
        return self._size

    @overload
    def __getitem__(self, place: SupportsIndex, /) -> int: ...

    @overload
    def __getitem__(self, place: slice, /) -> bytes: ...

    def __getitem__(self, place: SupportsIndex | slice, /) -> int | bytes:
        if isinstance(place, slice):
            self._file.seek(place.start)
            return self._file.read(place.stop - place.start)
        at, within = divmod(int(place), _PAGE)
        if at != self._at:
            self._file.seek(at * _PAGE)
            self._at, self._page = at, self._file.read(_PAGE)
        return self._page[within]


def look_at(path: Path) -> Look:
    """Return what tells the format of a file; raises FormatError if it cannot be read or is too large for any."""
    with open_file(path, "graph") as file:
        size = size_within(file, path, MAX_BYTES, "graph")
        try:
            begin = file.read(BEGIN)
            return Look(begin, _outermost(FileBytes(file, size)))
        except (OSError, IndexError) as error:  # it may shrink while it is looked at
            raise unreadable(path, error, "graph") from error


def _outermost(data: FileBytes) -> Mapping[int, frozenset[int]] | None:
    wires: dict[int, frozenset[int]] = {}
    try:
        for count, field in enumerate(walk(data, "", 0, len(data))):
            if count >= _MAX_FIELDS:
                return None
            wires[field.number] = wires.get(field.number, frozenset()) | {field.wire}
    except CutOffError as error:
        wires.setdefault(error.number, frozenset())
    except FormatError:
        return None
    return wires
