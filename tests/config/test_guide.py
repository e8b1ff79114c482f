"""Two voices: what a release does, and what the vendor's guide says; each judged in its turn."""

from __future__ import annotations

from dataclasses import replace

import pytest

import workbench as wb
from kit.commands import run
from workbench.config import Context
from workbench.config.config import Config
from workbench.config.guide import VOICES
from workbench.config.surface import get

EACH = [(name, voice) for voice in VOICES for name in voice.on.split()]
NAMES = [f"{name} {voice.rule or voice.path}" for name, voice in EACH]


def examples(name, voice):
    """A form that has the problem, and the context it is judged in."""
    rules = (rule.breaks for rule in get(name).rules if rule.id == voice.rule)
    example = voice.breaks or next(rules)
    if isinstance(example.form, str):
        return wb.config.read(example.form, surface=name), example.context
    return Config(get(name), example.form), example.context


def about(problems, voice):
    return [one for one in problems if one.path == voice.path and one.id in (voice.rule, "guide")]


@pytest.mark.parametrize(("name", "voice"), EACH, ids=NAMES)
def test_a_release_is_judged_by_its_code_with_the_guide_s_word_behind_it(name, voice):
    form, context = examples(name, voice)
    [found] = about(form.check(context), voice)
    assert found.message.words.endswith(voice.says)
    assert ("said" in found.message.values) == bool(voice.rule)
    assert found.severity == ("hint" if not voice.rule else severity_of(name, voice))


def severity_of(name, voice):
    severities = {rule.id: rule.severity for rule in get(name).rules}
    return severities.get(voice.rule, "error")  # a value that does not fit, or is missing


@pytest.mark.parametrize(("name", "voice"), EACH, ids=NAMES)
def test_the_guide_s_own_word_counts_where_it_is_asked(name, voice):
    form, context = examples(name, voice)
    found = about(form.check(replace(context, version="guide")), voice)
    assert [one.severity for one in found] == ([voice.severity] if voice.severity else [])


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
    status, _, _ = run(capsys, "config", "check", tmp_path / "form.json")
    assert status != 0
    status, _, _ = run(
        capsys, "config", "check", tmp_path / "form.json", "--target-version", "guide"
    )
    assert status == 0
