"""Jobs that share experts, by the command: clean they agree with one rank, and one fault is named with its rank.

Two rows of two ranks run every day, the rest at night.
"""

from __future__ import annotations

import pytest

from kit.build.shared_jobs import check_job, compare_job, simulate_job
from kit.cases import nightly

MOE = "Default/network-WithLossCell/_backbone-MoETransformer/layer-ExpertLayer/moe-MixtureOfExperts"
PRODUCT = f"{MOE}/experts-Experts/BatchMatMul-op0"
SCORES = f"{MOE}/router-Router/Softmax-op0"
BACK = f"Gradients/{MOE}/Grad_Reshape/AlltoAll-op0"
STEP = "Default/optimizer-Adam/Adam-op13"
"""The step of the first products of experts."""

REDUCER = "Default/grad_reducer-DistributedGradReducer"


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The tree of one rank."""
    return simulate_job("moe_train", tmp_path_factory.mktemp("experts") / "whole")


CASES = {
    "two ranks with two experts each": ("ep=2,dp=2", "", 0, None, None),
    "tokens that nobody sent": (
        "ep=2,dp=2", f"skipped-collective:{MOE}/AlltoAll-op0", 1, ("exchange-missing", (0, 1), "AlltoAll-op0"), None,
    ),
    "experts of one rank": ("ep=2,dp=2", f"scaled-output:{PRODUCT}:1.5,rank=1", 1, None, (PRODUCT, (1,))),
    "an expert a rank": ("ep=4,dp=4", "", 0, None, None),
    "replicas of experts": ("ep=2,dp=4", "", 0, None, None),
    "tensor parallel experts": ("tp=2,ep=2,dp=2", "", 0, None, None),
    "stages": ("ep=2,dp=2,pp=2", "", 0, None, None),
    "shared weights": ("ep=2,dp=4:zero", "", 0, None, None),
    "tokens garbled on the way back": (
        "ep=4,dp=4", f"garbled-collective:{MOE}/AlltoAll-op1:rank=1", 1,
        ("exchange-differs", (1,), "AlltoAll-op1"), None,
    ),
    "gradients that one rank did not receive": (
        "tp=2,ep=2,dp=2", f"skipped-collective:{BACK}:rank=3", 1, ("exchange-missing", (3,), "AlltoAll-op0"), None,
    ),
    "gradients of experts that nobody added": (
        "ep=2,dp=4", f"skipped-collective:{REDUCER}/AllReduce-op5", 1,
        ("never-reduced", (0, 1, 2, 3), "DistributedGradReducer/AllReduce-op5"), None,
    ),
    "scores of one rank": ("ep=4,dp=4", f"scaled-output:{SCORES}:1.5,rank=2", 1, None, (SCORES, (2,))),
    "experts of one rank of eight": (
        "tp=2,ep=2,dp=4", f"scaled-output:{PRODUCT}:1.5,rank=6", 1, None, (PRODUCT, (6,)),
    ),
    "a step of the optimizer on one rank": (
        "ep=4,dp=4", f"scaled-output:{STEP}:1.5,rank=2", 1, None, (STEP, (2,)),
    ),
}  # fmt: skip
"""Axes, a fault, exit status, the first finding on ranks, the first divergence."""


@pytest.mark.parametrize("name", nightly([*CASES], [*CASES][:2]))
def test_ranks_that_share_experts_are_compared_with_one_rank(whole, client, tmp_path, name):
    axes, fault, status, finding, first = CASES[name]
    layouts = tmp_path / "layouts.txt"
    options = ["--fault", fault] if fault else []
    tree = simulate_job(
        "moe_train", tmp_path / "target", "--parallel", axes, "--layouts", str(layouts), *options,
        reference="output" not in fault,
    )  # fmt: skip
    said = ["--layouts", str(layouts), "--golden-parallel", "tp=1"]
    job, ended = compare_job((tree, whole), said, tmp_path / "r", client)
    assert ended == status, str(job.sentence)
    check_job(job, finding, first)


@pytest.mark.exhaustive  # axes of other jobs are told every day: test_joined_jobs.py
@pytest.mark.parametrize("said", [["--parallel", "dp=2,ep=2"], []], ids=["axes", "nothing"])
def test_experts_are_told_from_the_dumps(whole, client, tmp_path, said):
    tree = simulate_job("moe_train", tmp_path / "target", "--parallel", "dp=2,ep=2")
    job, ended = compare_job((tree, whole), said, tmp_path / "r", client)
    assert (ended, job.axes) == (0, ("dp=2,ep=2", "tp=1", "inferred"))


OTHERS = [
    ("ep=2,dp=4", "", "ep=4,dp=4", None),
    (
        "tp=2,ep=2,dp=2", f"skipped-collective:{MOE}/AlltoAll-op1:rank=2", "dp=2",
        ("exchange-missing", (2,), "AlltoAll-op1"),
    ),
]  # fmt: skip
"""Axes and fault of the target, axes of the golden, the first finding on ranks."""


@pytest.mark.exhaustive
@pytest.mark.parametrize(("axes", "fault", "other", "finding"), OTHERS)
def test_experts_are_compared_with_other_layouts(client, tmp_path, axes, fault, other, finding):
    trees, said = [], []
    for name, sizes, some in (("target", axes, fault), ("golden", other, "")):
        layouts = tmp_path / f"{name}.txt"
        options = [
            "--parallel",
            sizes,
            "--layouts",
            str(layouts),
            *(["--fault", some] if some else []),
        ]
        trees.append(simulate_job("moe_train", tmp_path / name, *options))
        said += ["--layouts" if name == "target" else "--golden-layouts", str(layouts)]
    job, ended = compare_job((trees[0], trees[1]), said, tmp_path / "r", client)
    assert ended == (finding is not None), str(job.sentence)
    check_job(job, finding, None)
