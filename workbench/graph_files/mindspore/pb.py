"""Reader of MindSpore's ``.pb`` graphs: ``ms_output_trace_code_graph_{id}.pb`` and saved stages.

The graph is the one that the text reader makes of the ``.ir`` file of the same graph, as far as the
file holds it. It does not hold device types, attributes of nodes (``unique_id``), the values of
constant tensors, the names of graphs used as values, the bits of a type (``F16`` is ``Float``), and
the shapes of results in a tuple: those are known for results that a TupleGetItem takes out.
The debugger's files do not say the dtype and shape of constant tensors either, the stages' files have
no source lines. The gradients of a layer that is called several times all name the line of its last
call, where the ``.ir`` file names each one's own.

Which parameters are weights is not said; those are taken for it that are read by Load or by an
operator with a side effect (it takes a monad), for both want a reference.
"""

from __future__ import annotations

import re
from dataclasses import field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench._values import dataclass
from workbench.core.dtypes import DTYPES
from workbench.core.errors import FormatError
from workbench.core.files import file_content
from workbench.core.long_work import checkpoint
from workbench.core.tensors import TensorSpec
from workbench.graph.graph import Const, Graph, GraphRef, Param, Parameter
from workbench.graph_files.look import MAX_BYTES
from workbench.graph_files.mindspore.messages import (
    ANF,
    DEBUGGER,
    SCALAR_FIELDS,
    SCHEMAS,
    type_word,
)
from workbench.graph_files.mindspore.resolve import STRUCTURAL, Node, resolve_nodes
from workbench.graph_files.mindspore.values import UNKNOWN, HostType, parse_location
from workbench.proto.text import single
from workbench.proto.wire import BYTES, check_type, decode, walk

if TYPE_CHECKING:
    from collections.abc import Iterator

    from workbench.graph.graph import Operand, SourceFrame
    from workbench.proto.wire import WireField

MAX_ENTRY = 1 << 23
"""Most bytes of one node, parameter or constant: they are decoded one at a time."""

MAX_ENTRIES = 1 << 18
"""Most nodes, parameters, outputs and constants of a graph."""

_GRAPH_ID = re.compile(r"_(?:graph|vm_build)_(\d+)\.pb$")
_GROUPS = {
    "Corresponding code candidate:": "candidate",
    "Corresponding forward node candidate:": "forward",
}
_LIST_FIELDS = {
    16: "bool_vals",
    **dict.fromkeys(range(17, 21), "int_vals"),
    **dict.fromkeys(range(21, 25), "uint_vals"),
    **dict.fromkeys((25, 26), "float_vals"),
    27: "double_vals",
    28: "str_vals",
    31: "values",
    32: "values",
}
_TENSOR, _NONE, _DICT, _TYPE, _SEQUENCES = 14, 34, 33, 39, (31, 32)


def read_ms_pb(path: str | Path) -> Graph:
    """Read a ``.pb`` graph; raises FormatError if it cannot be read or is none."""
    path = Path(path)
    data = file_content(path, MAX_BYTES, "graph")
    graph = parse_ms_pb(data, str(path))
    found = _GRAPH_ID.search(path.name)
    return replace(graph, path=str(path), graph_id=int(found[1]) if found else 0)


def parse_ms_pb(data: bytes, where: str = "<bytes>") -> Graph:
    """Decode the bytes of a ``.pb`` graph; ``where`` starts the message of an error.

    ``Graph.dialect`` says which protocol it is: ``pb-debugger`` or ``pb-anf``.
    """
    entries = _entries(data, where)
    return _Parser(data, where, _dialect(data, where, entries), entries).graph()


def _entries(data: bytes, where: str) -> list[WireField]:
    """Fields of the graph in the file: nodes, parameters, outputs, constants, names."""
    found: list[WireField] = []
    graphs = 0
    for top in walk(data, where, 0, len(data)):
        if top.number == 4 and top.wire == BYTES:
            graphs += 1
            for entry in walk(data, where, top.start, top.end):
                found.append(entry)
                if len(found) > MAX_ENTRIES or entry.end - entry.start > MAX_ENTRY:
                    raise FormatError(
                        "graph_files/entries",
                        place=f"{where}: byte {entry.start}",
                        number=len(found),
                        most=MAX_ENTRIES,
                        size=entry.end - entry.start,
                        largest=MAX_ENTRY,
                    )
    if not graphs:
        raise FormatError("graph_files/no-pb-graph", place=f"{where}: byte 0")
    return found


def _dialect(data: bytes, where: str, entries: list[WireField]) -> str:
    """Which protocol wrote the file: only the debugger's has these three fields."""
    for entry in entries:
        if entry.number == 6:
            return DEBUGGER
        own = {1: 9, 5: 3}.get(entry.number)
        if own and entry.wire == BYTES:
            fields = walk(data, where, entry.start, entry.end)
            if any(field.number == own for field in fields):
                return DEBUGGER
    return ANF


@dataclass(frozen=True, slots=True)
class _Named:
    """What a name of the file stands for: an operand and its host type."""

    operand: str | Operand
    host: HostType
    count: int = 1


@dataclass
class _Parser:
    """State of one reading: the names known so far and the nodes."""

    data: bytes
    where: str
    dialect: str
    entries: list[WireField]
    names: dict[str, _Named] = field(default_factory=dict)
    nodes: list[Node] = field(default_factory=list)
    unknown: int = 0

    def graph(self) -> Graph:
        """Build the graph: parameters and constants first, for nodes stand before them in the file."""
        title = ""
        for at in self.entries:
            if at.number == 2:
                title = _text(self.data[at.start : at.end])
        parameters = [self._parameter(message) for message, _ in self._messages("parameters")]
        for number, parameter in enumerate(parameters):
            self._name(parameter.name, Param(number), HostType((parameter.spec,)))
        for message, _ in self._messages("const_vals"):
            self._constant(message)
        for message, place in self._messages("node"):
            checkpoint()
            self.nodes.append(self._node(message, place))
        _complete_tuples(self.nodes)
        returned = [
            self._known(_text(message.name), place).operand
            for message, place in self._messages("outputs")
        ]
        self.nodes.append(Node(-1, "Return", tuple(returned), {}, {}))
        ops, outputs = resolve_nodes(self.nodes, {}, self.where)
        return Graph(
            title,
            _weights(parameters, self.nodes),
            ops,
            outputs,
            dialect=self.dialect,
            unknown_lines=self.unknown,
        )

    def _messages(self, name: str) -> Iterator[tuple[Any, str]]:
        """Decoded entries of a repeated field of the graph, each with its place."""
        schema = SCHEMAS[self.dialect]
        row = schema.by_name["GraphProto"][name]
        for entry in self.entries:
            if entry.number != row.number:
                continue
            check_type(schema, "GraphProto", row, entry, self.where)
            message = decode(schema, row.kind, self.data, self.where, entry.start, entry.end)
            yield message, f"{self.where}: byte {entry.start}"

    def _name(self, name: str, operand: str | Operand, host: HostType) -> None:
        known = self.names.get(name)
        count = known.count + 1 if known else 1
        self.names[name] = _Named(operand, host, count)

    def _known(self, name: str, place: str) -> _Named:
        known = self.names.get(name)
        if known is None:
            raise FormatError("graph_files/input-unknown", place=place, got=name)
        if known.count > 1:
            raise FormatError(
                "graph_files/input-ambiguous", place=place, got=name, count=known.count
            )
        return known

    def _parameter(self, message: Any) -> Parameter:
        host = self._host(message.type)
        spec = host.specs[0] if host.specs else TensorSpec("", None)
        return Parameter(_text(message.name), spec)

    def _constant(self, message: Any) -> None:
        operand = self._const(message)
        if isinstance(operand, GraphRef):
            specs: tuple[TensorSpec, ...] = (TensorSpec("Func", ()),)
        elif operand.value == UNKNOWN and not operand.dtype:
            specs = ()
        else:
            specs = (TensorSpec(operand.dtype or "String", operand.shape or ()),)
        word = operand.dtype if isinstance(operand, Const) else ""
        host = HostType(specs, is_tuple=word == "tuple", is_monad=word == "monad")
        self._name(_text(message.key), operand, host)

    def _const(self, message: Any) -> Const | GraphRef:
        """Constant operand. The two protocols differ in what they leave out."""
        value = message.value
        if not message.HasField("value"):
            return Const(UNKNOWN)
        number = value.dtype
        if not number:
            if value.str_val or self.dialect == DEBUGGER:
                return Const(_text(value.str_val) or "U", "monad")
            return GraphRef(_text(message.key))
        if number == _TENSOR:
            tensor = value.tensor_val
            return Const(UNKNOWN, type_word(self.dialect, tensor.data_type), tuple(tensor.dims))
        content = self._value(value)
        if isinstance(content, tuple):
            return Const(content, "tuple", (len(content),))
        if content is None:
            return Const(None, "None")
        word = type_word(self.dialect, number)
        return Const(content, word, ()) if word in DTYPES else Const(content)

    def _value(self, value: Any) -> Any:
        """Python value of an attribute or a constant; ``None`` for kinds that have no value here."""
        number = value.dtype
        if number in SCALAR_FIELDS:
            return _plain(getattr(value, SCALAR_FIELDS[number]), number)
        if number in _SEQUENCES:
            return tuple(self._value(item) for item in value.values)
        if number in _LIST_FIELDS:
            return tuple(_plain(item, number) for item in getattr(value, _LIST_FIELDS[number]))
        if number == _TYPE:
            return type_word(self.dialect, value.type_val.data_type)
        if number == _DICT:
            return {_text(item.key): self._value(item.value) for item in value.dict_val}
        if number == _TENSOR:
            return UNKNOWN
        return None if number == _NONE else _text(value.str_val) or None

    def _node(self, message: Any, place: str) -> Node:
        """Node of the file; one that calls a graph comes without any content, only its turn is known."""
        number = len(self.nodes)
        name, kind = _text(message.name), _text(message.op_type)
        if not message.ListFields():
            name, kind = str(number + 1), "call"
        elif not name or not kind:
            raise FormatError("graph_files/node-unnamed", place=place, name=name, type=kind)
        inputs = [self._known(_text(item.name), place) for item in message.input]
        host = self._host(message.output_type)
        through = kind in ("Depend", "Load") and bool(inputs)
        self._name(name, inputs[0].operand if through else f"%{number}", host)
        return Node(
            number,
            kind,
            tuple(known.operand for known in inputs),
            {_text(item.name): self._value(item.value) for item in message.attribute},
            {},
            name=_text(message.full_name),
            host_in=tuple(known.host for known in inputs),
            host_out=(host,) if host.specs else (),
            frames=list(self._frames(message)),
        )

    def _frames(self, message: Any) -> Iterator[SourceFrame]:
        """Source lines, turned round: the file has the innermost first, a graph the outermost."""
        if self.dialect != DEBUGGER:
            return
        group = "own"
        chain: list[SourceFrame] = []
        for line in _text(message.source_address).split("\n"):
            text = line.strip().removeprefix("#").strip()
            fresh = text in _GROUPS or text.startswith("- ")
            if fresh:
                yield from reversed(chain)
                chain = []
                group = _GROUPS.get(text, group)
            frame = parse_location(text.removeprefix("- "), group)
            if frame is not None:
                chain.append(frame)
            elif text and text not in _GROUPS:
                self.unknown += 1
        yield from reversed(chain)

    def _host(self, message: Any, *, inside: bool = False) -> HostType:
        """Host type. A tensor without a shape is a scalar, or, inside a tuple, of unknown shape."""
        number = message.data_type
        if message.HasField("sequence_type"):
            items = [self._host(item, inside=True) for item in message.sequence_type.elem_types]
            return HostType(tuple(spec for item in items for spec in item.specs), is_tuple=True)
        if number in _SEQUENCES:
            return HostType((), is_tuple=True)
        if not number:
            return HostType(())
        if not message.HasField("tensor_type"):
            word = type_word(self.dialect, number)
            return HostType((TensorSpec(word, ()),), is_monad=word.endswith("Monad"))
        tensor = message.tensor_type
        dims: tuple[int, ...] | None = tuple(dim.size for dim in tensor.shape.dim)
        if dims == (-2,) or (inside and not tensor.HasField("shape")):
            dims = None
        return HostType((TensorSpec(type_word(self.dialect, tensor.elem_type), dims),))


def _text(content: bytes) -> str:
    return content.decode("utf-8", errors="replace")


def _plain(value: Any, number: int) -> Any:
    """Python value of a scalar; a float of 32 bits in the fewest digits that name it."""
    if isinstance(value, bytes):
        return _text(value)
    if isinstance(value, float) and number not in (12, 27):
        return single(value)
    return value


def _complete_tuples(nodes: list[Node]) -> None:
    """Give results in a tuple the shapes that their TupleGetItem nodes state."""
    for node in nodes:
        if node.head not in ("TupleGetItem", "tuple_getitem") or len(node.operands) != 2:
            continue
        source, index = node.operands
        if not isinstance(source, str) or not isinstance(index, Const) or not node.host_out:
            continue
        whole = nodes[int(source[1:])]
        specs = list(whole.host_out[0].specs) if whole.host_out else []
        slot = index.value
        if isinstance(slot, int) and 0 <= slot < len(specs) and specs[slot].shape is None:
            specs[slot] = node.host_out[0].specs[0]
            whole.host_out = (whole.host_out[0]._replace(specs=tuple(specs)),)


def _weights(parameters: list[Parameter], nodes: list[Node]) -> tuple[Parameter, ...]:
    """Mark the parameters that somebody reads through a reference; Print takes what it gets."""
    read: set[Operand | str] = set()
    for node in nodes:
        if node.head == "Load":
            read.update(node.operands[:1])
        elif node.head not in (*STRUCTURAL, "Print") and any(h.is_monad for h in node.host_in):
            read.update(operand for operand in node.operands if isinstance(operand, Param))
    return tuple(
        replace(parameter, is_weight=True, ref_key=parameter.name)
        if Param(number) in read
        else parameter
        for number, parameter in enumerate(parameters)
    )
