"""Jobs whose ranks share sequences and weights, by the command: clean they agree with one rank, and one fault is named.

Two ranks of context parallelism run every day, sequence parallelism and the rest at night.
"""

from __future__ import annotations

import pytest

import workbench as wb
from kit.cases import nightly
from workbench.cli import main
from workbench.network.models import load_graph
from workbench.run.parallel import Parallel
from workbench.scale.job import JobResult
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
    return simulate(tmp_path_factory.mktemp("sequences") / "whole")


def simulate(out, *options, reference=True):
    """Run ``workbench simulate`` for one iteration; return the tree."""
    surface = "mindspore-cpu" if reference else "mindspore-o0o1"
    form = out.with_suffix(".json")
    wb.config.new(surface).save(form)
    device = "reference" if reference else "a2"
    args = ["--config", str(form), "--surface", surface, "--device", device, "--out", str(out)]
    with pytest.raises(SystemExit) as ended:
        main(["simulate", "--graph", "transformer_train", *args, *options])
    assert ended.value.code == 0
    return out


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


@pytest.mark.parametrize("name", nightly([*CASES], [*CASES][:3]))
def test_ranks_that_share_a_sequence_are_compared_with_one_rank(whole, client, tmp_path, name):
    axes, fault, other, status, finding, first = CASES[name]
    layouts = tmp_path / "layouts.txt"
    options = ["--fault", fault] if fault else []
    tree = simulate(
        tmp_path / "target", "--parallel", axes, "--layouts", str(layouts), *options,
        reference="output" not in fault,
    )  # fmt: skip
    if other:
        graph = load_graph("transformer_train")
        layouts.write_text(split_network(graph, Parallel.of(other)).layouts_text())
    said = ["--layouts", str(layouts), "--golden-parallel", "tp=1"]
    where = ["--out", str(tmp_path / "r"), "--scheduler", client.scheduler.address]
    args = ["compare", str(tree), str(whole), *said, *where]
    with pytest.raises(SystemExit) as ended:
        main(args)
    job = JobResult.from_json(tmp_path / "r")
    assert ended.value.code == status, str(job.sentence)
    found = [(one.code, one.ranks, one.op_name) for one in job.found if one.side == "target"]
    if finding is None:
        assert found == []
    else:
        code, ranks, op_name = finding
        assert found[0][:2] == (code, ranks)
        assert found[0][2].endswith(op_name.replace("/", "_"))
    if first is not None:
        assert job.first.divergence.op_name.replace("/", "_") == first[0].replace("/", "_")
        assert job.first.ranks == first[1]
