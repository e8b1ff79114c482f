"""What the device decides by operator type: every type has a decision, and it fits the operator."""

import pytest

from workbench.core.formats import FORMATS
from workbench.npu.cube import CUBE
from workbench.npu.ops_info import INTEGERS, OPS_INFO, PLAIN, OpInfo
from workbench.npu.precision import IMPLEMENTATIONS
from workbench.ops import OPS

UNTRACED = {"LeakyReLU"}
"""Kernels of the graph engine that graphs of ours do not have."""


def test_every_operator_has_a_decision_and_only_one():
    decided = OPS_INFO.keys() - UNTRACED
    undecided = sorted(OPS.keys() - decided - PLAIN)
    assert undecided == [], "decide in OPS_INFO, or name them in PLAIN"
    assert sorted((decided | PLAIN) - OPS.keys()) == []
    assert sorted(decided & PLAIN) == []


def test_a_row_says_something():
    assert [name for name, info in OPS_INFO.items() if info == OpInfo()] == []


def test_what_the_cube_unit_computes_is_on_the_white_list_and_nothing_else():
    white = {name for name, info in OPS_INFO.items() if info.mixed_precision == "white"}
    assert white == {name for name, row in OPS.items() if row.engine == "cube"} == CUBE.keys()
    assert CUBE.keys() >= INTEGERS


@pytest.mark.parametrize("name", sorted(OPS_INFO.keys() - UNTRACED))
def test_places_and_formats_exist(name):
    info, row = OPS_INFO[name], OPS[name]
    tensors = len(row.positions)
    assert len(info.formats) <= tensors + 1
    assert all(form == "" or FORMATS[form].device for form in info.formats)
    assert all(place < tensors for place in info.keeps_inputs)
    assert info.fast.keys() <= set(IMPLEMENTATIONS)
    assert not info.per_channel or info.format_agnostic


def test_an_attribute_that_tells_the_dtype_is_one_of_the_operators():
    told = {name: info.dtype_attribute for name, info in OPS_INFO.items() if info.dtype_attribute}
    assert {
        name: attribute in OPS[name].defaults for name, attribute in told.items()
    } == dict.fromkeys(told, True)
