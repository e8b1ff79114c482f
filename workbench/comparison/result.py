"""The result of a comparison, as plain values: everything that table, plot, JSON and report show.

What is said is a `Message` where we say it, and text where another tool or a file of ours did.
"""

from __future__ import annotations

import math
from dataclasses import field
from typing import TYPE_CHECKING, Literal

from workbench._values import dataclass
from workbench.comparison.rows import Row, Rows, Status
from workbench.comparison.trust import OWN, Trust
from workbench.core.text import one_line
from workbench.core.words import Message

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from workbench.graph.graph import SourceFrame

__all__ = [
    "Anomaly",
    "Cause",
    "Coverage",
    "Finding",
    "IterationRow",
    "NotDeterministic",
    "OverrideUse",
    "RepeatRun",
    "Result",
    "Row",
    "Rows",
    "Side",
    "SideInfo",
    "Status",
    "Symptom",
    "Verdict",
    "times_expected",
]


def times_expected(error: float | None, expected: float | None) -> float | None:
    """How many times the expected rounding error an error is; ``None`` where the question has no answer.

    The one place where this multiple is computed: whoever says it of one error says the same. Both are relative
    errors; what is not finite is no multiple of anything.
    """
    if error is None or expected is None or not expected > 0 or not math.isfinite(error):
        return None
    times = error / expected
    return times if math.isfinite(times) else None


Verdict = Literal["pass", "warn", "fail", "incomplete", "inconclusive"]
Side = Literal["target", "golden"]

UNDECIDED = "undecided"
"""Kind of finding that leaves a comparison without a verdict if nothing is a defect."""

CHANGED = "changed-memory"
"""Kind of finding without a verdict of its own that is worth a warning."""


@dataclass(frozen=True, slots=True)
class SideInfo:
    """One of the two dumps: where it lies, how it is laid out, how many tensors it holds."""

    path: str
    layout: str
    tensors: int


@dataclass(frozen=True, slots=True)
class Coverage:
    """The ledger. ``skipped`` counts tensors by ``side:reason``.

    For each side: tensors = matched + unmatched of that side + its skipped; of the golden without those ``shared``:
    pairs whose golden is half of another pair, too, because what an operator reads is what its producer gave.

    ``compared`` of the matched pairs have a figure. What has none is either ``explained``, by ``side:rule``
    (`workbench.comparison.results.coverage.EXPLAINED`), or one of the ``gaps``, by ``side:reason``; the side of
    pairs is ``pair``. ``outputs`` are operators that give a result of the network that was not compared.
    ``dont_care`` counts elements of compared pairs that were left out, by the reason why they mean nothing
    (`workbench.ops.dont_care`).
    """

    matched: int = 0
    unmatched_target: int = 0
    unmatched_golden: int = 0
    skipped: Mapping[str, int] = field(default_factory=dict)
    compared: int = 0
    explained: Mapping[str, int] = field(default_factory=dict)
    gaps: Mapping[str, int] = field(default_factory=dict)
    outputs: tuple[str, ...] = ()
    dont_care: Mapping[str, int] = field(default_factory=dict)
    shared: int = 0

    def matched_of(self, side: Side) -> int:
        """How many tensors of a side are half of a pair."""
        return self.matched - (self.shared if side == "golden" else 0)

    def gaps_of(self, side: Side | Literal["pair"]) -> int:
        """How many tensors of a side, or pairs of tensors, should have been compared and were not."""
        return sum(count for key, count in self.gaps.items() if key.startswith(f"{side}:"))

    @property
    def due(self) -> tuple[int, int]:
        """How many tensors of the target and of the golden count: all but what is explained."""
        both = self.compared + self.gaps_of("pair")
        return both + self.gaps_of("target"), both - self.shared + self.gaps_of("golden")

    @property
    def shares(self) -> tuple[float, float]:
        """Percent of the tensors of the target and of the golden that count which were compared."""
        target, golden = self.due
        return _percent(self.compared, target), _percent(self.compared - self.shared, golden)


def _percent(part: int, whole: int) -> float:
    return 100.0 * part / whole if whole else 100.0


@dataclass(frozen=True, slots=True)
class Anomaly:
    """Something about a dump that is not what it says; shown, counted, kept out of verdicts."""

    side: Side
    kind: str
    op_name: str
    detail: str | Message


@dataclass(frozen=True, slots=True)
class Symptom:
    """What is certain about a wrong tensor, whatever its cause: a key of `SYMPTOMS`, where, and what is seen there."""

    kind: str
    where: str | Message
    detail: str | Message


@dataclass(frozen=True, slots=True)
class Cause:
    """A kind of fault that explains a finding, how likely it is, and what speaks for it."""

    kind: str
    probability: float
    evidence: tuple[str | Message, ...] = ()


@dataclass(frozen=True, slots=True, repr=False)
class Finding:
    """One ranked statement about a cause. ``kind`` is a key of KINDS; ``score`` is 0..1.

    ``symptom`` is what is certain of the tensor that shows it; ``causes`` are kinds of faults that explain it, the
    likeliest first, none where nothing may be said. ``trust`` is what it rests on.
    ``frames`` are the user's source lines, the one to show first; ``group`` of each says how sure it is.
    """

    kind: str
    op_name: str
    op_type: str
    graph_id: int
    iteration: int
    io: str
    slot: int
    score: float
    own_error: float | None
    inherited_error: float | None
    noise_floor: float | None
    evidence: tuple[str | Message, ...]
    advice: str | Message
    frames: tuple[SourceFrame, ...]
    order: int = 0
    rank: int = 0
    symptom: Symptom | None = None
    causes: tuple[Cause, ...] = ()
    trust: Trust = OWN

    @property
    def fault(self) -> str:
        """The likeliest kind of fault; empty if none may be said."""
        return self.causes[0].kind if self.causes else ""

    @property
    def probability(self) -> float:
        """How likely that kind is, 0 if none may be said."""
        return self.causes[0].probability if self.causes else 0.0

    def __repr__(self) -> str:
        place = f" at {self.source}" if self.source is not None else ""
        first = f": {self.evidence[0]}" if self.evidence else ""
        return one_line(f"<Finding {self.kind} {self.op_name}{place}{first}>")

    @property
    def source(self) -> SourceFrame | None:
        """The source line to show; ``None`` if none is known."""
        return self.frames[0] if self.frames else None

    @property
    def defect(self) -> bool:
        """Whether this kind makes a comparison fail."""
        from workbench.comparison.finding_kinds import KINDS

        return KINDS[self.kind].defect


@dataclass(frozen=True, slots=True)
class OverrideUse:
    """What became of one entry of the map file.

    ``kind`` is ``pair``, ``group``, ``ignore``, ``tolerance``, ``missing`` or ``dont-care``. It fits ``operators``; 0:
    nothing in these dumps. ``tensors`` were paired, left out (in part) or tolerated by it.
    """

    kind: str
    what: str
    reason: str
    operators: int
    tensors: int


@dataclass(frozen=True, slots=True)
class IterationRow:
    """One part of one iteration: ``parameters`` (as it reads them), ``forward``, ``backward`` or ``optimizer``.

    ``tensors`` were compared, of which ``equal``, ``warned`` and ``failed`` are counted; the others pass.
    The rest is the worst of them: its operator, and errors as a `Row` has them.
    """

    rank: int
    iteration: int
    part: str
    tensors: int
    equal: int
    warned: int
    failed: int
    op_name: str
    status: Status
    error: float | None
    inherited_error: float | None
    noise_floor: float | None


@dataclass(frozen=True, slots=True)
class RepeatRun:
    """Another run of the target: ``differing`` of the ``tensors`` that both have are not the same.

    The differences of ``uncounted`` of these excuse nothing: what their operators read is not the same, or not known to
    be. ``used``: it is another run of the same network on the same inputs. ``reason`` says why not, or what is odd
    about it.
    """

    path: str
    tensors: int
    differing: int
    uncounted: int = 0
    used: bool = True
    reason: str | Message | None = None


@dataclass(frozen=True, slots=True)
class NotDeterministic:
    """An operator whose outputs differ between runs by ``error`` (relative) that its inputs do not explain."""

    op_name: str
    op_type: str
    rank: int
    graph_id: int
    iteration: int
    slot: int
    error: float


@dataclass(frozen=True, slots=True)
class Result:
    """Everything a comparison found; schema ``workbench.comparison/2`` is a projection of it.

    ``iterations`` is empty where one iteration of no training was compared, ``overrides`` without a
    map file. ``tool`` names the tool whose result it is; empty for a comparison of dumps.
    ``limits`` are the `workbench.comparison.limits` that were not the default, by name.
    ``repeats`` are other runs of the target, ``not_deterministic`` the operators that differ between them.
    ``rows`` may be given as any sequence of `Row`; they are kept as columns.
    """

    verdict: Verdict
    sentence: str | Message
    target: SideInfo
    golden: SideInfo
    coverage: Coverage
    anomalies: tuple[Anomaly, ...] = ()
    findings: tuple[Finding, ...] = ()
    rows: Sequence[Row] = ()
    iterations: tuple[IterationRow, ...] = ()
    profile: str = "noise-floor"
    partial: bool = False
    overrides: tuple[OverrideUse, ...] = ()
    facts: Mapping[str, str | Message] = field(default_factory=dict)
    tool: str = ""
    limits: Mapping[str, float] = field(default_factory=dict)
    repeats: tuple[RepeatRun, ...] = ()
    not_deterministic: tuple[NotDeterministic, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "rows", Rows.of(self.rows))

    @property
    def columns(self) -> Rows:
        """The rows, for whoever reads whole columns of them."""
        return Rows.of(self.rows)

    @property
    def clauses(self) -> tuple[str, ...]:
        """The sentence in parts, the verdict's reason first; joined by semicolons they are the sentence."""
        if not isinstance(self.sentence, Message) or "clauses" not in self.sentence.values:
            return (str(self.sentence),)
        *first, last = map(str, self.sentence.values["clauses"])
        return (*first, f"{last}.")

    @property
    def by_rank(self) -> bool:
        """Whether several ranks were compared, so that a place needs one."""
        ranks = {*self.columns.column("rank")} | {finding.rank for finding in self.findings}
        return len(ranks) > 1
