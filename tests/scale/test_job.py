"""A job on a cluster in this process: what it finds, goes on with, and writes."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import workbench as wb
from kit.build.jobs import MEETING, PRODUCT
from kit.trees import contents
from kit.words import refused
from workbench.core.errors import FormatError, WorkbenchError
from workbench.scale import engine, run
from workbench.scale.compare_job import compare_job, read_job
from workbench.scale.job import JobResult
from workbench.scale.tables import COLUMNS


@pytest.fixture
def done(job, tmp_path):
    """The folder of a copy of the job, to damage and go on in."""
    return Path(shutil.copytree(job.folder, tmp_path / "r"))


@pytest.fixture(scope="module")
def job(trees, client, tmp_path_factory):
    return compare_job(
        trees["wrong"], trees["golden"], out=tmp_path_factory.mktemp("result") / "r", client=client
    )


def test_the_rank_that_parts_first_is_named_with_iteration_operator_and_line(job):
    first = job.first
    assert (first.ranks, first.iteration, first.role) == ((1,), 1, "origin")
    assert (first.divergence.op_name, first.divergence.op_type) == (PRODUCT, "MatMul")
    assert first.divergence.source.partition(":")[0].endswith("networks.py")
    assert job.verdict == "fail"
    assert job.sentence.values["clauses"][0].code == "job/said-first-source"


def test_the_others_are_one_group_that_received_it_where_they_met(job):
    assert [
        (one.ranks, one.role, one.divergence.op_name, one.fed_by) for one in job.groups[1:]
    ] == [((0, 2), "received", MEETING, (1,))]


def test_only_the_first_of_a_group_that_parts_by_itself_is_explained(job):
    assert [(one.rank, one.iteration) for one in job.diagnoses] == [(1, 1)]
    assert job.diagnoses[0].causes[0][0] == "scaled-output"


def test_units_before_it_pass(job):
    assert {one.place for one in job.units if one.verdict == "pass"} == {(0, 0), (1, 0), (2, 0)}


def test_a_clean_job_passes(trees, client, tmp_path):
    found = compare_job(trees["clean"], trees["golden"], out=tmp_path / "r", client=client)
    assert (found.verdict, found.groups, found.first) == ("pass", (), None)
    assert found.sentence.values["clauses"][0].code == "job/said-none"


def test_a_unit_says_what_a_comparison_of_it_alone_says(job, trees):
    alone = wb.compare(trees["wrong"], trees["golden"], rank=1, iteration=0)
    one = job.unit(1, 0)
    assert (one.verdict, one.tensors) == (alone.verdict, alone.coverage.matched)
    assert one.error == max(row.error for row in alone.rows if row.error is not None)
    assert [row.error for row in job.rows(1, 0).rows] == [row.error for row in alone.rows]


def test_a_unit_is_compared_in_full_on_request(job):
    found = job.comparison(1, 1)
    assert found.findings[0].op_name == PRODUCT
    assert found.findings[0].causes[0].kind == "scaled-output"
    with refused("job/no-unit", WorkbenchError, rank=9, iteration=0, ranks="0-2", iterations="0-1"):
        job.comparison(9, 0)


# --- going on ----------------------------------------------------------------------------------


def test_what_is_done_is_not_compared_again(trees, client, job, done, monkeypatch):
    (done / "units/rank_00000/iteration_0000001.parquet").unlink()
    counted = []
    real = run.compare_unit
    monkeypatch.setattr(
        run, "compare_unit", lambda unit, *a: counted.append(unit) or real(unit, *a)
    )
    compare_job(trees["wrong"], trees["golden"], out=done, client=client)
    assert [(one.rank, one.iteration) for one in counted] == [(0, 1)]
    assert contents(done) == contents(Path(job.folder))


def test_a_damaged_file_of_a_unit_is_made_again(trees, client, job, done):
    path = done / "units/rank_00002/iteration_0000000.parquet"
    path.write_bytes(path.read_bytes()[:-100] + bytes(100))
    (done / "units/.1-2.partial").write_bytes(b"left")
    compare_job(trees["wrong"], trees["golden"], out=done, client=client)
    assert contents(done) == contents(Path(job.folder))


def test_a_job_that_was_interrupted_leaves_a_result_and_goes_on(trees, client, job, tmp_path):

    def stop(done, total, name):
        if done > total / 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        compare_job(
            trees["wrong"], trees["golden"], out=tmp_path / "r", client=client, progress=stop
        )
    left = read_job(tmp_path / "r")
    assert left.partial
    assert left.verdict in ("incomplete", "fail")
    assert 0 < sum(one.state == "done" for one in left.units) < 6
    found = compare_job(trees["wrong"], trees["golden"], out=tmp_path / "r", client=client)
    assert found.units == job.units
    assert contents(tmp_path / "r") == contents(Path(job.folder))


def test_the_folder_of_another_job_is_refused(trees, client, job, tmp_path):
    with refused("job/folder", WorkbenchError):
        compare_job(trees["clean"], trees["golden"], out=job.folder, client=client)
    (tmp_path / "mine.txt").write_text("x")
    with refused("job/folder", WorkbenchError):
        compare_job(trees["clean"], trees["golden"], out=tmp_path, client=client)


# --- failures ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("error", "said"),
    [(FormatError("core/missing", got="x"), "x"), (ValueError("odd"), "ValueError")],
)
def test_a_unit_that_fails_three_times_is_a_row_with_the_reason(
    trees, client, tmp_path, monkeypatch, error, said
):
    tried = []
    real = run.compare_unit

    def fail(unit, *rest):
        if unit.rank == 2 and unit.iteration == 1:
            tried.append(unit)
            raise error
        return real(unit, *rest)

    monkeypatch.setattr(run, "compare_unit", fail)
    few = {"out": tmp_path / "r", "client": client, "ranks": "1,2", "iterations": "1"}
    found = compare_job(trees["clean"], trees["golden"], **few)
    assert len(tried) == engine.FAILURES == 3
    assert found.verdict == "incomplete"
    (one,) = [one for one in found.units if one.state == "failed"]
    assert one.place == (2, 1)
    assert said in one.reason
    monkeypatch.undo()
    again = compare_job(trees["clean"], trees["golden"], **few)
    assert again.verdict == "pass"


def test_what_one_side_lacks_makes_it_incomplete(trees, client, tmp_path):
    shutil.copytree(trees["clean"], tmp_path / "t")
    shutil.rmtree(tmp_path / "t/rank_2")
    found = compare_job(
        tmp_path / "t", trees["golden"], out=tmp_path / "r", client=client, ranks="1,2"
    )
    assert (found.verdict, len(found.missing)) == ("incomplete", 2)


def test_of_some_ranks_nothing_is_said_of_what_all_feed_to_a_collective(trees, client, tmp_path):
    """Rank 1, which is wrong, is left out: what the others received is no fault of the communication."""
    found = compare_job(
        trees["wrong"], trees["golden"], out=tmp_path / "r", client=client, ranks="0,2"
    )
    assert [(one.ranks, one.role) for one in found.groups] == [((0, 2), "open")]
    assert (found.verdict, found.unit(0, 1).verdict) == ("inconclusive", "inconclusive")


# --- files -------------------------------------------------------------------------------------


def test_a_result_is_read_as_it_was_written(job):
    found = JobResult.from_json(job.folder)
    assert found == job
    assert (found.verdict, str(found.sentence)) == (job.verdict, str(job.sentence))
    with refused("job/no-dumps", WorkbenchError):
        found.comparison(1, 1)
    assert read_job(job.folder).comparison(1, 1).findings[0].op_name == PRODUCT


def test_a_unit_is_compared_again_with_the_settings_of_its_job(trees, client, tmp_path):
    out, maps = tmp_path / "r", tmp_path / "maps.json"
    tolerated = {"tolerances": [{"name": PRODUCT, "relative_error": 9.5, "reason": "agreed upon"}]}
    maps.write_text(json.dumps(tolerated))
    job = compare_job(
        trees["wrong"], trees["golden"], out=out, client=client, iterations="1", require=50,
        map_file=maps, allow_missing=("nothing*",),
    )  # fmt: skip
    maps.unlink()
    again = read_job(out).comparison(1, 1)
    assert again.verdict == job.unit(1, 1).verdict
    used = again.result.overrides
    assert used == job.comparison(1, 1).result.overrides
    assert [one.kind for one in used] == ["tolerance", "missing"]


@pytest.mark.parametrize("change", [{"settings": "0"}, {"given": {}}, {"given": {"layouts": 5}}])
def test_a_unit_whose_settings_are_not_what_they_were_is_not_compared_again(done, change):
    plan = json.loads((done / "plan.json").read_text())
    (done / "plan.json").write_text(json.dumps(plan | change))
    with refused("job/no-dumps", WorkbenchError):
        read_job(done).comparison(1, 1)


@pytest.mark.parametrize(
    "text", ["[]", "{}", '{"schema": "x"}', "1", '{"schema": "workbench.job/1"}']
)
def test_what_is_no_result_is_refused(text, tmp_path):
    (tmp_path / "job.json").write_text(text)
    with refused("job/json", FormatError):
        JobResult.from_json(tmp_path)


def test_a_table_has_a_row_for_every_unit(job, tmp_path):
    table = pq.read_table(job.to_parquet(tmp_path / "j.parquet"))
    assert table.column_names == [one.name for one in COLUMNS]
    rows = table.to_pylist()
    assert [(one["rank"], one["iteration"]) for one in rows] == [one.place for one in job.units]
    assert [one["first"] for one in rows if one["first"]] == [
        one.first.op_name for one in job.units if one.first is not None
    ]
    assert json.loads(table.schema.metadata[b"workbench.job"])["verdict"] == "fail"
    assert [*job.frame()["rank"]] == [one.rank for one in job.units]
