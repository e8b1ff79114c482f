"""What an operator without a graph read: by its own files, by what its producers gave, or unknown."""

from __future__ import annotations

import math
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from workbench._values import NamedTuple
from workbench.comparison.bind.binding import Timeline
from workbench.comparison.bind.wiring import Wiring, array_of, infer_wiring
from workbench.comparison.follow.state import SOME_INPUT
from workbench.comparison.pair.claims import has_outputs_alone
from workbench.core.long_work import checkpoint
from workbench.ops import IDENTITY, IN_PLACE, MOVEMENT
from workbench.ops.aliases import type_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence, Set

    from workbench.comparison.bind.binding import Execution, OperatorRun
    from workbench.comparison.follow.trace import Survey
    from workbench.comparison.measure.measure import Measured


class Partners(NamedTuple):
    """The golden's side of an execution without a graph: its runs, its wiring, and who is matched with whom.

    ``golden_of`` and ``target_of`` map numbers of matched operators. ``readers`` are the golden's operators that read
    what one gave, ``inputs`` the places of what one read, both by its number; ``timeline`` are the golden's runs.
    ``behind_unseen`` are the target's operators before which a kernel without a golden ran, where the golden is
    another framework's.
    """

    runs: Mapping[int, OperatorRun]
    wiring: Wiring
    golden_of: Mapping[int, int]
    target_of: Mapping[int, int]
    readers: Mapping[int, set[int]]
    inputs: Mapping[int, Sequence[tuple[int, int]]] = MappingProxyType({})
    timeline: Timeline = Timeline(())
    behind_unseen: Set[int] = frozenset()


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
        if not self.produced and not self.given:
            return None
        errors = [one for one, _, _ in self.produced if math.isfinite(one)]
        return max((*errors, *filter(math.isfinite, self.given)), default=None)


_OF_NOTHING = [Reading({}, (), (), SOME_INPUT, first=first) for first in (False, True)]
"""What is known of operators whose inputs nobody has dumped, by ``first``."""


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
    unseen = (
        frozenset(_behind_unseen(known, block))
        if has_outputs_alone(pairing.golden)
        else frozenset()
    )
    if other is None:
        return Partners({}, Wiring(), matched, {}, {}, behind_unseen=unseen)
    items = (item for some in measured.values() for item in some.values())
    differs = any(item.usable and not item.divergence.equal for item in items)
    wiring = infer_wiring(pairing.golden, other) if differs else Wiring()
    runs, inputs = pairing.golden.runs.get(other, {}), dict[int, list[tuple[int, int]]]()
    for place in (*wiring.producers, *wiring.leaves):
        inputs.setdefault(place[0], []).append(place)
    return Partners(
        runs, wiring, matched, {golden: op for op, golden in matched.items()}, wiring.readers(),
        inputs, Timeline(runs.values()), unseen,
    )  # fmt: skip


def _behind_unseen(known: Survey, block: Execution) -> Iterator[int]:
    """Operators before which the target ran a kernel that was not compared and does more than hand on."""
    unseen = False
    for number, run in known.pairing.target.runs[block].items():
        if unseen:
            yield number
        compared = known.index.get((block, number))
        unseen = unseen or (not compared and type_of(run.op_type) not in IDENTITY)


def reading_of(
    known: Survey, block: Execution, op: int, partners: Partners, *, first: bool
) -> Reading:
    """What an operator read, by its own files or else by what its producers gave.

    ``first``: no other execution of its rank ran before.
    """
    checkpoint()
    items = known.index.get((block, op), {})
    inputs = {
        _golden_slot(m, slot): m for (io, slot), m in items.items() if io == "input" and m.usable
    }
    golden = partners.golden_of.get(op)
    run = partners.runs.get(golden) if golden is not None else None
    slots = {slot for io, slot in run.tensors if io == "input"} if run is not None else set[int]()
    ours = {slot for io, slot in known.pairing.target.runs[block][op].tensors if io == "input"}
    if not (slots or inputs or ours):
        return _OF_NOTHING[first]
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
    unknown += sorted(ours - slots - inputs.keys())  # nothing tells what the golden reads there
    missing = tuple(unknown) if slots else SOME_INPUT
    return Reading(inputs, produced, given, missing, unseen, moved, first)


def _golden_slot(item: Measured, slot: int) -> int:
    """Slot of an input at the golden; the target's where an output of another framework is its golden."""
    key = item.pair.golden.key
    return key.slot if key.io == "input" else slot


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
        read = partners.inputs.get(number, ())
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
        following = partners.timeline.next_after(own.time)
        behind = [] if following is None else [following.op]
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
