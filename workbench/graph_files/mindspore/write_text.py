"""Writer of ``ms_output_trace_code_graph_{id}.ir`` in MindSpore's dialect of 2.3 to 2.10.

Operators and their operands are what the graph says; the structural nodes that MindSpore puts
between them are made anew: a weight is read through ``Load``, an output of a multi-output operator
through ``TupleGetItem``, a tuple through ``MakeTuple``, and a final ``UpdateState`` and ``Depend``
order the loads. Promise (`tests/graph_files/mindspore/test_write_text.py`):
`workbench.graph_files.mindspore.text` reads back the same operators, with the device types that a
kernel without its own takes from the host.
"""

from __future__ import annotations

import zlib
from collections import Counter
from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING, Any

from workbench.core.errors import GraphError
from workbench.core.tensors import TensorSpec
from workbench.graph.graph import Bundle, Const, FreeRef, GraphRef, Param, Value
from workbench.graph_files.mindspore import print as ms_print

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from workbench.graph.graph import Graph, Op, Operand, Parameter

_CLASSES = frozenset(
    ("Adam", "ApplyMomentum", "Conv2D", "Conv2DBackpropFilter", "Conv2DBackpropInput", "DepthToSpace",
     "LRN", "LSTM", "LSTMGrad", "MaxPool", "MaxPoolGrad", "PadV3", "ReverseSequence", "SGD",
     "SeLU", "SliceGrad", "SoftmaxCrossEntropyWithLogits", "Softplus", "SoftplusGrad", "SpaceToDepth",
     "SparseSoftmaxCrossEntropyWithLogits", "StridedSliceGrad", "TensorScatterUpdate", "TopK", "Tril",
     "Unstack", "Partial", "Switch", "call")
)  # fmt: skip
"""Operators that come from a primitive's class; all others are printed as ``PrimFunc_``."""

_CNODE = "cnode_attrs: {checkpoint: Bool(1), is_dynamic_len: Bool(0)}"
_UMONAD = "<UMonad, NoShape>"
_GROUPS = {
    "candidate": "      # Corresponding code candidate:",
    "forward": "      # Corresponding forward node candidate:",
}


def write_ms_text(graph: Graph) -> str:
    """Return the text of a graph and its subgraphs."""
    graphs = (graph, *graph.subgraphs)
    blocks, first = [], 1
    for one in graphs:
        blocks.append(_Block(one, first))
        first += len(one.parameters) + bool(blocks[-1].state)
    bodies = [block.text(entry=block.graph is graph) for block in blocks]
    return "".join((_header(graph, blocks), _counting(blocks), *bodies))


def _header(graph: Graph, blocks: Sequence[_Block]) -> str:
    lines = [f"# IR entry: @{graph.name}", f"# Total subgraphs: {len(blocks)}", ""]
    if graph.attrs:
        lines += ["# Attrs:", *_attr_lines(graph), ""]
    lines += [f"# Total params: {len(graph.parameters) + bool(blocks[0].state)}", "# Params:"]
    for number, parameter in enumerate(graph.parameters, 1):
        lines.append(_parameter_line(number, parameter))
    if blocks[0].state:
        kind = "<UMonad, NoShape>  :  <UMonadxDefaultFormat[const vector]{}>"
        lines.append(f"{blocks[0].state}: {kind}  :  IsWeight: false")
    return "\n".join((*lines, "", ""))


def _attr_lines(graph: Graph) -> list[str]:
    return [f"{key}: {value}" for key, value in graph.attrs.items()]


def _parameter_line(number: int, parameter: Parameter) -> str:
    spec, name = parameter.spec, f"%para{number}_{'' if parameter.captured else parameter.name}"
    if parameter.is_weight:
        host = _weight_type(parameter)
        unknown = ms_print.device_type(TensorSpec("Unknown", spec.shape, spec.format))
        return f"{name}: {host}  :  has_default  :  {unknown}  :  IsWeight: true"
    symbols = f"[{', '.join(str(dim) for dim in spec.shape or ())}]"
    device = ms_print.device_type(spec)
    if parameter.captured:
        return f"{name}: {ms_print.host_type(spec)}  :  {device}  :  IsWeight: false"
    return f"{name}: {ms_print.host_type(spec)} : {symbols}  :  {device}  :  IsWeight: false"


def _weight_type(parameter: Parameter) -> str:
    if not parameter.ref_key:
        return ms_print.host_type(parameter.spec)
    return ms_print.ref_type(parameter.spec, parameter.ref_key)


def _counting(blocks: Sequence[_Block]) -> str:
    cnodes = sum(block.count + 1 for block in blocks)
    others = sum(block.constants + len(block.graph.parameters) for block in blocks)
    return (
        f"Node counting information:\nTotal number of nodes: {cnodes + others}\n"
        f"Total number of cnodes: {cnodes}\n\n"
    )


@dataclass(frozen=True, slots=True)
class _Node:
    """What one node line and the lines behind it say."""

    head: str
    operands: Sequence[str]
    types: tuple[str, str]
    full_name: str
    attrs: str = ""
    primal: str = ""
    device: tuple[str, str] | None = None
    kinds: tuple[str, str] | None = None
    after: Sequence[str] = field(default_factory=tuple)


class _Block:
    """One subgraph while its lines are made; ``first`` numbers its first parameter."""

    def __init__(self, graph: Graph, first: int) -> None:
        self.graph, self.first = graph, first
        self.lines: list[str] = []
        self.count = 0
        self.constants = 0
        self._numbers: dict[int, str] = {}
        self._made: dict[Value | Param, str] = {}
        self._loads: list[Param] = []
        self.state = self._handed_state()
        self._names: Counter[str] = Counter()
        self._forward = {op.unique_id: op.op_type for op in graph.ops if op.unique_id}
        for index, op in enumerate(graph.ops):
            self._operator(index, op)
        self._return()

    def text(self, *, entry: bool) -> str:
        """Everything from ``subgraph attr:`` to the order list."""
        name = self.graph.name
        address = zlib.crc32(name.encode())
        types = [self._type(Param(i), direct=True) for i in range(len(self.graph.parameters))]
        head = [] if entry else [f"# Parameters: {len(types)}, ({', '.join(types)})"]
        names = [] if entry else [self._param(i) for i in range(len(self.graph.parameters))]
        lines = [
            "subgraph attr:",
            *_attr_lines(self.graph),
            f"subgraph instance: {name} : 0x{address:x}",
            *head,
            "",
            f"subgraph @{name}({', '.join(names)}) {{",
            *self.lines,
            "}",
            "# Order:",
            f"#   1: @{name}:CNode_{self.count}{{[0]: ValueNode<Primitive> Return}}",
        ]
        return "\n".join((*lines, "", "", ""))

    def _handed_state(self) -> str:
        """Name of the parameter that orders reading of weights, where others call the graph."""
        operands = (operand for op in self.graph.ops for operand in op.flat_inputs())
        reads = any(isinstance(one, Param) and self._is_weight(one) for one in operands)
        number = self.first + len(self.graph.parameters)
        return f"%para{number}_u" if self.graph.inner and reads else ""

    def _operator(self, index: int, op: Op) -> None:
        direct = any(_is_monad(operand) for operand in op.inputs)
        head, operands = self._head(op)
        texts = [self._operand(operand, direct=direct) for operand in operands]
        skipped = len(op.inputs) - len(operands)
        specs = op.input_specs if len(op.input_specs) == len(operands) else (None,) * len(operands)
        ins = [
            self._type(operand, spec, direct=direct)
            for operand, spec in zip(operands, specs, strict=True)
        ]
        self.constants += sum(isinstance(operand, Const) for operand in operands)
        device = self._device(op, skipped)
        node = _Node(
            head,
            texts,
            (", ".join(ins), _output_type(op)),
            op.name,
            _group("primitive_attrs", op.attrs),
            _group("cnode_primal_attrs", self._links(op)),
            device,
            _kinds(op, operands) if device else None,
            tuple(_locations(op)),
        )
        self._numbers[index] = self._emit(node)

    def _head(self, op: Op) -> tuple[str, tuple[Operand, ...]]:
        """Text before the operand list, and the operands inside it."""
        if op.op_type == "call" and op.inputs:
            target, *rest = op.inputs
            text = self._operand(target)
            return f"call {text}" if text.startswith("@") else text, tuple(rest)
        prefix = "" if op.op_type in _CLASSES or not op.op_type.isidentifier() else "PrimFunc_"
        return f"{prefix}{op.op_type}", op.inputs

    def _links(self, op: Op) -> dict[str, str]:
        """Attributes that link a gradient to its forward operator."""
        forward = self._forward.get(op.forward_id) if op.forward_id else None
        links = {
            "forward_node_name": f"{forward}_{op.forward_id}" if forward else "",
            "forward_unique_id": op.forward_id,
            "unique_id": op.unique_id,
        }
        return {key: value for key, value in links.items() if value}

    def _emit(self, node: _Node) -> str:
        number = self.count
        self.count += 1
        start = f"  %{number}(CNode_{number}) = {node.head}({', '.join(node.operands)})"
        self.lines.append(" ".join(filter(None, (start, node.attrs, _CNODE, node.primal))))
        self.lines.append(f"      : ({node.types[0]}) -> ({node.types[1]})")
        for pair in (node.device, node.kinds):
            if pair is not None:
                self.lines.append(f"      : ({pair[0]}) -> ({pair[1]})")
        self.lines.append(f"      # Fullname with scope: ({node.full_name})")
        self.lines += node.after
        return f"%{number}"

    def _structural(self, kind: str, texts: Sequence[str], ins: str, out: str, **extra: Any) -> str:
        name = f"Default/{kind}-op{self._names[kind]}"
        self._names[kind] += 1
        return self._emit(_Node(kind, texts, (ins, out), name, **extra))

    def _operand(self, operand: Operand, *, direct: bool = False) -> str:
        if isinstance(operand, Const):
            return ms_print.format_const(operand)
        if isinstance(operand, GraphRef):
            return f"@{operand.name}"
        if isinstance(operand, FreeRef):
            return f"$(@{operand.graph}:{operand.node})" if operand.graph else operand.node
        if isinstance(operand, Param) and (direct or not self._is_weight(operand)):
            return self._param(operand.index)
        if isinstance(operand, Bundle):
            return self._make_tuple(operand)
        if operand not in self._made:
            self._made[operand] = self._make(operand)
        return self._made[operand]

    def _make(self, operand: Value | Param) -> str:
        """Return the node that stands for an operand, a structural one if need be."""
        if isinstance(operand, Param):
            self._loads.append(operand)
            spec = self.graph.parameters[operand.index].spec
            ins = f"{self._type(operand, direct=True)}, {_UMONAD}"
            texts = (self._param(operand.index), self.state or "UMonad[U]")
            return self._structural("Load", texts, ins, ms_print.host_type(spec))
        whole = self._numbers.get(operand.op)
        if whole is None:
            raise GraphError("graph_files/later-operand", graph=self.graph.name, got=operand)
        op = self.graph.ops[operand.op]
        if operand.slot == 0 and len(op.outputs) <= 1:
            return whole
        ins = f"{_output_type(op)}, <Int64, NoShape>"
        texts = (whole, f"I64({operand.slot})")
        kinds = ("TupleUnfold, Scalar", "Tensor")
        return self._structural("TupleGetItem", texts, ins, self._type(operand), kinds=kinds)

    def _make_tuple(self, bundle: Bundle) -> str:
        texts = [self._operand(item) for item in bundle.items]
        ins = ", ".join(self._type(item) for item in bundle.items)
        kinds = ", ".join(_kind(item) for item in bundle.items), _kind(bundle)
        return self._structural("MakeTuple", texts, ins, self._type(bundle), kinds=kinds)

    def _return(self) -> None:
        outputs = self.graph.outputs
        texts = [self._operand(operand) for operand in outputs]
        if self._loads and texts:
            loaded = Bundle(tuple(self._loads))
            state = self._structural(
                "UpdateState", (self.state or "UMonad[U]", self._make_tuple(loaded)),
                f"{_UMONAD}, {self._type(loaded)}", _UMONAD,
            )  # fmt: skip
            kind = self._type(outputs[0])
            ends = (texts[0], state)
            texts[0] = self._structural("Depend", ends, f"{kind}, {_UMONAD}", kind)
        whole = Bundle(outputs)
        kinds = ", ".join(_kind(item) for item in outputs), "TupleUnfold"
        ins = ", ".join(self._type(item) for item in outputs)
        result = self._structural("MakeTuple", texts, ins, self._type(whole), kinds=kinds)
        self.lines += [f"  Return({result})", f"      : ({self._type(whole)})"]
        self.lines.append("      # Fullname with scope: (Default/Return-op0)")

    def _is_weight(self, operand: Param) -> bool:
        parameter = self.graph.parameters[operand.index]
        return parameter.is_weight and bool(parameter.ref_key)

    def _param(self, index: int) -> str:
        parameter, number = self.graph.parameters[index], self.first + index
        return f"%para{number}_{f'Parameter_{number}' if parameter.captured else parameter.name}"

    def _spec(self, operand: Operand) -> TensorSpec:
        """Spec of an operand that is one value; that of a function where nothing is known."""
        if isinstance(operand, Param):
            return self.graph.parameters[operand.index].spec
        if isinstance(operand, Value):
            outputs = self.graph.ops[operand.op].outputs
            if operand.slot < len(outputs):
                return outputs[operand.slot]
        if isinstance(operand, Const):
            return _const_spec(operand)
        return TensorSpec("Func", ())

    def _type(
        self, operand: Operand, spec: TensorSpec | None = None, *, direct: bool = False
    ) -> str:
        """Host type of an operand; ``spec`` is what the operator itself says about it."""
        if _is_monad(operand):
            return _UMONAD
        if isinstance(operand, Bundle):
            return ms_print.tuple_type((self._spec(i), _is_scalar(i)) for i in operand.items)
        if isinstance(operand, Const) and operand.dtype == "tuple":
            return ms_print.tuple_type((_item_spec(item), True) for item in operand.value)
        if direct and isinstance(operand, Param) and self._is_weight(operand):
            return _weight_type(self.graph.parameters[operand.index])
        flags = ", value=..." if isinstance(operand, Const) and not _is_scalar(operand) else ""
        known = spec or self._spec(operand)
        return ms_print.host_type(known, scalar=_is_scalar(operand), flags=flags)

    def _device(self, op: Op, skipped: int) -> tuple[str, str] | None:
        """Device types as stated, or those of the host; ``None`` for calls and the like."""
        if op.op_type in ("call", "Partial", "Switch"):
            return None
        ins = op.device_inputs or tuple(
            self._spec(operand) for operand in list(op.flat_inputs())[skipped:]
        )
        return _device_types(ins), _device_types(op.device_outputs or op.outputs)


def _device_types(specs: Iterable[TensorSpec]) -> str:
    return ", ".join(ms_print.device_type(_plain(spec)) for spec in specs)


def _plain(spec: TensorSpec) -> TensorSpec:
    return spec if ms_print.is_tensor(spec) else TensorSpec("int64", ())


def _is_monad(operand: Operand) -> bool:
    return isinstance(operand, Const) and operand.dtype == "monad"


def _is_scalar(operand: Operand) -> bool:
    return isinstance(operand, Const) and operand.shape in ((), None)


def _const_spec(const: Const) -> TensorSpec:
    if const.dtype == "tuple":
        return TensorSpec("int64", ())
    return TensorSpec(const.dtype or _item_spec(const.value).dtype, const.shape or ())


def _item_spec(value: Any) -> TensorSpec:
    words = {bool: "bool", int: "int64", float: "float32", str: "String", tuple: "Tuple"}
    return TensorSpec(words.get(type(value), "None"), ())


def _kind(operand: Operand) -> str:
    """Object type of an operand."""
    if isinstance(operand, Bundle):
        return "TupleUnfold" if operand.flatten else "Tuple"
    if isinstance(operand, Const) and operand.dtype == "tuple":
        return "Tuple"
    return "Scalar" if _is_scalar(operand) else "Tensor"


def _kinds(op: Op, operands: Iterable[Operand]) -> tuple[str, str]:
    ins = ", ".join(_kind(operand) for operand in operands if not _is_monad(operand))
    return ins, "TupleUnfold" if len(op.outputs) > 1 else "Tensor"


def _output_type(op: Op) -> str:
    if len(op.outputs) == 1:
        return ms_print.host_type(op.outputs[0])
    return ms_print.tuple_type((spec, False) for spec in op.outputs)


def _group(label: str, attrs: Mapping[str, Any]) -> str:
    return f"{label}: {{{ms_print.format_attrs(attrs)}}}" if attrs else ""


def _locations(op: Op) -> Iterator[str]:
    for group, frames in groupby(op.frames, lambda frame: frame.group):
        if group in _GROUPS:
            yield _GROUPS[group]
        yield from (f"      # {ms_print.location(frame)}" for frame in frames)
