"""From a model as it is to a graph of our operators: what is fed, what is known, and what is lacking."""

from __future__ import annotations

import zlib
from contextlib import contextmanager
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.core.dtypes import DTYPES
from workbench.core.errors import FormatError, GraphError
from workbench.core.files import file_content, is_file
from workbench.core.tensors import TensorSpec
from workbench.core.words import Message
from workbench.graph import graph as nodes
from workbench.graph_files.onnx.branches import with_branches
from workbench.graph_files.onnx.dialect import DOMAIN, OPEN_SHAPES, OUTPUTS, STANDARD, UNNAMED
from workbench.graph_files.onnx.model import (
    MAX_BYTES,
    parse_onnx_model,
    read_onnx_model,
    title_of,
)
from workbench.graph_files.onnx.tensors import OnnxTensor, library
from workbench.network.finish import finish
from workbench.network.onnx.folding import FOLDED, Folder
from workbench.network.onnx.functions import expanded, whole_model
from workbench.network.onnx.names import safe_name
from workbench.network.onnx.node import Node, OnnxTrace, UnsupportedNodeError, values_of
from workbench.network.onnx.table import CONVERTERS
from workbench.network.symbolic import ACTIVE, Operators, Parameter, Tensor
from workbench.network.tracer import LARGEST_CONSTANT

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from onnx import ModelProto

    from workbench.graph.graph import Graph, Op
    from workbench.network.onnx.node import Array, Item

OPSETS = (7, 28)
"""First and last opset whose operators the converters know."""

LARGEST_EXAMPLE = 1 << 26  # elements
_LARGEST_FEED = 1 << 40


def read_onnx(
    source: str | Path | ModelProto,
    *,
    shapes: Mapping[str, int | Sequence[int]] | None = None,
    values: Mapping[str, Any] | None = None,
    branches: Mapping[str, str] | None = None,
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
    branches : mapping of node name to "then_branch" or "else_branch", optional
        What nodes of type ``If`` take: that graph stands in their places.
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
        where, folder = str(source), Path(source).parent
        model = _read(Path(source))
    else:
        where, folder = source.graph.name or "model", None
        model = parse_onnx_model(_bytes_of(source, where), where)
    taken = dict(branches or {})
    model = with_branches(model, lambda op: taken.get(op.name, ""))
    opset = _opset(model, where)
    if model.attrs["functions"] or not all(map(_is_known, model.ops)):
        whole = expanded(_proto(source, where), CONVERTERS, where)
        model = parse_onnx_model(_bytes_of(whole, where), where, folder)
        model = with_branches(model, lambda op: taken.get(op.name, ""))
    _refuse_unknown(model, where)
    return _Lowering(model, where, opset, seed).graph(dict(shapes or {}), dict(values or {}))


def lower(model: Graph, where: str) -> Graph:
    """Return the graph of a model of which all shapes are known; raises what `read_onnx` does."""
    opset = _opset(model, where)
    _refuse_unknown(model, where)
    return _Lowering(model, where, opset, 0).graph({}, {})


def _read(path: Path) -> Graph:
    if not is_file(path):
        raise GraphError("core/missing", got=str(path))
    size = path.stat().st_size
    if size >= MAX_BYTES:
        raise FormatError("graph/onnx-large", place=str(path), got=size, limit=MAX_BYTES)
    return read_onnx_model(path)


def _proto(source: str | Path | ModelProto, where: str) -> ModelProto:
    """Return a model as onnx's inliner takes it, without the data that lie in other files."""
    if not isinstance(source, str | Path):
        return source
    return whole_model(file_content(source, MAX_BYTES, "model"), where)


def _bytes_of(model: ModelProto, where: str) -> bytes:
    try:
        return model.SerializeToString()
    except Exception as error:  # protobuf's own classes differ by version
        raise FormatError("graph/onnx-invalid", place=where, why=error) from error


def _opset(model: Graph, where: str) -> int:
    versions = [version for domain, version in model.attrs["opset_import"] if domain in STANDARD]
    first, last = OPSETS
    if len(versions) != 1 or not first <= versions[0] <= last:
        got = versions[0] if len(versions) == 1 else versions
        raise GraphError("graph/onnx-opset", place=where, first=first, last=last, got=got)
    return int(versions[0])


def _is_known(op: Op) -> bool:
    return op.attrs.get(DOMAIN, "") in STANDARD and op.op_type in CONVERTERS


def _refuse_unknown(model: Graph, where: str) -> None:
    """Name every operator that has no converter, with its nodes."""
    missing: dict[str, list[str]] = {}
    for number, op in enumerate(model.ops):
        if not _is_known(op):
            domain = op.attrs.get(DOMAIN, "")
            kind = f"{domain}.{op.op_type}" if domain else op.op_type
            missing.setdefault(kind, []).append(_title(op, number))
    if missing:
        problems = [
            Message("graph/onnx-operator", type=kind, nodes=names)
            for kind, names in missing.items()
        ]
        raise GraphError("graph/onnx-unsupported", place=where, problems=problems)


def _title(op: Op, number: int) -> str:
    return title_of("" if UNNAMED in op.attrs else op.name, number)


class _Lowering:
    """One model on its way into a trace."""

    def __init__(self, model: Graph, where: str, opset: int, seed: int) -> None:
        self._model = model
        self._where = where
        self._opset = opset
        self._seed = seed
        self._trace = OnnxTrace(seed)
        self._folder = Folder(opset)
        self._items: dict[nodes.Operand, Item] = {}
        self._lost: set[nodes.Operand] = set()
        self._lacking: list[UnsupportedNodeError] = []

    def graph(self, shapes: dict[str, int | Sequence[int]], values: dict[str, Any]) -> Graph:
        if not self._model.outputs:
            raise GraphError("graph/onnx-no-output", place=self._where)
        with self._active():
            self._initial()
            self._feeds(shapes, values)
            for number, op in enumerate(self._model.ops):
                self._trace.enter(op)
                self._convert(op, number)
            if self._lacking:
                raise GraphError(
                    "graph/onnx-unsupported", place=self._where, problems=self._lacking
                )
            outputs = [self._trace.operand(self._items[one]) for one in self._model.outputs]
        name = safe_name(self._model.name).replace("/", "_")[:64] or "onnx"
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
        weights = [
            (nodes.Param(number), parameter)
            for number, parameter in enumerate(self._model.parameters)
            if parameter.is_weight
        ]
        for _, parameter in weights:
            if parameter.default.sparse:
                raise GraphError("graph/onnx-sparse", place=self._where, got=parameter.name)
        for operand, parameter in weights:
            self._items[operand] = self._weight(parameter.default.array(), parameter.name)

    def _weight(self, array: Array, name: str) -> Parameter:
        own = self._trace.own_name(name, "weight")
        return Parameter(array, own)

    def _feeds(self, shapes: dict[str, int | Sequence[int]], values: dict[str, Any]) -> None:
        stated = self._model.attrs.get(OPEN_SHAPES, {})
        feeds = {
            parameter.name: (nodes.Param(number), parameter)
            for number, parameter in enumerate(self._model.parameters)
            if not parameter.is_weight
        }
        sizes = {
            one
            for name in feeds
            for one in stated.get(name, ())
            if one != "?" and isinstance(one, str)
        }
        for given, allowed in ((shapes, feeds.keys() | sizes), (values, feeds.keys())):
            for name in given:
                if name not in allowed:
                    raise GraphError(
                        "core/choice",
                        place=self._where,
                        subject="input",
                        got=name,
                        known=sorted(allowed),
                    )
        for name, (operand, parameter) in feeds.items():
            if name in values:
                self._items[operand] = np.asarray(values[name])
            else:
                self._items[operand] = self._feed(parameter, shapes)

    def _feed(
        self, parameter: nodes.Parameter, shapes: Mapping[str, int | Sequence[int]]
    ) -> Tensor:
        dtype = self._dtype(parameter)
        shape = self._shape(parameter, shapes)
        name = self._trace.own_name(parameter.name, "input")
        default = example_feed(name, dtype, shape, self._seed)
        return self._trace.add_feed(
            nodes.Parameter(name, TensorSpec(dtype, shape), default=default)
        )

    def _dtype(self, parameter: nodes.Parameter) -> str:
        dtype = parameter.spec.dtype
        if not dtype:
            raise GraphError("graph/onnx-input-type", place=self._where, name=parameter.name)
        if dtype not in DTYPES:
            raise GraphError("graph/onnx-dtype", place=self._where, name=parameter.name, got=dtype)
        return dtype

    def _shape(
        self, parameter: nodes.Parameter, shapes: Mapping[str, int | Sequence[int]]
    ) -> tuple[int, ...]:
        """Shape of an input; raises GraphError if a size is not known, or beyond all use."""
        shape = self._stated_shape(parameter, shapes)
        if min(shape, default=0) < 0 or prod(max(size, 1) for size in shape) > _LARGEST_FEED:
            raise GraphError("graph/sizes", subject=parameter.name, most=_LARGEST_FEED, got=shape)
        return shape

    def _stated_shape(
        self, parameter: nodes.Parameter, shapes: Mapping[str, int | Sequence[int]]
    ) -> tuple[int, ...]:
        name = parameter.name
        given = shapes.get(name)
        if given is not None and not isinstance(given, int):
            return tuple(int(size) for size in given)
        if parameter.spec.shape is not None:
            return parameter.spec.shape
        stated = self._model.attrs.get(OPEN_SHAPES, {}).get(name)
        found = [_size(size, shapes) for size in stated or ()]
        known = tuple(size for size in found if isinstance(size, int))
        if stated is None or len(known) < len(found):
            size = next((one for one in found if one != "?" and isinstance(one, str)), name)
            raise GraphError(
                "graph/onnx-open-shape",
                name=name,
                got=tuple(found) if stated is not None else None,
                size=size,
                example=1 if size != name else "(1, ...)",
            )
        return known

    def _convert(self, op: Op, number: int) -> None:
        outputs = [nodes.Value(number, slot) for slot in range(len(op.outputs))]
        if any(operand in self._lost for operand in op.inputs):
            self._lost.update(outputs)
            return
        try:
            found = self._outputs(op)
        except UnsupportedNodeError as error:
            self._lacking.append(error.at(f"{op.op_type} (node {_title(op, number)})"))
            self._lost.update(outputs)
            return
        except GraphError as error:
            raise error.at(self._at(op, number)) from error
        except (ArithmeticError, LookupError, TypeError, ValueError, MemoryError) as error:
            kind, place = type(error).__name__, self._at(op, number)
            raise GraphError("graph/onnx-node", place=place, error=kind, why=error) from error
        self._trace.leave(found)
        self._items.update(zip(outputs, found, strict=False))

    def _at(self, op: Op, number: int) -> str:
        return f"{self._where}: node {_title(op, number)} ({op.op_type})"

    def _outputs(self, op: Op) -> list[Item]:
        inputs = [self._items.get(operand) for operand in op.inputs]
        names = op.attrs.get(OUTPUTS, ())
        wanted = tuple(map(bool, names))
        attrs = self._attributes(op)
        found = CONVERTERS[op.op_type](Node(op.op_type, inputs, attrs, self._opset, wanted))
        outputs = list(found) if isinstance(found, tuple | list) else [found]
        for place, needed in enumerate(wanted[len(outputs) :], len(outputs)):
            if needed:
                raise UnsupportedNodeError("graph/onnx-output", got=names[place])
        known = [None if item is None else values_of(item) for item in inputs]
        absent = [item is None for item in inputs]
        all_known = all(a or value is not None for a, value in zip(absent, known, strict=True))
        if not all_known or op.op_type not in FOLDED:
            return [self._named(item, name) for item, name in zip(outputs, names, strict=False)]
        arrays = iter(self._folder.fold(op, known, outputs))
        results: list[Item] = []
        weighty = any(isinstance(item, Parameter) for item in inputs)
        for name, unread in zip(names, outputs, strict=False):
            if not name:
                results.append(unread)
                continue
            array = np.asarray(next(arrays))
            results.append(self._weight(array, name) if weighty else self._named(array, name))
        return results

    def _named(self, item: Item, name: str) -> Item:
        """Give a constant that is too large to be written down the name that the model gives it."""
        if isinstance(item, Operators) or item.size < LARGEST_CONSTANT:
            return item
        return self._weight(item, name)

    def _attributes(self, op: Op) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for name, value in op.attrs.items():
            if isinstance(value, nodes.FreeRef):
                raise GraphError("graph/onnx-reference", name=name)
            if isinstance(value, OnnxTensor):
                if not value.sparse:
                    found[name] = value.array()
            else:
                found[name] = value
        return found


def _size(size: int | str, shapes: Mapping[str, int | Sequence[int]]) -> int | str:
    """A size, or that which is given for its name."""
    given = shapes.get(size) if isinstance(size, str) and size != "?" else None
    return given if isinstance(given, int) else size


def example_feed(name: str, dtype: str, shape: tuple[int, ...], seed: int) -> Array | None:
    """Values of a feed that nobody has given yet; none for one that is very large."""
    if prod(max(size, 1) for size in shape) > LARGEST_EXAMPLE:
        return None
    rng = np.random.default_rng([zlib.crc32(name.encode()), seed])
    row = DTYPES[dtype]
    if row.is_float or row.is_complex:
        return rng.standard_normal(shape, np.float32).astype(row.storage)
    return rng.integers(0, 2, shape, np.int8).astype(row.storage)
