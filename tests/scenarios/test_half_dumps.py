"""One dump of outputs alone, the other of inputs alone: the right operator is named, or nobody is."""

from __future__ import annotations

import shutil

import pytest

import workbench as wb
from kit.build.foreign_files import PAIRS
from kit.evidence import defects
from workbench.core.plan import DumpPlan
from workbench.network.models import load_graph

WAYS = (("output", "input"), ("input", "output"))
"""What target and golden hold."""

# pair → kind and operator of the only first defect; `None`: nothing is wrong
ANSWERS = {
    "alexnet_padmode": ("attribute", "Default/conv3-Conv2d/Conv2D-op0"),
    "kernels_partial": ("attribute", "Default/conv4-Conv2d/Conv2D-op0"),
    "transformer_ln_eps": (
        "attribute",
        "Default/layers-CellList/1-EncoderLayer/norm1-LayerNorm/LayerNorm-op0",
    ),
    "optimizer_lr": ("parameter", "Default/optimizer-Momentum/ApplyMomentum-op0"),
    "identical_rerun": None,
    "lenet_train_fp16": None,
    "lenet_train_fp16_ms200": None,
    "transformer_fp16": None,
}
SILENT = {("kernels_partial", "input")}
"""Pair and what the target holds → nobody dumped the input that would show it: no defect is named."""


@pytest.fixture(scope="module")
def halved(real_pairs, tmp_path_factory):
    """Trees of a real pair without the files of one direction; Parameter files stay."""
    root, made = tmp_path_factory.mktemp("halves"), {}

    def half(name, side, io):
        path = root / f"{name}-{side}-{io}"
        if path not in made:
            other = ".output." if io == "input" else ".input."
            made[path] = shutil.copytree(
                getattr(real_pairs[name], side), path,
                ignore=lambda _, names: [
                    n for n in names if other in n and not n.startswith("Parameter.")
                ],
            )  # fmt: skip
        return path

    return half


def test_the_answers_cover_every_pair():
    assert {*ANSWERS} == set(PAIRS)


@pytest.mark.parametrize("name", ANSWERS)
@pytest.mark.parametrize("way", WAYS, ids=" against ".join)
def test_a_real_pair_of_half_dumps_names_what_the_whole_one_does(halved, name, way):
    comparison = wb.compare(halved(name, "target", way[0]), halved(name, "golden", way[1]))
    answer = None if (name, way[0]) in SILENT else ANSWERS[name]
    found = defects(comparison)
    assert [(one.kind, one.op_name) for one in found[:1]] == ([answer] if answer else [])
    assert "value" in {row.match_rule for row in comparison.rows} or (name, way[0]) in SILENT


FAULTS = {
    "lenet": "scaled-output:Default/conv2-Conv2d/Conv2D-op0:1.5",
    "mlp": "wrong-sign:Default/relu-ReLU/ReLU-op0",
    "transformer": "scaled-output:Default/layer1-EncoderLayer/norm1-Norm/LayerNorm-op0:1.5",
}
"""Network → fault; something behind it reads its output."""


@pytest.fixture(scope="module")
def simulated(tmp_path_factory):
    """Trees of a run that hold one direction only."""
    root, made = tmp_path_factory.mktemp("simulated"), {}

    def tree(name, io, **settings):
        key = name, io, *map(str, settings.values())
        if key not in made:
            plan = DumpPlan("/x", io=frozenset((io,)))
            out = root / str(len(made))
            made[key] = wb.simulate(load_graph(name), None, plan, out, **settings)
        return made[key]

    return tree


@pytest.mark.parametrize("name", FAULTS)
@pytest.mark.parametrize("way", WAYS, ids=" against ".join)
def test_a_fault_is_found_between_half_dumps(simulated, name, way):
    target = simulated(name, way[0], device="a2", faults=[FAULTS[name]])
    found = wb.compare(target, simulated(name, way[1], device="reference"))
    named = FAULTS[name].split(":")[1]
    assert [one.op_name for one in defects(found)[:1]] == [named]


@pytest.mark.parametrize("name", FAULTS)
@pytest.mark.parametrize("way", WAYS, ids=" against ".join)
def test_a_clean_run_of_half_dumps_accuses_nobody(simulated, name, way):
    target = simulated(name, way[0], device="a2")
    found = wb.compare(target, simulated(name, way[1], device="reference"))
    assert not defects(found)
    assert "value" in {row.match_rule for row in found.rows}
