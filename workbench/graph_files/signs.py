"""What tells each format of graph files: by the first 64 KiB and the outermost fields, without its reader.

One function a row of `workbench.graph_files.formats.GRAPH_FORMATS`; none reads the file.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from workbench.core.errors import FormatError
from workbench.proto.wire import BYTES, VARINT, walk

if TYPE_CHECKING:
    from workbench.graph_files.look import Look

_IR_BEGINS = re.compile(
    rb"^(?:# ?IR entry\s{0,64}:|subgraph @| {0,4}%\d{1,9}\([^()\n]{1,99}\) = [A-Z]\w{0,99}\()",
    re.MULTILINE,
)
_MINDSPORE = {1: VARINT, 2: BYTES, 3: VARINT, 4: BYTES, 5: BYTES}
_GE_GRAPH = re.compile(rb"graph(?<![^\n]graph)\s{0,64}:?\s{0,64}[{<]")
_GE_OP = re.compile(rb"^\s{1,64}op\s{0,64}:?\s{0,64}[{<]", re.MULTILINE)
_GE_NODE = re.compile(rb"^\s{1,64}op_type\s{0,64}:\s{0,64}\"ge:", re.MULTILINE)
_GE_MODEL = {1: BYTES, 2: VARINT, 3: BYTES, 7: BYTES, 11: BYTES, 12: BYTES}
_OM = b"IMOD"
_JSON = re.compile(rb"(?:\xef\xbb\xbf)?\s{0,64}\{")
_JSON_GRAPH = re.compile(rb'"(?:graph|op)"\s{0,64}:\s{0,64}\[')
_JSON_ATTRIBUTES = re.compile(
    rb'\s{0,64}\{\s{0,64}"attr"\s{0,64}:\s{0,64}\[\s{0,64}\{\s{0,64}"key"'
)
_ONNX = {1: VARINT, 2: BYTES, 3: BYTES, 4: BYTES, 5: VARINT, 6: BYTES, 7: BYTES, 8: BYTES}
_OPERATOR = re.compile(rb"[A-Za-z_>][A-Za-z0-9_>./\\-]*+")


def is_ms_text(look: Look) -> bool:
    """Whether a line begins a graph, names the one that is run, or is an operator of an excerpt."""
    return _IR_BEGINS.search(look.begin) is not None


def is_ms_pb(look: Look) -> bool:
    """Whether a model has its graph in field 4; those of GE and ONNX have it in field 7."""
    return look.is_model(_MINDSPORE, graph=4, other=7)


def is_ge_text(look: Look) -> bool:
    """Whether a graph has operators; those of ONNX text are called nodes."""
    return _begins_graph(look) and _GE_OP.search(look.begin) is not None


def is_ge_onnx(look: Look) -> bool:
    """Whether a graph has nodes that are operators of GE."""
    return _begins_graph(look) and _GE_NODE.search(look.begin) is not None


def is_ge_model(look: Look) -> bool:
    """Whether a model has its graph in field 7 and a number for a version; ONNX and MindIR have other types there."""
    return look.is_model(_GE_MODEL, graph=7, other=4)


def is_om(look: Look) -> bool:
    """Whether a file begins as an offline model does."""
    return look.begin.startswith(_OM)


def is_model_json(look: Look) -> bool:
    """Whether JSON has a list of graphs, or begins with attributes as ATC's does."""
    if _JSON.match(look.begin) is None:
        return False
    return bool(_JSON_GRAPH.search(look.begin) or _JSON_ATTRIBUTES.match(look.begin))


def is_onnx_model(look: Look) -> bool:
    """Whether a model has its graph in field 7 and its version, a number, in field 1; MindIR has a text there."""
    return look.is_model(_ONNX, graph=7) and 1 in (look.wires or ())


def is_frozen(look: Look) -> bool:
    """Whether the first thing is a node, a name and the word of an operator: a model has but its name there."""
    if look.begin[:1] != b"\x0a" or 7 in (look.wires or ()):
        return False
    texts: list[bytes] = []
    try:
        node = next(walk(look.begin, "", 0, len(look.begin)))
        for field in walk(look.begin, "", node.start, node.end):
            if (field.number, field.wire) != (len(texts) + 1, BYTES):
                break
            texts.append(look.begin[field.start : field.end])
    except FormatError:
        return False
    return len(texts) >= 2 and bool(texts[0]) and _OPERATOR.fullmatch(texts[1]) is not None


def _begins_graph(look: Look) -> bool:
    """Whether there is a field ``graph`` that is a block."""
    return _GE_GRAPH.search(look.begin) is not None
