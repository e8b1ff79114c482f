"""The matrix of clean runs: what is drawn, and how what is said is counted."""

from collections import Counter
from itertools import islice

import pytest
from clearing.cells import GRAPHS, Sample, samples, settings
from clearing.measuring import measure
from clearing.tables import (
    clean_tables,
    counted_fails,
    outcome,
    planted_tables,
    upper_bound,
    verdict,
)
from diagnosing.cases import KINDS, LONG, Setting


def said(verdict="pass", answers=(), place=None, victim=None, told=True):
    return {
        "verdict": verdict, "answers": [*answers], "place": place, "victim": victim, "told": told,
    }  # fmt: skip


# ---------------------------------------------------------------- what is drawn


@pytest.mark.parametrize("planted", [False, True])
def test_more_samples_begin_with_the_same_ones(planted):
    few, more = (list(islice(samples(7, planted=planted), count)) for count in (5, 40))
    assert more[:5] == few
    assert [one.number for one in more] == [*range(40)]
    assert few != list(islice(samples(8, planted=planted), 5))


def test_every_cell_is_drawn_once_and_no_training_runs_on_acl():
    drawn = [one.setting for one in samples(0, planted=False)]
    cells = Counter((s.model, s.device, s.surface, s.files, s.mode) for s in drawn)
    assert cells == Counter(settings())
    assert set(cells.values()) == {1}
    assert not [s for s in drawn if s.training and s.surface == "acl"]


def test_cells_of_some_networks_alone():
    drawn = [one.setting for one in samples(3, planted=False, networks=["resnet_train", "mlp"])]
    assert {one.model for one in drawn} == {"resnet_train", "mlp"}
    cells = Counter((s.model, s.device, s.surface, s.files, s.mode) for s in drawn)
    assert cells == Counter(one for one in settings() if one[0] in ("resnet_train", "mlp"))


def test_long_trainings_are_drawn_late():
    first = [one.setting.model in LONG for one in islice(samples(0, planted=False), 400)]
    every = [model in LONG for model, *_ in settings()]
    assert 0 < sum(first) / len(first) < 0.5 * sum(every) / len(every)


def test_kinds_of_faults_come_equally_often():
    kinds = Counter(one.kind for one in islice(samples(0, planted=True), 3 * len(KINDS)))
    assert kinds == dict.fromkeys(KINDS, 3)


# ---------------------------------------------------------------- how it is counted


@pytest.mark.parametrize(
    ("one", "counted"),
    [
        (said("warn"), "warn"),
        (said("incomplete"), "incomplete"),
        (said("fail"), "fail"),
        (said("crash"), "fail"),
        (said("warn", ["A"]), "fail"),
    ],
)
def test_whatever_blames_somebody_counts_as_fail(one, counted):
    assert verdict(one) == counted


@pytest.mark.parametrize(
    ("one", "counted"),
    [
        (said("fail", ["A"], place=0), "right"),
        (said("fail", ["B"], victim=0), "right"),
        (said("fail", ["B", "A"], place=1), "wrong"),
        (said("inconclusive", ["B"]), "wrong"),
        (said("crash"), "wrong"),
        (said("inconclusive"), "inconclusive"),
        (said("incomplete"), "inconclusive"),
        (said("fail"), "inconclusive"),
        (said("warn"), "missed"),
        (said("pass"), "missed"),
    ],
)
def test_what_becomes_of_a_planted_fault(one, counted):
    assert outcome(one) == counted


def record(number, one, kind="", cell="full, none"):
    place = {"surface": "acl", "device": "a2", "mode": "", "model": "mlp"}
    return {
        "number": number,
        "kind": kind,
        "visible": True,
        "noise_of_sums": None,
        **place,
        "said": {cell: one},
    }


def test_shares_are_of_the_runs_of_a_cell():
    records = [record(n, said(one)) for n, one in enumerate(["fail", "pass", "pass", "warn"])]
    verdicts, *groups = clean_tables([*records, record(9, said("fail"), "bit-flip")])
    assert verdicts.rows == [["full, none", "4", "25.0%", "0.0%", "0.0%", "25.0%", "50.0%"]]
    assert [table.rows for table in groups] == [
        [[name, "4", "25.0%"]] for name in ("acl", "a2", "own", "mlp")
    ]


@pytest.mark.parametrize(
    ("found", "tried", "bound"),
    [(0, 100, 0.0295), (1, 100, 0.0466), (5, 50, 0.1988), (50, 50, 1.0), (0, 0, 1.0)],
)
def test_the_largest_share_is_that_of_clopper_and_pearson(found, tried, bound):
    """The quantile 0.95 of Beta(found + 1, tried - found), integrated in two million steps."""
    assert upper_bound(found, tried) == pytest.approx(bound, abs=1e-4)


def test_failing_clean_runs_are_counted():
    records = [record(n, said(one)) for n, one in enumerate(["fail", *["warn"] * 99])]
    table = counted_fails([*records, record(200, said("fail"), "bit-flip")])
    assert table.rows == [["full, none", "100", "1", "4.7%"]]


def test_faults_of_which_nothing_was_written_do_not_count():
    records = [
        record(0, said("fail", ["A"], place=0), "bit-flip"),
        record(1, said("pass", told=False), "bit-flip"),
        record(2, said("pass"), "bit-flip"),
    ]
    (table,) = planted_tables(records)
    assert table.rows == [["full, none", "2", "50.0%", "0.0%", "50.0%", "0.0%"]]


# ---------------------------------------------------------------- what is measured

MLP = Setting("mlp", 3, "a2", "mindspore-o2", "npy", "must_keep_origin_dtype", 1)


def test_a_clean_run_is_compared_with_all_graphs_and_with_none():
    found = measure(Sample(0, MLP, ""))
    assert [*found["said"]] == [
        f"{way}, {graphs}" for way in ("full", "outputs", "statistics") for graphs in GRAPHS
    ]
    assert verdict(found["said"]["full, both"]) in ("pass", "warn")
    assert found["said"]["full, none"]["verdict"] != "crash"


@pytest.mark.parametrize(
    ("graphs", "fusion", "expected"),
    [
        ("both", "", "right"),
        ("none", "off", "right"),
        (
            "none",
            "",
            "inconclusive",
        ),  # its kernel adds the bias, the golden's of the same name does not
    ],
)
def test_the_operator_of_a_fault_is_known_by_the_name_in_files(graphs, fusion, expected):
    setting = MLP._replace(surface="mindspore-o0o1") if fusion == "off" else MLP
    found = measure(Sample(0, setting, "stale-output"), (graphs,))
    assert found["visible"]
    assert outcome(found["said"][f"full, {graphs}"]) == expected
