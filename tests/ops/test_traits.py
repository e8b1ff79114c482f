"""Traits of rows against the oracles: what an operator does to its examples shows a trait that is forgotten or false.

`libm` is not asked for: how well a library approximates a function does not show in the numbers of one machine. Nor
are `contract` and `sum` told from `compute`: that elements are added up does not say on which unit. Oracles by
differences are not asked for jumps: they differentiate over a wider step than a jump needs.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from ops.cases import CASES

from workbench.ops import OPS

STEP, JUMP = 1e-7, 1e-4

ORDERED = {
    "AllReduce": "its inputs are those of the ranks, in order",
    "ReduceScatter": "its inputs are those of the ranks, in order",
    "HcomAllReduce": "its inputs are those of the ranks, in order",
    "HcomReduceScatter": "its inputs are those of the ranks, in order",
    "DropoutGrad": "the mask of the example drops nothing",
    "AssignAdd": "the first input is overwritten",
    "AllFinite": "any number of tensors",
}
"""Operators whose examples give the same with their first two inputs exchanged, and that are not `commutative`."""

HAND_ON = {
    "HShrink": "zero is not handed on",
    "ReLU6Grad": "zero is not handed on",
    "ZerosLike": "it computes nothing",
    "ArgMaxWithValue": "judged as computing",
    "ArgMinWithValue": "judged as computing",
    "TopK": "judged as computing",
    "GatherD": "judged as computing",
    "GatherNd": "judged as computing",
    "MaskedFill": "judged as computing",
    "MaxPoolV3": "judged as computing",
    "OneHot": "its values are inputs",
    "ReduceMax": "judged as computing",
    "ReduceMin": "judged as computing",
    "ResizeNearestNeighborV2": "judged as computing",
    "Select": "judged as computing",
    "TensorScatterMax": "updates may meet in one place",
    "TensorScatterMin": "updates may meet in one place",
    "TensorScatterUpdate": "updates may meet in one place",
    "AllGather": "ranks meet",
    "HcomAllGather": "ranks meet",
    "AlltoAll": "ranks meet",
    "Broadcast": "ranks meet",
    "Send": "ranks meet",
    "HcomBroadcast": "ranks meet",
    "Assign": "an update in place",
}
"""Operators whose float outputs are elements of inputs in all examples, and that are none of `EXACT_EFFECTS`.

To judge them as exact is stricter; where the reason is "judged as computing", it has not been decided by a measurement.
"""

COARSE = {
    "AscendDequant": "its scale is a word whose low bits are cut off",
    "TransQuantParamV2": "its output is that word",
    "SGD": "the first step is told by a number that is zero or not",
}
"""Operators whose outputs jump by a small step of an input that stands for a word or a flag."""

UNSEEN_JUMPS = {
    "FloorDiv": "no quotient of the examples is at an integer",
    "FloorMod": "no quotient of the examples is at an integer",
    "TruncateDiv": "no quotient of the examples is at an integer",
    "TruncateMod": "no quotient of the examples is at an integer",
    "IsNan": "no step makes a number of what is none",
    "IsInf": "no step makes a finite number of an infinite one",
    "IsFinite": "no step makes an infinite number of a finite one",
    "Select": "its condition is no float",
    "OneHot": "its indices are no floats",
    "Argmax": "no two elements of the examples are close",
    "Argmin": "no two elements of the examples are close",
    "ArgMaxWithValue": "no two elements of the examples are close",
    "ArgMinWithValue": "no two elements of the examples are close",
    "TopK": "no two elements of the examples are close",
}
"""Operators that are `discontinuous`, which their examples do not show."""

EXACT_EFFECTS = ("identity", "move", "choose")
OURS = [name for name, case in CASES.items() if case.oracle]


def outputs(name, inputs, settings):
    return [np.asarray(one) for one in CASES[name].oracle(inputs, settings)]


@cache
def of_examples(name):
    """Inputs, settings and outputs of every example; the loops of some take seconds."""
    return [(*one, outputs(name, *one)) for one in CASES[name].examples]


def exchanged(name):
    """For every example whose first two inputs can be exchanged, whether the outputs stay the same."""
    for inputs, settings, known in of_examples(name):
        if len(inputs) < 2 or np.array_equal(inputs[0], inputs[1]):
            continue
        first, second, *others = inputs
        try:
            found = outputs(name, [second, first, *others], settings)
        except (ArithmeticError, IndexError, KeyError, TypeError, ValueError):
            yield False  # they are of different kinds
            continue
        yield all(
            a.shape == b.shape and np.array_equal(a, b) for a, b in zip(found, known, strict=True)
        )


def hands_on(name):
    """Whether all float outputs of all examples are elements of inputs, negated ones or zero; ``None``: no floats."""
    seen = False
    for inputs, _, found in of_examples(name):
        known = np.concatenate([np.abs(np.ravel(one)).astype(float) for one in inputs] + [[0.0]])
        given = [one for one in found if one.dtype.kind == "f"]
        for one in np.concatenate([np.ravel(one) for one in given] or [[]]).tolist():
            seen = True
            if one == one and not np.isclose(abs(one), known, rtol=1e-9, atol=1e-12).any():
                return False
    return seen or None


def moved_inputs(inputs):
    """Inputs whose floats have moved by a small step, up or down; of two also the first alone."""
    arrays = [np.asarray(one) for one in inputs]
    floats = [place for place, one in enumerate(arrays) if one.dtype.kind == "f"]
    for places in [floats, floats[:1]] if len(floats) == 2 else [floats]:
        for step in (STEP, -STEP):
            yield [one + step if place in places else one for place, one in enumerate(arrays)]


def largest_jump(name):
    """Largest change of an output where float inputs move by a small step."""
    jumps = [0.0]
    for inputs, settings, before in of_examples(name):
        for near in moved_inputs(inputs):
            try:
                after = outputs(name, near, settings)
            except (ArithmeticError, ValueError):  # out of the domain
                continue
            for a, b in zip(before, after, strict=True):
                with np.errstate(invalid="ignore"):
                    moved = np.abs(a.astype(float) - b.astype(float))
                jumps.append(float(np.nanmax(moved, initial=0.0)))
    return max(jumps)


@pytest.mark.parametrize("name", OURS)
def test_an_operator_is_commutative_if_its_examples_say_so(name):
    same = [*exchanged(name)]
    looks_so = bool(same) and all(same)
    assert looks_so == (OPS[name].commutative or name in ORDERED)


@pytest.mark.parametrize("name", OURS)
def test_an_operator_without_rounding_gives_elements_of_its_inputs(name):
    exact = hands_on(name)
    if OPS[name].effect in EXACT_EFFECTS:
        assert exact is not False
    else:
        assert bool(exact) == (name in HAND_ON)


@pytest.mark.parametrize("name", [name for name in OURS if not CASES[name].by_differences])
def test_an_operator_is_discontinuous_if_an_example_jumps(name):
    jumps = largest_jump(name) > JUMP
    if OPS[name].discontinuous:
        assert jumps == (name not in UNSEEN_JUMPS)
    else:
        assert jumps == (name in COARSE)
