"""Reader of ``ms_output_trace_code_graph_{id}.ir``, MindSpore 1.0 to 2.10.

The file is read once, line by line; a node that spans several lines is joined first. Lines nobody
understands are counted in ``Graph.unknown_lines`` and never stop the reading. Structural nodes are
resolved, so the graph holds operators only (see `workbench.graph.graph`). Every dialect gives the same
graph; ``Graph.dialect`` says which one it was (`workbench.graph_files.mindspore.releases`).
"""

from __future__ import annotations

import re
from dataclasses import field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench._values import dataclass
from workbench.core.errors import FormatError
from workbench.core.files import file_content
from workbench.core.long_work import checkpoint
from workbench.core.tensors import TensorSpec
from workbench.graph.graph import Graph, Parameter
from workbench.graph_files.cache import GraphCache
from workbench.graph_files.look import MAX_BYTES
from workbench.graph_files.mindspore.releases import dialect_of, inner_frame_first
from workbench.graph_files.mindspore.resolve import Node, resolve_nodes
from workbench.graph_files.mindspore.values import (
    HostType,
    closing,
    parse_attrs,
    parse_device_type,
    parse_host_type,
    parse_location,
    split_top,
    type_pieces,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

_HEADED = re.compile(r"^(?:# ?IR entry\s{0,64}:|subgraph @)", re.MULTILINE)
_NODE = re.compile(r" {0,4}(?:%(\d{1,9})(?:\(.*?\))? = |(?=[Rr]eturn\())")
_PARAM = re.compile(r"%para(\d{1,9})(?:_| = )(.*?) ?: (<.*)$")
_PARAM_REF = re.compile(r"%para(\d{1,9})(?!\d)")
_FIELDS = re.compile("  :  | : ")
_STOP = re.compile(_NODE.pattern + "|}|      #")
_DETAIL = ("      ", "    : ", "    # ", ": ", "# ")
_NAME = re.compile(r"(?:Fullname with scope|fullname_with_scope|Scope|scope): \((.*)\)$")
_NO_ATTRIBUTES = re.compile(r"instance name: |in_strategy: | ?strategy: ")
_GRAPH_ID = re.compile(r"_graph_(\d+)\.ir$")
_QUIET = re.compile(
    r"#|\}|\s*$|subgraph (?:attr|flag|instance|symbol)|switch_(?:layer_)?input|indirect: |parent: |"
    r"Node counting|Total number|symbol engine|jit config|\[shadow\]|\s*[\w.\-]+ ?: ?"
)
_GROUPS = {
    "Corresponding code candidate:": "candidate",
    "Corresponding forward node candidate:": "forward",
}
_COMMENT_INDENT = 8
MAX_JOINED = 4096
"""Most lines that one node may span."""


@dataclass(slots=True)
class Block:
    """One ``subgraph @name(...) {`` … ``}``, nothing resolved yet."""

    name: str
    params: tuple[int, ...]
    types: tuple[HostType, ...] = ()
    nodes: list[Node] = field(default_factory=list)


def read_ms_text(path: str | Path) -> Graph:
    """Read an ``.ir`` file; raises FormatError if it cannot be read or holds no graph at all."""
    path = Path(path)
    text = file_content(path, MAX_BYTES, "graph").decode("utf-8", "replace")
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    found = _GRAPH_ID.search(path.name)
    return _RECENT.graph(text, str(path), int(found[1]) if found else 0)


def parse_ms_text(text: str, where: str = "<text>") -> Graph:
    """Parse the text of an ``.ir`` file; ``where`` starts the message of an error."""
    return _read(text, where).graph()


_RECENT = GraphCache(parse_ms_text)


def _read(text: str, where: str) -> _Parser:
    excerpt = _HEADED.search(text) is None
    parser = _Parser(text.split("\n"), where, dialect_of(text), excerpt=excerpt)
    parser.run()
    if not parser.blocks or (excerpt and not parser.blocks[0].nodes):
        raise FormatError("graph_files/no-subgraph", place=f"{where}:1")
    return parser


def entry_block(text: str) -> tuple[Block, dict[int, Parameter]]:
    """Nodes of the entry graph as its text lists them, and the parameters by the number in ``%para3_x``."""
    parser = _read(text, "<text>")
    return parser.blocks[parser.entry_place], parser.params


class _Parser:
    """State of one reading: the lines, where we are, and what was found."""

    def __init__(
        self, lines: list[str], where: str, dialect: str, *, excerpt: bool = False
    ) -> None:
        self.lines = lines
        self.where = where
        self.dialect = dialect
        self.turned = inner_frame_first(dialect)
        self.entry = ""
        self.params: dict[int, Parameter] = {}
        self.blocks: list[Block] = []
        self.pending_types: tuple[HostType, ...] = ()
        self.unknown = 0
        self.excerpt = excerpt

    def run(self) -> None:
        """Read all lines; the nodes of an excerpt go to a block that no line opens."""
        node: Node | None = None
        block = self._open_block("subgraph @") if self.excerpt else None
        index, count = 0, len(self.lines)
        while index < count:
            checkpoint()
            line = self.lines[index]
            index += 1
            if node is not None and line.startswith(_DETAIL):
                self._detail(node, line)
                continue
            start = _NODE.match(line) if block is not None else None
            if start:
                node, index = self._node(line, start, index)
                if node is not None and block is not None:
                    block.nodes.append(node)
            elif line.startswith("subgraph @"):
                block, node = self._open_block(line), None
            elif line.startswith("}"):
                block, node = None, None
            else:
                if line.lstrip(" ").startswith("%"):
                    node = None  # the lines behind it are not about the node before it
                self._outside(line)

    def _outside(self, line: str) -> None:
        if line.startswith("%para"):
            self._param(line)
        elif line.startswith(("# IR entry", "#IR entry")):
            self.entry = line.rpartition("@")[2].strip()
        elif line.startswith("# Parameters: "):
            inner = line.partition("(")[2].rpartition(")")[0]
            self.pending_types = self._host_types(inner)
        elif not _QUIET.match(line):
            self.unknown += 1

    def _node(self, line: str, start: re.Match[str], index: int) -> tuple[Node | None, int]:
        """Read a node and the lines that still belong to it; returns the next line's index too."""
        body = line[start.end() :]
        open_at = _operand_bracket(body)
        close_at = closing(body, open_at) if open_at >= 0 else -1
        if open_at >= 0 and (close_at < 0 or _open_braces(body, close_at, len(body)) > 0):
            body, index = self._join(body, open_at, index)
            close_at = closing(body, open_at)
        if close_at < 0:
            self.unknown += 1
            return None, index
        attrs, primal, odd = _attribute_groups(body[close_at + 1 :])
        self.unknown += odd
        number = int(start[1]) if start[1] is not None else -1
        operands = tuple(split_top(body[open_at + 1 : close_at]))
        return Node(number, body[:open_at].strip(), operands, attrs, primal), index

    def _join(self, body: str, open_at: int, index: int) -> tuple[str, int]:
        """Append the lines that still belong to a node: operands and strings hold line breaks."""
        limit, end = min(len(self.lines), index + MAX_JOINED), index
        while end < limit and not _STOP.match(self.lines[end]):
            end += 1
        text = "\n".join((body, *self.lines[index:end]))
        close_at = closing(text, open_at)
        if close_at < 0:
            return text, end
        stop = text.find("\n", close_at)
        braces = _open_braces(text, close_at, stop)
        while braces > 0 and stop >= 0:
            start, stop = stop, text.find("\n", stop + 1)
            braces += _open_braces(text, start, stop)
        if stop < 0:
            return text, end
        return text[:stop], index + text.count("\n", 0, stop)

    def _detail(self, node: Node, line: str) -> None:
        """Use one of the indented lines behind a node; deeper ones are comments of the user."""
        text = line.lstrip(" ")
        if text.startswith("# "):
            self._comment(node, text[2:].lstrip(" "))
        elif len(line) - len(text) >= _COMMENT_INDENT:
            return
        elif text.startswith(": "):
            self._types(node, text[2:])
        elif text.strip():
            self.unknown += 1

    def _comment(self, node: Node, text: str) -> None:
        if text.startswith("- "):
            node.chain = len(node.frames)
            text = text[2:].lstrip(" ")
        if text.startswith(("In file ", "inlined:In file ")):
            frame = parse_location(text, node.group)
            if frame is None:
                self.unknown += 1
            else:
                node.frames.insert(node.chain if self.turned else len(node.frames), frame)
            return
        name = _NAME.match(text)
        if name:
            node.name = name[1]
        elif text in _GROUPS:
            node.group = _GROUPS[text]
            node.chain = len(node.frames)

    def _types(self, node: Node, text: str) -> None:
        """Sort a ``: (…) -> (…)`` line into host, device or object types by its content."""
        if text.startswith("full_name_with_scope: "):
            node.name = text.partition("(")[2].removesuffix(")")
            return
        left, arrow, right = text.partition(") -> (")
        ins, outs = left[1:] if arrow else text[1:-1], right[:-1] if arrow else ""
        if not node.host_in and not node.host_out and "<" in text:
            node.host_in, node.host_out = self._host_types(ins), self._host_types(outs)
        elif "<" in text and "[" not in text.partition("<")[0]:
            node.device_in = tuple(parse_device_type(piece) for piece in type_pieces(ins))
            node.device_out = tuple(parse_device_type(piece) for piece in type_pieces(outs))
        elif not arrow and ("/" in text or "-op" in text or ins.isdecimal()):
            node.name = ins
        elif arrow and "<" not in text:
            node.flatten = outs.strip() != "Tuple"

    def _host_types(self, text: str) -> tuple[HostType, ...]:
        return tuple(self._host_type(piece) for piece in type_pieces(text))

    def _host_type(self, text: str) -> HostType:
        """Read a host type; one that cannot be is empty and counts as not understood."""
        try:
            return parse_host_type(text)
        except FormatError:
            self.unknown += 1
            return HostType(())

    def _param(self, line: str) -> None:
        match = _PARAM.match(line)
        if not match:
            self.unknown += 1
            return
        host = self._host_type(_FIELDS.split(match[3], maxsplit=1)[0])
        _, known, weighs = line.rpartition("IsWeight:")
        weight = weighs.strip() == "true" if known else host.is_ref
        name = match[2]
        passed = not weight and (not name.strip("_0123456789") or host.is_monad)
        self.params[int(match[1])] = Parameter(
            name, _spec(host), weight, host.ref_key, captured=passed
        )

    def _open_block(self, line: str) -> Block:
        head, _, params = line[len("subgraph @") :].partition("(")
        name = head.split(" parent:")[0].strip()
        numbers = tuple(int(n) for n in _PARAM_REF.findall(params))
        for number, host, text in zip(numbers, self.pending_types, split_top(params), strict=False):
            pname = text.rpartition("{")[0] if "{" in text else text
            pname = pname.partition("_")[2].rstrip(") ")
            self.params.setdefault(number, Parameter(pname, _spec(host)))
        block = Block(name, numbers, self.pending_types)
        self.pending_types = ()
        self.blocks.append(block)
        return block

    @property
    def entry_place(self) -> int:
        """Which block is the entry graph: the one that the header names, else the first."""
        names = [block.name for block in self.blocks]
        return names.index(self.entry) if self.entry in names else 0

    def graph(self) -> Graph:
        """Build the entry graph with the others as its subgraphs."""
        entry = self.entry_place
        others = tuple(
            self._build(block) for number, block in enumerate(self.blocks) if number != entry
        )
        graph = self._build(self.blocks[entry])
        return replace(graph, subgraphs=others, unknown_lines=self.unknown, is_excerpt=self.excerpt)

    def _build(self, block: Block) -> Graph:
        parameters, index = self._numbered(block.params) if block.params else self._free
        ops, outputs = resolve_nodes(block.nodes, index, self.where)
        inner = any(parameter.captured for parameter in parameters)
        return Graph(block.name, parameters, ops, outputs, dialect=self.dialect, inner=inner)

    @cached_property
    def _free(self) -> tuple[tuple[Parameter, ...], dict[int, int]]:
        """Parameters that no subgraph lists as its own: those of every graph that lists none."""
        return self._numbered(
            sorted(self.params.keys() - {n for b in self.blocks for n in b.params})
        )

    def _numbered(self, numbers: Sequence[int]) -> tuple[tuple[Parameter, ...], dict[int, int]]:
        """Parameters of these numbers, and the place of every number among them."""
        blank = Parameter("", TensorSpec("", None))
        parameters = tuple(self.params.get(number, blank) for number in numbers)
        return parameters, {number: position for position, number in enumerate(numbers)}


def _spec(host: HostType) -> TensorSpec:
    return host.specs[0] if host.specs else TensorSpec("", None)


def _open_braces(text: str, start: int, end: int) -> int:
    """How many more braces open than close between two positions; ``end`` may be -1."""
    stop = len(text) if end < 0 else end
    return text.count("{", start, stop) - text.count("}", start, stop)


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


def _attribute_groups(text: str) -> tuple[dict[str, Any], dict[str, Any], int]:
    """Primitive attributes and primal attributes (``unique_id`` …) behind the operand list.

    Returns too whether a group was not understood: 1 or 0.
    """
    attrs: dict[str, Any] = {}
    primal: dict[str, Any] = {}
    position = 0
    while (open_at := text.find("{", position)) >= 0:
        close_at = closing(text, open_at)
        if close_at < 0:
            return attrs, primal, 1
        label = text[position:open_at].strip()
        inner = text[open_at + 1 : close_at]
        if label == "primitive_attrs:" or (not label and not _NO_ATTRIBUTES.match(inner)):
            attrs |= parse_attrs(inner)
        elif label == "cnode_primal_attrs:":
            primal |= parse_attrs(inner)
        position = close_at + 1
    return attrs, primal, 0
