"""The make of every table of the walk: a rule is one row, and the first that applies decides.

The order of the rows is the behaviour. Every row says why it stands where it stands; where a row and the
next can never both apply, it says so under ``excludes``, and else a case of the room's tests shows the order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

from workbench.comparison.trust import OWN, may_say

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from workbench.comparison.trust import Trust

Facts = TypeVar("Facts")
Concluded = TypeVar("Concluded")
Memory = TypeVar("Memory")


def nothing(facts: object, concluded: object, memory: object) -> None:
    """Learn nothing."""


class Rule(NamedTuple, Generic[Facts, Concluded, Memory]):
    """One row: if it ``applies`` to the facts, it ``concludes``, and ``learns`` is what later facts will hold of it.

    ``name`` is a stable code. ``needs`` is the kind of statement that it makes (`workbench.comparison.trust.SAYINGS`):
    on a weaker ground it is not asked.
    ``why`` says why it stands here; ``excludes`` why it and the next row never apply to the same facts.
    """

    name: str
    applies: Callable[[Facts], object]
    concludes: Callable[[Facts], Concluded]
    why: str
    learns: Callable[[Facts, Concluded, Memory], None] = nothing
    needs: str = "dataflow"
    excludes: str = ""


def decide(
    rules: Sequence[Rule[Facts, Concluded, Memory]],
    facts: Facts,
    memory: Memory,
    trust: Trust = OWN,
) -> tuple[str, Concluded]:
    """Return the name of the first rule that applies and may speak, and what it concludes; it has learnt then.

    ``trust`` is the ground of the facts.
    """
    for rule in rules:
        if rule.applies(facts) and may_say(rule.needs, trust):
            concluded = rule.concludes(facts)
            rule.learns(facts, concluded, memory)
            return rule.name, concluded
    message = f"no rule applies to {facts}"
    raise LookupError(message)
