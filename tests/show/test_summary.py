"""The last line of a run: every tensor of both sides is in it, with its reason."""

from collections import Counter

import pytest

from kit.build.sample_results import make_result, make_row, network_result
from kit.words import check_said
from workbench.comparison.measure.metrics import CANCELLED
from workbench.comparison.result import Coverage
from workbench.core.words import Message
from workbench.show.summary import summary
from workbench.ui.bench.app import Workbench


def told(*reasons, **options):
    rows = tuple(
        make_row(op_name=f"A-op{n}", status="uncomparable" if reason else "pass", reason=reason)
        for n, reason in enumerate(reasons)
    )
    options.setdefault("coverage", Coverage(matched=len(rows)))
    return summary(make_result(rows=rows, **options))


def test_every_pair_is_compared_or_has_a_reason():
    message = told("", "", CANCELLED, "a.npy: no dump", "")
    check_said(message, "show/summary-excluded")
    check_said(message.values["compared"], "show/summary", tensors=3, matched=5, operators=3)
    assert message.values["excluded"] == [
        Message("show/not-reached", n=1),
        Message("show/excluded-reason", n=1, reason="a.npy: no dump"),
    ]


def test_tensors_of_one_operator_count_it_once_and_weights_are_none():
    rows = tuple(make_row(op_name="A-op1", slot=slot, status="pass") for slot in range(3))
    rows += (make_row(op_name="w", op_type="Parameter", status="equal"),)
    found = summary(make_result(rows=rows, coverage=Coverage(matched=4)))
    check_said(found, "show/summary", tensors=4, matched=4, operators=1)


def test_what_has_no_partner_or_was_skipped_is_said_by_side():
    skipped = {"golden:twice": 2, "target:not-selected": 1}
    cover = Coverage(unmatched_target=3, unmatched_golden=1, skipped=skipped)
    target, golden = Message("show/side-target"), Message("show/side-golden")
    assert told("", coverage=cover).values["excluded"] == [
        Message("show/only-in", side=target, n=3),
        Message("show/skipped-side", side=golden, reason="twice", n=2),
        Message("show/skipped-side", side=target, reason="not-selected", n=1),
        Message("show/only-in", side=golden, n=1),
    ]


def test_of_many_reasons_the_most_frequent_are_said_and_the_others_counted():
    reasons = [f"reason {n}" for n in range(9) for _ in range(n + 1)]
    assert told(*reasons, coverage=Coverage()).values["excluded"] == [
        *(Message("show/excluded-reason", reason=f"reason {n}", n=n + 1) for n in (8, 7, 6, 5)),
        Message("show/excluded-others", n=15),
    ]


def test_a_reason_of_any_length_and_script_stays_a_line():
    text = str(told("x" * 10_000 + "\n\x1b[31m\u202e", coverage=Coverage()))
    assert len(text) < 200
    assert text.isprintable()


def test_a_network_adds_up():
    result = network_result(334, 2)
    found = summary(result)
    statuses = Counter(row.status for row in result.rows if row.match_rule)
    compared = statuses.total() - statuses["uncomparable"]
    said = found.values["compared"].values
    assert said["tensors"] == compared
    assert said["matched"] == result.coverage.matched


STATED = ("compare/compared", "compare/count-uncomparable", "compare/own-batch-rows")


@pytest.mark.parametrize("graph", ["mlp", "mlp_train"])
def test_done_line_and_sentence_add_up_to_the_ledger(graph):
    """Outputs that nobody reads are matched, and not compared."""
    comparison = Workbench(graph=graph).run()
    matched, told = comparison.coverage.matched, summary(comparison.result).values
    uncompared = sum(
        row.status == "uncomparable" and bool(row.match_rule) for row in comparison.rows
    )
    assert told["compared"].values["matched"] == matched
    assert told["compared"].values["tensors"] + uncompared == matched
    counts = comparison.result.sentence.values["clauses"][0].values["counts"]
    said = [one for one in counts if one.code in STATED]
    assert sum(one.values["count"] for one in said) == matched


def test_a_pair_without_a_reason_is_counted_as_not_comparable():
    rows = (make_row(status="uncomparable", reason=""),)
    found = summary(make_result(rows=rows, coverage=Coverage()))
    check_said(found, "show/summary-excluded", compared=Message("show/summary-nothing"))
    assert found.values["excluded"] == [Message("show/not-comparable", n=1)]
