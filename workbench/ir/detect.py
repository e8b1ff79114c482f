"""Read a graph file of any known kind; which kind it is, its content says, not its name."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from workbench.core.errors import FormatError
from workbench.core.files import file_content
from workbench.ir.ms_messages import BYTES, VARINT, CutOffError, walk
from workbench.ir.ms_pb import read_ms_pb
from workbench.ir.ms_text import MAX_BYTES, read_ms_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from workbench.graph.nodes import Graph

_IR_TEXT = re.compile(rb"^subgraph @", re.MULTILINE)
_GE_GRAPH = re.compile(rb"graph(?<![^\n]graph)\s{0,64}:?\s{0,64}[{<]")
_GE_OP = re.compile(rb"^\s{1,64}op\s{0,64}:?\s{0,64}[{<]", re.MULTILINE)
_MS_MODEL = {1: VARINT, 2: BYTES, 3: VARINT, 4: BYTES, 5: BYTES}
_GE_MODEL = {1: BYTES, 2: VARINT, 3: BYTES, 7: BYTES, 11: BYTES, 12: BYTES}
_MAX_FIELDS = 10_000
"""More than any model has beside its graph."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of graph file: how it is called, recognised and read."""

    title: str
    fits: Callable[[bytes], bool]
    read: Callable[[Path], Graph]


def read_graph(path: str | Path) -> Graph:
    """Read a graph: IR text, MindSpore ``.pb``, GE text or GE binary.

    Raises FormatError if the content is of no known kind, of more than one, or damaged.
    """
    path = Path(path)
    data = file_content(path, MAX_BYTES, "graph")
    found = [kind for kind in KINDS if kind.fits(data)]
    if len(found) == 1:
        return found[0].read(path)
    if found:
        raise FormatError("ir/several-kinds", place=str(path), kinds=[kind.title for kind in found])
    code = "ir/unknown-kind" if data else "ir/empty"
    raise FormatError(
        code,
        place=str(path),
        begins=data[:16].decode("latin-1"),
        known=[kind.title for kind in KINDS],
    )


def _is_ir_text(data: bytes) -> bool:
    return _IR_TEXT.search(data) is not None


def _is_ge_text(data: bytes) -> bool:
    """ONNX text has a graph too, but its operators are called nodes."""
    return _GE_GRAPH.search(data) is not None and _GE_OP.search(data) is not None


def _is_ms_pb(data: bytes) -> bool:
    return _is_model(data, _MS_MODEL, graph=4, other=7)


def _is_ge_binary(data: bytes) -> bool:
    return _is_model(data, _GE_MODEL, graph=7, other=4)


def _is_model(data: bytes, wires: dict[int, int], graph: int, other: int) -> bool:
    """Whether the outermost fields are those of a model whose graph is field ``graph``.

    ONNX and MindIR models also keep their graph in field 7; the wire types of the others differ.
    A file that is cut off inside its graph is a model too: its reader says where.
    """
    numbers: set[int] = set()
    try:
        for count, field in enumerate(walk(data, "", 0, len(data))):
            if wires.get(field.number, field.wire) != field.wire or count >= _MAX_FIELDS:
                return False
            numbers.add(field.number)
    except CutOffError as error:
        numbers.add(error.number)
    except FormatError:
        return False
    return graph in numbers and other not in numbers


def _read_ge_text(path: Path) -> Graph:
    from workbench.ir.ge_text import read_ge_text

    return read_ge_text(path)


def _read_ge_binary(path: Path) -> Graph:
    from workbench.ir.ge_messages import parse_ge_model

    graph = parse_ge_model(file_content(path, MAX_BYTES, "graph"), str(path))
    return replace(graph, path=str(path))


KINDS = (
    Kind("IR text (.ir)", _is_ir_text, read_ms_text),
    Kind("MindSpore protobuf (.pb)", _is_ms_pb, read_ms_pb),
    Kind("GE text (ge_proto_*.txt)", _is_ge_text, _read_ge_text),
    Kind("GE binary model", _is_ge_binary, _read_ge_binary),
)
"""Every kind, in the order in which errors name them."""
