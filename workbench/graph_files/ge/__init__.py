"""Graphs of the graph engine: its text, binary models, ``.om``, ATC's JSON and the text of its ONNX files.

In: a file, or a graph to be written as GE would. Out: a `Graph` with GE's fields, or text.
`schema` declares the messages once for all encodings; `lower` gives any graph GE's fields.
An operator type that GE never dumps is a row in `silent_ops`.
"""

from typing import TYPE_CHECKING

from workbench._doors import make_door

if TYPE_CHECKING:
    from workbench.graph_files.ge.files import (
        find_computational_graph,
        has_iterator,
        model_folder,
        read_graph_name,
    )
    from workbench.graph_files.ge.silent_ops import why_no_dump

__all__ = [
    "find_computational_graph",
    "has_iterator",
    "model_folder",
    "read_graph_name",
    "why_no_dump",
]

PLACES = {
    "find_computational_graph": "workbench.graph_files.ge.files:find_computational_graph",
    "has_iterator": "workbench.graph_files.ge.files:has_iterator",
    "model_folder": "workbench.graph_files.ge.files:model_folder",
    "read_graph_name": "workbench.graph_files.ge.files:read_graph_name",
    "why_no_dump": "workbench.graph_files.ge.silent_ops:why_no_dump",
}
"""What others import from here, by name; each is loaded when it is first used."""

__getattr__, __dir__ = make_door(__name__, PLACES)
