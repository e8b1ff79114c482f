"""Run a network once in memory, and write of the same run as many trees as there are ways to dump it.

The trees are those of `workbench.simulation.simulate.simulate`, byte for byte (``tests/benchmarks/test_diagnosis.py``).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from diagnosing.cases import MODELS
from workbench.config import Config, get
from workbench.config.context import Context
from workbench.core.plan import DumpPlan
from workbench.core.writers import WRITERS
from workbench.dump.write import trees
from workbench.dump.write.targets import Clock, Target
from workbench.graph.graph import Param, Value
from workbench.network.models import load_graph
from workbench.npu import target as npu
from workbench.run.executor import feeds_at
from workbench.simulation.process import prepare
from workbench.simulation.targets import ge_target

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from diagnosing.cases import Setting
    from workbench.core.tensors import TensorRecord
    from workbench.graph.graph import Graph
    from workbench.npu.compile.program import Program
    from workbench.npu.faults import Fault

OUTPUTS = frozenset(("output",))
WAYS: dict[str, DumpPlan] = {
    "full": DumpPlan("/dump"),
    "outputs": DumpPlan("/dump", io=OUTPUTS),
    "statistics": DumpPlan("/dump", saved="statistic", statistics=("max", "min", "avg", "l2norm")),
}
"""What is dumped. Every surface asks for it in its own words; statistics are those that it knows."""


@dataclass(frozen=True)
class Run:
    """A run that has ended: all its records, its graph as it ran, and what the updates left of weights."""

    graph: Graph
    program: Program | None
    records: Sequence[TensorRecord]
    state: Mapping[str, np.ndarray]
    iterations: int = 1

    def results(self) -> list[np.ndarray]:
        """What the last iteration leaves: the network's outputs, and weights that it has updated."""
        last = self.iterations - 1
        outputs = {
            (record.key.op_name, record.key.slot): record
            for record in self.records
            if record.key.iteration == last and record.key.io == "output"
        }
        found = [
            outputs[self.graph.ops[operand.op].name, operand.slot].source.array()
            for operand in self.graph.outputs
            if isinstance(operand, Value)
        ]
        return [*found, *(self.state[name] for name in sorted(updated(self)))]


def updated(run: Run) -> set[str]:
    """Names of what a run has updated, without the optimizer's own state (``moments.conv1.weight``)."""
    return {name for name in run.state if name.partition(".")[2] not in run.state}


@lru_cache(maxsize=len(MODELS))
def network(model: str, seed: int) -> Graph:
    """A model with the weights and feeds of a seed."""
    return load_graph(model, seed)


def reference_run(model: str, seed: int, iterations: int) -> Run:
    """The trusted run."""
    return _run(network(model, seed), npu.Target("mindspore-cpu", npu.REFERENCE), iterations)


def device_run(setting: Setting, faults: Sequence[Fault] = ()) -> Run:
    """Run a network on the simulated device; raises GraphError for a fault that has no place there."""
    target = npu.Target(setting.surface, setting.device, setting.mode or None, faults=tuple(faults))
    return _run(network(setting.model, setting.seed), target, setting.iterations)


def _run(graph: Graph, target: npu.Target, iterations: int) -> Run:
    ready = prepare(graph, target)
    records: list[TensorRecord] = []
    state: dict[str, np.ndarray] = {}
    for number in range(iterations):
        with np.errstate(all="ignore"):
            feeds = feeds_at(graph, None, number)
            records += ready.run(feeds, iteration=number, state=state)
        if any(record.event and record.event.kind == "failure" for record in records[-1:]):
            break
    (compiled,) = ready.graphs
    return Run(compiled, ready.program, records, state, iterations)


def write_tree(run: Run, way: str, out: Path, surface: str, files: str, device: str) -> Path:
    """Write what one way of dumping keeps of a run."""
    given = get(surface)
    form = Config(given, given.from_plan(replace(WAYS[way], files=files)).data)
    judged = form.judge()
    plan = judged.plan(out=str(out))
    if plan.saved != WAYS[way].saved or plan.io != WAYS[way].io:
        raise ValueError(f"{surface} has no dump of {way}")
    if WRITERS[surface].by_mindspore:
        numbers = {run.graph.graph_id: [*range(run.iterations)]}
        target = Target(surface, config_text=form.to_text(), ran=numbers)
    else:
        runs = run.program or run.graph
        target = ge_target(surface, judged, plan, (runs,), run.iterations, Context(), device)
    return trees.write_tree(run.records, plan, out, graph=run.graph, target=target, clock=Clock(0))


def readers(run: Run, op_names: set[str]) -> set[str]:
    """Operators that read a weight which one of these reads, directly or behind what is inserted."""
    ops = run.graph.ops
    read = {
        one
        for op in ops
        if op.name in op_names
        for one in _behind(op, run.graph)
        if run.graph.parameters[one.index].is_weight
    }
    return {op.name for op in ops if read & _behind(op, run.graph)}


def _behind(op, graph: Graph) -> set[Param]:
    """Parameters that an operator reads, through inserted operators too."""
    found: set[Param] = set()
    for one in op.flat_inputs():
        if isinstance(one, Param):
            found.add(one)
        elif isinstance(one, Value) and graph.ops[one.op].op_type in ("Cast", "TransData"):
            found |= _behind(graph.ops[one.op], graph)
    return found
