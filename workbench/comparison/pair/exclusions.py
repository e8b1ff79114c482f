"""What the user's map file does to the pairs: what is left out, and which of its entries met something.

Everything that it does is counted, and every entry that meets nothing is told.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from workbench.comparison.align.rules import MAP
from workbench.comparison.map_file import TOLERATED, is_pattern
from workbench.comparison.pair.pairing import Sides
from workbench.comparison.result import OverrideUse
from workbench.core.words import Message
from workbench.dump.dump import Note, Skipped

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from workbench.comparison.bind.binding import Binding
    from workbench.comparison.map_file import Ignore, Missing, Overrides, Tolerance, Undefined
    from workbench.comparison.pair.pairing import Pairing
    from workbench.comparison.result import Row, Side

IGNORED = "ignored"

_UNKNOWN = Message("compare/no-such-operator")
_NOTHING = Message("compare/no-operator-fits")


def without_ignored(
    binding: Binding, side: Side, overrides: Overrides
) -> tuple[Binding, list[tuple[int, Skipped]]]:
    """Return a binding without the operators that the map file ignores, and what was left out.

    That is, for every tensor, the index of the entry that left it out, and why it is skipped.
    """
    left_out: list[tuple[int, Skipped]] = []
    if not overrides.ignore:
        return binding, left_out

    def kept(name: str, tensors: int) -> bool:
        index = _entry(overrides, name, side)
        if index is not None:
            left_out.extend([(index, _skipped(overrides.ignore[index], name))] * tensors)
        return index is None

    runs = {
        block: {n: run for n, run in some.items() if kept(run.op_name, len(run.tensors))}
        for block, some in binding.runs.items()
    }
    parameters = {
        block: {name: record for name, record in some.items() if kept(name, 1)}
        for block, some in binding.parameters.items()
    }
    return replace(binding, runs=runs, parameters=parameters), left_out


def _entry(overrides: Overrides, name: str, side: Side) -> int | None:
    places = enumerate(overrides.ignore)
    return next((n for n, entry in places if entry.fits(name, side=side)), None)


def _skipped(entry: Ignore, name: str) -> Skipped:
    if not entry.reason:
        return Skipped(name, IGNORED, Message("compare/ignored"))
    return Skipped(name, IGNORED, Message("compare/ignored-why", why=entry.reason))


def unknown_entries(overrides: Overrides, sides: Sides[Binding]) -> Iterator[tuple[Side, Note]]:
    """Tell names and patterns of the map file that no operator has: a misspelt one must not go unseen."""
    if not overrides:
        return
    names = Sides(*map(_names, sides))
    for side, name, why in _unknown(overrides, names):
        yield side, Note("map-file", name, why)


def _unknown(
    overrides: Overrides, names: Sides[dict[str, str]]
) -> Iterator[tuple[Side, str, Message]]:
    """Yield side, name and complaint."""
    for match in overrides.matches:
        for side, named in Sides(match.target, match.golden).named:
            lacking = (name for name in named if name not in names.of(side))
            yield from ((side, name, _UNKNOWN) for name in lacking)
    for entry in overrides.ignore:
        meant: tuple[Side, ...] = ("target", "golden") if entry.side == "both" else (entry.side,)
        if not any(entry.fits(name) for side in meant for name in names.of(side)):
            yield meant[0], entry.name, _NOTHING if is_pattern(entry.name) else _UNKNOWN
    for tolerance in overrides.tolerances:
        if not _operators(tolerance, names.target.items()):
            yield "target", tolerance.name or tolerance.op_type, _NOTHING
    for one in overrides.dont_care:
        if not _operators(one, names.target.items()):
            yield "target", one.name or one.op_type, _NOTHING
    for missing in overrides.missing:
        if not any(missing.fits(name) for held in names for name in held):
            yield "target", missing.name, _NOTHING if is_pattern(missing.name) else _UNKNOWN


def _names(binding: Binding) -> dict[str, str]:
    """Types of all operators by name, dumped or not, and of Parameter files."""
    known = {name: "Parameter" for named in binding.parameters.values() for name in named}
    known |= {run.op_name: run.op_type for runs in binding.runs.values() for run in runs.values()}
    return known | {op.name: op.op_type for graph in binding.graphs.values() for op in graph.ops}


def _with_left_out(pairing: Pairing, side: Side) -> set[str]:
    """Names of all operators, and of those of no graph that an entry has left out."""
    left_out = {one.name for one in pairing.skips.of(side) if one.reason == IGNORED}
    return left_out | _names(pairing.sides.of(side)).keys()


def _operators(entry: Tolerance | Undefined, known: Iterable[tuple[str, str]]) -> int:
    return sum(entry.fits(name, op_type) for name, op_type in known)


def override_uses(pairing: Pairing, rows: Iterable[Row]) -> tuple[OverrideUse, ...]:
    """Say of every entry of the map file how many operators it fits, and how many tensors it decided."""
    overrides = pairing.overrides
    if not overrides:
        return ()
    ours, theirs = map(_names, pairing.sides)
    paired = Counter(pair.op_name for pair in pairing.pairs if pair.rule == MAP)
    uses = []
    for match in overrides.matches:
        kind = "pair" if match.plain else "group"
        known = sum(name in ours for name in match.target)
        known += sum(name in theirs for name in match.golden)
        tensors = sum(paired[name] for name in match.target)
        uses.append(OverrideUse(kind, str(match), "", known, tensors))
    everyone = Sides(*(_with_left_out(pairing, side) for side, _ in pairing.sides.named))
    for index, entry in enumerate(overrides.ignore):
        meant = everyone if entry.side == "both" else [everyone.of(entry.side)]
        known = sum(entry.fits(name) for names in meant for name in names)
        tensors = pairing.ignored.get(index, 0)
        uses.append(OverrideUse("ignore", str(entry), entry.reason, known, tensors))
    tolerated = _tolerated(overrides, rows)
    for one in overrides.tolerances:
        known = _operators(one, ours.items())
        uses.append(OverrideUse("tolerance", str(one), one.reason, known, tolerated[one]))
    allowed = _allowed(overrides, rows)
    for lack in overrides.missing:
        known = sum(lack.fits(name) for name in {*ours, *theirs})
        uses.append(OverrideUse("missing", str(lack), lack.reason, known, allowed[lack]))
    for undefined in overrides.dont_care:
        known = _operators(undefined, ours.items())
        tensors = sum(_is_left_out(undefined, row) for row in rows)
        uses.append(OverrideUse("dont-care", str(undefined), undefined.reason, known, tensors))
    return tuple(uses)


def _is_left_out(entry: Undefined, row: Row) -> bool:
    """Whether elements of an output were left out by an entry."""
    if not row.dont_care or (row.io, row.slot) != ("output", entry.slot):
        return False
    return entry.fits(row.op_name, row.op_type)


def _tolerated(overrides: Overrides, rows: Iterable[Row]) -> Counter[Tolerance]:
    """Count the rows that every tolerance has decided: their reason says that one did, their error which."""
    told = (
        overrides.tolerated(row.op_name, row.op_type, row.error)
        for row in rows
        if row.reason_code == TOLERATED and row.error is not None
    )
    return Counter(one for one in told if one is not None)


def _allowed(overrides: Overrides, rows: Iterable[Row]) -> Counter[Missing]:
    """Count the tensors without a figure that every entry allows to be missing."""
    names = (row.op_name or row.golden_op_name for row in rows if row.status == "uncomparable")
    told = (next((one for one in overrides.missing if one.fits(name)), None) for name in names)
    return Counter(one for one in told if one is not None)
