"""Two files that hold each other's values: said so, and no operator is said to have written anything wrong."""

from __future__ import annotations

import numpy as np
import pytest

import workbench as wb
from kit.build import small_dumps as small
from kit.build.small_dumps import chain, in_memory, shoot
from kit.evidence import codes, defects

GRAPH = chain("MatMul", "ReLU", "MatMul", "Tanh", "Softmax")
SHOTS = shoot(GRAPH, small.given(GRAPH))
PRODUCT, RELU, SECOND, TANH, LAST = (small.file_name(op.name) for op in GRAPH.ops)

PAIRS = [
    ((PRODUCT, "output"), (TANH, "output")),
    ((RELU, "output"), (SECOND, "output")),  # one reads the other: memory seemed overwritten
    ((PRODUCT, "output"), (LAST, "output")),
    ((RELU, "input"), (TANH, "input")),
]


def place(name, io):
    return next(n for n, one in enumerate(SHOTS) if (one.name, one.io) == (name, io))


def holding(*pairs, noise=0.0):
    """A dump of which files hold what belongs to others: (file, whose values it holds)."""
    rng, found = np.random.default_rng(3), list(SHOTS)
    for one, other in pairs:
        data = SHOTS[place(*other)].data
        data = data * (1 + noise * rng.standard_normal(data.shape)).astype(np.float32)
        found[place(*one)] = found[place(*one)]._replace(data=data)
    return found


def compared(shots, graphs):
    return wb.compare(in_memory(shots, *graphs), in_memory(SHOTS, *graphs)).result


def ways(result):
    return [(one.kind, [cause.kind for cause in one.causes]) for one in defects(result)]


@pytest.mark.parametrize("noise", [0.0, 1e-3])
@pytest.mark.parametrize(("one", "other"), PAIRS, ids=str)
def test_two_files_that_hold_each_others_values_are_exchanged(one, other, noise):
    result = compared(holding((one, other), (other, one), noise=noise), [GRAPH])
    assert (result.verdict, ways(result)) == ("fail", [("exchanged", [])])
    (found,) = defects(result)
    assert codes(found.evidence)[0] == "exchanged"
    assert small.file_name(found.op_name) in (one[0], other[0])


def test_without_graphs_too():
    one, other = PAIRS[0]
    result = compared(holding((one, other), (other, one)), [])
    assert ways(result) == [("exchanged", [])]


@pytest.mark.parametrize(("one", "other"), PAIRS[:3], ids=str)
def test_a_copy_one_way_is_no_exchange(one, other):
    result = compared(holding((one, other)), [GRAPH])
    assert result.verdict == "fail"
    assert "exchanged" not in [kind for kind, _ in ways(result)]


def test_an_operator_that_may_have_written_over_another_is_not_certain():
    damaged = SHOTS[place(TANH, "input")].data.copy()
    damaged.flat[0] = 7.0
    shots = list(SHOTS)
    shots[place(TANH, "input")] = shots[place(TANH, "input")]._replace(data=damaged)
    (found,) = defects(compared(shots, [GRAPH]))
    (cause,) = found.causes
    assert (cause.kind, cause.probability < 1.0) == ("overrun", True)
