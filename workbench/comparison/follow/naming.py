"""The reasons that a walk can give: what two graphs, or two inputs, say differently about an operator.

Where NaN or infinity begin, one dump shows by itself: an operator reads finite numbers and gives others. So an
operator without a counterpart, as a cast that only one side has, is judged on its own tensors.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench._values import NamedTuple
from workbench.comparison.align.differences import (
    Difference,
    group_difference,
    operator_differences,
    partner_settings,
    wiring_differences,
)
from workbench.comparison.limits import limits
from workbench.comparison.replay.attempt import TROUBLE
from workbench.comparison.replay.slices import copied_slices
from workbench.core.dtypes import DTYPES
from workbench.core.errors import FormatError, WorkbenchError
from workbench.core.words import Message
from workbench.core.words.render import number as spoken
from workbench.graph.graph import Param, Value
from workbench.ops import MOVEMENT
from workbench.ops.compile_time import computed_before_the_run

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from workbench.comparison.align.alignment import Alignment
    from workbench.comparison.bind.binding import Execution, OperatorRun
    from workbench.comparison.follow.facts import Observation, Scene
    from workbench.comparison.follow.state import Assessment
    from workbench.comparison.follow.trace import Survey
    from workbench.comparison.measure.elements import ExactDifference
    from workbench.comparison.measure.measure import Measured
    from workbench.comparison.pair.pairing import Pairing
    from workbench.comparison.replay.replay import Replay
    from workbench.comparison.replay.slices import SliceError
    from workbench.graph.graph import Graph, Op

    Array = NDArray[Any]


class Named(NamedTuple):
    """An operator, and what differs about it."""

    op: int = -1
    differences: tuple[Difference, ...] = ()


NOBODY = Named()


class Names:
    """Named differences of the operators of a graph.

    ``found`` aligns it with the golden's, ``context`` has the coarsest roundoff behind every operator.
    """

    def __init__(self, graph: Graph, found: Alignment | None, context: Sequence[float]) -> None:
        self._ops = graph.ops
        self._found = found
        self._context = context

    def differences(self, number: int) -> tuple[Difference, ...]:
        """Everything that the two graphs say differently about an operator."""
        if self._found is None:
            return ()
        tolerance = limits().pass_factor * self._context[number]
        return operator_differences(self._found, number, self._ops[number], tolerance)

    def settings(self, number: int) -> tuple[Difference, ...]:
        """Settings in which an operator differs from its counterpart."""
        if self._found is None:
            return ()
        tolerance = limits().pass_factor * self._context[number]
        return partner_settings(self._found, number, self._ops[number], tolerance)

    def wiring(self, number: int) -> tuple[Difference, ...]:
        """Structural reasons why an operator reads something else than its golden partner."""
        if self._found is None:
            return ()
        group = next((g for g in self._found.groups if number in g.readers), None)
        if group is not None:
            return (group_difference(group, self._found),)
        return tuple(wiring_differences(self._found, number))

    def region(self, number: int, unseen: Iterable[int], own: tuple[Difference, ...]) -> Named:
        """Return the operator to name: the first with a difference among those nobody has seen, else itself."""
        for before in sorted(unseen):
            found = self.differences(before)
            if found:
                return Named(before, found)
        return Named(number, own)

    def differing_mover(self, number: int) -> Named:
        """Return the mover before a guilty operator that moves otherwise than in the golden.

        A Reshape to other dimensions gives the same elements in the same order, and is wrong.
        """
        for operand in self._ops[number].flat_inputs():
            if isinstance(operand, Value) and self._ops[operand.op].op_type in MOVEMENT:
                found = self.settings(operand.op)
                if found:
                    return Named(operand.op, found)
        return Named(number)


def local_difference(item: Measured | None, roundoff: float) -> SliceError | None:
    """Slices of an input that number formats do not explain, where its norm does not show them."""
    if item is None or not item.usable or not item.differs_locally:
        return None
    ours, theirs = item.pair.target.source, item.pair.golden.source
    if ours is None or theirs is None:
        return None
    return copied_slices(ours, theirs, roundoff)


def input_difference(
    subject: tuple[str, str],
    item: Measured,
    slot: int,
    error: float,
    local: SliceError | None = None,
) -> Difference:
    """How an input that no operator produced differs, by its kind and name; ``local``: in slices alone."""
    kind, name = subject
    if local is not None:
        said = Message("compare/given-local", name=name, **local.said)
        return Difference(kind, name, said, exact=True)
    metrics = item.divergence.metrics
    shared = metrics.get("TargetNaN", 0)
    if shared and shared == metrics["GoldenNaN"] == item.divergence.mismatch:
        said = Message("compare/given-nan", slot=slot, name=name, count=int(shared))
        return Difference("non-finite", name, said)
    from workbench.comparison.measure.elements import first_difference

    if item.exact and (found := first_difference(item)) is not None:
        return Difference(kind, name, _exact_words(kind, name, slot, found), exact=True)
    if item.divergence.size == 1 and "TargetMax" in metrics:
        target, golden = _scalars(_scalar(metrics, "Target"), _scalar(metrics, "Golden"))
        if kind == "attribute":
            said = Message(
                "compare/setting-input", slot=slot, name=name, target=target, golden=golden
            )
        else:
            said = Message("compare/setting", name=name, target=target, golden=golden)
    elif kind == "attribute":
        said = Message("compare/given-input", slot=slot, name=name, error=error)
    else:
        said = Message("compare/given", name=name, error=error)
    return Difference(kind, name, said)


def _exact_words(kind: str, name: str, slot: int, found: ExactDifference) -> Message:
    """How integers differ: a single number by its value, of more how many and where the first stands."""
    if found.size > 1:
        return Message("compare/given-exact", name=name, **found._asdict())
    values = {"name": name, "target": found.target, "golden": found.golden}
    if kind == "attribute":
        return Message("compare/setting-input", slot=slot, **values)
    return Message("compare/setting", **values)


def _scalar(metrics: Mapping[str, float], side: str) -> float:
    """The one element of a tensor; its maximum is that of finite elements, and NaN where there is none."""
    for title, value in (("PosInf", math.inf), ("NegInf", -math.inf)):
        if metrics.get(f"{side}{title}"):
            return value
    return metrics[f"{side}Max"]


def _scalars(target: float, golden: float) -> tuple[str, str]:
    """Two scalars with as few digits as tell them apart."""
    digits = next((n for n in (6, 9, 17) if f"{target:.{n}g}" != f"{golden:.{n}g}"), 17)
    first, second = (
        f"{one:.{digits}g}" if math.isfinite(one) else spoken(one) for one in (target, golden)
    )
    return first, second


def overwrite_difference(
    survey: Survey,
    graph: Graph,
    block: Execution,
    value: Value,
    reader: int,
    slot: int,
    limit: float,
) -> Difference:
    """Say that operator ``reader`` found something else in an input than its producer wrote.

    Other readers show when it happened: an input whose error is within ``limit`` was still as
    written. Inputs are dumped when an operator is done, so it may itself be the one.
    """
    reads = [
        (n, survey.index.get((block, n), {}).get(("input", s))) for n, s in graph.consumers[value]
    ]
    looks = {n: item.error <= limit for n, item in reads if item is not None and item.usable}
    first = min((n for n, intact in looks.items() if not intact), default=reader)
    last = max((n for n, intact in looks.items() if intact and n < first), default=value.op)
    between = range(last + 1, min(first + 1, reader))
    runs = survey.pairing.target.runs.get(block, {})
    names = [runs[number].op_name for number in between if number in runs]
    said = Message("compare/overwritten", slot=slot)
    if names:
        said = Message("compare/overwritten-by", slot=slot, names=names)
    return Difference("overwritten", f"input.{slot}", said)


def wired_unlike(
    pairing: Pairing, block: Execution, number: int, slot: int, value: Value
) -> Difference | None:
    """Say that a side's own bytes contradict an edge of the graph that it was lent; ``None`` if they do not.

    The edge leads from ``value`` to input ``slot`` of operator ``number`` of the target's graph.
    """
    other, found = pairing.blocks.get(block), pairing.alignments.get(block.graph_key)
    edges = [(pairing.target, block, number, value)]
    if other is not None and found is not None and {number, value.op} <= found.match_of.keys():
        there = Value(found.match_of[value.op], value.slot)
        edges.append((pairing.golden, other, found.match_of[number], there))
    from workbench.comparison.bind.wiring import contradicting_edge

    for binding, at, reader, source in edges:
        edge = contradicting_edge(binding, at, (reader, slot), source)
        if at.graph_key not in binding.borrowed or edge is None:
            continue
        names = {"slot": slot, "producer": edge.producer}
        said = Message("compare/wired-unlike", **names)
        if edge.instead:
            said = Message("compare/wired-to", instead=edge.instead, **names)
        return Difference("structure", f"input.{slot}", said)
    return None


def is_version_matter(op: Op, worst: Measured | None) -> bool:
    """Whether two versions of the framework are known to differ here and nothing reads it.

    MindSpore 2.0 and 2.10 estimate the moving variance of BatchNorm over n and over n - 1.
    """
    if op.op_type != "BatchNorm" or worst is None or not worst.rewritten:
        return False
    sizes = [spec.size for spec in op.input_specs[:2] if spec is not None]
    if len(sizes) < 2 or not sizes[0] or not sizes[1]:
        return False
    values = sizes[0] / sizes[1]  # n: values a channel
    return worst.error <= 1.5 / max(values - 1.0, 1.0)


# --- the golden's share in a difference that the target's operator is not to blame for ----------------


def golden_error(survey: Survey, event: Assessment | Observation) -> tuple[Difference, ...]:
    """Say that the golden's operator is wrong; empty if what both inherited explains the difference.

    Where the golden's operator cannot be computed again, it is wrong if its result is farther off than
    the error of the inputs is magnified to.
    """
    replayed, own, worst = survey.replayed, event.replayed, event.worst
    if replayed is None or own is None or worst is None:
        return ()
    spoilt = next(corrupted_weights(survey, event), "")
    if spoilt:
        said = Message("compare/few-elements", name=spoilt)
        return (Difference("parameter", spoilt, said, exact=True),)
    off = replayed.model_weight_error(event.block, event.op)
    if off and (weights := _weights_of(survey, event)):
        other = _beyond_range(survey, event) or Message("compare/other-weights", error=off)
        return (Difference("parameter", weights, other, exact=True),)
    golden = replayed.golden(event.block, event.op)
    if golden is not None:
        said = Message("compare/golden-error-by", error=golden.error)
        return (Difference("own-error", "golden", said),) if golden.suspect else ()
    carried = replayed.propagated_error(event.block, event.op, max(own.slot, 0), event.inherited)
    if worst.error <= limits().suspect_factor * (carried + event.rounding_floor):
        return ()
    if _only_moves(survey, event, worst):
        return ()
    return (Difference("own-error", "golden", Message("compare/golden-error")),)


def _only_moves(survey: Survey, event: Assessment | Observation, worst: Measured) -> bool:
    """Whether the golden's operator moves elements, and all that it gave were among those that it read.

    A part of a tensor may be off by more than the whole, whose error is that of its large elements.
    """
    graph = survey.pairing.target.graphs.get(event.block.graph_key)
    if graph is None or event.op < 0 or graph.ops[event.op].op_type not in MOVEMENT:
        return False
    operands = enumerate(graph.ops[event.op].flat_inputs())
    inputs = (survey.measured_input(event.block, event.op, slot) for slot, _ in operands)
    read = [arrays_of(one) for one in inputs if one is not None]
    gave = arrays_of(worst)
    known = [golden.reshape(-1) for _, golden in filter(None, read)]
    if gave is None or not known:
        return False
    return bool(np.isin(gave[1], np.concatenate(known)).all())


def arrays_of(item: Measured) -> tuple[NDArray[Any], NDArray[Any]] | None:
    """What target and golden hold; ``None`` if of one nobody knows, or it cannot be read."""
    try:
        return item.arrays()
    except FormatError:
        return None


def _weights_of(survey: Survey, event: Assessment | Observation) -> str:
    """Name of the first weight or constant that the golden's operators have which a kernel stands for."""
    found = survey.pairing.alignments.get(event.block.graph_key)
    if found is None:
        return ""
    from workbench.comparison.replay.network import nodes_of

    graph, nodes = found.golden.graph, nodes_of(found, event.op)
    known = computed_before_the_run(graph)
    for operand in (one for number in nodes for one in graph.ops[number].flat_inputs()):
        if isinstance(operand, Param) and graph.parameters[operand.index].is_weight:
            return graph.parameters[operand.index].name
        if isinstance(operand, Value) and operand.op in known:
            return graph.ops[operand.op].name
    return ""


def _beyond_range(survey: Survey, event: Assessment | Observation) -> Message | None:
    """Say that a weight of the golden is too large for the target's format: it has infinity or its largest number."""
    found, worst = survey.pairing.alignments.get(event.block.graph_key), event.worst
    row = DTYPES.get(worst.pair.target.spec.dtype) if worst is not None else None
    if found is None or row is None or not row.is_float:
        return None
    graph = found.golden.graph
    from workbench.comparison.replay.network import nodes_of

    operands = (one for n in nodes_of(found, event.op) for one in graph.ops[n].flat_inputs())
    for operand in operands:
        if isinstance(operand, Param) and graph.parameters[operand.index].is_weight:
            parameter = graph.parameters[operand.index]
            most = _largest(parameter.default)
            if most > row.largest:
                values = {"golden": most, "dtype": row.name, "limit": row.largest}
                return Message("compare/weight-beyond-range", name=parameter.name, **values)
    return None


def _largest(values: Any) -> float:
    """Largest finite magnitude of a weight of floats; 0 if it cannot be read."""
    try:
        array = np.asarray(values, np.float64)
    except (WorkbenchError, TypeError, ValueError):
        return 0.0
    return float(np.max(np.abs(array), where=np.isfinite(array), initial=0.0))


def corrupted_weights(survey: Survey, event: Assessment | Observation) -> Iterator[str]:
    """Names of the golden's weights that an operator reads with few elements of another value.

    They are looked at where they were dumped: by an operator that only hands them on, if not by this one.
    """
    block = event.block
    found = survey.pairing.alignments.get(block.graph_key)
    other = survey.pairing.blocks.get(block)
    if survey.replayed is None or found is None or other is None or event.op < 0:
        return
    replayed = survey.replayed
    for slot, origin in enumerate(found.target.origins(event.op)):
        known = found.mapped(origin)
        if known is None or known.kind != "param":
            continue
        parameter = found.golden.graph.parameters[known.number]
        reader = next(iter(found.golden.readers(known)), None)
        if reader is None or not parameter.is_weight:
            continue
        try:
            ours, theirs = (
                replayed.target_inputs.read(block, event.op, slot),
                replayed.golden_inputs.read(other, *reader),
            )
            if ours and theirs and is_of_few(ours.array, theirs.array):
                yield parameter.name
        except TROUBLE:
            continue


@np.errstate(all="ignore")  # of NaN that signal
def is_of_few(target: Array, golden: Array) -> bool:
    """Whether two weights differ in few elements only, as where something wrote into one.

    Few are all that one number stands in, too, if they are neighbors. All elements are not few: a counter of steps
    differs as a whole.
    """
    if target.shape != golden.shape or not target.size:
        return False
    a, b = target.astype(np.float64).ravel(), golden.astype(np.float64).ravel()
    off = np.flatnonzero(~np.isclose(a, b, rtol=2.0**-7, atol=0.0, equal_nan=True))
    if off.size == a.size:
        return False
    if not 0 < off.size <= max(8, limits().golden_few * target.size):
        one = off.size > 1 and np.ptp(a[off]) == 0 and np.ptp(b[off]) > 0
        return bool(one and off[-1] - off[0] + 1 == off.size <= limits().golden_neighbors)
    return True


def of_a_borrower(
    pairing: Pairing, block: Execution, wrong: tuple[Difference, ...]
) -> tuple[Difference, ...]:
    """What is said of the golden where one side's attributes are lent: one that borrows is not called wrong by them."""
    other = pairing.blocks.get(block)
    lent = other is not None and pairing.golden.ground(other) != "own"
    if not lent or not wrong or wrong[0].kind != "own-error":
        return wrong
    return (Difference("own-error", "golden", Message("compare/golden-unlike")),)


def may_be_fused(scene: Scene, number: int) -> bool:
    """Whether one side has operators behind an operator that the other has not, where either graph is lent.

    A kernel may do their work, too, under the name of the first of them; what only moves data is looked through.
    """
    pairing = scene.survey.pairing
    other = pairing.blocks.get(scene.block)
    ours = pairing.target.runs.get(scene.block, {})
    if number not in ours or other is None:
        return False
    theirs = pairing.golden.runs.get(other, {})
    if scene.block.graph_key in pairing.target.borrowed:
        return _lacks_behind(scene, number, ours, theirs)
    return pairing.golden.ground(other) != "own" and _has_behind(scene, number, other)


def _lacks_behind(
    scene: Scene, number: int, ours: Mapping[int, OperatorRun], theirs: Mapping[int, OperatorRun]
) -> bool:
    """Whether the lent graph has operators behind one that its borrower did not run, while the lender did."""
    graph = scene.graph
    match_of = scene.found.match_of if scene.found is not None else {}
    waiting, seen = [number], set[int]()
    while waiting:
        at = waiting.pop()
        for slot in range(max(len(graph.ops[at].outputs), 1)):
            for reader, _ in graph.consumers.get(Value(at, slot), ()):
                if reader in seen or reader in ours:
                    continue
                seen.add(reader)
                if graph.ops[reader].op_type in MOVEMENT:
                    waiting.append(reader)
                elif match_of.get(reader, reader) in theirs:
                    return True
    return False


def _has_behind(scene: Scene, number: int, other: Execution) -> bool:
    """Whether the next that a golden without a graph computed, in order of time, is in no graph and has no partner."""
    pairs = (one.pair.golden_run for one in scene.measured(number).values())
    run = next((one for one in pairs if one is not None), None)
    if run is None:
        return False
    survey = scene.survey
    behind = (
        survey.golden_order[other].next_after(run.time) if other in survey.golden_order else None
    )
    if behind is None or behind.op >= 0:
        return False
    return id(behind) not in survey.golden_partners.get(scene.block, ())


def is_cleared(scene: Scene, seen: Observation) -> bool:
    """Whether replay says that an operator did what it had to, and all that it read was compared.

    A lent graph has the lender's number formats. Which ones the run computes in only replay tells then, so that it is
    believed, too, where it has to take a weight or a feed from the golden.
    """
    replayed, ops = scene.survey.replayed, scene.graph.ops  # replay looks through what only moves
    if replayed is None or any(ops[number].op_type not in MOVEMENT for number in seen.unobserved):
        return False
    lent = scene.survey.pairing.target.trust(scene.block).graph == "borrowed"
    return replayed.reproduces(seen.block, seen.op, assumed=lent) or _is_within_golden_error(
        replayed, seen
    )


def _is_within_golden_error(replayed: Replay, seen: Observation) -> bool:
    """Whether an operator that gave what it had to differs by no more than the golden's, off by itself, explains.

    A library may compute what lies near zero to a part of 1 (`workbench.comparison.replay.own_error`).
    """
    if seen.replayed is None or seen.replayed.suspect or seen.worst is None:
        return False
    golden = replayed.golden(seen.block, seen.op)
    if golden is None or golden.suspect:
        return False
    return seen.worst.error <= limits().suspect_factor * golden.error
