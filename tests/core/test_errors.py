"""Seeds are whole numbers from 0 on, wherever one is given."""

from __future__ import annotations

import pytest

import workbench as wb
from kit.words import refused
from workbench.config import new
from workbench.core.errors import GraphError, check_seed
from workbench.forecast.preview import preview
from workbench.network.models import load_graph
from workbench.npu.faults import parse_fault
from workbench.npu.runner import run_npu

MLP = load_graph("mlp")


@pytest.mark.parametrize("seed", [0, 7, 10**30])
def test_whole_numbers_are_seeds(seed):
    check_seed(seed)


@pytest.mark.parametrize("seed", [-1, 0.5, "1", None, True])
def test_what_is_no_seed_is_refused_by_name(seed):
    with refused("core/seed", GraphError, subject="seed of the dice", got=seed):
        check_seed(seed, "seed of the dice")


USES = {
    "load_graph": lambda _: load_graph("mlp", -1),
    "simulate": lambda out: wb.simulate(MLP, None, new("mindspore-cpu"), out, seed=-1),
    "preview": lambda _: preview(new("mindspore-cpu"), MLP, seed=-1),
    "AscendCL": lambda _: wb.AscendCL("a2", seed=-1),
    "trace": lambda _: wb.trace(lambda x: x + 1, [1.0], seed=-1),
    "fault": lambda _: parse_fault("bit-flip:ReLU:seed=-1"),
    "run_npu": lambda _: list(run_npu(MLP, seed=-1)),
}


@pytest.mark.parametrize("use", USES)
def test_every_place_that_takes_one_refuses_another(use, tmp_path):
    with refused("core/seed", GraphError, got=-1):
        USES[use](tmp_path / "out")
    assert not (tmp_path / "out").exists()
