"""The JSON for the explorer, unpacked again and compared with the rows it came from."""

import base64
import gzip
import json
import math
from itertools import accumulate
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.build.sample_results import csv_text, make_result, make_row, network_result
from workbench.comparison.results.regrade import regrade
from workbench.comparison.rows import MaybeNumbers, Rows
from workbench.show import payload
from workbench.show.json_result import dumps
from workbench.show.look.landmarks import first_divergence, largest_jump
from workbench.show.payload import embed, explorer_data, left_out
from workbench.ui.parts.source import Source

ODD = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


def cells(data, key):
    column = next(column for column in data["columns"] if column["key"] == key)
    if key == "order":
        return list(accumulate(column["values"]))
    if key == "golden":
        names, own = cells(data, "op_name"), column["values"]
        return [column["texts"][n] if n >= 0 else names[i] for i, n in enumerate(own)]
    if column["kind"] == "text":
        return [column["texts"][number] for number in column["values"]]
    return [
        ODD.get(value, value) if isinstance(value, str) else value for value in column["values"]
    ]


def unpack(text, encoding):
    return json.loads(gzip.decompress(base64.b64decode(text)) if encoding == "gzip" else text)


@pytest.mark.parametrize(
    "read",
    [
        lambda result: explorer_data(result, exact=True),
        lambda result: first_divergence(result.rows, result.findings),
        lambda result: largest_jump(result.rows),
        lambda result: Source.stage(SimpleNamespace(comparison=SimpleNamespace(result=result))),
        dumps,
        csv_text,
    ],
    ids=["explorer", "first divergence", "largest jump", "lines", "json", "csv"],
)
def test_what_opens_first_and_every_table_read_columns_and_make_no_value_of_every_row(
    read, monkeypatch
):
    result = network_result(30, 2)
    expected = read(result)
    monkeypatch.setattr(Rows, "views", lambda _: pytest.fail("every row was made a value"))
    assert repr(read(result)) == repr(expected)


def test_every_row_is_there_with_its_name_and_its_error_in_five_digits():
    result = network_result(334, 2)
    data = unpack(*embed(explorer_data(result)))
    assert data["rows"] == len(result.rows) == len(data["x"])
    assert cells(data, "op_name") == [row.op_name for row in result.rows]
    assert cells(data, "order") == [row.order for row in result.rows]
    assert cells(data, "golden") == [row.golden_op_name for row in result.rows]
    for shown, row in zip(cells(data, "error"), result.rows, strict=True):
        if row.error is None or not math.isfinite(row.error):
            assert repr(shown) == repr(row.error)
        else:
            assert math.isclose(shown, row.error, rel_tol=5e-5)


def threshold(digits, power):
    return float(f"{digits}e{power}")


THRESHOLDS = st.builds(threshold, st.integers(1, 9999), st.integers(-12, 6))
ANY = st.floats(0, allow_infinity=False, allow_nan=False)


def beside(value):
    """Figures at a threshold, as near to it as float64 allows, and rather near."""
    near = [math.nextafter(value, side) for side in (0.0, math.inf)]
    return st.sampled_from([value, *near, value * (1 + 1e-7), value * (1 - 1e-7)])


@given(st.data(), st.sampled_from([10, 2_501]))
def test_a_page_grades_by_four_digits_as_python_does(data, rows):
    limit, factor = data.draw(THRESHOLDS), data.draw(THRESHOLDS)
    floor = data.draw(st.sampled_from([0.0, 1e-7, 3.3e-7, 0.1]))
    drawn = beside(limit) | beside(factor * floor) | ANY
    errors = data.draw(st.lists(drawn, min_size=1, max_size=9))
    made = [make_row(status="pass", error=error, noise_floor=floor) for error in errors]
    page = explorer_data(make_result(rows=tuple(made + made[:1] * (rows - len(made)))))
    told, times = cells(page, "error"), [ODD.get(value, value) for value in page["times"]]
    graded = zip(regrade(made, None, limit), regrade(made, factor), strict=True)
    for n, (row, (by_limit, by_factor)) in enumerate(zip(made, graded, strict=True)):
        assert (told[n] > limit) == (by_limit.status == "fail"), (row.error, told[n], limit)
        assert (times[n] > factor) == (by_factor.status == "fail"), (row.error, floor, factor)
        assert by_limit.status == "fail" or (times[n] > 1) == (by_limit.status == "warn")
        assert math.isclose(told[n], row.error, rel_tol=1e-3, abs_tol=1e-323)


def test_the_error_is_not_shown_twice_unless_it_differs_from_the_metric():
    def keys(error):
        row = make_row(error=error, metrics={"RelativeEuclideanDistance": float("nan")})
        return {c["key"] for c in explorer_data(make_result(rows=(row,)))["columns"]}

    assert "RelativeEuclideanDistance" not in keys(float("nan"))
    assert "RelativeEuclideanDistance" in keys(0.5)


def test_a_cosine_next_to_one_is_not_rounded_to_one():
    row = make_row(metrics={"CosineSimilarity": 0.9999996})
    assert cells(explorer_data(make_result(rows=(row,))), "CosineSimilarity") == [0.9999996]


@given(st.text())
def test_no_text_can_end_the_script_element(name):
    text, encoding = embed(explorer_data(make_result(rows=(make_row(op_name=name),))))
    assert not set("<>&\u2028\u2029") & set(text)
    shown = name.encode("utf-8", "replace").decode()
    assert cells(unpack(text, encoding), "op_name") == [shown]


NUMBERS = st.none() | st.floats(allow_nan=True, allow_infinity=True) | st.floats(1e-9, 1e3)


def spelled_with(places, value):
    """Python's own spelling of a figure with so many digits."""
    return float(f"{value:.{places}g}")


@given(st.lists(NUMBERS, min_size=1, max_size=20), st.sampled_from([3, 5]))
def test_a_figure_is_rounded_as_python_spells_it_and_whole_ones_stay(values, places):
    shown = payload.as_list(payload._figures(MaybeNumbers.of(values), "number", places))
    json.dumps(shown, allow_nan=False)
    for told, value in zip(shown, values, strict=True):
        if value is None:
            assert told is None
        elif not math.isfinite(value):
            assert repr(ODD[told]) == repr(value)
        elif value.is_integer() and abs(value) < 2**53:
            assert (told, type(told)) == (value, int)
        elif math.isinf(spelled_with(places, value)):
            assert told == value
        elif told != spelled_with(places, value):  # halfway between two figures: either will do
            assert abs(told - value) <= abs(spelled_with(places, value) - value) * (1 + 1e-9)
            assert told == spelled_with(places, told)


@given(st.floats(0.1, 1, exclude_max=True))
def test_what_lacks_little_to_one_keeps_three_digits_of_what_it_lacks(value):
    (told,) = payload._figures(MaybeNumbers.of([value]), "share", 3).values
    lacks = 1 - value
    assert math.isclose(told, value, abs_tol=max(0.5e-7, 0.5e-2 * lacks) * 1.001)


def test_much_data_is_compressed_without_a_time_stamp():
    data = explorer_data(network_result(4000, 4))
    text, encoding = embed(data)
    assert encoding == "gzip"
    assert base64.b64decode(text)[4:8] == bytes(4)
    assert unpack(text, encoding) == json.loads(json.dumps(data))


def test_very_many_rows_leave_descriptions_to_the_files_and_say_so(monkeypatch):
    row = make_row(metrics={"MaxAbsoluteError": 1.5, "TargetMean": 0.5, "GoldenStd": 0.25})
    small = make_result(rows=(row,))
    assert left_out(small) == ()
    monkeypatch.setattr(payload, "DESCRIPTION_LIMIT", 0)
    assert left_out(small) == ("TargetMean", "GoldenStd")
    keys = {column["key"] for column in explorer_data(small)["columns"]}
    assert "MaxAbsoluteError" in keys
    assert not {"TargetMean", "GoldenStd"} & keys


def test_errors_are_exact_for_a_widget_and_rounded_in_a_page():
    error, floor = 0.012345678901234, 9.876543210987e-4
    result = make_result(
        rows=(make_row(error=error, inherited_error=error / 3, noise_floor=floor),)
    )
    widget, page = explorer_data(result, exact=True), explorer_data(result)
    for key, value in (("error", error), ("inherited", error / 3), ("floor", floor)):
        assert cells(widget, key) == [value]
        assert cells(page, key) != [value]


def test_what_all_rows_agree_in_is_told_once():
    rows = tuple(make_row(iteration=n, rank=3) for n in range(2))
    data = explorer_data(make_result(rows=rows))
    keys = {column["key"] for column in data["columns"]}
    assert "iteration" in keys
    assert "rank" not in keys
    assert data["constants"]["rank"] == 3
    assert explorer_data(make_result(rows=()))["constants"] == {}


@given(
    st.lists(st.none() | st.floats() | st.integers(-(2**53), 2**53).map(float), max_size=30),
    st.integers(1, 17),
)
def test_figures_as_text_are_what_the_standard_encoder_writes_of_their_list(values, places):
    figures = payload._figures(MaybeNumbers.of(values), "number", places)
    assert payload.as_json(figures) == json.dumps(payload.as_list(figures), separators=(",", ":"))


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("rows", [0, 60, 4000])
def test_a_page_of_text_is_the_page_of_values(rows, exact):
    result = network_result(rows, 2) if rows else make_result(rows=())
    values, text = (
        embed(explorer_data(result, exact=exact, write=write))
        for write in (payload.as_list, payload.as_json)
    )
    assert text == values
