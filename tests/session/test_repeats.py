"""Other runs of the target in a comparison: what they excuse, what they do not, and what is said of them.

The target sums with noise of a seed; another seed is another run of it.
"""

from __future__ import annotations

import csv
import json
import math
import shlex
from dataclasses import replace
from itertools import product

import pytest
from clearing.other_device import computing_otherwise

import workbench as wb
from kit.build.runs import on_device, on_reference
from kit.cases import each_once, nightly
from kit.commands import run
from kit.face.figures import blank_figures
from workbench.comparison.follow.judge import BETWEEN_RUNS
from workbench.comparison.result import NotDeterministic, RepeatRun
from workbench.core.plan import DumpPlan
from workbench.npu.faults import parse_fault
from workbench.show.json_result import from_json
from workbench.show.view import LISTED

GRAPHS = {name: wb.models.load_graph(name, 0) for name in ("mlp", "transformer")}
FIRST = next(op.name for op in GRAPHS["mlp"].ops if op.op_type == "MatMul")
SOFTMAX = next(op.name for op in GRAPHS["transformer"].ops if op.op_type == "Softmax")


def noisy(model, seed, noise=1e-5, faults=()):
    planted = tuple(map(parse_fault, faults))
    with computing_otherwise(noise, seed):
        return on_device(GRAPHS[model], "a2", "must_keep_origin_dtype", faults=planted)


@pytest.fixture(scope="module")
def goldens():
    return {name: on_reference(graph) for name, graph in GRAPHS.items()}


@pytest.fixture(scope="module")
def repeats():
    return {name: [noisy(name, seed) for seed in (2, 3, 4)] for name in GRAPHS}


def codes(found):
    return [part.code for part in found.result.facts["repeats"].values["parts"]]


RUNS = [*product(GRAPHS, (1, 2, 3))]


@pytest.mark.parametrize(("model", "runs"), nightly(RUNS, each_once(RUNS)))
def test_noise_that_repeats_show_is_no_defect(model, runs, goldens, repeats):
    target = noisy(model, 1)
    alone = wb.compare(target, goldens[model])
    assert any(one.defect for one in alone.findings)
    found = wb.compare(target, goldens[model], repeats=repeats[model][:runs])
    assert found.verdict == "pass"
    assert not found.findings or not any(one.defect for one in found.findings)
    within = [row for row in found.rows if row.reason == BETWEEN_RUNS]
    assert within
    assert all(row.status == "pass" for row in within)
    assert codes(found)[:2] == ["compare/repeat-operators", "compare/repeat-within"]
    first = found.result.facts["repeats"].values["parts"][0]
    assert first.values["runs"] == runs


@pytest.mark.parametrize("noise", [1e-2])
def test_noise_beyond_number_formats_is_no_defect_and_told_apart(noise, goldens):
    target, again = (noisy("transformer", seed, noise) for seed in (1, 2))
    found = wb.compare(target, goldens["transformer"], repeats=[again])
    assert found.verdict == "pass"
    told = [part.code for part in found.result.sentence.values["clauses"][0].values["counts"]]
    assert "compare/count-between-runs" in told


def test_the_first_operator_that_sums_is_not_deterministic(goldens, repeats):
    found = wb.compare(noisy("mlp", 1), goldens["mlp"], repeats=repeats["mlp"][:1])
    (one,) = found.result.not_deterministic
    assert one.op_name == FIRST
    assert one.error == pytest.approx(math.sqrt(2) * 1e-5, rel=0.3)


@pytest.mark.parametrize(
    ("runs", "strength"),
    nightly([*product((1, 3), (1.01, 1.001))], [(1, 1.01), (3, 1.001)]),
)
def test_a_fault_beside_noise_is_still_found(runs, strength, goldens, repeats):
    target = noisy("transformer", 1, faults=[f"scaled-output:{SOFTMAX}:strength={strength}"])
    found = wb.compare(target, goldens["transformer"], repeats=repeats["transformer"][:runs])
    assert found.verdict == "fail"
    defects = [one.op_name for one in found.findings if one.defect]
    assert defects == [SOFTMAX]


ALONE = ["bit-flip", "nan-output", "overwritten-element", "stale-output", "wrong-sign"]


@pytest.mark.parametrize("kind", ALONE)
def test_a_fault_of_the_target_alone_is_no_noise(kind, goldens, repeats):
    """It differs between runs as well: the others agree with the golden."""
    target = noisy("transformer", 1, faults=[f"{kind}:{SOFTMAX}"])
    found = wb.compare(target, goldens["transformer"], repeats=repeats["transformer"][:1])
    assert found.verdict == "fail"
    assert next(one.op_name for one in found.findings if one.defect) == SOFTMAX
    alone = [one for one in found.result.facts["repeats"].values["parts"] if one.code == TOLD]
    assert [one.values["op_name"] for one in alone] == [SOFTMAX]


TOLD = "compare/repeat-alone"


def test_a_fault_that_every_run_has_is_still_found(goldens):
    planted = [f"scaled-output:{SOFTMAX}:strength=1.01"]
    target, again = (noisy("transformer", seed, faults=planted) for seed in (1, 2))
    found = wb.compare(target, goldens["transformer"], repeats=[again])
    assert [one.op_name for one in found.findings if one.defect] == [SOFTMAX]


def test_another_network_is_refused_and_changes_nothing(goldens, repeats):
    target = noisy("mlp", 1)
    alone = wb.compare(target, goldens["mlp"])
    found = wb.compare(target, goldens["mlp"], repeats=repeats["transformer"][:1])
    (other,) = found.result.repeats
    assert not other.used
    assert other.reason.code == "compare/repeat-other"
    assert (found.verdict, found.findings) == (alone.verdict, alone.findings)
    assert not found.result.not_deterministic


def test_other_weights_are_refused(goldens):
    target = noisy("mlp", 1)
    other = on_device(wb.models.load_graph("mlp", 7), "a2", "must_keep_origin_dtype")
    (other,) = wb.compare(target, goldens["mlp"], repeats=[other]).result.repeats
    assert not other.used
    assert other.reason.code == "compare/repeat-input"


def test_a_run_that_is_equal_to_the_bit_is_told(goldens):
    target, again = noisy("mlp", 1), noisy("mlp", 1)
    alone = wb.compare(target, goldens["mlp"])
    found = wb.compare(target, goldens["mlp"], repeats=[again])
    assert codes(found) == ["compare/repeat-run"]
    assert not found.result.repeats[
        0
    ].used  # a copy, or a device that is deterministic: nobody can tell
    assert found.result.repeats[0].reason.code == "compare/repeat-equal"
    assert found.findings == alone.findings


def test_repeats_are_told_where_nothing_differs(goldens, repeats):
    target = noisy("mlp", 1)
    found = wb.compare(target, target, repeats=repeats["mlp"][:1])
    assert found.verdict == "pass"
    assert [one.op_name for one in found.result.not_deterministic] == [FIRST]


def test_a_run_that_lacks_tensors_is_told_and_used(goldens, repeats):
    whole = repeats["mlp"][0]
    part = replace(whole, index=whole.index.take(range(len(whole.index) - 3)))
    (other,) = wb.compare(noisy("mlp", 1), goldens["mlp"], repeats=[part]).result.repeats
    assert other.used
    assert other.reason.code == "compare/repeat-lacks"
    assert other.reason.values["count"] == 3


def test_json_has_them_and_reads_files_without(goldens, repeats):
    target = noisy("mlp", 1)
    found = wb.compare(target, goldens["mlp"], repeats=repeats["mlp"][:2])
    values = found.to_json()
    assert [one["used"] for one in values["repeats"]] == [True, True]
    assert values["not_deterministic"][0]["op_name"] == FIRST
    again = from_json(json.loads(json.dumps(values)))
    assert again.not_deterministic == found.result.not_deterministic
    assert all(isinstance(one, RepeatRun) for one in again.repeats)
    assert all(isinstance(one, NotDeterministic) for one in again.not_deterministic)
    plain = wb.compare(target, goldens["mlp"]).to_json()
    assert "repeats" not in plain
    assert from_json(plain).repeats == ()


def test_the_command_takes_several_and_its_recipe_says_so(tmp_path, capsys):
    graph, plan = GRAPHS["mlp"], DumpPlan("/dump")
    golden = str(wb.simulate(graph, None, plan, tmp_path / "golden"))
    with computing_otherwise(1e-5, 1):
        target = str(wb.simulate(graph, None, plan, tmp_path / "target", device="a2"))
    with computing_otherwise(1e-5, 2):
        again = str(wb.simulate(graph, None, plan, tmp_path / "again", device="a2"))
    found = wb.compare(target, golden, repeats=[again, again])
    command = shlex.split(found.provenance["Command"])
    assert command[4:] == ["--repeat", again, "--repeat", again]
    assert f"repeats={[again, again]!r}" in found.provenance["Python"]
    shown = run(capsys, *command[1:])
    assert shown.status == 0
    assert f"not deterministic: MatMul {FIRST}" in shown.out


@pytest.fixture(scope="module")
def measured(goldens, repeats):
    """A comparison with a run that is used and one that is none."""
    given = [repeats["mlp"][0], repeats["transformer"][0]]
    return wb.compare(noisy("mlp", 1), goldens["mlp"], repeats=given)


@pytest.fixture
def no_figures():
    """Tables of a report are read, and no figure."""
    with blank_figures():
        yield


def between(rows):
    return {(row.op_name, row.io, row.slot): row.between_runs for row in rows}


def test_rows_say_how_far_runs_differ(measured, goldens):
    known = between(measured.rows)
    (one,) = measured.result.not_deterministic
    assert known[FIRST, "output", 0] == pytest.approx(one.error, rel=0.5)
    assert known[FIRST, "input", 0] is None
    plain = wb.compare(noisy("mlp", 1), goldens["mlp"])
    assert {*between(plain.rows).values()} == {None}
    assert "BetweenRuns" not in plain.frame().columns


@pytest.mark.parametrize("ending", ["json", "csv", "parquet"])
def test_exports_keep_how_far_runs_differ(ending, measured, tmp_path):
    path = tmp_path / f"result.{ending}"
    write = {"csv": measured.to_csv, "parquet": measured.to_parquet}.get(ending)
    if write is None:
        path.write_text(json.dumps(measured.to_json()))
    else:
        write(path)
    if ending == "csv":
        lines = list(csv.DictReader(path.read_text(encoding="utf-8").splitlines()))
        said = [float(one["BetweenRuns"]) for one in lines if one["BetweenRuns"]]
        assert said == [row.between_runs for row in measured.rows if row.between_runs is not None]
        return
    read = wb.Comparison.from_parquet if ending == "parquet" else wb.read_result
    again = read(path)
    assert between(again.rows) == between(measured.rows)
    assert again.result.not_deterministic == measured.result.not_deterministic
    assert [one.used for one in again.result.repeats] == [True, False]
    uncounted = [one.uncounted for one in measured.result.repeats]
    assert [one.uncounted for one in again.result.repeats] == uncounted


@pytest.mark.usefixtures("no_figures")
def test_the_report_lists_runs_and_operators_that_are_not_deterministic(measured, tmp_path):
    text = measured.to_html(tmp_path / "report.html").read_text(encoding="utf-8")
    section = text.partition('id="repeats"')[2].partition("</section>")[0]
    assert section.count("<tr>") == 1 + 2 + 1 + 1  # heads, two runs, one operator
    assert FIRST.rpartition("/")[2] in section
    assert "1.6e-5" in section


@pytest.mark.usefixtures("no_figures")
def test_a_report_without_other_runs_does_not_speak_of_them(goldens, tmp_path):
    path = wb.compare(noisy("mlp", 1), goldens["mlp"]).to_html(tmp_path / "report.html")
    assert 'id="repeats"' not in path.read_text(encoding="utf-8")


@pytest.mark.usefixtures("no_figures")
def test_a_report_says_how_many_more_operators_are_not_deterministic(measured, tmp_path):
    (one,) = measured.result.not_deterministic
    many = tuple(replace(one, slot=number) for number in range(LISTED + 2))
    found = wb.Comparison(replace(measured.result, not_deterministic=many))
    text = found.to_html(tmp_path / "report.html").read_text(encoding="utf-8")
    section = text.partition('id="repeats"')[2].partition("</section>")[0]
    assert section.count("<tr>") == 1 + 2 + 1 + LISTED
    assert "2 more in the JSON" in section
