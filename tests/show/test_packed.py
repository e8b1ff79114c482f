"""What a widget is sent is what a page is told, with figures as bytes."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.build.sample_results import make_result, make_row, network_result
from kit.oracle.packed import unpacked
from workbench.show import payload
from workbench.show.packed import compressed
from workbench.show.payload import DESCRIPTION_LIMIT, explorer_data

WORDS = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


def told(value):
    return WORDS.get(value, value) if isinstance(value, str) else value


def same(here, there, loss):
    if here is None or there is None or not math.isfinite(there):
        return repr(here) == repr(there) or math.isnan(here) == math.isnan(there) is True
    return here == there or math.isclose(here, there, rel_tol=loss)


@pytest.mark.parametrize("rows", [0, 60, 334, DESCRIPTION_LIMIT + 9])
@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_widget_gets_what_the_json_says(rows, language):
    result = make_result(rows=()) if not rows else network_result(rows, 2)
    page = json.loads(json.dumps(explorer_data(result, language=language, exact=True)))
    widget = unpacked(compressed(result, language))
    columns = zip(widget.pop("columns"), page.pop("columns"), strict=True)
    assert widget == page
    for here, there in columns:
        figures, others = here.pop("values"), there.pop("values")
        assert here == there
        if others is None or here["kind"] == "text" or here["key"] == "order":
            assert figures == others
            continue
        exact = rows <= DESCRIPTION_LIMIT or here["key"] in ("error", "inherited", "floor")
        loss = 0 if exact else 2**-15
        for figure, other in zip(map(told, figures), map(told, others), strict=True):
            assert same(figure, other, loss), (here["key"], figure, other)


SHOWN = st.floats() | st.floats(0, 1) | st.integers(-(2**40), 2**40).map(float) | st.none()


@given(st.lists(SHOWN, min_size=1, max_size=9))
def test_any_figure_reads_as_in_the_table_of_a_page(figures):
    rows = [
        make_row(metrics={} if one is None else {"MaxAbsoluteError": one, "CosineSimilarity": one})
        for one in figures
    ]
    result = make_result(rows=tuple(rows))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(payload, "DESCRIPTION_LIMIT", 0)  # as of a large result
        page = {one["key"]: one for one in explorer_data(result, exact=True)["columns"]}
        widget = {one["key"]: one for one in unpacked(compressed(result))["columns"]}
    for key in ("MaxAbsoluteError", "CosineSimilarity"):
        shown = [told(one) for one in page[key]["values"] if one is not None] if key in page else []
        sent = [one for one in widget[key]["values"] if one is not None] if key in widget else []
        assert [digits(key, one) for one in sent] == [digits(key, one) for one in shown]


def digits(key, value):
    """Three digits as tables have them; shares below 1 as many as show how far from it they are, seven at most."""
    if abs(value) < 1e7 and value == math.floor(value):
        assert math.copysign(1, value) == 1 or value < 0  # a browser spells -0.0 with its sign
        return str(int(value))
    if key == "CosineSimilarity" and 0.1 <= value < 1:
        return f"{value:.{min(7, max(3, 2 - math.floor(math.log10(1 - value))))}f}"
    return f"{value:.3g}"


def test_large_results_take_less_than_half_of_their_figures():
    result = network_result(DESCRIPTION_LIMIT + 1_000, 4)
    numbers = sum(
        len(column["values"])
        for column in explorer_data(result, exact=True)["columns"]
        if column["kind"] != "text" and column["values"]
    )
    assert len(compressed(result)) < 8 * numbers / 2
