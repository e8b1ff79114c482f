"""Writer of ``ms_output_trace_code_graph_{id}.pb``: the debugger's protobuf that lies next to the ``.ir``.

It is made from the lines of the ``.ir`` text, so node ``%n`` there is the node called ``n + 1`` here, and
both files of a dump agree. Promise (`tests/graph_files/mindspore/test_write_pb.py`):
`workbench.graph_files.mindspore.pb` reads the same graph as far as the format holds it (its docstring
says what is not held), and the messages have the fields
that MindSpore sets, in its order. Only the entry graph is written, as MindSpore does.

What MindSpore's own file of the same graph says otherwise, for the text does not tell it (graphs without
gradients come out byte for byte):

- constants: the text does not show whether two equal ones are one; here they are
- a tuple of words in an attribute is a list here; a few operators, and 2.0.0 always, have a tuple
- an attribute that is an integer of 32 bits has 64 here, and so has a float for which 2.0.0 prints ``1``;
  its constants are called ``Default--data-0`` if the caller says so
- tracebacks: of nested expressions the innermost counts; where MindSpore also leaves out an enclosing
  statement, or merges several tracebacks, the lines differ
"""

from __future__ import annotations

import re
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.core.dtypes import DTYPES, dtype_name
from workbench.core.errors import GraphError
from workbench.graph_files.mindspore.messages import (
    DEBUGGER,
    SCALAR_FIELDS,
    SCHEMAS,
    type_number,
)
from workbench.graph_files.mindspore.print import location
from workbench.graph_files.mindspore.text import entry_block
from workbench.graph_files.mindspore.values import parse_const, run_of, split_top

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from workbench.graph.graph import Operand, Parameter, SourceFrame
    from workbench.graph_files.mindspore.resolve import Node
    from workbench.graph_files.mindspore.values import HostType

_IR_VERSION = 1
_STRING, _TENSOR, _TUPLE, _LIST, _NONE, _TYPE = 13, 14, 31, 32, 34, 39
_BASES = {"U": "UInt", "I": "Int", "F": "Float", "B": "Float"}
_UNSIGNED = frozenset(("IsFeatureMapInputList", "output_used_num"))
"""Attributes whose integers MindSpore keeps as ``size_t``; all others are 64-bit integers with a sign."""

_TYPE_VALUE = re.compile(r"(U?I|B?F|UInt|Int|BFloat|Float)(?:8|16|32|64)")
_PARAM = re.compile(r"%para(\d{1,9})(?:_|$)")
_NODE = re.compile(r"%(\d{1,9})")
_DIM = re.compile(r"-?\d+")
_LONGEST_DIM = 18
_CALLS = ("call @", "%", "$(")
_HEADS = {
    "candidate": "      # Corresponding code candidate:\n",
    "forward": "      # Corresponding forward node candidate:\n",
}


def pb_and_constants(text: str, graph_id: int = 0) -> tuple[bytes, tuple[str, ...]]:
    """Return the ``.pb`` of the entry graph of an ``.ir`` file's text, and the constants that it numbers.

    Constant ``n`` is called ``Default_data-{n}``; it comes as the text spells it. Raises GraphError if an operand
    is a value of another graph, for which the format has no place.
    """
    block, parameters = entry_block(text)
    model = SCHEMAS[DEBUGGER].message_class("ModelProto")(ir_version=_IR_VERSION)
    model.graph.name = _bytes(block.name)
    model.graph.root_name = _bytes(str(graph_id))
    writer = _Writer(model.graph, parameters)
    writer.write(block.nodes)
    return model.SerializeToString(), tuple(writer.constants)


class _Writer:
    """Fills one ``GraphProto``; constants get their names in order of first use."""

    def __init__(self, graph: Any, parameters: dict[int, Parameter]) -> None:
        self.graph = graph
        self.parameters = parameters
        self.constants: dict[str, str] = {}

    def write(self, nodes: Iterable[Node]) -> None:
        for number in sorted(self.parameters):
            parameter = self.parameters[number]
            message = self.graph.parameters.add(name=_bytes(parameter.name))
            _set_tensor(message.type, parameter.spec.dtype, parameter.spec.shape)
        for node in nodes:
            if node.head in ("Return", "return"):
                self._outputs(node)
            else:
                self._node(node)
        for number, (constant, name) in enumerate(self.constants.items()):
            message = self.graph.const_vals.add(key=_bytes(name))
            message.full_name = _bytes(f"Default_data-{number}")
            _set_constant(message, constant)

    def _outputs(self, node: Node) -> None:
        """Operands of Return, which is no node of its own."""
        for operand, host in zip(node.operands, node.host_in, strict=False):
            message = self.graph.outputs.add(name=_bytes(self._name(operand)))
            _set_type(message.type, host)

    def _node(self, node: Node) -> None:
        """Add a node; one that calls a graph is an empty message that only keeps its turn."""
        message = self.graph.node.add()
        if node.head.startswith(_CALLS):
            return
        for operand in node.operands:
            message.input.add(name=_bytes(self._name(operand)), type=0)
        message.name = _bytes(str(node.number + 1))
        message.op_type = _bytes(node.head.removeprefix("PrimFunc_"))
        message.scope = _bytes(node.name.rpartition("/")[0])
        for key, value in node.attrs.items():
            attribute = message.attribute.add(name=_bytes(key))
            _set_value(attribute.value, value, unsigned=key in _UNSIGNED)
        for host in node.host_out:
            _set_type(message.output_type, host)
        message.full_name = _bytes(node.name)
        message.source_address = _bytes("".join(_source_lines(node.frames)))

    def _name(self, operand: str | Operand) -> str:
        """Name of an operand: a node's, a parameter's or a constant's."""
        text = str(operand)
        node, parameter = _NODE.fullmatch(text), _PARAM.match(text)
        if node:
            return str(int(node[1]) + 1)
        if parameter and int(parameter[1]) in self.parameters:
            return self.parameters[int(parameter[1])].name
        if text.startswith(("%", "$")):
            raise GraphError("graph_files/foreign-operand", got=text)
        if parse_const(text).dtype == "monad":
            text = "U"
        return self.constants.setdefault(text, f"cst{len(self.constants) + 1}")


def _set_constant(message: Any, text: str) -> None:
    """Value of a constant; MindSpore writes none for a tensor, an empty one for monads and graphs."""
    constant = parse_const(text)
    if text.startswith("@") or constant.dtype == "monad":
        message.value.SetInParent()
    elif constant.dtype not in DTYPES:
        _set_value(message.value, constant.value)
    elif not text.startswith("Tensor("):
        number = type_number(DEBUGGER, constant.dtype)
        _set_scalar(message.value, constant.value, number)


def _set_value(message: Any, value: Any, *, unsigned: bool = False) -> None:
    """Value of an attribute: a list if it holds words alone, as MindSpore's lists of names do."""
    if value is None:
        message.dtype, message.str_val = _NONE, b"None"
    elif isinstance(value, tuple | list):
        words = bool(value) and all(isinstance(item, str) for item in value)
        message.dtype = _LIST if words else _TUPLE
        for item in value:
            _set_value(message.values.add(), item, unsigned=unsigned)
    elif isinstance(value, bool | np.bool_):
        _set_scalar(message, value, type_number(DEBUGGER, "bool"))
    elif isinstance(value, int | np.integer):
        word = "uint64" if unsigned or value >= 1 << 63 else "int64"
        _set_scalar(message, value, type_number(DEBUGGER, word))
    elif isinstance(value, float | np.floating):
        with np.errstate(over="ignore"):
            whole = float(str(np.float32(value))) == value or np.isnan(value)
        _set_scalar(message, value, type_number(DEBUGGER, "float32" if whole else "float64"))
    else:
        _set_text(message, str(value))


def _set_text(message: Any, value: str) -> None:
    """A string, or a type: of those MindSpore keeps the kind and not the bits."""
    kind = _TYPE_VALUE.fullmatch(value)
    if kind is None and value != "Bool":
        message.dtype, message.str_val = _STRING, _bytes(value)
        return
    word = "bool" if kind is None else _BASES[kind[1][0]]
    message.dtype = _TYPE
    message.type_val.data_type = type_number(DEBUGGER, word)


def _set_scalar(message: Any, value: Any, number: int) -> None:
    message.dtype = number
    field = SCALAR_FIELDS[number]
    try:
        setattr(message, field, value)
    except (TypeError, ValueError) as error:
        raise GraphError("graph_files/scalar", field=field, got=value) from error


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "backslashreplace")


def _set_type(message: Any, host: HostType) -> None:
    """Type of a node or of a result from the text of its host type."""
    word, shape = (*split_top(host.text.strip()[1:-1]), "", "")[:2]
    _set_word(message, word, shape)


def _set_word(message: Any, word: str, shape: str = "") -> None:
    inner = word[4:-1] if word.startswith("Ref[") else word
    if inner.startswith(("Tuple[", "List[")):
        message.data_type = _LIST if inner.startswith("List[") else _TUPLE
        for piece in split_top(inner[inner.index("[") + 1 : -1]):
            kind, count = run_of(piece)
            for _ in range(count):
                _set_word(message.sequence_type.elem_types.add(), kind)
    elif inner.startswith("Tensor"):
        words = _DIM.findall(shape) if shape[:1] == "(" else ()
        dims = tuple(int(word) if len(word) <= _LONGEST_DIM else -1 for word in words)
        _set_tensor(message, dtype_name(inner[7:-1]) or inner[7:-1], dims)
    elif inner:
        message.data_type = type_number(DEBUGGER, dtype_name(inner) or inner)


def _set_tensor(message: Any, dtype: str, shape: tuple[int, ...] | None) -> None:
    """Type of a tensor; one without dimensions has no shape in the message."""
    message.data_type = _TENSOR
    message.tensor_type.elem_type = type_number(DEBUGGER, dtype)
    for dim in (-2,) if shape is None else shape:
        message.tensor_type.shape.dim.add(size=dim)


def _source_lines(frames: list[SourceFrame]) -> Iterator[str]:
    """Lines of the tracebacks, the operator's own line first."""
    for group, chain in groupby(frames, lambda frame: frame.group):
        head = _HEADS.get(group, "")
        yield head
        marks = ("      #  - ", "      #    ") if head else ("      # ", "      # ")
        for number, frame in enumerate(reversed(_told(list(chain)))):
            yield f"{marks[number > 0]}{location(frame)}\n"


def _told(chain: list[SourceFrame]) -> list[SourceFrame]:
    """The frames without those that only enclose the next one: a whole expression around a call in it."""
    following = (*chain[1:], None)
    return [
        frame
        for frame, inner in zip(chain, following, strict=True)
        if inner is None or not _encloses(frame, inner)
    ]


def _encloses(frame: SourceFrame, inner: SourceFrame) -> bool:
    if frame.file != inner.file or frame.code.lstrip().startswith(("def ", "@")):
        return False
    last, inner_last = frame.line_end or frame.line, inner.line_end or inner.line
    if frame.line == last == inner.line == inner_last:
        return frame.column <= inner.column and inner.column_end <= frame.column_end
    return frame.line <= inner.line and inner_last <= last
