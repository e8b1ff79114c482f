"""Real pairs made half: outputs alone against inputs alone, and a cast that overflows on one side alone."""

from __future__ import annotations

import shutil

import numpy as np
import pytest

import workbench as wb
from kit.build.foreign_files import PAIRS
from kit.evidence import defects
from workbench.core.plan import DumpPlan
from workbench.graph.networks import load_graph

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


# --- an overflow in a cast that one side lacks -------------------------------------------------

CAST = "Default/network-WithLossCell/_backbone-LeNet5/relu-ReLU/Cast-op0"
BEYOND = -1e5
"""Below what float16 holds, and ReLU makes zero of it whether it is infinite or not."""

# end of a file's name → the type of the buffer that lies in it: CPU kernels write float32 behind a header of float16
WIDE = (".output.0.", "conv1-Conv2d_Conv2D-op0", "f4")
BORN = {
    "target": (WIDE, (".input.0.", "relu-ReLU_Cast-op0", "f4"), (".output.0.", "relu-ReLU_Cast-op0", "f2"),
               (".input.0.", "relu-ReLU_ReLU-op0", "f2")),
    "golden": (WIDE, (".input.0.", "relu-ReLU_ReLU-op0", "f4")),
}  # fmt: skip


def overflow(tree, io, name, code):
    """Put the number at the first element of a tensor of the first iteration, as its buffer holds it."""
    (path,) = (
        one
        for one in (tree / "rank_0/LeNet5/0/0").iterdir()
        if f"LeNet5_{name}." in one.name and "Gradients" not in one.name and io in one.name
    )
    raw = bytearray(path.read_bytes())
    start = 10 + int.from_bytes(raw[8:10], "little")
    with np.errstate(over="ignore"):
        number = np.array([BEYOND]).astype(code)
    raw[start : start + number.nbytes] = number.tobytes()
    path.write_bytes(raw)


def test_an_overflow_in_a_cast_of_a_real_run_is_named_at_the_cast(real_pairs, tmp_path):
    for side, files in BORN.items():
        shutil.copytree(getattr(real_pairs["lenet_train_fp16"], side), tmp_path / side)
        for io, name, code in files:
            overflow(tmp_path / side, io, name, code)
    first, *_ = defects(wb.compare(tmp_path / "target", tmp_path / "golden"))
    assert (first.kind, first.op_name) == ("non-finite", CAST)
