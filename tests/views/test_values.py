"""What both sides of a tensor hold: NaN, infinities and overflow counted, the rest as the metrics say."""

import math
from pathlib import Path

import numpy as np
import pytest

import workbench as wb
from kit.build.compared import two_tensors
from kit.build.small_dumps import chain, given, in_memory, shoot
from kit.face.screen import label
from kit.words import check_said
from workbench.core.words import Message
from workbench.session.comparison import Comparison
from workbench.views.render import operator_html

REAL = Path(__file__).parents[2] / "sample_dumps/real_pair"


def test_what_is_not_finite_and_what_overflowed_is_counted_on_both_sides():
    target = np.array([np.nan, np.inf, -np.inf, 65504, -65504, 0, 1, 2], np.float16)
    golden = np.array([1, np.inf, 2, 65504, 3, 0, 0, 2], np.float16)
    found = {
        one.name: (one.target, one.golden, one.odd) for one in two_tensors(target, golden).values
    }
    assert found["NaN"] == (1, 0, True)
    assert found["+Inf"] == (1, 1, True)
    assert found["−Inf"] == (1, 0, True)
    assert found["saturated"] == (2, 1, True)
    assert found["zeros"] == (1, 2, False)
    assert found["maximum"] == (65504, 65504, False)
    assert found["minimum"] == (-65504, 0, False)
    finite = golden[np.isfinite(golden)].astype(np.float64)
    assert found["mean"][1] == pytest.approx(finite.mean())
    assert found["deviation"][1] == pytest.approx(finite.std())


def test_nothing_is_odd_where_all_is_finite():
    even = np.arange(4, dtype=np.float16)
    assert not any(one.odd for one in two_tensors(even, even).values)


def test_what_the_metrics_know_is_told_without_the_files():
    comparison = wb.compare(REAL / "dump_a", REAL / "dump_b")
    found = Comparison(comparison.result).operator()
    assert found.elements is None
    names = [one.name for one in found.values]
    assert "saturated" not in names
    assert names[:3] == ["NaN", "+Inf", "−Inf"]
    html = operator_html(found, sections=("values",))
    assert label("show/values-of-sides") in html
    assert html.count("<tr>") == 3


def test_the_table_of_neighbours_tells_what_flows_in_and_out():
    graph = chain("ReLU", "Neg", "Tanh")
    values = given(graph)
    dump = in_memory(shoot(graph, values), graph)
    html = operator_html(wb.compare(dump, dump).operator("Neg-op0"), sections=("neighbours",))
    read = np.maximum(values["x"], 0)
    for text in (
        label("show/upstream", n=1),
        label("show/downstream", n=1),
        label("show/here"),
        "float32 4×4",
        f"0 … {read.max():#.3g}",
        f"{-read.max():#.3g} … ",
    ):
        assert text in " ".join(html.split())


def test_why_an_own_error_is_not_known_is_said():
    graph = chain("ReLU", "Neg")
    shots = [one for one in shoot(graph, given(graph), parameters=False) if one.io == "output"]
    last = [one for one in shots if one.op_type == "Neg"]
    dump = in_memory(last, graph)
    found = wb.compare(dump, dump).operator("Neg-op0")
    assert found.origin.local_error is None
    check_said(found.origin.lacking, "views/stated")
    assert label("show/unknown") in operator_html(found, sections=("head",))
    assert str(found.origin.lacking) in operator_html(found, sections=("head",))
    whole = in_memory(shoot(graph, given(graph)), graph)
    equal = wb.compare(whole, whole).operator("Neg-op0")  # replayed for the view alone
    assert (equal.origin.lacking, equal.origin.local_error) == (None, 0.0)
    fed = {name: value * np.float32(1.5) for name, value in given(graph).items()}
    known = wb.compare(in_memory(shoot(graph, fed), graph), whole)
    assert known.operator("Neg-op0").origin.lacking is None
    read = next(n for n, row in enumerate(known.rows) if row.io == "input")
    assert known.operator(read).origin.lacking == Message("views/read-here")
    alone = Comparison(known.result).operator("Neg-op0")
    assert alone.origin.local_error == known.operator("Neg-op0").origin.local_error
    assert math.isfinite(known.operator("Neg-op0").origin.local_error)
