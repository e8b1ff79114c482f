"""Runs that the device ended: on every surface that dumps until then, the operator is named."""

from __future__ import annotations

import pytest

import workbench as wb
from workbench.config import Config, get, new
from workbench.core.plan import DumpPlan
from workbench.network.models import load_graph

MODEL = "lenet"
SURFACES = ("mindspore-o0o1", "mindspore-o2", "mindspore-ge", "tensorflow", "torchair", "acl")
ENDS = {"*fc1-Dense*MatMul*": ("fc1-Dense/MatMul",), "*conv2*Conv2D*": ("conv2-Conv2d/Conv2D",)}
KINDS = ("ended", "cut-short")


@pytest.fixture(scope="module")
def golden(tmp_path_factory):
    root = tmp_path_factory.mktemp("golden") / "dump"
    surface = "mindspore-cpu"
    wb.simulate(load_graph(MODEL), None, new(surface), root, surface=surface)
    return wb.load(root)


def full(surface):
    """The form that asks for everything."""
    given = get(surface)
    return Config(given, given.from_plan(DumpPlan("/dump")).data)


def simulated(root, surface, **more):
    wb.simulate(load_graph(MODEL), None, full(surface), root, device="a2", surface=surface, **more)
    return root


@pytest.mark.parametrize("pattern", ENDS)
@pytest.mark.parametrize("surface", SURFACES)
def test_the_operator_that_failed_is_named(surface, pattern, golden, tmp_path):
    faults = [f"aicore-exception:{pattern}"]
    found = wb.compare(simulated(tmp_path / "dump", surface, faults=faults), golden)
    first = found.findings[0]
    assert first.kind in KINDS
    assert any(name in first.op_name for name in ENDS[pattern])
    assert (found.verdict == "fail") == (first.kind == "ended")


@pytest.mark.parametrize("surface", SURFACES)
def test_a_run_that_did_not_end_is_not_said_to(surface, golden, tmp_path):
    found = wb.compare(simulated(tmp_path / "dump", surface), golden)
    assert [one.kind for one in found.findings if one.kind in KINDS] == []
