"""Read a graph file of any known format; which one it is, its content says, not its name.

A format is a row of `GRAPH_FORMATS` and a module with two functions: ``is_…(look)`` tells it by the first 64 KiB and
the outermost fields, ``read_…(path)`` reads it.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from workbench._values import dataclass
from workbench.core.errors import FormatError
from workbench.graph_files import tensorflow
from workbench.graph_files.ge import binary, model_json, onnx_text, text
from workbench.graph_files.look import Look, look_at
from workbench.graph_files.mindspore import pb
from workbench.graph_files.mindspore import text as ir_text
from workbench.graph_files.onnx import model as onnx

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from workbench.graph.graph import Graph


@dataclass(frozen=True, slots=True)
class GraphFormat:
    """A format of graph files: how it is called, told by its content, and read."""

    title: str
    fits: Callable[[Look], bool]
    read: Callable[[Path], Graph]


GRAPH_FORMATS = (
    GraphFormat("IR text (.ir)", ir_text.is_ms_text, ir_text.read_ms_text),
    GraphFormat("MindSpore protobuf (.pb)", pb.is_ms_pb, pb.read_ms_pb),
    GraphFormat("GE text (ge_proto_*.txt)", text.is_ge_text, text.read_ge_text),
    GraphFormat("GE text as ONNX (ge_onnx_*.pbtxt)", onnx_text.is_ge_onnx, onnx_text.read_ge_onnx),
    GraphFormat("GE binary model", binary.is_ge_model, binary.read_ge_model),
    GraphFormat("offline model (.om)", binary.is_om, binary.read_om),
    GraphFormat("model of ATC (.json)", model_json.is_model_json, model_json.read_model_json),
    GraphFormat("ONNX model (.onnx)", onnx.is_onnx_model, onnx.read_onnx_model),
    GraphFormat("frozen TensorFlow graph (.pb)", tensorflow.is_frozen, tensorflow.read_frozen),
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
