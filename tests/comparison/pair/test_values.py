"""Tensors that are one value under different slots: which stand for each other, and which do not."""

from __future__ import annotations

import numpy as np
import pytest

import workbench as wb
from kit.build import small_dumps as small
from kit.build.small_dumps import Net, in_memory, shoot
from workbench.comparison.bind.borrow import bind_both
from workbench.comparison.pair.pair import pair_tensors


def chained():
    """x → MatMul w → ReLU → Tanh, Exp (both read the ReLU) → Add."""
    net = Net()
    first = net.op("ReLU", net.op("MatMul", net.feed("x"), net.weight("w")))
    net.op("Add", net.op("Tanh", first), net.op("Exp", first))
    return net.graph()


def through(kind, dtype="float32"):
    """A product that a cast or the like hands to an Exp."""
    net = Net()
    handed = net.op(kind, net.op("MatMul", net.feed("x"), net.weight("w")), dtype=dtype)
    net.op("Exp", handed, dtype=dtype)
    return net.graph()


def written_over():
    """A product that an AssignAdd changes in place before an Exp reads it."""
    net = Net()
    product = net.op("MatMul", net.feed("x"), net.weight("w"))
    net.op("AssignAdd", product, net.feed("y"))
    net.op("Exp", product)
    return net.graph()


def dump(graph, keep, alter=None):
    """A dump of the tensors that ``keep`` takes."""
    shots = shoot(graph, small.given(graph), alter=alter, parameters=False)
    return in_memory([shot for shot in shots if keep(shot)], graph)


def inputs(shot):
    return shot.io == "input"


def outputs(shot):
    return shot.io == "output"


def values(pairing):
    """What stands for what: types, directions and slots of both sides of every pair of values."""
    return {
        (*place(pair.target), *place(pair.golden)) for pair in pairing.pairs if pair.rule == "value"
    }


def place(record):
    return record.key.op_type, record.key.io, record.key.slot


def paired(ours, theirs):
    return pair_tensors(*bind_both(ours, theirs))


CASES = {
    "outputs against inputs": (
        chained, outputs, inputs,
        {("MatMul", "output", 0, "ReLU", "input", 0), ("ReLU", "output", 0, "Tanh", "input", 0),
         ("Tanh", "output", 0, "Add", "input", 0), ("Exp", "output", 0, "Add", "input", 1)},
    ),
    "inputs against outputs": (
        chained, inputs, outputs,
        {("ReLU", "input", 0, "MatMul", "output", 0), ("Tanh", "input", 0, "ReLU", "output", 0),
         ("Add", "input", 0, "Tanh", "output", 0), ("Add", "input", 1, "Exp", "output", 0)},
    ),
    "a reader against another reader": (
        chained, lambda s: s.op_type == "Tanh" and inputs(s), lambda s: s.op_type == "Exp" and inputs(s),
        {("Tanh", "input", 0, "Exp", "input", 0)},
    ),
    "a slot has its own partner": (chained, lambda s: True, inputs, set()),
    "nothing is missing": (chained, lambda s: True, lambda s: True, set()),
    "a load between": (
        lambda: through("Load"), lambda s: s.op_type == "MatMul" and outputs(s), lambda s: s.op_type == "Exp",
        {("MatMul", "output", 0, "Exp", "input", 0)},
    ),
    "a cast that rounds": (
        lambda: through("Cast", "float16"), lambda s: s.op_type == "MatMul" and outputs(s),
        lambda s: s.op_type == "Exp" and inputs(s), set(),
    ),
    "a reshape between": (
        lambda: through("Reshape"), lambda s: s.op_type == "MatMul" and outputs(s),
        lambda s: s.op_type == "Exp" and inputs(s), set(),
    ),
    "written over in between": (
        written_over, lambda s: s.op_type == "MatMul" and outputs(s),
        lambda s: s.op_type == "Exp" and inputs(s), set(),
    ),
    "an input that its operator writes over": (
        written_over, lambda s: s.op_type == "MatMul" and outputs(s),
        lambda s: s.op_type == "AssignAdd" and inputs(s), set(),
    ),
}  # fmt: skip
"""Network, what the target holds, what the golden holds, and what stands for what."""


@pytest.mark.parametrize("case", CASES)
def test_a_value_is_paired_under_another_slot(case):
    network, ours, theirs, expected = CASES[case]
    graph = network()
    assert values(paired(dump(graph, ours), dump(graph, theirs))) == expected


@pytest.mark.parametrize("case", CASES)
def test_every_tensor_is_counted_once(case):
    network, ours, theirs, _ = CASES[case]
    graph = network()
    pairing = paired(dump(graph, ours), dump(graph, theirs))
    for side, binding in pairing.sides.named:
        counted = len(pairing.pairs) + len(pairing.unmatched.of(side)) + len(pairing.skips.of(side))
        assert counted == binding.dump.tensors
        taken = [id(getattr(pair, side)) for pair in pairing.pairs]
        assert len(taken) == len(set(taken))


def test_a_further_reader_of_a_paired_value_stays_unmatched():
    graph = chained()
    pairing = paired(dump(graph, outputs), dump(graph, inputs))
    alone = {place(one.record) for one in pairing.only_golden}
    assert ("Exp", "input", 0) in alone


def test_the_match_is_less_sure_than_one_of_the_same_slot():
    graph = chained()
    pairing = paired(dump(graph, outputs), dump(graph, inputs))
    assert {pair.score for pair in pairing.pairs if pair.rule == "value"} == {0.95}


@pytest.mark.parametrize(("ours", "theirs"), [(outputs, inputs), (inputs, outputs)])
def test_an_operator_that_differs_is_found_between_dumps_that_have_no_slot_in_common(ours, theirs):
    graph = chained()
    alter = {"Default/ReLU-op0": lambda array: array + np.float32(0.25)}
    found = wb.compare(dump(graph, ours, alter), dump(graph, theirs))
    assert found.verdict == "fail"
    assert found.findings[0].op_name == "Default/ReLU-op0"


@pytest.mark.parametrize(("ours", "theirs"), [(outputs, inputs), (inputs, outputs)])
def test_equal_values_under_other_slots_are_no_defect(ours, theirs):
    graph = chained()
    found = wb.compare(dump(graph, ours), dump(graph, theirs))
    assert not [one for one in found.findings if one.defect]
    rows = [row for row in found.rows if row.match_rule == "value"]
    assert {row.status for row in rows} == {"equal"}
    assert {row.reason.code for row in rows} == {"compare/same-value"}
    assert {(row.reason.values["here"][:-2], row.reason.values["there"][:-2]) for row in rows} == {
        ("output", "input") if ours is outputs else ("input", "output")
    }
