"""From a model to a graph: what is fed, what is known, and what is lacking."""

from __future__ import annotations

import zlib
from contextlib import contextmanager
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.core.dtypes import DTYPES
from workbench.core.errors import GraphError
from workbench.core.tensors import TensorSpec
from workbench.core.words import Message
from workbench.graph import graph as nodes
from workbench.network.finish import finish
from workbench.network.onnx.files import Weights, library, read_model, refuse_bytes
from workbench.network.onnx.folding import FOLDED, Folder
from workbench.network.onnx.functions import STANDARD, expanded
from workbench.network.onnx.names import safe_name
from workbench.network.onnx.node import Lacking, Node, OnnxTrace, values_of
from workbench.network.onnx.table import CONVERTERS
from workbench.network.symbolic import ACTIVE, Operators, Parameter, Tensor
from workbench.network.tracer import LARGEST_CONSTANT

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from onnx import ModelProto, NodeProto, ValueInfoProto

    from workbench.graph.graph import Graph
    from workbench.network.onnx.node import Array, Item

OPSETS = (7, 28)
"""First and last opset whose operators the converters know."""

_LARGEST_EXAMPLE = 1 << 26  # elements
_LARGEST_FEED = 1 << 40


def read_onnx(
    source: str | Path | ModelProto,
    *,
    shapes: Mapping[str, int | Sequence[int]] | None = None,
    values: Mapping[str, Any] | None = None,
    seed: int = 0,
) -> Graph:
    """Return the graph of an ONNX model.

    Parameters
    ----------
    source : str, Path or ModelProto
        A file, or a model with all its weights inside.
    shapes : mapping, optional
        Sizes of dimensions by their names, or whole shapes by the names of inputs.
    values : mapping of input name to array, optional
        Inputs that are known before the run and no feeds any more: shapes, axes, flags.
    seed : int
        Feeds get example values from it: normal floats, integers and flags that are 0 or 1.

    Raises
    ------
    FormatError
        The file is no model, or its data are not where and as large as it says.
    GraphError
        onnx is not installed, a size is not known, or operators are lacking: all are named.
    """
    library()
    if isinstance(source, str | Path):
        path = Path(source)
        model, where, folder = read_model(path), str(path), path.parent
    else:
        model, where, folder = source, source.graph.name or "model", None
    refuse_bytes(model, where)
    opset = _opset(model, where)
    model = expanded(model, CONVERTERS, where)
    _refuse_unknown(model, where)
    reader = _Reader(model, Weights(folder, where), where, opset, seed)
    return reader.graph(dict(shapes or {}), dict(values or {}))


def _opset(model: ModelProto, where: str) -> int:
    versions = [entry.version for entry in model.opset_import if entry.domain in STANDARD]
    first, last = OPSETS
    if len(versions) != 1 or not first <= versions[0] <= last:
        got = versions[0] if len(versions) == 1 else versions
        raise GraphError("graph/onnx-opset", place=where, first=first, last=last, got=got)
    return int(versions[0])


def _refuse_unknown(model: ModelProto, where: str) -> None:
    """Name every operator that has no converter, with its nodes."""
    missing: dict[str, list[str]] = {}
    for number, node in enumerate(model.graph.node):
        if node.domain not in STANDARD or node.op_type not in CONVERTERS:
            kind = f"{node.domain}.{node.op_type}" if node.domain else node.op_type
            missing.setdefault(kind, []).append(_title(node, number))
    if missing:
        problems = [
            Message("graph/onnx-operator", type=kind, nodes=names)
            for kind, names in missing.items()
        ]
        raise GraphError("graph/onnx-unsupported", place=where, problems=problems)


def _title(node: NodeProto, number: int) -> str:
    return repr(node.name) if node.name else f"#{number}"


class _Reader:
    """One model on its way into a trace."""

    def __init__(
        self, model: ModelProto, weights: Weights, where: str, opset: int, seed: int
    ) -> None:
        self._proto = model.graph
        self._weights = weights
        self._where = where
        self._opset = opset
        self._seed = seed
        self._trace = OnnxTrace(seed)
        self._folder = Folder(opset)
        self._items: dict[str, Item] = {}
        self._lost: set[str] = set()
        self._lacking: list[Lacking] = []

    def graph(self, shapes: dict[str, int | Sequence[int]], values: dict[str, Any]) -> Graph:
        if not self._proto.output:
            raise GraphError("graph/onnx-no-output", place=self._where)
        with self._active():
            self._initial()
            self._feeds(shapes, values)
            for number, node in enumerate(self._proto.node):
                self._trace.enter(node, number)
                self._convert(node, number)
            if self._lacking:
                raise GraphError(
                    "graph/onnx-unsupported", place=self._where, problems=self._lacking
                )
            outputs = [self._output(info.name) for info in self._proto.output]
        name = safe_name(self._proto.name).replace("/", "_")[:64] or "onnx"
        return finish(name, self._trace, tuple(outputs))

    @contextmanager
    def _active(self) -> Iterator[None]:
        token = ACTIVE.set(self._trace)
        try:
            yield
        finally:
            ACTIVE.reset(token)

    def _initial(self) -> None:
        """Weights under their own names."""
        if self._proto.sparse_initializer:
            name = self._proto.sparse_initializer[0].values.name
            raise GraphError("graph/onnx-sparse", place=self._where, got=name)
        for tensor in self._proto.initializer:
            array = self._weights.array(tensor, tensor.name)
            self._items[tensor.name] = self._weight(array, tensor.name)

    def _weight(self, array: Array, name: str) -> Parameter:
        own = self._trace.own_name(name, "weight")
        return Parameter(array, own)

    def _feeds(self, shapes: dict[str, int | Sequence[int]], values: dict[str, Any]) -> None:
        infos = [info for info in self._proto.input if info.name not in self._items]
        known = {info.name for info in infos}
        dims = {d.dim_param for i in infos for d in i.type.tensor_type.shape.dim if d.dim_param}
        for given, allowed in ((shapes, known | dims), (values, known)):
            for name in given:
                if name not in allowed:
                    raise GraphError(
                        "core/choice",
                        place=self._where,
                        subject="input",
                        got=name,
                        known=sorted(allowed),
                    )
        for info in infos:
            if info.name in values:
                self._items[info.name] = np.asarray(values[info.name])
            else:
                self._items[info.name] = self._feed(info, shapes)

    def _feed(self, info: ValueInfoProto, shapes: Mapping[str, int | Sequence[int]]) -> Tensor:
        dtype = self._dtype(info)
        shape = self._shape(info, shapes)
        name = self._trace.own_name(info.name, "input")
        default = _example(name, dtype, shape, self._seed)
        return self._trace.add_feed(
            nodes.Parameter(name, TensorSpec(dtype, shape), default=default)
        )

    def _dtype(self, info: ValueInfoProto) -> str:
        if info.type.WhichOneof("value") != "tensor_type":
            raise GraphError("graph/onnx-input-type", place=self._where, name=info.name)
        number = info.type.tensor_type.elem_type
        try:
            dtype: str = np.dtype(library().helper.tensor_dtype_to_np_dtype(number)).name
        except (KeyError, ValueError, TypeError):
            dtype = f"type {number}"
        if dtype not in DTYPES:
            raise GraphError("graph/onnx-dtype", place=self._where, name=info.name, got=dtype)
        return dtype

    def _shape(
        self, info: ValueInfoProto, shapes: Mapping[str, int | Sequence[int]]
    ) -> tuple[int, ...]:
        """Shape of an input; raises GraphError if a size is not known, or beyond all use."""
        shape = self._stated_shape(info, shapes)
        if min(shape, default=0) < 0 or prod(max(size, 1) for size in shape) > _LARGEST_FEED:
            raise GraphError("graph/sizes", subject=info.name, most=_LARGEST_FEED, got=shape)
        return shape

    def _stated_shape(
        self, info: ValueInfoProto, shapes: Mapping[str, int | Sequence[int]]
    ) -> tuple[int, ...]:
        stated = info.type.tensor_type
        given = shapes.get(info.name)
        if given is not None and not isinstance(given, int):
            return tuple(int(size) for size in given)
        found: list[int | str] = []
        for dim in stated.shape.dim:
            named = shapes.get(dim.dim_param) if dim.dim_param else None
            known = dim.dim_value if dim.HasField("dim_value") else named
            found.append(known if isinstance(known, int) else dim.dim_param or "?")
        if not stated.HasField("shape") or any(isinstance(d, str) for d in found):
            got = tuple(found) if stated.HasField("shape") else None
            name = next((d for d in found if isinstance(d, str) and d != "?"), info.name)
            example = 1 if name != info.name else "(1, ...)"
            raise GraphError(
                "graph/onnx-open-shape", name=info.name, got=got, size=name, example=example
            )
        return tuple(int(size) for size in found)

    def _convert(self, node: NodeProto, number: int) -> None:
        names = [name for name in node.input if name]
        if any(name in self._lost for name in names):
            self._lost.update(node.output)
            return
        for name in names:
            if name not in self._items:
                raise GraphError("graph/onnx-input-later", got=name).at(self._at(node, number))
        try:
            outputs = self._outputs(node)
        except Lacking as error:
            self._lacking.append(error.at(f"{node.op_type} (node {_title(node, number)})"))
            self._lost.update(node.output)
            return
        except GraphError as error:
            raise error.at(self._at(node, number)) from error
        except (ArithmeticError, LookupError, TypeError, ValueError, MemoryError) as error:
            kind, place = type(error).__name__, self._at(node, number)
            raise GraphError("graph/onnx-node", place=place, error=kind, why=error) from error
        for name, item in zip(node.output, outputs, strict=False):
            if name in self._items:
                place = self._at(node, number)
                raise GraphError("graph/onnx-output-twice", place=place, got=name)
            if name:
                self._items[name] = item

    def _at(self, node: NodeProto, number: int) -> str:
        return f"{self._where}: node {_title(node, number)} ({node.op_type})"

    def _outputs(self, node: NodeProto) -> list[Item]:
        inputs = [self._items[name] if name else None for name in node.input]
        attrs = self._attributes(node)
        wanted = tuple(bool(name) for name in node.output)
        found = CONVERTERS[node.op_type](Node(node.op_type, inputs, attrs, self._opset, wanted))
        outputs = list(found) if isinstance(found, tuple | list) else [found]
        for place, needed in enumerate(wanted[len(outputs) :], len(outputs)):
            if needed:
                raise Lacking("graph/onnx-output", got=node.output[place])
        known = [None if item is None else values_of(item) for item in inputs]
        absent = [item is None for item in inputs]
        all_known = all(a or value is not None for a, value in zip(absent, known, strict=True))
        if not all_known or node.op_type not in FOLDED:
            return [
                self._named(item, name) for item, name in zip(outputs, node.output, strict=False)
            ]
        arrays = iter(self._folder.fold(node, known, outputs))
        results: list[Item] = []
        weighty = any(isinstance(item, Parameter) for item in inputs)
        for name in node.output:
            if not name:
                continue
            array = np.asarray(next(arrays))
            results.append(self._weight(array, name) if weighty else self._named(array, name))
        return results

    def _named(self, item: Item, name: str) -> Item:
        """Give a constant that is too large to be written down the name that the model gives it."""
        if isinstance(item, Operators) or item.size < LARGEST_CONSTANT:
            return item
        return self._weight(item, name)

    def _attributes(self, node: NodeProto) -> dict[str, Any]:
        onnx = library()
        found: dict[str, Any] = {}
        for attribute in node.attribute:
            if attribute.ref_attr_name:
                raise GraphError("graph/onnx-reference", name=attribute.name)
            if attribute.type == onnx.AttributeProto.TENSOR:
                found[attribute.name] = self._weights.array(attribute.t, attribute.name)
            else:
                found[attribute.name] = onnx.helper.get_attribute_value(attribute)
        return found

    def _output(self, name: str) -> nodes.Operand:
        item = self._items.get(name)
        if item is None:
            raise GraphError("graph/onnx-output-nowhere", place=self._where, got=name)
        return self._trace.operand(item)


def _example(name: str, dtype: str, shape: tuple[int, ...], seed: int) -> Array | None:
    """Values of a feed that nobody has given yet; none for one that is very large."""
    if prod(max(size, 1) for size in shape) > _LARGEST_EXAMPLE:
        return None
    rng = np.random.default_rng([zlib.crc32(name.encode()), seed])
    row = DTYPES[dtype]
    if row.is_float or row.is_complex:
        return rng.standard_normal(shape, np.float32).astype(row.storage)
    return rng.integers(0, 2, shape, np.int8).astype(row.storage)
