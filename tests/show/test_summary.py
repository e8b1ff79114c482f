"""The last line of a run: every tensor of both sides is in it, with its reason."""

from collections import Counter

from kit.build.sample_results import make_result, make_row, network_result
from workbench.compare.metrics import CANCELLED
from workbench.compare.result import Coverage
from workbench.show.summary import summary


def told(*reasons, **options):
    rows = tuple(
        make_row(op_name=f"A-op{n}", status="uncomparable" if reason else "pass", reason=reason)
        for n, reason in enumerate(reasons)
    )
    return summary(make_result(rows=rows, **options))


def test_every_pair_is_compared_or_has_a_reason():
    text = told("", "", CANCELLED, "a.npy: no dump", "")
    assert text == (
        "3 tensors of 3 operators compared; not compared: 1 not reached, 1 (a.npy: no dump)"
    )


def test_tensors_of_one_operator_count_it_once_and_weights_are_none():
    rows = tuple(make_row(op_name="A-op1", slot=slot, status="pass") for slot in range(3))
    rows += (make_row(op_name="w", op_type="Parameter", status="equal"),)
    assert summary(make_result(rows=rows, coverage=Coverage())) == (
        "4 tensors of 1 operator compared"
    )


def test_what_has_no_partner_or_was_skipped_is_said_by_side():
    skipped = {"golden:twice": 2, "target:not-selected": 1}
    cover = Coverage(unmatched_target=3, unmatched_golden=1, skipped=skipped)
    text = told("", coverage=cover)
    for words in (
        "3 only in the target",
        "1 only in the golden",
        "2 of the golden (twice)",
        "1 of the target (not-selected)",
    ):
        assert words in text


def test_of_many_reasons_the_most_frequent_are_said_and_the_others_counted():
    reasons = [f"reason {n}" for n in range(9) for _ in range(n + 1)]
    text = told(*reasons, coverage=Coverage())
    assert "9 (reason 8), 8 (reason 7), 7 (reason 6), 6 (reason 5), 15 for other reasons" in text


def test_a_reason_of_any_length_and_script_stays_a_line():
    text = told("x" * 10_000 + "\n\x1b[31m\u202e", coverage=Coverage())
    assert len(text) < 200
    assert text.isprintable()


def test_a_network_adds_up():
    result = network_result(334, 2)
    text = summary(result)
    statuses = Counter(row.status for row in result.rows if row.match_rule)
    compared = statuses.total() - statuses["uncomparable"]
    assert text.startswith(f"{compared} tensors of ")
