"""Trainings of seven steps on devices without a defect: nobody is blamed, on any surface.

Each network is trained on each surface, on one device after the other; on every device with ``GRID=all``.
Every run takes the smallest on two surfaces and devices; the others are for the nightly run, and trainings of
five steps of larger ones are in every run's `test_parting.py`.
"""

from __future__ import annotations

import pytest

import workbench as wb
from kit.cases import asked, nightly, two_by_two
from kit.evidence import defects
from workbench.core.writers import SIMULATED_SURFACES
from workbench.network.models import TRAININGS, load_graph
from workbench.npu.target import REFERENCE

pytestmark = pytest.mark.slow

STEPS = 7
SURFACES = [
    one for one in SIMULATED_SURFACES if one not in ("acl", "mindspore-cpu", "mindspore-gpu")
]

CASES = two_by_two(TRAININGS, SURFACES, ("910a", "a2", "950"))
DAILY = [
    ("mlp_train", "torchair", "950"),
    ("mlp_train", "mindspore-ge", "910a"),
]


def trained(name, surface, device, folder):
    """Dump every step of a training; give its tree."""
    form = asked(surface, f"0-{STEPS - 1}")
    options = {"device": device, "surface": surface, "iterations": STEPS}
    return wb.simulate(load_graph(name), None, form, folder / device, **options)


@pytest.mark.parametrize(
    ("name", "surface", "device"), nightly(CASES, DAILY), ids=map(" ".join, CASES)
)
def test_a_device_without_a_defect_is_not_blamed(tmp_path, name, surface, device):
    trees = [trained(name, surface, one, tmp_path) for one in (REFERENCE, device)]
    comparison = wb.compare(trees[1], trees[0])
    assert comparison.verdict in ("pass", "warn"), comparison.sentence
    assert not defects(comparison)
    assert {row.iteration for row in comparison.rows if row.match_rule} - {-1} == {*range(STEPS)}
