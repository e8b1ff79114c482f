"""Several ranks on every surface: what they write, what is foretold, and which of them is wrong."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

import workbench as wb
from kit.cases import nightly
from kit.evidence import clauses, codes, defects, the, within
from kit.trees import contents
from kit.words import check_said, refused
from workbench import nn
from workbench.core.errors import GraphError
from workbench.core.plan import Iterations
from workbench.core.words import Message
from workbench.core.writers import SIMULATED_SURFACES
from workbench.network.models import MLP, TRAININGS, load_graph

SURFACES = [name for name in SIMULATED_SURFACES if name != "acl"]
LAID_OUT = ("mindspore-o0o1", "mindspore-o2", "torchair")
"""A surface of each way in which the trees of ranks lie beside each other."""
PRODUCT = "Gradients/Default/network-WithLossCell/_backbone-MLP/head-Dense/Grad_MatMul/MatMul-op0"


@pytest.fixture(scope="module")
def mlp():
    return load_graph("mlp_train", 0, 2)


def device_of(surface):
    return "reference" if surface in ("mindspore-cpu", "mindspore-gpu") else "a2"


def run(graph, surface, out, **options):
    options = {"device": device_of(surface), "ranks": 2, "surface": surface} | options
    return wb.simulate(graph, None, wb.config.new(surface), out, **options)


@pytest.mark.parametrize("surface", nightly(SURFACES, (*LAID_OUT, "tensorflow")))
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
        if not entry.is_upper_bound:
            assert sizes[entry.path] == entry.size, entry.path


@pytest.mark.parametrize(
    "surface", nightly(["mindspore-o0o1", "torchair", "tensorflow"], ["torchair"])
)
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
    with refused("simulation/rank-range", GraphError, ranks=2, got=5):
        run(mlp, "mindspore-o0o1", tmp_path / "c", env={"RANK_ID": "5"})


@pytest.mark.parametrize(
    ("surface", "ranks"),
    nightly([*product(LAID_OUT, (2, 3))], [*zip(LAID_OUT, (2, 3, 2), strict=True)]),
)
def test_a_fault_of_one_rank_is_found_there(surface, ranks, tmp_path):
    graph = load_graph("mlp_train", 0, ranks)
    golden = run(graph, surface, tmp_path / "g", device="reference", ranks=ranks)
    faults = [f"scaled-output:{PRODUCT}:3,rank=1"]
    target = run(graph, surface, tmp_path / "t", faults=faults, ranks=ranks)
    found = [one for one in wb.compare(target, golden).findings if one.defect]
    assert [(one.op_name, one.rank) for one in found] == [(PRODUCT, 1)]
    others = [rank for rank in range(ranks) if rank != 1]
    the(found[0].evidence, "ranks-some", mine=[1], others=others)


def test_a_clean_job_has_no_finding(mlp, tmp_path):
    golden = run(mlp, "mindspore-cpu", tmp_path / "g")
    target = run(mlp, "mindspore-o0o1", tmp_path / "t")
    comparison = wb.compare(target, golden)
    assert not defects(comparison)


def test_a_failing_rank_ends_the_others(mlp, tmp_path):
    said = []
    faults = [f"aicore-exception:{PRODUCT}:rank=1"]
    run(mlp, "mindspore-o0o1", tmp_path / "t", faults=faults, say=said.append)
    ended = Message("simulation/run-failed", op=PRODUCT)
    assert "Default/grad_reducer" in said[0]
    assert said[1] == str(Message("simulation/run-rank", rank=1, said=ended))


def test_a_fault_of_every_rank_is_told_to_be_on_all(tmp_path):
    graph = load_graph("mlp_train", 0, 2)
    golden = run(graph, "mindspore-o0o1", tmp_path / "g", device="reference", ranks=2)
    faults = [f"scaled-output:{PRODUCT}:3"]
    target = run(graph, "mindspore-o0o1", tmp_path / "t", faults=faults, ranks=2)
    (found,) = [one for one in wb.compare(target, golden).findings if one.defect]
    the(found.evidence, "ranks-all", mine=[0, 1])


@pytest.mark.parametrize("rank", [2, -1])
def test_a_fault_of_no_rank_is_refused(rank, mlp, tmp_path):
    with refused("simulation/fault-rank", GraphError, known=[0, 1], got=rank):
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
    with refused("simulation/rank-feeds", GraphError, rank=1, got=1):
        wb.simulate(mlp, [mlp.batches(0)], config, tmp_path / "a", ranks=2)


def trained(graph, surface, out, faults=(), iterations=3):
    """Three ranks, and every iteration is dumped."""
    plan = replace(wb.config.new(surface).plan(), iterations=Iterations(((0, iterations - 1),)))
    options = {"surface": surface, "ranks": 3, "iterations": iterations, "faults": faults}
    options["device"] = "a2" if faults else "reference"
    return wb.simulate(graph, None, plan, out, **options)


@pytest.mark.parametrize("surface", nightly(LAID_OUT, ("mindspore-o2",)))
def test_an_optimizer_that_fails_on_one_rank_in_one_iteration_is_found(surface, tmp_path):
    graph = load_graph("mlp_train", 0, 3)
    update = "Default/optimizer-SGD/SGD-op2"
    golden = trained(graph, surface, tmp_path / "g")
    faults = [f"scaled-output:{update}:1.5,rank=1,iteration=1"]
    comparison = wb.compare(trained(graph, surface, tmp_path / "t", faults), golden)
    (found,) = defects(comparison)
    assert (found.op_name, found.rank, found.iteration) == (update, 1, 1)
    apart = {"ranks": (1,), "others": (0, 2), "name": "body.1.bias", "iteration": 1}
    the(found.evidence, "rank-apart-from", **apart)
    operator = within(clauses(comparison.result)[0], "operator-rank")
    check_said(operator, "compare/operator-rank", rank=1)
    check_said(operator.values["operator"], "compare/operator-iteration", iteration=1)
    (told,) = [one for one in comparison.to_json()["findings"] if one["op_name"] == update]
    assert (told["iteration"], told["rank"]) == (1, 1)


def test_a_wrong_weight_of_one_rank_is_told_beside_its_peers(tmp_path):
    graph = load_graph("mlp_train", 0, 3)
    golden = trained(graph, "mindspore-o2", tmp_path / "g", iterations=1)
    product = "Default/network-WithLossCell/_backbone-MLP/head-Dense/MatMul-op0"
    faults = [f"wrong-weight-element:{product}:3,rank=2"]
    target = trained(graph, "mindspore-o2", tmp_path / "t", faults, iterations=1)
    comparison = wb.compare(target, golden)
    found = next(one for one in comparison.findings if one.defect)
    assert (found.kind, found.op_name, found.rank) == ("parameter", product, 2)
    apart = {"ranks": (2,), "others": (0, 1), "name": "head.weight", "iteration": 0}
    the(found.evidence, "rank-apart-from", **apart)


def test_a_step_is_skipped_on_all_ranks_if_one_overflows(tmp_path):
    def network():
        cell = nn.WithLossCell(MLP(), nn.SoftmaxCrossEntropyWithLogits(sparse=True))
        step = nn.SGD(cell.trainable_params(), 0.1)
        return nn.TrainOneStepWithLossScaleCell(cell, step, nn.FixedLossScaleUpdateCell(8.0))

    with nn.data_parallel(2):
        graph = wb.trace(network().set_train(), *TRAININGS["mlp_train"][1](0, 0))
    names = [p.name for p in graph.parameters if not p.is_weight]
    batches = [dict(zip(names, TRAININGS["mlp_train"][1](0, rank), strict=True)) for rank in (0, 1)]
    batches[1][names[0]] = batches[1][names[0]] * np.float32(1e38)
    config = wb.config.new("mindspore-cpu")
    for feeds, count in (([batches[0]] * 2, 12), (batches, 0)):
        tree = wb.simulate(graph, feeds, config, tmp_path / str(count), ranks=2)
        records = wb.load(tree).records
        updates = {(r.key.rank, r.key.op_name) for r in records if r.key.op_type == "SGD"}
        assert len(updates) == count


@pytest.mark.parametrize(
    ("surface", "rank"),
    nightly([*product(LAID_OUT, (0, 1))], [*zip(LAID_OUT, (0, 1, 0), strict=True)]),
)
def test_every_rank_has_the_graph_that_runs_there(surface, rank, mlp, tmp_path):
    update = "Default/optimizer-SGD/SGD-op0"
    faults = [f"wrong-attribute:{update}:nesterov=True,rank={rank}"]
    target = run(mlp, surface, tmp_path / "t", faults=faults, device="a2")
    graphs = wb.load(target).graphs
    found = {key[0]: next(op for op in g.ops if op.name == update) for key, g in graphs.items()}
    assert {one: bool(op.attrs.get("nesterov")) for one, op in found.items()} == {
        rank: True,
        1 - rank: False,
    }


def test_an_allreduce_whose_other_ranks_were_not_compared_is_said_to_be_so(mlp, tmp_path):
    golden = run(mlp, "mindspore-cpu", tmp_path / "g", env={"RANK_ID": "0"})
    faults = [f"scaled-output:{PRODUCT}:3,rank=1"]
    target = run(mlp, "mindspore-o0o1", tmp_path / "t", faults=faults)
    found = next(one for one in wb.compare(target, golden).findings if one.defect)
    assert (found.op_type, found.rank) == ("AllReduce", 0)
    assert "ranks-needed" in codes(found.evidence)


@pytest.mark.parametrize("ranks", [0, -3])
def test_a_job_has_one_rank_or_more(ranks, mlp, tmp_path):
    with refused("graph/integer", GraphError, subject="ranks", least=1, got=ranks):
        load_graph("mlp_train", 0, ranks)
    with refused("graph/integer", GraphError, subject="ranks", least=1, got=ranks):
        run(mlp, "torchair", tmp_path / "t", ranks=ranks)


@pytest.mark.parametrize("surface", nightly(LAID_OUT, ("mindspore-o0o1", "torchair")))
def test_a_type_of_the_network_plants_a_fault_whatever_the_graph_engine_calls_it(
    surface, mlp, tmp_path
):
    golden = run(mlp, surface, tmp_path / "golden")
    target = run(mlp, surface, tmp_path / "target", faults=["scaled-output:AllReduce:3,rank=1"])
    found = wb.compare(target, golden)
    assert found.verdict == "fail"
    first = next(one for one in found.findings if one.defect)
    assert first.op_name == "Default/grad_reducer-DistributedGradReducer/AllReduce-op0"
    assert first.rank == 1


def test_more_ranks_than_a_machine_runs_are_refused_at_once(mlp, tmp_path):
    with refused("simulation/ranks-limit", GraphError, limit=256, got=99999):
        run(mlp, "mindspore-o0o1", tmp_path / "out", ranks=99999)
    with refused("simulation/ranks-limit", GraphError, limit=256, got=99999):
        wb.preview(wb.config.new("mindspore-o0o1"), mlp, ranks=99999)


def test_a_rank_or_iteration_that_no_dump_has_is_said(mlp, tmp_path):
    tree = run(mlp, "mindspore-o0o1", tmp_path / "out")
    found = wb.compare(tree, tree, rank=7)
    assert found.verdict == "inconclusive"
    (said,) = clauses(found.result)
    absent = Message("compare/absent", what="rank", number=7, known=(0, 1))
    check_said(said, "compare/nothing", why=absent)
    found = wb.compare(tree, tree, iteration=(0, 2))
    (said,) = clauses(found.result)
    values = {"what": "iteration", "number": 2, "side": "golden", "known": (0,)}
    check_said(said, "compare/nothing", why=Message("compare/absent-side", **values))
    for wrong in ("0:2", -1, True, (1, 2, 3), (0, None)):
        with refused("session/chosen", wb.AlignError, name="iteration", got=wrong):
            wb.compare(tree, tree, iteration=wrong)
