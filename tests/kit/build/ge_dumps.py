"""Small dumps of the graph engine, written file by file with the container writer."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from workbench.dump.container.blocks import Container
from workbench.dump.container.writer import tensor_block, write_container

if TYPE_CHECKING:
    from collections.abc import Iterable

START = 1_700_000_000_000_000
TIME = "20240613143502"
LEAF = f"{TIME}/0/net/1/0"


class Call(NamedTuple):
    """One operator's tensors: its full name, its type, inputs and outputs."""

    name: str
    op_type: str
    inputs: tuple[Any, ...]
    outputs: tuple[Any, ...]


def file_name(name: str) -> str:
    return name.replace("/", "_").replace(".", "_").replace(" ", "_")


def save(path: Path, inputs: Iterable[Any], outputs: Iterable[Any], **fields: Any) -> Path:
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
    with path.open("wb") as file:
        write_container(file, Container(tuple(blocks), **fields), payload)
    return path


def dump(base: Path, calls: Iterable[Call], leaf: str = LEAF, *, start: int = START) -> Path:
    """Write the tree of one iteration; return its folder."""
    for number, call in enumerate(calls):
        time = start + 10 * number
        name = f"{file_name(call.op_type)}.{file_name(call.name)}.{number}.3.{time}"
        save(base / leaf / name, call.inputs, call.outputs, op_name=call.name, dump_time=time)
    return base


def network(seed: int = 0, *, fault: str = "") -> list[Call]:
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


def graph_text(name: str = "net", *, iterator: bool = False) -> str:
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
