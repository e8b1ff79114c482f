"""Two answers: what a release does, and what the vendor's guide says; each judged in its turn."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import workbench as wb
from kit.commands import run
from workbench.config import Context
from workbench.config.config import Config
from workbench.config.guide import E2E, GUIDE_DIFFERENCES
from workbench.config.surface import get

WRITTEN_DOWN = {
    ("mindspore-cpu", "set-dump"): ("error", ""),
    ("mindspore-gpu", "set-dump"): ("error", ""),
    **{(f"mindspore-{one}", "value"): ("error", "") for one in ("o0o1", "o2", "ge", "cpu", "gpu")},
    **{(f"mindspore-{one}", "missing"): ("error", "") for one in ("o0o1", "o2", "ge", "gpu")},
    **{(f"mindspore-{one}", "debug-mode"): ("warning", "error") for one in ("o0o1", "o2", "ge", "cpu", "gpu")},
    **{(f"mindspore-{one}", "overflow-number"): ("error", "") for one in ("o0o1", "o2", "ge", "cpu", "gpu")},
    ("mindspore-cpu", ""): ("hint", "error"),
    ("mindspore-gpu", ""): ("hint", "error"),
    ("mindspore-o0o1", ""): ("hint", "hint"),
    ("acl", "nothing-dumped"): ("warning", ""),
    ("acl", "debug-list"): ("warning", "error"),
    ("acl", "scene-key"): ("warning", "error"),
    ("acl", "path-expand"): ("warning", ""),
    ("acl", "collect-unread"): ("hint", ""),
    ("tensorflow", "debug-mode-dropped"): ("warning", ""),
    ("tensorflow", "ge-both"): ("warning", "error"),
    ("tensorflow", "step-order"): ("error", ""),
    ("torchair", "config-path-and-options"): ("warning", "error"),
    ("torchair", ""): ("hint", "warning"),
}  # fmt: skip
"""Surface and problem → what it is for the release, and for the guide (empty: right), from code and documents."""

EACH = [(name, difference) for difference in GUIDE_DIFFERENCES for name in difference.on.split()]
NAMES = [f"{name} {difference.rule or difference.path}" for name, difference in EACH]


def examples(name, difference):
    """A form that has the problem, and the context it is judged in."""
    rules = (rule.breaks for rule in get(name).rules if rule.id == difference.rule)
    example = difference.breaks or next(rules)
    if isinstance(example.form, str):
        return wb.config.read(example.form, surface=name), example.context
    return Config(get(name), example.form), example.context


def about(problems, difference):
    ids = (difference.rule, "guide")
    return [one for one in problems if one.path == difference.path and one.id in ids]


@pytest.mark.parametrize(("name", "difference"), EACH, ids=NAMES)
def test_a_release_is_judged_by_its_code_with_the_guide_s_word_behind_it(name, difference):
    form, context = examples(name, difference)
    [found] = about(form.check(context), difference)
    assert found.message.words.endswith(difference.says)
    assert ("said" in found.message.values) == bool(difference.rule)
    assert found.severity == WRITTEN_DOWN[name, difference.rule][0]


@pytest.mark.parametrize(("name", "difference"), EACH, ids=NAMES)
def test_the_guide_s_own_word_counts_where_it_is_asked(name, difference):
    form, context = examples(name, difference)
    found = about(form.check(replace(context, version="guide")), difference)
    assert "".join(one.severity for one in found) == WRITTEN_DOWN[name, difference.rule][1]


def test_every_difference_is_written_down():
    assert {(name, difference.rule) for name, difference in EACH} == WRITTEN_DOWN.keys()


HELD = {
    1: "dump/formats/test_mindspore_name.py", 2: "dump/formats/test_mindspore_name.py",
    3: "graph_files/mindspore", 4: "graph_files/mindspore", 5: "dump/statistics/test_statistic.py",
    6: "overflow-number", 7: "debug-mode", 8: "missing", 9: f"{E2E}.enable",
    10: "config/mindspore/test_ms_plan.py", 11: "config/mindspore/test_ms_plan.py", 12: "set-dump",
    13: "dump/write/test_mindspore.py", 14: "value", 15: "dump/test_releases.py",
    16: "config/mindspore/test_ms_kernels.py", 17: "dump/write/test_ge.py", 18: "dump/formats/test_renamed.py",
    19: "simulation/test_graph_files.py", 20: "step-order", 21: "collect-unread", 22: "nothing-dumped",
    23: "mode", 24: "debug-list", 25: "scene-key", 26: "dump/reports", 27: "dump/formats/test_table.py",
    28: "debug-mode-dropped", 29: "config-path-and-options", 30: "path-expand", 31: "config/test_ge.py",
}  # fmt: skip
"""Where documents and code disagree, in the order in which it was found → the difference that is said of a form, or
the tests of what no form decides."""


def test_every_disagreement_is_said_or_held_elsewhere():
    assert [*HELD] == [*range(1, 32)]
    said = {one.rule or one.path for one in GUIDE_DIFFERENCES}
    for held in HELD.values():
        assert held in said or (Path(__file__).parents[1] / held).exists(), held
    # beside them one that the guide says of the reader, and the code of what reads after it
    assert said - {*HELD.values()} == {"ge-both"}


@pytest.mark.parametrize("enabled", [False, True])
def test_a_mode_matters_to_the_guide_where_a_dump_is_on(enabled):
    data = {"mode": "npugraph_ex", "dump_config": {"enable_dump": enabled, "dump_path": "/d"}}
    found = [one for one in wb.config.of("torchair", data).check(Context()) if one.path == "mode"]
    assert ([one.id for one in found] == ["guide"]) == enabled


FORMS = {
    "iterations": ("mindspore-o0o1", "common_dump_settings.iteration", "0 | 5-8 | 100-120"),
    "home": ("acl", "dump.dump_path", "$HOME/output"),
    "range": ("tensorflow", "dump.dump_step", "3-3"),
}


@pytest.mark.parametrize("case", FORMS)
def test_the_documents_own_examples_are_right_by_the_guide(case):
    name, path, value = FORMS[case]
    form = wb.config.new(name).set(path, value)
    assert about_path(form.check(Context()), path)
    assert not about_path(form.check(Context(version="guide")), path)
    assert form.accepted(Context(version="guide"))


def about_path(problems, path):
    return [one for one in problems if one.path == path and one.severity != "hint"]


def test_what_the_guide_reads_is_planned():
    form = wb.config.new("mindspore-o0o1").set("common_dump_settings.iteration", "0 | 5-8")
    assert str(form.plan(Context(version="guide")).iterations) == "0|5-8"


def test_the_command_takes_the_guide_for_a_version(tmp_path, capsys):
    form = wb.config.new("mindspore-o0o1").set("common_dump_settings.iteration", "0 | 5-8")
    form.save(tmp_path / "form.json")
    checked = (capsys, "config", "check", tmp_path / "form.json")
    assert run(*checked).status != 0
    assert run(*checked, "--target-version", "guide").status == 0
