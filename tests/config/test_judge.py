"""A form is read once for every question, and a file that it names once."""

import ast
import dataclasses

import pytest

from kit.counting import count_forms
from workbench.config import SURFACES, Context, convert, judge, new, of, read
from workbench.core.errors import ConfigError


@pytest.fixture
def counted(monkeypatch):
    return count_forms(monkeypatch)


@pytest.mark.parametrize("name", SURFACES)
@pytest.mark.parametrize("question", ["check", "accepted", "plan", "explain", "code"])
def test_a_question_to_a_form_reads_it_once(counted, name, question):
    config = read(new(name).to_text(), name)
    counted.clear()
    getattr(config, question)()
    assert counted == {"reads": 1, "judgements": 1}


@pytest.mark.parametrize("name", SURFACES)
def test_what_was_judged_answers_every_question_without_another_look(counted, name):
    config = new(name)
    judged = config.judge()
    answers = judged.problems, judged.accepted, judged.plan(), judged.explain(), judged.code("f")
    assert counted == {"reads": 1, "judgements": 1}
    questions = config.check, config.accepted, config.plan, config.explain
    assert answers == (*(ask() for ask in questions), config.code(file="f"))


@pytest.mark.parametrize("source", SURFACES)
@pytest.mark.parametrize("target", SURFACES)
def test_a_conversion_judges_both_forms_and_one_for_each_setting(counted, source, target):
    config = new(source)
    changed = len(list(convert.set_values(config.settings)))
    counted.clear()
    config.convert(target)
    assert counted["reads"] == (1 if source == target else 2 + changed)


@pytest.mark.parametrize("name", ["tensorflow", "torchair"])
def test_a_script_is_parsed_once_however_often_it_is_judged(monkeypatch, name):
    parsed, parse = [], ast.parse

    def counting(source, *arguments, **named):
        parsed.append(source)
        return parse(source, *arguments, **named)

    text = new(name).to_text()
    monkeypatch.setattr(ast, "parse", counting)
    config = read(text, name)
    config.check()
    config.check(Context("8.0"))
    config.convert("acl")
    assert parsed == [text]


def test_a_file_that_a_form_names_is_read_once(counted, tmp_path):
    path = tmp_path / "acl.json"
    path.write_text(new("acl").to_text())
    form = of("torchair", {"dump_config": {"dump_config_path": str(path)}})
    plan = new("acl").plan()
    for question in ("check", "plan", "explain"):
        counted.clear()
        answer = getattr(form, question)(Context(here=True))
        assert counted == {"reads": 2, "judgements": 2, "loads": 1}, (
            question
        )  # the script and the file
        assert question != "plan" or answer == plan


def test_a_judgement_is_of_its_context_and_cannot_be_changed():
    config = new("acl", dump__dump_stats=["Max"], dump__dump_data="stats")
    old, today = config.judge(Context("8.0")), config.judge()
    assert "version" in [problem.id for problem in old.problems]
    assert today.problems != old.problems
    with pytest.raises(dataclasses.FrozenInstanceError):
        today.problems = ()


def test_a_refused_form_has_no_plan():
    refused = new("acl", dump__dump_path="").judge()
    assert isinstance(refused, judge.Judged)
    assert not refused.accepted
    with pytest.raises(ConfigError):
        refused.plan()
    assert refused.plan(out="/d").path == "/d"
