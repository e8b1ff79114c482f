"""Reader of GE's graph dumps ``ge_proto_{index}_{stage}.txt`` and ``ge_proto_{index}_graph_{id}_{stage}.txt``.

Such a file is the text form of ge.proto's ``ModelDef`` (`workbench.graph_files.ge.schema`). Every ``DUMP_GE_GRAPH``
level is read, and text that has names, types and edges alone. The whole text is checked while it is read, so
an attribute that is parsed later, when it is first used, cannot fail. `workbench.graph_files.ge.graph` says how
the fields become a graph.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from workbench.core.errors import FormatError
from workbench.core.files import file_content
from workbench.graph.graph import Graph
from workbench.graph_files.cache import GraphCache
from workbench.graph_files.ge.graph import model_graph
from workbench.graph_files.ge.schema import GE_IR, OPERATORS
from workbench.graph_files.look import MAX_BYTES
from workbench.proto.text import TextReader

_GRAPH_ID = re.compile(r"ge_proto_\d+_graph_(\d{1,18})_")


def read_ge_text(path: str | Path) -> Graph:
    """Read a dumped graph; raises FormatError if the file cannot be read or is malformed.

    ``graph_id`` comes from a file name of the form ``ge_proto_{index}_graph_{id}_{stage}.txt``.
    """
    path = Path(path)
    text = file_content(path, MAX_BYTES, "graph").decode("utf-8-sig", "surrogateescape")
    found = _GRAPH_ID.match(path.name)
    return _RECENT.graph(text, str(path), int(found[1]) if found else 0)


def parse_ge_text(text: str, where: str = "<text>") -> Graph:
    """Parse the text of a dumped graph; ``where`` starts the message of an error."""
    if "\r" in text:
        text = text.replace("\r\n", "\n")
    reader = TextReader(GE_IR, text, where, {OPERATORS.message: OPERATORS.read})
    model, _ = reader.message("ModelDef", 0)
    graph = model_graph(model)
    if graph is None:
        raise FormatError("graph_files/no-ge-graph", place=f"{where}:1")
    if reader.unknown and not any(part.ops for part in (graph, *graph.subgraphs)):
        raise FormatError("graph_files/no-ge-operators", place=f"{where}:1")
    return replace(graph, unknown_lines=graph.unknown_lines + reader.unknown)


_RECENT = GraphCache(parse_ge_text)
