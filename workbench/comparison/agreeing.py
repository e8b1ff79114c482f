"""Where nothing differs, and the comparison stops: what later stages would say is known without them.

After measuring, every tensor is equal, and both graphs are the same. So no error begins anywhere, nothing has a
cause, and what is expected of every operator is its own rounding. The own error of operators, which replay would
measure, is not computed then.

Agreement of all rows is not enough: replay convicts operators whose tensors nobody can compare.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from workbench._values import NamedTuple
from workbench.comparison.bind.anomalies import QUIET
from workbench.comparison.bind.binding import is_npu
from workbench.comparison.findings.iterations import summarize
from workbench.comparison.follow.judge import judge_rows
from workbench.comparison.follow.overflow import FLAGS
from workbench.comparison.follow.state import agreeing
from workbench.comparison.follow.trace import Trace, survey
from workbench.comparison.graphs.roles import ends_of
from workbench.comparison.measure.noise import coarsest_roundoff, expected_rounding
from workbench.comparison.results.coverage import Judged
from workbench.comparison.results.verdict import Said, made_result
from workbench.core.words import Message
from workbench.ops import COLLECTIVES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from workbench.comparison.follow.state import Assessment
    from workbench.comparison.follow.trace import Place
    from workbench.comparison.measure.measure import Measured
    from workbench.comparison.measure.profiles import Profile
    from workbench.comparison.pair.pairing import Pairing, Selection
    from workbench.comparison.result import Result
    from workbench.graph.graph import Graph, Op

NOT_REPLAYED = Message("compare/replay-spared")
"""Why no operator has an own error."""


class Met(NamedTuple):
    """What is known of two dumps once they are measured; ``forecast``: tensors were compared with a forecast."""

    pairing: Pairing
    measured: Sequence[Measured]
    profile: Profile
    forecast: bool = False

    @property
    def graphs(self) -> Iterator[Graph]:
        """All graphs of both sides."""
        for binding in self.pairing.sides:
            yield from binding.graphs.values()


class Condition(NamedTuple):
    """What must hold where a comparison stops, and why."""

    name: str
    holds: Callable[[Met], bool]
    why: str


def nothing_differs(met: Met) -> bool:
    """Whether all that the later stages could say is known: every one of CONDITIONS holds."""
    return all(one.holds(met) for one in CONDITIONS)


def _some_equal(met: Met) -> bool:
    return any(_is_equal(item) for item in met.measured)


def _none_differs(met: Met) -> bool:
    return all(_is_equal(item) or _is_quiet(item) for item in met.measured)


def _is_equal(item: Measured) -> bool:
    return item.divergence.equal and not item.reason and not item.divergence.reason


def _is_quiet(item: Measured) -> bool:
    """Whether a side holds memory there that nobody writes or reads, and nothing else is wrong with it."""
    if item.reason is None:
        return False
    kinds = {
        item.reason.values[side] for side in ("target", "golden") if side in item.reason.values
    }
    return bool(kinds) and kinds <= QUIET


def _all_matched(met: Met) -> bool:
    return not any(met.pairing.unmatched)


def _all_aligned(met: Met) -> bool:
    keys = {block.graph_key for block in met.pairing.block_order}
    return bool(keys) and keys <= met.pairing.alignments.keys()


def _graphs_alike(met: Met) -> bool:
    return all(
        _are_alike(one.target.graph, one.golden.graph) for one in met.pairing.alignments.values()
    )


def _are_alike(target: Graph, golden: Graph) -> bool:
    if target is golden:
        return True
    names = [[one.name for one in graph.parameters] for graph in (target, golden)]
    return (
        names[0] == names[1]
        and len(target.ops) == len(golden.ops)
        and all(map(_does_the_same, target.ops, golden.ops))
    )


def _does_the_same(op: Op, golden: Op) -> bool:
    """Whether two operators say the same of all but where they stand in the source."""
    return all(getattr(op, name) == getattr(golden, name) for name in _SAID)


_SAID = (
    "name", "op_type", "inputs", "attrs", "outputs", "input_specs", "device_inputs", "device_outputs",
    "unless", "fused", "provenance",
)  # fmt: skip


def _one_to_one(met: Met) -> bool:
    """Whether every operator is matched with itself: nothing is grouped, fused, quantized or exchanged."""
    return not any(
        one.groups
        or one.fusions
        or one.quantised
        or any(number != other for number, other in one.match_of.items())
        for one in met.pairing.alignments.values()
    )


def _no_flags(met: Met) -> bool:
    told = FLAGS | COLLECTIVES
    return not any(op.op_type in told for graph in met.graphs for op in graph.ops)


CONDITIONS = (
    Condition("some equal", _some_equal, "without a single equal tensor there is no verdict"),
    Condition("none differs", _none_differs, "what differs, or cannot be read or trusted, has a cause to look for"),
    Condition("all matched", _all_matched, "what is alone may tell where a run ended"),
    Condition("no map file", lambda met: not met.pairing.overrides, "what it tolerates is told as used or not"),
    Condition("no thresholds", lambda met: not met.profile.limits, "they may want a figure that is missing"),
    Condition("no forecast", lambda met: not met.forecast, "what it computed is told"),
    Condition(
        "no records beside tensors",
        lambda met: not any(one.dump.watched or one.dump.failures for one in met.pairing.sides),
        "both sides may show the same memory overwritten, or have failed",
    ),
    Condition("all aligned", _all_aligned, "without a graph nothing says what else may have run"),
    Condition(
        "not of GE", lambda met: all(graph.dialect != "ge" for graph in met.graphs),
        "its kernels stand for several operators, of which a pair tells of one",
    ),
    Condition("graphs alike", _graphs_alike, "settings and number formats that differ are told, whatever came of them"),
    Condition("one to one", _one_to_one, "the rounding of a group is that of all its operators"),
    Condition("no flags or collectives", _no_flags, "both runs may overflow alike, ranks of one run differ"),
)  # fmt: skip
"""When a comparison stops after measuring. The cheapest that is often violated comes first."""


def agreed(met: Met, selection: Selection) -> Result:
    """Return the result of two dumps of which nothing differs."""
    trace = _quiet_trace(met.pairing, met.measured)
    rows = judge_rows(trace, met.measured, met.profile)
    said = Said(summarize(trace, met.measured, rows), facts={"replayed": NOT_REPLAYED})
    judged = Judged(met.pairing, met.measured, rows)
    return made_result(judged, selection, met.profile, said)


def _quiet_trace(pairing: Pairing, measured: Iterable[Measured]) -> Trace:
    """What following errors comes to where there are none: own rounding alone is expected of every operator."""
    npu = any(is_npu(one.dump) for one in pairing.sides)
    known = survey(pairing, measured, npu=npu)
    roundoff = {
        key: coarsest_roundoff(pairing.target.graphs[key], npu=npu)
        for key in {block.graph_key for block in pairing.block_order}
    }
    return Trace(
        **{name: getattr(known, name) for name in known.__dataclass_fields__},
        events=dict(_assessed(pairing, roundoff)),
        origins=(), initial_differences=(), input_states=MappingProxyType({}), values=MappingProxyType({}),
        walked=pairing.block_order, rank_local_feeds=MappingProxyType({}), rank_local_params=frozenset(),
        tainted_params=frozenset(),
        coarsest={key: max(some, default=0.0) for key, some in roundoff.items()},
        grounds=MappingProxyType({}),
    )  # fmt: skip


def _assessed(
    pairing: Pairing, roundoff: dict[tuple[int, int], list[float]]
) -> Iterator[tuple[Place, Assessment]]:
    """Every operator that the walk would visit, with what its own rounding explains."""
    for count, block in enumerate(pairing.block_order):
        graph = pairing.target.graphs[block.graph_key]
        ends, context = ends_of(graph), roundoff[block.graph_key]
        for number, op in enumerate(graph.ops):
            if number not in ends:
                floor, order = expected_rounding(op, context[number]), (count << 24) + number
                yield (block, number), agreeing(block, number, floor, order)
