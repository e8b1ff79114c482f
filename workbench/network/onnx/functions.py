"""Functions: a model's own ones, and operators that the standard defines by others.

onnx's inliner expands both. It forgets names and notes, so they are put back: what a call becomes
follows in its place, up to the node that makes its last output.
"""

from __future__ import annotations

from collections import deque
from functools import cache
from typing import TYPE_CHECKING, Any

from workbench.core.errors import FormatError, GraphError
from workbench.graph_files.onnx.dialect import STANDARD
from workbench.graph_files.onnx.tensors import library
from workbench.proto.schema import Field, Schema
from workbench.proto.wire import walk_declared

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from onnx import FunctionProto, ModelProto, NodeProto

_MOST_NODES = 1_000_000
MAX_FIELDS = 2_000_000
"""Most fields of a model and all messages inside it; the library takes some 80 bytes for each."""


def whole_model(data: bytes, where: str) -> ModelProto:
    """Return a model as onnx's inliner takes it; raises FormatError before the library makes objects of too much."""
    proto = library().ModelProto
    if len(data) > 2 * MAX_FIELDS:  # a field has two bytes at least
        name = proto.DESCRIPTOR.full_name
        deque(walk_declared(_messages(), name, data, where, 0, len(data), MAX_FIELDS), 0)
    try:
        model: ModelProto = proto.FromString(data)
    except Exception as error:  # protobuf's own classes differ by version
        raise FormatError("graph/onnx-invalid", place=where, why=error) from error
    return model


@cache
def _messages() -> Schema:
    """Return the messages of a model that other messages are in."""
    found: dict[str, tuple[Field, ...]] = {}
    waiting = [library().ModelProto.DESCRIPTOR]
    while waiting:
        message = waiting.pop()
        inner = [field for field in message.fields if field.message_type is not None]
        found[message.full_name] = tuple(
            Field(field.number, field.name, field.message_type.full_name) for field in inner
        )
        types = {field.message_type.full_name: field.message_type for field in inner}
        waiting += (kind for name, kind in types.items() if name not in found)
    return Schema("onnx", found)


def expanded(model: ModelProto, known: Iterable[str], where: str) -> ModelProto:
    """Return the model without its functions, and without operators that are not known but defined.

    What can neither be computed nor expanded stays, for the caller to name.
    """
    inliner = library().inliner
    if model.functions:
        _check_size(model, where)
        model = _inlined(inliner.inline_local_functions, model, where)
    names = set(known)
    if all(node.op_type in names or node.domain not in STANDARD for node in model.graph.node):
        return model
    kept = [("", name) for name in names]
    try:
        return _inlined(
            lambda m: inliner.inline_selected_functions(m, kept, True, True), model, where
        )
    except GraphError:  # types that the inliner does not know; nothing is expanded then
        return model


def _check_size(model: ModelProto, where: str) -> None:
    """Refuse functions that expand to too many nodes, or without end."""
    table = {(f.domain, f.name): f for f in model.functions}
    sizes: dict[tuple[str, str], int] = {}

    def size(nodes: Iterable[NodeProto], depth: int) -> int:
        total = 0
        for node in nodes:
            key = (node.domain, node.op_type)
            if key in table and key not in sizes:
                sizes[key] = _within(table[key], depth, size, where)
            total += sizes.get(key, 1)
        return total

    if size(model.graph.node, 0) > _MOST_NODES:
        raise GraphError("graph/onnx-functions-large", place=where, most=_MOST_NODES)


def _within(
    function: FunctionProto, depth: int, size: Callable[[Iterable[NodeProto], int], int], where: str
) -> int:
    if depth >= 100:
        raise GraphError("graph/onnx-functions-deep", place=where, most=100, got=function.name)
    return min(size(function.node, depth + 1), _MOST_NODES + 1)


def _inlined(function: Callable[[Any], Any], model: ModelProto, where: str) -> ModelProto:
    try:
        found: ModelProto = function(model)
    except Exception as error:
        kind = type(error).__name__
        raise GraphError("graph/onnx-functions", place=where, error=kind, why=error) from error
    _name(list(model.graph.node), found.graph.node)
    return found


def _name(calls: list[NodeProto], nodes: Iterable[NodeProto]) -> None:
    """Give nodes that were expanded the name and the notes of the call they come from."""
    place, left = 0, set(calls[0].output) if calls else set()
    for node in nodes:
        if place < len(calls) and (node.name, node.op_type) != (
            calls[place].name,
            calls[place].op_type,
        ):
            call = calls[place]
            node.name = f"{call.name}/{node.name or node.op_type}" if call.name else node.name
            if not node.metadata_props:
                node.metadata_props.extend(call.metadata_props)
            node.doc_string = node.doc_string or call.doc_string
        left -= set(node.output)
        while place < len(calls) and not left - {""}:
            place += 1
            left = set(calls[place].output) if place < len(calls) else {"?"}
