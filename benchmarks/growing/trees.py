"""Two trees of any number of tensors of 1 KB, with a graph or without; nearly all tensors differ a little."""

from __future__ import annotations

import io
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from workbench.core.tensors import TensorSpec
from workbench.graph.graph import Graph, Op, Param, Parameter, SourceFrame, Value
from workbench.graph_files.mindspore.write_text import write_ms_text

if TYPE_CHECKING:
    from collections.abc import Iterator

SHAPE = (16, 16)
TYPES = ("Add", "MatMul", "Tanh", "Mul", "ReLU")
BLOCK = 20
"""Operators of a block, which reads nothing of the blocks before it."""

FAULT = 500
"""One operator of so many gives 1.5 times what it has to."""

START = 1_700_000_000_000_000
SPEC = TensorSpec("float32", SHAPE)


def network(operators: int) -> Graph:
    """Return blocks of operators that read what the two before them gave, or the feed."""
    ops = []
    for number in range(operators):
        place, op_type = number % BLOCK, TYPES[number % len(TYPES)]
        last = Value(number - 1) if place else Param(0)
        other = Value(number - 2) if place > 1 else Param(0)
        inputs = (last, other) if op_type in ("Add", "MatMul", "Mul") else (last,)
        name = f"Default/blocks-CellList/{number // BLOCK}-Block/{op_type}-op{number}"
        frame = SourceFrame("/home/user/net.py", 100 + place, f"x = layer_{place}(x)")
        ops.append(Op(name, op_type, inputs, {}, (SPEC,), (SPEC,) * len(inputs), frames=(frame,)))
    ends = tuple(Value(n) for n in range(operators) if n % BLOCK == BLOCK - 1)
    return Graph("kernel_graph0", (Parameter("x", SPEC),), tuple(ops), ends, 0)


def computed(graph: Graph, *, target: bool) -> Iterator[np.ndarray]:
    """Yield the result of every operator; the target's are rounded otherwise, and some are wrong."""
    rng = np.random.default_rng(int(target))
    feed = np.random.default_rng(7).normal(size=SHAPE).astype(np.float32) / 4
    kept: dict[int, np.ndarray] = {}
    for number, op in enumerate(graph.ops):
        read = [kept[one.op % BLOCK] if isinstance(one, Value) else feed for one in op.inputs]
        found = _result(op.op_type, read)
        if target:
            found *= 1 + np.float32(2e-7) * rng.standard_normal(SHAPE, dtype=np.float32)
            found *= 1.5 if number % FAULT == FAULT // 2 else 1
        kept[number % BLOCK] = found
        yield found


def _result(op_type: str, read: list[np.ndarray]) -> np.ndarray:
    if op_type == "Add":
        return read[0] + read[1]
    if op_type == "MatMul":
        return read[0] @ read[1]
    if op_type == "Mul":
        return read[0] * read[1]
    return np.tanh(read[0]) if op_type == "Tanh" else np.maximum(read[0], 0)


def trees(kind: str, operators: int, folder: Path) -> tuple[Path, Path]:
    """Write both trees (``kind``: ``graphs`` or ``plain``); those that a folder has are used as they are."""
    base = folder / f"{kind}-{operators}"
    target, golden, done = base / "target", base / "golden", base / "done"
    if not done.exists():
        shutil.rmtree(base, ignore_errors=True)
        graph = network(operators)
        for place in (target, golden):
            _write(place / "rank_0", graph, target=place is target)
            if kind == "graphs":
                ir = place / "rank_0/graphs/ms_output_trace_code_graph_0.ir"
                ir.parent.mkdir()
                ir.write_text(write_ms_text(graph), encoding="utf-8")
        done.touch()
    return target, golden


def _write(rank: Path, graph: Graph, *, target: bool) -> None:
    folder = rank / "Net/0/0"
    folder.mkdir(parents=True)
    file = io.BytesIO()
    np.save(file, np.zeros(SHAPE, np.float32))
    head = file.getvalue()[: -4 * SHAPE[0] * SHAPE[1]]
    for number, (op, found) in enumerate(
        zip(graph.ops, computed(graph, target=target), strict=True)
    ):
        name = f"{op.op_type}.{op.name.replace('/', '_')}.0.0.{START + 10 * number}"
        path = folder / f"{name}.output.0.DefaultFormat.float32.npy"
        path.write_bytes(head + found.astype(np.float32).tobytes())
