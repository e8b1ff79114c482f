"""What hooks saw of real modules of PyTorch and Keras (`make conformance-golden`), computed again by NumPy."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

RECORD = Path(__file__).parents[1] / "data" / "conformance" / "golden_modules.json"
KNOWN = json.loads(RECORD.read_text(encoding="utf-8"))
X = np.array(KNOWN["x"])


def layers(weights):
    """Results of the layers: before and after the activation, of the head, and of the head of twice as much."""
    kernel, bias, top, last = map(np.array, weights)
    hidden = X @ kernel + bias
    act = np.maximum(hidden, 0)
    return hidden, act, act @ top + last, 2 * act @ top + last


def of_torch(weights):
    hidden, act, first, second = layers(weights)
    return [("block_0", 0, hidden), ("block_1", 0, act), ("block", 0, act), ("head", 0, first), ("head", 0, second),
            ("Net", 0, first), ("Net", 1, second)]  # fmt: skip


def of_keras(weights):
    hidden, act, first, _ = layers(weights)
    return [("hidden", 0, hidden), ("act", 0, act), ("head", 0, first), ("net", 0, first)]


EXPECTED = {"torch": of_torch, "keras": of_keras}


def test_both_frameworks_are_recorded():
    assert [one["engine"] for one in KNOWN["modules"]] == [*EXPECTED]


@pytest.mark.parametrize("module", KNOWN["modules"], ids=lambda one: one["engine"])
def test_every_file_has_what_its_part_gives(module):
    want = EXPECTED[module["engine"]](module["weights"])
    names = [(name.removeprefix("net_"), slot) for name, slot, _ in module["files"]]
    assert names == [(name, slot) for name, slot, _ in want]
    for (name, _, got), (*_, values) in zip(module["files"], want, strict=True):
        np.testing.assert_allclose(got, values, rtol=1e-5, atol=1e-6, err_msg=name)
    assert (
        np.array(module["files"][0][2]) < 0
    ).any()  # an activation in place changed no earlier file
