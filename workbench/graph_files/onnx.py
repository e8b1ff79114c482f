"""ONNX models among the graph files; `workbench.network.onnx` reads them, with the extra ``[onnx]``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.proto.wire import BYTES, VARINT

if TYPE_CHECKING:
    from pathlib import Path

    from workbench.graph.graph import Graph
    from workbench.graph_files.look import Look

_WIRES = {1: VARINT, 2: BYTES, 3: BYTES, 4: BYTES, 5: VARINT, 6: BYTES, 7: BYTES, 8: BYTES}


def is_onnx_model(look: Look) -> bool:
    """Whether a model has its graph in field 7 and its version, a number, in field 1; MindIR has a text there."""
    return look.is_model(_WIRES, graph=7) and 1 in (look.wires or ())


def read_onnx_model(path: Path) -> Graph:
    """Read a model; raises FormatError if it is damaged, GraphError for operators and sizes that are not known."""
    from workbench.network.onnx import read_onnx

    return read_onnx(path)
