"""Evidence and sentences, for tests: which codes are said, and with which values."""

from __future__ import annotations

from typing import Any

from workbench.core.words import Message


def codes(said: Any) -> list[str]:
    """Codes of several messages, without their area."""
    return [one.code.partition("/")[2] for one in said]


def clauses(result: Any) -> tuple[Message, ...]:
    """What the sentence of a result is put together from."""
    return result.sentence.values["clauses"]


def defects(found: Any) -> list[Any]:
    """Findings of a result or a comparison that are defects."""
    return [finding for finding in found.findings if finding.defect]


def the(said: Any, code: str, **values: Any) -> Message:
    """Return the one message that has this code and these values, perhaps more."""
    found = [one for one in said if one.code == f"compare/{code}" and _holds(one, values)]
    assert len(found) == 1, (code, values, list(said))
    return found[0]


def within(message: Message, code: str) -> Message:
    """Return the first message with a code in another one, itself included."""
    return next(one for one in _all(message) if one.code == f"compare/{code}")


def diverges(finding: Any, iteration: int, part: str) -> bool:
    """Whether a finding says that the runs diverge in a part of an iteration."""
    where = within(the(finding.evidence, "divergence"), "divergence-at")
    return (where.values["iteration"], where.values["part"]) == (iteration, part)


def _holds(message: Message, values: dict[str, Any]) -> bool:
    return {name: message.values.get(name) for name in values} == values


def _all(message: Message) -> Any:
    yield message
    for value in message.values.values():
        for one in value if isinstance(value, list | tuple) else [value]:
            if isinstance(one, Message):
                yield from _all(one)
