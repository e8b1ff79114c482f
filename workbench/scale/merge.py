"""Put units together: which rank parts first, who received it from others, and where ranks should agree and do not.

Works on summaries. Files of units are read of those iterations alone in which something came from where ranks meet.
Who parts is judged up to the first iteration that has an origin: from there on everything has seen it, and behind it
only units are read again that seem to fail where ranks meet.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from workbench._values import NamedTuple, dataclass
from workbench.comparison.limits import limits
from workbench.ops import PARTING
from workbench.ops.rows.collective import WORLD

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from workbench.scale.summary import CollectiveTensor, FirstDivergence, UnitSummary

    CollectiveTensors = Mapping[int, Sequence[CollectiveTensor]]
    """Rank → its collectives in one iteration."""

    Key = tuple[str, str, int, int]
    """Operator, io, slot and how many times it was met before."""

Role = Literal["origin", "communication", "received", "carried", "open"]
"""Why a group parts: by itself; where ranks meet and none of them brought it; from another rank; by weights that
were updated with it; where ranks meet, and what they brought is not known."""

ROUNDING = "rounding"
"""Of what differs where ranks meet: rounding of the ranks explains it, and it is no defect."""

_WORLDS = ("", WORLD, "nccl_world_group")
"""Names of the group of all ranks."""

_SHARE = 0.1
"""Of what a collective brought the most, the share from which a rank is named among those that fed it."""


class Group(NamedTuple):
    """Ranks that show the same: they part first in one iteration and at one operator.

    ``fed_by`` are the ranks whose tensors brought what was ``received``; empty: unknown, or nothing was.
    """

    ranks: tuple[int, ...]
    iteration: int
    role: Role
    divergence: FirstDivergence
    fed_by: tuple[int, ...] = ()


class Disagreement(NamedTuple):
    """A tensor that all ranks of a group must hold alike and do not; no ``others``: no two ranks are the most."""

    iteration: int
    op_name: str
    io: str
    slot: int
    ranks: tuple[int, ...]
    others: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Merged:
    """Units as they are judged together, and what they show.

    What other ranks brought is explained by its inputs, as what comes from an operator before: such a unit warns and
    does not fail, and where it is their rounding it is no divergence either. ``groups`` come in the order in which
    they part.
    """

    units: tuple[UnitSummary, ...]
    groups: tuple[Group, ...]
    apart: tuple[Disagreement, ...]


def merge_units(
    units: Sequence[UnitSummary],
    collectives_of: Callable[[int], CollectiveTensors],
    whole: frozenset[int],
) -> Merged:
    """Return what all units show together.

    ``collectives_of`` reads the collectives of an iteration; ``whole`` are the ranks of the job: where one of them is
    missing, nothing is said of what all ranks together must give.
    """
    by_iteration: dict[int, list[UnitSummary]] = defaultdict(list)
    for one in units:
        by_iteration[one.iteration].append(one)
    judged: dict[tuple[int, int], UnitSummary] = {one.place: one for one in units}
    apart: list[Disagreement] = []
    fed: dict[tuple[int, int], tuple[int, ...]] = {}
    roles: dict[tuple[int, int], str] = {}
    waiting = iter(sorted(by_iteration))
    for iteration in waiting:
        here = by_iteration[iteration]
        if _is_quiet(here):
            continue
        met = _Met(collectives_of(iteration))
        known = _known(here, whole)
        apart += _apart(iteration, met, whole) if known else ()
        for one in here:
            if one.received is not None:
                seen = _Seen(one, here, met, known)
                roles[one.place] = seen.role()
                judged[one.place] = _judged(one, roles[one.place])
                fed[one.place] = seen.fed_by()
        if apart or any(judged[one.place].earliest is not None for one in here):
            break
    for iteration in waiting:
        some = _judged_later(by_iteration[iteration], collectives_of, whole)
        judged |= {one.place: one for one in some}
    found = tuple(judged[one.place] for one in units)
    return Merged(found, tuple(_groups(found, fed, roles)), tuple(apart))


def _known(units: Iterable[UnitSummary], whole: frozenset[int]) -> frozenset[int]:
    """All ranks of the job, if all have been compared in an iteration; else none."""
    return whole if {one.rank for one in units if one.state == "done"} >= whole else frozenset()


def _judged_later(
    units: Sequence[UnitSummary],
    collectives_of: Callable[[int], CollectiveTensors],
    whole: frozenset[int],
) -> Iterator[UnitSummary]:
    """Units of an iteration behind the first divergence that part where ranks meet alone, as they are judged."""
    seeming = [one for one in units if one.first is None and one.received is not None]
    if not seeming:
        return
    known = _known(units, whole)
    met = _Met(collectives_of(units[0].iteration) if known else {})
    for one in seeming:
        role = _Seen(one, units, met, known).role()
        yield _judged(one, "received" if role == ROUNDING else role)


def merge_joined(units: Sequence[UnitSummary]) -> Merged:
    """Return what units show whose ranks were joined: the first that parts, and the ranks that are off there.

    What was ``received`` came of what is wrong with ranks before.
    """
    units = [*_carried(units)]
    groups = []
    for one in [one for one in units if one.earliest is not None][:1]:
        ranks, divergence = one.ranks or (one.rank,), _divergence(one)
        own: Role = "communication" if divergence.is_collective else "origin"
        role: Role = "received" if one.received is not None else own
        groups.append(Group(ranks, one.iteration, role, divergence))
    return Merged(tuple(units), tuple(groups), ())


def _carried(units: Iterable[UnitSummary]) -> Iterator[UnitSummary]:
    """Yield units as they are judged with the one before: weights that it left, and judged good, are a remark."""
    good: set[int] = set()
    for one in sorted(units, key=lambda unit: unit.iteration):
        if one.carried and one.earliest is None and one.iteration - 1 in good:
            one = replace(one, verdict="warn")
        if one.state == "done" and one.earliest is None and one.verdict in ("pass", "warn"):
            good.add(one.iteration)
        yield one


def _judged(unit: UnitSummary, role: str) -> UnitSummary:
    """Return a unit as it is judged with its peers: what they brought is explained, what is open decides nothing."""
    verdict = "warn" if unit.first is None and unit.verdict == "fail" else unit.verdict
    if role == ROUNDING:
        return replace(unit, received=None, verdict=verdict)
    if role == "received":
        return replace(unit, verdict=verdict)
    if role == "open" and unit.first is None:
        return replace(unit, verdict="inconclusive")
    return unit


def _is_quiet(units: Iterable[UnitSummary]) -> bool:
    """Whether all ranks hold the same where they meet, and nothing differs there."""
    units = [one for one in units if one.state == "done"]
    return (
        all(one.earliest is None for one in units)
        and len({one.collectives_digest for one in units}) < 2
    )


# --- what was received -------------------------------------------------------------------------


class _Brought(NamedTuple):
    """What ranks fed to a collective: the norm of the difference of each, infinite where it was not measured."""

    by_rank: Mapping[int, float]
    total: float


class _Met:
    """What ranks hold where they meet in an iteration; what was fed to a collective is added up once for all."""

    def __init__(self, met: CollectiveTensors) -> None:
        self.held = {rank: _numbered(some) for rank, some in met.items()}
        self._fed = {rank: _fed(some) for rank, some in self.held.items()}
        self._brought: dict[tuple[str, int, Collection[int]], _Brought] = {}

    def brought(self, key: Key, ranks: Collection[int]) -> _Brought:
        """Return what ranks fed to the operator of a tensor."""
        name, _, _, turn = key
        place = name, turn, ranks
        if place not in self._brought:
            fed = {rank: self._fed.get(rank, {}).get((name, turn), math.inf) for rank in ranks}
            self._brought[place] = _Brought(fed, math.fsum(fed.values()))
        return self._brought[place]


class _Seen(NamedTuple):
    """A unit that parts where ranks meet, with its peers."""

    unit: UnitSummary
    peers: Sequence[UnitSummary]
    met: _Met
    whole: frozenset[int]

    def role(self) -> str:
        """Return why it differs where ranks meet: a `Role`, or ROUNDING."""
        if not self.whole or any(brought.total == math.inf for _, brought in self._defects()):
            return "open"
        if not self.is_brought():
            return "communication"
        return "received" if self._has_source() else ROUNDING

    def is_brought(self) -> bool:
        """Whether what the ranks brought is known and explains all that differs where they meet."""
        return all(_is_brought(one, brought.total) for one, brought in self._defects())

    def fed_by(self) -> tuple[int, ...]:
        """Return the ranks that brought the most of the first tensor that differs."""
        for _, brought in self._defects():
            most = max(brought.by_rank.values(), default=0.0)
            fed = brought.by_rank.items()
            return tuple(sorted(rank for rank, off in fed if off > _SHARE * most > 0))
        return ()

    def _has_source(self) -> bool:
        """Whether a rank parts by itself before it meets this one."""
        here = self.unit.received
        return here is not None and any(
            one.first is not None and one.first.order < here.order for one in self.peers
        )

    def _defects(self) -> Iterator[tuple[CollectiveTensor, _Brought]]:
        """Tensors that differ where ranks meet, and what all of these brought."""
        for key, one in self.met.held.get(self.unit.rank, {}).items():
            if one.defect and one.io == "output":
                yield one, self.met.brought(key, one.ranks or self.whole)


def _is_brought(one: CollectiveTensor, brought: float) -> bool:
    """Whether what all ranks brought explains what differs: no sum, maximum or row is farther off than all together.

    ‖δ‖ ≤ Σ ‖δᵣ‖ by the triangle inequality, for a sum and whatever joins or chooses.
    """
    if one.off is None or brought == math.inf:
        return False
    rounding = limits().pass_factor * (one.rounding or 0.0)
    return one.off <= brought * (1 + 1e-6) + rounding


def _fed(held: Mapping[Key, CollectiveTensor]) -> dict[tuple[str, int], float]:
    """Norm of the difference of what a rank fed to each collective, by its name and how many times it came before."""
    inputs: dict[tuple[str, int], list[float]] = defaultdict(list)
    for (name, io, _, turn), one in held.items():
        if io == "input":
            inputs[name, turn].append(math.inf if one.off is None else one.off)
    return {place: math.hypot(*off) for place, off in inputs.items()}


def _numbered(met: Iterable[CollectiveTensor]) -> dict[Key, CollectiveTensor]:
    """CollectiveTensors by operator, io and slot, and how many times they came before in the iteration."""
    seen: Counter[tuple[str, str, int]] = Counter()
    found: dict[Key, CollectiveTensor] = {}
    for one in met:
        place = one.op_name, one.io, one.slot
        found[*place, seen[place]] = one
        seen[place] += 1
    return found


# --- what ranks must hold alike ----------------------------------------------------------------


def digest_of(collectives: Iterable[CollectiveTensor]) -> str:
    """Return a digest of all that every rank must hold; the same on all of them where all is well."""
    from hashlib import sha256

    said = [f"{one.op_name}\0{one.slot}\0{one.digest}" for one in collectives if _is_alike(one)]
    return sha256("\n".join(said).encode("utf-8", "surrogateescape")).hexdigest()[:16]


def _is_alike(one: CollectiveTensor) -> bool:
    """Whether all ranks that meet hold the same afterwards; nothing is said of groups whose ranks are unknown."""
    known = bool(one.ranks) or one.group in _WORLDS
    return known and one.io == "output" and one.op_type not in PARTING and bool(one.digest)


def _apart(iteration: int, met: _Met, whole: frozenset[int]) -> Iterator[Disagreement]:
    """The first tensor of each set of ranks that they must hold alike and do not."""
    told = set()
    held: dict[tuple[Key, tuple[int, ...]], dict[int, str]] = {}
    for rank, some in sorted(met.held.items()):
        for key, one in some.items():
            if _is_alike(one):
                held.setdefault((key, one.ranks or tuple(sorted(whole))), {})[rank] = one.digest
    for (key, ranks), digests in held.items():
        if len({*digests.values()}) < 2 or ranks in told:
            continue
        told.add(ranks)
        yield Disagreement(iteration, *key[:3], *_minority(digests))


def _minority(digests: Mapping[int, str]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Ranks that differ from most, and these; all of them and nobody where no two are the most."""
    (most, count), (_, second) = Counter(digests.values()).most_common(2)
    others = tuple(rank for rank, one in digests.items() if one == most) if count > second else ()
    return tuple(rank for rank in digests if rank not in others), others


# --- groups ------------------------------------------------------------------------------------


def _groups(
    units: Iterable[UnitSummary],
    fed: Mapping[tuple[int, int], tuple[int, ...]],
    roles: Mapping[tuple[int, int], str],
) -> Iterator[Group]:
    """Ranks by where each of them parts first, in the order of that."""
    firsts: dict[int, UnitSummary] = {}
    for one in sorted(units, key=lambda unit: unit.place[::-1]):
        if one.earliest is not None:
            firsts.setdefault(one.rank, one)
    alike: dict[tuple[int, int, str, str, str], list[UnitSummary]] = defaultdict(list)
    for one in firsts.values():
        divergence = _divergence(one)
        key = (
            one.iteration,
            divergence.order,
            divergence.op_name,
            divergence.kind,
            roles.get(one.place, ""),
        )
        alike[key].append(one)
    own = min((key[:2] for key, some in alike.items() if _is_own(some[0])), default=None)
    for key in sorted(alike):
        some = alike[key]
        ranks = tuple(sorted(one.rank for one in some))
        brought = {rank for one in some for rank in fed.get(one.place, ())}
        role = _role(key[:2], _divergence(some[0]), own, key[-1])
        given = tuple(sorted(brought)) if role == "received" else ()
        yield Group(ranks, key[0], role, _divergence(some[0]), given)


def _divergence(unit: UnitSummary) -> FirstDivergence:
    found = unit.earliest
    assert found is not None
    return found


def _is_own(unit: UnitSummary) -> bool:
    return not _divergence(unit).is_collective


def _role(
    place: tuple[int, int], divergence: FirstDivergence, own: tuple[int, int] | None, known: str
) -> Role:
    """Why ranks part at a place, ``own`` being the first at which any parts by itself."""
    if divergence.is_collective:
        if known == "communication":
            return "communication"
        return "received" if own is not None and own < place else "open"
    later = own is not None and own[0] < place[0]
    return "carried" if later and divergence.kind == "parameter" else "origin"
