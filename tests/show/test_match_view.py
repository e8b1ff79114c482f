"""Matches, orphans and coverage of a result: nothing lost, nothing counted twice."""

import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import workbench as wb
from kit.build.sample_results import make_result, make_row
from kit.face.screen import label
from workbench.comparison.align.rules import MATCH_RULES, rule_meaning
from workbench.core.words import Message
from workbench.show.columns import alone, worst_first
from workbench.show.match_html import PAGE, matches_html
from workbench.show.match_view import coverage_parts, match_lines, operator_names, orphans, row_of

REAL = Path(__file__).parents[2] / "sample_dumps" / "real_pair"


@pytest.fixture(scope="module")
def fused():
    return wb.Workbench(wb.config.new("torchair"), "mlp").run().result


@pytest.fixture(scope="module")
def real():
    return wb.compare(REAL / "dump_b", REAL / "dump_a").result


def paired(pairs):
    return tuple(
        make_row(op_name=a, golden_op_name=b, match_rule="group", order=n)
        for n, (a, b) in enumerate(pairs)
    )


NAMES = st.integers(0, 6)
STATUSES = ("equal", "pass", "warn", "fail", "uncomparable")
ERRORS = (None, 0.0, 1e-3, 0.5, math.inf, math.nan)


@given(st.lists(st.tuples(NAMES.map("t{}".format), NAMES.map("g{}".format)), max_size=12))
def test_lines_are_the_connected_components_of_the_pairs(pairs):
    lines = match_lines(make_result(rows=paired(pairs)))
    parts = []  # by merging sets until nothing touches
    for a, b in pairs:
        touched = [part for part in parts if (a, 0) in part or (b, 1) in part]
        parts = [part for part in parts if part not in touched]
        parts.append(set().union({(a, 0), (b, 1)}, *touched))
    found = [{(a, 0) for a in line.target} | {(b, 1) for b in line.golden} for line in lines]
    assert sorted(map(sorted, found)) == sorted(map(sorted, parts))
    assert sum(line.tensors for line in lines) == len(pairs)


def test_a_fused_kernel_is_one_line_with_all_that_it_stands_for(fused):
    many = [line for line in match_lines(fused) if line.many]
    assert many
    assert all(line.rule == "fusion" for line in many)
    assert any(
        {n.rsplit("/")[-1] for n in line.golden} >= {"MatMul-op0", "BiasAdd-op0"} for line in many
    )


def test_every_row_is_in_a_line_or_in_an_orphan(fused, real):
    for result in (fused, real):
        lone = [orphan for side in ("target", "golden") for orphan in orphans(result, side)]
        total = sum(line.tensors for line in match_lines(result)) + sum(o.tensors for o in lone)
        assert total == len(result.rows)


def test_coverage_adds_up_to_the_tensors_of_the_target(fused, real):
    for result in (fused, real):
        assert sum(coverage_parts(result).values()) == result.target.tensors


def test_names_of_a_side_are_those_of_its_rows(fused):
    names = operator_names(fused, "golden")
    assert len(set(names)) == len(names)
    assert set(names) == {r.golden_op_name for r in fused.rows if alone(r) != "target"} - {""}


def test_rules_that_occur_have_a_meaning(fused, real):
    for result in (fused, real):
        assert {line.rule for line in match_lines(result)} <= MATCH_RULES.keys()
    assert rule_meaning("msprobe") == Message("compare/rule-of-tool", rule="msprobe")
    assert rule_meaning("") == Message("compare/rule-none")


def test_a_page_says_what_it_shows_and_hostile_names_are_text():
    names = [(f"</script><b>{n}", "g" * 10_000) for n in range(PAGE + 5)]
    pairs = [(a, f"{b}{n}") for n, (a, b) in enumerate(names)]
    result = make_result(rows=paired(pairs))
    lines = match_lines(result)
    first = matches_html(result, lines, all_lines=len(lines))
    assert label("show/page-of", first=1, last=PAGE, found=PAGE + 5) in first
    assert "<b>" not in first
    second = matches_html(result, lines[:-1], all_lines=len(lines), page=1, language="zh")
    counts = {"first": PAGE + 1, "last": PAGE + 4, "found": PAGE + 4}
    assert label("show/page-of", "zh", **counts) in second
    assert label("show/page-none", all=7) in matches_html(result, [], all_lines=7)


def test_every_pair_is_a_tensor_of_one_line_and_the_worst_of_it_stands_for_it(real):
    lines = match_lines(real)
    found = sorted(index for line in lines for index in line.rows)
    assert found == [n for n, row in enumerate(real.rows) if row.match_rule]
    for line in lines:
        assert line.index in line.rows
        assert line.status == real.rows[line.index].status
        assert real.rows[line.index].error == max(real.rows[n].error for n in line.rows)


def test_an_operator_of_a_side_is_found_by_its_worst_row():
    rows = (
        make_row(op_name="a", golden_op_name="b", status="pass"),
        make_row(op_name="a", golden_op_name="b", status="fail", slot=1),
        make_row(
            op_name="",
            golden_op_name="a",
            match_rule="",
            target_spec=None,
            status="uncomparable",
            error=None,
        ),
    )
    result = make_result(rows=rows)
    asked = [("target", "a"), ("golden", "b"), ("golden", "a"), ("target", "b")]
    assert [row_of(result, *one) for one in asked] == [1, 1, 2, -1]


PLACES = [*MATCH_RULES, "odd"]
RULES = [(PLACES[3], 0.5), (PLACES[0], 0.9), (PLACES[0], 0.7), ("odd", 1.0)]


@given(
    st.lists(
        st.tuples(st.integers(0, 3), st.sampled_from(RULES), st.sampled_from(ERRORS)), max_size=9
    )
)
def test_a_line_has_the_surest_rule_the_least_score_and_the_worst_row(found):
    rows = [
        make_row(op_name="a", golden_op_name="" if n % 2 else "a", op_type=f"T{n}", order=order,
                 match_rule=rule, match_score=score, error=error, status=STATUSES[n % 5])
        for n, (order, (rule, score), error) in enumerate(found)
    ]  # fmt: skip
    lines = match_lines(make_result(rows=rows))
    assert len(lines) == bool(rows)
    for line in lines:
        assert (line.target, line.golden, line.tensors) == (("a",), ("a",), len(rows))
        ordered = sorted(range(len(rows)), key=lambda n: rows[n].order)
        assert line.rows == (*ordered,)
        surest = min(
            ordered, key=lambda n: (PLACES.index(rows[n].match_rule), -rows[n].match_score)
        )
        assert (line.rule, line.op_type) == (rows[surest].match_rule, f"T{surest}")
        assert line.score == min(row.match_score for row in rows)
        worst = worst_first(rows)[0]
        assert (rows[line.index], line.status) == (worst, worst.status)
