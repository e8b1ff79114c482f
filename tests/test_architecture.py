"""The shape of the package, checked: layers, sizes, complete tables, cheap imports."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

import workbench
from workbench.graph.ops import OPS
from workbench.run.kernels import KERNELS

PACKAGE = Path(workbench.__file__).parent
LAYERS = (
    "core",
    "graph",
    "config ir run",
    "dump",
    "comparison",
    "show",
    "scale",
    "pipeline",
    "ui cli",
    "__main__",
)
ROOMS = (
    "columns limits finding_kinds result map_file graphs bind align pair measure replay follow explain findings results"
    " engine"
)
"""Rooms of `workbench.comparison`, in order of import."""
LEVEL = {name: level for level, row in enumerate(LAYERS) for name in row.split()}
MAX_CODE_LINES = 600
MODULES = sorted(path for path in PACKAGE.rglob("*.py") if path != PACKAGE / "__init__.py")


def area(path: Path) -> str:
    """Part of the package that a file belongs to: ``core/plan.py`` → ``core``."""
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imported_areas(path: Path):
    """Areas that a file imports from, nested and type-checking imports included."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name.split(".") for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names = [[*node.module.split("."), alias.name] for alias in node.names]
        else:
            continue
        yield from (name[1] for name in names if name[0] == "workbench" and len(name) > 1)


def test_every_module_belongs_to_a_layer():
    assert {area(path) for path in MODULES} <= LEVEL.keys()


def test_imports_go_down_only():
    wrong = [
        f"{path.relative_to(PACKAGE)} (layer {LEVEL[area(path)]}) imports {other} (layer {LEVEL[other]})"
        for path in MODULES
        for other in imported_areas(path)
        if other in LEVEL and other != area(path) and LEVEL[other] >= LEVEL[area(path)]
    ]
    assert not wrong, "\n".join(wrong)


def imported_rooms(path: Path):
    """Rooms of the comparison that a file imports from."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(
            "workbench.comparison"
        ):
            yield from ([*node.module.split("."), alias.name][2] for alias in node.names)


def test_rooms_of_the_comparison_import_from_earlier_ones_only():
    level = {name: number for number, name in enumerate(ROOMS.split())}
    comparison = [
        path for path in MODULES if area(path) == "comparison" and path.stem != "__init__"
    ]
    wrong = {
        f"{path.relative_to(PACKAGE)} imports {room}"
        for path in comparison
        for room in imported_rooms(path)
        if level[room] > level[path.relative_to(PACKAGE).parts[1].removesuffix(".py")]
    }
    assert not wrong


def test_folders_of_the_comparison_hold_at_most_fifteen_modules():
    folders = [path.parent for path in MODULES if area(path) == "comparison"]
    assert max(Counter(folders).values()) <= 15 + 1  # __init__ is the face


def test_no_relative_imports_hide_a_layer():
    relative = [
        path
        for path in MODULES
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and node.level
    ]
    assert not relative


def code_lines(path: Path) -> int:
    return sum(1 for line in path.read_text(encoding="utf-8").splitlines() if line.strip(" #"))


def test_modules_fit_in_the_head():
    large = {str(p.relative_to(PACKAGE)): code_lines(p) for p in MODULES}
    assert not {name: count for name, count in large.items() if count > MAX_CODE_LINES}


def function_lengths() -> list[tuple[int, str]]:
    """Lines of every function without its docstring."""
    found = []
    for path in MODULES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                first = node.body[0]
                doc = ast.get_docstring(node) is not None
                start = node.body[1].lineno if doc and len(node.body) > 1 else first.lineno
                length = node.end_lineno - (start if doc else node.lineno) + 1
                found.append((length, f"{path.relative_to(PACKAGE)}:{node.name}"))
    return sorted(found)


def test_functions_are_short():
    lengths = function_lengths()
    ninety = lengths[int(len(lengths) * 0.9)][0]
    assert ninety <= 30
    assert [name for length, name in lengths if length > 50] == []


def test_every_operator_has_a_kernel_and_every_kernel_an_operator():
    assert KERNELS.keys() == OPS.keys()


def test_every_public_name_exists_and_nothing_else_is_exported():
    assert sorted(workbench.__all__) == sorted(set(workbench.__all__))
    assert all(getattr(workbench, name) is not None for name in workbench.__all__)
    with pytest.raises(AttributeError, match="known:"):
        _ = workbench.no_such_name


def loaded_by(statement: str) -> set[str]:
    """Top-level modules that a fresh interpreter has loaded after a statement."""
    code = f"{statement}; import sys; print(' '.join({{m.partition('.')[0] for m in sys.modules}}))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(run.stdout.split())


def test_the_core_needs_numpy_and_ml_dtypes_alone():
    names = [p.stem for p in (PACKAGE / "core").glob("*.py") if p.stem != "__init__"]
    bare = loaded_by("import numpy, ml_dtypes")
    core = loaded_by("import " + ", ".join(f"workbench.core.{name}" for name in names))
    extra = {m for m in core - bare if m not in sys.stdlib_module_names and not m.startswith("_")}
    assert extra == {"workbench"}


def test_starting_the_command_loads_nothing_heavy():
    loaded = loaded_by("import workbench.cli, workbench.pipeline.compare")
    assert not loaded & {
        "pandas",
        "matplotlib",
        "jinja2",
        "numba",
        "ipywidgets",
        "pydantic",
        "IPython",
        "google",
    }


EXITS = {
    r"\bescape\b.*html|html\.escape": {
        "core/text.py",
        "ui/framed.py",
    },  # there a whole page, not a name
    r"typer\.echo|\bprint\(|sys\.stdout\.write": {
        "cli/terminal.py",
        "pipeline/extract.py",
    },  # a script's own
}
"""What puts text before a reader → the modules that do it for all others."""


@pytest.mark.parametrize("exit_", EXITS)
def test_names_go_out_in_one_place(exit_):
    found = set()
    for path in MODULES:
        code = re.sub(r'""".*?"""', "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
        if re.search(exit_, code):
            found.add(path.relative_to(PACKAGE).as_posix())
    assert found <= EXITS[exit_]
