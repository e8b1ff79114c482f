"""``workbench lab``: JupyterLab on the user's own copy of the notebooks."""

from __future__ import annotations

import errno
import filecmp
import gc
import os
import shutil
import socket
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import workbench
from workbench.cli.terminal import tell
from workbench.core.errors import WorkbenchError

if TYPE_CHECKING:
    from collections.abc import Iterator

FOLDER = "workbench-notebooks"
PARTS = ("notebooks", "sample_dumps")
FIRST = "notebooks/dashboard.ipynb"
_LEFT_OUT = {"build", "__pycache__", ".ipynb_checkpoints"}
_SHOWN = 5


def lab(
    folder: Annotated[
        str, typer.Argument(metavar="DIR", help="Folder for your copy of the notebooks.")
    ] = FOLDER,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Open no browser.")] = False,
    port: Annotated[
        int | None, typer.Option(min=1, max=65535, metavar="N", help="Port; told by JupyterLab.")
    ] = None,
) -> int:
    """Copy the notebooks and their sample dumps to a folder of yours and open JupyterLab there."""
    place = Path(folder)
    try:
        kept = copy_examples(place)
    except OSError as error:
        message = (
            f"folder of the notebooks must be one that can be written, got {folder!r} "
            f"({error.filename}: {error.strerror}); name another"
        )
        raise WorkbenchError(message) from error
    if kept:
        tell(_kept(kept), err=True)
    if port is not None:
        _check_port(port)
    tell(f"notebooks: {place / 'notebooks'}")
    _serve(place.resolve(), port, browser=not no_browser)
    return 0


def examples() -> Path:
    """Folder that holds notebooks and sample dumps: in the installed package, or around it in a checkout."""
    package = Path(str(workbench.__file__)).parent
    for root in (package / "examples", package.parent):
        if (root / FIRST).is_file():
            return root
    raise WorkbenchError(
        f"notebooks must lie in {str(package / 'examples')!r}, got none; install the package anew"
    )


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


def _kept(names: list[Path]) -> str:
    shown = ", ".join(name.as_posix() for name in names[:_SHOWN])
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return (
        f"kept {len(names)} of your files that differ from the original: {shown}{more}; "
        "for fresh ones name a new folder"
    )


def _check_port(port: int) -> None:
    """Raise WorkbenchError if nobody can listen there."""
    with socket.socket() as free:
        free.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            free.bind(("127.0.0.1", port))
        except OSError as error:
            why = "in use" if error.errno == errno.EADDRINUSE else error.strerror
            message = (
                f"--port must be a free port, got {port} ({why}); name another or leave it out"
            )
            raise WorkbenchError(message) from error


def _serve(folder: Path, port: int | None, *, browser: bool) -> None:
    """Run JupyterLab until it is stopped; its token, its settings and its messages are its own."""
    try:
        from jupyterlab.labapp import LabApp
    except ImportError as error:
        message = f"jupyterlab must be installed, got none ({error}); pip install jupyterlab"
        raise WorkbenchError(message) from error
    options = [f"--ServerApp.root_dir={folder}", f"--LabApp.default_url=/lab/tree/{FIRST}"]
    options += [f"--ServerApp.port={port}", "--ServerApp.port_retries=0"] if port else []
    options += [] if browser else ["--no-browser"]
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        tell("you are root, and so is whatever the notebooks run", err=True)
        options.append("--allow-root")
    from workbench.cli import OWN_VARIABLES

    for name in OWN_VARIABLES:  # meant for this process, not for the kernels that it starts
        os.environ.pop(name, None)
    gc.enable()  # the command line does without; a server runs for days
    try:
        LabApp.launch_instance(options)
    except SystemExit as end:
        if end.code:
            message = f"JupyterLab must start, got exit status {end.code}; it says why above"
            raise WorkbenchError(message) from end
