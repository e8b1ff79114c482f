"""A whole run of the graph engine: its graph files, and the models beside the network.

A TensorFlow program hands every ``sess.run`` to the graph engine as a graph of its own, and every session
dumps below a timestamp folder of its own. So its tree holds more than the network: here a session that
initialises a variable before the training, and the learning rate that the training reads. The
network is the graph with an iterator. Names are those of ``geop_npu.cc``: ``ge_default_{time}_{id}``, the
ids of a session ten apart (``kMaxCacheNum``). Models are numbered through the process in the order in which they are
loaded (``model_manager.cc``, ``GenModelId``). Several networks run in one session, each as a model.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import count, groupby
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench._values import NamedTuple
from workbench.core.tensors import TensorSpec
from workbench.dump.releases import by_msprobe
from workbench.dump.write.ge import ge_files, model_of
from workbench.dump.write.msprobe import msprobe_files
from workbench.dump.write.plan_files import text_file
from workbench.dump.write.targets import Clock, time_folder
from workbench.graph.graph import COMPILED, Const, Graph, Op, Param, Parameter, Value
from workbench.graph_files.ge.files import ge_graph_file
from workbench.graph_files.ge.lower import ge_graph_of
from workbench.graph_files.ge.write_text import write_ge_text
from workbench.npu.layout import TensorLayout, device_layout, host_layout, layout_spec, parse_layout
from workbench.run.outline import outline
from workbench.run.reference import run_reference

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from workbench.core.plan import DumpPlan
    from workbench.core.tensors import Io, TensorRecord
    from workbench.dump.write.ge import Ended, Model
    from workbench.dump.write.plan_files import NewFile, TreeFiles
    from workbench.dump.write.targets import Target

FOLDER = "graphs"
"""Where graph files lie below the dump's own folder; a real run writes them where its environment says."""

_SECOND, _MINUTE = 1_000_000, 60_000_000
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


class ExtraModel(NamedTuple):
    """A model of a program that is not its network: minutes from the network's start, session of its own."""

    graph: Graph
    minutes: int
    alone: bool = False


BEFORE = (ExtraModel(_INITIALISE, -1, alone=True),)
AFTER = (ExtraModel(_LEARNING_RATE, 1),)
"""Models that a program of several sessions runs before and after its network, once each."""


def session_files(
    records: Iterable[TensorRecord],
    plan: DumpPlan,
    graphs: Sequence[Graph],
    target: Target,
    clock: Clock,
    *,
    foretold: bool = False,
) -> TreeFiles:
    """Yield everything that a run writes, model after model.

    Parameters
    ----------
    records : iterable of TensorRecord
        The networks', run after run, each as of `workbench.dump.write.ge.ge_files`.
    graphs : sequence of Graph
        A graph for each network, in the order of ids. It numbers tasks and tells tensors that are the same memory.
    foretold : bool
        Whether other models are outlined, and not run.
    """
    run = outline if foretold else run_reference
    files_of = msprobe_files if by_msprobe(target.surface, target.version) else ge_files
    before, networks, after = models_of(plan, graphs, target, clock)
    numbers = count()
    for model in before:
        yield from _graph_files(model, graphs, numbers)
        yield from ge_files(run(model.graph), model)
    for model in networks:
        yield from _graph_files(model, graphs, numbers)
    has_failed = yield from _files_of_networks(records, networks, files_of)
    for model in () if has_failed else after:
        yield from _graph_files(model, graphs, numbers)
        yield from ge_files(run(model.graph), model)


def _files_of_networks(
    records: Iterable[TensorRecord],
    networks: Sequence[Model],
    files_of: Callable[[Iterable[TensorRecord], Model], Ended],
) -> Ended:
    """Yield the files of networks whose runs take turns; nothing runs after a failure."""
    if len(networks) == 1:
        return (yield from files_of(records, networks[0]))
    models = {model.graph.graph_id: model for model in networks}
    for graph_id, run in groupby(records, key=lambda record: record.key.graph_id):
        if (yield from files_of(run, models[graph_id])):
            return True
    return False


def models_of(
    plan: DumpPlan, graphs: Sequence[Graph], target: Target, clock: Clock
) -> tuple[list[Model], list[Model], list[Model]]:
    """Return the models that run before the networks, their own, and those that run after them.

    Times of others do not depend on what the networks take. Networks are built a second after each other.
    """
    has_others = target.beside and target.writer.sessions
    session, ids = time_folder(clock.now), count(1)

    def other(one: ExtraModel, graph: Graph) -> Model:
        own = Clock(clock.seed, clock.now + one.minutes * _MINUTE)
        named = target._replace(model_id=next(ids), session="" if one.alone else session, form=None)
        return model_of(plan, graph, named, own)

    def network(graph: Graph, number: int) -> Model:
        if not has_others and len(graphs) == 1:
            return model_of(plan, graph, target, clock)
        named = target._replace(model_id=next(ids), session=session)
        started = time_folder(clock.now + number * _SECOND)
        return replace(model_of(plan, graph, named, clock), started=started)

    before = [other(one, one.graph) for one in (BEFORE if has_others else ())]
    networks = [network(graph, number) for number, graph in enumerate(graphs)]
    behind = len(graphs) * target.writer.ids_apart
    after = [other(one, one.graph.with_id(behind)) for one in (AFTER if has_others else ())]
    return before, networks, after


def _graph_files(
    model: Model, networks: Sequence[Graph], numbers: Iterator[int]
) -> Iterator[NewFile]:
    """Yield the graph files of one model; graphs that were read from such files need none."""
    files = model.target.graphs
    if files is None or networks[0].dialect == "ge":
        return
    is_network = any(model.graph is network for network in networks)
    folder = f"{FOLDER}/{files.folder}".rstrip("/")
    texts: dict[tuple[int, bool, int, bool], str] = {}
    lowered: dict[tuple[int, bool], Graph] = {}
    for stage, level, options in files.stages:
        now = files.at(stage.name, model.graph) if is_network else model.graph
        key = (id(now), stage.laid, level, options)
        if key not in texts:
            attrs = _options(files.options) if options else {}
            known = lowered.get(key[:2]) or _lowered(now, model, laid=stage.laid)
            lowered[key[:2]] = known
            whole = replace(known, attrs={**known.attrs, **attrs})
            texts[key] = write_ge_text(whole, level=level)
        name = ge_graph_file(next(numbers), stage.name, files.digits)
        yield text_file(f"{folder}/{name}", texts[key])


def _lowered(graph: Graph, model: Model, *, laid: bool) -> Graph:
    """The graph as GE has it, under the name of the model's folder."""
    writer = model.target.writer
    found = ge_graph_of(
        graph,
        iterator=writer.sessions,
        weights=writer.weights,
        lay=_compiled if graph.dialect == COMPILED else _laid if laid else _plain,
    )
    return replace(found, name=model.name)


def _plain(op: Op | None, io: Io, slot: int, spec: TensorSpec) -> tuple[TensorSpec, TensorSpec]:
    """A tensor before formats are chosen."""
    here = spec._replace(format=host_layout(spec.shape).format)
    return here, here


def _laid(op: Op | None, io: Io, slot: int, spec: TensorSpec) -> tuple[TensorSpec, TensorSpec]:
    """A tensor in the graph and on the device; groups of a weight stand behind its format."""
    layout: TensorLayout = device_layout(op, io, slot, spec)
    groups = f":{layout.groups}" if layout.groups > 1 else ""
    here = spec._replace(format=layout.host_format)
    return here, TensorSpec(spec.dtype, layout.shape, f"{layout.format}{groups}")


def _compiled(op: Op | None, io: Io, slot: int, spec: TensorSpec) -> tuple[TensorSpec, TensorSpec]:
    """A tensor as far as the compiler has decided on it; of results the network's dtype is told, too."""
    here = spec._replace(format=host_layout(spec.shape).format)
    if op is None:
        layout = parse_layout(spec, spec.shape) if spec.format != "DefaultFormat" else None
    else:
        layout = device_layout(op, io, slot, spec) if op.device_outputs else None
    there = here if layout is None else layout_spec(spec, layout)
    here = here if layout is None else here._replace(format=layout.host_format)
    origin = op.provenance[slot] if op is not None and io == "output" and op.provenance else None
    return (here if origin is None else here._replace(dtype=origin.spec.dtype)), there


def _options(options: Mapping[str, str]) -> dict[str, Any]:
    """Option maps of a graph; all that a dump sets are options of the session."""
    maps: dict[str, Mapping[str, str]] = {
        "GraphOptions": {}, "GlobalOptions": {}, "SessionOptions": options,
    }  # fmt: skip
    return {name: {"name": name, "attr": dict(given)} for name, given in maps.items()}
