"""An ONNX model as what runs it node by node needs it: its nodes without the weights, and each node as a small model.

The bytes of weights stay in the file until a node reads them (`workbench.graph_files.onnx.tensors`), so that of a model
of gigabytes its text alone is held.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.core.dtypes import DTYPES
from workbench.core.errors import FormatError, GraphError
from workbench.core.files import is_file, open_file, size_within
from workbench.graph_files.look import FileBytes
from workbench.graph_files.onnx.branches import branch_graph, with_branches
from workbench.graph_files.onnx.dialect import STANDARD
from workbench.graph_files.onnx.model import MAX_BYTES, parse_onnx_model, read_onnx_model
from workbench.graph_files.onnx.tensors import OnnxTensor, library
from workbench.network.onnx.functions import whole_model
from workbench.proto.wire import walk

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray
    from onnx import GraphProto, ModelProto, NodeProto, TensorProto, ValueInfoProto

    from workbench.graph.graph import Graph, Parameter
    from workbench.proto.wire import Content, WireField

    Value = NDArray[Any] | Sequence[NDArray[Any]] | None
    """What a name of a model stands for: a tensor, a sequence of them, or an optional one that is absent."""

_GRAPH = 7
_WEIGHTS = (5, 15)
"""Fields of a graph that hold initializers, sparse ones as well."""

_IR_VERSIONS = 8, 10
"""Least and highest version of a node's model: it has functions, and engines of some age read it."""

_TEXTS = 8
"""``TensorProto.STRING``."""

_LONGEST = 240
"""Most characters of what an engine says of a node that it cannot compute."""

_INSIDE = 1 << 20
"""Most bytes of a weight that a node's model holds itself: shapes, axes and scales must be known to engines."""


@dataclass(frozen=True, slots=True)
class OnnxNode:
    """A node: its name as `workbench.graph_files.onnx` has it, and the values that it and its subgraphs read."""

    name: str
    proto: NodeProto
    reads: tuple[str, ...]

    @property
    def type(self) -> str:
        """Type of the operator, behind its domain if that is not ONNX's own."""
        own = self.proto.domain in STANDARD
        return self.proto.op_type if own else f"{self.proto.domain}.{self.proto.op_type}"

    @property
    def outputs(self) -> tuple[str, ...]:
        """Names of the outputs that there are."""
        return tuple(filter(None, self.proto.output))

    @property
    def has_subgraphs(self) -> bool:
        return any(one.HasField("g") or one.graphs for one in self.proto.attribute)


@dataclass(frozen=True, slots=True)
class OnnxSource:
    """A model: ``proto`` lacks the weights, which are tensors of their files; ``feeds`` are its other inputs.

    ``nodes`` and the operators of ``graph`` correspond, one by one. Where branches were put in the places of their
    ``If`` nodes, ``taken`` says which, by node, and ``aliases`` what the results of these are in the branches.
    """

    where: str
    proto: ModelProto
    nodes: tuple[OnnxNode, ...]
    feeds: tuple[Parameter, ...]
    weights: Mapping[str, OnnxTensor]
    graph: Graph
    taken: Mapping[str, str] = field(default_factory=dict)
    aliases: Mapping[str, str] = field(default_factory=dict)

    @property
    def outputs(self) -> tuple[str, ...]:
        return tuple(one.name for one in self.proto.graph.output)

    def one_node(self, node: OnnxNode, values: Mapping[str, Value]) -> ModelProto:
        """Return a node as a model of its own, whose inputs are ``values`` and whose other operands are weights."""
        onnx = library()
        known = [self._tensor(name) for name in node.reads if name not in values]
        graph = onnx.GraphProto(name="node", node=[node.proto], initializer=known)
        graph.input.extend(_info(name, value) for name, value in values.items())
        graph.output.extend(map(onnx.helper.make_empty_tensor_value_info, node.outputs))
        least, most = _IR_VERSIONS
        version = min(max(self.proto.ir_version, least), most)
        model: ModelProto = onnx.ModelProto(ir_version=version, graph=graph)
        model.opset_import.extend(self.proto.opset_import)
        model.functions.extend(self.proto.functions)
        return model

    def with_branch(self, number: int, which: str) -> OnnxSource:
        """Return the model with a branch in the place of a node that chooses; the nodes before it stay as they are."""
        node, op = self.nodes[number], self.graph.ops[number]
        [branch] = (one.g for one in node.proto.attribute if one.name == which)
        own = branch_graph(self.graph, op, which)
        assert own is not None, node.name
        graph = with_branches(self.graph, lambda one: which if one is op else "")
        inside = zip(own.ops, branch.node, strict=True)
        nodes = (OnnxNode(one.name, proto, tuple(_names_read(proto))) for one, proto in inside)
        results = (one.name for one in branch.output)
        given = zip(node.proto.output, results, strict=False)
        weights = {one.name: one.default for one in own.parameters if one.is_weight}
        return replace(
            self,
            nodes=(*self.nodes[:number], *nodes, *self.nodes[number + 1 :]),
            weights={**self.weights, **weights},
            graph=graph,
            taken={**self.taken, node.name: which},
            aliases={**self.aliases, **{name: self.own_name(one) for name, one in given if name}},
        )

    def own_name(self, name: str) -> str:
        """Name under which a value is given: that of the branch whose result it is."""
        while name in self.aliases:
            name = self.aliases[name]
        return name

    def is_large(self, name: str) -> bool:
        """Whether a weight is fed to its node instead of lying in the node's model."""
        spec = self.weights[name].spec
        row = DTYPES.get(spec.dtype)
        return (
            row is not None
            and row.storage.isbuiltin == 1
            and (spec.size or 0) * row.bits > 8 * _INSIDE
        )

    def _tensor(self, name: str) -> TensorProto:
        onnx, weight = library(), self.weights[name]
        if weight.number == _TEXTS and weight.external is None:
            found: TensorProto = onnx.TensorProto.FromString(
                weight.model.read(weight.start, weight.end)
            )
            return found
        tensor: TensorProto = onnx.numpy_helper.from_array(weight.array(), name)
        return tensor


def read_model(source: str | Path | ModelProto) -> OnnxSource:
    """Read a model of any operators.

    Raises FormatError with its byte if it is damaged or has 2 GiB or more, GraphError if its edges are none or onnx
    is not installed.
    """
    onnx = library()
    if not isinstance(source, str | Path | onnx.ModelProto):
        raise GraphError("golden/no-model", got=type(source).__name__)
    if not isinstance(source, str | Path):
        data, where = source.SerializeToString(), source.graph.name or "model"
        return _source(parse_onnx_model(data, where), _without_weights(data, where), where)
    path, where = Path(source), str(source)
    if not is_file(path):
        raise GraphError("core/missing", got=where)
    if path.stat().st_size >= MAX_BYTES:
        got = path.stat().st_size
        raise FormatError("graph/onnx-large", place=where, got=got, limit=MAX_BYTES)
    graph = read_onnx_model(path)
    with open_file(path, "model") as file:
        size = size_within(file, path, MAX_BYTES, "model")
        proto = _without_weights(FileBytes(file, size), where)
    return _source(graph, proto, where)


def failed(error: Exception, why: str) -> GraphError:
    """Return the error that says in one line why a node was not computed."""
    line = " ".join(why.split())[:_LONGEST].rstrip(". ")
    return GraphError("golden/node-failed", error=type(error).__name__, why=line)


def _source(graph: Graph, proto: ModelProto, where: str) -> OnnxSource:
    if not graph.outputs:
        raise GraphError("graph/onnx-no-output", place=where)
    nodes = tuple(
        OnnxNode(op.name, node, tuple(_names_read(node)))
        for op, node in zip(graph.ops, proto.graph.node, strict=True)
    )
    weights = {one.name: one.default for one in graph.parameters if one.is_weight}
    for weight in weights.values():
        with suppress(
            GraphError
        ):  # a format that is none of ours: whatever reads it is not computed
            weight.check_external()
    feeds = tuple(one for one in graph.parameters if not one.is_weight)
    return OnnxSource(where, proto, nodes, feeds, weights, graph)


def _without_weights(data: Content, where: str) -> ModelProto:
    """Return a model without the initializers of its graph; those of subgraphs stay."""
    kept = bytearray()
    for at, found in _fields(data, where, 0, len(data)):
        if found.number == _GRAPH:
            inner = _fields(data, where, found.start, found.end)
            parts = (data[at] for at, one in inner if one.number not in _WEIGHTS)
            graph = b"".join(parts)
            kept += bytes((_GRAPH << 3 | 2,)) + _varint(len(graph)) + graph
        else:
            kept += data[at]
    return whole_model(bytes(kept), where)


def _fields(data: Content, where: str, start: int, end: int) -> Iterator[tuple[slice, WireField]]:
    """Yield the fields of a message, and where each lies with its tag."""
    at = start
    for found in walk(data, where, start, end):
        yield slice(at, found.end), found
        at = found.end


def _varint(number: int) -> bytes:
    groups = []
    while number > 0x7F:
        groups.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes((*groups, number))


def _names_read(node: NodeProto) -> dict[str, None]:
    """Names that a node reads: its inputs, and what its subgraphs take from around it."""
    found = dict.fromkeys(filter(None, node.input))
    for attribute in node.attribute:
        for graph in (*([attribute.g] if attribute.HasField("g") else ()), *attribute.graphs):
            found |= dict.fromkeys(_names_taken(graph))
    return found


def _names_taken(graph: GraphProto) -> Iterator[str]:
    own = {one.name for one in graph.input} | {one.name for one in graph.initializer}
    own |= {one.values.name for one in graph.sparse_initializer}
    for node in graph.node:
        yield from (name for name in _names_read(node) if name not in own)
        own.update(node.output)
    yield from (one.name for one in graph.output if one.name not in own)


def _info(name: str, value: Value) -> ValueInfoProto:
    helper = library().helper
    if isinstance(value, np.ndarray):
        info: ValueInfoProto = helper.make_tensor_value_info(name, _number(value), value.shape)
        return info
    kind = _number(value[0]) if value else library().TensorProto.FLOAT
    sequence: ValueInfoProto = helper.make_tensor_sequence_value_info(name, kind, None)
    return sequence


def _number(array: NDArray[Any]) -> int:
    """Number of a data type in ONNX."""
    if array.dtype.kind in "OUS":
        return _TEXTS
    return int(library().helper.np_dtype_to_tensor_dtype(array.dtype))
