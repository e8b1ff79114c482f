"""What a whole run has in common: one number format, one way of storing, one factor of all operators of a type.

Such a thing is no matter of one operator, however many show it, and is told once. What replay left over of every
operator is read again: in which format its results lie, whether bits were cut off, by which factor they are off. An
operator that is off otherwise than the others is still named by itself, and so is one with a factor of its own that
lies below what rounding explains.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench._values import NamedTuple
from workbench.comparison.findings.evidence import further
from workbench.comparison.findings.material import Figures, finding, place_in
from workbench.comparison.limits import limits
from workbench.comparison.measure.bias import median_of, pooled
from workbench.comparison.measure.noise import spec_roundoff
from workbench.comparison.replay.deviation import GRIDS, Store
from workbench.core.dtypes import DTYPES
from workbench.core.words import Message
from workbench.graph.graph import Const
from workbench.ops import CHOOSING, STEPS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from workbench.comparison.bind.binding import Execution
    from workbench.comparison.findings.material import Found, Material
    from workbench.comparison.follow.trace import Trace
    from workbench.comparison.measure.bias import Bias, Pool
    from workbench.comparison.replay.deviation import Deviation
    from workbench.comparison.replay.own_error import OwnError

    Place = tuple[Execution, int]


class Result(NamedTuple):
    """A result that could show what a run has in common, and how it deviates, if it does.

    ``tells``: it has elements enough to decide; others at most join in.
    """

    place: Place
    op_type: str
    own: OwnError
    tells: bool = True

    @property
    def deviation(self) -> Deviation | None:
        """How it deviates as a whole."""
        return self.own.deviation

    @property
    def operator(self) -> tuple[tuple[int, int], int]:
        """The operator, whichever execution it is of."""
        return self.place[0].graph_key, self.place[1]


class Ambient(NamedTuple):
    """What results have in common: the kind of finding, what is said of it, and whose it is."""

    kind: str
    said: tuple[Message, ...]
    members: Sequence[Result]


def ambient(material: Material) -> Iterator[Found]:
    """Number formats, stores and factors that operators have in common, and factors of single ones."""
    flow = material.flow
    for one in in_common(flow):
        first = one.members[0]
        place = place_in(flow.pairing, *first.place)
        others = {place_in(flow.pairing, *other.place).op_name for other in one.members}
        floor = None if one.kind == "bias" else first.own.explained
        figures = Figures(first.own.error, None, floor)
        said = (*one.said, *further(sorted(others - {place.op_name})))
        event = flow.events.get(first.place)
        yield finding(one.kind, place, said, figures, event=event)


def without_ambient(found: Sequence[Found], material: Material) -> list[Found]:
    """Leave out own errors that are no operator's own."""
    told = {result.place for one in in_common(material.flow) for result in one.members}
    return [one for one in found if one.finding.kind != "own-error" or _place(one) not in told]


def _place(one: Found) -> Place | None:
    """The operator that a finding is about, if its own replay convicts it."""
    event = one.event
    if event is None or event.replayed is None or not event.replayed.suspect:
        return None
    return event.block, event.op


def in_common(flow: Trace) -> tuple[Ambient, ...]:
    """Everything that results have in common, the widest first; no result is of two."""
    if flow.replayed is None:
        return ()
    results = [*_results(flow)]
    found: list[Ambient] = []
    for search in (_stores, _run_factor, _type_factors, _single):
        told = {one.place for ambient in found for one in ambient.members}
        found += search(flow, [one for one in results if one.place not in told])
    return tuple(found)


def _results(flow: Trace) -> Iterator[Result]:
    """Replayed results that are new numbers."""
    assert flow.replayed is not None
    for place, own in flow.replayed.own_errors.items():
        graph = flow.pairing.target.graph(place[0])
        op = graph.ops[place[1]] if graph is not None else None
        if op is None or op.op_type in CHOOSING | STEPS or own.slot < 0 or own.assumed:
            continue
        spec = op.outputs[own.slot] if own.slot < len(op.outputs) else None
        known = DTYPES.get(spec.dtype) if spec is not None else None
        if spec is None or known is None or not known.is_float:
            continue
        if own.deviation is not None or not own.error:
            tells = (spec.size or 0) >= limits().ambient_elements
            yield Result(place, op.op_type, own, tells)


# ---------------------------------------------------------------- how results are stored


def _stores(flow: Trace, results: Sequence[Result]) -> Iterator[Ambient]:
    """The number format, or the cutting off of bits, that nearly all results show."""
    known = {one.place: one.deviation.store for one in results if one.deviation is not None}
    stores = {place: store for place, store in known.items() if store is not None}
    for name in sorted({store.format for store in stores.values()}, key=_coarsest):
        shown = [
            one for one in results if one.place in stores and stores[one.place].is_within(name)
        ]
        if not _is_of_run(shown, results) or _golden_stores(flow, shown[0], name):
            continue
        cut = sum(stores[one.place].is_cut for one in shown)
        is_cut = cut >= limits().ambient_share * len(shown)
        members = _alike_stored(shown, Store(name, is_cut).roundoff)
        if members:
            stated = _stated(flow, shown[0])
            code = "cut" if name == stated else "format-cut" if is_cut else "format"
            counts = {"count": _count(shown), "whole": _count(results)}
            said = Message(f"compare/store-{code}", format=name, stated=stated, **counts)
            yield Ambient("number-format", (said,), members)
        return


def _coarsest(name: str) -> int:
    return -GRIDS.get(name, 0)


def _alike_stored(shown: Sequence[Result], roundoff: float) -> list[Result]:
    """Results of which the store explains the error: no factor of their own is left."""
    biases = {one.place: one.deviation.bias for one in shown if one.deviation is not None}
    typical, known = median_of([one.slope for one in biases.values()]), limits()
    members = []
    for one in shown:
        bias = biases[one.place]
        allowed = max(2 * known.bias_narrow * roundoff, known.bias_certainty * bias.scatter)
        explained = one.own.error <= known.suspect_factor * roundoff
        if explained and abs(bias.slope - typical) <= allowed:
            members.append(one)
    return members


def _is_of_run(shown: Sequence[Result], results: Sequence[Result]) -> bool:
    """Whether so many results show it that it is the run's, and not that of a few operators."""
    known, telling = limits(), [one for one in shown if one.tells]
    types = {one.op_type for one in telling}
    enough = _count(telling) >= known.ambient_operators and len(types) >= known.ambient_types
    return enough and len(telling) >= known.ambient_share * sum(one.tells for one in results)


def _count(results: Iterable[Result]) -> int:
    return len({one.operator for one in results})


def _stated(flow: Trace, one: Result) -> str:
    graph = flow.pairing.target.graph(one.place[0])
    return graph.ops[one.place[1]].outputs[one.own.slot].dtype if graph is not None else ""


# ---------------------------------------------------------------- factors


def _run_factor(flow: Trace, results: Sequence[Result]) -> Iterator[Ambient]:
    """A factor that nearly all results have, whatever their operators compute."""
    found = _same_factor(results)
    if found is None or not _is_of_run(found[1], results) or _golden_biased(flow, found[1]):
        return
    pool, members = found
    counts = {"count": _count(members), "whole": _count(results)}
    said = Message("compare/factor-run", **counts, **_figures(pool))
    yield Ambient("common-factor", (said,), members)


def _type_factors(flow: Trace, results: Sequence[Result]) -> Iterator[Ambient]:
    """Factors that nearly all results of an operator type have."""
    types: dict[str, list[Result]] = {}
    for one in results:
        types.setdefault(one.op_type, []).append(one)
    for op_type, some in types.items():
        found = _same_factor(some)
        if (
            found is None
            or _count(found[1]) < limits().ambient_like
            or _golden_biased(flow, found[1])
        ):
            continue
        pool, members = found
        telling = sum(one.tells for one in some)
        if sum(one.tells for one in members) < limits().ambient_share * telling:
            continue
        counts = {"count": _count(members), "whole": _count(some)}
        said = Message("compare/factor-type", op_type=op_type, **counts, **_figures(pool))
        yield Ambient("common-factor", (said,), members)


def _same_factor(results: Sequence[Result]) -> tuple[Pool, list[Result]] | None:
    """Return the factor that most results have, and whose it is; ``None`` where none is certain."""
    biases = [(one, one.deviation.bias) for one in results if one.deviation is not None]
    if len(biases) < limits().ambient_like:
        return None
    middle = median_of([bias.slope for one, bias in biases if one.tells] or [0.0])
    alike = [(one, bias) for one, bias in biases if _has_factor(one, bias, middle)]
    if sum(one.tells for one, _ in alike) < limits().ambient_like:
        return None
    pool = pooled(bias for one, bias in alike if one.tells)
    least = max(bias.limit for _, bias in alike)
    certain = abs(pool.certainty) > limits().bias_certainty and abs(pool.slope) > least
    return (pool, [one for one, _ in alike]) if certain else None


def _has_factor(one: Result, bias: Bias, slope: float) -> bool:
    """Whether a result is off by a factor, and by nothing else that rounding does not explain.

    In float32 a factor must be beyond what the operator's approximation explains: exp by a polynomial is off to
    one side by a few units in the last place, on a CPU as on a device.
    """
    known = limits()
    if bias.is_wide and abs(bias.slope) <= one.own.explained:
        return False
    apart = abs(bias.slope - slope)
    noise = max(known.ambient_alike * abs(slope), 4 * bias.scatter, bias.limit / 2)
    rest = max(known.ambient_alike * abs(slope), known.suspect_factor * one.own.floor.rounding)
    return apart <= noise and bias.rest <= max(rest, bias.spacing)


def _figures(pool: Pool) -> dict[str, float]:
    half = (pool.high - pool.low) / 2
    return {"factor": pool.factor, "low": pool.low, "high": pool.high, "half": half}


def _single(flow: Trace, results: Sequence[Result]) -> Iterator[Ambient]:
    """Factors of single operators that no norm shows."""
    operators: dict[object, list[Result]] = {}
    for one in results:
        bias = one.deviation.bias if one.deviation is not None else None
        if bias is None or not bias.accuses or one.own.suspect or one.own.rule != "table":
            continue
        if _has_factor(one, bias, bias.slope) and not _golden_biased(flow, [one]):
            operators.setdefault(one.operator, []).append(one)
    for some in operators.values():
        assert some[0].deviation is not None
        bias = some[0].deviation.bias
        low, high = bias.interval
        said = Message(
            "compare/factor-single", factor=1 + bias.slope, low=low, high=high, half=(high - low) / 2,
            certainty=abs(bias.certainty),
        )  # fmt: skip
        yield Ambient("bias", (said,), some)


# ---------------------------------------------------------------- the golden's word


def _golden_biased(flow: Trace, members: Sequence[Result]) -> bool:
    """Whether the golden has the factor, too: then the reference is another operator.

    Where the golden cannot be asked, a small factor may be that of a constant, of which the text of a graph has six
    digits; constants of a lent graph may have been rounded to the borrower's format.
    """
    one = members[0]
    if _is_of_lent_constant(flow, one):
        return True
    own = _golden(flow, one)
    if own is None and one.deviation is not None:
        return abs(one.deviation.bias.slope) <= limits().bias_alone
    if own is None or own.deviation is None or one.deviation is None:
        return False
    theirs, ours = own.deviation.bias.slope, one.deviation.bias.slope
    return abs(theirs) >= 0.5 * abs(ours) and theirs * ours > 0


def _is_of_lent_constant(flow: Trace, one: Result) -> bool:
    """Whether a factor is no more than the rounding of a constant that is the lender's to the format of own files."""
    block, number = one.place
    binding = flow.pairing.target
    graph, run = binding.graph(block), binding.runs[block][number]
    if graph is None or one.deviation is None or binding.trust(block).graph != "borrowed":
        return False
    constant = any(isinstance(operand, Const) for operand in graph.ops[number].flat_inputs())
    roundoff = max((spec_roundoff(record.label) for record in run.tensors.values()), default=0.0)
    return constant and abs(one.deviation.bias.slope) <= roundoff


def _golden_stores(flow: Trace, one: Result, name: str) -> bool:
    """Whether the golden's results were stored so, too."""
    own = _golden(flow, one)
    store = own.deviation.store if own is not None and own.deviation is not None else None
    return store is not None and store.format == name


def _golden(flow: Trace, one: Result) -> OwnError | None:
    return flow.replayed.golden(*one.place) if flow.replayed is not None else None
