"""What an operator without a graph read: by its own files, by what its producers gave, or unknown."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from workbench.comparison.bind.wiring import Wiring, array_of, infer_wiring
from workbench.comparison.follow.state import SOME_INPUT
from workbench.ops import IN_PLACE, MOVEMENT

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from workbench.comparison.bind.binding import Execution, OperatorRun
    from workbench.comparison.follow.trace import Survey
    from workbench.comparison.measure.measure import Measured


class Partners(NamedTuple):
    """The golden's side of an execution without a graph: its runs, its wiring, and who is matched with whom.

    ``golden_of`` and ``target_of`` map numbers of matched operators.
    """

    runs: Mapping[int, OperatorRun]
    wiring: Wiring
    golden_of: Mapping[int, int]
    target_of: Mapping[int, int]
    readers: Mapping[int, set[int]]


class Reading(NamedTuple):
    """What is known of what an operator read.

    ``inputs`` were measured, by slot; ``produced`` are the errors of those that an operator gave, as they were read
    and as they were given, with its number; ``given`` are the errors of inputs that nothing is known to have produced.
    ``unknown`` are the slots of what was not compared, `SOME_INPUT` where nobody knows its inputs. ``unseen``: some
    of those were given by an operator that the target has not dumped, ``moved``: some are weights that training moves,
    or other feeds. ``first``: no earlier execution can have left an error in what was given.
    """

    inputs: Mapping[int, Measured]
    produced: Sequence[tuple[float, float | None, int]]
    given: Sequence[float]
    unknown: tuple[int, ...]
    unseen: bool = False
    moved: bool = False
    first: bool = True

    @property
    def known(self) -> bool:
        """Whether nothing is missing of it that an operator gave."""
        return not self.unknown

    @property
    def inherited(self) -> float | None:
        """Largest error that came in; ``None`` if no input is known."""
        errors = [one for one, _, _ in self.produced if math.isfinite(one)]
        return max((*errors, *filter(math.isfinite, self.given)), default=None)


# --- what was read ------------------------------------------------------------------------------------


def partners_of(known: Survey, block: Execution) -> Partners:
    """Match an execution of the target with the golden's, wired by bytes where anything differs."""
    pairing = known.pairing
    other = pairing.blocks.get(block)
    measured = {op: known.index.get((block, op), {}) for op in pairing.target.runs[block]}
    golden_of = {
        op: next(iter(some.values())).pair.golden_run for op, some in measured.items() if some
    }
    matched = {op: run.op for op, run in golden_of.items() if run is not None}
    if other is None:
        return Partners({}, Wiring(), matched, {}, {})
    items = (item for some in measured.values() for item in some.values())
    differs = any(item.usable and not item.divergence.equal for item in items)
    wiring = infer_wiring(pairing.golden, other) if differs else Wiring()
    return Partners(
        pairing.golden.runs.get(other, {}), wiring, matched,
        {golden: op for op, golden in matched.items()}, wiring.readers(),
    )  # fmt: skip


def reading_of(
    known: Survey, block: Execution, op: int, partners: Partners, *, first: bool
) -> Reading:
    """What an operator read, by its own files or else by what its producers gave.

    ``first``: no other execution of its rank ran before.
    """
    items = known.index.get((block, op), {})
    inputs = {
        m.pair.golden.key.slot: m for (io, _), m in items.items() if io == "input" and m.usable
    }
    golden = partners.golden_of.get(op)
    run = partners.runs.get(golden) if golden is not None else None
    slots = {slot for io, slot in run.tensors if io == "input"} if run is not None else set[int]()
    produced, given, unknown = list[tuple[float, float | None, int]](), list[float](), list[int]()
    unseen = moved = False
    rewritten = IN_PLACE.get(known.pairing.target.runs[block][op].op_type, ())
    for slot in sorted(slots | inputs.keys()):
        item = inputs.get(slot)
        source = source_of(partners, golden, slot)
        if source is None:
            # a file of what is updated in place may be of before or after: of what was read it says nothing
            kept = item is not None and not item.rewritten and slot not in rewritten
            given += [_unexplained(item)] if item is not None and kept else []
            if item is None and golden is not None and _has_moved(known, block, golden, slot):
                unknown.append(slot)
                moved = True
            continue
        error = _given_error(known, block, source, partners)
        if item is not None:
            produced.append((_unexplained(item), error, source[0]))
        elif error is not None:
            produced.append((error, error, source[0]))
        else:
            unknown.append(slot)
            unseen = unseen or source == UNSEEN
    ours = {slot for io, slot in known.pairing.target.runs[block][op].tensors if io == "input"}
    unknown += sorted(ours - slots - inputs.keys())  # nothing tells what the golden reads there
    missing = tuple(unknown) if slots else SOME_INPUT
    return Reading(inputs, produced, given, missing, unseen, moved, first)


def _given_error(
    known: Survey, block: Execution, source: tuple[int, int], partners: Partners
) -> float | None:
    """Error of what an operator gave, the largest of what may have been read; ``None`` if none was compared."""
    number, slot = source
    items = known.index.get((block, number), {})
    slots = partners.wiring.alike.get((partners.golden_of.get(number, 0), slot), (slot,))
    given = (items.get(("output", one)) for one in slots)
    return max((_unexplained(one) for one in given if one is not None and one.usable), default=None)


def _has_moved(known: Survey, block: Execution, golden: int, slot: int) -> bool:
    """Whether the golden reads something else than in the iteration before: a weight in training, or another feed.

    Of the target, which has not dumped it, nobody knows how far an earlier step has left it from the golden's.
    """
    runs, other = known.pairing.golden.runs, known.pairing.blocks.get(block)
    if other is None:
        return False
    before = [
        one
        for one in runs
        if one == other._replace(iteration=one.iteration) and one.iteration < other.iteration
    ]
    if not before:
        return False
    last = max(before, key=lambda one: one.iteration)
    both = [runs[one].get(golden) for one in (last, other)]
    arrays = [
        array_of(run.tensors.get(("input", slot))) if run is not None else None for run in both
    ]
    old, new = arrays
    return old is not None and new is not None and not np.array_equal(old, new)


def _unexplained(item: Measured) -> float:
    """Relative error of a tensor; none where other runs of the target explain it."""
    return 0.0 if item.within_runs else item.error


UNSEEN = (1, 0)
"""Producer of an input whose output the target has not; without a graph no operator has a number above 0."""


def source_of(partners: Partners, golden: int | None, slot: int) -> tuple[int, int] | None:
    """Return the target's operator and slot that feed an input of a golden operator; ``None`` if nothing does.

    What only moves a single tensor and is not in the target is looked through.
    """
    if golden is None:
        return None
    place, wiring = (golden, slot), partners.wiring
    while place in wiring.producers:
        number, given = wiring.producers[place]
        if number in partners.target_of:
            return partners.target_of[number], given
        read = [one for one in (*wiring.producers, *wiring.leaves) if one[0] == number]
        if partners.runs[number].op_type not in MOVEMENT or len(read) != 1:
            return UNSEEN
        (place,) = read
    return None


def may_be_fused(partners: Partners, op: int, run: OperatorRun) -> bool:
    """Whether the golden has operators behind one that the target has not: its kernel may do their work, too."""
    golden = partners.golden_of.get(op)
    if golden is None:
        return False
    own = partners.runs[golden]
    last, others = (
        max((n for io, n in one.tensors if io == "input"), default=-1) for one in (run, own)
    )
    if last > others >= 0:
        return True
    behind, seen = [*partners.readers.get(golden, ())], set[int]()
    if not partners.wiring.producers:
        later = [n for n, one in partners.runs.items() if one.time > own.time]
        behind = sorted(later, key=lambda n: partners.runs[n].time)[:1]
    found = list[bool]()
    while behind:
        number = behind.pop()
        if number in seen:
            continue
        seen.add(number)
        matched = number in partners.target_of
        if not matched and partners.runs[number].op_type in MOVEMENT:
            behind += partners.readers.get(number, ())
            continue
        found.append(matched)
    return bool(found) and not all(found)
