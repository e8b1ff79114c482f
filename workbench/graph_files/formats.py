"""Read a graph file of any known kind; which kind it is, its content says, not its name."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, NamedTuple, SupportsIndex

from workbench.core.errors import FormatError
from workbench.core.files import file_content, open_file, size_within, unreadable
from workbench.graph_files.limits import MAX_BYTES
from workbench.graph_files.mindspore.pb import read_ms_pb
from workbench.graph_files.mindspore.text import read_ms_text
from workbench.proto.wire import BYTES, VARINT, CutOffError, walk

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from workbench.graph.nodes import Graph

BEGIN = 1 << 16
"""Bytes that say which kind a text is."""

_PAGE = 1 << 12
_IR_TEXT = re.compile(rb"^(?:# ?IR entry\s{0,64}:|subgraph @)", re.MULTILINE)
_GE_GRAPH = re.compile(rb"graph(?<![^\n]graph)\s{0,64}:?\s{0,64}[{<]")
_GE_OP = re.compile(rb"^\s{1,64}op\s{0,64}:?\s{0,64}[{<]", re.MULTILINE)
_MS_MODEL = {1: VARINT, 2: BYTES, 3: VARINT, 4: BYTES, 5: BYTES}
_GE_MODEL = {1: BYTES, 2: VARINT, 3: BYTES, 7: BYTES, 11: BYTES, 12: BYTES}
_ONNX_MODEL = {1: VARINT, 2: BYTES, 3: BYTES, 4: BYTES, 5: VARINT, 6: BYTES, 7: BYTES, 8: BYTES}
_MAX_FIELDS = 10_000
"""More than any model has beside its graph."""


class Look(NamedTuple):
    """What is seen of a file without reading it: its first bytes, and the outermost fields if it may be a protobuf.

    ``wires`` holds the wire types of each field's number, a field that the end of the file cuts off among them;
    ``None``: no message begins so.
    """

    begin: bytes
    wires: Mapping[int, frozenset[int]] | None


@dataclass(frozen=True, slots=True)
class GraphFormat:
    """A kind of graph file: how it is called, recognised and read."""

    title: str
    fits: Callable[[Look], bool]
    read: Callable[[Path], Graph]


class _Bytes:
    """The bytes of a file by their places, read page by page: of a gigabyte no more than what is asked for."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._at, self._page = -1, b""

    def __getitem__(self, place: SupportsIndex, /) -> int:
        at, within = divmod(int(place), _PAGE)
        if at != self._at:
            self._file.seek(at * _PAGE)
            self._at, self._page = at, self._file.read(_PAGE)
        return self._page[within]


def read_graph(path: str | Path) -> Graph:
    """Read a graph: IR text, MindSpore ``.pb``, GE text or GE binary, or ONNX.

    Raises FormatError if the content is of no known kind, of more than one, or damaged.
    """
    path = Path(path)
    look = look_at(path)
    found = [row for row in GRAPH_FORMATS if row.fits(look)]
    if len(found) == 1:
        return found[0].read(path)
    if found:
        raise FormatError(
            "graph_files/several-kinds", place=str(path), kinds=[row.title for row in found]
        )
    raise FormatError(
        "graph_files/unknown-kind" if look.begin else "graph_files/empty",
        place=str(path),
        begins=look.begin[:16].decode("latin-1"),
        known=[row.title for row in GRAPH_FORMATS],
    )


def look_at(path: Path) -> Look:
    """Return what tells the kind of a file; raises FormatError if it cannot be read or is too large for any."""
    with open_file(path, "graph") as file:
        size = size_within(file, path, MAX_BYTES, "graph")
        try:
            begin = file.read(BEGIN)
            return Look(begin, _outermost(_Bytes(file), size))
        except (OSError, IndexError) as error:  # it may shrink while it is looked at
            raise unreadable(path, error, "graph") from error


def _outermost(data: _Bytes, size: int) -> Mapping[int, frozenset[int]] | None:
    wires: dict[int, frozenset[int]] = {}
    try:
        for count, field in enumerate(walk(data, "", 0, size)):
            if count >= _MAX_FIELDS:
                return None
            wires[field.number] = wires.get(field.number, frozenset()) | {field.wire}
    except CutOffError as error:
        wires.setdefault(error.number, frozenset())
    except FormatError:
        return None
    return wires


def _is_ir_text(look: Look) -> bool:
    return _IR_TEXT.search(look.begin) is not None


def _is_ge_text(look: Look) -> bool:
    """ONNX text has a graph too, but its operators are called nodes."""
    return _GE_GRAPH.search(look.begin) is not None and _GE_OP.search(look.begin) is not None


def _is_ms_pb(look: Look) -> bool:
    return _is_model(look, _MS_MODEL, graph=4, other=7)


def _is_ge_binary(look: Look) -> bool:
    return _is_model(look, _GE_MODEL, graph=7, other=4)


def _is_onnx(look: Look) -> bool:
    """Its version, a number, comes first; MindIR has a text there."""
    return _is_model(look, _ONNX_MODEL, graph=7) and 1 in (look.wires or ())


def _is_model(look: Look, wires: Mapping[int, int], graph: int, other: int = 0) -> bool:
    """Whether the outermost fields are those of a model whose graph is field ``graph``, and ``other`` is not there.

    ONNX and MindIR models also keep their graph in field 7; the wire types of the others differ.
    A file that is cut off inside its graph is a model too: its reader says where.
    """
    if look.wires is None or graph not in look.wires or other in look.wires:
        return False
    return all(
        found <= {wires.get(number)} or number not in wires for number, found in look.wires.items()
    )


def _read_ge_text(path: Path) -> Graph:
    from workbench.graph_files.ge.text import read_ge_text

    return read_ge_text(path)


def _read_ge_binary(path: Path) -> Graph:
    from workbench.graph_files.ge.binary import parse_ge_model

    graph = parse_ge_model(file_content(path, MAX_BYTES, "graph"), str(path))
    return replace(graph, path=str(path))


def _read_onnx(path: Path) -> Graph:
    from workbench.graph.onnx import read_onnx

    return read_onnx(path)


GRAPH_FORMATS = (
    GraphFormat("IR text (.ir)", _is_ir_text, read_ms_text),
    GraphFormat("MindSpore protobuf (.pb)", _is_ms_pb, read_ms_pb),
    GraphFormat("GE text (ge_proto_*.txt)", _is_ge_text, _read_ge_text),
    GraphFormat("GE binary model", _is_ge_binary, _read_ge_binary),
    GraphFormat("ONNX model (.onnx)", _is_onnx, _read_onnx),
)
"""Every kind, in the order in which errors name them; a file that fits two of them is refused."""
