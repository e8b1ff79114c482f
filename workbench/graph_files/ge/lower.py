"""A graph of MindSpore or of the workbench as the graph engine would list it.

Parameters become operators: a feed ``Data`` (or one ``IteratorGetNext`` for all feeds, as in TensorFlow's
training), a weight ``Const``; so do constants that operators take, and the results end in a
``NetOutput``. Operators keep their names, unless two have the same one. Nothing is fused, renamed or
removed: GE does all that, and only a file of GE tells it.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from workbench._values import NamedTuple
from workbench.core.dtypes import DTYPES
from workbench.core.errors import GraphError
from workbench.core.tensors import TensorSpec
from workbench.graph.graph import IS_PART, Bundle, Const, FreeRef, GraphRef, Param, Value
from workbench.graph_files.ge.fields import ITERATOR
from workbench.graph_files.ge.graph import model_graph
from workbench.proto.text import single

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from workbench.core.tensors import Io
    from workbench.graph.graph import Graph, Op, Operand

    Lay = Callable[[Op | None, Io, int, TensorSpec], tuple[TensorSpec, TensorSpec]]


_NOT_OF_THE_NETWORK = {"_datadump_original_op_names": ()}
_UNCONNECTED = {"shape": (), "layout": "FORMAT_RESERVED"}


def as_it_is(op: Op | None, io: Io, slot: int, spec: TensorSpec) -> tuple[TensorSpec, TensorSpec]:
    """Return a tensor's spec for the graph and for the device: both as stated."""
    return spec, spec


def ge_graph_of(
    graph: Graph, *, iterator: bool = False, weights: str = "Const", lay: Lay = as_it_is
) -> Graph:
    """Return a graph as one of GE.

    Parameters
    ----------
    iterator : bool
        Whether all feeds come from one ``IteratorGetNext``, as in TensorFlow's training.
    weights : str
        Type of the operators that hold weights; only a ``Const`` states their values.
    lay : callable (operator, "input" or "output", slot, spec) -> (spec, spec)
        Says how tensors lie in the graph and on the device, where the operator does not.
    """
    return cast(
        "Graph", model_graph(to_ge_fields(graph, iterator=iterator, weights=weights, lay=lay))
    )


def to_ge_fields(
    graph: Graph, *, iterator: bool = False, weights: str = "Const", lay: Lay = as_it_is
) -> dict[str, Any]:
    """Fields of the ``ModelDef`` of a graph and its subgraphs; see `ge_graph_of`."""
    graphs = [_Lowering(graph, iterator, weights, lay).fields()]
    graphs += [_Lowering(sub, False, weights, lay).fields() for sub in graph.subgraphs]
    return {"graph": tuple(graphs)}


class _Made(NamedTuple):
    """What an operand has become: its edge and its tensor."""

    edge: str
    spec: TensorSpec


class _Lowering:
    """One graph while its operators are listed."""

    def __init__(self, graph: Graph, iterator: bool, weights: str, lay: Lay) -> None:
        self.graph, self.weights, self.lay = graph, weights, lay
        self.ops: list[dict[str, Any]] = []
        self.names: set[str] = set()
        self.parameters = self._feed(iterator)
        self.values: list[tuple[str, tuple[TensorSpec, ...]]] = []
        for op in graph.ops:
            self.values.append(self._op(op))

    def fields(self) -> dict[str, Any]:
        """Fields of the ``GraphDef``."""
        made = [one for operand in self.graph.outputs for one in self._inputs(operand, "")]
        if made:
            self._add("Node_Output", "NetOutput", made, ())
        attrs = _attrs(self.graph.attrs)
        return {
            "name": self.graph.name,
            "op": tuple(self.ops),
            **({"attr": attrs} if attrs else {}),
        }

    def _feed(self, iterator: bool) -> list[_Made]:
        """Operators of the parameters, weights and feeds in their order."""
        feeds = [p.spec for p in self.graph.parameters if not p.is_weight]
        source = self._add(ITERATOR, ITERATOR, (), feeds) if iterator and feeds else ""
        made, slot = [], 0
        for number, parameter in enumerate(self.graph.parameters):
            if source and not parameter.is_weight:
                made.append(_Made(f"{source}:{slot}", parameter.spec))
                slot += 1
                continue
            name = parameter.name or f"arg_{number}"
            if parameter.is_weight and self.weights == "Const":
                told = _NOT_OF_THE_NETWORK if parameter.folded else {}
                made.append(self._constant(name, parameter.spec, parameter.default, told))
            else:
                kind = self.weights if parameter.is_weight else "Data"
                name = self._add(name, kind, (), (parameter.spec,))
                made.append(_Made(f"{name}:0", parameter.spec))
        return made

    def _op(self, op: Op) -> tuple[str, tuple[TensorSpec, ...]]:
        """List an operator; returns its name and its results."""
        known = len(op.device_inputs)
        made = [
            one
            for slot, operand in enumerate(op.inputs)
            for one in self._inputs(operand, f"{op.name}/input_{slot}")
        ]
        devices = op.device_inputs if known == len(made) else ()
        name = self._add(op.name or op.op_type, op.op_type, made, op.outputs, op, devices)
        return name, op.outputs

    def _inputs(self, operand: Operand, place: str) -> Iterator[_Made]:
        """Edges of an operand: none for monads and graphs, several for a tuple."""
        if isinstance(operand, Bundle):
            for number, item in enumerate(operand.items):
                yield from self._inputs(item, f"{place}_{number}")
        elif isinstance(operand, Param):
            yield self.parameters[operand.index]
        elif isinstance(operand, Value):
            yield self._result(operand)
        elif isinstance(operand, FreeRef):
            yield _Made(f"{operand.node}:0", TensorSpec("", None))
        elif isinstance(operand, Const) and operand.dtype == "None":
            yield _Made("", TensorSpec("", ()))
        elif isinstance(operand, Const) and operand.dtype != "monad":
            yield self._operand(operand, place)

    def _result(self, value: Value) -> _Made:
        if value.op >= len(self.values):
            raise GraphError("graph_files/later-operand", graph=self.graph.name, got=value)
        name, outputs = self.values[value.op]
        known = value.slot < len(outputs)
        spec = outputs[value.slot] if known else TensorSpec("", None)
        return _Made(f"{name}:{value.slot}", spec)

    def _operand(self, const: Const, place: str) -> _Made:
        """A ``Const`` for an operand that is a constant."""
        dtype = const.dtype if const.dtype in DTYPES else _dtype_of(const.value)
        shape = const.shape if const.shape is not None else ()
        return self._constant(place or "Const", TensorSpec(dtype, shape), const.value)

    def _constant(
        self,
        name: str,
        spec: TensorSpec,
        value: Any,
        attrs: Mapping[str, Any] = MappingProxyType({}),
    ) -> _Made:
        data = _data(spec, value)
        desc = _desc(*self.lay(None, "output", 0, spec))
        tensor = {"desc": desc, **({"data": data} if data else {})}
        name = self._add(name, "Const", (), (spec,), attrs={**attrs, "value": tensor})
        return _Made(f"{name}:0", spec)

    def _add(
        self,
        name: str,
        kind: str,
        inputs: Iterable[_Made],
        outputs: Iterable[TensorSpec],
        op: Op | None = None,
        devices: tuple[TensorSpec, ...] = (),
        attrs: Mapping[str, Any] | None = None,
    ) -> str:
        """List an operator and return its name, which is its alone."""
        made = list(inputs)
        name = self._own(name)
        attrs = attrs if attrs is not None else _attrs(op.attrs if op else {})
        refs = tuple(o.name for o in op.inputs if isinstance(o, GraphRef)) if op else ()
        read = self._laid(op, "input", [one.spec for one in made], devices)
        given = self._laid(op, "output", outputs, op.device_outputs if op else ())
        fields = {
            "name": name,
            "type": kind,
            "input": tuple(one.edge for one in made),
            "attr": attrs,
            "id": len(self.ops),
            "input_desc": tuple(
                _desc(*specs) if one.edge else _UNCONNECTED
                for one, specs in zip(made, read, strict=True)
            ),
            "output_desc": tuple(
                _desc(*specs, _origin(op, slot, specs[0])) for slot, specs in enumerate(given)
            ),
            "subgraph_name": refs,
        }
        self.ops.append({key: value for key, value in fields.items() if value})
        return name

    def _laid(
        self, op: Op | None, io: Io, hosts: Iterable[TensorSpec], devices: tuple[TensorSpec, ...]
    ) -> list[tuple[TensorSpec, TensorSpec]]:
        """Tensors as they lie in the graph and on the device, which the operator may state."""
        laid = [self.lay(op, io, slot, spec) for slot, spec in enumerate(hosts)]
        if len(devices) != len(laid):
            return laid
        return [(here, there) for (here, _), there in zip(laid, devices, strict=True)]

    def _own(self, name: str) -> str:
        own, number = name, 0
        while own in self.names:
            number += 1
            own = f"{name}_{number}"
        self.names.add(own)
        return own


def _origin(op: Op | None, slot: int, host: TensorSpec) -> dict[str, Any]:
    """Attributes of an output that stands for a tensor of the network, which lies as ``host`` does."""
    if op is None or not op.provenance or slot >= len(op.provenance):
        return {}
    found = op.provenance[slot]
    if found is None:
        return {}
    own = (found.op_name, found.slot) == (op.name, slot)
    if own and not op.attrs.get(IS_PART):  # a part that says nothing gives nothing of the network
        return {}
    return {
        "_datadump_origin_name": found.op_name,
        "_datadump_origin_output_index": found.slot,
        "_datadump_origin_format": _layout(host),
        "_datadump_origin_data_type": _word(found.spec),
    }


def _desc(
    host: TensorSpec, device: TensorSpec, origin: Mapping[str, Any] = MappingProxyType({})
) -> dict[str, Any]:
    """Fields of a ``TensorDescriptor``: the device's side, and the host's as attributes."""
    attrs: dict[str, Any] = {**origin, "origin_format": _layout(host)}
    if host.shape is not None:
        attrs["origin_shape"] = host.shape
    if _word(host):
        attrs["origin_data_type"] = _word(host)
    word = {"dtype": _word(device)} if _word(device) else {}
    shape = (-2,) if device.shape is None else device.shape
    return {**word, "shape": shape, "layout": _layout(device), "attr": attrs}


def _word(spec: TensorSpec) -> str:
    """GE's word for a number format; nothing for what it does not have."""
    row = DTYPES.get(spec.dtype)
    if row is not None:
        return f"DT_{row.word}"
    return "DT_STRING" if spec.dtype == "String" else ""


def _layout(spec: TensorSpec) -> str:
    return "ND" if spec.format in ("", "DefaultFormat") else spec.format


def _dtype_of(value: Any) -> str:
    """Number format of a constant that does not state one."""
    if isinstance(value, str):
        return "String"
    try:
        name = np.asarray(value).dtype.name
    except ValueError:
        return ""
    return "float32" if name == "float64" else name if name in DTYPES else ""


def _data(spec: TensorSpec, value: Any) -> bytes:
    """Bytes of a constant; none if its elements are not known or not whole bytes."""
    row = DTYPES.get(spec.dtype)
    if row is None or value is None or isinstance(value, str) or row.name == "int4":
        return b""
    try:
        with np.errstate(all="ignore"):  # a number beyond its dtype is Inf there
            array = np.asarray(value).astype(row.storage)
    except (ValueError, TypeError, OverflowError):
        return b""
    return array.tobytes() if array.size == spec.size else b""


def _attrs(attrs: Mapping[str, Any]) -> dict[str, Any]:
    """Attributes in the kinds that GE has; those without a value are left out."""
    return {key: _value(value) for key, value in attrs.items() if value is not None}


def _value(value: Any) -> Any:
    """Value of an attribute: numbers, words, lists of them; anything else as text."""
    if isinstance(value, tuple | list):
        return _sequence(tuple(value))
    return _plain(value)


def _sequence(values: tuple[Any, ...]) -> Any:
    if values and all(isinstance(item, tuple | list) for item in values):
        inner = tuple(tuple(_plain(number) for number in item) for item in values)
        kinds = {type(number) for item in inner for number in item}
        return inner if kinds in ({int}, {float}) else str(values)
    plain = tuple(_plain(item) for item in values)
    return plain if len({type(item) for item in plain}) <= 1 else str(values)


def _plain(value: Any) -> Any:
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if isinstance(value, int | np.integer) and -(1 << 63) <= int(value) < 1 << 63:
        return int(value)
    if isinstance(value, float | np.floating):
        return single(float(value))
    return value if isinstance(value, bytes) else str(value)
