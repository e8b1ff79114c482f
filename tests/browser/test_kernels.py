"""Other versions of ipykernel: handlers run on other threads there, and everything goes the same way."""

import json
import subprocess
import sys

import pytest

import workbench as wb
from kit.cases import nightly
from kit.face.jupyter_lab import RUN_CODE, Guest, missing
from kit.face.pages import FAULT, GUILTY, status
from kit.face.screen import label

expect = pytest.importorskip("playwright.sync_api").expect

pytestmark = [pytest.mark.browser, pytest.mark.slow]

# where its handlers run: the main thread; a thread beside the running cell. The newest is in every other test here,
# these two are for the nightly run
VERSIONS = nightly(("6.31.0", "7.1.0"), [])
CELLS = (
    "import ipykernel, workbench as wb",
    "form = wb.config.new('mindspore-o0o1').set('common_dump_settings.iteration', 'all')",
    "bench = wb.Workbench(form, 'alexnet', iterations=2000)\nbench.form('run')",
)


@pytest.fixture(scope="module", params=VERSIONS)
def kernel(request, lab, tmp_path_factory) -> str:
    """Name of a kernel that runs on that version; all else is that of this environment."""
    packages = tmp_path_factory.mktemp(f"ipykernel-{request.param}")
    installed = subprocess.run(
        [*(sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"),
         *("--no-deps", "--retries", "1", "--target", packages),
         *(f"ipykernel=={request.param}", "nest-asyncio==1.6.0")],
        capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    if installed.returncode:
        missing(f"ipykernel {request.param} cannot be installed: {installed.stderr}")
    name = f"ipykernel-{request.param}"
    folder = lab.data / "kernels" / name
    folder.mkdir(parents=True)
    first = f"import sys; sys.path.insert(0, {str(packages)!r})"
    start = "from ipykernel.kernelapp import launch_new_instance; launch_new_instance()"
    spec = {
        "argv": [sys.executable, "-c", f"{first}; {start}", "-f", "{connection_file}"],
        "display_name": name,
        "language": "python",
    }
    (folder / "kernel.json").write_text(json.dumps(spec))
    return name


@pytest.fixture
def user(chromium, lab, kernel):
    """Somebody whose notebook has that kernel."""
    reader = Guest(chromium, lab, lab.write(f"{kernel}.ipynb", CELLS, kernel=kernel))
    yield reader
    reader.leave()


@pytest.mark.criterion(2)
def test_a_run_is_watched_cancelled_and_done_again(user, lab, kernel):
    page = user.page
    assert lab.run_all(page) == []
    assert kernel.removeprefix("ipykernel-") in str(
        page.evaluate(RUN_CODE, "ipykernel.__version__")
    )
    run, cancel = (
        page.get_by_role("button", name=label(code), exact=True)
        for code in ("ui/run-comparison", "ui/cancel-run")
    )
    run.click()
    status(page, "ui/run-state-tensors")
    assert "42" in str(page.evaluate(RUN_CODE, "6 * 7"))  # another cell answers meanwhile
    cancel.click()
    status(page, "ui/nothing-kept", "ui/run-cancelled")
    page.evaluate(RUN_CODE, f"bench.iterations, bench.faults = 1, ({FAULT!r},)")
    page.get_by_label(label("ui/faults"), exact=True).scroll_into_view_if_needed()
    expect(page.get_by_label(label("ui/faults"), exact=True)).to_have_value(FAULT)
    run.click()
    status(page, "ui/run-done")
    outputs = page.evaluate(RUN_CODE, "print(bench.comparison.to_json()['findings'])")
    form = wb.config.new("mindspore-o0o1").set("common_dump_settings.iteration", "all")
    here = wb.Workbench(form, "alexnet", faults=[FAULT]).run().to_json()["findings"]
    assert here[0]["op_name"] == GUILTY
    assert "".join(output["text"] for output in outputs).strip() == str(here)
    assert user.trouble == []
