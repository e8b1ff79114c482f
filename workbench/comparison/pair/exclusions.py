"""What the user's map file does to the pairs: what is left out, and which of its entries met something.

Everything that it does is counted, and every entry that meets nothing is told.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from workbench.comparison.align.rules import MAP
from workbench.comparison.map_file import is_pattern
from workbench.comparison.result import OverrideUse
from workbench.core.words import Message
from workbench.dump.tree import Note, Skipped

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from workbench.comparison.bind.binding import Binding
    from workbench.comparison.map_file import Overrides, Tolerance
    from workbench.comparison.pair.pairing import Pairing

IGNORED = "ignored"

_UNKNOWN = Message("compare/no-such-operator")
_NOTHING = Message("compare/no-operator-fits")


def leave_out(pairing: Pairing) -> None:
    """Take the operators that the map file ignores out of both sides."""
    entries = pairing.overrides.ignore
    for side in ("target", "golden") if entries else ():
        binding: Binding = getattr(pairing, side)
        skipped: list[Skipped] = getattr(pairing, f"skipped_{side}")
        for runs in binding.runs.values():
            for number, run in list(runs.items()):
                index = _entry(pairing.overrides, run.op_name, side)
                if index is not None:
                    del runs[number]
                    skipped += [_skipped(pairing, index, run.op_name) for _ in run.tensors]
        for parameters in binding.parameters.values():
            for name in list(parameters):
                index = _entry(pairing.overrides, name, side)
                if index is not None:
                    del parameters[name]
                    skipped.append(_skipped(pairing, index, name))


def _entry(overrides: Overrides, name: str, side: str) -> int | None:
    places = enumerate(overrides.ignore)
    return next((n for n, entry in places if entry.fits(name, side=side)), None)


def _skipped(pairing: Pairing, index: int, name: str) -> Skipped:
    entry = pairing.overrides.ignore[index]
    pairing.ignored[index] += 1
    if not entry.reason:
        return Skipped(name, IGNORED, Message("compare/ignored"))
    return Skipped(name, IGNORED, Message("compare/ignored-why", why=entry.reason))


def tell_unknown(pairing: Pairing) -> None:
    """Tell names and patterns of the map file that no operator has: a misspelt one must not go unseen."""
    overrides = pairing.overrides
    if not overrides:
        return
    names = {side: _names(getattr(pairing, side)) for side in ("target", "golden")}
    for side, name, why in _unknown(overrides, names):
        pairing.notes.append((side, Note("map-file", name, why)))


def _unknown(
    overrides: Overrides, names: Mapping[str, Mapping[str, str]]
) -> Iterator[tuple[str, str, Message]]:
    """Yield side, name and complaint."""
    for match in overrides.matches:
        for side in ("target", "golden"):
            lacking = (name for name in getattr(match, side) if name not in names[side])
            yield from ((side, name, _UNKNOWN) for name in lacking)
    for entry in overrides.ignore:
        sides = ("target", "golden") if entry.side == "both" else (entry.side,)
        if not any(entry.fits(name) for side in sides for name in names[side]):
            yield sides[0], entry.name, _NOTHING if is_pattern(entry.name) else _UNKNOWN
    for tolerance in overrides.tolerances:
        if not _operators(tolerance, names["target"].items()):
            yield "target", tolerance.name or tolerance.op_type, _NOTHING


def _names(binding: Binding) -> dict[str, str]:
    """Types of all operators by name, dumped or not, and of Parameter files."""
    known = {name: "Parameter" for named in binding.parameters.values() for name in named}
    known |= {run.op_name: run.op_type for runs in binding.runs.values() for run in runs.values()}
    return known | {op.name: op.op_type for graph in binding.graphs.values() for op in graph.ops}


def _operators(tolerance: Tolerance, known: Iterable[tuple[str, str]]) -> int:
    return sum(tolerance.fits(name, op_type) for name, op_type in known)


def override_uses(pairing: Pairing) -> tuple[OverrideUse, ...]:
    """Say of every entry of the map file how many operators it fits, and how many tensors it decided."""
    overrides = pairing.overrides
    if not overrides:
        return ()
    ours, theirs = _names(pairing.target), _names(pairing.golden)
    paired = Counter(pair.op_name for pair in pairing.pairs if pair.rule == MAP)
    uses = []
    for match in overrides.matches:
        kind = "pair" if match.plain else "group"
        known = sum(name in ours for name in match.target)
        known += sum(name in theirs for name in match.golden)
        tensors = sum(paired[name] for name in match.target)
        uses.append(OverrideUse(kind, str(match), "", known, tensors))
    for index, entry in enumerate(overrides.ignore):
        sides = {"target": [ours], "golden": [theirs]}.get(entry.side, [ours, theirs])
        known = sum(entry.fits(name) for names in sides for name in names)
        tensors = pairing.ignored[index]
        uses.append(OverrideUse("ignore", str(entry), entry.reason, known, tensors))
    for one in overrides.tolerances:
        known, tensors = _operators(one, ours.items()), pairing.tolerated[one]
        uses.append(OverrideUse("tolerance", str(one), one.reason, known, tensors))
    return tuple(uses)
