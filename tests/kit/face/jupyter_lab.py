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

import nbformat
import pytest

ROOT = Path(__file__).parents[3]
SECONDS = 120  # a busy machine is no defect
SIZE = {"width": 1400, "height": 1000}
"""Of a window, in pixels."""

IDLE = 3600
"""Seconds after which a server ends that nobody asks: this process may have been killed, or test other files."""


PATIENCE = 40
"""Seconds that a page which somebody else has left may take to show a notebook, before a fresh one is loaded."""

# What the page shows instead of what is waited for.
STATE = """(() => {
  const shown = window.jupyterapp?.shell?.currentWidget;
  const dialogs = [...document.querySelectorAll('.jp-Dialog')].map((one) => one.textContent);
  return JSON.stringify({current: shown?.id, path: shown?.context?.path, ready: shown?.context?.isReady, dialogs});
})()"""


def within(seconds: float, script: str) -> str:
    """JavaScript that waits for what a function promises, but not for ever: a page that hangs would hold the test."""
    error = f"new Error('nothing came in {seconds} s: ' + {STATE})"
    end = f"setTimeout(() => fail({error}), {seconds * 1000})"
    return f"(given) => Promise.race([({script})(given), new Promise((_, fail) => {end})])"


IS_SHOWN = """async (path) => {
  const nap = () => new Promise((done) => setTimeout(done, 25));
  const shell = window.jupyterapp.shell;
  while (shell.currentWidget?.context?.path !== path) await nap();
  await shell.currentWidget.context.ready;
}"""
READY = within(SECONDS, IS_SHOWN)

# The kernel's indicator says idle before its connection is up; a Run All clicked then is lost.
CONNECTED = within(
    SECONDS,
    """async () => {
  const nap = () => new Promise((done) => setTimeout(done, 25));
  const session = window.jupyterapp.shell.currentWidget.sessionContext;
  await session.ready;
  while (!session.session?.kernel) await nap();
  const kernel = session.session.kernel;
  await kernel.info;
  while (kernel.connectionStatus !== 'connected' || kernel.status !== 'idle') await nap();
}""",
)

# From the model: cells that are scrolled out of sight may not be in the page.
ALL_RUN = """() => {
  const cells = [...window.jupyterapp.shell.currentWidget.content.model.cells];
  const code = cells.filter((c) => c.type === 'code' && c.sharedModel.getSource().trim());
  const failed = (c) => c.sharedModel.getOutputs().some((o) => o.output_type === 'error');
  const done = (c) => c.executionCount && c.executionState !== 'running';
  return code.some((c) => done(c) && failed(c)) || code.every(done);  // an error ends it
}"""

RESTORED = within(
    SECONDS, "async () => { await window.jupyterapp.restored; }"
)  # commands are there

ERRORS = """() => [...window.jupyterapp.shell.currentWidget.content.model.cells].flatMap(
  (c) => c.type === 'code' ? c.sharedModel.getOutputs().filter((o) => o.output_type === 'error')
    .map((o) => `${o.ename}: ${o.evalue}`) : [])"""


def missing(reason: str):
    """Skip loudly what this machine lacks something for; fail if everything must run here."""
    if os.environ.get("REQUIRE_BROWSER") == "1":
        pytest.fail(f"REQUIRE_BROWSER=1, but {reason}")
    pytest.skip(f"not tested: {reason}")


# Runs source in a new last cell; gives its outputs.
RUN_CODE = within(
    2 * SECONDS,
    """async (source) => {
  const app = window.jupyterapp;
  const book = app.shell.currentWidget.content;
  book.activeCellIndex = book.widgets.length - 1;
  await app.commands.execute('notebook:insert-cell-below');
  book.activeCell.model.sharedModel.setSource(source);
  await app.commands.execute('notebook:run-cell');
  return book.activeCell.model.sharedModel.getOutputs();
}""",
)


def python(page, source: str, *, keep: bool = True) -> str:
    """Run source in a new last cell, which stays if it is to be kept; return what it prints."""
    outputs = page.evaluate(RUN_CODE, source)
    assert not any(output["output_type"] == "error" for output in outputs), outputs
    if not keep:
        page.evaluate("() => window.jupyterapp.commands.execute('notebook:delete-cell')")
    return "".join(output.get("text", "") for output in outputs).strip()


# Closes all notebooks, unasked whether they should be saved; false if a dialog still waits for an answer.
TIDY = """async () => {
  const { shell, commands } = window.jupyterapp;
  for (const one of [...shell.widgets('main')]) one.dispose();
  if (shell.leftCollapsed) await commands.execute('application:toggle-left-area');
  return document.querySelector('.jp-Dialog') === null && document.body.dataset.jpThemeLight === 'true';
}"""

# JupyterLab may open a launcher by itself, where nothing else is open.
LAUNCH = """async () => {
  const { shell, commands } = window.jupyterapp;
  const found = [...shell.widgets('main')].find((one) => one.id.startsWith('launcher'));
  if (found) shell.activateById(found.id); else await commands.execute('launcher:create', {cwd: ''});
}"""


class Lab:
    """Address of a running JupyterLab and what it takes to open and run its notebooks."""

    def __init__(self, address: str, token: str, root: Path, data: Path) -> None:
        self.address, self.token, self.root = address, token, root
        self.data = data  # where Jupyter looks for kernels and extensions
        self.left = []  # pages with nothing open, for the next `Guest`

    def write(self, path: str, cells, kernel: str = "python3") -> str:
        """Write a notebook of code cells below the folder that is served; return ``path``."""
        book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(text) for text in cells])
        book.metadata["kernelspec"] = {"name": kernel, "display_name": kernel}
        (self.root / path).parent.mkdir(exist_ok=True)
        nbformat.write(book, self.root / path)
        return path

    def open(self, page, path: str = "") -> None:
        """Show a notebook, or the launcher, in a workspace of its own, with no layout remembered."""
        workspace = f"{self.address}/lab/workspaces/w{secrets.token_hex(4)}"
        page.goto(f"{workspace}{path and '/tree/'}{path}?token={self.token}&reset")
        page.wait_for_function("() => window.jupyterapp", timeout=SECONDS * 1000)
        page.evaluate(RESTORED)
        page.wait_for_selector("#jupyterlab-splash", state="detached", timeout=SECONDS * 1000)
        if path:
            page.evaluate(READY, path)

    def show(self, page, path: str, seconds: float = SECONDS) -> None:
        """Show a notebook, or the launcher, in the JupyterLab that a page has loaded; wait some seconds for it."""
        if not path:
            page.evaluate(LAUNCH)
            return
        open_it = "async (path) => { await window.jupyterapp.commands.execute('docmanager:open', {path}); }"
        page.evaluate(open_it, path)
        page.evaluate(within(seconds, IS_SHOWN), path)

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

    def end_kernels(self) -> None:
        """End all kernels: each holds some hundred megabytes."""
        for session in json.loads(self._ask("GET", "sessions")):
            self._ask("DELETE", f"sessions/{session['id']}")
        for kernel in json.loads(self._ask("GET", "kernels")):  # those of Voila have no session
            self._ask("DELETE", f"kernels/{kernel['id']}")

    def _ask(self, method: str, what: str) -> bytes:
        headers = {"Authorization": f"token {self.token}"}
        request = urllib.request.Request(
            f"{self.address}/api/{what}", headers=headers, method=method
        )
        with urllib.request.urlopen(request, timeout=SECONDS) as answer:
            return answer.read()

    def foreign(self, url: str) -> bool:
        """Whether a request leaves this server."""
        own = (self.address, self.address.replace("http", "ws", 1), "data:", "blob:")
        return not url.startswith(own)


class Reader:
    """Somebody at a browser, and what went wrong meanwhile."""

    def __init__(self, chromium, server: Lab, path: str | None, **options) -> None:
        self._sit_down(chromium.new_page(viewport=SIZE, **options), server)
        if path is not None:
            server.open(self.page, path)

    def _sit_down(self, page, server: Lab) -> None:
        self.page, self.trouble, self._listeners = page, [], []
        page.bring_to_front()  # behind others it would draw once a second
        page.set_default_timeout(SECONDS * 1000)
        self.hear("console", lambda m: m.type == "error" and self.trouble.append(m.text))
        self.hear("pageerror", lambda error: self.trouble.append(str(error)))
        self.hear("request", lambda r: server.foreign(r.url) and self.trouble.append(r.url))

    def hear(self, event: str, listener) -> None:
        """Have a listener called for an event of the page, until the reader leaves it."""
        self._listeners.append((event, listener))
        self.page.on(event, listener)


class Guest(Reader):
    """A reader who takes the page that another has left, if there is one: JupyterLab takes long to load.

    What is allowed to one, seen in a color scheme or copied is of no concern to the next.
    """

    def __init__(
        self, chromium, server: Lab, path: str, *, permissions=(), color_scheme="light"
    ) -> None:
        self._server = server
        if not self._take_over(color_scheme, path):
            super().__init__(chromium, server, "")
            self.page.emulate_media(color_scheme=color_scheme)
            server.show(self.page, path)
        if permissions:
            self.page.context.grant_permissions(permissions)
            self.page.evaluate("() => navigator.clipboard.writeText('')")

    def _take_over(self, color_scheme: str, path: str) -> bool:
        """Sit down at a page that another has left, if there is one and JupyterLab still answers in it."""
        from playwright.sync_api import Error

        while self._server.left:
            self._sit_down(self._server.left.pop(), self._server)
            self.page.set_viewport_size(SIZE)
            self.page.emulate_media(color_scheme=color_scheme)
            try:
                self._server.show(self.page, path, PATIENCE)
            except Error as error:
                print(f"a page that was left shows nothing: {error}", file=sys.stderr)
                self.page.context.close()
            else:
                return True
        return False

    def leave(self) -> None:
        """Close the notebooks; where something went wrong, the page as well."""
        for event, listener in self._listeners:
            self.page.remove_listener(event, listener)
        self.page.context.clear_permissions()
        if self.trouble or not self.page.evaluate(TIDY):
            self.page.context.close()
        else:
            self._server.left.append(self.page)


def _free_port() -> int:
    """Port that stays free until a server takes it: below those that the system hands out by itself."""
    while True:
        port = 20000 + secrets.randbelow(10000)
        with contextlib.suppress(OSError), socket.socket() as free:
            free.bind(("127.0.0.1", port))
            return port


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
def jupyter_lab(root: Path, *, kernels: bool = True, disabled: tuple[str, ...] = ()):
    """Start JupyterLab on a folder; give a `Lab`; stop it and its kernels, and theirs alone.

    Each one has a key of its own, so that it trusts no notebook which another has run. Without
    ``kernels`` it has nothing to run one with. Extensions that are ``disabled`` are as good as not installed.
    """
    port, token = _free_port(), secrets.token_hex(16)
    home = Path(tempfile.mkdtemp(prefix="lab-"))
    _settings(home)
    install_data(home / "data")
    if disabled:
        (home / "config" / "labconfig").mkdir(parents=True)
        page = {"disabledExtensions": dict.fromkeys(disabled, True)}
        (home / "config" / "labconfig" / "page_config.json").write_text(json.dumps(page))
    command = [
        *(sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root"),
        *("--ServerApp.ip=127.0.0.1", f"--port={port}", "--ServerApp.port_retries=0"),
        *(f"--IdentityProvider.token={token}", f"--ServerApp.root_dir={root}"),
        f"--ServerApp.shutdown_no_activity_timeout={IDLE}",
        *("--LabApp.news_url=", "--LabApp.extension_manager=readonly"),
        "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
        "--LanguageServerManager.autodetect=False",  # which starts Node a dozen times
        "--JupyterNotebookApp.expose_app_in_browser=True",
        "--LabApp.expose_app_in_browser=True",  # window.jupyterapp knows when it is ready
    ]
    if not kernels:
        command += ["--KernelSpecManager.ensure_native_kernel=False"]
        command += ["--KernelSpecManager.allowed_kernelspecs={'none'}"]
    with _running(command, home) as server:
        lab = Lab(f"http://127.0.0.1:{port}", token, root, home / "data")
        _wait_for(lab, server, home / "log")
        yield lab
        with contextlib.suppress(OSError):  # it has ended by itself
            lab.end_kernels()  # for which the server itself would take ten seconds


@contextlib.contextmanager
def workbench_lab(folder: Path):
    """Start ``workbench lab`` as a user does; give a `Lab` of the address that it prints, and that address."""
    home = Path(tempfile.mkdtemp(prefix="lab-"))
    _settings(home)
    (home / "config").mkdir()
    config = {
        "LabApp": {"expose_app_in_browser": True},
        "ServerApp": {"shutdown_no_activity_timeout": IDLE},
        "LanguageServerManager": {"autodetect": False},
    }
    (home / "config" / "jupyter_lab_config.json").write_text(json.dumps(config))
    port = _free_port()
    command = [sys.executable, "-m", "workbench", "lab", folder, "--no-browser", f"--port={port}"]
    with _running(command, home) as server:
        printed = _printed_address(server, home / "log")
        token = printed.partition("token=")[2]
        lab = Lab(f"http://127.0.0.1:{port}", token, folder, home / "data")
        _wait_for(lab, server, home / "log")
        yield lab, printed
        with contextlib.suppress(OSError):
            lab.end_kernels()  # as above


@contextlib.contextmanager
def _running(command, home: Path):
    """Run a server with the settings at ``home``; stop it and its kernels, and theirs alone."""
    with (home / "log").open("wb") as log:
        server = subprocess.Popen(
            command, stdout=log, stderr=log, env=_environment(home), start_new_session=True
        )
    try:
        yield server
    finally:
        os.killpg(server.pid, signal.SIGTERM)
        try:
            server.wait(10)
        except subprocess.TimeoutExpired:
            os.killpg(server.pid, signal.SIGKILL)
            server.wait()
        shutil.rmtree(home, ignore_errors=True)


def _printed_address(server: subprocess.Popen, log: Path) -> str:
    """Address that a server printed."""
    end = time.monotonic() + SECONDS
    while server.poll() is None and time.monotonic() < end:
        if found := re.search(r"http://127\.0\.0\.1:\S+token=\w+", log.read_text(errors="replace")):
            return found[0]
        time.sleep(0.05)
    raise RuntimeError(log.read_text(errors="replace"))


def _wait_for(lab: Lab, server: subprocess.Popen, log: Path) -> None:
    end = time.monotonic() + SECONDS
    while True:
        if server.poll() is not None or time.monotonic() > end:
            raise RuntimeError(log.read_text(errors="replace"))
        with contextlib.suppress(OSError):
            urllib.request.urlopen(f"{lab.address}/api/status?token={lab.token}", timeout=1).close()
            return
        time.sleep(0.05)
