"""Plans in words: every part of a plan changes what is said, and nothing else is said."""

from dataclasses import fields, replace

import pytest

from workbench.config import surfaces
from workbench.config.surfaces import read
from workbench.config.words import (
    PARTS,
    iterations_words,
    join,
    omission_words,
    part_words,
    plan_words,
    selector_words,
)
from workbench.core.plan import DumpPlan, Exclusion, Iterations, Selector

PLAN = DumpPlan("/d")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("all", "every iteration"),
        ("", "no iteration"),
        ("x", "no iteration"),
        ("9-3", "no iteration"),
        ("0", "iteration 0"),
        ("3-3", "iteration 3"),
        ("0|5", "iterations 0 and 5"),
        ("5-8", "iterations 5 to 8"),
        ("0|5-8|10|9-3", "iterations 0, 5 to 8 and 10"),
        ("1|3|5|7|9|11|13|15|17", "iterations 1, 3, 5, 7, 9, 11, 13 and 2 more"),
    ],
)
def test_iterations(text, words):
    assert iterations_words(Iterations.parse(text)) == words


@pytest.mark.parametrize(
    ("items", "words"),
    [
        ([], ""),
        (["a"], "a"),
        (["a", "b"], "a and b"),
        (["a", "b", "c"], "a, b and c"),
        (list("abcdefgh"), "a, b, c, d, e, f, g and h"),
        (list("abcdefghi"), "a, b, c, d, e, f, g and 2 more"),
    ],
)
def test_lists(items, words):
    assert join(items) == words


@pytest.mark.parametrize(
    ("selector", "words"),
    [
        (Selector("all"), "every operator"),
        (Selector("name", "a/b"), "'a/b'"),
        (Selector("name", "a", model="m"), "'a' of model 'm'"),
        (Selector("type", "conv"), "types with 'conv' in them"),
        (Selector("regex", ".*fc"), "names that match '.*fc'"),
        (Selector("marked"), "operators marked with set_dump"),
        (Selector("range", "a", "b"), "operators from 'a' to 'b'"),
    ],
)
def test_selectors(selector, words):
    assert selector_words(selector) == words


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        (Exclusion("type", "Add"), "type 'Add'"),
        (Exclusion("name", "a", ("input0", "output1")), "input0, output1 of name 'a'"),
        (Exclusion("name", "a", (), "m"), "name 'a' in model 'm'"),
    ],
)
def test_blacklist_entries(entry, words):
    assert omission_words(entry) == words


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (
            {},
            "every iteration, inputs and outputs of every operator, whole, as npy files in host "
            "format, into /d",
        ),
        (
            {"iterations": Iterations.parse("0|5-8"), "ranks": (3,), "saved": "statistic"},
            "iterations 0 and 5 to 8 of rank 3, inputs and outputs of every operator, as statistics "
            "(max, min and l2norm) computed on the host, into /d",
        ),
        (
            {"io": frozenset(["input"]), "files": "bin", "host_format": False, "devices": (0, 1)},
            "every iteration of devices 0 and 1, inputs of every operator, whole, as binary "
            "containers in the device's format, into /d",
        ),
        (
            {"sample": 9, "files": "pt", "omit": (Exclusion("type", "Add"),), "devices": ()},
            "every iteration of no device, inputs and outputs of every operator except type 'Add', "
            "as torch files (first 9 elements), into /d",
        ),
        (
            {"saved": "full", "select": (Selector("name", "A"), Selector("type", "b"))},
            "every iteration, inputs and outputs of 'A' and types with 'b' in them, whole, as npy "
            "files in host format and as statistics (max, min and l2norm) computed on the host, "
            "into /d",
        ),
        ({"iterations": Iterations(())}, "no tensor is dumped"),
        ({"iterations": Iterations(((9, 3),))}, "no iteration matches, nothing is dumped"),
        (
            {"io": frozenset()},
            "every iteration, nothing of every operator, whole, as npy files in host format, into "
            "/d",
        ),
        (
            {"kind": "overflow", "limit": 3},
            "every iteration, operators that overflow (all), the first 3 of them, into /d",
        ),
        (
            {"kind": "overflow", "overflow": "aicore_overflow"},
            "every iteration, operators that overflow (aicore_overflow), each of them, into /d",
        ),
        (
            {"kind": "watch", "watched": ("C", "D"), "select": (Selector("name", "A"),)},
            "every iteration, outputs of 'C' and 'D' after 'A' and after themselves, into /d",
        ),
        (
            {"kind": "exception", "detail": "brief"},
            "operators that fail on the device leave a brief record below /d",
        ),
        (
            {"kind": "exception", "detail": "norm", "path": ""},
            "operators that fail on the device leave a norm record",
        ),
    ],
)
def test_plans(changes, words):
    assert plan_words(replace(PLAN, **changes)) == words


@pytest.mark.parametrize(
    ("count", "words"), [(0, "0 operators"), (1, "1 operator"), (12, "12 operators")]
)
def test_operators_are_counted_where_their_number_is_known(count, words):
    assert f"outputs of {words}, whole" in plan_words(PLAN, count)


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("iterations", Iterations.parse("1"), "iteration 1"),
        ("select", (), "every operator"),
        ("select", (Selector("name", "A"),), "'A'"),
        ("omit", (), "none"),
        ("omit", (Exclusion("type", "Add"),), "type 'Add'"),
        ("devices", None, "every one"),
        ("devices", (10, 2), "10 and 2"),
        ("devices", (), "none"),
        ("io", frozenset(["output", "input"]), "input and output"),
        ("statistics", ("max", "avg"), "max and avg"),
        ("single_op", True, "yes"),
        ("single_op", False, "no"),
        ("sample", None, "none"),
        ("sample", 5, "5"),
        ("path", "", "none"),
        ("path", "/d", "'/d'"),
    ],
)
def test_the_value_of_a_part(name, value, words):
    assert part_words(name, value) == words


def test_every_part_of_a_plan_is_called_something_of_its_own():
    assert set(PARTS) == {part.name for part in fields(DumpPlan)}
    assert len(set(PARTS.values())) == len(PARTS)
    values = list(PARTS.values())
    assert not [(a, b) for a in values for b in values if a != b and b.startswith(f"{a} ")]


def test_what_only_the_run_knows_is_not_told_as_if_it_were_set():
    text = "from npu_bridge.npu_init import *\nd = DumpConfig(True, {}, args.step)\n"
    first = read(text.format("args.path"), "tensorflow").explain().splitlines()[0]
    assert "into a folder that only the run knows; only" in first
    assert first.endswith("; only the run knows dump.dump_path and dump.dump_step.")
    first = read(text.format("'/d'"), "tensorflow").explain().splitlines()[0]
    assert first.endswith("into /d; only the run knows dump.dump_step.")


def test_an_explanation_never_breaks_its_lines_or_steers_the_terminal():
    form = surfaces.new("acl", dump__dump_path="d\n\x1b[2J\u202e")
    lines = form.explain().split("\n")
    assert all(line.isprintable() for line in lines)
    assert r"into d\n\x1b[2J\u202e." in lines[0]
    assert len(lines) == len(surfaces.new("acl").explain().split("\n"))


def test_a_folder_that_is_not_known_is_not_named():
    assert plan_words(replace(PLAN, path="")).endswith("as npy files in host format")
