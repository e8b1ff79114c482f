"""Read a graph file of any known format; which one it is, its content says, not its name.

A format is a row of `GRAPH_FORMATS`, a function of `workbench.graph_files.signs` that tells it by the first 64 KiB and
the outermost fields, and a module with ``read_…(path)``, which is imported when a file is of that format.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from workbench._doors import later
from workbench._values import dataclass
from workbench.core.errors import FormatError
from workbench.graph_files import signs
from workbench.graph_files.look import Look, look_at

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from workbench.graph.graph import Graph


@dataclass(frozen=True, slots=True)
class GraphFormat:
    """A format of graph files: how it is called, told by its content, and read."""

    title: str
    fits: Callable[[Look], bool]
    read: Callable[[Path], Graph]


def _row(title: str, fits: Callable[[Look], bool], reader: str) -> GraphFormat:
    return GraphFormat(title, fits, later(f"workbench.graph_files.{reader}"))


GRAPH_FORMATS = (
    _row("IR text (.ir)", signs.is_ms_text, "mindspore.text:read_ms_text"),
    _row("MindSpore protobuf (.pb)", signs.is_ms_pb, "mindspore.pb:read_ms_pb"),
    _row("GE text (ge_proto_*.txt)", signs.is_ge_text, "ge.text:read_ge_text"),
    _row("GE text as ONNX (ge_onnx_*.pbtxt)", signs.is_ge_onnx, "ge.onnx_text:read_ge_onnx"),
    _row("GE binary model", signs.is_ge_model, "ge.binary:read_ge_model"),
    _row("offline model (.om)", signs.is_om, "ge.binary:read_om"),
    _row("model of ATC (.json)", signs.is_model_json, "ge.model_json:read_model_json"),
    _row("ONNX model (.onnx)", signs.is_onnx_model, "onnx.model:read_onnx_model"),
    _row("frozen TensorFlow graph (.pb)", signs.is_frozen, "tensorflow:read_frozen"),
)
"""Every format. Of two of one graph the earlier one says more; a file that fits two is refused."""


def read_graph(path: str | Path) -> Graph:
    """Read a graph file of any format of `GRAPH_FORMATS`.

    Raises FormatError if the content is of no known format, of more than one, or damaged.
    """
    path = Path(path)
    return format_of(path).read(path)


def most_telling_first(paths: Iterable[Path]) -> list[Path]:
    """Order files of one graph by what their formats say of it; first those that nobody can read, to be told of."""
    return sorted(paths, key=_place_in_table)


def _place_in_table(path: Path) -> int:
    try:
        return GRAPH_FORMATS.index(format_of(path))
    except FormatError:
        return -1


def format_of(path: Path) -> GraphFormat:
    """Return the format of a graph file; raises FormatError if it has none, or more than one."""
    look = look_at(path)
    found = [row for row in GRAPH_FORMATS if row.fits(look)]
    if len(found) == 1:
        return found[0]
    if found:
        kinds = [row.title for row in found]
        raise FormatError("graph_files/several-kinds", place=str(path), kinds=kinds)
    raise FormatError(
        "graph_files/unknown-kind" if look.begin else "graph_files/empty",
        place=str(path),
        begins=look.begin[:16].decode("latin-1"),
        known=[row.title for row in GRAPH_FORMATS],
    )
