"""Words on screen: everything that a panel says has its Chinese, and every Chinese word is said."""

import ast
from pathlib import Path

import workbench
from workbench.show.labels import CHINESE, LANGUAGES, translate
from workbench.ui.shell import PARTS

PACKAGE = Path(workbench.__file__).parent


def said():
    """Constant texts handed to ``say`` anywhere, and titles of panels."""
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
                name = (
                    node.func.attr
                    if isinstance(node.func, ast.Attribute)
                    else getattr(node.func, "id", "")
                )
                if name == "say" and isinstance(node.args[0].value, str):
                    yield node.args[0].value
    yield from (part.title for part in PARTS.values())


def test_everything_that_is_said_has_its_chinese():
    assert sorted(set(said()) - CHINESE.keys()) == []


def test_words_are_other_words_in_chinese():
    assert [english for english, chinese in CHINESE.items() if chinese in ("", english)] == []
    assert {translate("Run", language) for language in LANGUAGES} == {"Run", "运行"}
    assert translate("Default/conv1", "zh") == "Default/conv1"
