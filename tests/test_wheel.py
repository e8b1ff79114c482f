"""An installed wheel: `workbench lab` works without a checkout around it."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import sysconfig
import time
import tomllib
import urllib.error
import urllib.request
import zipfile
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from kit.cases import is_nightly
from kit.face.jupyter_lab import missing

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]
SOURCES = (
    *("pyproject.toml", "setup.py", "MANIFEST.in", "README.md", "LICENSE"),
    *("workbench", "notebooks", "sample_dumps", "labextension"),
)
LEFT_OUT = shutil.ignore_patterns("build", "__pycache__", ".ipynb_checkpoints", "*.egg-info")
SECONDS = 60


def at_hand() -> tuple[str, ...]:
    """What has pip build with the setuptools that is installed, if that can: none is fetched, a third of the time."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    (needed,) = project["build-system"]["requires"]
    try:
        installed = version("setuptools")
    except PackageNotFoundError:
        return ()
    enough = Requirement(needed).specifier.contains(installed)
    return ("--no-build-isolation",) if enough and not is_nightly() else ()


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    """The wheel of this tree, built as pip builds it; each night as for somebody who has no setuptools."""
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"
    source.mkdir()
    for name in SOURCES:
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        options = {"ignore": LEFT_OUT} if copy is shutil.copytree else {}
        copy(ROOT / name, source / name, **options)
    built = subprocess.run(
        [*(sys.executable, "-m", "pip", "wheel"), *("--no-deps", "--quiet", "--retries", "1"),
         *("--disable-pip-version-check", "--wheel-dir", folder, source), *at_hand()],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if built.returncode and "No matching distribution found for setuptools" in built.stderr:
        missing(f"there is no setuptools to build one with: {built.stderr}")
    assert built.returncode == 0, built.stderr
    return next(folder.glob("*.whl"))


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory) -> Path:
    """A virtual environment with the wheel; what it depends on is that of this one."""
    place = tmp_path_factory.mktemp("venv") / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", place], check=True)
    python = place / "bin" / "python"
    subprocess.run(
        [*(sys.executable, "-m", "pip", "--python", python, "install"), "--quiet", "--no-deps", "--no-compile",
         *("--no-index", "--disable-pip-version-check", wheel)], check=True,
    )  # fmt: skip
    packages = next((place / "lib").glob("python*/site-packages"))
    (packages / "others.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return place


@pytest.fixture(scope="module")
def outside(installed) -> dict[str, str]:
    """Environment of somebody who has nothing but the wheel, and no settings."""
    home = installed.parent / "home"
    home.mkdir()
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "JUPYTER"))}
    return clean | {"HOME": str(home), "IPYTHONDIR": str(home / "ipython")}


def test_notebooks_dumps_and_launcher_are_in_the_wheel(wheel):
    names = set(zipfile.ZipFile(wheel).namelist())
    examples = {
        f"workbench/examples/{path.relative_to(ROOT).as_posix()}"
        for part in ("notebooks", "sample_dumps")
        for path in (ROOT / part).rglob("*")
        if path.is_file()
        and not {"build", "__pycache__", ".ipynb_checkpoints"} & set(path.relative_to(ROOT).parts)
    }
    assert {name for name in names if name.startswith("workbench/examples/")} == examples
    place = ".data/data/share/jupyter/labextensions/npu-accuracy-workbench/"
    launcher = {name.partition(place)[2] for name in names if place in name}
    assert launcher == {
        *("package.json", "install.json"),
        *("static/remoteEntry.js", "static/dashboard.ipynb"),
    }
    roots = {name.partition("/")[0].partition("-")[0] for name in names}
    assert roots == {"workbench", "npu_accuracy_workbench"}


def test_every_file_of_the_package_is_in_the_wheel(wheel):
    names = set(zipfile.ZipFile(wheel).namelist())
    ours = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "workbench").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert ours - names == set()


def test_the_launcher_has_the_version_of_the_package():
    package = json.loads((ROOT / "labextension/package.json").read_text(encoding="utf-8"))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert (package["name"], package["version"]) == (project["name"], project["version"])


def get(url: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(url, timeout=10) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, ""


@pytest.fixture(scope="module")
def server(installed, outside):
    """`workbench lab` of the wheel in a folder of somebody's: its address with the token, its log, the folder."""
    folder = installed.parent / "mine"
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    log = installed.parent / "log"
    with log.open("wb") as output:
        running = subprocess.Popen(
            [installed / "bin/workbench", "lab", "--no-browser", "--port", str(port), folder],
            stdout=output, stderr=output, cwd=installed.parent, env=outside, start_new_session=True,
        )  # fmt: skip
    try:
        end = time.monotonic() + SECONDS
        printed = None
        while printed is None:
            text = log.read_text(errors="replace")
            assert running.poll() is None, text
            assert time.monotonic() < end, text
            printed = re.search(rf"http://127\.0\.0\.1:{port}\S*\?token=(\w+)", text)
            time.sleep(0.05)
        yield running, printed, log, folder
    finally:
        if running.poll() is None:
            os.killpg(running.pid, signal.SIGKILL)
        running.wait()


def test_it_serves_the_copy_behind_a_token(server):
    _, printed, log, folder = server
    origin, token = printed[0].partition("/lab")[0], printed[1]
    assert "/lab/tree/notebooks/dashboard.ipynb?token=" in printed[0]
    assert len(token) >= 32
    assert get(f"{origin}/api/contents/notebooks")[0] == 403
    status, listing = get(f"{origin}/api/contents/notebooks?token={token}")
    assert status == 200
    assert {item["name"] for item in json.loads(listing)["content"]} == {
        path.name for path in (ROOT / "notebooks").glob("*.ipynb")
    }
    assert f"notebooks: {folder}/notebooks" in log.read_text()


def test_it_offers_the_launcher_card(server):
    origin, token = server[1][0].partition("/lab")[0], server[1][1]
    page = get(f"{origin}/lab?token={token}")[1]
    config = json.loads(re.search(r'jupyter-config-data"[^>]*>(.*?)</script>', page, re.S)[1])
    ours = [e for e in config["federated_extensions"] if e["name"] == "npu-accuracy-workbench"]
    assert [(e["load"], e["extension"]) for e in ours] == [("static/remoteEntry.js", "./extension")]
    static = f"{origin}/lab/extensions/npu-accuracy-workbench/static"
    for name, original in (
        ("remoteEntry.js", "labextension/static/remoteEntry.js"),
        ("dashboard.ipynb", "notebooks/dashboard.ipynb"),
    ):
        assert get(f"{static}/{name}?token={token}") == (200, (ROOT / original).read_text())


def test_it_stops_when_told_and_that_is_no_error(server):
    running = server[0]
    running.send_signal(signal.SIGTERM)
    assert running.wait(20) == 0


def test_the_copied_dumps_compare(installed, outside, server):
    pair = server[3] / "sample_dumps/real_pair"
    run = subprocess.run(
        [installed / "bin/workbench", "compare", pair / "dump_b", pair / "dump_a"],
        capture_output=True, text=True, cwd=installed.parent, env=outside, check=False,
    )  # fmt: skip
    assert run.returncode == 1
    assert "Default/conv3-Conv2d/Conv2D-op0 (script.py:41" in run.stdout
    where = subprocess.run(
        [installed / "bin/python", "-c", "import workbench; print(workbench.__file__)"],
        capture_output=True, text=True, cwd=installed.parent, env=outside, check=True,
    ).stdout  # fmt: skip
    assert where.startswith(str(installed))
