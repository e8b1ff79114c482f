"""Two ranks of one data-parallel job, held against each other: batches differ, weights must not."""

from dataclasses import replace

import numpy as np
import pytest

import workbench as wb
from kit.cases import nightly
from kit.evidence import clauses, defects, the
from kit.words import check_said
from workbench import nn
from workbench.comparison.follow.ranks import OWN_BATCH
from workbench.core.plan import Iterations
from workbench.network.models import MLP, TRAININGS, load_graph
from workbench.network.nn import functional as F

ROWS = "compare/own-batch-rows"

HEAD = "Default/network-WithLossCell/_backbone-MLP/head-Dense/MatMul-op0"
SUM = "Default/grad_reducer-DistributedGradReducer/AllReduce-op1"
UPDATE = "Default/optimizer-SGD/SGD-op2"


def job(out, graph=None, *, surface="mindspore-o0o1", feeds=None, ranks=2, iterations=1, faults=()):
    """A job on an NPU (or what the surface is of); every iteration is dumped."""
    plan = replace(wb.config.new(surface).plan(), iterations=Iterations(((0, iterations - 1),)))
    device = "reference" if surface == "mindspore-cpu" else "a2"
    options = {"ranks": ranks, "iterations": iterations, "faults": faults, "surface": surface}
    graph = graph or load_graph("mlp_train", 0, ranks)
    return wb.simulate(graph, feeds, plan, out, device=device, **options)


@pytest.mark.parametrize("surface", ["mindspore-o0o1", "mindspore-cpu", "mindspore-o2", "torchair"])
def test_batches_differ_and_all_behind_the_allreduce_is_equal(surface, tmp_path):
    tree = job(tmp_path / "a", surface=surface, iterations=2)
    comparison = wb.compare(tree, tree, rank=(0, 1))
    assert comparison.verdict == "pass"
    assert not defects(comparison)
    alike = [r for r in comparison.rows if r.match_rule and r.status != "uncomparable"]
    assert {row.status for row in alike} == {"equal"}
    own = {(r.op_type, r.io) for r in comparison.rows if r.reason == OWN_BATCH}
    sums = (
        "AllReduce" if surface.startswith("mindspore-o0") or "cpu" in surface else "HcomAllReduce"
    )
    assert (sums, "input") in own
    assert (sums, "output") not in own
    assert any(row.op_type == sums and row.io == "output" for row in alike)
    (told,) = [one for one in comparison.findings if one.evidence[-1].code == ROWS]
    assert told.kind == "info"
    batches = ("compare/own-batches", "compare/own-batches-fed")
    check_said(told.evidence[0], batches, target=0, golden=1)
    counts = clauses(comparison.result)[0].values["counts"]
    the(counts, "own-batch-rows", count=len(own_rows(comparison)))


def own_rows(comparison):
    return [row for row in comparison.rows if row.reason == OWN_BATCH]


def test_trees_of_two_ranks_are_of_one_job(tmp_path):
    tree = job(tmp_path / "a")
    comparison = wb.compare(tree / "rank_0", tree / "rank_1")
    assert comparison.verdict == "pass"
    assert own_rows(comparison)


@pytest.mark.parametrize("factor", [1, 1.5])
def test_without_graphs_the_order_of_time_tells_where_the_ranks_meet(factor, tmp_path):
    faults = [f"scaled-output:{SUM}:{factor},rank=1"] if factor > 1 else []
    tree = job(tmp_path / "a", surface="torchair", faults=faults)
    one, other = (tree / f"worldsize2_global_rank{rank}" for rank in (0, 1))
    comparison = wb.compare(one, other)
    assert own_rows(comparison)
    found = [(one.kind, one.op_type) for one in defects(comparison)]
    assert found == ([("own-error", "HcomAllReduce")] if faults else [])


@pytest.mark.parametrize("pair", [(0, 1), (1, 0)])
def test_a_weight_that_only_one_rank_holds_is_named(pair, tmp_path):
    tree = job(tmp_path / "a", faults=[f"wrong-weight-element:{HEAD}:3,rank=1"])
    (found,) = defects(wb.compare(tree, tree, rank=pair))
    assert (found.kind, found.op_name, found.iteration) == ("parameter", HEAD, 0)
    check_said(found.evidence[0], "compare/given", name="head.weight")


def test_a_third_rank_says_which_of_two_is_wrong(tmp_path):
    tree = job(tmp_path / "a", ranks=3, faults=[f"wrong-weight-element:{HEAD}:3,rank=2"])
    (found,) = defects(wb.compare(tree, tree, rank=(0, 2)))
    assert (found.kind, found.op_name, found.rank) == ("parameter", HEAD, 2)
    apart = {"ranks": (2,), "others": (0, 1), "name": "head.weight", "iteration": 0}
    the(found.evidence, "rank-apart-from", **apart)


@pytest.mark.parametrize("split", [False, True])
def test_a_sum_that_only_one_rank_got_is_named(split, tmp_path):
    tree = job(tmp_path / "a", faults=[f"scaled-output:{SUM}:1.5,rank=1"])
    two = (tree / "rank_0", tree / "rank_1") if split else (tree, tree)
    comparison = wb.compare(*two, rank=None if split else (0, 1))
    (found,) = defects(comparison)
    assert (found.kind, found.op_name, found.op_type) == ("rank", SUM, "AllReduce")
    said = the(found.evidence, "ranks-apart", ranks=(0, 1))
    check_said(said.values["name"], "compare/output-of", slot=0)
    assert said in clauses(comparison.result)


def test_an_optimizer_that_fails_on_one_rank_in_one_iteration_is_named(tmp_path):
    faults = [f"scaled-output:{UPDATE}:1.5,rank=1,iteration=1"]
    tree = job(tmp_path / "a", ranks=3, iterations=3, faults=faults)
    (found,) = defects(wb.compare(tree, tree, rank=(0, 1)))
    assert (found.kind, found.op_name, found.iteration, found.rank) == ("rank", UPDATE, 1, 1)
    apart = {"ranks": (1,), "others": (0, 2), "name": "body.1.bias", "iteration": 1}
    the(found.evidence, "rank-apart-from", **apart)


class Normalized(nn.Cell):
    """A small network with statistics of batches."""

    def __init__(self):
        self.norm = nn.BatchNorm2d(3)
        self.flatten, self.head = nn.Flatten(), nn.Dense(48, 2)

    def construct(self, x):
        return self.head(self.flatten(self.norm(x)))


def normalized():
    """Its training by two ranks, and a batch for each."""
    draw = np.random.default_rng(0)
    batches = [
        (draw.standard_normal((8, 3, 4, 4), np.float32), np.zeros((8, 2), np.float32))
        for _ in range(2)
    ]
    with nn.data_parallel(2):
        cell = nn.WithLossCell(Normalized(), nn.MSELoss())
        step = nn.TrainOneStepCell(cell, nn.SGD(cell.trainable_params(), 0.01)).set_train()
        graph = wb.trace(step, *batches[0])
    names = [one.name for one in graph.parameters if not one.is_weight]
    return graph, [dict(zip(names, batch, strict=True)) for batch in batches]


def of_network(network):
    """Graph and feeds of a network with statistics of batches; the large one has its own feeds."""
    return normalized() if network == "Normalized" else (load_graph("resnet_train", 0, 2), None)


NORMALIZING = {
    "Normalized": "Default/network-WithLossCell/_backbone-Normalized/norm-BatchNorm2d/BatchNorm-op0",
    "ResNet": "Default/network-WithLossCell/_backbone-ResNet/bn1-BatchNorm/BatchNorm-op0",
}
"""Network → an operator with statistics of batches; the large one is for the nightly run."""


@pytest.mark.parametrize("network", nightly([*NORMALIZING], ["Normalized"]))
def test_a_setting_that_one_rank_has_is_named_though_its_data_are_its_own(network, tmp_path):
    name = NORMALIZING[network]
    faults = [f"wrong-attribute:{name}:epsilon=0.1,rank=1"]
    graph, feeds = of_network(network)
    tree = job(tmp_path / "a", graph, feeds=feeds, faults=faults)
    found = defects(wb.compare(tree, tree, rank=(0, 1)))[0]
    assert (found.kind, found.op_name) == ("attribute", name)


def test_weights_whose_gradients_were_never_summed_are_named(tmp_path):
    class Unsummed(nn.Cell):
        def __init__(self):
            cell = nn.WithLossCell(MLP(), nn.SoftmaxCrossEntropyWithLogits(sparse=True))
            self.step = nn.TrainOneStepCell(cell, nn.SGD(cell.trainable_params(), 0.1))

        def construct(self, x, label):
            return F.all_reduce(self.step(x, label))

    batches = [TRAININGS["mlp_train"][1](0, rank) for rank in (0, 1)]
    graph = wb.trace(Unsummed().set_train(), *batches[0])
    names = [p.name for p in graph.parameters if not p.is_weight]
    feeds = [dict(zip(names, batch, strict=True)) for batch in batches]
    tree = job(tmp_path / "a", graph, feeds=feeds)
    found = defects(wb.compare(tree, tree, rank=(0, 1)))[0]
    assert (found.kind, found.op_type) == ("rank", "SGD")


@pytest.mark.parametrize("network", nightly([*NORMALIZING], ["Normalized"]))
def test_moving_statistics_are_those_of_a_ranks_own_batches(network, tmp_path):
    graph, feeds = of_network(network)
    tree = job(tmp_path / "a", graph, feeds=feeds, iterations=2)
    comparison = wb.compare(tree, tree, rank=(0, 1))
    moving = [
        one for one in own_rows(comparison) if "moving" in one.op_name or "BatchNorm" in one.op_type
    ]
    assert moving
    assert not defects(comparison)
    assert comparison.verdict == "pass"


def test_ranks_that_were_fed_alike_are_judged_from_the_first_operator_on(tmp_path):
    graph = load_graph("mlp_train", 0, 2)
    tree = job(
        tmp_path / "a", graph, feeds=[graph.batches(0)] * 2,
        faults=[f"scaled-output:{HEAD}:1.5,rank=1"],
    )  # fmt: skip
    comparison = wb.compare(tree, tree, rank=(1, 0))
    found = defects(comparison)[0]
    assert (found.kind, found.op_name) == ("own-error", HEAD)
    assert not own_rows(comparison)


def test_an_operator_that_does_not_do_what_it_must_is_told_though_its_batch_is_its_own(tmp_path):
    tree = job(tmp_path / "a", faults=[f"scaled-output:{HEAD}:1.5,rank=1"])
    comparison = wb.compare(tree, tree, rank=(1, 0))
    found = defects(comparison)
    assert [(one.kind, one.op_name) for one in found] == [("own-error", HEAD)]
    assert own_rows(comparison)


def test_nan_on_one_rank_alone_is_told(tmp_path):
    tree = job(tmp_path / "a", faults=[f"nan-output:{HEAD}:rank=1"])
    comparison = wb.compare(tree, tree, rank=(1, 0))
    found = defects(comparison)[0]
    assert (found.kind, found.op_name) == ("non-finite", HEAD)


def test_ranks_of_two_jobs_are_told_to_be_compared_with_their_own_kind(tmp_path):
    golden = job(tmp_path / "g", surface="mindspore-cpu")
    found = defects(wb.compare(job(tmp_path / "t"), golden, rank=(1, 0)))[0]
    assert found.kind == "input"
    the(found.evidence, "two-jobs", target=1, golden=0)


def test_ranks_whose_dumps_end_before_they_meet_cannot_be_compared(tmp_path):
    graph = load_graph("mlp_train", 0, 2)
    plan = (
        wb.config.new("mindspore-o0o1")
        .set("common_dump_settings.kernels", [HEAD])
        .set("common_dump_settings.dump_mode", 1)
    )
    tree = wb.simulate(graph, None, plan, tmp_path / "a", device="a2", ranks=2)
    comparison = wb.compare(tree, tree, rank=(0, 1))
    assert not defects(comparison)
    assert all(np.isfinite(r.error) for r in own_rows(comparison))
    assert own_rows(comparison)
