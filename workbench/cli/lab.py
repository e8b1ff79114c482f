"""``workbench lab``: JupyterLab on the user's own copy of the notebooks."""

from __future__ import annotations

import errno
import filecmp
import gc
import os
import shutil
import socket
from pathlib import Path
from typing import TYPE_CHECKING

import click

import workbench
from workbench.cli.commands import Command, argument, flag, option
from workbench.cli.terminal import Exit, print_lines
from workbench.core.errors import WorkbenchError
from workbench.core.words import Message

if TYPE_CHECKING:
    from collections.abc import Iterator

FOLDER = "workbench-notebooks"
PARTS = ("notebooks", "sample_dumps")
FIRST = "notebooks/dashboard.ipynb"
_SHOWN = 5
_LEFT_OUT = {"build", "__pycache__", ".ipynb_checkpoints"}


@click.command(cls=Command)
@argument("folder", default=FOLDER, metavar="[DIR]", help="Folder for your copy of the notebooks.")
@flag("--no-browser", help="Do not open a browser.")
@option(
    "--port",
    type=click.IntRange(1, 65535),
    metavar="N",
    help="Port. Default: chosen by JupyterLab.",
)
def lab(folder: str, no_browser: bool, port: int | None) -> int:
    """Copy the notebooks and their sample dumps to a folder of yours and open JupyterLab there."""
    place = Path(folder)
    try:
        kept = copy_examples(place)
    except OSError as error:
        file, why = error.filename, error.strerror
        raise WorkbenchError("cli/lab-folder", folder=folder, file=file, why=why) from error
    if kept:
        print_lines(_kept(kept), err=True)
    if port is not None:
        _check_port(port)
    print_lines(Message("cli/lab-place", folder=place / "notebooks"))
    _serve(place.resolve(), port, browser=not no_browser)
    return Exit.DONE


def examples() -> Path:
    """Folder that holds notebooks and sample dumps: in the installed package, or around it in a checkout."""
    package = Path(str(workbench.__file__)).parent
    for root in (package / "examples", package.parent):
        if (root / FIRST).is_file():
            return root
    raise WorkbenchError("cli/lab-examples", folder=str(package / "examples"))


def copy_examples(into: Path) -> list[Path]:
    """Copy what is not there yet; return what is there and differs, relative to ``into``.

    Nothing that exists is written to: it may be what somebody has worked on. Raises OSError for a folder that
    cannot be written.
    """
    root, kept = examples(), []
    for source in _files(root):
        name = source.relative_to(root)
        target = into / name
        if not os.path.lexists(target):
            _copy(source, target)
        elif not target.is_file() or not filecmp.cmp(source, target, shallow=False):
            kept.append(name)
    return kept


def _files(root: Path) -> Iterator[Path]:
    for part in PARTS:
        for path in sorted((root / part).rglob("*")):
            if path.is_file() and _LEFT_OUT.isdisjoint(path.relative_to(root).parts):
                yield path


def _copy(source: Path, target: Path) -> None:
    """Copy bytes, not modes: a package may be read-only. Half a file would pass for the user's work."""
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        shutil.copyfile(source, target)
    except OSError:
        target.unlink(missing_ok=True)
        raise


def _kept(names: list[Path]) -> Message:
    shown: list[object] = [name.as_posix() for name in names[:_SHOWN]]
    if len(names) > _SHOWN:
        shown.append(Message("cli/more", count=len(names) - _SHOWN))
    return Message("cli/lab-kept", count=len(names), names=shown)


def _check_port(port: int) -> None:
    """Raise WorkbenchError if nobody can listen there."""
    with socket.socket() as free:
        free.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            free.bind(("127.0.0.1", port))
        except OSError as error:
            used = error.errno == errno.EADDRINUSE
            why = Message("cli/lab-port-used") if used else error.strerror
            raise WorkbenchError("cli/lab-port", port=port, why=why) from error


def _serve(folder: Path, port: int | None, *, browser: bool) -> None:
    """Run JupyterLab until it is stopped; its token, its settings and its messages are its own."""
    try:
        from jupyterlab.labapp import LabApp
    except ImportError as error:
        raise WorkbenchError("cli/lab-missing", why=error) from error
    options = [f"--ServerApp.root_dir={folder}", f"--LabApp.default_url=/lab/tree/{FIRST}"]
    options += [f"--ServerApp.port={port}", "--ServerApp.port_retries=0"] if port else []
    options += [] if browser else ["--no-browser"]
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        print_lines(Message("cli/lab-root"), err=True)
        options.append("--allow-root")
    from workbench.cli import OWN_VARIABLES

    for name in OWN_VARIABLES:  # meant for this process, not for the kernels that it starts
        os.environ.pop(name, None)
    gc.enable()  # the command line does without; a server runs for days
    try:
        LabApp.launch_instance(options)
    except SystemExit as end:
        if end.code:
            raise WorkbenchError("cli/lab-ended", status=end.code) from end
