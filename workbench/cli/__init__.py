"""The ``workbench`` command. Results go to stdout, progress and errors to stderr.

Exit status: `compare` follows ``diff`` (0 agree, 1 diverge, 2 trouble) and adds 3, not decided; ``config check``
says 1 for a form that its vendor would refuse; every other command gives 0 or 2.
"""

from __future__ import annotations

import gc
import os
import sys

import click

_THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
OWN_VARIABLES = {name: "1" for name in _THREADS if name not in os.environ}
# Before NumPy loads: on chunks of 32 K elements BLAS threads only spin against each other.
os.environ.update(OWN_VARIABLES)

from workbench.cli.commands import Group  # noqa: E402 - after the environment is set
from workbench.cli.terminal import Exit, flush, print_error  # noqa: E402
from workbench.core.errors import WorkbenchError  # noqa: E402
from workbench.core.words import Message  # noqa: E402

app = Group(
    "workbench",
    help="Find the operator that makes a network's results differ on an Ascend NPU.",
    places={
        "compare": "workbench.cli.compare:compare",
        "inspect": "workbench.cli.inspection:inspect",
        "simulate": "workbench.cli.simulate:simulate",
        "convert": "workbench.cli.convert:convert",
        "demo": "workbench.cli.demo:demo",
        "envelope": "workbench.cli.noise:envelope",
        "golden": "workbench.cli.golden:golden",
        "lab": "workbench.cli.lab:lab",
        "config": "workbench.cli.config:app",
        "order": "workbench.cli.noise:order_app",
    },
)


def main(arguments: list[str] | None = None) -> None:
    """Run the command; every error of the workbench is one line on stderr and status 2."""
    gc.disable()  # the command ends soon; collecting while it reads costs a tenth of its time
    try:
        status = _status_of(sys.argv[1:] if arguments is None else arguments)
        flush()
    except Exception as error:
        said = _said_of(error)
        if said is None:
            raise
        print_error(said)
        status = Exit.TROUBLE
    except KeyboardInterrupt:
        print_error(Message("cli/interrupted"))
        status = Exit.TROUBLE
    finally:
        gc.enable()
    sys.exit(status)


def _status_of(arguments: list[str]) -> int:
    """Run a command and return its exit status.

    Not by ``app()``: click ends the process itself where the output is a closed pipe or the user interrupts, with
    statuses that mean something else here.
    """
    try:
        with app.make_context("workbench", arguments) as context:
            status = app.invoke(context)
    except click.exceptions.Exit as error:
        return error.exit_code
    return status if isinstance(status, int) else Exit.DONE


def _said_of(error: Exception) -> object:
    """What a person is told of an error; ``None`` if it is a defect of the workbench."""
    if isinstance(error, WorkbenchError):
        return error
    if isinstance(error, OSError):
        if error.filename is None:
            return Message("cli/io", why=error.strerror or error)
        return Message("cli/path", got=error.filename, why=error.strerror)
    if isinstance(error, MemoryError):
        return Message("cli/memory", why=error)
    if isinstance(error, click.Abort):
        return Message("cli/interrupted")
    if isinstance(error, click.ClickException):  # wrong usage
        return error.format_message()
    return None
