"""What is said of a form, and the lines that put it to use."""

import ast
import json
import subprocess

import pytest

import workbench as wb
from workbench.config import Context
from workbench.config.mindspore.code import SCRIPT
from workbench.config.mindspore.notes import NOTES

NAMES = [f"mindspore-{target}" for target in ("o0o1", "o2", "cpu", "gpu", "ge")]


def form(surface, **change):
    config = wb.config.new(f"mindspore-{surface}")
    for key, value in change.items():
        section = "e2e" if key.startswith("e2e_") else "common"
        config = config.set(f"{section}_dump_settings.{key.removeprefix('e2e_')}", value)
    return config


def test_the_words_of_a_form():
    config = form(
        "o0o1",
        iteration="0|5-8",
        support_device=[3],
        saved_data="statistic",
        dump_mode=1,
        kernels=["Conv2D"],
    )
    first, *rest = config.explain(Context(device=3, rank=3)).splitlines()
    assert first == (
        "MindSpore on Ascend, O0/O1, judged by MindSpore 2.10.0: iterations 0 and 5 to 8 of device "
        "3, inputs and outputs of types with 'Conv2D' in them, as statistics (max, min and l2norm) "
        "computed on the host, into /dump."
    )
    assert (
        "- the tree is /dump/rank_3/Net/GRAPH/ITERATION, with graphs and execution_order beside Net"
        in rest
    )


def test_the_words_of_an_overflow_dump():
    text = form("o0o1", op_debug_mode=3, overflow_number=5).explain()
    assert "operators that overflow (all), the first 5 of them, into /dump." in text
    assert "- after 5 overflows nothing more is dumped" in text


def test_the_words_of_an_exception_dump():
    text = form("o2", op_debug_mode=4).explain()
    assert "operators that fail on the device leave a brief record below /dump." in text
    assert "- an operator that fails leaves an exception record of ACL" in text


def test_a_refused_form_says_why():
    text = form("cpu", saved_data="full").explain()
    assert text.splitlines()[0].endswith("refused, nothing is dumped.")
    assert "saved_data must be 'tensor' on a CPU" in text


@pytest.mark.parametrize(
    ("surface", "change", "context", "words"),
    [
        ("o0o1", {"dump_mode": 2}, Context(), "mindspore.set_dump"),
        ("o0o1", {}, Context(env={"MINDSPORE_DUMP_IGNORE_USELESS_OUTPUT": "0"}), "nobody uses are dumped too"),
        ("o0o1", {}, Context(), "MINDSPORE_DUMP_IGNORE_USELESS_OUTPUT=0 keeps them"),
        ("o0o1", {}, Context("2.2"), "short operator name"),
        ("o0o1", {}, Context("2.3"), "full operator name and no dtype"),
        ("o0o1", {}, Context(env={"RANK_ID": "7"}), "/dump/rank_7/"),
        ("o2", {}, Context(), "sink size must be 1"),
        ("o2", {}, Context(device=2), "acl_dump_2.json"),
        ("o2", {}, Context(), '"exception_dump": "2"'),
        ("o2", {"file_format": "bin"}, Context(), "containers of ACL"),
        ("ge", {}, Context(), "ENABLE_MS_GE_DUMP=1"),
        ("gpu", {}, Context(), "data must not sink"),
        ("cpu", {}, Context(), "constants are never written"),
        ("o0o1", {}, Context(), "two kinds of device"),
    ],
)  # fmt: skip
def test_a_consequence_is_said(surface, change, context, words):
    assert words in form(surface, **change).explain(context)


def test_every_note_is_said_of_some_form():
    changes = [
        {},
        {"file_format": "bin"},
        {"op_debug_mode": 3, "overflow_number": 2},
        {"op_debug_mode": 4},
        {"dump_mode": 2},
        {"saved_data": "full"},
    ]
    keeps = {"MINDSPORE_DUMP_IGNORE_USELESS_OUTPUT": "0"}
    contexts = [Context(v) for v in ("2.2", "2.3", "2.5", "2.10")] + [Context("2.10", keeps)]
    said = set()
    for name in NAMES:
        surface = wb.config.get(name)
        for change in changes:
            settings = form(name.removeprefix("mindspore-"), **change).settings
            for context in contexts:
                said |= set(surface.notes(settings, context))
    for note in NOTES:
        start = note.text.partition("{")[0]
        assert any(text.startswith(start) for text in said), note.text


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


@pytest.mark.parametrize(
    ("surface", "lines"),
    [
        ("o0o1", ['jit_level="O0"']),
        ("o2", ["unset ENABLE_MS_GE_DUMP", 'jit_level="O2"', "sink_size=1"]),
        ("ge", ["export ENABLE_MS_GE_DUMP=1", "export MINDSPORE_DUMP_CONFIG=", 'jit_level="O2"']),
        ("gpu", ['device_target="GPU"', "dataset_sink_mode=False"]),
        ("cpu", ['device_target="CPU"']),
    ],
)
def test_each_surface_has_its_own_lines_in_order(surface, lines):
    text = form(surface).code()
    places = [text.index(line) for line in lines]
    assert places == sorted(places)
    assert 'export MINDSPORE_DUMP_CONFIG="$PWD"/data_dump.json' in text


def test_a_form_without_a_folder_sets_the_variable_that_names_one():
    context = Context(env={"MS_DIAGNOSTIC_DATA_PATH": "/my data"})
    assert "export MS_DIAGNOSTIC_DATA_PATH='/my data'" in form("o0o1", path="").code(context)
    assert "MS_DIAGNOSTIC_DATA_PATH" not in form("o0o1").code(context)
