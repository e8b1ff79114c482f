"""Follow errors through the data flow and find where they begin.

Operators are visited in data-flow order, execution by execution. An operator is *guilty* when its
outputs differ by more than its inputs and the number formats explain, while nothing that feeds it
has already been called wrong. Everything behind a guilty operator only inherits.

Scalars, attributes, constants and parameters that differ are causes, not excuses. Operators that
only move or cast data hand such a cause on to the first operator that computes with it. Operators
that were not dumped are looked through: the blame falls on the stretch they belong to.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.compare.healing import heal
from workbench.compare.noise import PASS_FACTOR, contexts, floor, spec_roundoff
from workbench.compare.oddities import rewritten_slots
from workbench.compare.states import GAIN, Event
from workbench.compare.visit import Visit
from workbench.dump.names import sanitize
from workbench.graph.nodes import Param

if TYPE_CHECKING:
    from collections.abc import Iterable

    from workbench.compare.align import Alignment
    from workbench.compare.bind import Block
    from workbench.compare.measuring import Measured
    from workbench.compare.pairs import Pairing
    from workbench.compare.states import State
    from workbench.graph.nodes import Graph, Value


class Flow:
    """The walk over all executions.

    ``events`` are keyed by (block, operator). ``guilty`` are the origins of errors in order,
    ``tainted_named`` operators whose settings differ but whose inputs were wrong already, and
    ``before`` the updated parameters that differ when the first compared iteration begins, and
    ``version_matters`` what two versions of the framework are known to do differently.
    """

    def __init__(self, pairing: Pairing, measured: Iterable[Measured], *, npu: bool) -> None:
        self.pairing = pairing
        self.npu = npu
        self.index: dict[tuple[Block, int], dict[tuple[str, int], Measured]] = {}
        for item in measured:
            run = item.pair.run
            if run is not None:
                self.index.setdefault((run.block, run.op), {})[item.pair.io, item.pair.slot] = item
        self.events: dict[tuple[Block, int], Event] = {}
        self.guilty: list[Event] = []
        self.tainted_named: list[Event] = []
        self.before: list[Event] = []
        self.version_matters: list[Event] = []
        versions = {b.dump.info.get("ms_version") for b in (pairing.target, pairing.golden)}
        self.two_versions = len(versions) > 1
        self.tainted_params: set[tuple[int, str]] = set()
        self.last_update: dict[tuple[int, str], float] = {}
        self.walked: list[Block] = []
        self.updated = {
            graph.parameters[operand.index].name
            for graph in pairing.target.graphs.values()
            for op in graph.ops
            for slot, operand in enumerate(op.flat_inputs())
            if slot in rewritten_slots(op) and isinstance(operand, Param)
        }
        self.input_states: dict[tuple[Block, int], dict[int, State]] = {}
        self.values: dict[Block, dict[Value, State]] = {}
        self.coarsest: dict[tuple[int, int], float] = {}
        self._contexts: dict[tuple[int, int], list[float]] = {}

    def run(self) -> Flow:
        """Visit every execution in order."""
        for number, block in enumerate(self.pairing.block_order):
            graph = self.pairing.target.graph(block)
            found = self.pairing.alignments.get((block.rank, block.graph_id))
            if graph is None:
                self._visit_without_graph(block, number)
            else:
                Visit(self, block, graph, found, number).run()
            self.walked.append(block)
        heal(self)
        return self

    def is_tainted(self, rank: int, file_name: str) -> bool:
        """Whether a parameter, by the name its file carries, was updated by a wrong operator."""
        return any(
            rank == r and file_name in (name, sanitize(name)) for r, name in self.tainted_params
        )

    def is_updated(self, file_name: str) -> bool:
        """Whether any operator updates a parameter, by the name its file carries."""
        return any(file_name in (name, sanitize(name)) for name in self.updated)

    def context(self, block: Block, graph: Graph, found: Alignment | None) -> list[float]:
        """Coarsest roundoff behind every operator of the target, both sides taken together."""
        key = (block.rank, block.graph_id)
        if key not in self._contexts:
            ours = contexts(graph, npu=self.npu)
            if found is not None:
                theirs = contexts(found.golden.graph, npu=self.npu)
                for t, g in found.partner.items():
                    ours[t] = max(ours[t], theirs[g])
            self._contexts[key] = ours
            self.coarsest[key] = max(ours, default=0.0)
        return self._contexts[key]

    def _visit_without_graph(self, block: Block, number: int) -> None:
        """Without a graph the order of time stands in for the data flow."""
        runs = self.pairing.target.runs[block]
        failed = False
        for op in sorted(runs, key=lambda n: runs[n].time):
            event = self._event_in_time(block, op, number << 24, failed=failed)
            if event is None:
                continue
            self.events[block, op] = event
            worst = event.worst.error if event.worst is not None else 0.0
            if worst > event.factor * event.explained:
                failed = True
                event.guilty = not event.tainted
            if event.guilty:
                event.blamed = op
                self.guilty.append(event)

    def _event_in_time(self, block: Block, op: int, base: int, *, failed: bool) -> Event | None:
        measured = self.index.get((block, op), {})
        usable = [m for m in measured.values() if m.usable]
        if not usable:
            return None
        inputs = [m.error for m in usable if m.pair.io == "input"]
        inherited = max(inputs, default=0.0)
        labels = [r.label for m in usable for r in (m.pair.target, m.pair.golden)]
        own = floor(None, max((spec_roundoff(label) for label in labels), default=0.0))
        wrong_inputs = inherited > PASS_FACTOR * own or (failed and not inputs)
        event = Event(block, op, own, inherited, wrong_inputs, base - op, measured)
        event.explained = own + GAIN * inherited
        outputs = [m for m in usable if m.pair.io == "output"]
        event.worst = max(outputs, key=lambda m: m.error, default=None)
        return event
