"""Scaled losses: small gradients of float16 survive, overflow skips the step, and both show in the dumps."""

from __future__ import annotations

import numpy as np
import pytest

import workbench as wb
from kit.cases import each_once, nightly
from kit.evidence import clauses, defects, diverges
from kit.words import check_said, refused
from workbench import nn
from workbench.comparison.finding_kinds import KINDS
from workbench.comparison.follow.overflow import OVERFLOWED
from workbench.config import new
from workbench.core.errors import GraphError
from workbench.forecast.preview import preview
from workbench.network.models import MLP, TRAININGS
from workbench.network.nn import functional as F
from workbench.network.symbolic import record
from workbench.network.tracer import trace, trace_batches

CAST = "Gradients/Default/network-WithLossCell/_loss_fn-Loss/Grad_Cast/Cast-op0"
FLAG = "Default/AllFinite-op0"


class Loss(nn.Cell):
    """Cross entropy in float32, times a factor."""

    def __init__(self, factor):
        self.factor = factor
        self.entropy = nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")

    def construct(self, x, labels):
        return self.entropy(x.astype("float32"), labels) * self.factor


def training(manager, dtype="float16", factor=1.0):
    network = MLP().to_float(dtype)
    optimizer = nn.Momentum(network.trainable_params(), 0.05 / factor, 0.9)
    cell = nn.WithLossCell(network, Loss(factor))
    step = nn.TrainOneStepWithLossScaleCell(cell, optimizer, manager).set_train()
    batch = TRAININGS["mlp_train"][1]
    return trace_batches(step, lambda iteration: batch(0, iteration))


def dumped(tmp_path, graph, device="reference", surface="mindspore-cpu", iterations=1):
    out = tmp_path / f"{device}{iterations}{len(list(tmp_path.iterdir()))}"
    form = new(surface).set("common_dump_settings.iteration", "all")
    wb.simulate(graph, None, form, out, device=device, surface=surface, iterations=iterations)
    return out


def scales(tree):
    """Scale that every step leaves."""
    return {
        record.key.iteration: float(record.source.array())
        for record in wb.load(tree).records
        if (record.key.op_type, record.key.io, record.key.slot) == ("Assign", "output", 0)
        and record.source.array().dtype == np.float32
    }


def steps_of(tree, op_type):
    return {r.key.iteration for r in wb.load(tree).records if r.key.op_type == op_type}


HALVED = [
    ("reference", "mindspore-cpu"),
    ("a2", "mindspore-o0o1"),
    ("910a", "mindspore-o0o1"),
    ("310p", "mindspore-o2"),
    ("950", "mindspore-o2"),
]
"""Device and surface; 310P tells an overflow as 910A does, 950 as A2, which other tests here have every day."""


@pytest.mark.parametrize(
    ("device", "surface"), nightly(HALVED, [row for row in HALVED if row[0] not in ("910a", "950")])
)
def test_a_scale_that_is_too_large_is_halved_and_its_steps_are_skipped(tmp_path, device, surface):
    manager = nn.DynamicLossScaleUpdateCell(2.0**20, 2, 2)
    tree = dumped(tmp_path, training(manager), device, surface, iterations=8)
    left, updated = scales(tree), steps_of(tree, "ApplyMomentum")
    assert 0 not in updated
    assert len(updated) >= 3
    scale, good = 2.0**20, 0
    for step in range(8):  # the rule: half after an overflow, twice after two steps without
        good = good + 1 if step in updated else 0
        scale = scale / 2 if not good else scale
        if good == 2:
            scale, good = scale * 2, 0
        assert left[step] == scale, step
    assert steps_of(tree, "AssignAdd") == updated
    saturates = device in ("910a", "310p")
    assert bool(steps_of(tree, "NPUGetFloatStatusV2")) is saturates
    assert bool(steps_of(tree, "AllFinite")) is not saturates


def test_a_skipped_step_leaves_weights_and_step_as_they_were(tmp_path):
    tree = dumped(tmp_path, training(nn.FixedLossScaleUpdateCell(2.0**24)), iterations=1)
    graph = training(nn.FixedLossScaleUpdateCell(2.0**24))
    before = {one.name.replace(".", "_"): one.default for one in graph.parameters if one.is_weight}
    left = {
        record.key.op_name: record.source.array()
        for record in wb.load(tree).records
        if record.key.op_type == "Parameter"
    }
    assert {"scale_sense", "head_weight"} <= left.keys()
    assert (
        "global_step" not in left
    )  # only the optimizer reads it, in a graph that did not begin the step
    for name, value in left.items():
        if name in before:
            np.testing.assert_array_equal(value, before[name], err_msg=name)


def test_mindspore_runs_the_optimizer_in_a_graph_of_its_own(tmp_path):
    good, bad = (training(nn.FixedLossScaleUpdateCell(scale)) for scale in (1.0, 2.0**24))
    kinds = []
    for graph in (good, bad):
        dump = wb.load(dumped(tmp_path, graph))
        kinds.append({r.key.op_type: r.key.graph_id for r in dump.records})
        assert [len(dump.graphs[0, number].ops) > 0 for number in range(3)] == [True, False, True]
        assert {op.op_type for op in dump.graphs[0, 2].ops} == {"AssignAdd", "ApplyMomentum"}
        assert [dump.graphs[0, number].inner for number in range(3)] == [False, True, True]
    assert kinds[0]["ApplyMomentum"] == 2
    assert "ApplyMomentum" not in kinds[1]
    assert set(kinds[1].values()) == {0}


@pytest.mark.parametrize(("device", "surface"), [("a2", "mindspore-o0o1"), ("a2", "mindspore-o2")])
def test_a_fault_in_the_optimizer_is_found_whether_its_graph_is_cut_or_not(
    tmp_path, device, surface
):
    graph = training(nn.FixedLossScaleUpdateCell(1.0))
    golden = dumped(tmp_path, graph)
    assert wb.compare(dumped(tmp_path, graph, device, surface), golden).verdict in ("pass", "warn")
    name = "Default/optimizer-Momentum/ApplyMomentum-op2"
    out, form = tmp_path / "faulty", new(surface)
    wb.simulate(
        graph, None, form, out, device=device, surface=surface, faults=[f"wrong-sign:{name}"]
    )
    found = wb.compare(out, golden)
    assert found.verdict == "fail"
    assert [one.op_name for one in defects(found)] == [name]


@pytest.mark.parametrize("device", ["a2", "910a"])
def test_small_gradients_vanish_in_float16_and_a_scale_saves_them(tmp_path, device):
    factor = 1e-7
    gradients = {}
    for scale in (1.0, 2.0**20):
        graph = training(nn.FixedLossScaleUpdateCell(scale), factor=factor)
        tree = dumped(tmp_path, graph, device, "mindspore-o0o1")
        gradients[scale] = [
            record.source.array()
            for record in wb.load(tree).records
            if (record.key.op_type, record.key.io) == ("BiasAddGrad", "output")
        ]
        if scale == 1.0:
            golden = training(nn.FixedLossScaleUpdateCell(1.0), "float32", factor)
            found = wb.compare(tree, dumped(tmp_path, golden))
            assert found.verdict == "fail"
            (defect,) = defects(found)
            assert (defect.kind, defect.op_name) == ("underflow", CAST)
            check_said(defect.evidence[0], "compare/flushed", zeros=160, size=160, golden=0)
            assert defect.advice == KINDS["underflow"].advice
            assert defect.evidence[0] in clauses(found.result)
    assert not any(np.any(array) for array in gradients[1.0])
    assert all(np.mean(array != 0) > 0.9 for array in gradients[2.0**20])


@pytest.mark.parametrize("device", ["a2", "910a"])
def test_the_comparison_names_where_a_gradient_overflows(tmp_path, device):
    def graph(dtype):
        return training(nn.DynamicLossScaleUpdateCell(2.0**24, 2, 2), dtype)

    tree = dumped(tmp_path, graph("float16"), device, "mindspore-o0o1", 3)
    found = wb.compare(tree, dumped(tmp_path, graph("float32"), iterations=3))
    assert found.verdict == "fail"
    (defect,) = defects(found)
    assert (defect.kind, defect.op_name, defect.iteration) == ("overflow", CAST, 0)
    flag = "NPUGetFloatStatusV2" if device == "910a" else "AllFinite"
    raised, skipped, *_ = defect.evidence
    check_said(raised, "compare/overflow", flag=f"{flag} Default/{flag}-op0", side="target")
    check_said(skipped, "compare/step-skipped-unchanged", unchanged=6, known=6)
    assert diverges(defect, 0, "backward")
    assert defect.advice == KINDS["overflow"].advice


def test_a_skipped_step_is_told_where_no_later_one_was_dumped(tmp_path):
    def graph(dtype):
        return training(nn.DynamicLossScaleUpdateCell(2.0**24, 2, 2), dtype)

    tree = dumped(tmp_path, graph("float16"), "a2", "mindspore-o0o1", 1)
    found = wb.compare(tree, dumped(tmp_path, graph("float32"), iterations=1))
    (defect,) = defects(found)
    assert defect.kind == "overflow"
    check_said(defect.evidence[1], "compare/step-skipped", count=7)


def test_a_preview_says_that_the_optimizer_may_be_left_out():
    graph = training(nn.FixedLossScaleUpdateCell(1.0))
    whole = preview(new("mindspore-o2"), graph)
    assert any(FLAG in str(doubt) for doubt in whole.inexact_because)
    form = new("mindspore-o0o1")
    foreseen = preview(form, graph)
    assert not foreseen.exact
    assert any(doubt.code == "dump/branches" for doubt in foreseen.inexact_because)
    own = preview(form, graph, device="910a")
    assert any("NPUGetFloatStatusV2" in name for name in own.names)
    assert not any("AllFinite" in name for name in own.names)


def test_a_check_in_a_later_graph_is_foretold_as_the_device_makes_it():
    def doubled(x):
        y = F.while_loop(lambda v: F.less(F.sum(v), 100.0), lambda v: v * 2.0, x)
        return record("AllFinite", (y.astype("float16"),))

    flow = trace(doubled, np.ones(4, np.float32))
    assert [op.op_type for op in flow.graphs[-1].ops] == ["Cast", "AllFinite"]
    told = preview(new("mindspore-o0o1"), flow, device="910a")
    assert any("NPUGetFloatStatusV2" in name for name in told.names)
    assert not any("AllFinite" in name for name in told.names)


OVERFLOWS = [
    (surface, *devices)
    for devices in (("a2", "a2"), ("a2", "910a"), ("910a", "a2"))
    for surface in ("mindspore-o0o1", "mindspore-o2")
]


@pytest.mark.parametrize(("surface", "device", "other"), nightly(OVERFLOWS, each_once(OVERFLOWS)))
def test_an_overflow_of_both_runs_is_told_and_is_no_defect(tmp_path, surface, device, other):
    graph = training(nn.DynamicLossScaleUpdateCell(2.0**24, 2, 2))
    target, golden = (dumped(tmp_path, graph, one, surface, 2) for one in (device, other))
    found = wb.compare(target, golden)
    assert found.verdict == "incomplete", found.sentence  # nobody can compare what both overflow
    assert not defects(found)
    (told,) = [one for one in found.findings if one.kind == "info"]
    assert told.op_type in ("AllFinite", "NPUGetFloatStatusV2")
    assert told.advice == KINDS["overflow"].advice
    check_said(told.evidence[0], ("compare/overflow-both", "compare/overflow-both-apart"))
    check_said(told.evidence[0].values["iterations"], "compare/iterations", numbers=[0, 1])
    assert told.evidence[0] in clauses(found.result)
    apart = [row for row in found.rows if row.status == "uncomparable" and row.match_rule]
    assert apart
    assert {row.reason for row in apart} == {OVERFLOWED}
    assert all(not row.metrics or row.metrics["NonFiniteMismatch"] for row in apart)


@pytest.mark.parametrize("name", [CAST, "Default/network-WithLossCell/_loss_fn-Loss/Mul-op0"])
def test_a_defect_in_a_step_in_which_both_overflow_is_found(tmp_path, name):
    graph = training(nn.FixedLossScaleUpdateCell(2.0**24))
    form, out = new("mindspore-o0o1"), tmp_path / "faulty"
    wb.simulate(graph, None, form, out, device="a2", faults=[f"wrong-sign:{name}"])
    found = wb.compare(out, dumped(tmp_path, graph, "a2", "mindspore-o0o1"))
    assert found.verdict == "fail"
    assert [one.op_name for one in defects(found)] == [name]


def test_a_scale_must_be_a_number_or_one_of_the_cells():
    with refused("graph/scale-sense", GraphError):
        training(np.ones(3, np.float32))
    with refused("graph/scale-sense", GraphError):
        training(MLP())


def test_a_loss_of_every_sample_is_scaled_one_by_one():
    class Every(nn.Cell):
        def __init__(self):
            self.weight = nn.Parameter(np.ones(2, np.float32))

        def construct(self, x, labels):
            return (x * self.weight - labels) * 1.0

    network = Every()
    optimizer = nn.SGD(network.trainable_params(), 0.1)
    step = nn.TrainOneStepWithLossScaleCell(network, optimizer, 8.0)
    graph = trace(step, np.float32([1, 2]), np.float32([0, 0]))
    assert {"OnesLike", "AllFinite"} <= {op.op_type for op in graph.ops}


def test_a_gradient_of_float16_is_judged_by_statistics_alone(tmp_path):
    """They count no zeros: nothing can be said of an underflow, and the defect is named all the same."""
    graph = training(nn.FixedLossScaleUpdateCell(64.0), dtype="float16")
    golden = dumped(tmp_path, graph)
    form = new("mindspore-o0o1").set("common_dump_settings.saved_data", "statistic")
    name = "Gradients/Default/network-WithLossCell/_backbone-MLP/head-Dense/Grad_MatMul/MatMul-op0"
    faults = [f"scaled-output:{name}:8"]
    tree = wb.simulate(graph, None, form, tmp_path / "target", device="a2", faults=faults)
    found = wb.compare(tree, golden)
    assert (found.findings[0].kind, found.findings[0].op_name) == ("own-error", name)
