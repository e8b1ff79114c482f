"""Kernels against the node tests that are written by onnx: they go through the importer and end in the kernel."""

from __future__ import annotations

import re
from collections import Counter
from functools import partial

import pytest
from ops.cases import CASES

from kit.build.onnx_models import node_cases, outcome
from kit.cases import is_nightly, nightly
from workbench.network.onnx.table import CONVERTERS
from workbench.npu.runner import run_npu
from workbench.ops import OPS

pytestmark = pytest.mark.slow

REFUSED = {
    r"^test_(?!cast).*_(e4m3fn|e5m2|float4e2m1|u?int[24])": "dtype",
    r"^test_cast.*(FNUZ|UINT4|INT2|FLOAT4E2M1|E8M0|e8m0|STRING)": "dtype",
    r"_string|strings": "dtype",
    r"_(3d|3d_.*)$": "graph/onnx-rank",
    r"_3d_dilations": "graph/onnx-rank",
    r"_2d_dilations$": "graph/onnx-attribute dilations",
    r"training_(mode|dropout)|test_training": "graph/onnx-attribute training_mode",
    r"with_argmax": "graph/onnx-output Indices",
    r"_blocked": "graph/onnx-attribute block_size",
    r"einsum_batch_diagonal": "graph/onnx-diagonal",
    r"batch_dim1": "graph/onnx-attribute batch_dims",
    r"identity_(sequence|opt)": "graph/onnx-input-type",
    r"_empty_set$": "graph/empty-axis",
    r"peepholes": "graph/onnx-peepholes",
    r"resize_.*cubic": "graph/",
    r"resize_.*antialias": "graph/onnx-attribute antialias",
    r"resize_tf_crop": "graph/onnx-attribute coordinate_transformation_mode",
    r"resize_.*not_(larger|smaller)": "graph/onnx-attribute keep_aspect_ratio_policy",
    r"resize_.*linear_half_pixel_symmetric": "graph/onnx-attribute coordinate_transformation_mode",
    r"resize_downsample_(scales|sizes)_linear": ("graph/onnx-resize", "graph/onnx-half-pixel"),
    r"scatter_elements_with_reduction_(mul|max|min)": "graph/onnx-attribute reduction",
}
"""Node tests of operators that the importer has, but not in this way: name → code of the error, and its subject."""


def codes_of(key):
    return (REFUSED[key],) if isinstance(REFUSED[key], str) else REFUSED[key]


def reasons(error):
    """Code and subject of an error, or of all that it holds."""
    for one in error.values.get("problems", [error]):
        subject = next(
            (one.values[name] for name in ("name", "subject", "got") if name in one.values), ""
        )
        yield f"{one.code} {subject}"


POOLS = {"AveragePool": "averagepool", "LpPool": "lppool", "MaxPool": "maxpool"}
"""Operator → module of its node tests, which takes onnx seconds to make: the nightly run has them.

Each day `tests/network/onnx/test_windows.py` has pools of the importer, `test_pooling` the kernels.
"""

REFUSED_POOLS = {r"_3d_dilations", r"_2d_dilations$", r"with_argmax"}
"""What node tests of pools alone are refused for."""

NAMED = [name for name, case in CASES.items() if case.onnx]


@pytest.fixture(scope="module")
def cases():
    """The node tests; to make them takes onnx longer than it takes us to run them."""
    return [*node_cases(without=() if is_nightly() else POOLS.values())]


@pytest.fixture(scope="module")
def outcomes(cases):
    return [outcome(case) for case in cases]


@pytest.mark.parametrize(
    "name",
    nightly(NAMED, [name for name in NAMED if not POOLS.keys() & {*CASES[name].onnx.split()}]),
)
def test_the_node_tests_of_a_case_reach_the_kernel_and_agree(name, outcomes):
    for onnx_type in CASES[name].onnx.split():
        ours = [one for one in outcomes if one.onnx_type == onnx_type and not one.wrong]
        assert any(name in one.operators for one in ours), onnx_type


def test_a_row_that_is_an_onnx_operator_names_its_node_tests():
    rows = {name: row.onnx for name, row in OPS.items() if row.onnx}
    assert [name for name, onnx in rows.items() if onnx not in CASES[name].onnx.split()] == []


def test_no_node_test_disagrees(outcomes):
    assert not [(one.name, one.wrong) for one in outcomes if one.wrong]
    assert sum(not one.refused for one in outcomes) > 1000


def test_on_a_device_convolutions_alone_leave_the_tolerance(cases):
    """A2 reads them as HF32, of eleven bits; all else is rounded to float32 or finer than a test looks."""
    device = partial(run_npu, profile="a2")
    some = [
        case
        for place, case in enumerate(cases)
        if is_nightly() or place % 3 == 0 or "Conv" in case.model.graph.node[0].op_type
    ]
    found = [outcome(case, device) for case in some]
    assert {"Conv2D" in one.operators for one in found if one.wrong} == {True}
    assert sum(not one.refused and not one.wrong for one in found) > (len(some) * 2) // 3


def test_every_operator_of_the_importer_has_a_node_test_that_agrees(outcomes):
    agree = {one.onnx_type for one in outcomes if not one.refused}
    elsewhere = {"GlobalLpPool"} if is_nightly() else {"GlobalLpPool", *POOLS}
    assert CONVERTERS.keys() - agree == elsewhere  # tests/network/onnx has ours


def test_what_the_importer_refuses_is_known_and_said(outcomes):
    met = Counter()
    for one in outcomes:
        if one.onnx_type in CONVERTERS and one.refused:
            found = [key for key in REFUSED if re.search(key, one.name)]
            assert found, (one.name, one.refused)
            met.update(found)
            causes = [*reasons(one.refused)]
            assert any(
                code in cause for key in found for code in codes_of(key) for cause in causes
            ), (
                one.name,
                causes,
            )
    assert met.keys() == (REFUSED.keys() if is_nightly() else REFUSED.keys() - REFUSED_POOLS)
