"""Programs that are run a hundred times, or import for seconds: each time a fork of one process that has imported all.

A server imports what the programs import and waits at a socket. A program in a folder of its own, ``workbench`` or the
kernel of a notebook, hands over its arguments, environment and streams; the server forks, and the fork runs the
installed program itself. What is left out is the start of Python and the imports, two thirds of a short command.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import runpy
import select
import socket
import stat
import subprocess
import sys
import threading
import traceback
from collections.abc import Iterator
from pathlib import Path

IMPORTED = (
    *("workbench.cli.compare", "workbench.cli.inspection", "workbench.cli.simulate", "workbench.cli.convert"),
    *("workbench.cli.noise", "workbench.cli.golden", "workbench.cli.config", "workbench.cli.job"),
    *("workbench.session.compare", "workbench.session.report", "workbench.session.envelope"),
    *("workbench.simulation.simulate", "workbench.simulation.inputs", "workbench.forecast.preview"),
    *("workbench.dump.convert", "workbench.views.dump", "workbench.golden_data", "workbench.npu.orders"),
    *("workbench.scale.compare_job", "workbench.show.json_result", "workbench.comparison.differing"),
    "workbench.show.plots.operator",
)  # fmt: skip

IN_KERNELS = (
    *("ipykernel.kernelapp", "IPython", "pandas", "matplotlib.pyplot", "ipywidgets", "workbench.ui.bench"),
    *("matplotlib_inline.backend_inline", "anywidget"),
)  # fmt: skip
"""What notebooks import beside it."""

PROGRAM = """\
#!{python} -IS
import json, os, socket, sys
there = socket.socket(socket.AF_UNIX)
there.connect({address!r})
socket.send_fds(there, [b" "], [0, 1, 2])
asked = json.dumps([{program!r}, sys.argv[1:], os.getcwd(), dict(os.environ)]).encode()
there.sendall(asked)
there.shutdown(socket.SHUT_WR)
sys.exit(int(there.recv(9) or 70))  # nothing comes from a command that was killed
"""


@contextlib.contextmanager
def served(folder: Path, installed: str | None, *more: str) -> Iterator[Path]:
    """Start a server that also imports ``more``; give a program that has it run an installed one of the same name."""
    assert installed, "it is not installed"
    address, programs = str(folder / "socket"), folder / "bin"
    programs.mkdir()
    program = programs / Path(installed).name
    program.write_text(PROGRAM.format(python=sys.executable, address=address, program=installed))
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    tests = str(Path(__file__).parents[1])
    path = os.pathsep.join([tests, os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)
    with subprocess.Popen(
        [sys.executable, "-m", "kit.served", address, *IMPORTED, *more], stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, env=os.environ | {"PYTHONPATH": path},
    ) as server:  # fmt: skip
        try:
            assert server.stdout is not None
            assert server.stdout.read() == b"", (
                "the server says that it is ready by closing its output"
            )
            yield program
        finally:
            server.kill()


def serve(address: str, *imported: str) -> None:
    """Answer every program with a fork of this process."""
    for name in imported:
        importlib.import_module(name)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(address)
        listening.listen()
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)  # ready
        os.close(nowhere)
        while True:
            connection, _ = listening.accept()
            if os.fork() == 0:
                listening.close()
                answer(connection)
            connection.close()
            with contextlib.suppress(ChildProcessError):
                while os.waitpid(-1, os.WNOHANG) != (0, 0):
                    pass


def answer(connection: socket.socket) -> None:
    """Run the command that stands behind a connection as its program would, and end."""
    _, streams, *_ = socket.recv_fds(connection, 1, 3)
    with connection.makefile("rb") as asked:
        program, arguments, folder, environment = json.load(asked)
    for stream, here in enumerate(streams):
        os.dup2(here, stream)
        os.close(here)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv[:] = [program, *arguments]
    threading.Thread(target=end_with, args=(connection,), daemon=True).start()
    connection.sendall(str(status_of(program)).encode())
    os._exit(0)


def end_with(connection: socket.socket) -> None:
    """End this process when the program at the other side was killed."""
    waiting = select.poll()
    waiting.register(connection, 0)  # it has said all; only its end is left to be heard
    waiting.poll()
    os._exit(1)


def status_of(program: str) -> int:
    """Exit status of a Python program that is run to its end, with what it has printed."""
    try:
        runpy.run_path(program, run_name="__main__")
    except SystemExit as end:
        status = end.code
    except BaseException:
        traceback.print_exc()
        status = 1
    else:
        status = 0
    sys.stdout.flush()
    sys.stderr.flush()
    return status if isinstance(status, int) else int(status is not None)


if __name__ == "__main__":
    serve(*sys.argv[1:])
