"""Names that a dump or a form may hold although nobody would choose them: a terminal obeys nothing of them."""

import io
import json
import sys
import time
from itertools import product

import pytest

import workbench as wb
from kit import hostile
from kit.cases import nightly
from kit.commands import status
from kit.hostile import NAMES, controls
from workbench.cli.terminal import progress

FORGED = ("error: forged", "pass: all agree")


@pytest.fixture(scope="module")
def trees(tmp_path_factory):
    return [str(side) for side in hostile.trees(tmp_path_factory.mktemp("trees"))]


@pytest.fixture
def command(capfdbinary):
    """Run the command; gives status, stdout and stderr as a terminal would get them."""

    def run(*arguments):
        code = status(*arguments)
        out, err = (text.decode("utf-8") for text in capfdbinary.readouterr())
        for text in (out, err):
            assert controls(text) == []
            assert not set(FORGED) & set(text.splitlines())
        return code, out, err

    return run


@pytest.mark.criterion(29)
def test_compare_says_names_and_obeys_none(command, trees, tmp_path):
    code, out, err = command(
        "compare", *trees, "--json", tmp_path / "a.json", "--csv", tmp_path / "a.csv", "--html", tmp_path / "a.html",
        "--next-config", tmp_path / "next.json",
    )  # fmt: skip
    assert code == 1, err
    assert "1. [own-error]" in out
    assert "</script><script>" in out
    assert max(map(len, out.splitlines())) < 5000
    told = json.loads((tmp_path / "a.json").read_text(encoding="utf-8"))
    assert told["target"]["path"] == trees[0]


def test_json_on_the_terminal_is_the_same(command, trees, tmp_path):
    command("compare", *trees, "--json", tmp_path / "a.json")
    _, out, _ = command("compare", *trees, "--json", "-")
    assert json.loads(out) == json.loads((tmp_path / "a.json").read_text(encoding="utf-8"))


def test_inspect_says_and_spells_the_same(command, trees):
    code, out, _ = command("inspect", trees[0])
    assert code == 0
    assert r"\x1b[31m" in out
    code, out, _ = command("inspect", trees[0], "--json")
    assert json.loads(out)["path"] == trees[0]


def test_a_minimal_case_and_a_report_of_such_a_folder_are_written(command, trees, tmp_path):
    folder = tmp_path / "case\x1b[31m\u202e\udcff"
    _, _, err = command("compare", *trees, "--extract", folder)
    assert r"case\x1b[31m\u202e\udcff" in err
    assert (folder / "reproduce.py").exists()


PASSED = [key for key in NAMES if key not in ("nul", "surrogate")]
"""Names that a command can be given."""
DAILY = (
    *("script", "override", "long", "wide", "colour", "title", "return", "line", "separator"),
    *("braces", "percent"),
)
"""All that a terminal obeys, markup, and what templates and formats read; others are plain text there."""


def asked(name, trees, out):
    """What takes a name from the user: arguments of commands."""
    return (
        ("compare", f"/no/{name}", trees[1]),
        ("compare", *trees, "--target-graph", f"/no/{name}"),
        ("compare", *trees, "--map", f"/no/{name}"),
        ("compare", *trees, "--rank", name),
        ("compare", *trees, "--profile", name),
        ("compare", *trees, "--target-model", name),
        ("inspect", trees[0], "--at", name),
        ("inspect", f"/no/{name}"),
        ("convert", f"/no/{name}", "--out", out),
        ("config", "explain", f"/no/{name}"),
        ("config", "check", f"/no/{name}"),
        ("config", "new", f"x{name}"),
        ("config", "schema", f"x{name}"),
        ("simulate", "--graph", f"x{name}", "--config", f"/no/{name}", "--out", out),
        (f"x{name}",),
        ("compare", f"--x{name}"),
        ("lab", trees[0], "--port", f"x{name}"),
    )


TURNS = 3
TRIALS = [*product(PASSED, range(TURNS))]
BY_TURNS = [(key, number % TURNS) for number, key in enumerate(DAILY)]
"""Every name with a third of the commands, each of which gets three names at least; all of all in the nightly run."""


@pytest.mark.parametrize(("key", "turn"), nightly(TRIALS, BY_TURNS))
def test_what_is_not_there_is_named_as_text(command, trees, tmp_path, key, turn):
    for arguments in asked(NAMES[key], trees, tmp_path / "o")[turn::TURNS]:
        code, _, _ = command(*arguments)
        assert code in (1, 2) or arguments[0] == "inspect"


@pytest.fixture(scope="module")
def forms(tmp_path_factory):
    """Forms whose kernels, paths and unknown keys are such names."""
    root = tmp_path_factory.mktemp("forms")
    names = [name for key, name in NAMES.items() if key not in ("long", "wide")]
    plain = wb.config.new("mindspore-o0o1").set("common_dump_settings.kernels", names)
    made = {
        "kernels": dict(plain.data),
        "path": dict(plain.set("common_dump_settings.path", "/d/" + "".join(names)).data),
        "unknown": {**dict(plain.data), **dict.fromkeys(names, 1)},
    }
    for key, data in made.items():
        (root / f"{key}.json").write_text(json.dumps(data), encoding="utf-8")
    for key in ("colour", "override", "script", "quotes"):
        text = f"import mindspore as ms\n# {NAMES[key]}\nms.set_context(mode=ms.GRAPH_MODE, x='{key}\u202e')\n"
        (root / f"{key}.py").write_text(text, encoding="utf-8")
    return root


@pytest.mark.parametrize(
    "name", ["kernels.json", "path.json", "unknown.json", "colour.py", "override.py"]
)
def test_forms_of_such_names_are_explained_and_converted_as_text(command, forms, name):
    form = forms / name
    for arguments in (
        ("check", form), ("check", form, "--json"), ("explain", form), ("code", form),
        ("convert", form, "--to", "msprobe-dump"), ("convert", form, "--to", "acl"),
        ("preview", form, "--graph", "mlp"), ("preview", form, "--graph", "mlp", "--json"),
    ):  # fmt: skip
        _, out, _ = command("config", *arguments)
        if "--json" in arguments and out:
            assert json.loads(out)


def test_progress_on_a_terminal_shows_names_as_text(monkeypatch):
    class Screen(io.StringIO):
        def isatty(self):
            return True

    screen = Screen()
    monkeypatch.setattr(sys, "stderr", screen)
    show = progress()
    for done in (1, 2, 3):
        time.sleep(0.15)  # it is drawn ten times a second
        show(done, 3, "a/\x1b[31m\x1b]0;t\x07\u202e\udcff\n")
    drawn = screen.getvalue()
    assert r"\u202e\udcff\n" in drawn
    assert set(controls(drawn)) == {"\r"}
