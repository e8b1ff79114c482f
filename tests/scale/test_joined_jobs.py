"""Jobs whose sides share a network in different ways: joined, they agree, and what is wrong has a name."""

from __future__ import annotations

import json
import shutil
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import workbench as wb
from kit.build.object_store import serve_bucket, upload
from kit.build.shards import slot_of, write_shards, zigzag
from kit.cases import nightly
from kit.words import refused
from workbench.cli import main
from workbench.core.errors import WorkbenchError
from workbench.core.words import Message
from workbench.network.models import load_graph
from workbench.run.parallel import Parallel
from workbench.scale import run
from workbench.scale.job import JobResult
from workbench.scale.job_layouts import AskedLayouts, find_layouts
from workbench.scale.layouts import parse_layouts
from workbench.scale.parts import list_tree
from workbench.scale.said import ledger_said, lines
from workbench.simulation.split import split_network

LAYER = "Default_network-WithLossCell__backbone-MLP_body-SequentialCell_0-Dense"
PRODUCT = f"{LAYER}_MatMul-op0"
SUM = f"{LAYER}_BiasAdd-op0:output.0"


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The tree of one rank, of two iterations."""
    form = wb.config.new("mindspore-cpu", common_dump_settings__iteration="all")
    out = tmp_path_factory.mktemp("joined") / "whole"
    return wb.simulate(
        load_graph("mlp_train", 0), None, form, out, device="reference", surface="mindspore-cpu",
        iterations=2,
    )  # fmt: skip


def dims(array, cut=""):
    return " ".join(f"d{n}{cut if n == array.ndim - 1 else ''}" for n in range(array.ndim))


def by_columns(axis, ranks, slot, array, rank):
    """The last dimension of matrices cut, all else on every rank."""
    if array.ndim != 2 or array.shape[1] % ranks:
        return array, dims(array)
    return np.split(array, ranks, axis=1)[rank], dims(array, f"[{axis}]")


def by_zigzag(said, ranks, slot, array, rank):
    """The last dimension of matrices cut in zigzag order, whatever is said of it."""
    if array.ndim != 2 or array.shape[1] % (2 * ranks):
        return array, dims(array)
    return zigzag(array, 1, rank, ranks), dims(array, said)


def by_stages(slot, array, rank):
    """Forward on rank 0, all else on rank 1."""
    here = int(not slot.startswith("Default_network"))
    return (array if rank == here else None), dims(array)


def at(place, rank, make, since=0):
    """Change what one rank holds of one tensor."""

    def change(slot, iteration, own, array, path):
        if slot == place and own == rank and iteration >= since:
            return make(array, path)
        return array

    return change


def not_reduced(slot, iteration, rank, array, path):
    """Ranks hold parts of a sum (to the bit: quarters) where all should hold the whole."""
    return array * np.float32((0.75, 0.25)[rank]) if slot == SUM else array


def before(array, path: Path):
    """What the file of the same tensor held an iteration earlier."""
    earlier = [one for one in (path.parents[1] / "0").glob("*.npy") if slot_of(one) == SUM]
    return np.load(earlier[0])


def one_step(array, path):
    found = array.copy()
    found.flat[3] = np.nextafter(found.flat[3], np.float32(np.inf))
    return found


TP = {n: (n, partial(by_columns, "tp", n), f"tp={n}") for n in (2, 4)}
CP, KEPT = ((2, partial(by_zigzag, said, 2), "cp=2") for said in ("[cp:zigzag]", "[cp]"))
PP = (2, by_stages, "pp=2")


def everywhere(slot, array, rank):
    """Everything on every rank."""
    return array, dims(array)


ALL = {n: (n, everywhere, f"tp={n}") for n in (2, 3)}

CASES = {
    "tp=4 against tp=2": (TP[4], TP[2], None, "pass", None, None),
    "stages": (PP, None, None, "pass", None, None),
    "zigzag": (CP, None, None, "pass", None, None),
    "product": (
        TP[4], None, at(f"{PRODUCT}:output.0", 2, lambda a, _: a * np.float32(1.5)), "fail", None,
        (PRODUCT, (2,)),
    ),
    "product of a stage": (
        PP, None, at(f"{PRODUCT}:output.0", 0, lambda a, _: a * np.float32(1.5)), "fail", None,
        (PRODUCT, (0,)),
    ),
    "not reduced": (ALL[2], None, not_reduced, "fail", ("never-reduced", (0, 1), "tp"), None),
    "stale": (ALL[3], None, at(SUM, 2, before, since=1), "fail", ("replica-stale", (2,), "tp"), None),
    "one step": (ALL[3], None, at(SUM, 2, one_step), "warn", ("replica-ulp", (2,), "tp"), None),
    "zigzag kept": (KEPT, None, None, "fail", ("zigzag-kept", (0, 1), "cp"), None),
}  # fmt: skip
"""Target, golden (none: whole), what changes on a rank, verdict, first finding on ranks, first divergence."""


def shards_of(whole, out, side, change=None, last=0):
    ranks, cut, head = side
    return write_shards(whole, out, ranks, cut, head, change, last)


def joined_job(whole, target, golden, change, client, out, last=0, depth="measured"):
    """The job of a row."""
    tree, layouts = shards_of(whole, out / "target", target, change, last)
    other = {"golden": whole}
    if golden is not None:
        other["golden"], other["golden_layouts"] = shards_of(
            whole, out / "golden", golden, last=last
        )
    return wb.compare_job(
        tree, **other, layouts=layouts, out=out / "r", client=client, iterations=f"0-{last}",
        depth=depth,
    )  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_sides_of_different_layouts_are_joined_and_compared(
    whole, client, tmp_path, name, monkeypatch
):
    monkeypatch.setattr(JobResult, "to_html", lambda *_: None)  # half of the time of so small a job
    target, golden, change, verdict, finding, first = CASES[name]
    last = int(name == "stale")
    depth = "replayed" if first else "measured"
    job = joined_job(whole, target, golden, change, client, tmp_path, last, depth)
    assert job.verdict == verdict, str(job.sentence)
    found = [(one.code, one.ranks, one.values["axis"]) for one in job.found]
    assert found[:1] == ([finding] if finding else [])
    if first is not None:
        assert job.first.divergence.op_name.replace("/", "_") == first[0]
        assert job.first.ranks == first[1]
    if finding is not None:
        said = job.sentence.values["clauses"][0]
        assert (said.code, said.values["found"].code) == (
            "job/said-finding", f"layouts/found-{finding[0]}",
        )  # fmt: skip
        assert job.found[0].iteration == last


LOSS = "SparseSoftmaxCrossEntropyWithLogits-op0"
OWN_MEANS = {
    "layouts given": (("dp=2", "tp=1"), "", {"pass", "warn"}, None, None),
    "layouts told": (("", ""), "", {"pass", "warn"}, None, None),
    "a loss of one rank": (
        ("dp=2", "tp=1"), f"scaled-output:*_loss_fn-*Logits/{LOSS}:1.5,rank=1", {"fail"}, LOSS, (0, 1),
    ),
    "its gradient on one rank": (
        ("dp=2", "tp=1"), f"scaled-output:*Grad_*/{LOSS}:1.5,rank=1", {"fail"}, LOSS, (1,),
    ),
    "a gradient that one rank does not divide": (
        ("dp=2", "tp=1"), "scaled-output:*_VirtualDiv/Mul-op0:2.0,rank=1", {"fail"}, "Grad_BiasAdd_BiasAddGrad-op0",
        (0, 1),
    ),
}  # fmt: skip
"""Axes of both sides, a fault, verdicts, first divergence and its ranks."""


@pytest.mark.parametrize("name", nightly([*OWN_MEANS], [*OWN_MEANS][1:3]))
def test_losses_of_each_ranks_own_batch_are_the_loss_of_all(whole, client, tmp_path, name):
    """Two ranks train on halves of the batch that one rank has: nothing is left out of the comparison."""
    axes, fault, verdicts, operator, ranks = OWN_MEANS[name]
    graph = load_graph("mlp_train", 0)
    surface = "mindspore-o0o1" if fault else "mindspore-cpu"
    form = wb.config.new(surface, common_dump_settings__iteration="all")
    options = {"device": "a2", "faults": (fault,)} if fault else {"device": "reference"}
    tree = wb.simulate(
        graph,
        None,
        form,
        tmp_path / "target",
        surface=surface,
        iterations=2,
        parallel="dp=2",
        **options,
    )
    layouts = parse_layouts(split_network(graph, Parallel(dp=2)).layouts_text()) if axes[0] else ""
    job = wb.compare_job(
        tree, whole, parallel=axes[0], golden_parallel=axes[1], layouts=layouts, out=tmp_path / "r",
        client=client,
    )  # fmt: skip
    assert job.verdict in verdicts, str(job.sentence)
    assert job.found == ()
    assert not [one for one in job.ledger if one.code == "not-joined"]
    if operator is not None:
        first = job.first
        assert first.divergence.op_name.replace("/", "_").endswith(operator)
        assert (first.ranks, first.iteration) == (ranks, 0)


@pytest.fixture(scope="module")
def staged(whole, client, tmp_path_factory):
    """A job of two stages, its folder and its trees."""
    out = tmp_path_factory.mktemp("staged")
    return joined_job(whole, PP, None, None, client, out), out


def test_a_unit_is_an_iteration_of_all_ranks(staged):
    job, out = staged
    assert [one.place for one in job.units] == [(0, 0)]
    assert job.axes == ("pp=2", "tp=1", "given")
    files = [*(out / "target").rglob("*.npy")]
    assert job.units[0].tensors == len(files)


def test_a_result_of_joined_ranks_is_read_as_it_was_written(whole, client, tmp_path):
    wrong = at(SUM, 1, lambda array, _: array * np.float32(np.nan))
    odd = at(SUM, 2, one_step)

    def change(slot, iteration, rank, array, path):
        return odd(slot, iteration, rank, wrong(slot, iteration, rank, array, path), path)

    side = (3, everywhere, "dp=3")
    job = joined_job(whole, side, None, change, client, tmp_path)
    found = JobResult.from_json(tmp_path / "r")
    assert found == job
    assert (str(found.sentence), found.found, found.ledger) == (
        str(job.sentence), job.found, job.ledger,
    )  # fmt: skip
    said = json.loads((tmp_path / "r/job.json").read_text())["layouts"]
    assert said["target"] == "dp=3"
    assert [(one["kind"], one["ranks"], one["defect"]) for one in said["findings"]] == [
        ("replica-differs", [1], True), ("replica-ulp", [2], False),
    ]  # fmt: skip
    assert said["ledger"][0]["step"] == "checked"
    page = (tmp_path / "r/report.html").read_text()
    for text in (job.found[0].message, job.ledger[0].message):
        assert str(text) in page
    assert str(job.found[0].message) in job._repr_html_()
    assert [str(one) for one in lines(job)][1:2] == [f"     {ledger_said(job.ledger[0])}"]


def test_what_is_done_is_not_joined_again_unless_a_file_of_any_rank_has_changed(
    whole, client, staged, monkeypatch
):
    job, out = staged
    counted = []
    real = run.compare_unit
    monkeypatch.setattr(run, "compare_unit", lambda *a: counted.append(a[0].iteration) or real(*a))
    again = partial(
        wb.compare_job, out / "target", whole, out=out / "r", client=client, iterations=0,
        depth="measured",
    )  # fmt: skip
    assert again(layouts=out / "target.txt") == job
    assert counted == []
    changed = next((out / "target/rank_1").rglob("*.npy"))
    changed.touch()
    assert again(layouts=out / "target.txt").verdict == job.verdict
    assert counted == [0]


def test_layouts_are_told_where_one_side_is_whole(whole, client, tmp_path):
    tree, _ = shards_of(whole, tmp_path / "target", TP[2])
    job = wb.compare_job(
        tree, whole, parallel="tp=2", out=tmp_path / "r", client=client, iterations=0
    )
    assert (job.verdict, job.axes.trust) == ("pass", "inferred")
    again = wb.read_job(tmp_path / "r").comparison(0, 0)
    assert again.verdict == job.unit(0, 0).verdict
    assert again.result.coverage == job.comparison(0, 0).result.coverage


REFUSED = {
    "more ranks than axes": ({"parallel": "tp=3"}, "job/parallel-ranks"),
    "no axes": ({"golden_parallel": "tp=2"}, "job/parallel-unknown"),
    "no layouts": ({"parallel": "tp=4", "golden_parallel": "dp=4"}, "job/layouts-unknown"),
    "ranks": ({"parallel": "tp=4", "layouts": parse_layouts("*: a"), "ranks": "1"}, "job/joined-ranks"),
    "a graph": (
        {"parallel": "tp=4", "layouts": parse_layouts("*: a"), "target_graph": "x.ir"}, "job/joined-option",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_layouts_that_cannot_be_are_refused(whole, tmp_path, name):
    options, code = REFUSED[name]
    tree = tmp_path / "t"
    golden = tree if name == "no layouts" else whole
    for rank in range(4):
        shutil.copytree(whole / "rank_0/Net/0/0", tree / f"rank_{rank}/Net/0/0")
    with refused(code, WorkbenchError):
        wb.compare_job(tree, golden, out=tmp_path / "r", client=object(), **options)


def test_the_same_layout_on_both_sides_compares_rank_with_rank(trees):
    both = list_tree(trees["clean"]), list_tree(trees["golden"])
    assert find_layouts(both, AskedLayouts("dp=3")) is None
    assert find_layouts(both, AskedLayouts()) is None


def test_trees_elsewhere_are_joined_too(whole, client, staged, tmp_path):
    job, out = staged
    archive = shutil.make_archive(str(tmp_path / "target"), "zip", out / "target")
    options = {"layouts": out / "target.txt", "client": client, "iterations": 0}
    found = wb.compare_job(archive, whole, out=tmp_path / "r", **options)
    assert (found.verdict, str(found.sentence)) == (job.verdict, str(job.sentence))
    assert [one.tensors for one in found.units] == [one.tensors for one in job.units]


@pytest.mark.exhaustive  # a second for 100 files of the server
def test_trees_of_an_object_store_are_joined_too(whole, client, staged, tmp_path):
    """Ranks are read from both sides' buckets, each byte once or nearly so."""
    job, out = staged
    with serve_bucket("ranks") as (store, boto):
        urls = [upload(boto, "ranks", *one) for one in (("t", out / "target"), ("g", whole))]
        found = wb.compare_job(
            *urls, layouts=out / "target.txt", out=tmp_path / "r", client=client, iterations=0,
            depth="measured",
        )  # fmt: skip
    assert (found.verdict, str(found.sentence)) == (job.verdict, str(job.sentence))
    assert [one.tensors for one in found.units] == [one.tensors for one in job.units]
    files = [path for tree in (out / "target", whole) for path in tree.rglob("*") if path.is_file()]
    needed = sum(path.stat().st_size for path in files if path.parent.name != "1")  # iteration 0
    assert 0 < store.read <= 1.05 * needed


def test_a_command_says_how_ranks_were_joined(whole, client, tmp_path, capsys):
    """Options reach the job, and its exit status says what is wrong."""
    tree, layouts = shards_of(whole, tmp_path / "t", ALL[2], not_reduced)
    options = ["--parallel", "tp=2", "--golden-parallel", "tp=1", "--layouts", str(layouts)]
    where = ["--out", str(tmp_path / "r"), "--scheduler", client.scheduler.address]
    args = ["compare", str(tree), str(whole), *where, "--iterations", "0", *options]
    with pytest.raises(SystemExit) as ended:
        main(args)
    assert ended.value.code == 1
    said = capsys.readouterr()
    assert "partial sum that was never reduced on tp" in said.out
    assert str(Message("job/axes", target="tp=2", golden="tp=1", trust="given")) in said.out
    assert "tp=2" in said.err
