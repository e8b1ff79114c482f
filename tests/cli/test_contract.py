"""The command line that is promised: every command with its options, devices, streams, operators of a source line."""

from __future__ import annotations

import json

import pytest

import workbench as wb
from kit.commands import run
from workbench.cli import app
from workbench.npu.profiles import PROFILES

COMMANDS = {
    "demo": "--out",
    "lab": "--no-browser --port",
    "config check": "FILE --surface --target-version --here --json",
    "config new": "surface",
    "config explain": "FILE|SURFACE [KEY]",
    "config preview": "FILE --graph --json",
    "config convert": "FILE --to",
    "config schema": "surface",
    "golden": "MODEL.onnx --out --input --shape --engine",
    "simulate": "--graph --config --out --input --shape --surface --device --fault --seed --iterations --ranks "
    "--precision-mode",
    "inspect": "dump --json --at",
    "compare": "target golden --json --html --csv --map --target-graph --golden-graph --rank --iteration --profile "
    "--repeat --require --allow-missing",
    "convert": "dump --out --format --type",
}  # fmt: skip
"""Command → its arguments and options; others may be added, none of these goes."""

REPEATED = {
    "golden": "--input --shape",
    "simulate": "--graph --input --shape --fault",
    "compare": "--repeat --allow-missing",
    "config preview": "--graph",
}
"""Command → options that are given several times."""


def parameters(name):
    """Parameters of a command by what a user writes."""
    found = app
    for word in name.split():
        found = found.commands[word]
    return {
        spelled: one
        for one in found.params
        for spelled in (
            *one.opts,
            *([one.metavar or one.name] if one.param_type_name == "argument" else []),
        )
    }


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_has_what_is_promised(name):
    known = parameters(name)
    assert set(COMMANDS[name].split()) - known.keys() == set()
    assert {one for one in known if known[one].multiple} >= set(REPEATED.get(name, "").split())


@pytest.mark.parametrize("device", ["reference", *PROFILES])
def test_every_device_that_is_promised_writes_one_tree(capsys, tmp_path, device):
    assert set(PROFILES) == {"910a", "310p", "a2", "a3", "950"}
    form = tmp_path / "form.json"
    form.write_text(run(capsys, "config", "new", "mindspore-o0o1").out)
    arguments = ("simulate", "--graph", "mlp", "--config", form, "--device", device, "--out")
    status, out, _ = run(capsys, *arguments, tmp_path / "tree")
    assert (status, out) == (0, f"{tmp_path / 'tree'}\n")
    again = run(capsys, *arguments, tmp_path / "tree")
    assert (again.status, again.out, again.err.count("\n")) == (2, "", 1)


@pytest.mark.parametrize("options", [
    ("--explain", "fc1-Dense/MatMul-op0"),
    ("--profile-time",),
    ("--next-config", "{}/next.json"),
    ("--extract", "{}/case"),
])  # fmt: skip
def test_json_on_stdout_is_alone(capsys, real_pairs, tmp_path, options):
    pair = real_pairs["alexnet_padmode"]
    options = [one.format(tmp_path) for one in options]
    shown = run(capsys, "compare", pair.target, pair.golden, "--json", "-", *options)
    assert json.loads(shown.out)["schema"] == "workbench.comparison/2"
    assert shown.status == 1
    assert shown.err


def test_the_operators_and_files_of_a_source_line_are_told(capsys, real_pairs):
    dump = real_pairs["alexnet_padmode"].target
    row = wb.compare(dump, dump).operator("Default/conv3-Conv2d/Conv2D-op0").row
    place = f"{row.source.file}:{row.source.line}"
    shown = run(capsys, "inspect", dump, "--json", "--at", place)
    (found,) = json.loads(shown.out)["at"]["operators"]
    assert found["op_name"] == row.op_name
    assert found["files"]
    text = run(capsys, "inspect", dump, "--at", place).out
    assert [one for one in (row.op_name, *found["files"]) if one not in text] == []
