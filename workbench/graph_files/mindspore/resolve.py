"""From IR nodes to operators: structural nodes disappear, operands point at what they mean."""

from __future__ import annotations

import re
from dataclasses import field
from typing import TYPE_CHECKING, Any

from workbench._values import dataclass
from workbench.core.errors import FormatError
from workbench.core.long_work import checkpoint
from workbench.graph.graph import Bundle, Const, FreeRef, GraphRef, Op, Param, Value
from workbench.graph_files.mindspore.values import MAX_DEPTH, closing, parse_const, split_top

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from workbench.core.tensors import TensorSpec
    from workbench.graph.graph import Operand, SourceFrame
    from workbench.graph_files.mindspore.values import HostType

STRUCTURAL = frozenset(
    ("Load", "Depend", "UpdateState", "MakeTuple", "make_tuple", "TupleGetItem", "tuple_getitem", "Return", "return")
)  # fmt: skip
"""Node types that move values without computing; they have no kernel and no dump file."""

FEW_ITEMS, ITEMS_EACH = 1 << 16, 64
"""Most operands of a graph, those inside tuples counted wherever the tuple is used: so many in any graph,
and more for each operand that is written in its file."""

_MONAD = Const("U", "monad")
_PARAM = re.compile(r"%para(\d{1,9})(?:_|$)")
_NODE = re.compile(r"%(\d{1,9})(?!\d)")


@dataclass(slots=True)
class Node:
    """A node as its file says, nothing resolved yet.

    Operands are text (``%3``, ``%para1_x``, ``I64(0)``) or what the reader already knows they mean.
    """

    number: int
    head: str
    operands: tuple[str | Operand, ...]
    attrs: dict[str, Any]
    primal: dict[str, Any]
    name: str = ""
    host_in: tuple[HostType, ...] = ()
    host_out: tuple[HostType, ...] = ()
    device_in: tuple[TensorSpec, ...] = ()
    device_out: tuple[TensorSpec, ...] = ()
    flatten: bool = True
    frames: list[SourceFrame] = field(default_factory=list)
    group: str = "own"
    chain: int = 0
    """Where the traceback that is being read begins in ``frames``."""


def resolve_nodes(
    nodes: Sequence[Node], params: Mapping[int, int], where: str = "<graph>"
) -> tuple[tuple[Op, ...], tuple[Operand, ...]]:
    """Return the operators of a subgraph and its outputs.

    ``params`` maps the number in ``%para3_x`` to a position in the graph's parameters. Tuples that
    hold each other too deep or too often raise FormatError, which ``where`` starts.
    """
    values: dict[int, Operand] = {}
    tuples = _Tuples(where, sum(len(node.operands) for node in nodes))
    ops: list[Op] = []
    outputs: tuple[Operand, ...] = ()
    for node in nodes:
        checkpoint()
        operands = tuple(_operand(text, values, params) for text in node.operands)
        kind = node.head.removeprefix("PrimFunc_")
        tuples.count(operands)
        if kind in ("Return", "return"):
            outputs = tuple(item for operand in operands for item in _items(operand))
        elif kind in STRUCTURAL:
            values[node.number] = tuples.keep(_structural(kind, operands, node))
        else:
            values[node.number] = Value(len(ops))
            ops.append(_op(node, operands, values))
    return tuple(ops), outputs


class _Tuples:
    """Size of the tuples built so far: written out, ``(a, a)`` of ``(b, b)`` of … would fill any memory."""

    def __init__(self, where: str, written: int) -> None:
        self.where = where
        self.limit = FEW_ITEMS + ITEMS_EACH * written
        self.known: dict[int, tuple[Operand, int, int]] = {}
        self.written = 0

    def count(self, operands: tuple[Operand, ...]) -> None:
        """Add the operands of a node to what the graph holds when it is written out."""
        sizes = [self._size(operand) for operand in operands]
        self.written += sum(items for items, _ in sizes)
        deepest = max((depth for _, depth in sizes), default=0)
        if self.written > self.limit or deepest > MAX_DEPTH:
            raise FormatError(
                "graph_files/tuples",
                place=self.where,
                values=self.written,
                most=self.limit,
                levels=deepest,
                deepest=MAX_DEPTH,
            )

    def keep(self, operand: Operand) -> Operand:
        """Remember the size of a tuple that other nodes may name."""
        if isinstance(operand, Bundle) and id(operand) not in self.known:
            self.known[id(operand)] = (operand, *self._size(operand))
        return operand

    def _size(self, operand: Operand) -> tuple[int, int]:
        """Values inside, itself included, and levels of tuples."""
        if not isinstance(operand, Bundle):
            return 1, 0
        if id(operand) in self.known:
            return self.known[id(operand)][1:]
        sizes = [self._size(item) for item in operand.items]
        return 1 + sum(items for items, _ in sizes), 1 + max((d for _, d in sizes), default=0)


def _items(operand: Operand) -> tuple[Operand, ...]:
    """Return an operand, or what is in it and in the tuples inside it."""
    if not isinstance(operand, Bundle):
        return (operand,)
    return tuple(inner for item in operand.items for inner in _items(item))


def _structural(kind: str, operands: tuple[Operand, ...], node: Node) -> Operand:
    """What a structural node stands for."""
    if kind == "UpdateState":
        return _MONAD
    if kind in ("MakeTuple", "make_tuple"):
        return Bundle(operands, flatten=node.flatten)
    if kind in ("TupleGetItem", "tuple_getitem") and len(operands) == 2:
        return _element(operands[0], operands[1])
    return operands[0] if operands else _MONAD


def _element(whole: Operand, index: Operand) -> Operand:
    number = index.value if isinstance(index, Const) and isinstance(index.value, int) else 0
    if isinstance(whole, Bundle) and -len(whole.items) <= number < len(whole.items):
        return whole.items[number]
    if isinstance(whole, Value) and number >= 0:
        return Value(whole.op, number)
    return whole


def _operand(
    text: str | Operand, values: Mapping[int, Operand], params: Mapping[int, int]
) -> Operand:
    if not isinstance(text, str):
        return text
    if text.startswith("%"):
        param = _PARAM.match(text)
        if param and int(param[1]) in params:
            return Param(params[int(param[1])])
        node = _NODE.fullmatch(text)
        if node and int(node[1]) in values:
            return values[int(node[1])]
        return FreeRef("", text)
    if text.startswith("$("):
        graph, _, name = text[2:-1].removeprefix("@").partition(":")
        return FreeRef(graph, name)
    if text.startswith("@"):
        return GraphRef(text[1:])
    if text.startswith("(") and "%" in text and closing(text, 0) == len(text) - 1:
        items = tuple(_operand(piece, values, params) for piece in split_top(text[1:-1]))
        return Bundle(items, flatten=False)
    return parse_const(text)


def _op(node: Node, operands: tuple[Operand, ...], values: Mapping[int, Operand]) -> Op:
    kind, extra = _op_type(node.head, values)
    outs: list[TensorSpec] = []
    for host in node.host_out:
        outs += host.specs
    ins = tuple(
        None if host.is_monad or host.is_tuple or not host.specs else host.specs[0]
        for host in node.host_in
    )
    return Op(
        name=node.name,
        op_type=kind,
        inputs=(*extra, *operands),
        attrs=node.attrs,
        outputs=tuple(outs),
        input_specs=ins,
        device_inputs=node.device_in,
        device_outputs=node.device_out,
        frames=tuple(node.frames),
        unique_id=_text(node.primal.get("unique_id")),
        forward_id=_text(node.primal.get("forward_unique_id")),
    )


def _text(value: Any) -> str:
    return "" if value is None else str(value)


def _op_type(head: str, values: Mapping[int, Operand]) -> tuple[str, tuple[Operand, ...]]:
    """Operator type, and the operand that a call keeps in front of its list."""
    if head.startswith("call @"):
        return "call", (GraphRef(head[6:].strip()),)
    if head.startswith("%"):
        node = _NODE.match(head)
        target = values.get(int(node[1])) if node else None
        return "call", (target,) if target is not None else ()
    return head.removeprefix("PrimFunc_"), ()
