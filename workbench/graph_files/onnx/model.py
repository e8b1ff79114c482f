"""Reader of ONNX models: each node becomes one operator, whether anybody knows its type or not.

A model is walked field by field and its nodes are decoded one at a time; values of weights stay where they are
(`tensors.OnnxTensor`), so that of a model of gigabytes its text alone is read. Numbers of fields are those of
``onnx.proto``. Names of values become edges; a node without a name gets the one that ATC's parser gives it.
"""

from __future__ import annotations

from collections import defaultdict, deque
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any, cast

from workbench._values import NamedTuple, dataclass
from workbench.core.dtypes import names_by
from workbench.core.errors import FormatError, GraphError
from workbench.core.files import open_file, size_within, unreadable
from workbench.core.long_work import checkpoint
from workbench.core.tensors import TensorSpec
from workbench.graph.graph import Const, FreeRef, Graph, GraphRef, Op, Param, Parameter, Value
from workbench.graph_files.look import FileBytes
from workbench.graph_files.onnx.dialect import (
    DIALECT,
    DOMAIN,
    NOTES,
    OPEN_SHAPES,
    OUTPUTS,
    PREFIX,
    UNNAMED,
)
from workbench.graph_files.onnx.source import STACK, frames_of
from workbench.graph_files.onnx.tensors import Model, OnnxTensor
from workbench.proto.schema import Schema, fields
from workbench.proto.wire import CutOffError, check_type, decode, walk

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from workbench.graph.graph import Operand
    from workbench.proto.wire import Content, WireField

MAX_BYTES = 1 << 31
"""Most bytes of a model: protobuf reads no larger message."""

_MAX_ENTRIES = 1 << 20
"""Most nodes, weights and values of a model together."""
_DEEPEST = 100

_MESSAGES = {
    "ModelProto": "1 ir_version int64, 2 producer_name text, 3 producer_version text, 7 graph Opaque, "
    "8 opset_import OpsetId*, 25 functions Function*",
    "OpsetId": "1 domain text, 2 version int64",
    "Function": "1 name text, 10 domain text",
    "GraphProto": "1 node NodeProto*, 2 name text, 5 initializer TensorProto*, 11 input ValueInfo*, "
    "12 output ValueInfo*, 13 value_info ValueInfo*, 15 sparse_initializer SparseTensor*",
    "NodeProto": "1 input text*, 2 output text*, 3 name text, 4 op_type text, 5 attribute Opaque*, "
    "6 doc_string text, 7 domain text, 9 metadata_props Entry*",
    "Entry": "1 key text, 2 value text",
    "AttributeProto": "1 name text, 2 f float, 3 i int64, 4 s text, 5 t Opaque, 6 g Opaque, 7 floats float*, "
    "8 ints int64*, 9 strings text*, 10 tensors Opaque*, 11 graphs Opaque*, 20 type int32, 21 ref_attr_name text, "
    "22 sparse_tensor Opaque",
    "ValueInfo": "1 name text, 2 type Type",
    "Type": "1 tensor_type TensorType",
    "TensorType": "1 elem_type int32, 2 shape Shape",
    "Shape": "1 dim Dim*",
    "Dim": "1 dim_value int64, 2 dim_param text",
    "TensorProto": "1 dims int64*, 2 data_type int32, 8 name text, 13 external_data Entry*, 14 data_location int32",
    "SparseTensor": "1 values TensorProto, 3 dims int64*",
    "Opaque": "",
}
ONNX_MODEL = Schema(
    "onnx_model", {message: fields(rows) for message, rows in _MESSAGES.items()}, syntax="proto2"
)

_TYPES = names_by("onnx")
_EXTERNAL = 1
_KINDS = (
    "",
    "f",
    "i",
    "s",
    "t",
    "g",
    "floats",
    "ints",
    "strings",
    "tensors",
    "graphs",
    "sparse_tensor",
)
"""``AttributeProto.AttributeType`` → the field that holds the value."""
_SUBGRAPHS = {"then_branch": 0, "else_branch": 1}
"""Number of a subgraph of a node for ATC; any other one is counted."""
UNCONNECTED = Const(None, "None")
"""An optional input that is not there."""
_UNKNOWN = TensorSpec("", None)


def read_onnx_model(path: Path) -> Graph:
    """Read the graph of a model as it is; weights stay in the file.

    Raises FormatError with its byte if it is damaged, GraphError if its edges are none.
    """
    with open_file(path, "graph") as file:
        size = size_within(file, path, MAX_BYTES, "graph")
        try:
            model = Model(str(path), path, folder=path.parent)
            return _Reader(model, FileBytes(file, size)).graph()
        except (OSError, IndexError) as error:  # it may shrink while it is read
            raise unreadable(path, error, "graph") from error


def parse_onnx_model(data: bytes, where: str = "<bytes>", folder: Path | None = None) -> Graph:
    """Read the graph of the bytes of a ``ModelProto``; files of weights lie in ``folder``."""
    return _Reader(Model(where, data=data, folder=folder), data).graph()


class Span(NamedTuple):
    """Where a message begins and ends."""

    start: int
    end: int


class _Names(NamedTuple):
    """What the names of a graph stand for: operands, and what is said of them."""

    operands: dict[str, Operand]
    specs: dict[str, TensorSpec]


_Scopes = tuple[tuple[str, _Names], ...]
"""Graphs by name with the names of their values, the innermost last."""


class _Waiting(NamedTuple):
    """A graph that is still to be read: its name, where it lies, and the graphs around it."""

    name: str
    spans: tuple[Span, ...]
    around: _Scopes = ()


@dataclass
class _Reader:
    """State of one reading: how much has been read, and the graphs that wait."""

    model: Model
    data: Content
    entries: int = 0
    unnamed: int = 0
    waiting: deque[_Waiting] = field(default_factory=deque)

    def graph(self) -> Graph:
        """Read the graph of the model, and those of its nodes, level by level as ATC numbers them."""
        spans: list[Span] = []
        opsets: list[tuple[str, int]] = []
        functions: list[tuple[str, str]] = []
        for row, found in self._fields("ModelProto", (Span(0, len(self.data)),)):
            span = Span(found.start, found.end)
            if row == "graph":
                spans.append(span)
            elif row == "opset_import":
                said = self._decode("OpsetId", span)
                opsets.append((self._text(said.domain), said.version))
            elif row == "functions":
                said = self._decode("Function", span)
                functions.append((self._text(said.domain), self._text(said.name)))
        self.waiting.append(_Waiting("", tuple(spans)))
        attrs = {"opset_import": tuple(opsets), "functions": tuple(functions)}
        graphs: list[Graph] = []
        while self.waiting:
            graphs.append(self._graph(self.waiting.popleft(), {} if graphs else attrs))
        return replace(graphs[0], subgraphs=tuple(graphs[1:]))

    def _graph(self, one: _Waiting, attrs: Mapping[str, Any]) -> Graph:
        entries: dict[str, list[Span]] = defaultdict(list)
        for row, found in self._fields("GraphProto", one.spans):
            entries[row].append(Span(found.start, found.end))
        names = _Names({}, {})
        infos = {row: self._infos(entries[row], names) for row in ("value_info", "output", "input")}
        parameters = self._parameters(entries, infos["input"], names)
        title = one.name or "".join(
            self._text(self.data[slice(*span)]) for span in entries["name"][-1:]
        )
        here = (*one.around, (title, names))
        ops: list[Op] = []
        for span in entries["node"]:
            checkpoint()
            ops.append(self._op(span, len(ops), here))
        return Graph(
            title,
            parameters,
            tuple(ops),
            tuple(self._output(name, here) for name, _ in infos["output"]),
            attrs={**attrs, **self._open_shapes(infos["input"])},
            dialect=DIALECT,
            path=str(self.model.path or ""),
        )

    # values

    def _infos(self, spans: Iterable[Span], names: _Names) -> list[tuple[str, Any]]:
        """Names and types of values."""
        found = []
        for span in spans:
            info = self._decode("ValueInfo", span)
            name = self._text(info.name)
            found.append((name, info.type))
            names.specs[name] = self._spec(info.type)
        return found

    def _spec(self, kind: Any) -> TensorSpec:
        if not kind.HasField("tensor_type"):
            return _UNKNOWN
        shape = self._sizes(kind.tensor_type)
        known = shape is not None and all(isinstance(size, int) for size in shape)
        dtype = _dtype(kind.tensor_type.elem_type)
        return TensorSpec(dtype, cast("tuple[int, ...]", shape) if known else None)

    def _sizes(self, tensor: Any) -> tuple[int | str, ...] | None:
        """Sizes of a tensor, open ones by their names; ``None`` if not even their number is known.

        Converters write -1 for an open size without a name.
        """
        if not tensor.HasField("shape"):
            return None
        return tuple(
            dim.dim_value
            if dim.HasField("dim_value") and dim.dim_value >= 0
            else self._text(dim.dim_param) or "?"
            for dim in tensor.shape.dim
        )

    def _open_shapes(self, inputs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
        shapes = {name: self._sizes(kind.tensor_type) for name, kind in inputs}
        found = {
            name: sizes for name, sizes in shapes.items() if sizes and any(map(_is_open, sizes))
        }
        return {OPEN_SHAPES: found} if found else {}

    def _parameters(
        self, entries: Mapping[str, list[Span]], inputs: Iterable[tuple[str, Any]], names: _Names
    ) -> tuple[Parameter, ...]:
        """Inputs, and behind them weights; an input that has a value is a weight."""
        weights = [self._tensor(span) for span in entries["initializer"]]
        weights += [self._sparse(span) for span in entries["sparse_initializer"]]
        named = {weight.name for weight in weights}
        feeds = [Parameter(name, names.specs[name]) for name, _ in inputs if name not in named]
        found = [
            *feeds,
            *(
                Parameter(one.name, one.spec, is_weight=True, default=one)
                for one in weights
                if one.name
            ),
        ]
        for number, parameter in enumerate(found):
            if parameter.name in names.operands:
                raise GraphError(
                    "graph/onnx-name-twice", place=self.model.where, got=parameter.name
                )
            names.operands[parameter.name] = Param(number)
            names.specs[parameter.name] = parameter.spec
        return tuple(found)

    def _tensor(self, span: Span, name: str = "") -> OnnxTensor:
        """What is said of a tensor; its values are passed over."""
        known = ONNX_MODEL.by_number["TensorProto"]
        kept, at = [], span.start
        for found in walk(self.data, self.model.where, *span):
            self._count(found)
            if found.number in known:
                kept.append(self.data[at : found.end])
            at = found.end
        place = f"{self.model.where}: tensor at byte {span.start}"
        said = decode(ONNX_MODEL, "TensorProto", b"".join(kept), place)
        spec = TensorSpec(_dtype(said.data_type), self._list(said.dims, span))
        files = {self._text(one.key): self._text(one.value) for one in said.external_data}
        return OnnxTensor(
            name or self._text(said.name),
            spec,
            said.data_type,
            self.model,
            *span,
            files if said.data_location == _EXTERNAL else None,
        )

    def _sparse(self, span: Span, name: str = "") -> OnnxTensor:
        said = self._decode("SparseTensor", span)
        values = said.values
        spec = TensorSpec(_dtype(values.data_type), self._list(said.dims, span))
        name = name or self._text(values.name)
        return OnnxTensor(name, spec, values.data_type, self.model, *span, sparse=True)

    # nodes

    def _op(self, span: Span, number: int, here: _Scopes) -> Op:
        node = self._decode("NodeProto", span)
        name, op_type = self._text(node.name), self._text(node.op_type)
        place = f"{self.model.where}: node {title_of(name, number)} ({op_type})"
        shown = name or f"{op_type}_{self.unnamed}"
        self.unnamed += not name
        inputs = [self._text(one) for one in node.input]
        outputs = tuple(self._text(one) for one in node.output)
        operands = tuple(self._operand(one, here, place) for one in inputs)
        names = here[-1][1]
        notes = {self._text(one.key): self._text(one.value) for one in node.metadata_props}
        attrs = self._attrs(span, shown, here)
        if op_type == "Constant" and isinstance(attrs.get("value"), OnnxTensor) and outputs:
            names.specs.setdefault(outputs[0], attrs["value"].spec)
        for slot, one in enumerate(outputs):
            if one and one in names.operands:
                raise GraphError("graph/onnx-output-twice", place=place, got=one)
            if one:
                names.operands[one] = Value(number, slot)
        own = {
            DOMAIN: self._text(node.domain),
            NOTES: {key: text for key, text in notes.items() if key != STACK},
            UNNAMED: not name,
        }
        return Op(
            shown,
            op_type,
            operands,
            attrs | {OUTPUTS: outputs} | {key: value for key, value in own.items() if value},
            tuple(names.specs.get(one, _UNKNOWN) for one in outputs),
            tuple(self._spec_of(one, here) for one in inputs),
            frames=frames_of(notes, self._text(node.doc_string)),
        )

    def _operand(self, name: str, here: _Scopes, place: str) -> Operand:
        """What a name stands for: in this graph, or in one around it."""
        if not name:
            return UNCONNECTED
        found = here[-1][1].operands.get(name)
        if found is not None:
            return found
        for title, names in here[-2::-1]:
            if name in names.operands:
                return FreeRef(title, name)
        raise GraphError("graph/onnx-input-later", got=name).at(place)

    def _spec_of(self, name: str, here: _Scopes) -> TensorSpec | None:
        return next((names.specs[name] for _, names in here[::-1] if name in names.specs), None)

    def _output(self, name: str, here: _Scopes) -> Operand:
        try:
            return self._operand(name or " ", here, "")
        except GraphError:
            place = self.model.where
            raise GraphError("graph/onnx-output-nowhere", place=place, got=name) from None

    def _attrs(self, span: Span, title: str, here: _Scopes) -> dict[str, Any]:
        """Attributes of a node; one that is called as what the dialect adds is none of ONNX's."""
        found: dict[str, Any] = {}
        for row, one in self._fields("NodeProto", (span,)):
            if row == "attribute":
                at = Span(one.start, one.end)
                said = self._decode("AttributeProto", at)
                name = self._text(said.name)
                if not name.startswith(PREFIX):
                    found[name] = self._value(said, at, name, title, here)
        return found

    def _value(self, said: Any, span: Span, name: str, title: str, here: _Scopes) -> Any:
        """Python value of an attribute; ``None`` for kinds that have no value here."""
        if said.ref_attr_name:
            return FreeRef("", self._text(said.ref_attr_name))
        kind = _kind_of(said)
        if kind in ("f", "i"):
            return getattr(said, kind)
        if kind in ("floats", "ints"):
            return self._list(getattr(said, kind), span)
        if kind in ("s", "strings"):
            texts = tuple(_shown(one) for one in ([said.s] if kind == "s" else said.strings))
            return texts[0] if kind == "s" else texts
        spans = [
            Span(at.start, at.end)
            for row, at in self._fields("AttributeProto", (span,))
            if row == kind
        ]
        if kind in ("g", "graphs"):
            refs = tuple(self._subgraph(one, n, name, title, here) for n, one in enumerate(spans))
            return refs if kind == "graphs" else (refs or (None,))[-1]
        if kind == "tensors":
            return tuple(self._tensor(one, name) for one in spans)
        last = spans[-1] if spans else Span(span.end, span.end)
        return {"t": self._tensor, "sparse_tensor": self._sparse}.get(kind, _nothing)(last, name)

    def _subgraph(self, span: Span, number: int, name: str, title: str, here: _Scopes) -> GraphRef:
        """Let a graph that a node holds be read; it is called as ATC calls it."""
        if len(here) >= _DEEPEST:
            place = f"{self.model.where}: byte {span.start}"
            raise FormatError("graph/onnx-graphs-deep", place=place, most=_DEEPEST, got=title)
        own = f"{title}_{_SUBGRAPHS.get(name, number)}_{name}"
        self.waiting.append(_Waiting(own, (span,), here))
        return GraphRef(own)

    # bytes

    def _fields(self, message: str, spans: Iterable[Span]) -> Iterator[tuple[str, WireField]]:
        """Yield the declared fields of a message; several of one and the same are one, as protobuf has it."""
        known = ONNX_MODEL.by_number[message]
        for span in spans:
            try:
                for found in walk(self.data, self.model.where, *span):
                    self._count(found)
                    row = known.get(found.number)
                    if row is not None:
                        check_type(ONNX_MODEL, message, row, found, self.model.where)
                        yield row.name, found
            except FormatError as error:
                if self.entries or isinstance(error, CutOffError):
                    raise
                raise FormatError(
                    "graph/onnx-invalid", place=self.model.where, why=error
                ) from error

    def _count(self, found: WireField) -> None:
        self.entries += 1
        if self.entries > _MAX_ENTRIES:
            place = f"{self.model.where}: byte {found.start}"
            raise FormatError("proto/fields", place=place, limit=_MAX_ENTRIES)

    def _list(self, values: Any, span: Span) -> tuple[Any, ...]:
        """Return numbers of a field; packed ones take a byte in the file and 32 in memory."""
        if len(values) > _MAX_ENTRIES:
            place = f"{self.model.where}: byte {span.start}"
            raise FormatError("proto/fields", place=place, limit=_MAX_ENTRIES)
        return tuple(values)

    def _decode(self, message: str, span: Span) -> Any:
        return decode(ONNX_MODEL, message, self.data, self.model.where, *span)

    def _text(self, content: bytes) -> str:
        """Text of the model; raises FormatError if it is none."""
        try:
            return content.decode("utf-8")
        except UnicodeDecodeError as error:
            got = content[:80].decode("latin-1")
            raise FormatError("graph/onnx-utf8", place=self.model.where, got=got) from error


def title_of(name: str, number: int) -> str:
    """What a node is called in messages: its name, or its number if it has none.

    >>> title_of("conv1", 3), title_of("", 3)
    ("'conv1'", '#3')
    """
    return repr(name) if name else f"#{number}"


def _dtype(number: int) -> str:
    return _TYPES.get(number, f"type {number}") if number else "undefined"


def _is_open(size: int | str) -> bool:
    return isinstance(size, str)


def _kind_of(said: Any) -> str:
    """Field that holds the value of an attribute; models of old say it only by having that field."""
    if said.type:
        return _KINDS[said.type] if 0 < said.type < len(_KINDS) else ""
    return next((row.name for row, _ in said.ListFields() if row.name in _KINDS), "")


def _nothing(_span: Span, _name: str) -> None:
    return None


def _shown(content: bytes) -> str:
    return content.decode("utf-8", "backslashreplace")
