"""Every sentence of the screen has its Chinese, with the same values; `zh.txt` shows them side by side."""

from __future__ import annotations

import re

import pytest

from kit.words import SNAPSHOTS, fields, fields_in, read_snapshot
from workbench.core.words import render
from workbench.core.words.translate import LANGUAGES, Say, chinese

AREAS = ("show", "explorer", "ui")
MAPS = [f"job/{name}" for name in render.table("job") if name.startswith("map-")]
"""What the map of a job says; all else of jobs is English."""

CODES = [*(f"{area}/{name}" for area in AREAS for name in render.table(area)), *MAPS]
SNAPSHOT = SNAPSHOTS / "zh.txt"
NAMES = {
    "CSV", "JSON", "HTML", "ULP", "NPU", "NaN", "Inf", "dump", "rank", "Rank", "workbench", "Workbench", "anywidget",
    "pip", "install", "Ctrl", "C", "PageUp", "PageDown", "True", "False", "None", "Export", "Comparison", "wb",
    "config", "new", "mindspore", "o0o1", "Trees", "target", "golden", "kind", "operator", "parameters", "inputs", "x",
    "MiB", "Python", "trace", "error", "log10", "RelativeEuclideanDistance", "t", "g", "d",
}  # fmt: skip
"""Words that are names in Chinese too."""


def test_every_sentence_of_the_screen_has_its_chinese_and_no_other_is_left():
    extra = {code for code in chinese() if code.partition("/")[0] in (*AREAS, "job")} - set(CODES)
    assert (sorted(set(CODES) - chinese().keys()), sorted(extra)) == ([], [])


@pytest.mark.parametrize("code", sorted(chinese()))
def test_chinese_words_have_the_same_values_and_are_chinese(code):
    words = chinese()[code]
    assert set(fields_in(words)) == fields(code)
    left = set(re.findall(r"[A-Za-z][A-Za-z0-9]*", re.sub(r"\{[^}]*\}", "", words)))
    assert left - NAMES == set()


def test_the_snapshot_shows_every_chinese_sentence(pytestconfig):
    values = {
        code: held for area in (*AREAS, "job") for code, (held, _) in read_snapshot(area).items()
    }
    say = Say("zh")
    text = "\n".join(f"{code}\n    {say(code, **values.get(code, {}))}" for code in CODES) + "\n"
    if pytestconfig.getoption("update_words"):
        SNAPSHOT.write_text(text, encoding="utf-8")
    assert SNAPSHOT.read_text(encoding="utf-8") == text


def test_each_language_says_it_in_its_own_words():
    assert {Say(language)("ui/run") for language in LANGUAGES} == {
        render.template("ui/run"),
        chinese()["ui/run"],
    }
