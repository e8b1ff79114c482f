"""Real training runs that differ in their gradients, in what they train, and in the optimizer."""

from __future__ import annotations

import tarfile

import pytest

import workbench as wb
from kit.build.foreign_files import DATA
from kit.evidence import defects, diverges
from kit.words import check_said

STRUCTURE = ("custom_gradient", "frozen_weight", "two_optimizers")
PAIRS = (*STRUCTURE, "loss_scale")


@pytest.fixture(scope="module")
def trees(tmp_path_factory):
    root = tmp_path_factory.mktemp("trained")
    for name in PAIRS:
        with tarfile.open(DATA / "trained" / f"{name}.tar.xz") as packed:
            packed.extractall(root, filter="data")
    return root


@pytest.fixture(scope="module")
def compared(trees):
    return {name: wb.compare(trees / name / "dump_b", trees / name / "dump_a") for name in PAIRS}


def test_every_archive_is_looked_at():
    assert sorted(PAIRS) == sorted(p.name[:-7] for p in (DATA / "trained").glob("*.tar.xz"))


@pytest.mark.parametrize("name", STRUCTURE)
def test_one_defect_is_told_and_it_is_of_structure(compared, name):
    assert compared[name].verdict == "fail"
    assert [finding.kind for finding in defects(compared[name])] == ["structure"]


def test_a_term_missing_in_a_gradient_written_by_hand_is_found_in_the_backward_part(compared):
    (finding,) = defects(compared["custom_gradient"])
    assert finding.source.code.strip() == "dx = dout * s"
    assert finding.iteration == 0
    assert diverges(finding, 0, "backward")


def test_a_weight_that_is_not_trained_is_told_by_name(compared):
    (finding,) = defects(compared["frozen_weight"])
    check_said(finding.evidence[0], "compare/updated-by-golden", name="fc2.weight")
    assert (finding.iteration, finding.op_type) == (1, "MatMul")


def test_the_other_way_round_the_target_alone_trains_it(trees):
    comparison = wb.compare(trees / "frozen_weight/dump_a", trees / "frozen_weight/dump_b")
    (finding,) = defects(comparison)
    check_said(finding.evidence[0], "compare/updated-by-target", name="fc2.weight")


def test_a_loss_scale_that_several_graphs_read_is_one_cause(compared):
    (finding,) = defects(compared["loss_scale"])
    assert finding.kind == "parameter"
    values = {"name": "scale_value", "target": "1", "golden": "4096"}
    check_said(finding.evidence[0], "compare/setting", **values)


def test_two_optimizers_part_in_the_first_step(compared):
    (finding,) = defects(compared["two_optimizers"])
    assert (finding.iteration, finding.op_type) == (0, "AdamWeightDecay")
    assert diverges(finding, 0, "optimizer")


@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize("side", ["dump_a", "dump_b"])
def test_each_run_agrees_with_itself(trees, name, side):
    comparison = wb.compare(trees / name / side, trees / name / side)
    assert (comparison.verdict, comparison.findings) == ("pass", ())
