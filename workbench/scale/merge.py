"""Put units together: which rank parts first, who received it from others, and where ranks should agree and do not.

Works on summaries. Files of units are read of those iterations alone in which something came from where ranks meet,
and none behind the first iteration that has an origin: from there on everything has seen it.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from workbench._values import NamedTuple, dataclass
from workbench.comparison.limits import limits
from workbench.ops.rows.collective import WORLD

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

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

_PARTS = ("ReduceScatter", "HcomReduceScatter")
"""Operators that leave another part of the result on every rank."""

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
    """Units as they are judged together (what only rounding of other ranks explains is no defect), and what they show.

    ``groups`` come in the order in which they part.
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
    for iteration in sorted(by_iteration):
        here = by_iteration[iteration]
        if _is_quiet(here):
            continue
        met = collectives_of(iteration)
        known = {one.rank for one in here if one.state == "done"} >= whole
        apart += _apart(iteration, met, whole) if known else ()
        for one in here:
            if one.received is not None:
                seen = _Seen(one, here, met, whole if known else frozenset())
                roles[one.place] = seen.role()
                judged[one.place] = _judged(one, roles[one.place])
                fed[one.place] = seen.fed_by()
        if apart or any(judged[one.place].earliest is not None for one in here):
            break
    found = tuple(judged[one.place] for one in units)
    return Merged(found, tuple(_groups(found, fed, roles)), tuple(apart))


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
    """Return a unit as it is judged with its peers: what is rounding is no defect, and what is open decides nothing."""
    if role == ROUNDING:
        verdict = "warn" if unit.first is None and unit.verdict == "fail" else unit.verdict
        return replace(unit, received=None, verdict=verdict)
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


class _Seen(NamedTuple):
    """A unit that parts where ranks meet, with its peers."""

    unit: UnitSummary
    peers: Sequence[UnitSummary]
    met: CollectiveTensors
    whole: frozenset[int]

    def role(self) -> str:
        """Return why it differs where ranks meet: a `Role`, or ROUNDING."""
        defects = [*self._defects()]
        if not self.whole or any(math.inf in brought.values() for _, brought, _ in defects):
            return "open"
        if not all(_is_brought(*one) for one in defects):
            return "communication"
        return "received" if self._has_source() else ROUNDING

    def fed_by(self) -> tuple[int, ...]:
        """Return the ranks that brought the most of the first tensor that differs."""
        for _, brought, _ in self._defects():
            most = max(brought.values(), default=0.0)
            return tuple(sorted(rank for rank, off in brought.items() if off > _SHARE * most > 0))
        return ()

    def _has_source(self) -> bool:
        """Whether a rank parts by itself before it meets this one."""
        here = self.unit.received
        return here is not None and any(
            one.first is not None and one.first.order < here.order for one in self.peers
        )

    def _defects(self) -> Iterator[tuple[CollectiveTensor, dict[int, float], float]]:
        """Tensors that differ where ranks meet: what each rank brought, and what rounding explains."""
        for key, one in _numbered(self.met.get(self.unit.rank, ())).items():
            if one.defect and one.io == "output":
                ranks = [*(one.ranks or self.whole)]
                brought = {rank: _brought(self.met.get(rank, ()), key) for rank in ranks}
                yield one, brought, limits().pass_factor * (one.rounding or 0.0)


def _is_brought(one: CollectiveTensor, brought: Mapping[int, float], rounding: float) -> bool:
    """Whether what all ranks brought explains what differs: no sum, maximum or row is farther off than all together.

    ‖δ‖ ≤ Σ ‖δᵣ‖ by the triangle inequality, for a sum and whatever joins or chooses.
    """
    if one.off is None:
        return False
    return one.off <= math.fsum(brought.values()) * (1 + 1e-6) + rounding


def _brought(met: Sequence[CollectiveTensor], key: Key) -> float:
    """Norm of the difference of what a rank fed to a collective; infinite where it was not measured."""
    name, _, _, turn = key
    inputs = [
        math.inf if one.off is None else one.off
        for (other, io, _, at), one in _numbered(met).items()
        if (other, io, at) == (name, "input", turn)
    ]
    return math.hypot(*inputs) if inputs else math.inf


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
    return known and one.io == "output" and one.op_type not in _PARTS and bool(one.digest)


def _apart(iteration: int, met: CollectiveTensors, whole: frozenset[int]) -> Iterator[Disagreement]:
    """The first tensor of each set of ranks that they must hold alike and do not."""
    told = set()
    held: dict[tuple[Key, tuple[int, ...]], dict[int, str]] = {}
    for rank, some in sorted(met.items()):
        for key, one in _numbered(some).items():
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
