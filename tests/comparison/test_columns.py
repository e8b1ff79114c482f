"""Columns that are declared once: what they hold comes back, shared texts are kept once, nothing can be changed."""

from __future__ import annotations

import gc
import pickle
import tracemalloc
from math import inf, isnan, nan

import numpy as np
import pytest

from kit.build import small_dumps as small
from workbench.comparison.bind.borrow import bind_both
from workbench.comparison.columns import TEXT, Column, Columns, FigureTable, Titles
from workbench.comparison.map_file import Ignore, Overrides
from workbench.comparison.measure.measure import measure_pairs
from workbench.comparison.measure.metrics import METRICS
from workbench.comparison.pair.pair import pair_tensors
from workbench.comparison.pair.pairing import Selection
from workbench.comparison.pair.tables import SKIPS
from workbench.comparison.rows import ROWS
from workbench.core.words import Message

PLACES = Columns(
    Column("name", TEXT, "Name", "", "what it is called"),
    Column("size", "i8", "Size", "elements", "how many there are"),
    Column("error", "f8", "Error", "1", "how far off"),
)
TITLES = Titles({"Error": False, "Zeros": True})


def places():
    return PLACES.table({"name": ["a", "b", "a"], "size": [1, 2**60, 3], "error": [0.5, nan, inf]})


def test_a_table_gives_back_what_it_was_made_of():
    table = places()
    assert len(table) == 3
    assert table[1]["size"] == 2**60
    assert [row["name"] for row in table] == ["a", "b", "a"]
    assert table.values("name") == ["a", "b", "a"]
    assert table.values("error")[::2] == [0.5, inf]


def test_a_text_is_kept_once():
    said = Message("compare/ignored")
    table = PLACES.table({"name": [said, "b", said], "size": [1, 2, 3], "error": [0, 0, 0]})
    assert table.texts == (said, "b")
    assert table.rows["name"].tolist() == [0, 1, 0]


def test_no_array_of_a_table_can_be_written():
    table = places()
    for one in (table, table.take([1, 0]), table.with_values("size", [1, 2, 3])):
        with pytest.raises(ValueError, match="read-only"):
            one.rows[0] = one.rows[1]


@pytest.mark.parametrize(
    "values", [{"name": ["a"], "size": [1, 2], "error": [0]}, {"name": ["a"], "size": [1]}]
)
def test_columns_of_other_lengths_and_missing_ones_are_refused(values):
    with pytest.raises((ValueError, KeyError)):
        PLACES.table(values)


def test_an_empty_table_has_columns_all_the_same():
    table = PLACES.table({"name": [], "size": [], "error": []})
    assert ([*table], table.values("name")) == ([], [])


@pytest.mark.parametrize("columns", [ROWS, SKIPS], ids=["rows", "skips"])
def test_every_column_is_declared_once_and_says_what_it_means(columns):
    names = [one.name for one in columns.columns]
    assert len({*names}) == len(names)
    assert all(one.title and one.meaning for one in columns.columns)


# --- figures ---------------------------------------------------------------------------------


def test_figures_read_like_the_dictionary_that_they_stand_for():
    table = FigureTable(TITLES)
    first, second = table.add((0.5, 3)), table.add((nan, 4))
    expected = {"Error": 0.5, "Zeros": 3}
    assert (first, dict(first), [*first], len(first)) == (expected, expected, ["Error", "Zeros"], 2)
    assert repr(first) == repr(expected)  # whole numbers stay whole
    assert ([*first.values()], [*first.items()]) == ([0.5, 3], [*expected.items()])
    assert (first.get("Zeros"), first.get("Other"), "Other" in first) == (3, None, False)
    assert isnan(second["Error"])
    assert second["Zeros"] == 4
    with pytest.raises(KeyError):
        _ = first["Other"]


def test_a_figure_table_is_one_array_that_nobody_writes():
    table = FigureTable(TITLES)
    first = table.add((0.5, 3))
    table.fill(2)
    table.add((1.5, 4))
    table.fill(2)  # takes the last one back
    found = table.to_array()
    assert found.tolist()[0] == [0.5, 3.0]
    assert (found.shape, np.isnan(found[1]).all()) == ((2, 2), True)
    with pytest.raises(ValueError, match="read-only"):
        found[0, 0] = 1
    with pytest.raises(BufferError):
        table.add((0, 0))
    assert first["Error"] == 0.5


def test_figures_travel_alone():
    table = FigureTable(TITLES)
    views = [table.add((number / 2, number)) for number in range(1000)]
    sent = pickle.dumps(views[7])
    assert pickle.loads(sent) == {"Error": 3.5, "Zeros": 7}
    assert len(sent) < 500


# --- tables of the stages --------------------------------------------------------------------

GRAPH = small.chain("MatMul", "ReLU", "MatMul", "Tanh")
SHOTS = small.shoot(GRAPH, small.given(GRAPH))
OFF = small.shoot(GRAPH, small.given(GRAPH), alter={"Default/ReLU-op0": lambda x: x * 1.5})


def pairing(ignore=()):
    sides = bind_both(small.in_memory(OFF, GRAPH), small.in_memory(SHOTS, GRAPH))
    return pair_tensors(*sides, Selection(overrides=Overrides((), tuple(map(Ignore, ignore)))))


def test_skips_are_kept_as_columns_and_read_as_values():
    found = pairing(["*Tanh*"])
    sides = [side for side, some in found.skips.named for _ in some]
    assert found.left_out.values("side") == sides == ["target"] * 2 + ["golden"] * 2
    assert {one.reason for _, some in found.skips.named for one in some} == {"ignored"}
    assert len(found.left_out.texts) == 5  # two sides, a name, a word and a sentence


def test_figures_of_all_pairs_are_those_of_each():
    measures = measure_pairs(pairing())
    assert measures.figures.shape == (len(measures.items), len(METRICS))
    for item, figures in zip(measures.items, measures.figures.tolist(), strict=True):
        assert dict(zip(METRICS, figures, strict=True)) == item.divergence.metrics


def test_what_was_not_measured_has_no_figures():
    asked = iter([False] * 3)
    measures = measure_pairs(pairing(), cancelled=lambda: next(asked, True))
    known = [bool(item.divergence.metrics) for item in measures.items]
    assert 0 < sum(known) < len(known)
    assert (~np.isnan(measures.figures).any(axis=1)).tolist() == known
    reasons = {item.reason for item in measures.items}
    assert reasons == {None, Message("compare/cancelled")}


MOST = 1300
"""Bytes that pairing and measuring may keep of a pair; 1,000 on CPython 3.11, and 1,950 with a dictionary each."""


def test_a_pair_takes_few_bytes():
    graph = small.chain(*["MatMul", "ReLU", "Tanh"] * 280)
    shots = small.shoot(graph, small.given(graph))
    sides = bind_both(small.in_memory(shots, graph), small.in_memory(shots, graph))
    gc.collect()
    tracemalloc.start()
    try:
        measures = measure_pairs(pair_tensors(*sides))
        gc.collect()
        held = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert len(measures.items) > 2000
    assert held / len(measures.items) < MOST
