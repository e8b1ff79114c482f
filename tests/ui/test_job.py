"""A job in the notebook without a browser: a click makes the comparison of a unit, or says why there is none."""

import base64
import json
import shutil
import sys
import zlib

import numpy as np
import pytest
from ipywidgets.widgets import widget as widgets

import workbench as wb
from kit.build.jobs import PRODUCT
from kit.build.sample_results import network_result
from kit.words import refused
from workbench.core.errors import WorkbenchError
from workbench.scale.heatmap import STATES
from workbench.scale.job import JobAxes, JobResult
from workbench.scale.summary import UnitSummary
from workbench.scale.units import Missing
from workbench.ui.widgets.explorer import Explorer
from workbench.ui.widgets.framed import Framed
from workbench.ui.widgets.live import JobMap
from workbench.ui.widgets.plain import PlainMap


@pytest.fixture
def job(job_folder):
    return wb.read_job(job_folder / "result")


@pytest.fixture(params=["anywidget", "plain"])
def view(request, job, monkeypatch):
    """What `explore` returns, in both kinds of kernels."""
    if request.param == "plain":
        monkeypatch.setitem(sys.modules, "anywidget", None)
    made = job.explore()
    assert isinstance(made.map, JobMap if request.param == "anywidget" else PlainMap)
    yield made
    made.close()


def click(view, rank, iteration):
    """As the browser tells of a click, or with the lists."""
    if isinstance(view.map, JobMap):
        view.map._handle_custom_msg({"rank": rank, "iteration": iteration}, [])
    else:
        view.map.rank.value, view.map.iteration.value = rank, iteration
        view.map.button.click()


def test_nothing_is_compared_until_a_unit_is_chosen(view):
    assert (view.comparison, view.place, view.to_code()) == (None, None, "")
    assert view.below.children == ()


def test_a_click_compares_the_unit_and_shows_its_explorer(view, job):
    click(view, 1, 1)
    alone = wb.compare(job.target, job.golden, rank=1, iteration=1)
    assert str(view.comparison.sentence) == str(alone.sentence)
    assert PRODUCT in str(view.comparison.sentence)
    (shown,) = view.below.children
    assert isinstance(shown, Explorer | Framed)
    assert shown.comparison is view.comparison
    assert PRODUCT.rpartition("/")[2] in view.answer.value
    assert 'data-code="job/map-opened"' in view.status.value
    assert view.to_code() == "job.comparison(1, 1)"


def test_another_click_takes_the_place_of_what_was_shown(view):
    click(view, 1, 1)
    before, count = view.below.children, len(widgets._instances)
    click(view, 0, 0)
    assert view.comparison.verdict == "pass"
    assert view.below.children != before
    assert len(widgets._instances) == count


def test_while_a_unit_is_compared_it_is_said_and_of_those_chosen_meanwhile_the_last_is_compared(
    gate, job
):
    compare, view = gate(JobResult, "comparison"), job.explore()
    click(view, 0, 0)
    compare.wait()
    assert 'data-code="job/map-opening"' in view.status.value
    assert view.comparison is None
    click(view, 0, 1)
    click(view, 1, 1)
    compare.open()
    assert view.background.wait(60)
    assert [call[1:] for call in compare.calls] == [(0, 0), (1, 1)]
    assert PRODUCT in str(view.comparison.sentence)
    assert view.to_code() == "job.comparison(1, 1)"
    view.close()


def test_until_the_next_unit_is_compared_the_one_before_is_shown_and_said_in_code(gate, job):
    view = job.explore()
    view.show(1, 1)
    assert view.background.wait(60)
    compare = gate(JobResult, "comparison")
    click(view, 0, 0)
    compare.wait()
    assert (view.place, view.to_code()) == ((1, 1), "job.comparison(1, 1)")
    assert view.below.children[0].comparison is view.comparison
    compare.open()
    assert view.background.wait(60)
    assert (view.place, view.to_code()) == ((0, 0), "job.comparison(0, 0)")
    assert view.comparison.verdict == "pass"
    view.close()


def test_of_a_view_that_was_closed_nothing_is_shown(gate, job):
    compare, view = gate(JobResult, "comparison"), job.explore()
    click(view, 1, 1)
    compare.wait()
    view.close()
    compare.open()
    assert view.background.wait(60)
    assert view.comparison is None


def test_where_the_trees_are_gone_one_sentence_says_so(job_folder, tmp_path):
    for name in ("golden", "target", "result"):
        shutil.copytree(job_folder / name, tmp_path / name)
    moved = json.loads((tmp_path / "result/job.json").read_text())
    moved |= {side: str(tmp_path / side) for side in ("target", "golden")}
    (tmp_path / "result/job.json").write_text(json.dumps(moved))
    view = wb.read_job(tmp_path / "result").explore()
    click(view, 1, 1)
    assert view.alert.text == ""
    assert view.comparison is not None
    shutil.rmtree(tmp_path / "target")
    click(view, 0, 1)
    assert view.alert.code == "core/missing"
    assert "/target' does not exist" in view.alert.text  # a long path is cut in its middle
    assert "\n" not in view.alert.text
    assert (view.comparison, view.below.children, view.answer.value) == (None, (), "")
    assert "map-open" not in view.status.value
    click(view, 0, 0)
    assert view.alert.code == "core/missing"
    view.close()


def test_where_a_rank_is_gone_from_the_trees_one_sentence_says_so(job_folder, tmp_path):
    for name in ("target", "result"):
        shutil.copytree(job_folder / name, tmp_path / name)
    moved = json.loads((tmp_path / "result/job.json").read_text())
    (tmp_path / "result/job.json").write_text(
        json.dumps(moved | {"target": str(tmp_path / "target")})
    )
    for path in (tmp_path / "target").rglob("rank_1"):
        shutil.rmtree(path)
    view = wb.read_job(tmp_path / "result").explore()
    click(view, 1, 1)
    assert view.alert.code == "job/nothing-common"
    view.close()


ODD = JobResult(
    "/t", "/g", (UnitSummary(0, 0, "done", "pass", unmatched=3, uncompared=4),), missing=(Missing("golden", 1, 0),)
)  # fmt: skip


@pytest.mark.parametrize(
    ("place", "code"),
    [((0, 0), "job/no-dumps"), ((1, 0), "job/unit-missing"), ((7, 9), "job/no-unit")],
)
def test_a_unit_that_cannot_be_compared_says_why(place, code):
    view = ODD.explore()
    click(view, *place)
    assert view.alert.code == code
    assert view.comparison is None
    view.close()
    with refused(code, WorkbenchError):
        ODD.comparison(*place)


def test_of_ranks_that_were_joined_the_iteration_is_said_alone(gate):
    """Below rank 0 stands what all ranks hold together."""
    made = wb.Comparison(network_result(20, 1))
    axes = JobAxes("tp=2", "tp=1", "given")
    units = (UnitSummary(0, 4, "done", "fail"),)
    job = JobResult("/t", "/g", units, axes=axes, compare=lambda *_asked: made)
    compare, view = gate(JobResult, "comparison"), job.explore()
    click(view, 0, 4)
    compare.wait()
    assert "rank 0" not in view.status.value
    assert 'data-code="job/map-opening-joined"' in view.status.value
    compare.open()
    assert view.background.wait(60)
    assert view.comparison is made
    assert "rank 0" not in view.status.value
    assert 'data-code="job/map-opened-joined"' in view.status.value
    assert json.loads(zlib.decompress(view.map.data))["joined"]
    view.close()


@pytest.mark.parametrize(
    "content",
    [
        None, [], "x", {}, {"rank": 0}, {"rank": "0", "iteration": 0}, {"rank": 0, "iteration": 0.0},
        {"rank": True, "iteration": 0},
    ],
)  # fmt: skip
def test_what_the_browser_never_sends_is_no_click(content):
    view = ODD.explore()
    view.map._handle_custom_msg(content, [])
    assert view.alert.text == ""  # of a click it says that there are no dumps
    view.close()


def test_what_is_sent_to_the_browser_holds_all_units_in_few_bytes():
    """1,024 ranks in 100 iterations; the planes are read by the field's own tools."""
    random = np.random.default_rng(0)
    units = tuple(
        UnitSummary(
            rank, iteration, "done", ("pass", "fail")[int(random.integers(2))],
            error=10.0 ** -int(random.integers(9)), unmatched=int(random.integers(300)),
        )
        for rank in range(1024)
        for iteration in range(100)
    )  # fmt: skip
    view = JobResult("/t", "/g", units).explore()
    state = view.map.get_state()
    assert len(state["data"]) < 500_000
    assert len(json.dumps({n: v for n, v in state.items() if n != "data"})) < 50_000
    data = json.loads(zlib.decompress(view.map.data))
    planes = {
        name: np.frombuffer(base64.b64decode(text), np.uint8).reshape(1024, 100)
        for name, text in data["planes"].items()
    }
    for one in units[:: len(units) // 50]:
        assert data["states"][planes["state"][one.place]] == one.verdict
        assert planes["missing"][one.place] == min(255, one.unmatched)
    assert tuple(data["states"]) == STATES
    wrong = min((one.iteration, one.rank) for one in units if one.verdict == "fail")
    assert data["start"] == [*wrong[::-1]]
    view.close()


def test_without_a_kernel_the_answer_of_the_job_stays(job):
    view = job.explore()
    bundle = view._repr_mimebundle_()
    assert bundle["text/plain"] == repr(job)
    assert PRODUCT.rpartition("/")[2] in bundle["text/html"]
    view.close()
