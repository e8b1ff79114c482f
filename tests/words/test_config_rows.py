"""Words that stand in rows of configuration: rules, settings and notes, each shown once in a snapshot of its own.

A rule says what it says of its own breaking example; where several surfaces share a sentence they stand together.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

import workbench
from kit.words import SNAPSHOTS
from workbench.config import SURFACES, get
from workbench.config.config import of_example
from workbench.config.form.settings import declared
from workbench.config.mindspore.notes import COMPLEX, NOTES, OTHER_WAY
from workbench.core.words.render import fill

PACKAGE = Path(workbench.__file__).parent
Shown = Iterator[tuple[str, str, str]]
"""Who says it, what it is about, and the words."""


def rules() -> Shown:
    """What every rule says of its breaking example, with its advice."""
    for name in SURFACES:
        surface = get(name)
        for rule in surface.rules:
            problems = of_example(surface, rule.breaks).check(rule.breaks.context)
            yield name, rule.id, shown(problems, rule)


def shown(problems, rule) -> str:
    """The first problem of a rule: grave or not, sentence, advice."""
    problem = next(problem for problem in problems if problem.id == rule.id)
    text = "\n".join(filter(None, (f"{problem.severity}: {problem.message}", str(problem.fix))))
    return text.replace(f"{PACKAGE}/", "")


def settings() -> Shown:
    """What every setting is, and what its value may be."""
    for name in SURFACES:
        for path, setting in declared(get(name).model):
            yield name, path, f"{setting.help}\nvalue: {setting.expected}"


def notes() -> Shown:
    """Every note of MindSpore's table."""
    values = {"path": "/dump", "net": "Net", "rank": 0, "device": 3, "process": 0, "limit": 2}
    for note in (*NOTES, *COMPLEX, OTHER_WAY):
        yield note.on, note.id, fill(note.says, values)


def blocks(said: Shown) -> str:
    """One block a sentence, in the order of the tables; equal ones of several surfaces are one."""
    found: dict[tuple[str, str], list[str]] = defaultdict(list)
    for who, what, words in said:
        found[what, words].append(who)
    return "\n".join(
        f"{what} ({' '.join(who)})\n    {words.replace(chr(10), chr(10) + '    ')}\n"
        for (what, words), who in found.items()
    )


@pytest.mark.parametrize("rows", [rules, settings, notes], ids=lambda rows: rows.__name__)
def test_the_snapshot_shows_every_row(rows, pytestconfig):
    path = SNAPSHOTS / f"config_{rows.__name__}.txt"
    text = blocks(rows())
    if pytestconfig.getoption("update_words"):
        path.write_text(text, encoding="utf-8")
    assert path.read_text(encoding="utf-8") == text


FRAMES = ("must be", "must have", ", got ")
"""How an error of a wrong value is said; a hint says what will happen and what to do."""


@pytest.mark.parametrize("name", SURFACES)
def test_a_hint_says_what_will_happen_and_what_to_do(name):
    hints = [rule for rule in get(name).rules if rule.severity == "hint"]
    for rule in hints:
        example = rule.breaks
        problems = of_example(get(name), example).check(example.context)
        problem = next(one for one in problems if one.id == rule.id)
        said = f"{problem.message} {problem.fix}"
        assert not [frame for frame in FRAMES if frame in said], said
        assert str(problem.fix).endswith((".", "?")), said
