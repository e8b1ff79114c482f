"""Networks with control flow on several ranks: where they meet, where they must not part, who is wrong."""

from dataclasses import replace

import numpy as np
import pytest

import workbench as wb
from kit.evidence import defects
from kit.words import check_said, refused
from workbench import nn
from workbench.core.errors import GraphError
from workbench.core.plan import Iterations
from workbench.network.models import MLP, TRAININGS
from workbench.network.nn import functional as F
from workbench.network.tracer import trace

X = np.linspace(0.5, 1.5, 8, dtype=np.float32).reshape(2, 4)
WEIGHTS = {
    "fc.weight": np.linspace(-0.4, 0.6, 16, dtype=np.float32).reshape(4, 4),
    "fc.bias": np.linspace(-0.1, 0.2, 4, dtype=np.float32),
}
LAYER = "Default/fc-Dense/MatMul-op0"


class Net(nn.Cell):
    """A loop whose body meets, a choice of which one way meets, and a meeting behind them: as asked."""

    def __init__(self, *places):
        self.fc = nn.Dense(4, 4)
        self.places = places

    def construct(self, n, x):
        def body(value):
            y = F.relu(self.fc(value[1]))
            return value[0] + 1, F.all_reduce(y) if "loop" in self.places else y

        def more(value):
            return F.less(value[0], n)

        x = F.while_loop(more, body, (np.int32(0), x))[1]
        if "choice" in self.places:
            x = F.cond(F.less(n, 3), lambda: F.all_reduce(x), lambda: F.relu(x))
        return F.all_reduce(x) if "behind" in self.places else F.relu(x)


def job(out, places, turns, surface="mindspore-o0o1", iterations=1, **options):
    """Two ranks, rank r with ``turns[r]`` turns of the loop and a batch of its own."""
    with nn.data_parallel(2):
        graph = trace(Net(*places), np.int32(2), X)
    feeds = [{"n": np.int32(n), "x": X * (rank + 1), **WEIGHTS} for rank, n in enumerate(turns)]
    plan = wb.config.new(surface).plan()
    plan = replace(plan, iterations=Iterations(((0, iterations - 1),)))
    device = "a2" if surface == "mindspore-o0o1" else "reference"
    options = {"surface": surface, "device": device, "iterations": iterations} | options
    return wb.simulate(graph, feeds, plan, out, ranks=2, **options)


def outputs(tree, kind):
    """Outputs of a type of operator by rank, in order of time."""
    found = {0: [], 1: []}
    for record in sorted(wb.load(tree).records, key=lambda one: one.timestamp_us):
        if record.key.op_type == kind and record.key.io == "output":
            found[record.key.rank].append(record.source.array())
    return found


@pytest.mark.parametrize("surface", ["mindspore-cpu", "mindspore-gpu", "mindspore-o0o1"])
def test_every_turn_of_a_loop_meets(surface, tmp_path):
    tree = job(tmp_path / "a", ["loop"], (3, 3), surface)
    weight, bias = (value.astype(np.float64) for value in WEIGHTS.values())
    now = [X.astype(np.float64), X.astype(np.float64) * 2]
    for one, other in zip(*outputs(tree, "AllReduce").values(), strict=True):
        total = sum(np.maximum(each @ weight.T + bias, 0) for each in now)
        np.testing.assert_allclose(one, total, rtol=5e-3, atol=1e-4)
        np.testing.assert_array_equal(one, other)
        now = [total, total]
    assert len(outputs(tree, "AllReduce")[0]) == 3


def test_ranks_may_take_turns_of_their_own_where_they_do_not_meet(tmp_path):
    tree = job(tmp_path / "a", ["behind"], (1, 3))
    assert [len(found) for found in outputs(tree, "MatMul").values()] == [1, 3]
    one, other = outputs(tree, "AllReduce").values()
    np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(
    ("places", "turns", "iterations"),
    [
        (["loop"], (1, 3), 1),
        (["loop"], (3, 1), 1),
        (["loop"], (1, 3), 2),
        (["loop", "behind"], (1, 3), 1),
        (["choice"], (2, 3), 1),
        (["choice", "behind"], (3, 2), 1),
    ],
)
@pytest.mark.parametrize("surface", ["mindspore-cpu", "mindspore-o0o1"])
def test_ranks_that_part_where_they_must_meet_are_refused(
    places, turns, iterations, surface, tmp_path
):
    with refused(("run/rank-lost", "run/ranks-apart"), GraphError):
        job(tmp_path / "a", places, turns, surface, iterations)


def test_a_clean_job_agrees_with_the_reference_and_rank_with_rank(tmp_path):
    places = ["loop", "behind"]
    golden = job(tmp_path / "g", places, (2, 2), "mindspore-cpu", 2)
    target = job(tmp_path / "t", places, (2, 2), iterations=2)
    for comparison in (wb.compare(target, golden), wb.compare(target, target, rank=(0, 1))):
        assert not defects(comparison), comparison.sentence


def test_a_fault_of_one_rank_in_one_iteration_is_found_in_its_graph(tmp_path):
    places = ["loop", "behind"]
    golden = job(tmp_path / "g", places, (2, 2), "mindspore-cpu", 2)
    faults = [f"scaled-output:{LAYER}:2,rank=1,iteration=1"]
    target = job(tmp_path / "t", places, (2, 2), iterations=2, faults=faults)
    comparison = wb.compare(target, golden)
    found = defects(comparison)
    assert [(f.op_name, f.rank, f.iteration) for f in found] == [(LAYER, 1, 1)]
    assert comparison.to_json()["findings"][0]["rank"] == 1


def test_a_sum_that_one_rank_alone_got_in_a_loop_is_named(tmp_path):
    name = "Default/AllReduce-op0"
    tree = job(tmp_path / "a", ["loop"], (2, 2), faults=[f"scaled-output:{name}:2,rank=1"])
    found = [one for one in wb.compare(tree, tree, rank=(0, 1)).findings if one.defect]
    assert [(one.kind, one.op_name) for one in found] == [("rank", name)]


def test_an_optimizer_in_a_graph_of_its_own_is_named_on_its_rank(tmp_path):
    def network():
        cell = nn.WithLossCell(MLP(), nn.SoftmaxCrossEntropyWithLogits(sparse=True))
        step = nn.SGD(cell.trainable_params(), 0.1)
        return nn.TrainOneStepWithLossScaleCell(cell, step, nn.FixedLossScaleUpdateCell(8.0))

    batches = [TRAININGS["mlp_train"][1](0, rank) for rank in range(3)]
    with nn.data_parallel(3):
        graph = trace(network().set_train(), *batches[0])
    names = [one.name for one in graph.parameters if not one.is_weight]
    feeds = [dict(zip(names, batch, strict=True)) for batch in batches]
    update = "Default/optimizer-SGD/SGD-op1"
    tree = wb.simulate(
        graph, feeds, wb.config.new("mindspore-o0o1"), tmp_path / "a", device="a2", ranks=3,
        faults=[f"scaled-output:{update}:1.5,rank=1"],
    )  # fmt: skip
    found = [one for one in wb.compare(tree, tree, rank=(0, 1)).findings if one.defect]
    assert [(one.kind, one.op_name, one.rank) for one in found] == [("rank", update, 1)]
    apart = {"ranks": (1,), "others": (0, 2)}
    check_said(found[0].evidence[0], "compare/rank-apart-from", **apart)
