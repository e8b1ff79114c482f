"""Every other run of the target, measured: which of them are used, and how far each tensor may be off by them.

A repeat is paired with the target and measured, and nothing else is concluded of it. What runs of one device disagree
in is noise that it shows, whatever number formats explain: `repeat_factor` times the largest error between runs is
what a tensor may be off from the golden without being wrong. That holds only if the other runs are off from the
golden as well: what the target alone has is a defect of this run.
"""

from __future__ import annotations

import math
import os
from types import MappingProxyType
from typing import TYPE_CHECKING

from workbench._values import NamedTuple
from workbench.comparison.bind.borrow import bind_both
from workbench.comparison.limits import limits
from workbench.comparison.measure.measure import measure_pair, measure_pairs
from workbench.comparison.pair.pair import pair_tensors
from workbench.comparison.pair.pairing import Selection
from workbench.comparison.repeats.counting import count_operators
from workbench.comparison.repeats.determinism import not_deterministic, own_spreads, supported
from workbench.comparison.repeats.measured import OwnSpread, Spread, index_of, widest
from workbench.comparison.result import RepeatRun
from workbench.core.words import Message

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from workbench.comparison.measure.measure import Cancelled, Measured
    from workbench.comparison.repeats.counting import Counted
    from workbench.comparison.result import NotDeterministic
    from workbench.core.tensors import TensorKey
    from workbench.dump.dump import Dump

    ByKey = Mapping[TensorKey, Measured]


class Repeats(NamedTuple):
    """What repeats show: every run, how far tensors may be off by them, and operators that are not deterministic.

    ``alone`` are tensors of the target that are off from the golden as no other run is.
    """

    runs: tuple[RepeatRun, ...]
    spreads: Mapping[TensorKey, Spread]
    operators: tuple[NotDeterministic, ...]
    alone: frozenset[TensorKey] = frozenset()

    @property
    def used(self) -> int:
        """How many runs show how far the target is off from run to run."""
        return sum(run.used for run in self.runs)

    @property
    def factor(self) -> float:
        """How many times the largest error between runs a tensor may be off."""
        return _factor(self.used)


def _factor(used: int) -> float:
    known = limits()
    factors = (known.repeat_factor_one, known.repeat_factor_two, known.repeat_factor_three)
    return factors[min(max(used, 1), len(factors)) - 1]


class _Run(NamedTuple):
    """One repeat, measured: how far it is from the target and from the golden, by the target's tensors."""

    said: RepeatRun
    spreads: Mapping[TensorKey, Spread] = MappingProxyType({})
    from_golden: Mapping[TensorKey, Spread] = MappingProxyType({})
    own: Mapping[TensorKey, OwnSpread] = MappingProxyType({})


def measure_repeats(
    target: Dump,
    golden: Dump,
    repeats: Sequence[Dump],
    selection: Selection,
    items: Sequence[Measured],
    cancelled: Cancelled | None = None,
) -> Repeats:
    """Measure how far other runs of the target are from it; what is none of it is told, and not used.

    ``items`` are the measured pairs of target and golden.
    """
    known = {item.pair.target.key: item for item in items if item.usable and not item.reason}
    runs: list[_Run] = []
    for number, one in enumerate(repeats):
        place = _same_place(one, target, golden, repeats[:number])
        if place is not None:
            runs.append(_Run(RepeatRun(one.path, 0, 0, used=False, reason=place)))
        else:
            runs.append(_measured(target, one, selection, known, cancelled))
    used = [run for run in runs if run.said.used]
    spreads, from_golden = (
        widest(run.spreads for run in used),
        widest(run.from_golden for run in used),
    )
    own = _largest(used)
    sure = {key: _no_larger(one, from_golden.get(key)) for key, one in own.items()}
    between, apart = supported(spreads, sure), supported(from_golden, sure)
    allowed = {key: _smaller(one, apart.get(key)) for key, one in between.items()}
    alone = _alone(known, apart, _factor(len(used)))
    said = tuple(run.said for run in runs)
    return Repeats(said, MappingProxyType(allowed), not_deterministic(own), alone)


def _largest(runs: Iterable[_Run]) -> dict[TensorKey, OwnSpread]:
    own: dict[TensorKey, OwnSpread] = {}
    for run in runs:
        for key, mine in run.own.items():
            own[key] = max(mine, own.get(key, mine), key=_error_of)
    return own


def _error_of(one: OwnSpread) -> float:
    return one.error


def _no_larger(one: OwnSpread, other: Spread | None) -> OwnSpread:
    return one if other is None else one._replace(error=min(one.error, other.error))


def _smaller(one: Spread, other: Spread | None) -> Spread:
    """Return the smaller errors of the two; where nothing is known of the golden, those between runs."""
    if other is None:
        return one
    local = min(one.slice_error, other.slice_error)
    return Spread(min(one.error, other.error), local, one.size)


def _alone(known: ByKey, apart: Mapping[TensorKey, Spread], factor: float) -> frozenset[TensorKey]:
    """Tensors of the target that are farther from the golden than other runs, by more than these are from it."""
    held = ((key, known.get(key), one) for key, one in apart.items())
    return frozenset(
        key for key, item, one in held if item is not None and item.error > factor * one.error
    )


def _held(item: Measured, one: Spread, factor: float) -> Measured:
    return item._replace(between_runs=factor * one.error, between_slices=factor * one.slice_error)


def with_spreads(items: Sequence[Measured], repeats: Repeats) -> tuple[Measured, ...]:
    """Return measured pairs that know what the target's runs may be off, as a whole and in a slice."""
    factor = repeats.factor
    return tuple(
        item
        if (one := repeats.spreads.get(item.pair.target.key)) is None
        else _held(item, one, factor)
        for item in items
    )


# --- which runs are used ------------------------------------------------------------------------


def _same_place(repeat: Dump, target: Dump, golden: Dump, before: Sequence[Dump]) -> Message | None:
    """Say that a dump is none of its own: it lies where another one does."""
    for code, others in (
        ("compare/repeat-target", (target,)),
        ("compare/repeat-golden", (golden,)),
        ("compare/repeat-twice", before),
    ):
        if any(repeat is other or _same_folder(repeat.path, other.path) for other in others):
            return Message(code)
    return None


def _same_folder(one: str, other: str) -> bool:
    try:
        return os.path.samefile(one, other)
    except OSError:  # in memory
        return False


class RunFacts(NamedTuple):
    """What decides whether a run is used.

    ``due`` tensors of the target are selected. ``devices`` are those of the target and of the run. ``equal_golden``
    says of tensors that differ from the target whether they are the golden's.
    """

    usable: Sequence[Measured]
    due: int
    devices: tuple[str, str]
    counted: Counted
    equal_golden: Sequence[bool]

    @property
    def differing(self) -> list[Measured]:
        """Tensors that are not the target's."""
        return [item for item in self.usable if not item.divergence.equal]

    @property
    def uncounted(self) -> list[Measured]:
        """Tensors whose difference excuses nothing."""
        return [item for item in self.differing if not self.counted.takes(item)]


def _other_network(facts: RunFacts) -> Message | None:
    few = len(facts.usable) * 100 < limits().repeat_least * facts.due
    if not few and facts.usable:
        return None
    return Message("compare/repeat-other", compared=len(facts.usable), due=facts.due)


def _other_device(facts: RunFacts) -> Message | None:
    ours, theirs = facts.devices
    differ = ours and theirs and ours != theirs
    return Message("compare/repeat-device", target=ours, got=theirs) if differ else None


def _other_data(facts: RunFacts) -> Message | None:
    if not facts.counted.given:
        return None
    pair = facts.counted.given[0].pair
    return Message(
        "compare/repeat-input", op_name=pair.golden.key.op_name, io=pair.io, slot=pair.slot
    )


def _equal(facts: RunFacts) -> Message | None:
    return None if facts.differing else Message("compare/repeat-equal")


def _equals_golden(facts: RunFacts) -> Message | None:
    known = facts.equal_golden
    return Message("compare/repeat-golden") if known and all(known) else None


def _nothing_counts(facts: RunFacts) -> Message | None:
    left = facts.uncounted
    if len(left) < len(facts.differing):
        return None
    return Message("compare/repeat-nothing", **_first(facts, left))


def _first(facts: RunFacts, left: Sequence[Measured]) -> dict[str, str | Message]:
    """The first tensor that does not count, and why; one of an operator's results if there is any."""
    item = next((one for one in left if one.pair.io == "output" and one.pair.golden_run), left[0])
    return {"op_name": item.pair.golden.key.op_name, "why": facts.counted.reason(item)}


RUN_RULES: tuple[Callable[[RunFacts], Message | None], ...] = (
    # before all others: of another network nothing that follows can be said
    _other_network,
    # before data: another device has data of its own, and the device is the reason
    _other_device,
    # where data differ nothing is equal: this one and the next never both apply
    _other_data,
    # nor do this one and the next: one says that nothing differs, the other what does
    _equal,
    # before what counts: of the golden itself it may be known or not what operators read
    _equals_golden,
    _nothing_counts,
)
"""Why a run is not used: what the first rule says that says anything."""


def _remark(facts: RunFacts, missing: int) -> Message | None:
    """What is to be said of a run that is used; ``missing`` tensors of the target are not in it."""
    left = facts.uncounted
    if left:
        return Message("compare/repeat-uncounted", count=len(left), **_first(facts, left))
    return Message("compare/repeat-lacks", count=missing) if missing > 0 else None


def _measured(
    target: Dump, repeat: Dump, selection: Selection, known: ByKey, cancelled: Cancelled | None
) -> _Run:
    ours, theirs = bind_both(repeat, target)
    rank, iteration = (
        None if one is None else (one[0], one[0]) for one in (selection.rank, selection.iteration)
    )
    pairing = pair_tensors(ours, theirs, Selection(rank, iteration))
    items = measure_pairs(pairing, cancelled=cancelled).items
    usable = [item for item in items if item.usable and not item.reason]
    due = sum(selection.takes(record.key, "target") for record in target.records)
    index = index_of(usable)
    counted = count_operators(theirs, usable, index)
    against = _against_golden(usable, known)
    devices = target.info.get("device_target", ""), repeat.info.get("device_target", "")
    equal = [item.divergence.equal for item in against.values()]
    facts = RunFacts(usable, due, devices, counted, equal)
    why = next((said for rule in RUN_RULES if (said := rule(facts)) is not None), None)
    run = RepeatRun(
        repeat.path,
        len(usable),
        len(facts.differing),
        len(facts.uncounted),
        why is None,
        why or _remark(facts, due - len(items)),
    )
    if why is not None:
        return _Run(run)
    spreads = dict(_spreads(item for item in facts.differing if counted.takes(item)))
    from_golden = {key: _spread(item) for key, item in against.items() if _is_finite(item)}
    own = dict(own_spreads(theirs, index, counted.places))
    return _Run(run, spreads, from_golden, own)


def _against_golden(usable: Sequence[Measured], known: ByKey) -> dict[TensorKey, Measured]:
    """Measure a repeat against the golden where it differs from the target, by the target's tensors."""
    found: dict[TensorKey, Measured] = {}
    for item in usable:
        key = item.pair.golden.key
        mine = known.get(key)
        if mine is None or item.divergence.equal:
            continue
        one = measure_pair(mine.pair._replace(target=item.pair.target), ((), ()))
        if one.usable and not one.reason:
            found[key] = one
    return found


def _spreads(items: Iterable[Measured]) -> Iterator[tuple[TensorKey, Spread]]:
    return ((item.pair.golden.key, _spread(item)) for item in items if _is_finite(item))


def _spread(item: Measured) -> Spread:
    found = item.divergence
    return Spread(item.error, found.slice_error, found.size)


def _is_finite(item: Measured) -> bool:
    return math.isfinite(item.error)
