"""Every sentence: known by one code, shown in a snapshot with values of a real run, and free of leftovers."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import workbench
from kit.syntax import gc_frozen, nodes_of
from kit.words import codes_in, codes_in_text, fields, read_snapshot, said_in, write_snapshot
from workbench.core.text import readable
from workbench.core.words import render, sentence

PACKAGE = Path(workbench.__file__).parent
TABLES = PACKAGE / "core" / "words"
TEXTS = [
    path.read_text(encoding="utf-8")
    for ending in ("j2", "mjs")
    for path in PACKAGE.rglob(f"*.{ending}")
]
KNOWN = {f"{area}/{name}" for area in render.AREAS for name in render.table(area)}


@pytest.fixture(scope="module")
def trees():
    """Syntax tree of every module that may say something; parsed by the one process that runs these tests."""
    with gc_frozen():
        return {
            path: ast.parse(path.read_text(encoding="utf-8"))
            for path in sorted(PACKAGE.rglob("*.py"))
            if path.parent != TABLES
        }


def test_no_code_stands_twice_in_a_table():
    for path in TABLES.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Dict):
                keys = [key.value for key in node.keys if isinstance(key, ast.Constant)]
                assert len(keys) == len(set(keys)), path.name


def test_every_code_that_is_said_has_words_and_every_sentence_is_said(trees):
    whole, begun = (
        set().union(*found) for found in zip(*map(codes_in, trees.values()), strict=True)
    )
    whole |= set().union(*map(codes_in_text, TEXTS))
    assert whole - KNOWN == set()
    unsaid = KNOWN - whole
    assert {code for code in unsaid if not code.startswith(tuple(begun))} == set()


def test_errors_and_messages_are_made_of_codes_alone(trees):
    raw = [
        f"{path.relative_to(PACKAGE)}:{line} {text!r}"
        for path, tree in trees.items()
        for line, text in written_out(tree)
        if not text.startswith(tuple(f"{area}/" for area in render.AREAS)) or " " in text
    ]
    assert raw == []


def written_out(tree):
    """Line and beginning of the first argument of every error and message, where it is a text."""
    kinds = {"WorkbenchError", "FormatError", "GraphError", "AlignError", "Message"}
    for node in nodes_of(tree):
        if (
            isinstance(node, ast.Call)
            and node.args
            and ast.unparse(node.func).split(".")[-1] in kinds
        ):
            first = node.args[0]
            part = first.values[0] if isinstance(first, ast.JoinedStr) else first
            if isinstance(part, ast.Constant) and isinstance(part.value, str):
                yield node.lineno, part.value
            elif isinstance(first, ast.JoinedStr):
                yield node.lineno, ast.unparse(first)


def test_a_sentence_is_given_the_values_that_it_names(trees):
    wrong = [
        f"{path.relative_to(PACKAGE)}:{line} {code}: names {sorted(fields(code))}, given {sorted(names)}"
        for path, tree in trees.items()
        for line, code, names in said_in(tree)
        if code in KNOWN and not fields(code) <= names
    ]
    assert wrong == []


@pytest.mark.parametrize("area", render.AREAS)
def test_the_snapshot_shows_every_sentence(area, pytestconfig):
    shown = read_snapshot(area)
    plain = {f"{area}/{name}" for name in render.table(area) if not fields(f"{area}/{name}")}
    values = {code: {} for code in plain} | {
        code: held for code, (held, _) in shown.items() if code in KNOWN
    }
    if pytestconfig.getoption("update_words"):
        write_snapshot(area, values)
        shown = read_snapshot(area)
    assert {code for code in KNOWN if code.startswith(f"{area}/")} == shown.keys()
    assert {code: readable(sentence(code, held)) for code, (held, _) in shown.items()} == {
        code: text for code, (_, text) in shown.items()
    }
