"""The networks of all ranks of a job, made of one."""

from __future__ import annotations

import re
import zlib
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.core.errors import GraphError
from workbench.graph.control_flow import ControlFlow
from workbench.graph.graph import Const, Graph, Value
from workbench.simulation.split.moves import MEETINGS, MOVE
from workbench.simulation.split.placed import Placed, place_network
from workbench.simulation.split.stages import cut_stage, stages_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from workbench.graph.control_flow import Network
    from workbench.graph.graph import Op
    from workbench.run.parallel import Parallel
    from workbench.simulation.split.lies import Lie

_SANITIZED = re.compile(r"[/\\. ]")


@dataclass(frozen=True, eq=False)
class SplitNetwork:
    """A network as each rank of a job runs it.

    Attributes
    ----------
    graph : Graph
        The whole network.
    parallel : Parallel
    placed : Placed
        Its operators for a rank, and how their tensors lie.
    stages : tuple of (Graph, tuple of int)
        What each pipeline stage runs, and which parameters of the whole network these are.
    """

    graph: Graph
    parallel: Parallel
    placed: Placed
    stages: tuple[tuple[Graph, tuple[int, ...]], ...]
    _weights: dict[tuple[Any, ...], Any] = field(default_factory=dict, repr=False)

    def network(self, rank: int) -> Graph:
        """Return what a rank runs: its stage, with its part of weights and batches, and its groups of ranks.

        Ranks that hold the same part of a weight share its memory.
        """
        graph, numbers = self.stages[self.parallel.coordinates(rank)["pp"]]
        parameters = tuple(
            replace(one, default=self._part(number, rank))
            for one, number in zip(graph.parameters, numbers, strict=True)
        )
        ops = tuple(_with_groups(op, self.parallel, rank) for op in graph.ops)
        batches = self.graph.batches and self._batches(rank, {one.name for one in parameters})
        return replace(graph, ops=ops, parameters=parameters, batches=batches or None)

    def _part(self, number: int, rank: int) -> Any:
        default, lie = self.graph.parameters[number].default, self.placed.parameters[number]
        if default is None:
            return None
        at = self.parallel.coordinates(rank)
        key = (number, *(at[axis] for axis in lie.names))
        if key not in self._weights:
            part = lie.part(np.asarray(default), self.parallel, rank)
            self._weights[key] = np.ascontiguousarray(part).reshape(part.shape)
        return self._weights[key]

    def _batches(self, rank: int, read: set[str]) -> Callable[[int], Mapping[str, Any]]:
        lies = {
            one.name: lie
            for one, lie in zip(self.graph.parameters, self.placed.parameters, strict=True)
        }
        whole, parallel = self.graph.batches, self.parallel
        assert whole is not None

        def part(iteration: int) -> Mapping[str, Any]:
            return {
                name: lies[name].part(np.asarray(array), parallel, rank)
                for name, array in whole(iteration).items()
                if name in read
            }

        return part

    def layouts(self) -> Iterator[tuple[str, Lie]]:
        """Yield every tensor that ranks dump (``name:output.0``, as file names have it), and how it lies.

        Sends and receives are left out, as is what moves between ranks. Shapes of parts are alike on all ranks, though
        not those of the whole.
        """
        for number, op in enumerate(self.placed.ops):
            if MOVE in op.name or op.op_type in MEETINGS:
                continue
            for slot, operand in enumerate(op.flat_inputs()):
                lie = self.placed.lie(operand)
                if isinstance(operand, Const):
                    lie = _lie_of(operand)
                if lie is not None and lie.known:
                    yield f"{file_name(op.name)}:input.{slot}", lie
            for slot, lie in enumerate(self.placed.lies[number]):
                if lie.known:
                    yield f"{file_name(op.name)}:output.{slot}", lie
        for parameter, lie in zip(self.graph.parameters, self.placed.parameters, strict=True):
            yield f"{file_name(parameter.name)}:output.0", lie

    def layouts_text(self) -> str:
        """Return the layouts as the lines of a file of them (`workbench.scale.layouts`)."""
        lines = [f"{name}: {lie}" for name, lie in self.layouts()]
        return "\n".join([f"parallel: {self.parallel}", *dict.fromkeys(lines)]) + "\n"


def _lie_of(operand: Const) -> Lie | None:
    from workbench.graph.constants import constant_spec
    from workbench.simulation.split.lies import Lie

    spec = constant_spec(operand)
    return None if spec is None else Lie.whole(len(spec.shape or ()))


def file_name(name: str) -> str:
    """Return the name of an operator or weight as file names of dumps have it.

    >>> file_name("Default/fc.1/MatMul-op0")
    'Default_fc_1_MatMul-op0'
    """
    return _SANITIZED.sub("_", name)


def _with_groups(op: Op, parallel: Parallel, rank: int) -> Op:
    """Return a collective with the ranks that meet in it; other operators as they are."""
    if op.op_type in ("AllReduce", "AlltoAll", *MEETINGS):
        ranks = parallel.group(rank, str(op.attrs["group"]))
        group = {"group": group_name(ranks), "group_ranks": "-".join(map(str, ranks))}
        return replace(op, attrs={**op.attrs, **group})
    for name in ("src_rank", "dest_rank"):
        if op.op_type in ("Send", "Receive") and name in op.attrs:
            ranks = parallel.group(rank, "pp")
            peer = next(one for one in ranks if parallel.coordinates(one)["pp"] == op.attrs[name])
            group = {"group": group_name(ranks), "group_ranks": "-".join(map(str, ranks))}
            op = replace(op, attrs={**op.attrs, name: peer, **group})
    return op


def group_name(ranks: tuple[int, ...]) -> str:
    """Return the name of a group of ranks: how many, and a number that follows from which."""
    return f"{len(ranks)}-{zlib.crc32(repr(ranks).encode())}"


def split_network(network: Network, parallel: Parallel) -> SplitNetwork:
    """Cut a network for the ranks of a job.

    Weights are cut as Megatron-LM cuts them (`weights.WEIGHTS`), batches by their first dimension. Parts of sums are
    added by an ``AllReduce`` right behind the operator; gradients are those of the mean over all batches.

    Raises GraphError for control flow, an axis that networks are not cut by, an operator or a size that cannot be cut.
    """
    if parallel.ep > 1 and not _has_neighbors(parallel):
        raise GraphError("simulation/split-ep", got=str(parallel))
    if parallel.sp not in (1, parallel.tp):
        raise GraphError("simulation/split-sp", got=parallel.sp)
    if isinstance(network, ControlFlow):
        raise GraphError("simulation/split-flow", got=network.name)
    placed = place_network(network, parallel)
    own = stages_of(network, parallel.pp) if parallel.pp > 1 else [0] * len(network.ops)
    stages = [own[number] for number in placed.came]
    graphs = [
        _stage_graph(network, placed, stages, stage, parallel) for stage in range(parallel.pp)
    ]
    return SplitNetwork(network, parallel, placed, tuple(graphs))


def _has_neighbors(parallel: Parallel) -> bool:
    """Whether the ranks of ep are neighbors among those of dp: a place of dp is one of edp, and in it one of ep."""
    places = [parallel.coordinates(rank) for rank in range(parallel.ranks)]
    others = [parallel.coordinates(rank, experts=True) for rank in range(parallel.ranks)]
    return parallel.cp == 1 and all(
        at["dp"] == at["edp"] * parallel.ep + at["ep"] and at["tp"] == other["tp"]
        for at, other in zip(places, others, strict=True)
    )


def _stage_graph(
    network: Graph, placed: Placed, stages: list[int], stage: int, parallel: Parallel
) -> tuple[Graph, tuple[int, ...]]:
    """Return what a stage runs, with the specs of a rank's parts, and the parameters that these are."""
    ops, read = cut_stage(placed, stages, stage)
    parameters = tuple(
        replace(one, spec=placed.parameters[number].spec(one.spec, parallel))
        for number, one in ((number, network.parameters[number]) for number in read)
    )
    last = next((n for n in reversed(range(len(ops))) if ops[n].outputs), 0)
    return replace(network, parameters=parameters, ops=tuple(ops), outputs=(Value(last),)), tuple(
        read
    )
