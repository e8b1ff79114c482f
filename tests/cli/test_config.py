"""``workbench config``: exit statuses, JSON, one clear line for whatever cannot be read."""

import json
from functools import partial

import pytest

import workbench as wb
from kit import commands
from kit.cases import mindspore_form
from workbench import config as surfaces
from workbench.config.form.settings import declared
from workbench.config.help import surface_help
from workbench.config.schema import json_schema
from workbench.core.errors import WorkbenchError
from workbench.core.writers import MINDSPORE_RELEASE, SIMULATED_SURFACES

JSON_SURFACES = [name for name in wb.config.SURFACES if wb.config.get(name).language == "json"]
PROBLEM_KEYS = {"id", "severity", "path", "line", "message", "fix", "code", "source"}

MINDSPORE = mindspore_form("o0o1", iteration="all", support_device=[0]).data
ACL = {"dump": {"dump_path": "out", "dump_op_switch": "on"}}


@pytest.fixture
def run(capsys):
    """Run the command; give status, stdout and stderr."""
    return partial(commands.run, capsys, "config")


@pytest.fixture
def write(tmp_path):
    def make(content, name="data_dump.json"):
        path = tmp_path / name
        if isinstance(content, bytes):
            path.write_bytes(content)
        else:
            path.write_text(content if isinstance(content, str) else json.dumps(content))
        return path

    return make


@pytest.mark.parametrize("surface", wb.config.SURFACES)
def test_a_new_form_passes_its_check(run, write, surface):
    status, text, _ = run("new", surface)
    assert status == 0
    form = write(text, "form.json" if surface in JSON_SURFACES else "form.py")
    env = ("--env", "ENABLE_MS_GE_DUMP=1") if surface == "mindspore-ge" else ()
    status, out, _ = run("check", form, "--surface", surface, "--json", *env)
    verdict = json.loads(out)
    assert (status, verdict["accepted"]) == (0, True)
    assert not [p for p in verdict["problems"] if p["severity"] != "hint"]


def test_the_json_follows_its_contract(run, write):
    form = write(MINDSPORE | {"other": 1})
    status, out, _ = run("check", form, "--json", "--target-version", "2.6")
    verdict = json.loads(out)
    assert status == 0
    assert verdict["schema"] == "workbench.config/1"
    assert (verdict["surface"], verdict["version"]) == ("mindspore-o0o1", "2.6")
    unknown = next(p for p in verdict["problems"] if p["path"] == "other")
    assert unknown.keys() == PROBLEM_KEYS
    assert (unknown["id"], unknown["severity"], unknown["line"]) == ("unknown-key", "warning", 1)


def test_a_refused_form_exits_with_one_and_names_line_and_code(run, write):
    text = '{\n "dump": {\n  "dump_path": "d",\n  "dump_mode": "some"\n }\n}\n'
    form = write(text, "acl.json")
    status, out, _ = run("check", form)
    assert status == 1
    assert f"{form}:4: error EP0002" in out
    assert "'some'" in out
    assert out.splitlines()[0].startswith("refused by ")


def test_the_environment_is_an_input(run, write, monkeypatch):
    monkeypatch.delenv("MS_DIAGNOSTIC_DATA_PATH", raising=False)
    common = MINDSPORE["common_dump_settings"] | {"path": ""}
    form = write(MINDSPORE | {"common_dump_settings": common})
    assert run("check", form)[0] == 1
    assert run("check", form, "--env", "MS_DIAGNOSTIC_DATA_PATH=/data")[0] == 0
    monkeypatch.setenv("MS_DIAGNOSTIC_DATA_PATH", "/data")
    assert run("check", form)[0] == 0


def test_paths_are_looked_at_only_here(run, write, tmp_path):
    form = write({"dump": ACL["dump"] | {"dump_path": str(tmp_path / "missing")}}, "acl.json")
    assert run("check", form)[0] == 0
    status, out, _ = run("check", form, "--here", "--json")
    assert status == 1
    assert [p["code"] for p in json.loads(out)["problems"] if p["severity"] == "error"] == [
        "EP0003"
    ]
    (tmp_path / "missing").mkdir()
    assert run("check", form, "--here")[0] == 0


# what is in the file → what its one line on stderr says behind "error: "
UNREADABLE = {
    "not JSON": (b"iteration: 0", ":1:"),
    "wrong encoding": ('{"dump": {"dump_path": "größe"}}'.encode("latin-1"), "byte 26"),
    "10 MB of nesting": (b'{"common_dump_settings":\n' + b"[" * 10_000_000, ":2:"),
    "nobody's form": (b'{"dumps": {}}', "--surface"),
}


@pytest.mark.parametrize("name", UNREADABLE)
def test_what_cannot_be_read_is_one_error_with_its_place(run, write, name):
    content, place = UNREADABLE[name]
    form = write(content)
    for command in (("check",), ("check", "--json"), ("explain",)):
        status, out, err = run(*command, form)
        assert status == 2
        assert err.startswith(f"error: {form}:")
        assert place in err.partition("\n")[0]
        assert bool(out) == ("--json" in command)
        if out:
            assert [problem["id"] for problem in json.loads(out)["problems"]] == ["unreadable"]


def test_the_deepest_value_is_judged_as_json_too(run, write):
    status, out, _ = run("check", write('{"dump": ' + "[" * 499 + "]" * 499 + "}"), "--json")
    found = {problem["id"] for problem in json.loads(out)["problems"]}
    assert (status, found) == (1, {"nesting", "value"})


def test_a_folder_and_a_missing_file_are_errors(run, tmp_path):
    for path in (tmp_path, tmp_path / "none.json"):
        status, _, err = run("check", path)
        assert status == 2
        with pytest.raises(WorkbenchError) as caught:
            wb.config.load(path)
        assert err == f"error: {caught.value}\n"


def test_a_python_script_that_is_none(run, write):
    form = write("import torchair\nconfig.dump_config.enable_dump = = 1\n", "net.py")
    status, _, err = run("check", form)
    assert status == 2
    assert err.startswith(f"error: {form}:2:")
    assert err.splitlines()[2].strip() == "^"


@pytest.mark.parametrize("arguments", [
    ("new", "mindspore"),
    ("schema", "torchair"),
    ("schema", "none"),
    ("check", "{form}", "--surface", "o2"),
    ("check", "{form}", "--target-version", "new"),
    ("check", "{form}", "--env", "A"),
    ("convert", "{form}", "--to", "nobody"),
    ("explain", "mindspore-o2", "no_such_key"),
    ("preview", "{form}", "--graph", "no_such_model"),
    ("preview", "{form}"),
])  # fmt: skip
def test_wrong_usage_is_one_line_and_two(run, write, arguments):
    form = str(write(MINDSPORE))
    status, out, err = run(*(form if a == "{form}" else a for a in arguments))
    assert (status, out) == (2, "")
    assert err.startswith("error: ")
    assert len(err.splitlines()) == 1


def test_explain_says_what_a_file_will_do(run, write):
    status, out, _ = run("explain", write(MINDSPORE))
    assert status == 0
    assert out == f"{surfaces.of('mindspore-o0o1', MINDSPORE).explain()}\n"


@pytest.mark.parametrize("surface", ["acl", "torchair"])
def test_explain_shows_the_help_of_a_surface_and_of_a_setting(run, surface):
    row = wb.config.get(surface)
    assert run("explain", surface) == (0, f"{surface_help(row)}\n", "")
    path, _ = next(declared(row.model))
    assert run("explain", surface, path) == (0, f"{surface_help(row, path)}\n", "")


def test_convert_prints_the_form_alone_and_the_losses_beside(run, write):
    form = MINDSPORE["common_dump_settings"] | {"net_name": "ResNet50", "iteration": "0|5-8"}
    status, out, err = run("convert", write({"common_dump_settings": form}), "--to", "acl")
    assert status == 0
    assert json.loads(out)["dump"]["dump_step"] == "0|5-8"
    assert err.startswith("warning: ")
    assert "'ResNet50'" in err


def test_code_prints_how_to_use_a_form(run, write):
    form = write(MINDSPORE)
    status, out, _ = run("code", form)
    assert status == 0
    assert f"MINDSPORE_DUMP_CONFIG={form}" in out.replace('"', "")


def test_the_schema_is_printed_as_json(run):
    status, out, err = run("schema", "acl")
    assert (status, json.loads(out), err) == (0, json_schema(wb.config.get("acl")), "")


def test_preview_tells_operators_files_and_bytes(run, write):
    form = write(MINDSPORE)
    status, out, _ = run("preview", form, "--graph", "lenet", "--json")
    known = json.loads(out)
    assert status == 0
    assert known["schema"] == "workbench.preview/1"
    status, text, _ = run("preview", form, "--graph", "lenet")
    assert status == 0
    assert "files" in text


@pytest.mark.parametrize("surface", wb.config.SURFACES)
def test_the_first_line_of_every_command_says_the_one_default_release(
    run, write, surface, tmp_path, capsys
):
    row = wb.config.get(surface)
    judge = f"{row.product} {row.version}"
    if row.product == "MindSpore":
        assert row.version == MINDSPORE_RELEASE
    form = write(wb.config.new(surface).to_text(), f"form{row.suffix or '.py'}")
    asked = ("--surface", surface)
    for shown in (
        run("check", form, *asked),
        run("explain", form, *asked),
        run("preview", form, "--graph", "mlp", *asked),
    ):
        assert shown.status == 0
        assert judge in shown.out.splitlines()[0]
    if surface in SIMULATED_SURFACES:
        device = "reference" if surface in ("mindspore-cpu", "mindspore-gpu") else "a2"
        where = ("--device", device, "--out", tmp_path / "out", *asked)
        shown = commands.run(capsys, "simulate", "--graph", "mlp", "--config", form, *where)
        assert judge in shown.err.splitlines()[0]
