"""What joining did and noticed, in few lines: one for all tensors with the same step, one for each finding of ranks."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from workbench._values import NamedTuple, dataclass
from workbench.core.words import Message

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from workbench.core.tensors import TensorKey
    from workbench.scale.layouts.steps import Finding, Joined, Step

MOST_FINDINGS = 16
"""Findings of a side in one iteration that are kept; what follows is mostly what came of the first."""

WITHIN_ROUNDING = frozenset(("replica-ulp",))
"""Codes of findings that are no defect: ranks that hold the same but for rounding."""

_SAME = ("axis", "axes", "dim", "count", "equal")
"""Values by which steps are told apart; others are those of one tensor."""


@dataclass(frozen=True, slots=True)
class LedgerLine:
    """A step that was done with ``tensors`` tensors of a side, ``op_name`` being the first of them."""

    side: str
    code: str
    values: Mapping[str, Any]
    tensors: int
    op_name: str

    @property
    def message(self) -> Message:
        """What was done."""
        return Message(f"layouts/step-{self.code}", **self.values)


@dataclass(frozen=True, slots=True)
class RankFinding:
    """What is wrong with the ranks of a side: a code of `Finding` with the first tensor that shows it.

    ``tensors`` of the iteration show it, with the same ranks and along the same axis.
    """

    side: str
    iteration: int
    op_type: str
    op_name: str
    io: str
    slot: int
    code: str
    ranks: tuple[int, ...]
    values: Mapping[str, Any]
    tensors: int = 1

    @property
    def defect(self) -> bool:
        """Whether it is more than rounding."""
        return self.code not in WITHIN_ROUNDING

    @property
    def message(self) -> Message:
        """What is wrong."""
        return Message(f"layouts/found-{self.code}", ranks=[*self.ranks], **self.values)


class Gathered(NamedTuple):
    """What joining the tensors of a side did and noticed."""

    lines: tuple[LedgerLine, ...]
    findings: tuple[RankFinding, ...]


def gather_ledger(side: str, joined: Iterable[tuple[TensorKey, Joined]]) -> Gathered:
    """Count the steps and findings of joined tensors, which come in the order of time."""
    lines: dict[tuple[Any, ...], LedgerLine] = {}
    findings: dict[tuple[Any, ...], RankFinding] = {}
    for key, one in joined:
        for step in one.steps:
            _count_line(lines, _line(side, key.op_name, step))
        for finding in one.findings:
            _count_finding(findings, side, key, finding)
    return Gathered(tuple(lines.values()), tuple(findings.values()))


def add_lines(lines: Iterable[LedgerLine]) -> tuple[LedgerLine, ...]:
    """Add lines of several iterations up."""
    found: dict[tuple[Any, ...], LedgerLine] = {}
    for one in lines:
        _count_line(found, one)
    return tuple(found.values())


def _line(side: str, op_name: str, step: Step) -> LedgerLine:
    values = {name: _plain(value) for name, value in step.values.items()}
    why = step.values.get("why")
    if isinstance(why, Message):
        values["code"] = why.code
    return LedgerLine(side, step.code, values, 1, op_name)


def _count_line(lines: dict[tuple[Any, ...], LedgerLine], one: LedgerLine) -> None:
    why = one.values.get("code", "")
    key = (one.side, one.code, why, *(str(one.values.get(name)) for name in _SAME))
    known = lines.get(key)
    if known is None:
        lines[key] = one
        return
    values = dict(known.values)
    if "tolerance" in values:
        values["tolerance"] = max(values["tolerance"], one.values["tolerance"])
    lines[key] = replace(known, values=values, tensors=known.tensors + one.tensors)


def _count_finding(
    findings: dict[tuple[Any, ...], RankFinding], side: str, key: TensorKey, finding: Finding
) -> None:
    place = finding.code, finding.ranks, str(finding.values.get("axis"))
    known = findings.get(place)
    if known is not None:
        findings[place] = replace(known, tensors=known.tensors + 1)
    elif len(findings) < MOST_FINDINGS:
        values = {name: _plain(value) for name, value in finding.values.items()}
        findings[place] = RankFinding(
            side, key.iteration, key.op_type, key.op_name, key.io, key.slot, finding.code,
            finding.ranks, values,
        )  # fmt: skip


# --- as values of JSON -------------------------------------------------------------------------


def _plain(value: Any) -> Any:
    """Return a value as plain Python has it."""
    if isinstance(value, Message):
        return str(value)
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return value.item() if hasattr(value, "item") else value


_FIGURES = ("error", "tolerance")
"""Values that may not be finite; JSON has them as text then."""


def _written(values: Mapping[str, Any]) -> dict[str, Any]:
    finite = {name: math.isfinite(values[name]) for name in _FIGURES if name in values}
    return {name: one if finite.get(name, True) else repr(one) for name, one in values.items()}


def _read(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: float(one) if name in _FIGURES else one for name, one in values.items()}


def line_to_json(one: LedgerLine) -> list[Any]:
    """Return a line as values of JSON."""
    return [one.side, one.code, _written(one.values), one.tensors, one.op_name]


def line_from_json(values: list[Any]) -> LedgerLine:
    """Read a line; raises TypeError or ValueError if it is none."""
    one = LedgerLine(*values)
    return replace(one, values=_read(one.values))


def finding_to_json(one: RankFinding) -> list[Any]:
    """Return a finding as values of JSON."""
    place = one.side, one.iteration, one.op_type, one.op_name, one.io, one.slot
    return [*place, one.code, [*one.ranks], _written(one.values), one.tensors]


def finding_from_json(values: list[Any]) -> RankFinding:
    """Read a finding; raises TypeError or ValueError if it is none."""
    one = RankFinding(*values)
    return replace(one, ranks=tuple(one.ranks), values=_read(one.values))
