"""The picture and the report of a job, also of one of 1,024 ranks and 100 iterations."""

from __future__ import annotations

import base64
import json
import math
import re
import zlib

import numpy as np
import pytest

from kit.words import refused
from workbench.core.errors import WorkbenchError
from workbench.scale.heatmap import STATES, VALUES, cells
from workbench.scale.job import Diagnosis, JobResult
from workbench.scale.merge import Disagreement, Group
from workbench.scale.report import map_data
from workbench.scale.summary import FirstDivergence, UnitSummary
from workbench.scale.units import Missing

NAME = 'Default/<b>&"x"/layer{}-Dense/MatMul-op{}'


def made_job(ranks, iterations, names=50):
    """A job of which a third of the units part, each at one of some operators."""
    random = np.random.default_rng(0)
    units = []
    for rank in range(ranks):
        for iteration in range(iterations):
            at = int(random.integers(3 * names))
            name = NAME.format(at, at)
            divergence = FirstDivergence(
                "own-error", name, "MatMul", 0, at, "output", 0, 0.1, 1e-3, "a.py:1"
            )
            units.append(
                UnitSummary(
                    rank, iteration, "done", "fail" if at < names else "pass", 100, 90, 10,
                    nonfinite=at % 7, error=math.inf if at == 1 else 10.0 ** -(at % 12),
                    worst=name, first=divergence if at < names else None,
                )
            )  # fmt: skip
    units[0] = UnitSummary(0, 0, "failed", reason="<script>alert(1)</script>")
    units[1] = UnitSummary(0, 1)
    group = Group((1,), 0, "origin", divergence)
    told = Diagnosis(
        1, 0, "s", "own-error", ("<i>evidence</i>",), (("scaled-output", 0.9),), "do it"
    )
    return JobResult(
        "/t<t>", "/g", tuple(units), (group, Group((0,), 1, "received", divergence, (1,))),
        (Disagreement(0, NAME, "output", 0, (1,), (0,)),), (Missing("golden", ranks, 0),), (told,),
    )  # fmt: skip


@pytest.fixture(scope="module")
def small():
    return made_job(4, 3)


def test_a_map_has_a_cell_for_every_unit(small):
    found = cells(small, "verdict")
    assert (found.ranks, found.iterations) == ((0, 1, 2, 3, 4), (0, 1, 2))
    for one in small.units:
        expected = one.verdict if one.state == "done" else one.state
        assert STATES[int(found.values[one.rank, one.iteration])] == expected
    assert np.isnan(found.values[4]).all()


@pytest.mark.parametrize("value", VALUES)
def test_every_value_is_drawn(small, value):
    figure = small.heatmap(value)
    assert figure.axes[0].get_images()[0].get_array().shape == (5, 3)
    assert len(figure.axes) == 2
    assert "<image" in figure._repr_svg_()  # a notebook shows it without pyplot


@pytest.mark.parametrize("value", VALUES)
def test_a_job_that_ended_before_its_first_unit_has_an_empty_picture(value, tmp_path):
    job = JobResult("target", "golden", ())
    job.heatmap(value).savefig(tmp_path / "map.png")
    assert cells(job, value).values.size == 0


def test_errors_are_shown_as_logarithms(small):
    found = cells(small, "error").values
    for one in small.units:
        shown = found[one.rank, one.iteration]
        if one.error is None:
            assert np.isnan(shown)
        else:
            assert shown == (one.error if math.isinf(one.error) else max(-9, math.log10(one.error)))


def test_an_unknown_value_is_refused(small):
    with refused("core/choice", WorkbenchError, subject="value", got="x"):
        small.heatmap("x")


def data_of(page):
    text = re.search(r'id="job-data">([^<]*)<', page)[1]
    return json.loads(zlib.decompress(base64.b64decode(text)))


def test_a_report_holds_the_map_and_obeys_nothing_of_the_dumps(small, tmp_path):
    page = small.to_html(tmp_path / "a.html").read_text()
    assert data_of(page) == json.loads(json.dumps(map_data(small)))
    assert "<script>alert" not in page
    assert "<i>evidence" not in page
    assert "<b>" not in page
    assert page.count("<script") == 2
    assert "http" not in re.sub(r"http://www\.w3\.org/[\w/.]+", "", page).replace("http-equiv", "")
    assert page == small.to_html(tmp_path / "b.html").read_text()


def test_a_plane_says_what_the_unit_is(small):
    data = map_data(small)
    planes = {
        name: np.frombuffer(base64.b64decode(text), np.uint8).reshape(5, 3)
        for name, text in data["planes"].items()
    }
    for one in small.units:
        place = one.rank, one.iteration
        part = int(planes["part_low"][place]) + 256 * int(planes["part_high"][place])
        assert (data["names"][part - 1] if part else None) == (
            f"MatMul {one.first.op_name}" if one.first else None
        )
        assert planes["nonfinite"][place] == one.nonfinite
    assert planes["error"][0, 0] == 255


def test_a_report_of_1024_ranks_and_100_iterations_takes_2_megabytes_at_most(tmp_path):
    job = made_job(1024, 100, names=3000)
    assert job.to_html(tmp_path / "a.html").stat().st_size <= 2_000_000


def test_a_notebook_shows_a_job_without_scripts(small):
    text = small._repr_html_()
    assert "<svg" in text
    assert "<script" not in text
    assert "<i>evidence" not in text
