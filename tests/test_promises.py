"""tests/promises.toml: every UI requirement names tests that exist and carry its number, and the reverse."""

import ast
import tomllib
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
NUMBERS = range(1, 31)
REQUIREMENTS = tomllib.loads((ROOT / "tests" / "promises.toml").read_text(encoding="utf-8"))
TABLE = {one["number"]: one for one in REQUIREMENTS["requirement"]}


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
    assert [one["number"] for one in REQUIREMENTS["requirement"]] == [*NUMBERS]
    for one in TABLE.values():
        assert one["text"]
        assert one["place"] in ("notebook", "report")
        assert all(limit > 0 for limit in one.get("seconds", {}).values())


@pytest.mark.parametrize("number", NUMBERS)
def test_a_requirement_names_tests_with_its_number(number):
    names = TABLE[number]["tests"]
    assert names
    assert len(set(names)) == len(names)
    for place in names:
        path, _, name = place.partition("::")
        assert number in marked(ROOT / path)[name], place


def test_a_marked_test_is_listed_with_its_requirement():
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        for name, numbers in marked(path).items():
            for number in numbers:
                place = f"{path.relative_to(ROOT).as_posix()}::{name}"
                assert place in TABLE[number]["tests"], f"{place} in requirement {number}"
