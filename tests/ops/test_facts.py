"""`workbench.ops.facts` says of operator types what their rows say, so that asking loads no rows.

``pytest tests/ops/test_facts.py --update-words`` writes its tables anew.
"""

from __future__ import annotations

import re
import subprocess
import sys
import textwrap
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import workbench.ops.rows
from workbench.ops import facts
from workbench.ops.aliases import ALIASES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from workbench.ops.definition import OpDef

FAMILIES = (
    *("matrix", "elementwise", "activation", "reduction", "normalization", "pooling", "movement"),
    *("indexing", "quantization", "loss", "recurrent", "update", "collective", "transformer"),
)
"""Modules of rows in the order of the table: of two types with one name of ONNX the later counts."""

ROWS: dict[str, dict[str, OpDef]] = {
    name: import_module(f"workbench.ops.rows.{name}").ROWS for name in FAMILIES
}
"""Family → its rows, by type."""

TYPES: dict[str, Callable[[OpDef], bool]] = {
    "FOREIGN": lambda row: row.kernel is None,
    "RENAMING": lambda row: row.kernel is not None and row.engine == "none",
    "IDENTITY": lambda row: row.effect == "identity",
    "MOVEMENT": lambda row: row.effect in ("identity", "move"),
    "CHOOSING": lambda row: row.effect in ("identity", "move", "choose"),
    "CONTRACTIONS": lambda row: row.effect == "contract",
    "SUMMING": lambda row: row.effect == "sum",
    "COMMUTATIVE": lambda row: row.commutative,
    "APPROXIMATED": lambda row: row.libm,
    "STEPS": lambda row: row.discontinuous,
}
SLOTS: dict[str, Callable[[OpDef], tuple[int, ...]]] = {
    "IN_PLACE": lambda row: row.writes,
    "UNWRITTEN_ON_CPU": lambda row: row.unwritten_on_cpu,
}
RESHAPES = {"Reshape", "Flatten", "View", "ExpandDims", "Squeeze"}
LIKE = {"MOVEMENT": "IDENTITY", "CHOOSING": "MOVEMENT"}
"""Table → the one that it adds to."""


def all_rows() -> dict[str, OpDef]:
    return {name: row for rows in ROWS.values() for name, row in rows.items()}


def derived() -> dict[str, object]:
    """What the tables have to be."""
    rows = all_rows()
    family = {name: family for family, rows in ROWS.items() for name in rows}
    sets = {
        fact: frozenset(n for n, row in rows.items() if has(row)) for fact, has in TYPES.items()
    }
    slots = {fact: {n: of(row) for n, row in rows.items() if of(row)} for fact, of in SLOTS.items()}
    sets["RESHAPING"] = RESHAPES | {n for n, row in ALIASES.items() if row.op_type in RESHAPES}
    return {"FAMILY": family, **sets, **slots, "COLLECTIVES": frozenset(ROWS["collective"])}


def words(names: Iterable[str], indent: str) -> str:
    lines = textwrap.wrap(" ".join(names), 96 - len(indent))
    return "".join(f"\n{indent}{line}" for line in lines)


def written() -> str:
    """Source text of the module with the tables as the rows have them."""
    text = Path(facts.__file__).read_text(encoding="utf-8")
    tables = derived()
    bodies = {
        "_FAMILIES": "{\n"
        + "".join(
            f'    "{family}": """{words(rows, " " * 8)}\n    """,\n'
            for family, rows in ROWS.items()
        )
        + "}"
    }
    for fact in ("RESHAPING", *TYPES):
        names = sorted(tables[fact] - tables[LIKE[fact]] if fact in LIKE else tables[fact])
        base = f"{LIKE[fact]} | " if fact in LIKE else ""
        bodies[fact] = f'{base}_types("""{words(names, " " * 4)}\n""")'
    for fact in SLOTS:
        rows = "".join(f'    "{name}": {slots!r},\n' for name, slots in tables[fact].items())
        bodies[fact] = f"{{\n{rows}}}"
    for fact, body in bodies.items():
        table = re.search(rf'(\n{fact}: .*? = )(.*?)(?=\n"""[A-Z])', text, re.DOTALL)
        assert table
        text = f"{text[: table.end(1)]}{body}{text[table.end() :]}"
    return text


def test_the_tables_say_what_the_rows_say(pytestconfig):
    if pytestconfig.getoption("update_words"):
        Path(facts.__file__).write_text(written(), encoding="utf-8")
        pytest.skip("written anew")
    assert written() == Path(facts.__file__).read_text(encoding="utf-8")
    found = derived()
    assert {name: getattr(facts, name) for name in found} == found


def test_a_type_stands_in_one_family():
    folder = Path(workbench.ops.rows.__file__).parent
    assert {path.stem for path in folder.glob("[!_]*.py")} == {*FAMILIES}
    assert sum(map(len, ROWS.values())) == len(all_rows())


def test_asking_for_a_fact_loads_no_rows_and_asking_for_a_row_its_family():
    code = """
import sys
from workbench.ops import IDENTITY, IN_PLACE
def rooms(): return sorted(n for n in sys.modules if n.startswith("workbench.ops.") and n.count(".") > 2)
assert rooms() == []
from workbench.ops import OPS
assert "MatMul" in OPS and "Load" not in OPS and len(OPS) > 100 and rooms() == []
OPS["HcomBroadcast"]
print(*rooms())
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == [
        "workbench.ops.kernels.collective",
        "workbench.ops.rows.collective",
    ]
