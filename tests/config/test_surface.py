"""A form keeps everything of its file, and its problems come in order with their lines."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.words import check_said, misconfigured, refused
from workbench import config as surfaces
from workbench.config import files
from workbench.config.config import Config, read_text
from workbench.config.context import Context
from workbench.config.form.json_text import decode_json
from workbench.config.form.rules import Example, Rule
from workbench.config.form.settings import Section, always, section, sections, text
from workbench.config.surface import Lowered, Surface
from workbench.core.errors import ConfigError, FormatError
from workbench.core.plan import DumpPlan, Iterations
from workbench.core.problems import Problem
from workbench.core.words import Message, RowMessage


class Inner(Section):
    step: str = text("0", "Iterations.")
    path: str = text("", "Folder.", required=always)


class Toy(Section):
    dump: Inner = section(Inner)
    many: tuple[Inner, ...] = sections(Inner)


def _relative(reading, at):
    values = {"got": at.value, "version": reading.context.version, "code": "T7"}
    return not at.value.startswith("/") and values


def decode(text, where):
    tabs = (Problem("tab", "hint", "", RowMessage("tab", "a tab"), line=1),)
    return replace(decode_json(text, where), problems=tabs if "\t" in text else ())


NOTHING = (Example({}),) * 2
RULES = (
    Rule("void", "error", "dump.step", lambda _, at: at.value == "", "{key} is empty", "Write 0.", "toy.cc",
         *NOTHING, "T1"),
    Rule("relative", "error", "dump.path", _relative, "{got} in {version}", "", "", *NOTHING),
    Rule("env", "hint", "dump.step", lambda reading, _: reading.context.variable("TOY"), "TOY sets {path}",
         "Unset {key}.", "", *NOTHING),
)  # fmt: skip
TOY = Surface(
    name="toy",
    title="Toy",
    product="Toyware",
    version="1.5",
    source="toy.cc",
    language="json",
    model=Toy,
    rules=RULES,
    template=lambda: {"dump": {"path": "/d"}},
    plan=lambda reading: DumpPlan(
        reading.form.dump.path, iterations=Iterations.parse(reading.form.dump.step)
    ),
    from_plan=lambda plan: Lowered({"dump": {"path": plan.path, "step": str(plan.iterations)}}),
    notes=lambda reading: [RowMessage("folder", "Toys: {path}", path=reading.form.dump.path)],
    code=lambda reading, file: f"run {file} with {reading.context.version}",
    recognises=lambda data: "dump" in data,
    value_code=lambda key, _value: f"V-{key}",
    path_key="dump.path",
    decode=decode,
)


def ids(config, context=None):
    return [p.id for p in config.check(context)]


def test_problems_come_as_text_then_declarations_then_rules_and_know_their_lines():
    text = '{"x": 1,\t"dump": {\n"path": "d",\n"step": "",\n"step": ""}}\n!'
    found = [(p.id, p.path, p.line, p.code) for p in read_text(TOY, text).check()]
    assert found == [
        ("tab", "", 1, ""),
        ("duplicate-key", "dump.step", 4, ""),
        ("trailing-text", "", 5, ""),
        ("unknown-key", "x", 1, ""),
        ("void", "dump.step", 4, "T1"),
        ("relative", "dump.path", 2, "T7"),
    ]


def test_a_missing_key_stands_where_its_section_stands():
    (problem, *_) = read_text(TOY, '{\n"dump": {}}').check()
    found = (problem.id, problem.path, problem.line, problem.code)
    assert found == ("missing", "dump.path", 2, "V-path")


def test_a_rule_is_silent_where_the_value_itself_is_refused():
    assert ids(Config(TOY, {"dump": {"path": 7, "step": ""}})) == ["value", "void"]


def test_the_version_is_the_surfaces_own_unless_another_is_told():
    config = Config(TOY, {"dump": {"path": "d"}})
    check_said(config.check()[0].message, "relative", version="1.5")
    check_said(config.check(Context("2.0"))[0].message, "relative", version="2.0")
    assert config.code(file="f") == "run f with 1.5"


def test_a_rule_sees_the_context_and_names_path_key_and_value():
    config = Config(TOY, {"dump": {"path": "/d"}})
    assert ids(config) == []
    (problem,) = config.check(Context(env={"TOY": "1"}))
    assert problem.message.values == {"path": "dump.step", "key": "step", "got": "0"}
    assert str(problem) == f"{problem.message}. {problem.fix}" == "TOY sets dump.step. Unset step."
    config = config.set("dump.step", "")
    assert config.check()[0].message.values == {"path": "dump.step", "key": "step", "got": ""}


def test_a_surface_may_order_its_problems():
    backwards = replace(TOY, order=lambda problem, data: -len(problem.path) * len(data))
    config = Config(backwards, {"dump": {"path": "d", "step": ""}, "x": 1})
    assert ids(config) == ["void", "relative", "unknown-key"]


def test_an_accepted_form_has_a_plan_and_a_refused_one_raises_all_its_errors():
    good = Config(TOY, {"dump": {"path": "/d", "step": "3"}})
    assert good.accepted()
    assert good.plan() == DumpPlan("/d", iterations=Iterations(((3, 3),)))
    bad = Config(TOY, {"dump": {"path": "d", "step": ""}})
    assert not bad.accepted()
    with pytest.raises(ConfigError) as caught:
        bad.plan()
    assert [p.id for p in caught.value.problems] == ["void", "relative"]


def test_another_folder_may_stand_for_the_forms_own():
    config = Config(TOY, {"dump": {"path": "d"}})
    assert config.plan(out="/out").path == "/out"
    with misconfigured("void", "void", got=""):
        config.set("dump.step", "").plan(out="/out")


def test_changes_are_new_forms():
    config = Config(TOY, {"dump": {"path": "/d"}}, path="f.json")
    changed = config.set("many[0].path", "/x").unset("dump.path")
    assert changed.data == {"dump": {}, "many": [{"path": "/x"}]}
    assert config.data == {"dump": {"path": "/d"}}
    assert changed.path == "f.json"
    assert config.unset("dump.step").data == config.data


def test_a_form_is_written_as_it_was_read(tmp_path):
    data = {"z": [1.5, None, True, {"é": "\u2028"}], "dump": {"path": 3}, "": "\n"}
    path = Config(TOY, data).save(tmp_path / "f.json")
    assert json.loads(path.read_text(encoding="utf-8")) == data
    assert read_text(TOY, path.read_text(encoding="utf-8")).data == data


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=8,
).filter(lambda value: "\\ud" not in json.dumps(value))
FORMS = st.dictionaries(st.sampled_from(["dump", "many"]) | st.text(max_size=3), JSON).filter(
    lambda value: "\\ud" not in json.dumps(value)
)


@given(FORMS)
def test_any_form_goes_out_and_in_and_is_judged(data):
    config = Config(TOY, data)
    assert read_text(TOY, config.to_text()).data == data
    assert all(p.message and p.severity in ("error", "warning", "hint") for p in config.check())
    assert isinstance(config.explain(), str)


def test_the_deepest_form_that_is_read_is_written_and_judged():
    text = '{"dump": ' + "[" * 499 + "]" * 499 + "}"
    config = read_text(TOY, text)
    assert read_text(TOY, config.to_text()).data == config.data
    assert ids(config)[0] == "value"


@pytest.mark.parametrize(("text", "got"), [
    ("[{}]", "array"),
    ("1", "number"),
    ("-1.5", "number"),
    ('"x"', "string"),
    ("null", "null"),
    ("true", "true"),
])  # fmt: skip
def test_a_form_is_an_object(text, got):
    with refused("config/not-an-object", FormatError, place="f.json:1", got=got):
        read_text(TOY, text, "f.json")


def test_a_key_never_breaks_the_line_of_its_problem():
    form = read_text(TOY, '{"a\\nb": 1, "a\\nb": 2, "": 3}')
    problems = [problem for problem in form.check() if problem.path != "dump.path"]
    assert [(problem.message.code, problem.message.values["path"]) for problem in problems] == [
        ("config/duplicate-key", r"'a\nb'"),
        ("config/ignored-key", r"'a\nb'"),
        ("config/ignored-key", "''"),
    ]
    assert not any("\n" in str(problem) for problem in problems)


def test_text_behind_the_form_is_refused_where_the_vendor_refuses_it():
    with refused("config/text-after", FormatError, place="<text>:2"):
        read_text(replace(TOY, strict_end=True), "{}\nx")
    assert "trailing-text" in ids(read_text(TOY, "{}\nx"))


def test_an_explanation_is_the_plan_in_words_or_what_refuses_it():
    good = Config(TOY, {"dump": {"path": "/d"}, "x": 1})
    lines = good.explain().splitlines()
    assert lines[0].startswith("Toy, judged by Toyware 1.5: iteration 0, inputs and outputs of")
    assert lines[1] == "- Toys: /d"
    (unknown,) = (problem for problem in good.check() if problem.path == "x")
    assert lines[2] == f"- warning: {unknown}"
    bad = good.set("dump.path", "d").explain(Context("2"))
    assert bad.splitlines() == ["Toy, judged by Toyware 2: refused, nothing is dumped.", "- d in 2"]


# the table of surfaces


@pytest.mark.parametrize("name", surfaces.SURFACES)
def test_a_surface_is_called_as_the_table_calls_it_and_starts_well(name):
    surface = surfaces.get(name)
    assert surface.name == name
    form = surfaces.new(name)
    assert form.accepted()
    assert form.plan().iterations.ranges != ()
    assert surfaces.read(form.to_text(), name).data == form.data


JSON_NAMES = [name for name in surfaces.SURFACES if surfaces.get(name).language == "json"]
SHARED = {
    "mindspore-cpu": "mindspore-o0o1",
    "mindspore-gpu": "mindspore-o0o1",
    "mindspore-ge": "mindspore-o2",
    "msprobe-mindspore": "msprobe",
}
"""Surfaces whose form another one claims, because their content is the same."""


@pytest.mark.parametrize("name", surfaces.SURFACES)
def test_a_form_is_recognised_by_its_content(name):
    text = surfaces.new(name).to_text()
    assert files.recognise(text) == SHARED.get(name, name)
    assert files.recognise("\ufeff" + text) == SHARED.get(name, name)


@pytest.mark.parametrize(("text", "code", "values"), [
    ("{}", "config/unknown-form", {"keys": []}),
    ('{"a": 1}', "config/unknown-form", {"keys": ["a"], "known": JSON_NAMES}),
    ("[]", "config/not-an-object", {"got": "array"}),
    ("x = 1", "config/unknown-script", {"known": ["tensorflow", "torchair"]}),
])  # fmt: skip
def test_what_is_no_form_says_what_it_is(text, code, values):
    with refused(code, FormatError, place="f:1", **values):
        files.recognise(text, "f")


def test_settings_of_a_new_form_are_changed_by_path():
    form = surfaces.new("acl", dump__dump_mode="all")
    assert form.data["dump"]["dump_mode"] == "all"
    with misconfigured("surface", "core/choice", subject="surface", got="caffe"):
        surfaces.new("caffe")


@pytest.mark.parametrize(("data", "line", "code", "values"), [
    *[(cut, 1, "config/json", {"why": Message("config/json-end", got="", limit=500)}) for cut in (b"", b"{")],
    (b'{\n"a": \xff}', 2, "config/encoding", {"byte": 7, "encoding": "UTF-8"}),
    ('{"a": 1}'.encode("utf-16"), 1, "config/encoding", {"byte": 0}),
    (b"\x80\x04K\x01.", 1, "config/encoding", {"byte": 0}),
    (b'{"dump": ' * 1_200_000, 1, "config/json", {"why": Message("config/json-deep", got="{", limit=500)}),
])  # fmt: skip
def test_a_bad_file_is_refused_with_its_line(tmp_path, data, line, code, values):
    path = tmp_path / "dump.json"
    path.write_bytes(data)
    with refused(code, FormatError, place=f"{path}:{line}", **values):
        surfaces.load(path)


def test_what_is_no_file_is_one_clear_line(tmp_path):
    for path, code, values in (
        (tmp_path, "core/not-a-file", {}),
        (tmp_path / "missing.json", "core/unreadable", {"why": "No such file or directory"}),
        (tmp_path / ("x" * 300), "core/unreadable", {"why": "File name too long"}),
        ("a\0b", "core/unreadable", {}),
        ("/dev/null", "core/not-a-file", {}),
    ):
        with refused(code, FormatError, place=str(path), subject="configuration", **values):
            surfaces.load(path)


def test_a_file_too_large_is_not_read(tmp_path):
    path = tmp_path / "large.json"
    with path.open("wb") as file:
        file.truncate(files.MAX_BYTES + 1)
    with refused("core/too-large", FormatError, got=16777217, limit=16777216):
        surfaces.load(path)


def test_windows_line_ends_and_a_byte_order_mark_change_nothing(tmp_path):
    form = surfaces.new("acl")
    path = tmp_path / "acl.json"
    path.write_bytes(b"\xef\xbb\xbf" + form.to_text().replace("\n", "\r\n").encode())
    assert surfaces.load(path).data == form.data


SCRIPT = "import torchair\nconfig = torchair.CompilerConfig()\nconfig.dump_config.dump_path = "


@pytest.mark.parametrize(("first", "encoding"), [
    ("# -*- coding: latin-1 -*-", "latin-1"),
    ("#!/usr/bin/python\n# vim: set fileencoding=gbk :", "gbk"),
    ("# coding: utf-8", "utf-8"),
    ("", "utf-8"),
    ("# coding of the config", "utf-8"),
    ("x = 1\n# coding: latin-1", "utf-8"),  # only a comment before any code declares
])  # fmt: skip
def test_a_script_is_read_in_the_encoding_that_it_declares(tmp_path, first, encoding):
    path = tmp_path / "train.py"
    folder = "/\u9879\u76ee" if encoding != "latin-1" else "/d\u00e9j\u00e0"
    path.write_bytes(f"{first}\n{SCRIPT}{folder!r}\n".encode(encoding))
    assert surfaces.load(path).data == {"dump_config": {"dump_path": folder}}


@pytest.mark.parametrize("encoding", ["nonsense", "rot13", "zlib", "punycode", "unicode_escape"])
def test_a_script_in_an_encoding_that_is_none_is_one_clear_line(tmp_path, encoding):
    path = tmp_path / "train.py"
    path.write_text(f"#!python\n# coding: {encoding}\n{SCRIPT}'/d'\n")
    with refused("config/unknown-encoding", FormatError, place=f"{path}:2", got=encoding):
        surfaces.load(path)


def test_text_that_its_encoding_does_not_know_is_one_clear_line(tmp_path):
    path = tmp_path / "train.py"
    path.write_bytes(b"# coding: ascii\nx = 1\n# caf\xe9\n")
    with refused("config/encoding", FormatError, place=f"{path}:3", byte=27, encoding="ascii"):
        surfaces.load(path)


@pytest.mark.parametrize("name", ["tensorflow", "torchair"])
def test_a_script_has_a_size_beyond_which_it_is_not_read(name):
    text = surfaces.new(name).to_text()
    with refused("config/script-long", FormatError, place="x.py:1", limit=files.MAX_SCRIPT):
        surfaces.read(text + "#" * files.MAX_SCRIPT, name, "x.py")
