"""``workbench lab``: what is copied, what is kept, what is asked of JupyterLab, and every refusal."""

from __future__ import annotations

import errno
import importlib
import os
import socket
import sys
from pathlib import Path

import pytest
from jupyterlab.labapp import LabApp

from kit import commands
from kit.trees import contents
from workbench.core.words import Message

module = importlib.import_module("workbench.cli.lab")  # the command has its name
ROOT = Path(__file__).parents[2]


def shipped() -> dict[str, bytes]:
    """What a copy must hold."""
    return {
        path.relative_to(ROOT).as_posix(): path.read_bytes()
        for part in ("notebooks", "sample_dumps")
        for path in (ROOT / part).rglob("*")
        if path.is_file()
        and not {"build", "__pycache__", ".ipynb_checkpoints"} & set(path.relative_to(ROOT).parts)
    }


def lab(*arguments: object) -> int:
    return commands.status("lab", *arguments)


@pytest.fixture
def started(monkeypatch):
    """Options of every JupyterLab that would have been started."""
    calls = []
    monkeypatch.setattr(LabApp, "launch_instance", calls.append)
    return calls


def test_the_copy_is_whole_and_jupyterlab_opens_there(tmp_path, started, capsys):
    assert lab(tmp_path / "mine") == 0
    assert contents(tmp_path / "mine") == shipped()
    assert f"--ServerApp.root_dir={tmp_path / 'mine'}" in started[0]
    assert "--LabApp.default_url=/lab/tree/notebooks/dashboard.ipynb" in started[0]
    printed = capsys.readouterr()
    assert printed.out == f"notebooks: {tmp_path / 'mine' / 'notebooks'}\n"
    assert "kept" not in printed.err


def test_without_a_folder_it_is_workbench_notebooks_here(tmp_path, started, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert lab() == 0
    assert contents(tmp_path / "workbench-notebooks") == shipped()


def test_token_and_address_are_left_to_jupyterlab(tmp_path, started):
    assert lab(tmp_path) == 0
    given = {option.partition("=")[0] for option in started[0]}
    assert given <= {"--ServerApp.root_dir", "--LabApp.default_url", "--allow-root"}


def test_options_are_handed_on(tmp_path, started):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    assert lab("--no-browser", "--port", port, tmp_path) == 0
    assert {"--no-browser", f"--ServerApp.port={port}"} <= set(started[0])
    assert lab(tmp_path) == 0
    assert not [option for option in started[1] if "browser" in option or "port" in option]


@pytest.mark.parametrize(("user", "allowed"), [(0, True), (1000, False)])
def test_root_is_let_in_and_told(tmp_path, started, monkeypatch, capsys, user, allowed):
    monkeypatch.setattr(os, "geteuid", lambda: user)
    assert lab(tmp_path) == 0
    assert ("--allow-root" in started[0]) is allowed
    assert (str(Message("cli/lab-root")) in capsys.readouterr().err) is allowed


def test_what_somebody_changed_is_kept_and_named_and_what_is_gone_comes_back(
    tmp_path, started, capsys
):
    assert lab(tmp_path) == 0
    changed, gone = tmp_path / "notebooks/dashboard.ipynb", tmp_path / "sample_dumps/README.md"
    changed.write_text("mine")
    gone.unlink()
    (tmp_path / "notebooks/own.ipynb").write_text("mine too")
    capsys.readouterr()
    assert lab(tmp_path) == 0
    kept = Message("cli/lab-kept", count=1, names=["notebooks/dashboard.ipynb"])
    assert capsys.readouterr().err.splitlines()[0] == str(kept)
    mine = {"notebooks/dashboard.ipynb": b"mine", "notebooks/own.ipynb": b"mine too"}
    assert contents(tmp_path) == shipped() | mine


def test_many_kept_files_are_counted(tmp_path, started, capsys):
    assert lab(tmp_path) == 0
    for path in (tmp_path / "sample_dumps/real_pair").rglob("*.npy"):
        path.write_bytes(b"")
    capsys.readouterr()
    assert lab(tmp_path) == 0
    arrays = [name for name in shipped() if name.startswith("sample_dumps/real_pair")]
    count = sum(name.endswith(".npy") for name in arrays)
    said = capsys.readouterr().err
    assert str(Message("cli/more", count=count - 5)) in said
    assert said.count("\n") <= 2


def test_a_link_that_leads_nowhere_is_not_written_through(tmp_path, started):
    (tmp_path / "notebooks").mkdir()
    (tmp_path / "notebooks/dashboard.ipynb").symlink_to(tmp_path / "elsewhere")
    assert lab(tmp_path) == 0
    assert not (tmp_path / "elsewhere").exists()


def test_a_checkout_is_opened_as_it_is(started, capsys):
    before = contents(ROOT / "notebooks").keys()
    assert lab(ROOT) == 0
    assert contents(ROOT / "notebooks").keys() == before
    assert "kept" not in capsys.readouterr().err


@pytest.mark.parametrize("place", ["file", "file/below"])
def test_a_folder_that_cannot_be_made_is_one_line(tmp_path, started, capsys, place):
    (tmp_path / "file").write_text("")
    assert lab(tmp_path / place) == 2
    said = capsys.readouterr().err
    folder, file = str(tmp_path / place), str(tmp_path / place / "notebooks")
    why = Message("cli/lab-folder", folder=folder, file=file, why="Not a directory")
    assert said == f"error: {why}\n"
    assert said.count("\n") == 1
    assert started == []


def test_a_full_disk_leaves_no_half_file(tmp_path, started, monkeypatch, capsys):
    def fill(source: Path, target: Path) -> None:
        target.write_bytes(source.read_bytes()[:100])
        raise OSError(errno.ENOSPC, "No space left on device", str(target))

    monkeypatch.setattr(module.shutil, "copyfile", fill)
    assert lab(tmp_path) == 2
    assert "No space left on device" in capsys.readouterr().err
    assert contents(tmp_path) == {}


def test_a_busy_port_is_said(tmp_path, started, capsys):
    with socket.socket() as busy:
        busy.bind(("127.0.0.1", 0))
        busy.listen()
        port = busy.getsockname()[1]
        assert lab("--port", port, tmp_path) == 2
    found = capsys.readouterr().err.splitlines()[-1]
    assert found == f"error: {Message('cli/lab-port', port=port, why=Message('cli/lab-port-used'))}"
    assert started == []


@pytest.mark.parametrize("port", ["0", "70000", "-1", "eight"])
def test_what_is_no_port_is_refused(tmp_path, started, capsys, port):
    assert lab("--port", port, tmp_path) == 2
    assert "'--port'" in capsys.readouterr().err
    assert started == []
    assert contents(tmp_path) == {}


def test_without_jupyterlab_there_is_advice(tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "jupyterlab.labapp", None)
    assert lab(tmp_path) == 2
    assert "pip install jupyterlab" in capsys.readouterr().err.splitlines()[-1]


@pytest.mark.parametrize(("code", "status"), [(1, 2), (0, 0), (None, 0)])
def test_the_end_of_jupyterlab_decides_the_status(tmp_path, monkeypatch, code, status):
    def end(options: list[str]) -> None:
        raise SystemExit(code)

    monkeypatch.setattr(LabApp, "launch_instance", end)
    assert lab(tmp_path) == status


def test_kernels_do_not_inherit_the_single_thread(tmp_path, monkeypatch):
    seen = {}
    monkeypatch.setattr("workbench.cli.OWN_VARIABLES", {"OMP_NUM_THREADS": "1"})
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.setenv("MKL_NUM_THREADS", "3")  # the user's
    monkeypatch.setattr(LabApp, "launch_instance", lambda options: seen.update(os.environ))
    assert lab(tmp_path) == 0
    assert "OMP_NUM_THREADS" not in seen
    assert seen["MKL_NUM_THREADS"] == "3"


def test_an_installation_without_notebooks_is_said(tmp_path, monkeypatch, started, capsys):
    monkeypatch.setattr(module.workbench, "__file__", str(tmp_path / "workbench/__init__.py"))
    assert lab(tmp_path / "mine") == 2
    folder = str(tmp_path / "workbench/examples")
    why = str(Message("cli/lab-examples", folder=folder))
    assert capsys.readouterr().err == f"error: {why}\n"
