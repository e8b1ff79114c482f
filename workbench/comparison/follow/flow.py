"""What a walk through the data flow knows: states of values, events of operators, origins of errors."""

from __future__ import annotations

import math
from math import isfinite
from typing import TYPE_CHECKING

from workbench.comparison.follow.expected_error import ForecastFit
from workbench.comparison.follow.overflow import both_overflow
from workbench.comparison.follow.ranks import ranks_of_one_job
from workbench.comparison.graphs.roles import updated_names, updates
from workbench.comparison.measure.noise import coarsest_roundoff
from workbench.comparison.pair.parameters import updated_by_one
from workbench.dump.names.mindspore import sanitize
from workbench.graph.nodes import Param

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from workbench.comparison.align.align import Alignment
    from workbench.comparison.align.differences import Difference
    from workbench.comparison.bind.binding import Execution
    from workbench.comparison.follow.states import Assessment, ValueState
    from workbench.comparison.map_file import Tolerance
    from workbench.comparison.measure.measure import Measured
    from workbench.comparison.pair.pairing import Pairing
    from workbench.comparison.replay.replay import OwnError, Replay
    from workbench.graph.nodes import Graph, Op, Operand, Value

    Shape = tuple[int, ...]


class Flow:
    """What is known of all executions.

    ``events`` are keyed by (block, operator). ``guilty`` are the origins of errors in order,
    ``tainted_named`` operators whose settings differ but whose inputs were wrong already, and
    ``before`` the updated parameters that differ when the first compared iteration begins, and
    ``version_matters`` what two versions of the framework are known to do differently, ``excused`` what
    the map file tolerates. ``job`` are the
    ranks of target and golden if they are two of one job; then ``own_feeds`` and ``own_params`` are what
    differs by design: feeds by name, and (rank, name) of what their batches update. In ``overflowing`` executions both
    sides raise their flag of an overflow.
    """

    def __init__(
        self,
        pairing: Pairing,
        measured: Iterable[Measured],
        *,
        npu: bool,
        replayed: Replay | None = None,
    ) -> None:
        self.pairing = pairing
        self.npu = npu
        self.replayed = replayed
        self.fit = ForecastFit()
        self.index: dict[tuple[Execution, int], dict[tuple[str, int], Measured]] = {}
        for item in measured:
            run = item.pair.run
            if run is not None:
                self.index.setdefault((run.block, run.op), {})[item.pair.io, item.pair.slot] = item
        self.events: dict[tuple[Execution, int], Assessment] = {}
        self.guilty: list[Assessment] = []
        self.tainted_named: list[Assessment] = []
        self.before: list[Assessment] = []
        self.excused: list[tuple[Assessment, Tolerance]] = []
        self.version_matters: list[Assessment] = []
        versions = {b.dump.info.get("ms_version") for b in (pairing.target, pairing.golden)}
        self.two_versions = len(versions) > 1
        self.tainted_params: set[tuple[int, str]] = set()
        self.job = ranks_of_one_job(pairing)
        self.own_feeds: dict[str, None] = {}
        self.own_params: set[tuple[int, str]] = set()
        self.given_apart: dict[tuple[int, str], Difference] = {}
        self.last_update: dict[tuple[int, str], float] = {}
        self.walked: list[Execution] = []
        self.overflowing = frozenset(both_overflow(pairing))
        self.updated = {
            name for graph in pairing.target.graphs.values() for name in updated_names(graph)
        }
        self.updated_by_one = updated_by_one(pairing)
        self.input_states: dict[tuple[Execution, int], dict[int, ValueState]] = {}
        self.values: dict[Execution, dict[Value, ValueState]] = {}
        self.handed_over: dict[tuple[int, int, Shape | None], float] = {}
        self.coarsest: dict[tuple[int, int], float] = {}
        self._contexts: dict[tuple[int, int], list[float]] = {}

    def is_own(self, rank: int, file_name: str) -> bool:
        """Whether batches of a rank update a parameter, by the name its file carries."""
        return any(rank == r and file_name in (name, sanitize(name)) for r, name in self.own_params)

    def own_error(self, block: Execution, number: int) -> OwnError | None:
        """Own error of an operator, if it was replayed."""
        return None if self.replayed is None else self.replayed.own.get((block, number))

    def is_tainted(self, rank: int, file_name: str) -> bool:
        """Whether a parameter, by the name its file carries, was updated by a wrong operator."""
        return any(
            rank == r and file_name in (name, sanitize(name)) for r, name in self.tainted_params
        )

    def is_updated(self, file_name: str) -> bool:
        """Whether any operator updates a parameter, by the name its file carries."""
        return any(file_name in (name, sanitize(name)) for name in self.updated)

    def left_by_the_last_step(self, block: Execution, graph: Graph, op: Op) -> list[float]:
        """Errors of the parameters that an operator updates, before it does."""
        keys = ((block.rank, name) for _, name in updates(graph, op))
        found = (self.last_update.get(key, 0.0) for key in keys)
        return [error for error in found if math.isfinite(error)]

    def left_in_variable(self, block: Execution, graph: Graph, op: Op) -> float | None:
        """Error of the variable that an optimizer updates before it does; ``None`` if it is not known."""
        name = next((name for slot, name in updates(graph, op) if slot == 0), "")
        known = 0.0 if block.iteration == 0 else None
        return self.last_update.get((block.rank, name), known) if name else None

    def remember_updates(
        self, block: Execution, graph: Graph, op: Op, measured: Mapping[tuple[str, int], Measured]
    ) -> None:
        """Note how far apart the two sides left the parameters that an operator updates."""
        for slot, name in updates(graph, op):
            item = measured.get(("input", slot))
            self.last_update.pop((block.rank, name), None)
            if item is not None and item.usable:
                self.last_update[block.rank, name] = item.error

    def hand_over(self, block: Execution, graph: Graph, value: Value, error: float) -> None:
        """Note the error of a result of a graph, which other graphs of the iteration may read."""
        if len(self.pairing.target.graphs) < 2 or value not in graph.outputs:
            return
        outputs = graph.ops[value.op].outputs
        if value.slot < len(outputs) and isfinite(error):
            key = (block.rank, block.iteration, outputs[value.slot].shape)
            self.handed_over[key] = max(error, self.handed_over.get(key, 0.0))

    def received(self, block: Execution, graph: Graph, operand: Operand) -> float:
        """Largest error that an input may have which nobody dumped: that of the results so far."""
        if not isinstance(operand, Param):
            return 0.0
        shape = graph.parameters[operand.index].spec.shape
        return self.handed_over.get((block.rank, block.iteration, shape), 0.0)

    def context(self, block: Execution, graph: Graph, found: Alignment | None) -> list[float]:
        """Coarsest roundoff behind every operator of the target, both sides taken together."""
        key = block.graph_key
        if key not in self._contexts:
            ours = coarsest_roundoff(graph, npu=self.npu)
            if found is not None:
                theirs = coarsest_roundoff(found.golden.graph, npu=self.npu)
                for t, g in found.partner.items():
                    ours[t] = max(ours[t], theirs[g])
                for t, fusion in found.fused.items():
                    ours[t] = max(ours[t], *(theirs[g] for g in fusion.golden))
            self._contexts[key] = ours
            self.coarsest[key] = max(ours, default=0.0)
        return self._contexts[key]
