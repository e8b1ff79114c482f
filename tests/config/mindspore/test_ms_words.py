"""What is said of a form, and the lines that put it to use."""

import ast
import json
import subprocess

import pytest

import workbench as wb
from kit.cases import mindspore_form as form
from kit.words import check_said
from workbench.config import Context
from workbench.config.explain import plan_words
from workbench.config.mindspore.code import SCRIPT
from workbench.config.mindspore.notes import NOTES
from workbench.config.mindspore.surfaces import CPU, GE, GPU, O0O1, O2

NAMES = [surface.name for surface in (O0O1, O2, CPU, GPU, GE)]


def said(config, context=None):
    """Notes on a form by name."""
    return {note.code: note for note in config.judge(context).notes()}


def test_the_words_of_a_form():
    change = {"iteration": "0|5-8", "support_device": [3], "saved_data": "statistic"}
    config = form("o0o1", dump_mode=1, kernels=["Conv2D"], **change)
    context = Context(device=3, rank=3)
    first, *rest = config.explain(context).splitlines()
    assert str(plan_words(config.plan(context))) in first
    notes = said(config, context)
    check_said(notes["tree-kernels"], "tree-kernels", path="/dump", rank=3, net="Net")
    assert f"- {notes['tree-kernels']}" in rest
    assert "/dump/rank_3/Net/GRAPH/ITERATION" in str(notes["tree-kernels"])


def test_the_notes_on_an_overflow_dump():
    notes = said(form("o0o1", op_debug_mode=3, overflow_number=5))
    check_said(notes["overflow-limit"], "overflow-limit", limit=5)
    assert "overflow" in notes
    assert "overflow-limit" not in said(form("o0o1", op_debug_mode=3))


def test_the_notes_on_an_exception_dump():
    config = form("o2", op_debug_mode=4)
    assert plan_words(config.plan()).values["plan"].code == "config/plan-exception"
    assert "exception-acl" in said(config)


def test_a_refused_form_says_why():
    config = form("cpu", saved_data="full")
    (problem,) = (problem for problem in config.check() if problem.severity == "error")
    check_said(problem.message, "saved-data", got="full")
    assert config.explain().splitlines()[1:] == [f"- {problem}"]


@pytest.mark.parametrize(("surface", "change", "context", "note", "other"), [
    ("o0o1", {"dump_mode": 2}, Context(), "marked", "sink-size"),
    ("o0o1", {}, Context(env={"MINDSPORE_DUMP_IGNORE_USELESS_OUTPUT": "0"}), "unused-kept", "unused"),
    ("o0o1", {}, Context(), "unused", "unused-kept"),
    ("o0o1", {}, Context("2.2"), "names-short", "names-full"),
    ("o0o1", {}, Context("2.3"), "names-full", "names-short"),
    ("o2", {}, Context(), "sink-size", "sink-mode"),
    ("o2", {}, Context(), "exception-dump", "containers"),
    ("o2", {"file_format": "bin"}, Context(), "containers", "fractal-nz"),
    ("o2", {}, Context("2.7"), "tree-msprobe", "tree-o2"),
    ("ge", {}, Context(), "ge-switch", "tree-o2"),
    ("gpu", {}, Context(), "sink-mode", "sink-size"),
    ("cpu", {}, Context(), "constants-cpu", "constants"),
    ("o0o1", {}, Context(), "two-devices", "complex-cpu"),
])  # fmt: skip
def test_a_consequence_is_said(surface, change, context, note, other):
    notes = said(form(surface, **change), context)
    assert note in notes
    assert other not in notes


def test_notes_name_the_process_that_writes():
    assert "/dump/rank_7/" in str(said(form("o0o1"), Context(env={"RANK_ID": "7"}))["tree-kernels"])
    assert "acl_dump_2.json" in str(said(form("o2"), Context(device=2))["acl-json"])


def test_every_note_is_said_of_some_form():
    changes = [{}, {"file_format": "bin"}, {"op_debug_mode": 3, "overflow_number": 2}]
    changes += [{"op_debug_mode": 4}, {"dump_mode": 2}, {"saved_data": "full"}]
    keeps = {"MINDSPORE_DUMP_IGNORE_USELESS_OUTPUT": "0"}
    contexts = [Context(v) for v in ("2.2", "2.3", "2.5", "2.10")] + [Context("2.10", keeps)]
    found = set()
    for name in NAMES:
        for change in changes:
            config = form(name.removeprefix("mindspore-"), **change)
            for context in contexts:
                found |= {note.code for note in config.judge(context).notes()}
    assert {note.id for note in NOTES} <= found
    assert len({note.id for note in NOTES}) == len(NOTES)


def script(text):
    """Python behind the line that says so."""
    shell, _, python = text.partition(f"\n{SCRIPT}")
    return shell, python.partition("\n")[2]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("mode", [0, 2])
def test_the_lines_are_shell_and_python(name, mode):
    config = wb.config.new(name).set("common_dump_settings.dump_mode", mode)
    shell, python = script(config.code(file="/data/my dumps/data_dump.json"))
    subprocess.run(["bash", "-n"], input=shell, text=True, check=True)
    tree = ast.parse(python)
    calls = [node.func.attr for node in ast.walk(tree) if isinstance(node, ast.Call)]
    assert calls == ["set_context", *(["set_dump"] if mode == 2 else []), "train"]


def test_the_shell_names_the_file_that_the_form_was_saved_to(tmp_path):
    path = tmp_path / "it's here" / "data_dump.json"
    path.parent.mkdir()
    config = wb.config.new("mindspore-o2")
    config.save(path)
    shell, _ = script(wb.config.load(path).code())
    command = f'{shell}\ncat "$MINDSPORE_DUMP_CONFIG"'
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == config.data


@pytest.mark.parametrize(("surface", "lines"), [
    ("o0o1", ['jit_level="O0"']),
    ("o2", ["unset ENABLE_MS_GE_DUMP", 'jit_level="O2"', "sink_size=1"]),
    ("ge", ["export ENABLE_MS_GE_DUMP=1", "export MINDSPORE_DUMP_CONFIG=", 'jit_level="O2"']),
    ("gpu", ['device_target="GPU"', "dataset_sink_mode=False"]),
    ("cpu", ['device_target="CPU"']),
])  # fmt: skip
def test_each_surface_has_its_own_lines_in_order(surface, lines):
    text = form(surface).code()
    places = [text.index(line) for line in lines]
    assert places == sorted(places)
    assert 'export MINDSPORE_DUMP_CONFIG="$PWD"/data_dump.json' in text


def test_a_form_without_a_folder_sets_the_variable_that_names_one():
    context = Context(env={"MS_DIAGNOSTIC_DATA_PATH": "/my data"})
    assert "export MS_DIAGNOSTIC_DATA_PATH='/my data'" in form("o0o1", path="").code(context)
    assert "MS_DIAGNOSTIC_DATA_PATH" not in form("o0o1").code(context)
