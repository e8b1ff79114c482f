"""The comparison that users hold: from paths to rows, selections and files."""

from __future__ import annotations

import json

import numpy as np
import pytest

import workbench as wb
from kit.build import small_dumps as small
from kit.build.small_dumps import START, chain, on_disk, shoot, write_ir
from kit.trees import rows
from kit.words import check_said, refused
from workbench.core.errors import FormatError
from workbench.dump.reader import load

GRAPH = chain("MatMul", "ReLU", "MatMul", "Tanh")
VALUES = small.given(GRAPH)
CULPRIT = "Default/MatMul-op1"


def shots(alter=None, iterations=(0,)):
    fault = {CULPRIT: alter} if alter else None
    return [
        shot
        for n in iterations
        for shot in shoot(GRAPH, VALUES, iteration=n, start=START + 1000 * n, alter=fault)
    ]


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    """Two iterations of a network whose second product is wrong in the target."""
    root = tmp_path_factory.mktemp("pair")
    on_disk(root / "golden", shots(iterations=(0, 1)), GRAPH)
    on_disk(root / "target", shots(lambda x: x * 1.01, iterations=(0, 1)), GRAPH)
    return root / "target", root / "golden"


@pytest.fixture
def comparison(pair):
    return wb.compare(*pair)


def test_a_comparison_says_what_it_found(comparison):
    assert comparison.verdict == "fail"
    assert comparison.findings[0].op_name == CULPRIT
    assert CULPRIT in comparison.sentence
    assert repr(comparison) == f"<Comparison fail: {comparison.sentence}>"
    assert comparison.coverage.matched == len(comparison.rows)
    assert comparison.anomalies == ()


def test_paths_and_dumps_in_memory_give_the_same_rows(pair, comparison):
    assert wb.compare(*(load(path) for path in pair)).rows == comparison.rows


def test_the_first_divergence_is_the_output_of_the_culprit_and_selected(comparison):
    row = comparison.first_divergence
    assert (row.op_name, row.io, row.iteration, row.status) == (CULPRIT, "output", 0, "fail")
    assert comparison.selected == row


def test_a_dump_has_no_divergence_from_itself(pair):
    same = wb.compare(pair[1], pair[1])
    assert (same.verdict, same.first_divergence, same.selected) == ("pass", None, None)


def test_before_pairs_can_be_counted_progress_says_what_is_done(pair):
    told = []
    found = wb.compare(*pair, progress=lambda *step: told.append(step))
    stages = ["reading the target", "reading the golden", "matching operators"]
    assert told[:3] == [(0, 0, stage) for stage in stages]
    total = found.coverage.matched
    assert [step[:2] for step in told[3:]] == [(n + 1, total) for n in range(total)]


@pytest.mark.parametrize(
    "stage", ["reading the target", "reading the golden", "matching operators"]
)
def test_what_progress_raises_ends_it_at_once(pair, stage):
    def stop(done, total, text):
        if text == stage:
            raise InterruptedError(text)

    with pytest.raises(InterruptedError, match=stage):
        wb.compare(*pair, progress=stop)


# --- filter ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("conditions", "operators", "count"),
    [
        ({"op_type": "MatMul"}, {"Default/MatMul-op0", CULPRIT}, 12),
        ({"name": "MatMul-op1"}, {CULPRIT}, 6),
        ({"source": "net.py:103"}, {"Default/Tanh-op0"}, 4),
        ({"iteration": 1, "op_type": "Tanh"}, {"Default/Tanh-op0"}, 2),
        ({"keep": lambda row: row.io == "input" and row.slot == 1}, {"Default/MatMul-op0", CULPRIT}, 4),
        ({"name": "nobody"}, set(), 0),
    ],
)  # fmt: skip
def test_a_filter_keeps_the_rows_that_fit_every_condition(comparison, conditions, operators, count):
    rows = comparison.filter(**conditions).rows
    assert ({row.op_name for row in rows}, len(rows)) == (operators, count)


def test_a_filter_by_status_changes_neither_verdict_nor_findings(comparison):
    equal = comparison.filter(status="equal")
    assert {row.status for row in equal.rows} == {"equal"}
    assert (equal.verdict, equal.findings) == (comparison.verdict, comparison.findings)
    assert equal.first_divergence is None


def test_a_filter_by_name_finds_tensors_that_only_the_golden_has(pair, tmp_path):
    half = on_disk(tmp_path / "half", [s for s in shots() if "Tanh" not in s.name], GRAPH)
    rows = wb.compare(half, pair[1], iteration=(0, 0)).filter(name="Tanh").rows
    assert {row.golden_op_name for row in rows} == {"Default/Tanh-op0"}


# --- files -----------------------------------------------------------------------------------


def test_json_on_disk_is_what_is_returned(comparison, tmp_path):
    data = comparison.to_json(tmp_path / "new/folder/r.json")
    assert json.loads((tmp_path / "new/folder/r.json").read_text(encoding="utf-8")) == data
    assert data["schema"] == "workbench.comparison/2"
    assert len(data["operators"]) == len(comparison.rows)


def test_csv_has_a_line_a_row(comparison, tmp_path):
    path = comparison.to_csv(tmp_path / "r.csv")
    titles, *lines = rows(path)
    assert len(lines) == len(comparison.rows) == len(comparison.frame())
    assert "CosineSimilarity" in titles


@pytest.mark.criterion(26)
def test_the_report_is_one_file_with_the_same_bytes_every_time(comparison, tmp_path):
    first = comparison.to_html(tmp_path / "a.html", title="A <b> title").read_bytes()
    again = comparison.to_html(tmp_path / "b.html", title="A <b> title").read_bytes()
    assert first == again
    assert CULPRIT.encode() in first
    assert b"A <b> title" not in first


def test_the_notebook_shows_the_sentence(comparison):
    assert "MatMul-op1" in comparison._repr_html_()


# --- options ---------------------------------------------------------------------------------


def test_one_iteration_can_be_held_against_another(pair):
    rows = wb.compare(*pair, iteration=(1, 0)).rows
    assert {row.iteration for row in rows} == {1}
    assert rows


def test_a_map_file_pairs_what_names_cannot(pair, tmp_path):
    renamed = [s._replace(name=s.name.replace("Tanh-op0", "Tanh-op7")) for s in shots()]
    target = on_disk(tmp_path / "t", renamed, info=None)
    golden = on_disk(tmp_path / "g", shots(), info=None)
    path = tmp_path / "map.json"
    pairs = [{"target": "Default_Tanh-op7", "golden": "Default_Tanh-op0"}]
    path.write_text(json.dumps({"pairs": pairs}))
    assert wb.compare(target, golden).verdict == "incomplete"
    mapped = wb.compare(target, golden, map_file=path)
    assert mapped.verdict == "pass"
    assert "map" in {row.match_rule for row in mapped.rows}
    counts = {"pairs": 1, "groups": 0, "ignored": 0, "tolerated": 0}
    check_said(mapped.result.facts["map file"], "compare/map", **counts)


def test_a_map_file_ignores_what_the_user_names(pair, tmp_path):
    path = tmp_path / "map.json"
    path.write_text(json.dumps({"ignore": [CULPRIT]}))
    result = wb.compare(*pair, map_file=path)
    assert result.coverage.skipped == {"golden:ignored": 6, "target:ignored": 6}


def test_given_graphs_bring_names_and_lines_to_bare_tensors(tmp_path):
    target = on_disk(tmp_path / "t", shots(lambda x: x * 1.01))
    golden = on_disk(tmp_path / "g", shots())
    write_ir(tmp_path / "mine.ir", GRAPH)
    assert wb.compare(target, golden).findings[0].source is None
    found = wb.compare(target, golden, target_graph=tmp_path / "mine.ir").findings[0]
    assert (found.op_name, found.source.line) == (CULPRIT, 102)


def test_a_profile_decides_instead_of_the_noise_floor(pair):
    assert wb.compare(*pair, profile="msaccucmp").verdict == "pass"
    with refused("core/choice", subject="profile", got="strict"):
        wb.compare(*pair, profile="strict")


def test_what_is_no_dump_is_refused(pair, tmp_path):
    with refused("core/missing", FormatError, got=str(tmp_path / "nothing")):
        wb.compare(tmp_path / "nothing", pair[1])


def test_one_folder_of_tensors_is_enough_on_either_side(pair):
    leaf = pair[0] / "rank_0/Net/0/0"
    comparison = wb.compare(leaf, pair[1])
    assert comparison.findings[0].op_name == CULPRIT
    assert wb.compare(pair[1], leaf).findings[0].op_name == CULPRIT


def test_a_mapped_long_name_is_compared_like_any_other(pair, tmp_path):
    on_disk(tmp_path / "dump", shots(), GRAPH)
    folder = tmp_path / "dump/rank_0/Net/0/0"
    victim = next(folder.glob("Tanh*output*"))
    (folder / "mapping.csv").write_text(f"123456.npy,{victim.name}\n")
    victim.rename(folder / "123456.npy")
    result = wb.compare(tmp_path / "dump", pair[1], iteration=(0, 0))
    assert (result.verdict, result.coverage.unmatched_target) == ("pass", 0)


def test_data_that_change_while_they_are_compared_never_stop_the_report(pair, tmp_path):
    """The tensors of the target vanish after the tree was read."""
    on_disk(tmp_path / "dump", shots(), GRAPH)
    dump = load(tmp_path / "dump")
    for path in (tmp_path / "dump").rglob("*.npy"):
        path.unlink()
    result = wb.compare(dump, pair[1], iteration=(0, 0))
    assert result.verdict == "inconclusive"
    assert np.all([row.status == "uncomparable" for row in result.rows])
