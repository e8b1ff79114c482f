"""Which of five faults stand out of the envelope of a network, in float32, float16 and bfloat16.

``python benchmarks/envelope.py [--seeds N] [--layers N] [--runs N]``

A Transformer (pre-norm, masked attention, norms in float32) runs on the reference and on the simulated A2, which
sums in another order. In every faulty run one operator is wrong: a LayerNorm whose epsilon is 1e-3; attention in
which one masked token leaks; a product times 1.001; a product with one row of zeros; a product with one wrong
element. Printed is the ratio of the worst tensor or slice to the envelope, at the guilty operator and without a
fault anywhere, and whether the first operator beyond it is the right one.
"""

from __future__ import annotations

import argparse
import statistics
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

import workbench as wb
from workbench import nn
from workbench.comparison.engine import compare_dumps
from workbench.comparison.limits import LIMITS
from workbench.comparison.measure.envelope import Ratio
from workbench.comparison.results.envelope import first_beyond
from workbench.dump.dump import Dump
from workbench.dump.index import index_of
from workbench.graph.graph import Const
from workbench.network.nn import functional as ops
from workbench.run.reference import run_reference

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from workbench.core.tensors import TensorRecord
    from workbench.graph.graph import Graph, Op
    from workbench.run.envelope import Envelope
    from workbench.run.plan import PlannedOp

    Array = NDArray[Any]

TOKENS, SIZE, HEADS = 16, 64, 4


class Norm(nn.Cell):
    """LayerNorm in float32, whatever the network computes in."""

    def __init__(self, size: int) -> None:
        self.norm = nn.LayerNorm((size,))

    def to_float(self, dst_type: Any) -> Norm:
        """Stay in float32."""
        return self

    def construct(self, x: Any) -> Any:
        """Normalize."""
        return (
            self.norm(x) if x.dtype == "float32" else self.norm(x.astype("float32")).astype(x.dtype)
        )


class Attention(nn.Cell):
    """Masked self-attention."""

    def __init__(self) -> None:
        self.query, self.key, self.value, self.out = (nn.Dense(SIZE, SIZE) for _ in range(4))

    def split(self, x: Any) -> Any:
        """(N, S, H) as (N, heads, S, H / heads)."""
        x = ops.reshape(x, (x.shape[0], x.shape[1], HEADS, SIZE // HEADS))
        return ops.transpose(x, (0, 2, 1, 3))

    def construct(self, x: Any, mask: Any) -> Any:
        """Attend."""
        query, key, value = (self.split(layer(x)) for layer in (self.query, self.key, self.value))
        scores = ops.matmul(query, key, transpose_b=True) * float((SIZE // HEADS) ** -0.5) + mask
        mixed = ops.transpose(ops.matmul(ops.softmax(scores), value), (0, 2, 1, 3))
        return self.out(ops.reshape(mixed, x.shape))


class Layer(nn.Cell):
    """Attention and two dense layers, each added to its input."""

    def __init__(self) -> None:
        self.attention, self.norm1, self.norm2 = Attention(), Norm(SIZE), Norm(SIZE)
        self.dense1, self.dense2, self.gelu = (
            nn.Dense(SIZE, 2 * SIZE),
            nn.Dense(2 * SIZE, SIZE),
            nn.GELU(),
        )

    def construct(self, x: Any, mask: Any) -> Any:
        """Compute one layer."""
        x = x + self.attention(self.norm1(x), mask)
        return x + self.dense2(self.gelu(self.dense1(self.norm2(x))))


class Transformer(nn.Cell):
    """Layers, and ten classes for every token."""

    def __init__(self, layers: int) -> None:
        self.count = layers
        for number in range(layers):
            setattr(self, f"layer{number}", Layer())
        self.head = nn.Dense(SIZE, 10)

    def construct(self, x: Any, mask: Any) -> Any:
        """Compute all layers."""
        for number in range(self.count):
            x = getattr(self, f"layer{number}")(x, mask)
        return self.head(x)


def network(dtype: str, layers: int, seed: int) -> Graph:
    """Return the graph of a Transformer that computes in a number format."""
    x = np.random.default_rng(seed).standard_normal((2, TOKENS, SIZE)).astype(np.float32)
    mask = np.triu(np.full((TOKENS, TOKENS), -1e4, np.float32), 1)[None, None]
    net = Transformer(layers)
    if dtype != "float32":
        net.to_float(dtype)
    graph = wb.trace(net, x, mask, seed=seed)
    assert not hasattr(graph, "graphs")
    return graph  # type: ignore[return-value]


# --- faults ------------------------------------------------------------------------------------


class Fault(NamedTuple):
    """A fault: the operator that has it, how the graph is changed, how its output is."""

    op_name: str
    graph: Graph
    change: Callable[[Array], Array] | None = None


def faults(graph: Graph) -> dict[str, Fault]:
    """Return the five faults, each in the second layer."""
    norm = _nth(graph, lambda op: op.op_type == "LayerNorm", 2)
    masked = _nth(
        graph,
        lambda op: op.op_type == "Add" and op.outputs[0].shape == (2, HEADS, TOKENS, TOKENS),
        1,
    )
    product = _nth(graph, lambda op: op.op_type == "MatMul", 10)
    return {
        "LayerNorm eps 1e-3": Fault(norm.name, _with_epsilon(graph, norm, 1e-3)),
        "mask leaks one token": Fault(masked.name, graph, _leak),
        "× 1.001": Fault(
            product.name, graph, lambda x: (x.astype(np.float64) * 1.001).astype(x.dtype)
        ),
        "one row zero": Fault(product.name, graph, _zero_row),
        "one element": Fault(product.name, graph, _wrong_element),
    }


def _nth(graph: Graph, fits: Callable[[Op], bool], number: int) -> Op:
    return [op for op in graph.ops if fits(op)][number]


def _with_epsilon(graph: Graph, norm: Op, epsilon: float) -> Graph:
    inputs = tuple(
        replace(one, value=epsilon) if isinstance(one, Const) and one.dtype == "float32" else one
        for one in norm.inputs
    )
    return replace(
        graph, ops=tuple(replace(op, inputs=inputs) if op is norm else op for op in graph.ops)
    )


def _leak(scores: Array) -> Array:
    """Let token 3 of the first sequence see token 7, in all heads."""
    scores = scores.copy()
    scores[0, :, 3, 7] = 0
    return scores


def _zero_row(x: Array) -> Array:
    x = x.copy()
    x.reshape(-1, x.shape[-1])[5] = 0
    return x


def _wrong_element(x: Array) -> Array:
    """Move one element by half the largest."""
    x = x.copy()
    largest = float(np.abs(x.astype(np.float64)).max())
    x.reshape(-1)[37] = x.dtype.type(float(x.reshape(-1)[37]) + 0.5 * largest)
    return x


def device_run(fault: Fault) -> Iterator[TensorRecord]:
    """Yield the tensors of a run on the simulated A2 whose operator is wrong."""
    from workbench.npu.compile.pipeline import compile_graph
    from workbench.npu.device import Device
    from workbench.npu.faults import compiled_executions
    from workbench.npu.target import Target
    from workbench.run.executor import execute, feeds_at
    from workbench.run.plan import plan_execution

    program = compile_graph(
        fault.graph, Target("mindspore-o0o1", precision="must_keep_origin_dtype")
    )
    plan = plan_execution(program.graph)
    device = Device(
        program.model, plan, compiled_executions([*program.computed], [], program.formats), []
    )

    def compute(planned: PlannedOp, tensors: Any, settings: Any) -> list[Array]:
        outputs = device.compute(planned, tensors, settings)
        if fault.change is not None and planned.op.name == fault.op_name:
            outputs[0] = fault.change(np.asarray(outputs[0]))
        return outputs

    return execute(plan, feeds_at(program.network, None, 0), compute)


# --- figures -----------------------------------------------------------------------------------


class Answer(NamedTuple):
    """Ratio at the guilty operator, the largest anywhere, and the first operator beyond (empty: none)."""

    guilty: float
    largest: float
    first: str


def answer(fault: Fault, golden: Dump, envelope: Envelope) -> Answer:
    """Compare a run with the reference, and look at the columns of the envelope alone."""
    target = _dump(device_run(fault), fault.graph, "Ascend")
    rows = compare_dumps(target, golden, envelope=envelope).result.columns
    ratios = [*map(Ratio, rows.column("envelope"), rows.column("envelope_slice"))]
    names, ios = rows.column("op_name"), rows.column("io")
    own = [
        ratio.largest
        for ratio, name, io in zip(ratios, names, ios, strict=True)
        if io == "output" and name == fault.op_name
    ]
    beyond = first_beyond(rows, ratios)
    first = "" if beyond is None else names[beyond.row]
    return Answer(max(own, default=0.0), max(one.largest for one in ratios), first)


def _dump(records: Iterator[TensorRecord], graph: Graph, device: str) -> Dump:
    info = {"device_target": device, "ms_version": "2.6.0"}
    return Dump("memory", "mindspore", index_of(records), {(0, graph.graph_id): graph}, info=info)


def measure(dtype: str, seed: int, layers: int, runs: int) -> dict[str, tuple[Answer, bool]]:
    """Return the answers of one network: without a fault (right if nothing stands out), and with each."""
    graph = network(dtype, layers, seed)
    envelope = wb.envelope(graph, runs=runs, seed=seed)
    golden = _dump(run_reference(graph), graph, "CPU")
    clean = answer(Fault("", graph), golden, envelope)
    found = {"none": (clean, not clean.first)}
    for name, fault in faults(graph).items():
        told = answer(fault, golden, envelope)
        found[name] = (told, told.first == fault.op_name)
    return found


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--layers", type=int, default=6)
    parser.add_argument("--runs", type=int, default=1)
    arguments = parser.parse_args()
    head = f"{'format':9} {'fault':21} {'ratio: median':>13} {'least':>9} {'most':>9}"
    print(f"{head}   first beyond {LIMITS.envelope_factor:g} ×")
    for dtype in ("float32", "float16", "bfloat16"):
        some = [
            measure(dtype, seed, arguments.layers, arguments.runs)
            for seed in range(arguments.seeds)
        ]
        for name in some[0]:
            figures = [
                one[name][0].guilty if name != "none" else one[name][0].largest for one in some
            ]
            right, silent = (
                sum(one[name][1] for one in some),
                sum(not one[name][0].first for one in some),
            )
            told = sum(
                one[name][1] and one[name][0].guilty <= LIMITS.envelope_factor for one in some
            )
            said = _said(name, right, silent, len(some), told)
            spread = f"{statistics.median(figures):13.4g} {min(figures):9.3g} {max(figures):9.3g}"
            print(f"{dtype:9} {name:21} {spread}   {said}")


def _said(name: str, right: int, silent: int, count: int, told: int) -> str:
    """Count answers; ``told`` are right by a constant input alone, the results being below the envelope."""
    if name == "none":
        return f"nothing in {silent} of {count}"
    wrong = count - right - silent
    parts = [f"right {right} of {count}"]
    parts += [f"{told} of these by its constant input alone"] if told else []
    parts += [f"below the envelope {silent}"] if silent else []
    parts += [f"WRONG {wrong}"] if wrong else []
    return ", ".join(parts)


if __name__ == "__main__":
    main()
