"""Nothing that nobody reaches: what only tests use is no part of the package."""

from __future__ import annotations

import json
import keyword
import re
import tomllib
from pathlib import Path

import pytest
from vulture import Vulture
from vulture.utils import ExitCode

from kit.syntax import gc_frozen

ROOT = Path(__file__).parents[1]
KEPT = tomllib.loads((ROOT / "tests" / "unreached.toml").read_text(encoding="utf-8"))["kept"]
FENCED = re.compile(r"^```python\n(.*?)^```", re.M | re.S)
TAGS = re.compile(r"\{[{%](.*?)[%}]\}", re.S)
STRINGS = re.compile(r"\"[^\"]*\"|'[^']*'")
NAMES = re.compile(r"[A-Za-z_]\w*")


def documents() -> list[Path]:
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def users() -> dict[str, str]:
    """Python that uses the package: cells of notebooks, examples of documents, names in templates."""
    found = {}
    for path in sorted((ROOT / "notebooks").rglob("*.ipynb")):
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        for number, cell in enumerate(cells):
            if cell["cell_type"] == "code":
                found[f"{path}#{number}"] = "".join(cell["source"])
    for path in documents():
        for number, block in enumerate(FENCED.findall(path.read_text(encoding="utf-8"))):
            found[f"{path}#{number}"] = block
    for path in sorted((ROOT / "workbench").rglob("*.j2")):
        tags = " ".join(TAGS.findall(path.read_text(encoding="utf-8")))
        names = sorted(set(NAMES.findall(STRINGS.sub(" ", tags))) - set(keyword.kwlist))
        found[str(path)] = "\n".join(f"template.{name}" for name in names)
    return found


def unreached(package: Path, used: dict[str, str]) -> list[tuple[str, str, int]]:
    """File, name and line of what is defined in a package and used neither there nor in other code."""
    finder = Vulture()
    with gc_frozen():
        finder.scavenge([str(package)])
        for where, text in used.items():
            finder.scan(text, filename=Path(where))
    assert finder.exit_code != ExitCode.InvalidInput, "code that cannot be read uses nothing"
    return [
        (Path(one.filename).relative_to(package.parent).as_posix(), one.name, one.first_lineno)
        for one in finder.get_unused_code(min_confidence=60)
        if package in Path(one.filename).parents
    ]


def covers(kept: dict, path: str) -> bool:
    return path == kept["in"] or path.startswith(kept["in"] + "/")


@pytest.mark.slow
def test_every_name_is_reached_or_kept_for_a_reason():
    found = unreached(ROOT / "workbench", users())
    unused = [
        f"{path}:{line} {name}"
        for path, name, line in found
        if not any(covers(kept, path) and name in kept["names"] for kept in KEPT)
    ]
    assert unused == [], "delete it, or say in tests/unreached.toml who reaches it"
    stale = [
        f"{kept['in']}: {name}"
        for kept in KEPT
        for name in kept["names"]
        if not any(covers(kept, path) and name == one for path, one, _ in found)
    ]
    assert stale == [], "it is reached now, or gone: take it out of tests/unreached.toml"


def test_every_exception_has_a_reason_and_a_place():
    for kept in KEPT:
        assert len(kept["reason"].split()) >= 3, kept
        assert (ROOT / kept["in"]).exists(), kept


def test_what_nobody_calls_is_found(tmp_path):
    package = tmp_path / "package"
    package.mkdir()
    (package / "one.py").write_text(
        "def shown(): ...\ndef told(): ...\ndef lost(): ...\ndef deep(): ...\n"
    )
    (package / "two.py").write_text("from package.one import deep\ndeep()\n")
    found = unreached(package, {"notebook": "shown()", "template": "template.told"})
    assert found == [("package/one.py", "lost", 3)]


def test_users_are_notebooks_documents_and_templates():
    found = users()
    for part in (".ipynb#", ".md#", ".j2"):
        assert any(part in where for where in found), part
    assert any("wb.compare(" in text for text in found.values())
