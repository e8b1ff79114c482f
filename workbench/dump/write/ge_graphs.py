"""A whole run of the graph engine: its graph files, and the models beside the network.

A TensorFlow program hands every ``sess.run`` to the graph engine as a graph of its own, and every session
dumps below a timestamp folder of its own. So its tree holds more than the network: here a session that
initialises a variable before the training, and the learning rate that the training reads. The
network is the graph with an iterator. Names are those of ``geop_npu.cc``: ``ge_default_{time}_{id}``, the
ids of a session ten apart.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from workbench.core.tensors import TensorSpec
from workbench.dump.write.ge_tree import GeTree
from workbench.dump.write.l2_tree import tree_of
from workbench.dump.write.sink import Clock, time_folder
from workbench.dump.write.target import GeTarget
from workbench.graph.nodes import Const, Graph, Op, Param, Parameter, Value
from workbench.graph_files.ge.files import ge_graph_file
from workbench.graph_files.ge.lower import ge_graph_of
from workbench.graph_files.ge.write_text import write_ge_text
from workbench.run.compile import WEIGHTS
from workbench.run.layout import Lie, device_lie, host_lie, laid_spec, stated_lie
from workbench.run.program import COMPILED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from workbench.core.plan import DumpPlan
    from workbench.core.tensors import Io, TensorKey, TensorRecord
    from workbench.dump.write.sink import GeSink

    Run = Callable[[Graph], Iterable[TensorRecord]]

FOLDER = "graphs"
"""Where graph files lie below the dump's own folder; a real run writes them where its environment says."""

_MINUTE = 60_000_000
_SCALAR, _MATRIX = TensorSpec("float32", ()), TensorSpec("float32", (2, 3))


def _given(name: str, value: float) -> Parameter:
    return Parameter(name, _SCALAR, True, name, np.float32(value))


def _op(name: str, op_type: str, *inputs: Any, spec: TensorSpec = _SCALAR) -> Op:
    return Op(name, op_type, inputs, outputs=(spec,))


_RANDOM = "layer/kernel/Initializer/random_uniform"
_INITIALISE = Graph(
    "init",
    ops=(
        _op(f"{_RANDOM}/mul", "Mul",
            Const(((0.25, 0.5, 0.75), (0.125, 0.375, 0.625)), "float32", (2, 3)),
            Const(0.5, "float32", ()), spec=_MATRIX),
        _op(_RANDOM, "Add", Value(0), Const(-0.25, "float32", ()), spec=_MATRIX),
    ),
    outputs=(Value(1),),
)  # fmt: skip
_LEARNING_RATE = Graph(
    "learning_rate",
    (_given("global_step", 1), _given("decay_steps", 100), _given("decay_rate", 0.96),
     _given("initial_rate", 0.01)),
    (
        _op("ExponentialDecay/truediv", "RealDiv", Param(0), Param(1)),
        _op("ExponentialDecay/Pow", "Pow", Param(2), Value(0)),
        _op("ExponentialDecay", "Mul", Param(3), Value(1)),
    ),
    (Value(2),),
)  # fmt: skip


class Beside(NamedTuple):
    """A model of a program that is not its network: minutes from the network's start, session of its own."""

    graph: Graph
    minutes: int
    alone: bool = False


BEFORE: dict[str, tuple[Beside, ...]] = {"tensorflow": (Beside(_INITIALISE, -1, alone=True),)}
AFTER: dict[str, tuple[Beside, ...]] = {
    "tensorflow": (Beside(_LEARNING_RATE.with_id(10), 1),),
}
"""Surface → models that a program runs before and after its network, once each."""


class GeRun:
    """Everything that a run writes, model after model; ``network`` is the tree of its network.

    ``run`` yields the records of a graph that is not the network.
    """

    def __init__(
        self, plan: DumpPlan, graph: Graph, target: GeTarget, clock: Clock, sink: GeSink, run: Run
    ) -> None:
        self._plan, self._target, self._sink, self._run = plan, target, sink, run
        self._numbers = count()
        surface = target.surface if target.beside else ""
        session = time_folder(clock.now)
        before, after = BEFORE.get(surface, ()), AFTER.get(surface, ())
        ids = count(1)
        self._before = [self._other(one, clock, session, next(ids)) for one in before]
        own = target._replace(model_id=next(ids)) if before else target
        self.network = tree_of(plan, graph, own, clock, sink)
        self._after = [self._other(one, clock, session, next(ids)) for one in after]
        self._graph = graph

    def take(
        self, records: Iterable[TensorRecord], done: Callable[[TensorKey], None] | None = None
    ) -> None:
        """Hand everything on; ``records`` and ``done`` are the network's, as of `GeTree.take`."""
        for graph, tree in self._before:
            self._model(graph, tree)
        self._files(self._graph, self.network)
        self.network.take(records, done)
        for graph, tree in self._after if not self.network.has_failed else ():
            self._model(graph, tree)

    def _other(
        self, beside: Beside, clock: Clock, session: str, model_id: int
    ) -> tuple[Graph, GeTree]:
        """The tree of another model; its times do not depend on what the network takes."""
        own = Clock(clock.seed, clock.now + beside.minutes * _MINUTE)
        target = self._target._replace(
            model_id=model_id, session="" if beside.alone else session, form=None
        )
        return beside.graph, GeTree(self._plan, beside.graph, target, own, self._sink)

    def _model(self, graph: Graph, tree: GeTree) -> None:
        self._files(graph, tree)
        tree.take(self._run(graph))

    def _files(self, graph: Graph, tree: GeTree) -> None:
        """Write the graph files of one model; a graph that was read from such a file needs none."""
        files = self._target.graphs
        if files is None or self._graph.dialect == "ge":
            return
        folder = f"{FOLDER}/{files.folder}".rstrip("/")
        texts: dict[tuple[int, bool, int, bool], str] = {}
        for stage, level, options in files.stages:
            now = files.at(stage.name, graph) if graph is self._graph else graph
            key = (id(now), stage.laid, level, options)
            if key not in texts:
                attrs = _options(files.options) if options else {}
                known = self._lowered(now, tree.model, laid=stage.laid)
                whole = replace(known, attrs={**known.attrs, **attrs})
                texts[key] = write_ge_text(whole, level=level)
            name = ge_graph_file(next(self._numbers), stage.name)
            self._sink.text(f"{folder}/{name}", texts[key])

    def _lowered(self, graph: Graph, name: str, *, laid: bool) -> Graph:
        """The graph as GE has it, under the name of the model's folder; the last one of each kind is kept."""
        how = (self._target.surface, name)
        kept = graph.kept.setdefault("lowered", {})
        if laid not in kept or kept[laid][0] != how:
            kept[laid] = how, self._newly_lowered(graph, name, laid=laid)
        found: Graph = kept[laid][1]
        return found

    def _newly_lowered(self, graph: Graph, name: str, *, laid: bool) -> Graph:
        surface = self._target.surface
        weights = WEIGHTS[surface]
        made = ge_graph_of(
            graph,
            iterator=surface == "tensorflow",
            weights=weights,
            lay=_compiled if graph.dialect == COMPILED else _laid if laid else _plain,
        )
        return replace(made, name=name)


def _plain(op: Op | None, io: Io, slot: int, spec: TensorSpec) -> tuple[TensorSpec, TensorSpec]:
    """A tensor before formats are chosen."""
    here = spec._replace(format=host_lie(spec.shape).format)
    return here, here


def _laid(op: Op | None, io: Io, slot: int, spec: TensorSpec) -> tuple[TensorSpec, TensorSpec]:
    """A tensor in the graph and on the device; groups of a weight stand behind its format."""
    lie: Lie = device_lie(op, io, slot, spec)
    groups = f":{lie.groups}" if lie.groups > 1 else ""
    here = spec._replace(format=lie.host_format)
    return here, TensorSpec(spec.dtype, lie.shape, f"{lie.format}{groups}")


def _compiled(op: Op | None, io: Io, slot: int, spec: TensorSpec) -> tuple[TensorSpec, TensorSpec]:
    """A tensor as far as the compiler has decided on it; of results the network's dtype is told, too."""
    here = spec._replace(format=host_lie(spec.shape).format)
    if op is None:
        lie = stated_lie(spec, spec.shape) if spec.format != "DefaultFormat" else None
    else:
        lie = device_lie(op, io, slot, spec) if op.device_outputs else None
    there = here if lie is None else laid_spec(spec, lie)
    here = here if lie is None else here._replace(format=lie.host_format)
    origin = op.origins[slot] if op is not None and io == "output" and op.origins else None
    return (here if origin is None else here._replace(dtype=origin.spec.dtype)), there


def _options(options: Mapping[str, str]) -> dict[str, Any]:
    """Option maps of a graph; all that a dump sets are options of the session."""
    maps: dict[str, Mapping[str, str]] = {
        "GraphOptions": {}, "GlobalOptions": {}, "SessionOptions": options,
    }  # fmt: skip
    return {name: {"name": name, "attr": dict(given)} for name, given in maps.items()}
