"""The limits: each is read where its row says, no other judging number stands in the code, verdicts hang on them."""

from __future__ import annotations

import ast
import re
from dataclasses import fields
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from diagnosing.limits import read_limits

import workbench
from kit.build import small_dumps as small
from kit.build.small_dumps import chain, in_memory, shoot
from kit.syntax import gc_frozen, nodes_of
from workbench.comparison.engine import compare_dumps
from workbench.comparison.limits import LIMITS, Limits, limits, using

PACKAGE = Path(workbench.__file__).parent
COMPARISON = PACKAGE / "comparison"

GRAPH = chain("MatMul", "ReLU", "MatMul", "Tanh")
VALUES = small.given(GRAPH)
GOLDEN = in_memory(shoot(GRAPH, VALUES), GRAPH)


def spoiled(change):
    return in_memory(shoot(GRAPH, VALUES, alter={"Default/Tanh-op0": change}), GRAPH)


def compared(target, **options):
    return compare_dumps(target, GOLDEN, **options).result


STAY = {
    "align/cuts": "MOST_SOURCES ROUNDS",
    "bind/memory": "_MOST",
    "engine": "PACKED_FROM",
    "explain/case": "BUDGET _CHUNK _LARGE _SORTED _THIN _THIN_COST",
    "explain/changes": "_BITS _LARGEST _ROWS _SAMPLE",
    "explain/exchanged": "_MOST _TENSORS",
    "explain/explain": "_JUDGING",
    "explain/hypotheses/attributes": "_KERNELS _LARGEST _MOST _STEPS _WINDOWS",
    "explain/hypotheses/elements": "REPEAT SIDE",
    "explain/hypotheses/inside": "_LANES",
    "explain/hypotheses/outputs": "_SAMPLE",
    "explain/hypotheses/weights": "_LONGEST _MOST _PATCHES _SEARCHED",
    "explain/inferred": "_FEWEST _GUESSES _MOST _SHIFTS",
    "explain/memory": "_BLOCK _LOOKED _MOST _PIECE",
    "explain/origins": "_EARLIER _ITERATIONS",
    "explain/overwrites": "NAMED",
    "explain/pattern": "_TILE",
    "explain/regions": "_FEW",
    "explain/symptoms": "_MOST _SLICES",
    "findings/next_dump": "MAX_SUSPECTS MAX_UNSEEN",
    "findings/producers": "MOST _DEEPEST _TRIED",
    "findings/watched": "_FIRST",
    "follow/in_time/stores": "_LOOKED_AT",
    "follow/nan_origins": "_OFF _WAY",
    "graphs/named_kernels": "_MOST_PARTS",
    "graphs/source_network": "_MOST",
    "graphs/subgraphs": "MAX_DEPTH",
    "map_file": "MAX_BYTES MAX_NAME MAX_PATTERNS",
    "measure/bias": "MOST _WIDE",
    "measure/conditioning": "LARGEST",
    "measure/elements": "COUNTED LIMIT MOST _STEP",
    "measure/kernel_compiled": "_CHUNK _FIRST_WIDE _INTERFACE _MOST _SEEN",
    "measure/kernel_numpy": "CHUNK _CANCELS _FEW _PIECE _SHORT",
    "measure/metrics": "FIVE_THOUSANDTHS NEAR_ZERO ONE_THOUSANDTH",
    "measure/noise": "CUBE_INPUT INT8",
    "threads": "AHEAD LEAST_BYTES MOST_BYTES MOST_THREADS WINDOW",
    "measure/reading": "SEGMENT",
    "measure/slices": "LEAST NO_MATRIX TILE _FEWEST _MOST_ROWS _NARROWEST _TILED _WIDEST",
    "measure/statistics": "PRINTED",
    "measure/tensors": "_HUGE _MINUTE _WORTH",
    "pair/undefined/masked": "_WAY",
    "pair/undefined/unchosen": "_WAY",
    "pair/foreign": "_MOST _TELLING",
    "pair/parameters": "LAST",
    "packed_walk": "_MANY _TOGETHER",
    "replay/attempt": "_HELD",
    "replay/floors": "_STEEPEST _STEP",
    "bind/wiring": "_LARGEST _MOST",
    "replay/forecast": "_LARGEST",
    "replay/inputs": "_DEEPEST _HELD _LARGEST",
    "replay/lowering": "_MOST_READ",
    "replay/operator_file": "MAX_BYTES MAX_TEXT _DEEPEST",
    "replay/replay": "_HALF _SAMPLE",
    "replay/slices": "_CHUNK _COARSEST _DRAWS _HOLDS _MOST _STEP",
    "results/tables/rows": "_MOST_TEXT",
}
"""Module → numbers that stay: bounds of memory and time, chunks, caps against hostile files, what a format or a
device has, and how much is shown."""


def is_number(node: ast.expr) -> bool:
    """Whether an expression is a number, or computed of numbers alone."""
    leaves = [one for one in ast.walk(node) if isinstance(one, ast.expr)]
    kinds = {type(one.value) for one in leaves if isinstance(one, ast.Constant)}
    allowed = ast.Constant | ast.BinOp | ast.UnaryOp
    return kinds <= {int, float} and all(isinstance(one, allowed) for one in leaves)


def numbers(path: Path) -> set[str]:
    """Names that a module gives to numbers, one or several at once."""
    found = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign):
            target, value = node.targets[0], node.value
            several = isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple)
            pairs = zip(target.elts, value.elts, strict=True) if several else [(target, value)]
            found |= {one.id for one, given in pairs if is_number(given)}
    return found


def test_no_judging_number_stands_outside_the_limits():
    found = {
        str(path.relative_to(COMPARISON).with_suffix("")): names
        for path in COMPARISON.rglob("*.py")
        if (names := numbers(path))
    }
    assert found == {name: set(stay.split()) for name, stay in STAY.items()}


@cache
def that_name_limits() -> dict[Path, ast.Module]:
    """The modules in which the name of a limit stands, parsed."""
    named = re.compile("|".join(one.name for one in fields(Limits)))
    texts = {path: path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py")}
    with gc_frozen():
        return {path: ast.parse(text) for path, text in texts.items() if named.search(text)}


def read_in() -> dict[str, set[str]]:
    """Limit → rooms that read it."""
    names, found = {one.name for one in fields(Limits)}, {}
    for path, tree in that_name_limits().items():
        first, *rest = path.relative_to(PACKAGE).with_suffix("").parts
        for node in nodes_of(tree):
            if isinstance(node, ast.Attribute) and node.attr in names:
                found.setdefault(node.attr, set()).add(rest[0] if first == "comparison" else first)
    return found


def test_each_limit_is_read_in_its_stages_and_nowhere_else():
    said = {one.name: set(one.metadata["stages"].split()) for one in fields(Limits)}
    assert read_in() == said


def limit_reads(function: ast.AST) -> list[ast.Attribute]:
    """Where a function reads a limit, functions inside it included."""
    names = {one.name for one in fields(Limits)}
    found = [one for one in ast.walk(function) if isinstance(one, ast.Attribute)]
    return [one for one in found if one.attr in names]


def is_current(expression: ast.expr) -> bool:
    """Whether an expression is ``limits()``."""
    called = isinstance(expression, ast.Call) and isinstance(expression.func, ast.Name)
    return called and expression.func.id == "limits"


def current_names(function: ast.AST) -> set[str]:
    """Names that a function gives to ``limits()``."""
    found = set()
    for node in ast.walk(function):
        if isinstance(node, ast.Assign):
            target, value = node.targets[0], node.value
            several = isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple)
            pairs = zip(target.elts, value.elts, strict=True) if several else [(target, value)]
            found |= {one.id for one, given in pairs if is_current(given)}
    return found


def decorators(function: ast.FunctionDef) -> set[str]:
    return {
        node.id
        for one in function.decorator_list
        for node in ast.walk(one)
        if isinstance(node, ast.Name)
    }


SHARED = {"cache", "lru_cache"}
"""Decorators whose results outlive a comparison: what is kept there must not hang on its limits."""


def test_each_limit_is_read_of_the_running_comparison():
    """Inside of functions alone, as ``limits().name``, and nothing is kept of it for the next comparison."""
    wrong = []
    for path, tree in that_name_limits().items():
        functions = [one for one in nodes_of(tree) if isinstance(one, ast.FunctionDef | ast.Lambda)]
        reads = [(one, function) for function in functions for one in limit_reads(function)]
        inside = {one for one, _ in reads}
        wrong += [(path.name, one.attr) for one in limit_reads(tree) if one not in inside]
        for one, function in reads:
            named = isinstance(one.value, ast.Name) and one.value.id in current_names(function)
            kept = isinstance(function, ast.FunctionDef) and SHARED & decorators(function)
            if kept or not (named or is_current(one.value)):
                wrong.append((path.name, one.attr))
    assert wrong == []


def test_each_limit_says_what_it_is():
    for one in fields(Limits):
        assert all(one.metadata[key] for key in ("unit", "meaning", "measured_on", "stages"))


NOISY, WRONG = (spoiled(lambda x, by=by: x * np.float32(1 + by)) for by in (2**-21, 2**-20))


@pytest.mark.parametrize(
    ("target", "usual", "changed", "verdict", "said"),
    [
        (NOISY, "pass", {"pass_factor": 0.5}, "warn", "pass_factor = 0.5"),
        (WRONG, "fail", {"suspect_factor": 20.0}, "pass", "suspect_factor = 20"),
    ],
)
def test_a_changed_limit_changes_a_verdict_and_is_recorded(target, usual, changed, verdict, said):
    before = compared(target)
    assert (before.verdict, before.limits, "limits" in before.facts) == (usual, {}, False)
    now = compared(target, limits=Limits(**changed))
    assert (now.verdict, now.limits, now.facts["limits"]) == (verdict, changed, said)
    assert compared(target) == before


def test_limits_of_the_thread_are_those_of_its_comparisons():
    with using(read_limits(["suspect_factor=20"])):
        assert compared(WRONG).verdict == "pass"
        assert compared(WRONG, limits=LIMITS).verdict == "fail"
        assert limits().changed == {"suspect_factor": 20.0}
    assert limits() is LIMITS


@pytest.mark.parametrize("value", [0, -1.0, float("inf"), float("nan")])
def test_a_limit_is_a_positive_number(value):
    with pytest.raises(ValueError, match=r"^pass_factor: "):
        Limits(pass_factor=value)


@pytest.mark.parametrize(
    ("text", "message"),
    [("no_such=1", "no limit 'no_such'; known: pass_factor"), ("pass_factor", "could not convert"),
     ("fit_operators=1.5", "invalid literal"), ("pass_factor=0", "positive")],
)  # fmt: skip
def test_what_is_no_limit_is_refused(text, message):
    with pytest.raises(ValueError, match=message):
        read_limits([text])
