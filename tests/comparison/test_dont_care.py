"""Values that mean nothing: left out with their reason, listed and counted, and no reason for a warning."""

import numpy as np
import pytest

import workbench as wb
from kit.build.small_dumps import Net, Shot, in_memory
from workbench.graph.graph import Value
from workbench.ops.dont_care import WHOLE

RNG = np.random.default_rng(1)
GOOD = [RNG.standard_normal((4, 4)).astype(np.float32) for _ in range(5)]


def dump(op_type, wrong=None, graph=True):
    """An operator with five outputs, of which one holds something else."""
    net = Net()
    net.op(op_type, net.feed("x"), outputs=5)
    made = net.graph(*(Value(0, slot) for slot in range(5)))
    arrays = [one + 7 if slot == wrong else one for slot, one in enumerate(GOOD)]
    name = f"Default_{op_type}-op0"
    shots = [Shot(op_type, name, "output", slot, array) for slot, array in enumerate(arrays)]
    shots.append(Shot(op_type, name, "input", 0, GOOD[0]))
    return in_memory(shots, *([made] if graph else []))


@pytest.mark.parametrize("graph", [True, False], ids=["graph", "no graph"])
@pytest.mark.parametrize(("op_type", "slot"), WHOLE)
def test_what_means_nothing_decides_nothing_and_is_told(op_type, slot, graph):
    found = wb.compare(dump(op_type, slot, graph), dump(op_type, None, graph))
    assert found.verdict == "pass"
    (row,) = (row for row in found.rows if (row.io, row.slot) == ("output", slot))
    assert (row.status, row.reason_code) == ("uncomparable", "compare/distrusted-alike")
    assert row.reason.values["target"] == "dont-care"
    told = [(one.side, one.kind, one.detail.code) for one in found.anomalies]
    code = f"compare/dont-care-{WHOLE[op_type, slot]}"
    assert told == [("target", "dont-care", code), ("golden", "dont-care", code)]
    assert found.coverage.matched == 6


@pytest.mark.parametrize(("op_type", "slot"), WHOLE)
def test_the_other_outputs_count(op_type, slot):
    assert wb.compare(dump(op_type, slot - 1), dump(op_type)).verdict == "fail"
