"""What an operator without a graph is found to be: one literal table, and what later operators remember."""

from __future__ import annotations

import math
from dataclasses import field
from typing import TYPE_CHECKING

from workbench._values import NamedTuple, dataclass
from workbench.comparison.follow.operators import AGREES, Conclusion, undecided
from workbench.comparison.follow.rules import Rule
from workbench.comparison.follow.state import INHERITS

if TYPE_CHECKING:
    pass


@dataclass(slots=True)
class TimeMemory:
    """What an execution without a graph has shown so far, changed by what rules learn.

    ``allowed`` is the largest error that an operator may have given, ``tolerated`` the largest that the map file
    tolerates; ``failed`` are the operators of which one was too large, ``doubtful``: one was undecided.
    """

    allowed: float = 0.0
    tolerated: float = 0.0
    failed: set[int] = field(default_factory=set)
    doubtful: bool = False


class TimeFacts(NamedTuple):
    """An operator in the order of time; ``limit`` is what its inputs and the formats explain of ``worst``.

    ``rank_local``: it may differ by design, ``tainted``: more than what was allowed before it comes in; ``tolerated``:
    the map file excuses its error. What makes the evidence weak: ``fused``, its kernel may do the work of operators
    behind it, too; ``stored``, the results of this run lie in fewer bits than its files say, which explains it;
    ``low``, the products of this run are all as far off; ``unlike``, it reads something else than its producer gave,
    ``misread``: by more than any format; ``blind``, nothing tells what it read, ``figures``: statistics alone do;
    ``behind``, an undecided operator stands before it. ``given``: what nothing produced differs too much for a format,
    and its result is off, too, or was not compared, ``apart``: it differs otherwise; ``came``: what an operator gave
    does, and that was not compared where it was given; ``misfit``, it has no result for a number that it read.
    """

    op: int = 0
    worst: float = 0.0
    limit: float = 0.0
    rank_local: bool = False
    tainted: bool = False
    tolerated: bool = False
    fused: bool = False
    stored: bool = False
    low: bool = False
    unlike: bool = False
    misread: bool = False
    blind: bool = False
    figures: bool = False
    behind: bool = False
    given: bool = False
    apart: bool = False
    came: bool = False
    misfit: bool = False


def _learn_allowed(facts: TimeFacts, _: Conclusion, memory: TimeMemory) -> None:
    memory.allowed = max(memory.allowed, 0.0 if facts.tainted else facts.worst)


def _learn_failed(facts: TimeFacts, _: Conclusion, memory: TimeMemory) -> None:
    memory.failed.add(facts.op)


def _learn_doubt(facts: TimeFacts, _: Conclusion, memory: TimeMemory) -> None:
    memory.doubtful = True
    memory.allowed = max(memory.allowed, facts.worst if math.isfinite(facts.worst) else 0.0)


def _learn_excused(facts: TimeFacts, _: Conclusion, memory: TimeMemory) -> None:
    memory.tolerated = max(memory.tolerated, facts.worst)


TIME_RULES: tuple[Rule[TimeFacts, Conclusion, TimeMemory], ...] = (
    Rule(
        "own-batch",
        lambda o: o.rank_local,
        lambda o: Conclusion("rank-local"),
        why="two ranks differ by design, and what they may give says nothing of others",
        needs="difference",
    ),
    Rule(
        "may-be-fused",
        lambda o: o.fused and (o.worst > o.limit or o.given or o.apart),
        lambda o: undecided("may-be-fused"),
        learns=_learn_doubt,
        why="two tensors of one name need not be the same value: asked before any difference of theirs is blamed",
        needs="difference",
    ),
    Rule(
        "given-differs",
        lambda o: o.given,
        lambda o: Conclusion("origin", o.op),
        learns=_learn_failed,
        why="what it was given explains its error, so no limit of its own may excuse it",
        needs="first",
    ),
    Rule(
        "given-apart",
        lambda o: o.apart,
        lambda o: undecided("given-apart"),
        learns=_learn_doubt,
        why="a format that no file tells may have rounded it: asked before its reader is excused by it",
        needs="difference",
    ),
    Rule(
        "given-misfit",
        lambda o: o.misfit and not o.tainted,
        lambda o: undecided("given-misfit"),
        learns=_learn_doubt,
        why="whoever gave a number that it has no result for is off there, and nobody knows who that is",
        needs="difference",
    ),
    Rule(
        "from-unseen",
        lambda o: o.came and not o.tainted,
        lambda o: undecided("from-unseen"),
        learns=_learn_doubt,
        why="it came from outside of the dump: no limit may excuse it, and nobody inside is to blame",
        needs="difference",
    ),
    Rule(
        "misread",
        lambda o: o.misread and o.worst <= o.limit,
        lambda o: undecided("input-unlike"),
        learns=_learn_allowed,
        why="its result is as expected of what was given: its file of the input is not what it read, or too large a "
        "limit hides what came of it",
        needs="difference",
    ),
    Rule(
        "within-expected",
        lambda o: o.worst <= o.limit,
        lambda o: AGREES,
        learns=_learn_allowed,
        why="its inputs explain it, right or wrong; what one operator may give any later one may read",
        needs="difference",
    ),
    Rule(
        INHERITS,
        lambda o: o.tainted,
        lambda o: Conclusion("inherits", o.op),
        learns=_learn_failed,
        why="one origin a chain, as far as time tells what is one",
        needs="first",
    ),
    Rule(
        "tolerated",
        lambda o: o.tolerated,
        lambda o: Conclusion("origin", o.op),
        learns=_learn_excused,
        why="an excused error is known, so what reads it has not failed",
        needs="first",
    ),
    Rule(
        "input-unlike",
        lambda o: o.unlike,
        lambda o: undecided("input-unlike"),
        learns=_learn_doubt,
        why="without its graph nobody knows whether memory was overwritten or the programs are wired differently",
        needs="difference",
    ),
    Rule(
        "stored-narrow",
        lambda o: o.stored,
        lambda o: undecided("stored-narrow"),
        learns=_learn_allowed,
        why="its format explains the error, so nothing behind it is in doubt; asked before reasons that put it there",
        needs="difference",
    ),
    Rule(
        "format-unknown",
        lambda o: o.low,
        lambda o: undecided("format-unknown"),
        learns=_learn_doubt,
        why="files do not tell a unit that computes in fewer bits; all its operators do",
        needs="difference",
    ),
    Rule(
        "behind-undecided",
        lambda o: o.behind,
        lambda o: undecided("behind-undecided"),
        learns=_learn_doubt,
        why="what was not decided may explain whatever is wrong behind it",
        needs="difference",
    ),
    Rule(
        "inputs-unknown",
        lambda o: o.blind,
        lambda o: undecided("inputs-unknown"),
        learns=_learn_doubt,
        why="what it read may explain any finite error; the next row asks what was read",
        needs="difference",
    ),
    Rule(
        "figures-alone",
        lambda o: o.figures,
        lambda o: undecided("figures-alone"),
        learns=_learn_doubt,
        why="last of what is weak: statistics do not show how far apart what it read is",
        needs="difference",
    ),
    Rule(
        "exceeds-expected",
        lambda o: True,
        lambda o: Conclusion("origin", o.op),
        learns=_learn_failed,
        why="nothing explains so large an error",
        needs="first",
    ),
    Rule(
        "order-unknown",
        lambda o: True,
        lambda o: undecided("order-unknown"),
        learns=_learn_doubt,
        why="last: without an order nobody is the first",
        needs="difference",
    ),
)
"""What an operator without a graph is found to be."""
