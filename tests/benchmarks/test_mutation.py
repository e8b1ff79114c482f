"""Mutants are code that runs and differs, are known again in another revision, and meet the tests near them."""

import ast
import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from mutating.mutants import KINDS, drawn, of_source
from mutating.nearest import Suite
from mutating.reporting import document, table

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
SOURCE = b'''"""A module."""

class Box:
    def fill(self, items: list[int] | None = None) -> int:
        """Words."""
        total = 0
        for item in items or []:
            if item > 3 and (
                item != 7
            ):
                total += item * 2
        self.total = max(total, self.least)
        return total if items else -1
'''
PATH = "workbench/area/box.py"


def parts(source=SOURCE):
    return of_source(source, PATH)


def test_every_kind_of_fault_is_found():
    assert {one.kind for one in parts()} == KINDS.keys()


@pytest.mark.parametrize("one", parts(), ids=lambda one: one.identity)
def test_a_mutant_is_other_code_on_the_same_lines(one):
    changed = one.applied(SOURCE)
    assert ast.dump(ast.parse(changed)) != ast.dump(ast.parse(SOURCE))
    assert changed.count(b"\n") == SOURCE.count(b"\n")
    at = one.line - 1
    assert changed.splitlines()[:at] == SOURCE.splitlines()[:at]


def test_mutants_of_the_package_can_be_compiled():
    for name in ("plan.py", "transdata.py", "errors.py"):
        data = (BENCHMARKS.parent / "workbench" / "core" / name).read_bytes()
        for one in drawn({"core": of_source(data, f"workbench/core/{name}")}, seed=3, count=40):
            compile(one.applied(data), name, "exec")


def test_names_and_annotations_are_left_alone():
    source = b'def f(a: int = 1) -> "x":\n    """1 < 2"""\n    b: list[3]\n    raise ValueError(f"{a + 1}")\n'
    assert [one.kind for one in of_source(source, PATH)] == ["deletion"]


def test_a_function_that_moves_keeps_its_mutants():
    moved = b"import os\n\n\ndef other(x):\n    return x < 1\n\n\n" + SOURCE
    names = [one.identity for one in parts()]
    assert len(set(names)) == len(names)
    assert [one.identity for one in parts(moved) if one.function == "Box.fill"] == names


def test_a_draw_is_that_of_a_seed_and_takes_one_of_a_kind_in_a_function():
    found = {"area": parts(), "other": of_source(SOURCE, "workbench/other/box.py")}
    first = drawn(found, seed=1, count=10)
    assert first == drawn(found, seed=1, count=10)
    assert first != drawn(found, seed=2, count=10)
    assert Counter(one.area for one in first) == {"area": 5, "other": 5}
    assert max(Counter((one.area, one.function, one.kind) for one in first).values()) == 1
    assert first[:4] == drawn(found, seed=1, count=4)


@pytest.fixture
def checkout(tmp_path):
    for path, text in {
        "workbench/__init__.py": "",
        "workbench/area/__init__.py": "",
        "workbench/area/low.py": "def twice(x):\n    return x * 2\n\n\ndef idle(x):\n    return x > 5\n",
        "workbench/area/high.py": "from workbench.area.low import twice\n\n\ndef most(x):\n    return twice(x)\n",
        "workbench/area/alone.py": "",
        "tests/area/test_high.py": "from workbench.area.high import most\ndef test_most():\n    assert most(3) == 6\n",
        "tests/area/test_low.py": "import workbench.area.low as low\ndef test_twice():\n    assert low.twice(4) == 8\n",
        "tests/test_far.py": "from workbench.area import low\n\n\ndef test_wrong():\n    assert low is None\n",
    }.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    return tmp_path


def test_the_nearest_tests_import_a_module_or_what_imports_it(checkout):
    suite = Suite(checkout)
    assert suite.near("workbench/area/low.py") == ["tests/area/test_low.py", "tests/test_far.py"]
    assert suite.near("workbench/area/high.py") == ["tests/area/test_high.py"]
    assert suite.near("workbench/area/alone.py") == []
    (checkout / "tests/area/test_low.py").unlink()
    (checkout / "tests/test_far.py").unlink()
    assert Suite(checkout).near("workbench/area/low.py") == ["tests/area/test_high.py"]


@pytest.fixture
def rooms(tmp_path):
    for path, text in {
        "workbench/area/left/facts.py": "",
        "workbench/area/left/inner/deep.py": "",
        "workbench/area/left/rule.py": "import workbench.area.left.facts\nimport workbench.area.left.inner.deep\n",
        "tests/area/left/test_rule.py": "import workbench.area.left.rule\n",
        "tests/area/left/test_other.py": "import workbench.area.left.facts\n" + "#" * 99,
        "tests/area/right/test_facts.py": "import workbench.area.left.facts\nimport workbench.area.left.inner.deep\n",
        "tests/area/test_all.py": "import workbench.area.left.rule, workbench.area.left.facts\n",
        "tests/far/test_tables.py": "import workbench.area.left.facts\n",
    }.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    return tmp_path


def test_tests_of_the_room_come_first_then_those_of_the_area_around_it(rooms):
    assert Suite(rooms).near("workbench/area/left/facts.py") == [
        "tests/area/left/test_other.py",
        "tests/area/test_all.py",
        "tests/area/right/test_facts.py",
        "tests/far/test_tables.py",
    ]


def test_a_room_is_looked_for_behind_what_another_room_imports(rooms):
    (rooms / "tests/area/left/test_other.py").unlink()
    near = Suite(rooms).near("workbench/area/left/facts.py")
    assert near[:2] == ["tests/area/left/test_rule.py", "tests/area/test_all.py"]


def test_the_room_around_a_folder_within_it_is_nearer_than_another_room(rooms):
    assert (
        Suite(rooms).near("workbench/area/left/inner/deep.py")[0] == "tests/area/left/test_rule.py"
    )


RUN = """
import json, sys
from pathlib import Path
from mutating.measuring import Bench
from mutating.mutants import mutants
root = Path(sys.argv[1])
bench = Bench(root, {}, 600.0)  # a busy machine is no reason to leave a test out
found = {f"{one.function} {one.kind}": bench.outcome(one) for one in mutants(root)["area"]}
print(json.dumps([found, bench.baseline]))
"""


@pytest.mark.slow
def test_a_fault_is_killed_by_a_test_that_passes_without_it(checkout):
    before = {path: path.read_bytes() for path in checkout.rglob("*.py")}
    said = subprocess.run(
        [sys.executable, "-c", RUN, str(checkout)],
        cwd=BENCHMARKS,
        check=True,
        capture_output=True,
        text=True,
    )
    found, baseline = json.loads(said.stdout)
    assert found["twice arithmetic"]["by"] == "tests/area/test_low.py::test_twice"
    assert found["most return"]["outcome"] == "killed"
    assert found["idle comparison"]["outcome"] == "survived"
    assert baseline["tests/test_far.py"]["failed"] == ["tests/test_far.py::test_wrong"]
    assert {path: path.read_bytes() for path in before} == before


def test_the_report_counts_by_area_and_lists_what_no_test_saw():
    one = {
        "area": "a",
        "path": "workbench/a/b.py",
        "line": 3,
        "kind": "constant",
        "before": "1",
        "after": "1 + 1",
    }
    seen = [one | {"outcome": how} for how in ("killed", "killed", "survived", "no test")]
    results = {"revision": "abc", "seed": 1, "budget": 6.0, "mutants": dict(enumerate(seen))}
    assert table(results)[2] == "| a | 4 | 2 | 1 | 1 | 50 |"
    assert table(results, results)[-1] == "| all | 4 | 2 | 1 | 1 | 50 | 50 |"
    assert document(results).count("| `workbench/a/b.py:3` |") == 2
