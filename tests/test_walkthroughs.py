"""The steps of the vendors' documents: every one is numbered, and held by a test or a block of a page that runs."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = ROOT / "docs/walkthroughs"
STEP = re.compile(r"^\| (\d+)\.(\d+)\.(\d+) \| (.+?) \| (.+?) \| (.+) \|$", re.M)
TEXT = (PAGES / "README.md").read_text(encoding="utf-8")
ROWS = STEP.findall(TEXT)
DONE = {1: 300, 2: 50, 3: 30, 4: 45, 5: 70}
"""Document → the least number of its steps."""

TEST = re.compile(r"`((?:\w+/)*test_\w+\.py)::(test_\w+)`")
LINK = re.compile(r"\[[\d.]+\]\(([\w-]+\.md)#([\w-]+)\)")


def sections(page: str) -> dict[str, str]:
    """Sections of a page by the anchor of their title."""
    text = (PAGES / page).read_text(encoding="utf-8")
    parts = re.split(r"^## (.+)$", text, flags=re.M)[1:]
    return {anchor(title): part for title, part in zip(parts[::2], parts[1::2], strict=True)}


def anchor(title: str) -> str:
    """Anchor of a title, as the site and the forges make it."""
    return re.sub(r"[^\w -]", "", title.lower()).strip().replace(" ", "-")


def holders() -> list[str]:
    return sorted({row[-1] for row in ROWS})


def test_steps_are_numbered_in_a_row():
    assert len(ROWS) == len(re.findall(r"^\| \d+\.", TEXT, re.M))
    numbers = [tuple(map(int, row[:3])) for row in ROWS]
    for before, number in pairwise(numbers):
        document, section, step = before
        following = {
            (document, section, step + 1),
            (document, section + 1, 1),
            (document + 1, 1, 1),
        }
        assert number in following or number[0] > document, number
    counts = {document: sum(row[0] == str(document) for row in ROWS) for document in DONE}
    assert {document: count for document, count in counts.items() if count < DONE[document]} == {}
    assert {row[0] for row in ROWS} == {str(document) for document in DONE}


def test_the_overview_counts_the_steps():
    stated = re.findall(r"^\| (\d+) [^|]+ \| \[[^|]+ \| (\d+) \|$", TEXT, re.M)
    assert {int(document): int(count) for document, count in stated} == {
        document: sum(row[0] == str(document) for row in ROWS) for document in DONE
    }


@pytest.mark.parametrize("held_by", holders())
def test_what_holds_a_step_is_there(held_by):
    found, links = TEST.findall(held_by), LINK.findall(held_by)
    assert found or links, held_by
    for file, name in found:
        text = (ROOT / "tests" / file).read_text(encoding="utf-8")
        assert f"\ndef {name}(" in text, (file, name)
    for page, place in links:
        assert re.search(r"^```(bash|python)$", sections(page)[place], re.M), (page, place)


def test_every_page_has_its_rows():
    pages = {path.name for path in PAGES.glob("*.md")} - {"README.md"}
    assert {page for page, _ in LINK.findall(TEXT)} == pages
