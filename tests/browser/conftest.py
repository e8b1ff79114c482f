"""One Chromium for all browser tests; absent, they skip loudly, or fail if REQUIRE_BROWSER=1."""

import os
import shutil

import pytest

from kit.face.jupyter_lab import jupyter_lab, missing
from kit.face.pages import pages, show  # noqa: F401  fixtures

NAMES = ("chromium", "chromium-browser", "google-chrome")

FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--js-flags=--no-opt",  # a page lives too short for what it costs: a tenth of the browser's processor time
]


@pytest.fixture(scope="session")
def chromium():
    try:
        from playwright.sync_api import expect, sync_playwright
    except ImportError:
        missing("playwright is not installed")
    path = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
    if not path:
        missing("neither CHROMIUM nor chromium on the PATH names a browser; install Chromium")
    expect.set_options(timeout=60_000)  # a busy machine is no defect
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, headless=True, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def server(chromium, tmp_path_factory):
    """One JupyterLab for the whole session."""
    with jupyter_lab(tmp_path_factory.mktemp("lab")) as running:
        yield running


@pytest.fixture(scope="module")
def lab(server):
    """The JupyterLab of the session, into which each module puts its notebooks; their kernels end with it."""
    yield server
    server.end_kernels()
