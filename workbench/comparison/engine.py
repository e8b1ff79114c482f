"""Compare two dumps, stage by stage: the one way from dumps to a `Result`.

What comes behind measuring is loaded where something differs, and not before.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

from workbench._values import NamedTuple, dataclass
from workbench.comparison.agreeing import Met, agreed, nothing_differs
from workbench.comparison.bind.binding import is_npu
from workbench.comparison.bind.borrow import bind_both
from workbench.comparison.limits import limits as current_limits
from workbench.comparison.limits import using
from workbench.comparison.measure.measure import NO_FORECAST, distance_from, measure_pairs
from workbench.comparison.measure.profiles import NOISE_FLOOR
from workbench.comparison.measure.profiles import profile as find_profile
from workbench.comparison.one_thread import one_thread
from workbench.comparison.pair.pair import pair_tensors
from workbench.comparison.pair.pairing import EVERYTHING, Selection
from workbench.comparison.stages import Stages

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from workbench.comparison.differing import Depth, Followed
    from workbench.comparison.explain.origins import Origins
    from workbench.comparison.follow.state import Assessment
    from workbench.comparison.follow.trace import Trace
    from workbench.comparison.limits import Limits
    from workbench.comparison.measure.measure import Cancelled, Measured, Measures, Progress
    from workbench.comparison.measure.profiles import Profile
    from workbench.comparison.pair.pairing import Pairing
    from workbench.comparison.repeats.runs import Repeats
    from workbench.comparison.replay.forecast import Forecast
    from workbench.comparison.result import Result
    from workbench.dump.dump import Dump
    from workbench.npu.orders.known import Orders
    from workbench.run.envelope import Envelope


class Found(Protocol):
    """The walk and origins of a comparison, as long as they are kept."""

    @property
    def flow(self) -> Trace:
        """What the walk through the data flow found."""
        ...

    @property
    def origins(self) -> Origins:
        """Where errors begin, and why."""
        ...


class Walk(NamedTuple):
    """What gives a walk: ``finish(*values)``, and what of it there is one of for every pair.

    ``finish`` is a function of a module, so that it can travel.
    """

    pairing: Pairing
    measured: Sequence[Measured]
    events: Iterable[Assessment]
    finish: Callable[..., Followed]
    values: tuple[Any, ...]


@dataclass(frozen=True)
class _Later:
    """A walk that is made when somebody asks for it."""

    walk: Walk

    @cached_property
    def _followed(self) -> Followed:
        return self.walk.finish(*self.walk.values)

    @property
    def flow(self) -> Trace:
        return self._followed.flow

    @property
    def origins(self) -> Origins:
        return self._followed.origins

    def __reduce__(self) -> tuple[Callable[..., Found], tuple[Any, ...]]:
        """Travel packed, as it was found."""
        from workbench.comparison.packed_walk import pack_walk

        return pack_walk(*_found_walk(self._followed)).__reduce__()


@dataclass(frozen=True)
class Compared:
    """The result, and the walk and origins it came from (for whoever wants to look deeper).

    Where nothing differs, these are found when somebody asks for them.
    """

    result: Result
    found: Found

    @property
    def flow(self) -> Trace:
        """What the walk through the data flow found."""
        return self.found.flow

    @property
    def origins(self) -> Origins:
        """Where errors begin, and why."""
        return self.found.origins


@one_thread()
def compare_dumps(
    target: Dump,
    golden: Dump,
    *,
    selection: Selection = EVERYTHING,
    profile: str = NOISE_FLOOR,
    progress: Progress | None = None,
    cancelled: Cancelled | None = None,
    limits: Limits | None = None,
    envelope: Envelope | None = None,
    orders: Orders | None = None,
    repeats: Sequence[Dump] = (),
    depth: Depth = "explained",
) -> Compared:
    """Compare two dumps. Trouble inside them becomes anomalies and reasons, never an exception.

    Once ``cancelled()`` is true, what is not measured or replayed by then stays so, nothing is explained, and the
    result is partial. ``limits``: what to judge by (`None`: as this thread does). ``envelope``: what rounding moves in
    the golden's network, which rows are held against. ``orders``: in which order the target's device sums.
    ``repeats``: other runs of the target, which show how far it differs from run to run. ``depth``: how far it
    goes. Where it stops before ``explained``, where errors begin is known, and not why; ``measured`` computes no
    operator again, and misses what stays within the rounding of inputs.
    """
    asked = _Asked(selection, find_profile(profile), envelope, orders, repeats, depth)
    with using(limits):
        return _compared(target, golden, asked, progress, cancelled)


class _Asked(NamedTuple):
    """What is asked of a comparison, and what is known beside both dumps."""

    selection: Selection
    profile: Profile
    envelope: Envelope | None
    orders: Orders | None
    repeats: Sequence[Dump]
    depth: Depth = "explained"


def _compared(
    target: Dump,
    golden: Dump,
    asked: _Asked,
    progress: Progress | None,
    cancelled: Cancelled | None,
) -> Compared:
    stage, selection, chosen = Stages(cancelled), asked.selection, asked.profile
    with stage("bind"):  # files -> operators
        ours, theirs = bind_both(target, golden)
    with stage("pair"):  # graph <-> graph, tensor <-> tensor
        pairing = pair_tensors(ours, theirs, selection)
    with stage("forecast"):  # of what only statistics are known
        told = _forecast(pairing, cancelled) if _has_statistics(pairing) else None
    with stage("measure"):
        known = (told.errors, told.spreads) if told is not None else (NO_FORECAST, NO_FORECAST)
        measures = measure_pairs(pairing, *known, progress=progress, cancelled=cancelled)
    noise = None
    if asked.repeats:
        with stage("repeats"):  # what the target's runs differ in
            noise = _repeats(target, golden, asked, measures, cancelled)
        measures = measures._replace(items=_with_noise(measures.items, noise))
    pairing, measured = measures.pairing, measures.items
    met = Met(pairing, measured, chosen, told is not None)
    if not stage.stopped and nothing_differs(met):
        with stage("result"):
            judged_by = current_limits()
            quiet = _enveloped(agreed(met, selection), measured, asked.envelope)
            quiet = _repeated(quiet, measured, noise)
            given = pairing, measured, judged_by, asked.orders, noise
            return Compared(quiet, _Later(Walk(pairing, measured, (), _followed, given)))
    from workbench.comparison.differing import follow_errors, judge_differences

    found = follow_errors(pairing, measured, stage, asked.orders, noise, depth=asked.depth)
    told = told or _forecast(pairing, cancelled)
    result = judge_differences(found, measured, told, selection, chosen, stage)
    result = _repeated(_enveloped(result, measured, asked.envelope), measured, noise)
    if found.flow.replayed is not None:
        found.flow.replayed.forget()
    return Compared(result, _Later(_found_walk(found)))


def _repeats(
    target: Dump, golden: Dump, asked: _Asked, measures: Measures, cancelled: Cancelled | None
) -> Repeats:
    from workbench.comparison.repeats.runs import measure_repeats

    several, selection = asked.repeats, asked.selection
    return measure_repeats(target, golden, several, selection, measures.items, cancelled)


def _with_noise(items: tuple[Measured, ...], noise: Repeats) -> tuple[Measured, ...]:
    from workbench.comparison.repeats.runs import with_spreads

    return with_spreads(items, noise)


def _repeated(result: Result, measured: Sequence[Measured], noise: Repeats | None) -> Result:
    if noise is None:
        return result
    from workbench.comparison.results.repeats import with_repeats

    return with_repeats(result, measured, noise)


def _enveloped(result: Result, measured: Sequence[Measured], envelope: Envelope | None) -> Result:
    if envelope is None:
        return result
    from workbench.comparison.results.envelope import with_envelope

    return with_envelope(result, measured, envelope)


def _has_statistics(pairing: Pairing) -> bool:
    """Whether only statistics of a tensor of the target were dumped."""
    return any(pair.target.source is None for pair in pairing.pairs)


def _forecast(pairing: Pairing, cancelled: Cancelled | None) -> Forecast:
    from workbench.comparison.replay.forecast import forecast

    npu = is_npu(pairing.target.dump)
    return forecast(pairing, distance_from, npu=npu, cancelled=cancelled)


def keep_small(compared: Compared) -> Compared:
    """Pack the walk of a large comparison, for whoever keeps it; as it is where a source of it cannot be packed.

    A stopped one is left as it is: whoever stops waits for what there is by then.
    """
    later = compared.found
    if not isinstance(later, _Later) or compared.result.partial:
        return compared
    if len(later.walk.pairing.pairs) < PACKED_FROM:
        return compared
    from workbench.comparison.packed_walk import UNPACKABLE, pack_walk

    try:
        return Compared(compared.result, pack_walk(*later.walk))
    except UNPACKABLE:
        return compared


PACKED_FROM = 1_000
"""Pairs from which on a walk is packed: that of fewer takes a few megabytes at most."""


def _found_walk(found: Followed) -> Walk:
    flow = found.flow
    return Walk(flow.pairing, flow.measured, flow.events.values(), as_found, (found,))


def as_found(found: Followed) -> Followed:
    """Give what was found already."""
    return found


def _followed(
    pairing: Pairing,
    measured: Sequence[Measured],
    limits: Limits,
    orders: Orders | None,
    repeats: Repeats | None,
) -> Followed:
    from workbench.comparison.differing import follow_errors

    with using(limits):
        return follow_errors(pairing, measured, Stages(), orders=orders, repeats=repeats)
