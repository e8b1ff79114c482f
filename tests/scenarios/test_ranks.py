"""Several ranks on every surface: what they write, what is foretold, and which of them is wrong."""

from pathlib import Path

import numpy as np
import pytest

import workbench as wb
from workbench.core.errors import GraphError
from workbench.graph.models import load_graph
from workbench.pipeline.simulate import SIMULATED

SURFACES = [name for name in SIMULATED if name != "acl"]
PRODUCT = "Gradients/Default/network-WithLossCell/_backbone-MLP/head-Dense/Grad_MatMul/MatMul-op0"


@pytest.fixture(scope="module")
def mlp():
    return load_graph("mlp_train", 0, 2)


def device_of(surface):
    return "reference" if surface in ("mindspore-cpu", "mindspore-gpu") else "a2"


def run(graph, surface, out, **options):
    options = {"device": device_of(surface), "ranks": 2, "surface": surface} | options
    return wb.simulate(graph, None, wb.config.new(surface), out, **options)


def contents(tree):
    return {
        str(path.relative_to(tree)): path.read_bytes()
        for path in sorted(Path(tree).rglob("*"))
        if path.is_file()
    }


@pytest.mark.parametrize("surface", SURFACES)
def test_every_rank_has_a_tree_and_the_preview_knows_it(surface, mlp, tmp_path):
    tree = run(mlp, surface, tmp_path / "a", iterations=2)
    dump = wb.load(tree)
    assert {record.key.rank for record in dump.records} == {0, 1}
    assert {rank for rank, _ in dump.graphs} == {0, 1}
    foretold = wb.preview(wb.config.new(surface), mlp, ranks=2, iterations=2)
    assert foretold.exact
    sizes = {name: len(data) for name, data in contents(tree).items()}
    assert sizes.keys() == set(foretold.names)
    for entry in foretold.forecast.files:
        if not entry.bound:
            assert sizes[entry.path] == entry.size, entry.path


@pytest.mark.parametrize("surface", ["mindspore-o0o1", "torchair", "tensorflow"])
def test_the_same_seed_gives_the_same_bytes(surface, mlp, tmp_path):
    one, other = (run(mlp, surface, tmp_path / name) for name in "ab")
    assert contents(one) == contents(other)


def test_gradients_are_the_mean_over_ranks_whose_batches_differ(mlp, tmp_path):
    tree = run(mlp, "mindspore-cpu", tmp_path / "a")
    parts = {}
    for record in wb.load(tree).records:
        if record.key.op_type == "AllReduce":
            parts[record.key.rank, record.key.op_name, record.key.io] = record.source.array()
    for name in {name for _, name, _ in parts}:
        one, other = parts[0, name, "input"], parts[1, name, "input"]
        assert not np.array_equal(one, other)
        total = (one.astype(np.float64) + other).astype(np.float32)
        np.testing.assert_array_equal(parts[0, name, "output"], total)
        np.testing.assert_array_equal(parts[1, name, "output"], total)


def test_one_rank_may_dump_alone(mlp, tmp_path):
    both = contents(run(mlp, "mindspore-o0o1", tmp_path / "a"))
    alone = contents(run(mlp, "mindspore-o0o1", tmp_path / "b", env={"RANK_ID": "1"}))
    assert alone
    assert alone == {name: data for name, data in both.items() if name.startswith("rank_1/")}
    with pytest.raises(GraphError, match="must be below the number of ranks, 2, got 5"):
        run(mlp, "mindspore-o0o1", tmp_path / "c", env={"RANK_ID": "5"})


@pytest.mark.parametrize("surface", ["mindspore-o0o1", "mindspore-o2", "torchair"])
@pytest.mark.parametrize("ranks", [2, 3])
def test_a_fault_of_one_rank_is_found_there(surface, ranks, tmp_path):
    graph = load_graph("mlp_train", 0, ranks)
    golden = run(graph, surface, tmp_path / "g", device="reference", ranks=ranks)
    faults = [f"scaled-output:{PRODUCT}:3,rank=1"]
    target = run(graph, surface, tmp_path / "t", faults=faults, ranks=ranks)
    found = [one for one in wb.compare(target, golden).findings if one.defect]
    assert [(one.op_name, one.rank) for one in found] == [(PRODUCT, 1)]
    others = ", ".join(str(rank) for rank in range(ranks) if rank != 1)
    assert f"it is on rank 1, not on {others}" in found[0].evidence


def test_a_clean_job_has_no_finding(mlp, tmp_path):
    golden = run(mlp, "mindspore-cpu", tmp_path / "g")
    target = run(mlp, "mindspore-o0o1", tmp_path / "t")
    comparison = wb.compare(target, golden)
    assert not [one for one in comparison.findings if one.defect]


def test_a_failing_rank_ends_the_others(mlp, tmp_path):
    said = []
    faults = [f"aicore-exception:{PRODUCT}:rank=1"]
    run(mlp, "mindspore-o0o1", tmp_path / "t", faults=faults, say=said.append)
    assert said[0].startswith("rank 0: the device failed at Default/grad_reducer")
    assert said[1] == f"rank 1: the device failed at {PRODUCT}; the run ends there"


@pytest.mark.parametrize("rank", [2, -1])
def test_a_fault_of_no_rank_is_refused(rank, mlp, tmp_path):
    with pytest.raises(GraphError, match=rf"must be one of \[0, 1\], got {rank}"):
        run(mlp, "torchair", tmp_path / "t", faults=[f"scaled-output:{PRODUCT}:rank={rank}"])
    assert not (tmp_path / "t").exists()


def test_feeds_may_be_given_rank_by_rank(mlp, tmp_path):
    feeds = [mlp.batches(7), mlp.batches(7)]
    tree = wb.simulate(
        mlp, feeds, wb.config.new("mindspore-cpu"), tmp_path / "a", ranks=2, surface="mindspore-cpu"
    )
    one, other = (
        {(r.key.op_name, r.key.io, r.key.slot): r.source.array() for r in records}
        for records in ([r for r in wb.load(tree).records if r.key.rank == rank] for rank in (0, 1))
    )
    assert one.keys() == other.keys()
    assert all(np.array_equal(one[key], other[key]) for key in one)


def test_every_rank_must_be_fed(mlp, tmp_path):
    config = wb.config.new("mindspore-cpu")
    with pytest.raises(GraphError, match="feeds must be given for every rank, got 1 for rank 1"):
        wb.simulate(mlp, [mlp.batches(0)], config, tmp_path / "a", ranks=2)
