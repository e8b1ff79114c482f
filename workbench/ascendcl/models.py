"""Models as AscendCL loads them: a graph with what is wrong with the device, and the dump in force.

A model keeps the dump configuration that was in force when it was loaded. Sources: ``model.cpp`` of
AscendCL, ``model_manager.cc`` and ``data_dumper.cc`` of hicann/ge.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.ascendcl.errors import AclError, AclRefusal
from workbench.ascendcl.execution import Execution
from workbench.core.errors import FormatError, GraphError, WorkbenchError
from workbench.core.words import Message
from workbench.graph.control_flow import one_graph
from workbench.graph.graph import Graph
from workbench.network.models import MODELS, load_graph
from workbench.network.models.load import read_network
from workbench.npu.faults import check_faults
from workbench.ops import op_def
from workbench.run.executor import parameter_values
from workbench.simulation.process import prepare

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from workbench.ascendcl.dump_state import ActiveDump
    from workbench.core.plan import DumpPlan
    from workbench.core.tensors import TensorRecord
    from workbench.npu.target import Target

    Inputs = Mapping[str, Any] | Sequence[Any] | None


@dataclass(slots=True)
class Model:
    """A loaded model: its names, as a file and as a graph, and how often it has run.

    ``graph`` is the network, ``compiled`` what runs; ``run`` yields the records of an iteration.
    """

    names: tuple[str, str]
    graph: Graph
    compiled: Graph
    run: Callable[..., Iterator[TensorRecord]]
    feeds: Mapping[str, Any]
    number: int = 0
    device: int = 0
    settings: tuple[ActiveDump, ...] = ()
    executions: int = 0

    def next_execution(self, inputs: Inputs) -> Execution:
        """Return the next execution; raises AclRefusal if the inputs do not fit."""
        feeds = {**self.feeds, **_named(self.graph, inputs)}
        try:
            parameter_values(self.graph, feeds)
        except (WorkbenchError, ValueError, TypeError) as error:
            code = AclError.ACL_ERROR_MODEL_INPUT_NOT_MATCH
            raise AclRefusal(code, Message("ascendcl/inputs-misfit", why=error)) from error
        records = partial(self.run, feeds, iteration=self.executions)
        return Execution(self.compiled, records, self.executions, self.device, self.number)

    def plan(self, setting: ActiveDump) -> DumpPlan | None:
        """Return what a configuration wants of the next execution; ``None`` if nothing."""
        plan = setting.plan
        if setting.ended or self.executions not in plan.iterations:
            return None
        for name in self.names:  # that of the file counts first
            select = [entry for entry in plan.select if entry.model in ("", name)]
            if select or not plan.select:
                kept = tuple(replace(entry, model="") for entry in select)
                omit = [entry for entry in plan.omit if entry.model in ("", *self.names)]
                bars = tuple(replace(entry, model="") for entry in omit)
                return replace(plan, select=kept, omit=bars, single_op=False)
        return None


def load_model(
    source: Graph | str | os.PathLike[str],
    target: Target,
    feeds: Mapping[str, Any] | None = None,
) -> Model:
    """Compile a model.

    Raises AclRefusal for a source that is none, GraphError for faults and modes that do not fit it.
    """
    graph, name = _graph(source)
    ready = prepare(graph, target)
    program, (compiled,) = ready.program, ready.graphs
    if program is not None:
        check_faults(target.faults, [*program.network.ops, *program.computed], graph.name)
    return Model((name, graph.name), graph, compiled, ready.run, dict(feeds or {}))


def _graph(source: Graph | str | os.PathLike[str]) -> tuple[Graph, str]:
    """Return the graph of a model, and the name of its file."""
    if isinstance(source, Graph):
        graph, name = source, source.name
    else:
        text = os.fspath(source)
        name = text.rpartition(":")[2] if ".py:" in text else Path(text).stem
        try:
            graph = _read(text)
        except (GraphError, FormatError) as error:
            raise AclRefusal(AclError.ACL_ERROR_GE_LOAD_MODEL, error) from error
    try:
        _check_runnable(graph)
    except GraphError as error:
        raise AclRefusal(AclError.ACL_ERROR_GE_LOAD_MODEL, error) from error
    return graph, name


def _read(text: str) -> Graph:
    if text in MODELS:
        return one_graph(load_graph(text), "a model")
    file = Path(text.rpartition(":")[0] if ".py:" in text else text)
    try:
        found = file.is_file()
    except (OSError, ValueError):
        found = False
    if not found:
        said = Message("ascendcl/model-missing", got=text, known=sorted(MODELS))
        raise AclRefusal(AclError.ACL_ERROR_GE_EXEC_MODEL_PATH_INVALID, said)
    if ".py:" in text:
        return one_graph(load_graph(text), "a model")
    return read_network(file)


def _check_runnable(graph: Graph) -> None:
    """Raise GraphError for what no simulated device computes."""
    if graph.subgraphs:
        raise GraphError("ascendcl/control-flow", name=graph.name)
    for op in graph.ops:
        op_def(op.op_type)


def _named(graph: Graph, inputs: Inputs) -> Mapping[str, Any]:
    """Inputs by name; raises AclRefusal for another number of them than the model has."""
    if inputs is None or isinstance(inputs, Mapping):
        return inputs or {}
    names = [one.name for one in graph.parameters if not one.is_weight]
    if len(inputs) != len(names):
        said = Message("ascendcl/inputs", expected=len(names), names=names, got=len(inputs))
        raise AclRefusal(AclError.ACL_ERROR_MODEL_INPUT_NOT_MATCH, said)
    return dict(zip(names, inputs, strict=True))
