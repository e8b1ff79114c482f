"""The debugger's protobuf of a graph or of the text of one, without its constants."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.ir.ms_pb_writer import pb_and_constants
from workbench.ir.ms_text_writer import write_ms_text

if TYPE_CHECKING:
    from workbench.graph.nodes import Graph


def write_ms_pb(graph: Graph) -> bytes:
    """The ``.pb`` of a graph."""
    return pb_of_text(write_ms_text(graph), graph.graph_id)


def pb_of_text(text: str, graph_id: int = 0) -> bytes:
    """The ``.pb`` of the entry graph of an ``.ir`` file's text."""
    return pb_and_constants(text, graph_id)[0]
