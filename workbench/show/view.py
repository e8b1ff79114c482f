"""What report and notebook output say, as plain values for the templates: coverage, groups, facts."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from workbench._values import NamedTuple
from workbench.comparison.finding_kinds import KINDS
from workbench.comparison.measure.metrics import METRICS, ON_DEMAND
from workbench.comparison.rows import Rows
from workbench.core.words import Message
from workbench.core.words.translate import ENGLISH
from workbench.show import words
from workbench.show.columns import all_alone, alone, shown_statuses

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from workbench.comparison.result import (
        Anomaly,
        Finding,
        IterationRow,
        Result,
        Row,
        Side,
        SideInfo,
    )
    from workbench.core.words.translate import Say

LISTED = 200
"""Longest list of one group in the page; what is more is counted, never left out in silence."""

NO_REASON = Message("show/no-reason")

_BETTER = {"higher": "show/higher-better", "lower": "show/lower-better", "neither": ""}


@dataclass(frozen=True, slots=True)
class SideLedger:
    """Where the tensors of one side went. ``missing`` is what does not add up, 0 if all is well."""

    name: Side
    info: SideInfo
    matched: int
    unmatched: int
    skipped: tuple[tuple[str, int], ...]

    @property
    def total_skipped(self) -> int:
        return sum(count for _, count in self.skipped)

    @property
    def missing(self) -> int:
        return self.info.tensors - self.matched - self.unmatched - self.total_skipped

    @property
    def equation(self) -> Message:
        """The coverage as one line: ``9 tensors = 7 matched + 1 unmatched + 1 skipped``."""
        return Message(
            "show/equation",
            tensors=self.info.tensors,
            matched=self.matched,
            unmatched=self.unmatched,
            skipped=self.total_skipped,
        )


def ledger(result: Result) -> tuple[SideLedger, SideLedger]:
    """Return the ledger of target and golden; a reason without a side counts for the target."""
    cover = result.coverage
    reasons: dict[Side, list[tuple[str, int]]] = {"target": [], "golden": []}
    for key, count in cover.skipped.items():
        side, colon, reason = key.partition(":")
        if side == "golden" and colon:
            reasons["golden"].append((reason, count))
        else:
            reasons["target"].append((reason if side == "target" and colon else key, count))
    target, golden = (tuple(reasons[side]) for side in ("target", "golden"))
    return (
        SideLedger(
            "target", result.target, cover.matched_of("target"), cover.unmatched_target, target
        ),
        SideLedger(
            "golden", result.golden, cover.matched_of("golden"), cover.unmatched_golden, golden
        ),
    )


class Group(NamedTuple):
    """Things of one kind: the first LISTED of them, and how many there are."""

    title: Any
    items: Sequence[Any]
    total: int


def _groups(items: Iterable[Any], title: Callable[[Any], object]) -> list[Group]:
    found: dict[Any, list[Any]] = {}
    for item in items:
        found.setdefault(title(item), []).append(item)
    return [Group(name, group[:LISTED], len(group)) for name, group in found.items()]


def anomaly_groups(anomalies: Iterable[Anomaly]) -> list[Group]:
    """Anomalies by kind, the most frequent kind first."""
    groups = _groups(anomalies, lambda anomaly: anomaly.kind)
    return sorted(groups, key=lambda group: -group.total)


def side_counts(anomalies: Iterable[Anomaly], kind: str, say: Say = ENGLISH) -> str:
    """Say how many anomalies of a kind each side has: ``Target 88, Golden 34``."""
    sides = [anomaly.side for anomaly in anomalies if anomaly.kind == kind]
    return ", ".join(f"{say(c)} {sides.count(s):,}" for s, c in words.SIDES.items() if s in sides)


def worst_caption(say: Say, shown: int, total: int, statuses: Mapping[str, int]) -> str:
    """Say how many rows a table shows, and how many there are of each status."""
    counts = [
        say("show/status-count", n=count, status=say(words.STATUS_WORDS[status]))
        for status, count in statuses.items()
    ]
    return say("show/worst-caption", n=shown, total=total, counts=counts)


def lonely_groups(rows: Iterable[Row]) -> list[Group]:
    """Tensors without a partner, by side and reason."""
    columns = Rows.of(rows)
    lonely = [number for number, side in enumerate(all_alone(columns)) if side]
    return _groups(columns.take(lonely), _side_and_reason)


def _side_and_reason(row: Row) -> Message:
    side = Message(words.SIDES[alone(row)])
    return Message("show/of-side", side=side, reason=row.reason or NO_REASON)


ITERATION_PARTS = {
    "parameters": "show/part-parameters",
    "forward": "show/part-forward",
    "backward": "show/part-backward",
    "optimizer": "show/part-optimizer",
}
"""Part of an iteration → code of its name."""


def iteration_lines(result: Result) -> list[tuple[Message, list[IterationRow | None]]]:
    """Lines of the table of iterations: a title, and what was found in each of ITERATION_PARTS."""
    steps = {(s.rank, s.iteration, s.part): s for s in result.iterations}
    places = dict.fromkeys((rank, iteration) for rank, iteration, _ in steps)
    several = len({rank for rank, _ in places}) > 1
    return [
        (
            place_of(rank, iteration, several),
            [steps.get((rank, iteration, part)) for part in ITERATION_PARTS],
        )
        for rank, iteration in places
    ]


def place_of(rank: int, iteration: int, several: bool) -> Message:
    """Name an iteration, and its rank where there are several."""
    if several:
        return Message("show/rank-iteration", rank=rank, iteration=iteration)
    return Message("show/iteration", iteration=iteration)


def uncomparable_groups(rows: Iterable[Row]) -> list[Group]:
    """Pairs that could not be compared, by reason."""
    columns = Rows.of(rows)
    found = [n for n, status in enumerate(shown_statuses(columns)) if status == "uncomparable"]
    return _groups(columns.take(found), lambda row: row.reason or NO_REASON)


def status_counts(rows: Iterable[Row]) -> dict[str, int]:
    """Count the rows of every status that occurs, the worst first, those without a partner last."""
    counts = dict.fromkeys((*words.STATUSES, words.UNMATCHED), 0)
    counts.update(Counter(shown_statuses(Rows.of(rows))))
    return {status: count for status, count in counts.items() if count}


def origin(result: Result) -> str:
    """Tool that a result was read from, ``""`` for a comparison of dumps."""
    return result.tool


def status_meanings(result: Result) -> dict[str, str]:
    """Status of a row → code of what it means in this result, the worst first."""
    return words.OTHERS_STATUSES if origin(result) else words.STATUSES


class Definition(NamedTuple):
    """What a metric means, and the code of which way is better (empty: neither)."""

    title: str
    formula: str | Message
    better: str


def definitions(result: Result) -> list[tuple[str, list[Definition]]]:
    """Definitions of the metrics that the rows hold, below codes of captions: of the pair, then of one side."""
    tool = origin(result)
    known = {} if tool else {**METRICS, **ON_DEMAND}
    other = Message("show/defined-by", tool=tool) if tool else Message("show/no-definition")
    groups: dict[bool, list[Definition]] = {False: [], True: []}
    for title in result.columns.titles:
        metric = known.get(title)
        entry = Definition(title, other, "")
        if metric is not None:
            entry = Definition(title, metric.formula, _BETTER[metric.better])
        groups[title.startswith(("Target", "Golden"))].append(entry)
    return [
        ("show/pair-metrics", groups[False]),
        ("show/side-metrics", groups[True]),
    ]


def finding_link(finding: Finding) -> str:
    """Address of the finding's row inside the report."""
    from urllib.parse import urlencode

    place = {
        "op": finding.op_name,
        "it": finding.iteration,
        "r": finding.rank,
        "t": f"{finding.io}:{finding.slot}",
    }
    return f"#{urlencode(place, errors='replace')}"


def finding_meaning(finding: Finding) -> str:
    """Say what the kind of a finding means."""
    return KINDS[finding.kind].meaning if finding.kind in KINDS else ""
