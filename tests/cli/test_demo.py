"""The demonstration: it finds its fault, keeps what is there, and says what it does."""

import pytest

from kit.commands import run
from kit.words import refused
from workbench.cli.demo import DEVICE, FAULT, GUILTY, MODEL, run_demo
from workbench.core.words import Message


@pytest.mark.slow
def test_the_command_names_the_fault_and_writes_the_report(tmp_path, capsys):
    shown = run(capsys, "demo", "--out", tmp_path / "out")
    assert shown.status == 0
    report = tmp_path / "out/report.html"
    *_, verdict, last = shown.out.splitlines()
    assert verdict.startswith(f"fail: First divergent operator: Conv2D {GUILTY}")
    assert last == str(Message("cli/report", path=report))
    assert report.stat().st_size > 10_000
    target = Message("cli/demo-target", device=DEVICE, fault=FAULT)
    found = [line.startswith(MODEL) or line == str(target) for line in shown.err.splitlines()]
    assert found == [True, True]


def test_a_folder_that_holds_anything_is_kept(tmp_path):
    (tmp_path / "mine.txt").write_text("mine")
    with refused("cli/demo-folder", got=str(tmp_path)):
        run_demo(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]
