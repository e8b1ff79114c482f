"""A private JupyterLab for tests: its own port, token and folders, gone when the test is."""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import tomllib
import urllib.request
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SECONDS = 60

READY = """async (path) => {
  const nap = () => new Promise((done) => setTimeout(done, 25));
  const shell = window.jupyterapp.shell;
  while (shell.currentWidget?.context?.path !== path) await nap();
  await shell.currentWidget.context.ready;
}"""

# The kernel's indicator says idle before its connection is up; a Run All clicked then is lost.
CONNECTED = """async () => {
  const nap = () => new Promise((done) => setTimeout(done, 25));
  const session = window.jupyterapp.shell.currentWidget.sessionContext;
  await session.ready;
  while (!session.session?.kernel) await nap();
  const kernel = session.session.kernel;
  await kernel.info;
  while (kernel.connectionStatus !== 'connected' || kernel.status !== 'idle') await nap();
}"""

# From the model: cells that are scrolled out of sight may not be in the page.
ALL_RUN = """() => {
  const cells = [...window.jupyterapp.shell.currentWidget.content.model.cells];
  return cells.every((c) => c.type !== 'code' || !c.sharedModel.getSource().trim()
    || (c.executionCount && c.executionState !== 'running'));
}"""

ERRORS = """() => [...window.jupyterapp.shell.currentWidget.content.model.cells].flatMap(
  (c) => c.type === 'code' ? c.sharedModel.getOutputs().filter((o) => o.output_type === 'error')
    .map((o) => `${o.ename}: ${o.evalue}`) : [])"""


def missing(reason: str):
    """Skip loudly what this machine lacks something for; fail if everything must run here."""
    if os.environ.get("REQUIRE_BROWSER") == "1":
        pytest.fail(f"REQUIRE_BROWSER=1, but {reason}")
    pytest.skip(f"not tested: {reason}")


# Runs source in a new last cell; gives its outputs.
RUN_CODE = """async (source) => {
  const app = window.jupyterapp;
  const book = app.shell.currentWidget.content;
  book.activeCellIndex = book.widgets.length - 1;
  await app.commands.execute('notebook:insert-cell-below');
  book.activeCell.model.sharedModel.setSource(source);
  await app.commands.execute('notebook:run-cell');
  return book.activeCell.model.sharedModel.getOutputs();
}"""


class Lab:
    """Address of a running JupyterLab and what it takes to open and run its notebooks."""

    def __init__(self, address: str, token: str, root: Path, data: Path) -> None:
        self.address, self.token, self.root = address, token, root
        self.data = data  # where Jupyter looks for kernels and extensions

    def open(self, page, path: str = "") -> None:
        """Show a notebook, or the launcher, in a workspace of its own, with no layout remembered."""
        workspace = f"{self.address}/lab/workspaces/w{secrets.token_hex(4)}"
        page.goto(f"{workspace}{path and '/tree/'}{path}?token={self.token}&reset")
        page.wait_for_function("() => window.jupyterapp", timeout=SECONDS * 1000)
        page.wait_for_selector("#jupyterlab-splash", state="detached", timeout=SECONDS * 1000)
        if path:
            page.evaluate(READY, path)

    def run_all(self, page) -> list[str]:
        """Run every cell through the menu; return the errors that cells ended with."""
        page.evaluate(CONNECTED)
        page.get_by_role("menuitem", name="Run", exact=True).click()
        page.get_by_role("menuitem", name=re.compile("^Run All Cells")).click()
        page.wait_for_function(ALL_RUN, timeout=SECONDS * 1000)
        return page.evaluate(ERRORS)

    def command(self, page, name: str, **arguments) -> None:
        """Execute one of JupyterLab's own commands."""
        page.evaluate("([n, a]) => window.jupyterapp.commands.execute(n, a)", [name, arguments])

    def foreign(self, url: str) -> bool:
        """Whether a request leaves this server."""
        own = (self.address, self.address.replace("http", "ws", 1), "data:", "blob:")
        return not url.startswith(own)


class Reader:
    """Somebody at a browser, and what went wrong meanwhile."""

    def __init__(self, chromium, server: Lab, path: str | None, **options) -> None:
        self.trouble: list[str] = []
        self.page = chromium.new_page(viewport={"width": 1400, "height": 1000}, **options)
        self.page.set_default_timeout(30_000)
        self.page.on("console", lambda m: m.type == "error" and self.trouble.append(m.text))
        self.page.on("pageerror", lambda error: self.trouble.append(str(error)))
        self.page.on("request", lambda r: server.foreign(r.url) and self.trouble.append(r.url))
        if path is not None:
            server.open(self.page, path)


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def _settings(home: Path) -> None:
    """Take away what JupyterLab shows to a newcomer: news, and the check for updates."""
    folder = home / "settings" / "@jupyterlab" / "apputils-extension"
    folder.mkdir(parents=True)
    quiet = {"fetchNews": "false", "checkForUpdates": False, "doNotDisturbMode": True}
    (folder / "notification.jupyterlab-settings").write_text(json.dumps(quiet))


def install_data(data: Path) -> None:
    """Put what the wheel would put below ``share/jupyter`` there, from this tree."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    for folder, patterns in project["tool"]["setuptools"]["data-files"].items():
        place = data / Path(folder).relative_to("share/jupyter")
        place.mkdir(parents=True, exist_ok=True)
        for pattern in patterns:
            for path in ROOT.glob(pattern):
                shutil.copy(path, place)


def _environment(home: Path) -> dict[str, str]:
    folders = {
        "JUPYTER_CONFIG_DIR": "config",
        "JUPYTER_RUNTIME_DIR": "runtime",
        "JUPYTER_DATA_DIR": "data",
        "IPYTHONDIR": "ipython",
        "JUPYTERLAB_SETTINGS_DIR": "settings",
        "JUPYTERLAB_WORKSPACES_DIR": "workspaces",
    }
    return os.environ | {name: str(home / folder) for name, folder in folders.items()}


@contextlib.contextmanager
def jupyter_lab(root: Path, *, kernels: bool = True):
    """Start JupyterLab on a folder; give a `Lab`; stop it and its kernels, and theirs alone.

    Each one has a key of its own, so that it trusts no notebook which another has run. Without
    ``kernels`` it has nothing to run one with.
    """
    port, token = _free_port(), secrets.token_hex(16)
    home = Path(tempfile.mkdtemp(prefix="lab-"))
    _settings(home)
    install_data(home / "data")
    command = [
        *(sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root"),
        *("--ServerApp.ip=127.0.0.1", f"--port={port}", "--ServerApp.port_retries=0"),
        *(f"--IdentityProvider.token={token}", f"--ServerApp.root_dir={root}"),
        "--ServerApp.shutdown_no_activity_timeout=600",  # should this process be killed
        *("--LabApp.news_url=", "--LabApp.extension_manager=readonly"),
        "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
        "--JupyterNotebookApp.expose_app_in_browser=True",
        "--LabApp.expose_app_in_browser=True",  # window.jupyterapp knows when it is ready
    ]
    if not kernels:
        command += ["--KernelSpecManager.ensure_native_kernel=False"]
        command += ["--KernelSpecManager.allowed_kernelspecs={'none'}"]
    with (home / "log").open("wb") as log:
        server = subprocess.Popen(
            command, stdout=log, stderr=log, env=_environment(home), start_new_session=True
        )
    try:
        lab = Lab(f"http://127.0.0.1:{port}", token, root, home / "data")
        _wait_for(lab, server, home / "log")
        yield lab
    finally:
        os.killpg(server.pid, signal.SIGTERM)
        try:
            server.wait(10)
        except subprocess.TimeoutExpired:
            os.killpg(server.pid, signal.SIGKILL)
            server.wait()
        shutil.rmtree(home, ignore_errors=True)


def _wait_for(lab: Lab, server: subprocess.Popen, log: Path) -> None:
    end = time.monotonic() + SECONDS
    while True:
        if server.poll() is not None or time.monotonic() > end:
            raise RuntimeError(log.read_text(errors="replace"))
        with contextlib.suppress(OSError):
            urllib.request.urlopen(f"{lab.address}/api/status?token={lab.token}", timeout=1).close()
            return
        time.sleep(0.05)
