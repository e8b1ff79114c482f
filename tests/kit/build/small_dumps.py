"""Small dumps whose every value is known: networks of a few operators, run by ten lines of NumPy.

Independent of the package's own kernels, tree writer and namer: a test asserts facts that it has constructed itself.
MindSpore: a `Shot` is one tensor; a list of shots becomes a dump in memory or the tree of a CPU, with the graph
beside it as text or protobuf. Graph engine: a `Call` is one operator; a list of calls becomes the containers of an
iteration (of the package's container writer), with the graph as GE's text.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from workbench.core.tensors import ArraySource, TensorKey, TensorRecord, TensorSpec
from workbench.dump.dump import Dump
from workbench.dump.formats.container import Container
from workbench.dump.formats.container_write import tensor_block, write_container
from workbench.dump.index import index_of
from workbench.dump.runs import number_turns
from workbench.graph.graph import Const, Graph, Op, Param, Parameter, SourceFrame, Value
from workbench.graph_files.ge.text import parse_ge_text
from workbench.graph_files.mindspore.write_pb import pb_and_constants
from workbench.graph_files.mindspore.write_text import write_ms_text

if TYPE_CHECKING:
    from collections.abc import Iterable

START = 1_700_000_000_000_000
CPU = {"device_target": "CPU", "ms_version": "2.10.0"}

RUN = {
    "MatMul": lambda a, b: a @ b,
    "MatMulRelu": lambda a, b: np.maximum(a @ b, 0),
    "Add": lambda a, b: a + b,
    "Sub": lambda a, b: a - b,
    "Mul": lambda a, b: a * b,
    "ReLU": lambda a: np.maximum(a, 0),
    "Tanh": np.tanh,
    "Exp": np.exp,
    "Log": np.log,
    "Sigmoid": lambda a: 1 / (1 + np.exp(-a)),
    "Sign": np.sign,
    "Reshape": lambda a, shape=None: a,
    "Transpose": lambda a, axes=None: a.T,
    "Cast": lambda a, dtype=None: a,
    "Load": lambda a: a,
    "StridedSlice": lambda a, begin, end, steps: a[tuple(map(slice, begin, end, steps))],
    "BiasAddGrad": lambda a: a.sum(0),
    "Softmax": lambda a, axis=None: np.exp(a) / np.exp(a).sum(-1, keepdims=True),
    "LayerNorm": lambda a, *rest: (a - a.mean(-1, keepdims=True)) / a.std(-1, keepdims=True),
    "AssignAdd": lambda a, b: a + b,
    "Neg": lambda a: -a,
    "Pair": lambda a: (a + 1, a + 2),
}
"""What each operator type computes."""


class Shot(NamedTuple):
    """One tensor of a run, under the name its file carries."""

    op_type: str
    name: str
    io: str
    slot: int
    data: Any
    graph_id: int = 0
    iteration: int = 0
    rank: int = 0
    time: int = START
    net_name: str = "Net"


@dataclass
class Net:
    """A network under construction; operators are float32 unless told otherwise."""

    parameters: list[Parameter] = field(default_factory=list)
    ops: list[Op] = field(default_factory=list)

    def feed(self, name: str, shape=(4, 4), dtype="float32") -> Param:
        self.parameters.append(Parameter(name, TensorSpec(dtype, shape)))
        return Param(len(self.parameters) - 1)

    def weight(self, name: str, shape=(4, 4)) -> Param:
        self.parameters.append(Parameter(name, TensorSpec("float32", shape), True, name))
        return Param(len(self.parameters) - 1)

    def op(self, op_type: str, *inputs, name="", shape=(4, 4), dtype="float32", outputs=1, line=0,
           attrs=None, **changes) -> Value:  # fmt: skip
        """Append an operator; return its first output."""
        count = sum(op.op_type == op_type for op in self.ops)
        spec = TensorSpec(dtype, shape)
        frames = (SourceFrame("/home/user/net.py", line, f"x = call_{line}(x)"),) if line else ()
        specs = tuple(self._spec(operand) for operand in inputs)
        self.ops.append(
            Op(name or f"Default/{op_type}-op{count}", op_type, inputs, attrs or {},
               (spec,) * outputs, specs, frames=frames, **changes)
        )  # fmt: skip
        return Value(len(self.ops) - 1)

    def _spec(self, operand) -> TensorSpec | None:
        if isinstance(operand, Value):
            return self.ops[operand.op].outputs[operand.slot]
        if isinstance(operand, Param):
            return self.parameters[operand.index].spec
        return TensorSpec(operand.dtype, ()) if isinstance(operand, Const) else None

    def graph(self, *results, graph_id: int = 0) -> Graph:
        ends = results or (Value(len(self.ops) - 1),)
        name = f"kernel_graph{graph_id}"
        return Graph(name, tuple(self.parameters), tuple(self.ops), ends, graph_id)


def file_name(name: str) -> str:
    """Name of an operator or parameter as files carry it."""
    return name.replace("/", "_").replace(".", "_").replace(" ", "_")


def given(graph: Graph, seed: int = 0) -> dict[str, Any]:
    """Random feeds and weights by name."""
    rng = np.random.default_rng(seed)
    return {
        p.name: rng.standard_normal(p.spec.shape).astype(p.spec.dtype) for p in graph.parameters
    }


def shoot(graph: Graph, values: dict[str, Any], *, alter=None, iteration=0, rank=0, start=START,
          step=10, net_name="Net", parameters=True) -> list[Shot]:  # fmt: skip
    """Run a graph; ``alter`` maps operator names to functions that spoil their output."""
    results: dict[int, tuple] = {}
    shots: list[Shot] = []
    place = (graph.graph_id, iteration, rank)
    for number, op in enumerate(graph.ops):
        inputs = []
        for operand in op.flat_inputs():
            if isinstance(operand, Value):
                inputs.append(results[operand.op][operand.slot])
            elif isinstance(operand, Param):
                inputs.append(values[graph.parameters[operand.index].name])
            else:
                inputs.append(np.asarray(operand.value))
        with np.errstate(all="ignore"):  # whether 0·Inf warns depends on the machine's BLAS
            out = RUN[op.op_type](*inputs)
        out = out if isinstance(out, tuple) else (out,)
        out = tuple(np.asarray(o).astype(s.dtype) for o, s in zip(out, op.outputs, strict=True))
        if alter and op.name in alter:
            out = tuple(np.asarray(alter[op.name](o)).astype(o.dtype) for o in out)
        results[number] = out
        time = start + step * number
        for io, tensors in (("input", inputs), ("output", out)):
            shots += [
                Shot(op.op_type, file_name(op.name), io, slot, data, *place, time, net_name)
                for slot, data in enumerate(tensors)
            ]
    end = start + step * len(graph.ops)
    shots += [
        Shot("Parameter", file_name(p.name), "output", 0, values[p.name], *place, end, net_name)
        for p in graph.parameters
        if p.is_weight and parameters
    ]
    return shots


def in_memory(shots: list[Shot], *graphs: Graph, info=CPU, rank: int = 0) -> Dump:
    """A dump whose data lie in memory."""
    records = [
        TensorRecord(
            TensorKey(s.op_type, s.name, s.io, s.slot, s.graph_id, s.iteration, s.rank, s.net_name),
            TensorSpec(s.data.dtype.name, None),
            ArraySource(s.data),
            timestamp_us=s.time,
        )
        for s in shots
    ]
    return held(records, *graphs, info=info, rank=rank)


def held(records: Iterable[TensorRecord], *graphs: Graph, info=CPU, rank: int = 0) -> Dump:
    """A dump of records, in memory."""
    table = {(rank, graph.graph_id): graph for graph in graphs}
    index = number_turns(index_of(records))
    return Dump("memory", "mindspore", index, table, info=dict(info))


def on_disk(root: Path, shots: list[Shot], *graphs: Graph, info=CPU, rank: int = 0) -> Path:
    """The same as MindSpore's CPU tree."""
    for s in shots:
        folder = root / f"rank_{s.rank}" / s.net_name / str(s.graph_id) / str(s.iteration)
        folder.mkdir(parents=True, exist_ok=True)
        word = s.data.dtype.name.capitalize().replace("Bool_", "Bool")
        middle = f"{s.op_type}.{s.name}.0.0.{s.time}.{s.io}.{s.slot}"
        np.save(folder / f"{middle}.DefaultFormat.{word}.npy", s.data)
    base = root / f"rank_{rank}"
    for graph in graphs:
        write_ir(base / f"graphs/ms_output_trace_code_graph_{graph.graph_id}.ir", graph)
    if info:
        (base / ".dump_metadata").mkdir(parents=True, exist_ok=True)
        (base / ".dump_metadata/config.json").write_text(json.dumps(info))
    return root


def write_ir(path: Path, graph: Graph) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(write_ms_text(graph), encoding="utf-8")


def write_ms_pb(graph: Graph) -> bytes:
    """The debugger's protobuf of a graph, without its constants."""
    return pb_and_constants(write_ms_text(graph), graph.graph_id)[0]


def chain(*types: str, **changes) -> Graph:
    """A feed ``x`` through operators in a row; every MatMul reads a weight of its own."""
    net = Net()
    value: Any = net.feed("x")
    for number, op_type in enumerate(types):
        inputs = (value,)
        if op_type == "MatMul":
            inputs = (value, net.weight(f"fc{number}.weight"))
        value = net.op(op_type, *inputs, line=100 + number, **changes.get(f"at_{number}", {}))
    return net.graph()


# ---------------- the graph engine

TIME = "20240613143502"
LEAF = f"{TIME}/0/net/1/0"
"""Folder of an iteration: time of the process, device, model and its number, step."""


class Call(NamedTuple):
    """One operator's tensors: its full name, its type, inputs and outputs."""

    name: str
    op_type: str
    inputs: tuple[Any, ...]
    outputs: tuple[Any, ...]


def container_bytes(container: Container, payload: Iterable[Any]) -> bytes:
    """A container with the bytes of its blocks, as its writer lays it out."""
    file = BytesIO()
    write_container(file, container, payload)
    return file.getvalue()


def save_container(
    path: Path, inputs: Iterable[Any], outputs: Iterable[Any], **fields: Any
) -> Path:
    """Write a container; a tensor is an array, or an array with a dict of fields."""
    blocks, payload = [], []
    for part, tensors in (("input", inputs), ("output", outputs)):
        for slot, one in enumerate(tensors):
            array, more = one if isinstance(one, tuple) else (one, {})
            more = {"format": 2} | more
            block, data = tensor_block(part, slot, np.asarray(array), more.pop("dtype", ""), **more)
            blocks.append(block)
            payload.append(data)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(container_bytes(Container(tuple(blocks), **fields), payload))
    return path


def ge_dump(base: Path, calls: Iterable[Call], leaf: str = LEAF, *, start: int = START) -> Path:
    """Write the tree of one iteration; return its folder."""
    for number, call in enumerate(calls):
        time = start + 10 * number
        name = f"{file_name(call.op_type)}.{file_name(call.name)}.{number}.3.{time}"
        save_container(
            base / leaf / name, call.inputs, call.outputs, op_name=call.name, dump_time=time
        )
    return base


def ge_network(seed: int = 0, *, fault: str = "") -> list[Call]:
    """Four operators in a row on random data; ``fault`` names the one whose output is spoilt."""
    rng = np.random.default_rng(seed)
    x, w = rng.standard_normal((2, 8, 8)).astype(np.float32)
    calls: list[Call] = []

    def call(name: str, op_type: str, out: Any, *inputs: Any) -> Any:
        out = out.astype(np.float32)
        if name == fault:
            out = out * np.float32(1.5)
        calls.append(Call(name, op_type, inputs, (out,)))
        return out

    y = call("layer1/MatMul", "MatMulV2", x @ w, x, w)
    y = call("layer1/Relu", "Relu", np.maximum(y, 0), y)
    y = call("layer2/MatMul", "MatMulV2", y @ w, y, w)
    call("loss/Tanh", "Tanh", np.tanh(y), y)
    return calls


def ge_text(name: str = "net", *, iterator: bool = False) -> str:
    """The four operators as GE's graph text."""
    desc = 'dtype: DT_FLOAT\n      shape {\n        dim: 8\n        dim: 8\n      }\n      layout: "ND"\n'

    def op(name: str, op_type: str, *edges: str) -> str:
        lines = [f'    name: "{name}"', f'    type: "{op_type}"']
        lines += [f'    input: "{edge}"' for edge in edges]
        lines += [f"    input_desc {{\n      {desc}    }}" for _ in edges]
        lines += [f"    output_desc {{\n      {desc}    }}"]
        return "  op {\n" + "\n".join(lines) + "\n  }\n"

    ops = op("IteratorGetNext" if iterator else "x", "Data") + op("w", "Const")
    feed = "IteratorGetNext" if iterator else "x"
    ops += op("layer1/MatMul", "MatMulV2", f"{feed}:0", "w:0")
    ops += op("layer1/Relu", "Relu", "layer1/MatMul:0")
    ops += op("layer2/MatMul", "MatMulV2", "layer1/Relu:0", "w:0")
    ops += op("loss/Tanh", "Tanh", "layer2/MatMul:0")
    return f'graph {{\n  name: "{name}"\n{ops}}}\n'


def ge_attr(key: str, value: Any) -> str:
    """An attribute in GE's graph text."""
    kind, text = ("i", value) if isinstance(value, int) else ("s", json.dumps(value))
    if isinstance(value, bool):
        kind, text = "b", str(value).lower()
    if isinstance(value, list):
        items = "".join(f"s: {json.dumps(item)} " for item in value)
        return f'attr {{ key: "{key}" value {{ list {{ {items} val_type: VT_LIST_STRING }} }} }}'
    return f'attr {{ key: "{key}" value {{ {kind}: {text} }} }}'


def ge_graph(*ops: str) -> Graph:
    """A graph of operators in GE's text."""
    return parse_ge_text('graph { name: "net" ' + " ".join(ops) + " }")
