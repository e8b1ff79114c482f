"""Every model on every surface and device: simulated by the command, recognised, read, compared.

By default as many cells as put every two of model, surface and device together once; all of them with
``GRID=all``. ``SEEDS`` says with how many weights and feeds the clean runs of 16 and 8 bits are judged.
Every run takes as many of both as put every two of small model, surface, device and mode together, and
as many of the two large models as have every surface, device and mode once.
"""

from __future__ import annotations

import os
import shutil
from collections import Counter
from itertools import combinations

import pytest
from click.testing import CliRunner

import workbench as wb
from kit.cases import each_once, nightly, pairwise, two_by_two
from kit.evidence import defects
from workbench.cli import app
from workbench.config import new
from workbench.core.plan import DumpPlan
from workbench.core.words import Message
from workbench.core.writers import SIMULATED_SURFACES
from workbench.network.models import MODELS, load_graph
from workbench.npu.profiles import PROFILES
from workbench.npu.target import REFERENCE

NETWORKS = ("lenet", "alexnet", "mlp", "resnet", "transformer", "lstm")
DEVICES = ("reference", "910a", "310p", "a2", "a3", "950")

FORMAT = "common_dump_settings.file_format"
SURFACES = {
    "mindspore-o0o1": ("mindspore-o0o1", {}, "mindspore", "NPU"),
    "mindspore-cpu": ("mindspore-cpu", {}, "mindspore", "CPU"),
    "mindspore-gpu": ("mindspore-gpu", {}, "mindspore", "GPU"),
    "mindspore-o2 npy": ("mindspore-o2", {FORMAT: "npy"}, "mindspore-o2", "NPU"),
    "mindspore-o2 bin": ("mindspore-o2", {FORMAT: "bin"}, "mindspore-o2", "NPU"),
    "mindspore-ge": ("mindspore-ge", {FORMAT: "bin"}, "ge", "NPU"),
    "tensorflow": ("tensorflow", {}, "ge", "NPU"),
    "torchair": ("torchair", {}, "torchair", "NPU"),
    "acl": ("acl", {}, "ge", "NPU"),
}
"""Surface and form → its name, changes of its first form, layout of the tree, whose numbers it claims.

A tree that claims to be a CPU's or a GPU's is judged as one: float32 and no cube unit. What an NPU
writes there under such a name agrees with what it writes under its own, which has no files of
parameters and constants.
"""

CELLS = two_by_two(NETWORKS, SURFACES, DEVICES)

MODES = {
    "float16": ("force_fp16", DEVICES[1:]),
    "bfloat16": ("allow_mix_precision_bf16", ("a2", "a3", "950")),
    "hifloat8": ("mixed_hif8", ("950",)),
}
"""Format → a mode that computes in it, and the devices that have it; the others refuse the mode."""

NPUS = [name for name, (_, _, _, claims) in SURFACES.items() if claims == "NPU"]
CLEAN = [
    (*cell, mode)
    for mode, devices in MODES.values()
    for cell in two_by_two(NETWORKS, NPUS, devices)
]

EVERY = [*((*cell, "default") for cell in CELLS), *CLEAN]
LARGE = ("resnet", "transformer")
"""Models that take three times as long as the others."""
SMALL_CASES, LARGE_CASES = (
    [case for case in EVERY if (case[0] in LARGE) == large] for large in (False, True)
)
DAILY = [*pairwise(SMALL_CASES), *each_once(LARGE_CASES)]


def test_the_table_has_all_models_surfaces_and_devices():
    assert set(NETWORKS) == MODELS.keys()
    assert {name for name, *_ in SURFACES.values()} == set(SIMULATED_SURFACES)
    assert set(DEVICES) == {REFERENCE, *PROFILES}


def test_every_two_are_in_a_cell():
    pairs = Counter(pair for n, s, d in CELLS for pair in ((n, s), (n, d), (s, d)))
    assert len(pairs) == len(NETWORKS) * (len(SURFACES) + len(DEVICES)) + len(SURFACES) * len(
        DEVICES
    )


@pytest.mark.parametrize("places", [*combinations(range(4), 2)])
def test_every_two_are_in_a_cell_of_every_run(places):
    found, all_of_them = (
        {tuple(c[p] for p in places) for c in cases if c[0] not in LARGE}
        for cases in (DAILY, EVERY)
    )
    assert found == all_of_them
    assert len(DAILY) < 0.35 * len(EVERY)


@pytest.mark.parametrize("place", range(4))
def test_all_that_a_large_model_can_have_is_in_a_cell_of_every_run(place):
    found, all_of_them = ({c[place] for c in cases if c[0] in LARGE} for cases in (DAILY, EVERY))
    assert found == all_of_them


@pytest.fixture(scope="module")
def simulate(tmp_path_factory):
    """Run the command as a user does, once for the same cell; returns the tree's root."""
    root = tmp_path_factory.mktemp("grid")
    trees = {}

    def run(network, surface, device):
        cell = network, surface, device
        if cell not in trees:
            name, changes, _, _ = SURFACES[surface]
            form = new(name)
            for path, value in changes.items():
                form = form.set(path, value)
            file = root / f"{len(trees)}{form.surface.suffix or '.json'}"
            form.save(file)
            out = root / str(len(trees))
            arguments = ["--graph", network, "--config", file, "--out", out, "--device", device]
            arguments = ["simulate", *map(str, arguments), "--surface", name]
            result = CliRunner().invoke(app, arguments, standalone_mode=False)
            assert result.exception is None, result.exception
            assert result.return_value == 0
            assert result.stdout.split()[-1] == str(out)
            trees[cell] = out
        return trees[cell]

    return run


NOT_ON_A_CPU = {
    (op_type, "input", 1) for op_type in ("Reshape", "Transpose", "ExpandDims", "Squeeze", "OneHot")
}
"""Shapes, axes, orders and depths that no kernel of a CPU reads, so that MindSpore writes no file of them there."""


@pytest.mark.parametrize(
    ("network", "surface", "device"),
    nightly(CELLS, [tuple(cell) for *cell, mode in DAILY if mode == "default"]),
    ids=map(" ".join, CELLS),
)
def test_a_cell(network, surface, device, simulate):
    _, _, layout, claims = SURFACES[surface]
    tree = simulate(network, surface, device)
    dump = wb.load(tree)
    assert dump.layout == layout
    assert {left.reason for left in dump.skipped} <= {"other-model"}
    assert all(record.source.array().size for record in dump.records)

    own = claims == "NPU" or device == "reference"
    other = (network, "mindspore-cpu", "reference") if own else (network, "mindspore-o0o1", device)
    found = wb.compare(tree, simulate(*other))
    assert found.verdict in ("pass", "warn"), found.sentence
    assert not defects(found)
    assert found.coverage.matched > 0
    alone = {
        row.op_type
        for row in found.rows
        if not row.match_rule
        and row.target_spec
        and (row.op_type, row.io, row.slot) not in NOT_ON_A_CPU
    }
    assert alone <= {"Parameter"}
    assert found.coverage.gaps == {}
    if device == "reference":
        unequal = {row.reason for row in found.rows if row.match_rule and row.status != "equal"}
        unused = {"target": "unused-output", "golden": "unused-output"}
        assert unequal <= {Message("compare/distrusted-alike", **unused)}


SEEDS = range(int(os.environ.get("SEEDS", "1")))


@pytest.fixture(scope="module")
def reference(tmp_path_factory):
    """Trees of the reference by network and seed."""
    root = tmp_path_factory.mktemp("reference")

    def tree(network, seed):
        out = root / f"{network}{seed}"
        if not out.exists():
            graph = load_graph(network, seed)
            wb.simulate(graph, None, DumpPlan("/x"), out, surface="mindspore-cpu")
        return out

    return tree


@pytest.mark.parametrize(
    ("network", "surface", "device", "mode"),
    nightly(CLEAN, [case for case in DAILY if case[3] != "default"]),
    ids=map(" ".join, CLEAN),
)
def test_a_clean_run_of_few_bits_is_not_blamed(network, surface, device, mode, reference, tmp_path):
    name, changes, _, _ = SURFACES[surface]
    form = new(name)
    for path, value in changes.items():
        form = form.set(path, value)
    for seed in SEEDS:
        graph = load_graph(network, seed)
        out = tmp_path / str(seed)
        wb.simulate(graph, None, form, out, surface=name, device=device, precision_mode=mode)
        found = wb.compare(out, reference(network, seed))
        assert found.verdict in ("pass", "warn"), (seed, found.sentence)
        assert not defects(found)
        shutil.rmtree(out)
