"""Reader of ``ms_output_trace_code_graph_{id}.ir``, MindSpore 2.0 to 2.10.

The file is read once, line by line; a node that spans several lines is joined first. Lines nobody
understands are counted in ``Graph.unknown_lines`` and never stop the reading. Structural nodes are
resolved, so the graph holds operators only (see `workbench.graph.nodes`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from workbench.core.errors import FormatError
from workbench.core.tensors import TensorSpec
from workbench.graph.nodes import Graph, Parameter
from workbench.ir.literals import (
    HostType,
    closing,
    parse_attrs,
    parse_device_type,
    parse_host_type,
    parse_location,
    split_top,
)
from workbench.ir.resolve import Node, resolve_nodes

_NODE = re.compile(r"  (?:%(\d+)\((.*?)\) = |(?=Return\())")
_PARAM = re.compile(r"%para(\d+)_(.*?) ?: (<.*)$")
_PARAM_REF = re.compile(r"%para(\d+)_?")
_NAME = re.compile(
    r"      (?:# (?:Fullname with scope|fullname_with_scope|Scope|scope): |: full_name_with_scope: )"
    r"\((.*)\)$"
)
_GRAPH_ID = re.compile(r"_graph_(\d+)\.ir$")
_QUIET = re.compile(
    r"#|\}|\s*$|subgraph (?:attr|instance|symbol)|switch_layer_input|indirect: |parent: |"
    r"Node counting|Total number|symbol engine|jit config|\[shadow\]|\s*[\w.\-]+ ?: ?"
)
_GROUPS = {
    "# Corresponding code candidate:": "candidate",
    "# Corresponding forward node candidate:": "forward",
}
MAX_BYTES = 1 << 30
"""Largest file that is read; a real one has about 2 KB an operator."""

MAX_JOINED = 4096
"""Most lines that one node may span."""


@dataclass(slots=True)
class _Block:
    """One ``subgraph @name(...) {`` … ``}``."""

    name: str
    params: tuple[int, ...]
    types: tuple[HostType, ...] = ()
    nodes: list[Node] = field(default_factory=list)


def read_ms_text(path: str | Path) -> Graph:
    """Read an ``.ir`` file; raises FormatError if it cannot be read or holds no graph at all."""
    path = Path(path)
    try:
        if path.stat().st_size > MAX_BYTES:
            message = (
                f"{path}: IR must be smaller than {MAX_BYTES} bytes, got {path.stat().st_size}"
            )
            raise FormatError(message)
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        message = f"{path}: IR must be a readable file, got {error.strerror or error}"
        raise FormatError(message) from error
    graph = parse_ms_text(text, str(path))
    found = _GRAPH_ID.search(path.name)
    return replace(graph, path=str(path), graph_id=int(found[1]) if found else 0)


def parse_ms_text(text: str, where: str = "<text>") -> Graph:
    """Parse the text of an ``.ir`` file; ``where`` starts the message of an error."""
    parser = _Parser(text.split("\n"), where)
    parser.run()
    if not parser.blocks:
        message = (
            f"{where}:1: IR must hold a line 'subgraph @name() {{', got none; is it an .ir file?"
        )
        raise FormatError(message)
    return parser.graph()


class _Parser:
    """State of one reading: the lines, where we are, and what was found."""

    def __init__(self, lines: list[str], where: str) -> None:
        self.lines = lines
        self.where = where
        self.entry = ""
        self.params: dict[int, Parameter] = {}
        self.blocks: list[_Block] = []
        self.pending_types: tuple[HostType, ...] = ()
        self.unknown = 0

    def run(self) -> None:
        node: Node | None = None
        block: _Block | None = None
        index, count = 0, len(self.lines)
        while index < count:
            line = self.lines[index]
            index += 1
            if node is not None and line.startswith("      "):
                self._detail(node, line)
                continue
            start = _NODE.match(line) if block is not None else None
            if start:
                line, index = self._join(line, index)
                node = self._node(line, start)
                if node is not None and block is not None:
                    block.nodes.append(node)
            elif line.startswith("subgraph @"):
                block, node = self._open_block(line), None
            elif line.startswith("}"):
                block, node = None, None
            else:
                self._outside(line)

    def _outside(self, line: str) -> None:
        if line.startswith("%para"):
            self._param(line)
        elif line.startswith(("# IR entry", "#IR entry")):
            self.entry = line.rpartition("@")[2].strip()
        elif line.startswith("# Parameters: "):
            inner = line.partition("(")[2].rpartition(")")[0]
            self.pending_types = tuple(parse_host_type(t) for t in split_top(inner))
        elif not _QUIET.match(line):
            self.unknown += 1

    def _join(self, line: str, index: int) -> tuple[str, int]:
        """Append the lines that still belong to a node line: operands and strings hold line breaks."""
        limit = min(len(self.lines), index + MAX_JOINED)
        parts, end = [line], index
        while end < limit and not _is_whole("\n".join(parts)):
            if _NODE.match(self.lines[end]) or self.lines[end].startswith(("}", "      #")):
                break
            parts.append(self.lines[end])
            end += 1
        return "\n".join(parts), end

    def _node(self, text: str, start: re.Match[str]) -> Node | None:
        body = text[start.end() :]
        open_at = _operand_bracket(body)
        close_at = closing(body, open_at) if open_at >= 0 else -1
        if close_at < 0:
            self.unknown += 1
            return None
        attrs, primal = _attribute_groups(body[close_at + 1 :])
        number = int(start[1]) if start[1] is not None else -1
        operands = tuple(split_top(body[open_at + 1 : close_at]))
        return Node(number, body[:open_at].strip(), operands, attrs, primal)

    def _detail(self, node: Node, line: str) -> None:
        """Use one of the indented lines behind a node."""
        if line.startswith("      # "):
            self._comment(node, line)
        elif line.startswith("      : "):
            self._types(node, line[8:])
        elif line.strip() and not line.startswith("        "):
            self.unknown += 1

    def _comment(self, node: Node, line: str) -> None:
        text = line[6:]
        if text.startswith(("# In file ", "# inlined:In file ")):
            frame = parse_location(text[2:], node.group)
            if frame is None:
                self.unknown += 1
            else:
                node.frames.append(frame)
            return
        name = _NAME.match(line)
        if name:
            node.name = name[1]
        elif text in _GROUPS:
            node.group = _GROUPS[text]

    def _types(self, node: Node, text: str) -> None:
        """Sort a ``: (…) -> (…)`` line into host, device or object types by its content."""
        if text.startswith("full_name_with_scope: "):
            node.name = text.partition("(")[2].removesuffix(")")
            return
        left, arrow, right = text.partition(") -> (")
        ins, outs = left[1:] if arrow else text[1:-1], right[:-1] if arrow else ""
        if not node.host_in and not node.host_out and "<" in text:
            node.host_in = tuple(parse_host_type(piece) for piece in split_top(ins))
            node.host_out = tuple(parse_host_type(piece) for piece in split_top(outs))
        elif "<" in text and "[" not in text.partition("<")[0]:
            node.device_in = tuple(parse_device_type(piece) for piece in split_top(ins))
            node.device_out = tuple(parse_device_type(piece) for piece in split_top(outs))
        elif not arrow and ("/" in text or "-op" in text):
            node.name = ins
        elif arrow and "<" not in text:
            node.unfold = outs.strip() != "Tuple"

    def _param(self, line: str) -> None:
        match = _PARAM.match(line)
        if not match:
            self.unknown += 1
            return
        host = parse_host_type(next(split_fields(match[3])))
        spec = host.specs[0] if host.specs else TensorSpec("", None)
        weight = line.rstrip().endswith(("IsWeight: true", "IsWeight:true"))
        self.params[int(match[1])] = Parameter(match[2], spec, weight, host.ref_key)

    def _open_block(self, line: str) -> _Block:
        head, _, params = line[len("subgraph @") :].partition("(")
        name = head.split(" parent:")[0].strip()
        numbers = tuple(int(n) for n in _PARAM_REF.findall(params))
        for number, host, text in zip(numbers, self.pending_types, split_top(params), strict=False):
            pname = text.rpartition("{")[0] if "{" in text else text
            pname = pname.partition("_")[2].rstrip(") ")
            self.params.setdefault(number, Parameter(pname, host.specs[0]))
        block = _Block(name, numbers, self.pending_types)
        self.pending_types = ()
        self.blocks.append(block)
        return block

    def graph(self) -> Graph:
        """Build the entry graph with the others as its subgraphs."""
        names = [block.name for block in self.blocks]
        entry = names.index(self.entry) if self.entry in names else 0
        others = tuple(
            self._build(block) for number, block in enumerate(self.blocks) if number != entry
        )
        graph = self._build(self.blocks[entry])
        return replace(graph, subgraphs=others, unknown_lines=self.unknown)

    def _build(self, block: _Block) -> Graph:
        if block.params:
            numbers = block.params
        else:
            taken = {number for other in self.blocks for number in other.params}
            numbers = tuple(sorted(set(self.params) - taken))
        blank = Parameter("", TensorSpec("", None))
        parameters = tuple(self.params.get(number, blank) for number in numbers)
        index = {number: position for position, number in enumerate(numbers)}
        ops, outputs = resolve_nodes(block.nodes, index, self.where)
        return Graph(block.name, parameters, ops, outputs, dialect="mindspore")


def split_fields(text: str) -> Any:
    """Split a parameter line at its ``  :  `` and `` : `` separators."""
    return iter(re.split(r"  :  | : ", text))


def _is_whole(text: str) -> bool:
    """Whether every bracket of a node line is closed."""
    start = _NODE.match(text)
    body = text[start.end() :] if start else text
    open_at = _operand_bracket(body)
    close_at = closing(body, open_at) if open_at >= 0 else -1
    if close_at < 0:
        return open_at < 0
    tail = body[close_at:]
    return tail.count("{") <= tail.count("}")


def _operand_bracket(body: str) -> int:
    """Where the operand list opens: after ``Conv2D``, ``call @g``, ``%3[@FuncUnion(@a, @b)]``, ``$(@g:n)``."""
    if body.startswith("$("):
        return body.find("(", body.find(")") + 1)
    bracket, square, brace = body.find("("), body.find("["), body.find("{")
    first = min((p for p in (square, brace) if p >= 0), default=-1)
    if 0 <= first < bracket:
        end = closing(body, first)
        return body.find("(", end) if end >= 0 else -1
    return bracket


def _attribute_groups(text: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Primitive attributes and primal attributes (``unique_id`` …) behind the operand list."""
    attrs: dict[str, Any] = {}
    primal: dict[str, Any] = {}
    position = 0
    while (open_at := text.find("{", position)) >= 0:
        close_at = closing(text, open_at)
        if close_at < 0:
            break
        label = text[position:open_at].strip()
        inner = text[open_at + 1 : close_at]
        if label == "primitive_attrs:" or (not label and not inner.startswith("in")):
            attrs |= parse_attrs(inner)
        elif label == "cnode_primal_attrs:":
            primal |= parse_attrs(inner)
        position = close_at + 1
    return attrs, primal
