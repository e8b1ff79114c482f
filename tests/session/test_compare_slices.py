"""Operators that GE cut in slices (FFTS+) are compared as one, with golden data and with each other."""

from __future__ import annotations

import json

import numpy as np
import pytest

from kit.build.small_dumps import LEAF, START, ge_text, save_container
from workbench.session.compare import compare

X = np.random.default_rng(2).standard_normal((8, 6)).astype(np.float32)
PREFIX = "partition0_rank2_new_sub_graph15_sgt_graph_0_"


def sliced(base, result, *, manual=False, prefix=""):
    """A tree of one operator in two slices along its rows."""
    attribute = {"threadMode": not manual, "slice_instance_num": 2, "outputCutList": [[2, 1]],
                 "inputCutList": [[1, 1]]}  # fmt: skip
    for number, rows in enumerate((result[:3], result[3:])):
        own = f"_lxslice{number}" if manual else ""
        name = f"Relu.{prefix}layer1_Relu{own}.1.3.{START + number}.4.{9 + number}.{0 if manual else number}.0"
        attrs = (("_sgt_json_info", json.dumps(attribute)),)
        save_container(base / LEAF / name, [X], [rows], attrs=attrs, op_name="layer1/Relu")
    return base


@pytest.mark.parametrize("manual", [True, False])
def test_golden_data_of_the_whole_match(tmp_path, manual):
    whole = np.maximum(X, 0)
    target = sliced(tmp_path / "a", whole, manual=manual, prefix=PREFIX)
    (tmp_path / "b").mkdir()
    np.save(tmp_path / f"b/layer1_Relu.0.{START}.npy", whole)
    result = compare(target, tmp_path / "b")
    (row,) = [row for row in result.rows if row.io == "output"]
    assert (row.status, row.target_spec[:2]) == ("equal", ("float32", (8, 6)))
    assert [(a.kind, a.op_name) for a in result.anomalies] == [("slices", f"{PREFIX}layer1_Relu")]


@pytest.mark.parametrize("manual", [True, False])
def test_a_wrong_slice_makes_its_operator_wrong(tmp_path, manual):
    whole = np.maximum(X, 0)
    wrong = whole.copy()
    wrong[5] *= 2
    golden = sliced(tmp_path / "b", whole, manual=manual)
    result = compare(sliced(tmp_path / "a", wrong, manual=manual), golden)
    assert result.verdict == "fail"
    assert result.first_divergence.op_name == "layer1_Relu"
    assert result.coverage.matched == 2


def test_a_graph_has_the_slices_and_the_dump_what_they_are_of(tmp_path):
    text = ge_text().replace('"layer1/Relu"', '"layer1/Relu_lxslice0"')
    text = text.replace('"layer1/Relu:0"', '"layer1/Relu_lxslice0:0"')
    for side in ("a", "b"):
        sliced(tmp_path / side, np.maximum(X, 0), manual=True)
        (tmp_path / side / "ge_proto_00001_Build.txt").write_text(text)
    result = compare(tmp_path / "a", tmp_path / "b")
    assert (result.verdict, result.coverage.skipped, result.coverage.matched) == ("pass", {}, 2)
    assert {row.op_name for row in result.rows} == {"layer1/Relu_lxslice0"}
