"""docs/promises.md: every promise has tests that exist and say which one they hold."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
NUMBERS = range(1, 31)
TEXT = (ROOT / "docs" / "promises.md").read_text(encoding="utf-8")
TABLE = {
    int(number): tests
    for number, tests in re.findall(r"^\| (\d+) \|.*\|([^|]*)\|$", TEXT, re.MULTILINE)
}


def marks(node: ast.AST) -> set[int]:
    """Numbers that a function or class is marked with."""
    calls = (one for one in node.decorator_list if isinstance(one, ast.Call))
    return {
        argument.value
        for call in calls
        if ast.unparse(call.func) == "pytest.mark.criterion"
        for argument in call.args
    }


@cache
def marked(path: Path) -> dict[str, set[int]]:
    """Test of a file → numbers that it is marked with."""
    found: dict[str, set[int]] = {}
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        methods = node.body if isinstance(node, ast.ClassDef) else []
        for one in (node, *methods):
            if isinstance(one, ast.FunctionDef) and one.name.startswith("test_"):
                name = one.name if one is node else f"{node.name}::{one.name}"
                found[name] = marks(one) | (set() if one is node else marks(node))
    return found


def test_there_are_thirty_in_order():
    assert list(TABLE) == [*NUMBERS]


@pytest.mark.parametrize("number", NUMBERS)
def test_a_promise_names_tests_that_hold_it(number):
    names = re.findall(r"`(tests/\S+\.py)::(\S+)`", TABLE[number])
    assert names
    assert len(names) == TABLE[number].count("`") // 2
    for path, name in names:
        assert number in marked(ROOT / path)[name], f"{path}::{name}"


def test_a_marked_test_stands_beside_its_promise():
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        for name, numbers in marked(path).items():
            for number in numbers:
                place = f"{path.relative_to(ROOT).as_posix()}::{name}"
                assert f"`{place}`" in TABLE[number], f"{place} beside promise {number}"
