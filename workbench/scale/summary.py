"""What is kept of a unit in memory: figures, and where it parts first. No row of any tensor."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import asdict, fields, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from workbench._values import NamedTuple, dataclass
from workbench.core.text import json_number
from workbench.ops import COLLECTIVES
from workbench.scale.layouts.ledger import (
    finding_from_json,
    finding_to_json,
    line_from_json,
    line_to_json,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from workbench.comparison.result import Finding, Result, Rows, Verdict
    from workbench.scale.layouts.ledger import LedgerLine, RankFinding
    from workbench.scale.units import Unit

State = Literal["done", "failed", "waiting"]


class FirstDivergence(NamedTuple):
    """An operator at which a unit parts from the golden: a defect, with its place in data-flow order.

    ``error`` is the operator's own where it is known, else the measured one of its tensor; ``floor`` what number
    formats explain.
    """

    kind: str
    op_name: str
    op_type: str
    graph_id: int
    order: int
    io: str
    slot: int
    error: float | None
    floor: float | None
    source: str

    @property
    def is_collective(self) -> bool:
        """Whether ranks meet there, so that what differs may have come from another one."""
        return self.op_type in COLLECTIVES


class CollectiveTensor(NamedTuple):
    """A tensor of an operator in which ranks meet: what differs there, and a digest of what the target has.

    ``off`` is the norm of the difference, ``rounding`` that of what number formats explain (both in the unit of the
    data; `None`: not measured). It is a ``defect`` by the unit alone. ``group`` and ``ranks`` are who meets; no ranks:
    all, where the group is the world's.
    """

    op_name: str
    op_type: str
    io: str
    slot: int
    group: str
    ranks: tuple[int, ...]
    off: float | None
    rounding: float | None
    digest: str
    defect: bool


@dataclass(frozen=True, slots=True)
class UnitSummary:
    """One unit in a few numbers.

    ``first`` is where it parts first at an operator of its own, ``received`` where ranks meet (it may have come from
    another rank). Counts are of tensors: ``tensors`` of pairs, by status, and those without a partner. ``error`` is the
    worst relative error of all pairs, of the operator ``worst``; ``nonfinite`` elements are NaN or Inf on one side.
    ``reason`` says why a unit ``failed``, ``collectives_digest`` is of what all ranks must hold where they meet. Of a
    unit whose ranks were joined, ``ranks`` are those that are off where it parts first, ``ledger`` and ``found`` what
    joining did and noticed, and it is ``carried`` if weights differ as the iteration before left them.
    """

    rank: int
    iteration: int
    state: State = "waiting"
    verdict: str = ""
    tensors: int = 0
    equal: int = 0
    passed: int = 0
    warned: int = 0
    failing: int = 0
    uncompared: int = 0
    unmatched: int = 0
    nonfinite: int = 0
    error: float | None = None
    worst: str = ""
    first: FirstDivergence | None = None
    received: FirstDivergence | None = None
    reason: str = ""
    collectives_digest: str = ""
    ranks: tuple[int, ...] = ()
    ledger: tuple[LedgerLine, ...] = ()
    found: tuple[RankFinding, ...] = ()
    carried: bool = False

    @property
    def place(self) -> tuple[int, int]:
        """Rank and iteration."""
        return self.rank, self.iteration

    @property
    def earliest(self) -> FirstDivergence | None:
        """Where it parts first, in its own operators or where ranks meet."""
        known = [one for one in (self.first, self.received) if one is not None]
        return min(known, key=lambda one: one.order, default=None)


def summarize(unit: Unit, result: Result, collectives_digest: str = "") -> UnitSummary:
    """Return what is kept of a unit's result; ``collectives_digest`` is that of its collectives."""
    rows = result.columns
    counts = Counter(rows.column("status"))
    alone = sum(not rule for rule in rows.column("match_rule"))
    error, worst = _worst(rows)
    defects = [one for one in result.findings if one.defect]
    return UnitSummary(
        unit.rank, unit.iteration, "done", _verdict(result), len(rows) - alone, counts["equal"],
        counts["pass"], counts["warn"], counts["fail"], counts["uncomparable"] - alone, alone,
        _nonfinite(rows), error, worst,
        _first(defects, rows, collective=False), _first(defects, rows, collective=True),
        collectives_digest=collectives_digest,
    )  # fmt: skip


def _verdict(result: Result) -> Verdict:
    return "incomplete" if result.partial and result.verdict != "fail" else result.verdict


def _first(defects: Sequence[Finding], rows: Rows, *, collective: bool) -> FirstDivergence | None:
    """The first defect in data-flow order, at operators of the rank's own or at those in which ranks meet."""
    found = [one for one in defects if (one.op_type in COLLECTIVES) == collective]
    if not found:
        return None
    one = min(found, key=lambda finding: (finding.order, finding.slot))
    source = f"{one.source.file}:{one.source.line}" if one.source is not None else ""
    error = one.own_error if one.own_error is not None else _measured(rows, one)
    return FirstDivergence(
        one.kind, one.op_name, one.op_type, one.graph_id, one.order, one.io, one.slot,
        error, one.noise_floor, source,
    )  # fmt: skip


def _measured(rows: Rows, finding: Finding) -> float | None:
    """The error of the tensor that a finding is about; of the operator's worst if that has none."""
    names = zip(rows.column("op_name"), rows.column("io"), rows.column("slot"), strict=True)
    errors = rows.column("error")
    same = [(io, slot, n) for n, (name, io, slot) in enumerate(names) if name == finding.op_name]
    exact = [errors[n] for io, slot, n in same if (io, slot) == (finding.io, finding.slot)]
    known = [one for one in (*exact, *(errors[n] for *_, n in same)) if one is not None]
    return float(known[0]) if known else None


def _worst(rows: Rows) -> tuple[float | None, str]:
    """The worst error and the operator that has it; what is not finite is worse than any number."""
    pairs = zip(rows.column("error"), rows.column("op_name"), strict=True)
    known = [(float(error), name) for error, name in pairs if error is not None]
    if not known:
        return None, ""
    return max(known, key=lambda one: (not math.isfinite(one[0]), one[0], one[1]))


def _nonfinite(rows: Rows) -> int:
    if "NonFiniteMismatch" not in rows.titles:
        return 0
    figures = (one for one in rows.metric("NonFiniteMismatch") if one is not None)
    return int(np.nansum([0.0, *figures]))


# --- as values of JSON -------------------------------------------------------------------------


def summary_to_json(summary: UnitSummary) -> dict[str, Any]:
    """Return a summary as values of JSON; what is not finite is a text."""
    values = asdict(replace(summary, ranks=(), ledger=(), found=()))
    for name in ("first", "received"):
        one = getattr(summary, name)
        values[name] = None if one is None else plain(one._asdict())
    joined = {
        "ranks": [*summary.ranks],
        "ledger": [*map(line_to_json, summary.ledger)],
        "found": [*map(finding_to_json, summary.found)],
        "carried": summary.carried,
    }
    for name, held in joined.items():
        del values[name]
        values |= {name: held} if held else {}
    return plain(values)


def summary_from_json(values: Mapping[str, Any]) -> UnitSummary:
    """Read a summary; raises KeyError, TypeError or ValueError if it is none."""
    held = {one.name: values[one.name] for one in fields(UnitSummary) if one.name not in _JOINED}
    for name in ("first", "received"):
        if held[name] is not None:
            held[name] = divergence_from_json(held[name])
    ranks, lines, found, carried = (values.get(name, ()) for name in _JOINED)
    return UnitSummary(
        **held | {"error": _number(held["error"])},
        ranks=tuple(ranks), ledger=tuple(map(line_from_json, lines)),
        found=tuple(map(finding_from_json, found)), carried=bool(carried),
    )  # fmt: skip


_JOINED = ("ranks", "ledger", "found", "carried")
"""Fields of units whose ranks were joined; others are written without them."""


def collectives_to_json(collectives: Sequence[CollectiveTensor]) -> list[list[Any]]:
    """Return collectives as values of JSON."""
    return [[*plain(one._asdict()).values()] for one in collectives]


def collectives_from_json(values: Sequence[Sequence[Any]]) -> Iterator[CollectiveTensor]:
    """Read collectives."""
    for line in values:
        one = CollectiveTensor(*line)
        off, rounding = _number(one.off), _number(one.rounding)
        yield one._replace(ranks=tuple(one.ranks), off=off, rounding=rounding)


def divergence_from_json(values: Mapping[str, Any]) -> FirstDivergence:
    """Read a divergence."""
    one = FirstDivergence(**values)
    return one._replace(error=_number(one.error), floor=_number(one.floor))


def _number(value: Any) -> float | None:
    return None if value is None else float(value)


def plain(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return values of JSON of a flat mapping; what is not finite is a text."""
    return {k: json_number(v) if isinstance(v, float) else v for k, v in values.items()}
