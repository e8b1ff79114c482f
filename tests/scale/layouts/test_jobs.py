"""Jobs that share a network: joined they are the network in one piece, and faults of ranks and links are named."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import workbench as wb
from kit.cases import nightly
from kit.words import refused
from workbench.comparison.finding_kinds import KINDS
from workbench.core.errors import GraphError
from workbench.core.plan import DumpPlan
from workbench.dump.reader import load
from workbench.graph.control_flow import ControlFlow
from workbench.graph.graph import Op
from workbench.network.models import load_graph
from workbench.run.parallel import Parallel
from workbench.run.ranks import group_of
from workbench.scale.layouts import (
    find_on_ranks,
    job_of,
    join_one,
    join_pairs,
    joined_dump,
    layouts_of,
    not_joined,
    parse_layouts,
    tell_layouts,
)
from workbench.scale.layouts.placing import place
from workbench.scale.layouts.replicas import relative_distance
from workbench.simulation.simulate import simulate
from workbench.simulation.split import split_network

GRAPH = load_graph("transformer_train")
PLAN = DumpPlan("/dump")
NOISE = "key_bias"
"""Gradients of keys' biases are zero but for rounding: softmax does not see what all scores share."""

LAYER = "Default/network-WithLossCell/_backbone-Transformer/layer1-EncoderLayer"
OUT = f"{LAYER}/attention-Attention/output-Dense"


@pytest.fixture(scope="session")
def trees(tmp_path_factory):
    """A tree for each job, written once: `trees(sizes, faults, device)` gives its dump and its layouts."""
    root: Path = tmp_path_factory.mktemp("jobs")
    written: dict[tuple, tuple] = {}

    def tree(sizes="", *faults, device="reference", iterations=1):
        asked = (sizes, faults, device, iterations)
        if asked not in written:
            out = root / str(len(written))
            simulate(
                GRAPH, None, PLAN, out, device=device, faults=faults, iterations=iterations,
                parallel=sizes or None, surface="mindspore-cpu" if device == "reference" else "mindspore-o0o1",
            )  # fmt: skip
            text = split_network(GRAPH, Parallel.of(sizes)).layouts_text() if sizes else ""
            written[asked] = load(out), parse_layouts(text) if text else layouts_of({})
        return written[asked]

    return tree


def noisy(key):
    return NOISE in key.op_name.replace("key-Dense_Grad_BiasAdd", NOISE) or "Adam-op" in key.op_name


IN_PIECES = [
    "tp=4", "pp=4", "cp=2:zigzag", "tp=2,pp=2,dp=2", "cp=2", "cp=3", "tp=2,sp=2", "tp=2,cp=2",
    "dp=2:zero", "tp=2,sp=2,cp=2:zigzag,pp=2,dp=2:zero",
]  # fmt: skip


@pytest.mark.parametrize("sizes", nightly(IN_PIECES, IN_PIECES[:3]))
def test_a_job_in_pieces_is_the_network_in_one(trees, sizes):
    target, golden = job_of(*trees(sizes)), job_of(*trees())
    pairs = list(join_pairs(target, golden))
    assert len(pairs) > 1100
    apart = {}
    for pair in pairs:
        if pair.target.array is None:
            assert pair.key in not_joined(target)
            continue
        assert not pair.target.findings, (pair.key, list(map(str, pair.target.findings)))
        if not noisy(pair.key) and not is_own_shape(pair.key):
            off = relative_distance(pair.target.array, pair.golden.array)
            if off > 1e-4:
                apart[pair.key] = off
    assert not apart
    assert all(pair.target.array is not None for pair in pairs)
    assert {key for key in golden.tensors if key not in target.tensors} == set()


def is_own_shape(key):
    """The shape that a rank's part is given."""
    return key.op_type == "BroadcastTo" and (key.io, key.slot) == ("input", 1)


@pytest.mark.parametrize("sizes", nightly(["cp=2:zigzag", "cp=2", "dp=2"], ["cp=2:zigzag"]))
def test_what_adds_nothing_up_in_another_order_is_joined_to_the_bit(trees, sizes):
    """Rows of tokens are computed alike wherever they are, up to the mean over the sequence or the batch."""
    target, golden = job_of(*trees(sizes)), job_of(*trees())
    layers = [
        key
        for key in golden.tensors
        if key.op_name.startswith("Default_network") and "-EncoderLayer" in key.op_name
    ]
    assert len(layers) > 150
    for pair in join_pairs(target, golden, layers):
        np.testing.assert_array_equal(pair.target.array, pair.golden.array, str(pair.key))


def test_weights_that_nobody_has_updated_are_joined_to_the_bit(trees):
    target = job_of(*trees("tp=2,pp=2,dp=2"))
    weights = {one.name.replace(".", "_"): one.default for one in GRAPH.parameters if one.is_weight}
    first = [
        key
        for key in target.tensors
        if key.op_type == "MatMul" and key.io == "input" and key.slot == 1
    ]
    found = [join_one(target, key).array for key in first if key.iteration == 0]
    flat = {array.tobytes() for array in weights.values() if array is not None and array.ndim == 2}
    assert sum(array.tobytes() in flat for array in found if array is not None) >= 13


PAIRS = [
    ("tp=4", "tp=2"), ("pp=4", ""), ("tp=2,pp=2,dp=2", "tp=4"),
]  # fmt: skip


@pytest.mark.parametrize(("one", "other"), nightly(PAIRS, PAIRS[1:2]))
def test_two_layouts_of_one_training_compare_clean(trees, one, other):
    target, golden = (job_of(*trees(sizes)) for sizes in (one, other))
    whole = joined_dump(golden) if other else trees()[0]
    found = wb.compare(joined_dump(target), whole)
    assert found.verdict != "fail", str(found)
    assert not [finding for finding in found.findings if KINDS[finding.kind].defect]


FAULTS = [
    ("tp=4", "tp=2", f"scaled-output:{LAYER}/dense1-Dense/MatMul-op0:1.5,rank=2", "dense1-Dense_MatMul-op0"),
    ("pp=4", "", "scaled-output:*layer2-EncoderLayer/gelu-GELU/GeLU-op0:1.5,rank=2", "gelu-GELU_GeLU-op0"),
    ("tp=2,pp=2,dp=2", "tp=4", f"wrong-sign:{LAYER}/attention-Attention/Softmax-op0:rank=0", "Softmax-op0"),
]  # fmt: skip


@pytest.mark.parametrize(("one", "other", "fault", "operator"), nightly(FAULTS, FAULTS[1:2]))
def test_a_fault_of_one_rank_is_found_between_two_layouts(trees, one, other, fault, operator):
    target = job_of(*trees(one, fault, device="a2"))
    golden = joined_dump(job_of(*trees(other))) if other else trees()[0]
    found = wb.compare(joined_dump(target), golden)
    assert found.verdict == "fail"
    assert operator in str(found).replace("/", "_")


def first_on_ranks(trees, sizes, fault, iterations=2):
    target = job_of(*trees(sizes, fault, iterations=iterations))
    golden = job_of(*trees(iterations=iterations))
    return next(iter(find_on_ranks(target, golden)), (None, None))


def test_a_missing_all_reduce_is_named(trees):
    key, finding = first_on_ranks(trees, "tp=4", f"skipped-collective:{OUT}/AllReduce-op0", 1)
    assert (finding.code, finding.values["axis"]) == ("never-reduced", "tp")
    assert (key.iteration, key.io) == (0, "output")
    assert key.op_name.endswith("output-Dense_AllReduce-op0")


@pytest.mark.exhaustive  # every run finds one in a small job: test_joined_jobs.py
def test_a_stale_link_is_named_with_its_rank(trees):
    fault = f"stale-collective:{OUT}/AllReduce-op0:rank=2,since=1"
    key, finding = first_on_ranks(trees, "tp=4", fault)
    assert (finding.code, finding.ranks, finding.values["axis"]) == ("replica-stale", (2,), "tp")
    assert (key.iteration, key.io, key.op_name.endswith("output-Dense_AllReduce-op0")) == (
        1,
        "output",
        True,
    )


def test_a_garbled_link_is_named_with_its_rank(trees):
    fault = f"garbled-collective:{OUT}/AllReduce-op0:rank=3,iteration=1"
    key, finding = first_on_ranks(trees, "tp=4", fault)
    assert (finding.code, finding.ranks, finding.values["count"]) == ("replica-differs", (3,), 1)
    assert key.iteration == 1


@pytest.mark.exhaustive  # sixteen ranks
def test_a_node_has_a_fault_on_all_of_its_ranks(trees):
    fault = "scaled-output:*layer2-EncoderLayer/gelu-GELU/GeLU-op0:1.5,node=1"
    clean, broken = (
        trees("dp=16", *faults, device="a2", iterations=1)[0] for faults in ((), (fault,))
    )
    held = [{}, {}]
    for values, dump in zip(held, (clean, broken), strict=True):
        for record in dump.records:
            key = record.key
            if (
                key.op_name.endswith("layer2-EncoderLayer_gelu-GELU_GeLU-op0")
                and key.io == "output"
            ):
                values[key.rank] = record.source.array()
    assert [np.array_equal(held[0][rank], held[1][rank]) for rank in range(16)] == [True] * 8 + [
        False
    ] * 8


def test_layouts_are_told_from_the_dumps(trees):
    (dump, truth), golden = trees("tp=2,pp=2,dp=2"), job_of(*trees())
    table = tell_layouts(job_of(dump, None, truth.parallel), golden)
    right = wrong = silent = 0
    for key, one in job_of(dump, truth).tensors.items():
        if key.iteration or key not in golden.tensors or one.row is None:
            continue
        told = table.of(key)
        if told is None:
            silent += 1
        elif said(told.layout, truth.parallel) == said(one.row.layout, truth.parallel):
            right += 1
        else:
            wrong += 1
    assert (wrong, right > 1200, silent < 30) == (0, True, True)
    assert {row.trust for row in table.rows} == {"inferred"}


def said(layout, parallel):
    """What a layout says of every axis; parts of a sum have no dimension."""
    return {
        (axis, cut.partial or number, cut.order)
        for number, axis, cut in place(layout, parallel).cuts
    }


def test_the_tree_of_a_job_is_the_same_again(tmp_path):
    graph, trees = load_graph("mlp_train"), []
    for name in ("one", "two"):
        out = simulate(graph, None, PLAN, tmp_path / name, parallel="tp=2,pp=2")
        trees.append(
            {p.relative_to(out): p.read_bytes() for p in sorted(out.rglob("*")) if p.is_file()}
        )
    assert trees[0] == trees[1]


REFUSED = [
    ({"parallel": "dp=2,ep=2"}, "simulation/split-axis", {"got": "ep"}),
    ({"parallel": "cp=5"}, "simulation/split-size", {"axis": "cp", "ranks": 5, "got": 12}),
    ({"parallel": "cp=4:zigzag"}, "simulation/split-zigzag", {"axis": "cp", "ranks": 4, "got": 12}),
    ({"parallel": "sp=2"}, "simulation/split-sp", {"got": 2}),
    ({"parallel": "tp=8"}, "simulation/split-operator", {"axis": "tp"}),
    ({"parallel": "tp=3"}, "simulation/split-size", {"axis": "tp", "ranks": 3}),
    ({"parallel": "pp=5"}, "simulation/split-stages", {"most": 4, "got": 5}),
    ({"parallel": "tp=2", "ranks": 3}, "simulation/split-ranks", {"need": 2, "got": 3}),
    ({"faults": ["stale-collective:*"]}, "run/fault-no-collective", {"got": "*"}),
    ({"parallel": "tp=2", "faults": ["stale-collective:*Softmax*"]}, "run/fault-no-collective", {}),
    ({"parallel": "tp=2", "faults": ["stale-collective:*:node=1"]}, "simulation/fault-node", {"got": 1}),
    ({"parallel": "tp=2", "faults": ["stale-collective:*:since=3"]}, "simulation/fault-iteration", {"got": 3}),
]  # fmt: skip


@pytest.mark.parametrize(("options", "code", "values"), REFUSED)
def test_jobs_that_cannot_be_are_refused(tmp_path, options, code, values):
    with refused(code, GraphError, **values):
        simulate(GRAPH, None, PLAN, tmp_path / "out", **options)
    assert not (tmp_path / "out").exists()


def test_several_networks_and_control_flow_are_not_cut(tmp_path):
    with refused("simulation/split-several", GraphError):
        simulate([GRAPH, GRAPH], None, PLAN, tmp_path / "out", parallel="tp=2")
    with refused("simulation/split-sequence", GraphError, got="mlp_train"):
        split_network(load_graph("mlp_train"), Parallel(cp=2))
    with refused("simulation/split-operator", GraphError, axis="dp"):
        split_network(load_graph("resnet_train"), Parallel(dp=2))
    flow = ControlFlow("loop", (), (), (), ())
    with refused("simulation/split-flow", GraphError, got="loop"):
        split_network(flow, Parallel(dp=2))


def test_a_group_that_is_no_ranks_is_refused():
    with refused("run/group-ranks", GraphError, got="0-a"):
        group_of(Op("a", "AllReduce", attrs={"group_ranks": "0-a"}))


def test_other_networks_are_cut_by_data_alone(tmp_path):
    graph = load_graph("mlp_train")
    out = simulate(graph, None, PLAN, tmp_path / "out", parallel="dp=2")
    whole = simulate(graph, None, PLAN, tmp_path / "whole")
    target = job_of(load(out), parse_layouts(split_network(graph, Parallel(dp=2)).layouts_text()))
    golden = job_of(load(whole))
    pairs = [pair for pair in join_pairs(target, golden) if pair.target.array is not None]
    assert len(pairs) > 80
    assert max(relative_distance(pair.target.array, pair.golden.array) for pair in pairs) < 1e-4
