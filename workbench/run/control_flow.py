"""Run a network with control flow: its graphs in the order that its values decide."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from workbench.core.errors import GraphError
from workbench.core.tensors import ArraySource
from workbench.graph.constants import literal
from workbench.graph.control_flow import Bind, If, Run
from workbench.graph.graph import Const, Value
from workbench.run.executor import feeds_at, parameter_value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from workbench.core.tensors import TensorKey, TensorRecord
    from workbench.graph.control_flow import ControlFlow, FlowStep, Source, While
    from workbench.graph.graph import Graph
    from workbench.run.executor import Feeds, State

    Array = NDArray[Any]

MAX_TURNS = 1000
"""Turns of a loop after which a run gives up unless another number is given."""


class RunGraph(Protocol):
    """How a graph runs on its own, as `workbench.run.reference.run_reference` does."""

    def __call__(
        self, feeds: Feeds, *, iteration: int, state: State | None
    ) -> Iterator[TensorRecord]:
        """Yield the tensors of a run."""
        ...


def run_flow(
    flow: ControlFlow,
    runs: Callable[[Graph], RunGraph],
    feeds: Feeds = None,
    *,
    iteration: int = 0,
    state: State | None = None,
    max_turns: int = MAX_TURNS,
) -> Iterator[TensorRecord]:
    """Yield every tensor of one iteration in order of time; the entry graph's parameters come last.

    Keys of records have the id of their graph. A graph that runs again gives the same keys again. The run
    ends with an operator that fails.

    Parameters
    ----------
    runs : function of a graph
        Returns how it runs.
    feeds, iteration, state
        As of `workbench.run.reference.run_reference`; the weights are the same in all graphs.
    max_turns : int
        Most turns of a loop each time that it begins.

    Raises
    ------
    GraphError
        A loop does not end, or an input has no value or a wrong shape.
    """
    if max_turns < 1:
        raise GraphError("run/max-turns", got=max_turns)
    given = feeds_at(flow, feeds, iteration)
    known = [parameter.name for parameter in flow.parameters]
    for name in given:
        if name not in known:
            raise GraphError("core/choice", subject="feed", got=name, known=known)
    step = _Iteration(flow, runs, given, iteration, {} if state is None else state, max_turns, {})
    yield from step.through(flow.steps)
    if not step.failed:
        yield from step.closing()


@dataclass(slots=True)
class _Iteration:
    """One iteration while it runs; ``values`` are those that graphs have handed over."""

    flow: ControlFlow
    runs: Callable[[Graph], RunGraph]
    feeds: Mapping[str, Any]
    iteration: int
    state: State
    max_turns: int
    values: dict[str, Array]
    failed: bool = False
    entry: Sequence[TensorRecord] = ()

    def through(self, steps: Sequence[FlowStep]) -> Iterator[TensorRecord]:
        for step in steps:
            if self.failed:
                return
            if isinstance(step, Run):
                yield from self._run(step)
            elif isinstance(step, Bind):
                values = [self._value(source) for source in step.values]
                self.values |= dict(zip(step.names, values, strict=True))
            elif isinstance(step, If):
                yield from self.through(step.then if self._holds(step.predicate) else step.orelse)
            else:
                yield from self._loop(step)

    def closing(self) -> Iterator[TensorRecord]:
        """Yield the parameters of the entry graph as they are at the end of the iteration."""
        for record in self.entry:
            array = self.state.get(record.key.op_name)
            yield record if array is None else replace(record, source=ArraySource(array))

    def _loop(self, step: While) -> Iterator[TensorRecord]:
        yield from self.through(step.condition)
        turns = 0
        while not self.failed and self._holds(step.predicate):
            if turns == self.max_turns:
                raise GraphError("run/endless-loop", loop=step.name, limit=self.max_turns)
            turns += 1
            yield from self.through(step.body)
            yield from self.through(step.condition)

    def _run(self, step: Run) -> Iterator[TensorRecord]:
        """Run a graph and keep its results; parameters of the graph where a run begins wait."""
        graph = self.flow.graph(step.graph_id)
        wanted = {
            (graph.ops[operand.op].name, operand.slot): name
            for operand, name in zip(graph.outputs, step.results, strict=True)
            if isinstance(operand, Value)
        }
        run, waiting = self.runs(graph), []
        for record in run(self._feeds(graph), iteration=self.iteration, state=self.state):
            key = record.key
            if key.op_type == "Parameter" and not graph.inner:
                waiting.append(record)
                continue
            if (name := _wanted(record, key, wanted)) and record.source is not None:
                self.values[name] = record.source.array()
            if record.event is not None and record.event.kind == "failure":
                self.failed = True
            yield record
        self.entry = waiting or self.entry

    def _feeds(self, graph: Graph) -> dict[str, Any]:
        """What goes into a graph: values of others, inputs of the network, weights that are replaced."""
        found = {}
        for parameter in graph.parameters:
            if parameter.captured:
                found[parameter.name] = self.values[parameter.name]
            elif parameter.name in self.feeds:
                found[parameter.name] = self.feeds[parameter.name]
        return found

    def _holds(self, source: Source) -> bool:
        return bool(np.any(self._value(source)))

    def _value(self, source: Source) -> Array:
        if isinstance(source, Const):
            return literal(source)
        if source in self.values:
            return self.values[source]
        parameter = next(one for one in self.flow.parameters if one.name == source)
        given = self.feeds.get(source, parameter.default)
        return parameter_value(parameter, self.state.get(source, given))


def _wanted(
    record: TensorRecord, key: TensorKey, wanted: Mapping[tuple[str, int], str]
) -> str | None:
    """Name of an output that others read."""
    if key.io != "output" or record.after:
        return None
    return wanted.get((key.op_name, key.slot))
