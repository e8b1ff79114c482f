"""Jobs whose ranks share sequences and weights, by the command: clean they agree with one rank, and one fault is named.

Two ranks of context parallelism with something wrong run every day (`layouts/test_jobs.py` joins healthy ones to the
bit, `test_joined_jobs.py` compares such a job), sequence parallelism and the rest at night.
"""

from __future__ import annotations

import pytest

from kit.build.shared_jobs import check_job, compare_job, simulate_job
from kit.cases import nightly
from workbench.network.models import load_graph
from workbench.run.parallel import Parallel
from workbench.simulation.split import split_network

LAYER = "Default/network-WithLossCell/_backbone-Transformer/layer1-EncoderLayer"
ATTENTION = f"{LAYER}/attention-Attention"
SCORES = f"{ATTENTION}/BatchMatMul-op0"
NORM = f"{LAYER}/norm1-Norm/LayerNorm-op0"
ADAM = "Default/optimizer-Adam/Adam-op2"
REDUCER = "Default/grad_reducer-DistributedGradReducer"


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The tree of one rank."""
    return simulate_job("transformer_train", tmp_path_factory.mktemp("sequences") / "whole")


CASES = {
    "zigzag": ("cp=2:zigzag", "", "", 0, None, None),
    "scores of one rank": (
        "cp=2:zigzag", f"scaled-output:{SCORES}:1.5,rank=1", "", 1, None, (SCORES, (1,)),
    ),
    "zigzag that layouts do not know": (
        "cp=2:zigzag", "", "cp=2", 1, ("zigzag-kept", (0, 1), "embedding-Embedding/Reshape-op0"), None,
    ),
    "tensor and context parallel": ("tp=2,cp=2", "", "", 0, None, None),
    "tensor and sequence parallel": ("tp=2,sp=2", "", "", 0, None, None),
    "all axes": ("tp=2,sp=2,cp=2:zigzag,dp=2", "", "", 0, None, None),
    "keys that one rank did not receive": (
        "cp=2:zigzag", f"garbled-collective:{ATTENTION}/AllGather-op0:rank=1", "", 1,
        ("replica-differs", (1,), "attention-Attention/BatchMatMul-op0"), None,
    ),
    "gradients that nobody added": (
        "cp=2:zigzag", f"skipped-collective:{REDUCER}/AllReduce-op3", "", 1,
        ("never-reduced", (0, 1), "DistributedGradReducer/AllReduce-op3"), None,
    ),
    "shared weights": ("tp=2,dp=2:zero", "", "", 0, None, None),
    "a step of the optimizer on one rank": (
        "dp=2:zero", f"scaled-output:{ADAM}:1.5,rank=1", "", 1, None, (ADAM, (1,)),
    ),
    "weights that one rank did not receive": (
        "dp=2:zero", "garbled-collective:Default/parallel_optimizer/AllGather-op0:rank=1", "", 1,
        ("replica-differs", (1,), "embedding-Embedding/Gather-op0"), None,
    ),
    "a norm of one rank": (
        "tp=2,sp=2", f"scaled-output:{NORM}:1.5,rank=1", "", 1, None, (NORM, (1,)),
    ),
}  # fmt: skip
"""Axes, a fault, axes that layouts are of, exit status, the first finding on ranks, the first divergence."""


@pytest.mark.parametrize("name", nightly([*CASES], [*CASES][1:3]))
def test_ranks_that_share_a_sequence_are_compared_with_one_rank(whole, client, tmp_path, name):
    axes, fault, other, status, finding, first = CASES[name]
    layouts = tmp_path / "layouts.txt"
    options = ["--fault", fault] if fault else []
    tree = simulate_job(
        "transformer_train", tmp_path / "target", "--parallel", axes, "--layouts", str(layouts), *options,
        reference="output" not in fault,
    )  # fmt: skip
    if other:
        graph = load_graph("transformer_train")
        layouts.write_text(split_network(graph, Parallel.of(other)).layouts_text())
    said = ["--layouts", str(layouts), "--golden-parallel", "tp=1"]
    job, ended = compare_job((tree, whole), said, tmp_path / "r", client)
    assert ended == status, str(job.sentence)
    check_job(job, finding, first)
