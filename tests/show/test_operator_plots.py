"""Figures of one operator: what is in them, that they are XML, and always the same."""

import xml.etree.ElementTree as ET
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from kit.build.sample_results import make_row
from workbench.comparison.measure.elements import read_elements
from workbench.core.tensors import ArraySource
from workbench.show.plots.operator import heat_svg, histogram_svg, scatter_svg, trend_svg

RNG = np.random.default_rng(5)


def elements(target, golden):
    target, golden = np.asarray(target), np.asarray(golden)
    names = target.dtype.name, golden.dtype.name
    return read_elements(ArraySource(target), ArraySource(golden), names)


GOLDEN = RNG.normal(size=(6, 7, 8)).astype(np.float32)
PAIRS = {
    "usual": (GOLDEN * 1.01, GOLDEN),
    "equal": (GOLDEN, GOLDEN),
    "odd": (np.where(GOLDEN > 1, np.nan, GOLDEN), GOLDEN),
    "all odd": (np.full_like(GOLDEN, np.nan), GOLDEN),
    "scalar": (np.float32(1), np.float32(2)),
    "empty": (np.zeros((0, 4), np.float32), np.zeros((0, 4), np.float32)),
    "one value": (np.full(9, 2, np.int64), np.full(9, 1, np.int64)),
    "large": (np.float64([1e308, 1.0]), np.float64([-1e308, 1.0])),
    "small": (np.float64([5e-324, 0]), np.float64([0, 5e-324])),
}


KINDS = ("absolute", "relative")
FIGURES = {
    "scatter": scatter_svg,
    **{f"{kind} histogram": partial(histogram_svg, kind=kind) for kind in KINDS},
    **{f"{kind} map": lambda found, k=kind: heat_svg(found.heat_map(kind=k), k) for kind in KINDS},
}


@pytest.mark.parametrize("name", PAIRS)
def test_every_figure_is_xml_in_the_ink_of_the_page(name):
    found = elements(*PAIRS[name])
    for draw in FIGURES.values():
        text = draw(found)
        root = ET.fromstring(text)
        assert root.get("role") == "img"
        assert root.get("aria-label")
        assert "currentColor" in text


@pytest.mark.parametrize("figure", FIGURES)
def test_a_figure_is_always_the_same(figure):
    found = elements(*PAIRS["odd"])
    assert FIGURES[figure](found) == FIGURES[figure](found)


def words(text):
    return [node.text for node in ET.fromstring(text).iter() if node.text and node.text.strip()]


def test_zeros_and_errors_without_bound_have_lanes_of_their_own():
    usual, odd = (histogram_svg(elements(*PAIRS[name])) for name in ("usual", "odd"))
    assert "NaN, Inf" not in words(usual)
    assert {"0", "NaN, Inf"} <= set(words(odd))


def test_figures_share_no_ids_in_one_page():
    found = elements(*PAIRS["usual"])
    ids = []
    for text in (histogram_svg(found), heat_svg(found.heat_map()), scatter_svg(found)):
        ids += {node.get("id") for node in ET.fromstring(text).iter() if node.get("id")}
    shared = {one for one in ids if ids.count(one) > 1}
    assert not any(one.startswith(("figure", "axes", "patch", "text")) for one in ids)
    assert all(one.startswith("m") for one in shared)  # markers are named by what they look like


def test_axes_of_the_plane_are_named():
    found = elements(*PAIRS["usual"])
    assert {"axis 0", "axis 2"} <= set(words(heat_svg(found.heat_map((0, 2)))))


def test_a_trend_draws_every_iteration_and_names_ranks():
    rows = [
        make_row(
            iteration=step, rank=rank, error=10.0**-step, inherited_error=0.0, noise_floor=1e-7
        )
        for rank in (0, 1)
        for step in range(4)
    ]
    text = trend_svg(rows, ranks=True)
    assert {"rank 0", "rank 1", "iteration"} <= set(words(text))
    assert "rank 0" not in words(trend_svg(rows[:4], ranks=False))


def test_a_trend_of_infinite_and_missing_errors_is_drawn():
    rows = [
        replace(make_row(iteration=step), error=error)
        for step, error in enumerate((None, float("inf"), float("nan"), 0.0))
    ]
    ET.fromstring(trend_svg(rows, ranks=True))
