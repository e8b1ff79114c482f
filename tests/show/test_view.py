"""The ledger adds up or says by how much it does not; no list loses anything in silence."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.build.sample_results import make_result, make_row, network_result
from kit.face.screen import label
from kit.words import check_said
from workbench.comparison.measure.metrics import METRICS
from workbench.comparison.result import Anomaly, Coverage, SideInfo
from workbench.core.words import Message
from workbench.show import view

counts = st.integers(0, 10_000)


@given(counts, counts, counts, st.dictionaries(st.text(), counts, max_size=4), counts)
def test_all_skipped_tensors_are_on_some_side_and_the_rest_is_called_missing(
    matched, lonely_target, lonely_golden, reasons, tensors
):
    result = make_result(
        target=SideInfo("t", "x", tensors),
        golden=SideInfo("g", "x", tensors),
        coverage=Coverage(matched, lonely_target, lonely_golden, reasons),
    )
    target, golden = view.ledger(result)
    assert target.total_skipped + golden.total_skipped == sum(reasons.values())
    for side, lonely in ((target, lonely_target), (golden, lonely_golden)):
        assert matched + lonely + side.total_skipped + side.missing == tensors


def test_reasons_lose_their_side_and_keep_their_colons():
    skipped = {"golden:bad header: byte 7": 2, "target:empty": 1, "odd": 3}
    target, golden = view.ledger(make_result(coverage=Coverage(1, 0, 0, skipped)))
    assert golden.skipped == (("bad header: byte 7", 2),)
    assert target.skipped == (("empty", 1), ("odd", 3))


def test_the_equation_of_a_sound_ledger_balances():
    for side in view.ledger(network_result(334, 2)):
        assert side.missing == 0
    check_said(
        view.ledger(network_result(334, 2))[0].equation,
        "show/equation",
        tensors=341,
        matched=334,
        unmatched=4,
        skipped=3,
    )


def test_long_groups_are_cut_but_counted():
    anomalies = [Anomaly("target", "stale", f"op{n}", "") for n in range(view.LISTED + 5)]
    anomalies.append(Anomaly("golden", "odd", "op", ""))
    first, second = view.anomaly_groups(anomalies)
    assert (first.title, len(first.items), first.total) == ("stale", view.LISTED, view.LISTED + 5)
    assert (second.title, second.total) == ("odd", 1)


def test_lonely_tensors_are_grouped_by_side_and_reason():
    rows = [
        make_row(),
        make_row(match_rule="", golden_spec=None, reason="no such name"),
        make_row(match_rule="", target_spec=None, reason="no such name"),
        make_row(match_rule="", target_spec=None),
    ]
    groups = {group.title: group.total for group in view.lonely_groups(rows)}
    target, golden = Message("show/target"), Message("show/golden")
    assert groups == {
        Message("show/of-side", side=target, reason="no such name"): 1,
        Message("show/of-side", side=golden, reason="no such name"): 1,
        Message("show/of-side", side=golden, reason=view.NO_REASON): 1,
    }


def test_pairs_that_could_not_be_compared_are_grouped_by_reason_without_the_lonely():
    rows = [
        make_row(status="uncomparable", reason="stale"),
        make_row(status="uncomparable", reason="stale", order=1),
        make_row(status="uncomparable"),
        make_row(status="uncomparable", match_rule="", golden_spec=None),
    ]
    groups = {group.title: group.total for group in view.uncomparable_groups(rows)}
    assert groups == {"stale": 2, view.NO_REASON: 1}
    assert view.status_counts(rows) == {"uncomparable": 3, "unmatched": 1}


def test_anomalies_are_counted_per_side():
    made = [Anomaly(side, "odd", "op", "") for side in ("target", "golden", "golden")]
    made.append(Anomaly("target", "stale", "op", ""))
    target, golden = label("show/target"), label("show/golden")
    assert view.side_counts(made, "odd") == f"{target} 1, {golden} 2"
    assert view.side_counts(made, "stale") == f"{target} 1"


@pytest.mark.parametrize("title", METRICS)
def test_every_metric_of_the_code_is_defined_in_the_report(title):
    result = make_result(rows=(make_row(metrics={title: 1.0}),))
    [definition] = [entry for _, group in view.definitions(result) for entry in group]
    assert (definition.title, definition.formula) == (title, METRICS[title].formula)


def test_a_metric_nobody_defined_is_still_listed():
    result = make_result(rows=(make_row(metrics={"Homemade": 1.0}),))
    assert view.definitions(result)[0][1] == [("Homemade", Message("show/no-definition"), "")]
