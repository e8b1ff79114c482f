"""Converters along axes, against onnx's own evaluator: every operator, every attribute."""

import numpy as np
import pytest

from kit.build.onnx_models import OnnxCase, assert_as_onnx, assert_every_converter, numbered, one
from workbench.core.errors import GraphError
from workbench.network.onnx import reduction

RNG = np.random.default_rng(0)
X = RNG.uniform(-3, 3, (2, 3, 4)).astype(np.float32)
POSITIVE = RNG.uniform(0.5, 3, (2, 3, 4)).astype(np.float32)
WHOLE = RNG.integers(-9, 9, (2, 3, 4)).astype(np.int32)
TIES = np.float32([[1, 3, 3, 0], [2, 2, 1, 2]])
IMAGE = RNG.uniform(-3, 3, (2, 3, 4, 5)).astype(np.float32)


def ints(*values):
    return np.array(values, np.int64)


REDUCTIONS = ("ReduceL1", "ReduceL2", "ReduceLogSumExp", "ReduceMax", "ReduceMean", "ReduceMin",
              "ReduceProd", "ReduceSum", "ReduceSumSquare")  # fmt: skip
CASES = [
    *(OnnxCase(name, {"x": X}, {"axes": ints(1, -1)}, {"keepdims": keep})
      for name in REDUCTIONS for keep in (0, 1)),
    *(OnnxCase(name, {"x": X}) for name in REDUCTIONS),
    *(OnnxCase(name, {"x": X}, attrs={"noop_with_empty_axes": 1})
      for name in ("ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd", "ReduceSum")),
    OnnxCase("ReduceLogSum", {"x": POSITIVE}, {"axes": ints(0)}, {"keepdims": 0}),
    OnnxCase("ReduceSum", {"x": X}, {"axes": ints(1)}, opset=13),
    OnnxCase("ReduceMax", {"x": X}, attrs={"axes": [1]}, opset=13),
    OnnxCase("ReduceSum", {"x": X}, attrs={"axes": [1]}, opset=11),
    OnnxCase("ReduceLogSum", {"x": POSITIVE}),
    OnnxCase("ReduceL2", {"x": WHOLE}, {"axes": ints(2)}),
    OnnxCase("ReduceMax", {"x": X > 0}, {"axes": ints(1)}, opset=20),
    OnnxCase("ReduceMin", {"x": X > 0}, {"axes": ints(1)}, opset=20),
    *(OnnxCase(name, {"x": X}, attrs=attrs) for name in ("ArgMax", "ArgMin")
      for attrs in ({}, {"axis": 1}, {"axis": -1, "keepdims": 0})),
    *(OnnxCase(name, {"x": TIES}, attrs={"axis": 1, "select_last_index": last})
      for name in ("ArgMax", "ArgMin") for last in (0, 1)),
    *(OnnxCase("CumSum", {"x": X}, {"axis": ints(axis)[0]}, {"exclusive": exclusive, "reverse": reverse})
      for axis in (1, -1) for exclusive in (0, 1) for reverse in (0, 1)),
    OnnxCase("Hardmax", {"x": TIES}),
    OnnxCase("Hardmax", {"x": TIES}, attrs={"axis": 0}),
    OnnxCase("LogSoftmax", {"x": X}),
    OnnxCase("LogSoftmax", {"x": X}, attrs={"axis": 1}),
    OnnxCase("Softmax", {"x": X}, types="Softmax"),
    OnnxCase("Softmax", {"x": X}, attrs={"axis": 2}, opset=11, types="Softmax"),
    OnnxCase("LogSoftmax", {"x": X[:, 0]}, opset=11, types="LogSoftmax"),
    OnnxCase("Softmax", {"x": X}, attrs={"axis": 0}),
    OnnxCase("LpNormalization", {"x": X}),
    OnnxCase("MeanVarianceNormalization", {"x": IMAGE}),
    OnnxCase("MeanVarianceNormalization", {"x": IMAGE}, attrs={"axes": [1, 2]}),
    OnnxCase("TopK", {"x": X}, {"k": ints(2)}, count=2, types="TopK Cast"),
    OnnxCase("TopK", {"x": X}, {"k": ints(2)}, {"axis": 1}, count=2, types="Transpose TopK Cast Transpose Transpose"),
    OnnxCase("TopK", {"x": X}, {"k": ints(2)}, {"axis": 0, "largest": 0}, count=2),
    OnnxCase("TopK", {"x": X}, {"k": ints(3)}, {"largest": 0}, count=2),
    OnnxCase("GlobalAveragePool", {"x": IMAGE}),
    OnnxCase("GlobalAveragePool", {"x": X}),
    OnnxCase("GlobalMaxPool", {"x": IMAGE}),
]  # fmt: skip
APART = ("GlobalLpPool", "CumProd")  # below; onnx has no evaluator of them


@pytest.mark.parametrize("case", numbered(CASES))
def test_a_node_computes_what_onnx_does(case):
    assert_as_onnx(case, rtol=5e-6, atol=2e-6)


def test_every_converter_has_a_case():
    assert_every_converter(reduction, CASES, APART)


@pytest.mark.parametrize(("attrs", "p"), [({}, 2), ({"p": 1}, 1), ({"p": 3}, 3)])
def test_global_lp_pool_is_the_norm_of_all_of_space(attrs, p):
    got = one("GlobalLpPool", {"x": IMAGE}, 9, **attrs)[0]
    want = (np.abs(IMAGE.astype(float)) ** p).sum((2, 3), keepdims=True) ** (1 / p)
    np.testing.assert_allclose(got, want, rtol=1e-5)


@pytest.mark.parametrize("exclusive", [0, 1])
@pytest.mark.parametrize("reverse", [0, 1])
def test_products_of_all_up_to_each(exclusive, reverse):
    got = one("CumProd", {"x": X}, 26, {"axis": ints(1)[0]}, exclusive=exclusive, reverse=reverse)[
        0
    ]
    rows = X.astype(float)[:, ::-1] if reverse else X.astype(float)
    want = np.cumprod(rows, 1)
    if exclusive:
        want = np.concatenate([np.ones((2, 1, 4)), want[:, :-1]], 1)
    np.testing.assert_allclose(got, want[:, ::-1] if reverse else want, rtol=1e-5)


def test_a_norm_is_a_sum_of_sizes_and_a_row_of_zeros_stays():
    x = np.float32([[0, 0], [3, 4]])
    for p, want in ((2, [[0, 0], [0.6, 0.8]]), (1, [[0, 0], [3 / 7, 4 / 7]])):
        np.testing.assert_allclose(one("LpNormalization", {"x": x}, 21, p=p)[0], want, rtol=1e-6)
    want = X / np.abs(X.astype(float)).sum(1, keepdims=True)
    got = one("LpNormalization", {"x": X}, 21, axis=1, p=1)[0]
    np.testing.assert_allclose(got, want, rtol=1e-6)


def test_the_smallest_of_unsigned_integers_are_refused():
    with pytest.raises(GraphError) as error:
        one("TopK", {"x": np.uint8([[1, 2]])}, 21, {"k": ints(1)}, count=2, largest=0)
    assert error.value.values["problems"][0].code == "graph/onnx-attribute"
