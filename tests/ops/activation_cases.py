"""Activations, by formulas in plain Python, and their gradients."""

from __future__ import annotations

import math

import numpy as np

from kit.oracle.differences import blamed, differences_of_each
from kit.oracle.loops import (
    ONE,
    ROW,
    SIGNS,
    UNIT,
    X,
    Y,
    each,
    each_with,
    filled,
    numbers,
    sigmoid,
    whole,
)
from kit.oracle.operator_case import OperatorCase
from kit.oracle.slopes import GradientCase, anywhere, one_tensor
from workbench.network.symbolic import record


def prelu(inputs, settings):
    x, weight = inputs
    out = np.empty(x.shape)
    for index in np.ndindex(x.shape):
        slope = float(weight[index[1] if weight.size > 1 and x.ndim > 1 else 0])
        out[index] = x[index] if x[index] > 0 else slope * float(x[index])
    return [out]


def softplus(v):
    return v + math.log(1 + math.exp(-v)) if v > 0 else math.log(1 + math.exp(v))


def gelu(v):
    # 0.5 (1 + tanh z) = 1 / (1 + e^(-2z))
    z = math.sqrt(2 / math.pi) * (v + 0.044715 * v**3)
    return v / (1 + math.exp(-2 * z))


def relu_gradient(inputs, settings):
    dout, x = inputs
    pairs = zip(dout.ravel().tolist(), x.ravel().tolist(), strict=True)
    return [filled(dout, [d if v > 0 else 0.0 for d, v in pairs])]


def prelu_gradient(inputs, settings):
    dout, x, weight = inputs

    def function(a, w):
        out = np.empty(a.shape)
        for index in np.ndindex(a.shape):
            factor = w[index[1] if w.size > 1 else 0].item()
            out[index] = a[index].item() * (factor if a[index] < 0 else 1.0)
        return [out]

    return [blamed(function, [x, weight], slot, [dout], step=0.05) for slot in (0, 1)]


def _silu(v):
    return v * sigmoid(v)


def _hswish(v):
    return v * min(max(v + 3, 0), 6) / 6


STEPS = whole(2, 3, 4, low=-8, high=14) / 2 + 0.25  # away from where slopes jump

NEAR = whole(2, 3, 4, low=-4, high=4) / 2 + 0.25

BENT = numbers(2, 3, 4, low=-0.95, high=0.95)


CASES = {
    "PReLU": OperatorCase(
        prelu,
        [
            ([X, numbers(3, seed=2)], {}),
            ([X, np.array([0.25])], {}),
            ([ROW, np.array([0.1])], {}),
            ([np.array(-2.0), np.array([0.1])], {}),
        ],
        gradient=[
            GradientCase(lambda x, w: record("PReLU", x, w), (anywhere(2, 3, 2), anywhere(count)))
            for count in (3, 1)
        ],
    ),
    "ReLU": OperatorCase(
        each(lambda v: v if v > 0 else 0.0), ONE, gradient=one_tensor("ReLU"), onnx="Relu"
    ),
    "ReLU6": OperatorCase(
        each(lambda v: sorted((0.0, v, 6.0))[1]),
        [([SIGNS], {})],
        gradient=one_tensor("ReLU6", point=np.array([-1.0, 0.5, 5.5, 6.5])),
    ),
    "Elu": OperatorCase(
        each_with(lambda v, alpha=1.0: v if v > 0 else alpha * (math.exp(v) - 1)),
        [([X], {}), ([X], {"alpha": 0.3})],
        gradient=[*one_tensor("Elu", 1.0), *one_tensor("Elu", 0.5)],
        onnx="Elu",
    ),
    "CeLU": OperatorCase(
        each_with(lambda v, alpha=1.0: v if v > 0 else alpha * (math.exp(v / alpha) - 1)),
        [([X], {}), ([X], {"alpha": 2.0})],
        onnx="Celu",
    ),
    "SeLU": OperatorCase(
        each(
            lambda v: 1.0507009873554805 * (v if v > 0 else 1.6732632423543772 * (math.exp(v) - 1))
        ),
        ONE,
        gradient=one_tensor("SeLU"),
        onnx="Selu",
    ),
    "SiLU": OperatorCase(
        each(lambda v: v / (1 + math.exp(-v))), ONE, gradient=one_tensor("SiLU"), onnx="Swish"
    ),
    "HSwish": OperatorCase(
        each(lambda v: v * sorted((0.0, v + 3, 6.0))[1] / 6),
        [([2 * SIGNS], {})],
        gradient=one_tensor("HSwish", point=np.array([-4.0, -2.5, -0.5, 2.5, 3.5])),
        onnx="HardSwish",
    ),
    "HSigmoid": OperatorCase(
        each(lambda v: sorted((0.0, (v + 3) / 6, 1.0))[1]),
        [([2 * SIGNS], {})],
        gradient=one_tensor("HSigmoid", point=np.array([-4.0, -2.5, -0.5, 2.5, 3.5])),
    ),
    "HShrink": OperatorCase(
        each_with(lambda v, lambd=0.5: v if v > lambd or v < -lambd else 0.0),
        [([SIGNS], {}), ([SIGNS], {"lambd": 1.6})],
        onnx="Shrink",
    ),
    "SoftShrink": OperatorCase(
        each_with(
            lambda v, lambd=0.5: v - lambd if v > lambd else v + lambd if v < -lambd else 0.0
        ),
        [([SIGNS], {}), ([SIGNS], {"lambd": 1.6})],
        onnx="Shrink",
    ),
    "Threshold": OperatorCase(
        each_with(lambda v, threshold, value: v if v > threshold else value),
        [([SIGNS], {"threshold": 0.5, "value": -20.0})],
        onnx="ThresholdedRelu",
    ),
    "Softplus": OperatorCase(
        each(softplus), [([20 * X], {})], gradient=one_tensor("Softplus"), onnx="Softplus"
    ),
    "Softsign": OperatorCase(
        each(lambda v: v / (1 + v if v > 0 else 1 - v)),
        ONE,
        gradient=one_tensor("Softsign"),
        onnx="Softsign",
    ),
    "Mish": OperatorCase(
        each(lambda v: v * math.tanh(softplus(v))), ONE, gradient=one_tensor("Mish"), onnx="Mish"
    ),
    "Sigmoid": OperatorCase(
        each(lambda v: 0.5 + 0.5 * math.tanh(v / 2)),
        ONE,
        gradient=one_tensor("Sigmoid"),
        onnx="Sigmoid",
    ),
    "GeLU": OperatorCase(each(gelu), ONE, gradient=one_tensor("GeLU"), onnx="Gelu"),
    "Tanh": OperatorCase(
        each(lambda v: (math.exp(2 * v) - 1) / (math.exp(2 * v) + 1)),
        ONE,
        gradient=one_tensor("Tanh"),
        onnx="Tanh",
    ),
    "ReluGrad": OperatorCase(relu_gradient, [([Y, X], {})], by_differences=True),
    "SigmoidGrad": OperatorCase(
        differences_of_each(sigmoid, inverse=lambda y: math.log(y / (1 - y)), order="xd"),
        [([UNIT, Y], {})],
        by_differences=True,
    ),
    "TanhGrad": OperatorCase(
        differences_of_each(math.tanh, inverse=math.atanh, order="xd"),
        [([BENT, Y], {})],
        by_differences=True,
    ),
    "ReLU6Grad": OperatorCase(
        differences_of_each(lambda v: min(max(v, 0.0), 6.0), step=0.05),
        [([Y, STEPS], {})],
        by_differences=True,
    ),
    "EluGrad": OperatorCase(
        differences_of_each(
            lambda v: v if v > 0 else math.expm1(v),
            inverse=lambda y: y if y > 0 else math.log1p(y),
        ),
        [([Y, BENT + 0.05 * np.sign(BENT)], {})],
        by_differences=True,
    ),
    "SiLUGrad": OperatorCase(differences_of_each(_silu), [([Y, X], {})], by_differences=True),
    "HSwishGrad": OperatorCase(
        differences_of_each(_hswish, step=0.05), [([Y, STEPS], {})], by_differences=True
    ),
    "HSigmoidGrad": OperatorCase(
        differences_of_each(lambda v: min(max(v + 3, 0), 6) / 6, step=0.05),
        [([Y, STEPS], {})],
        by_differences=True,
    ),
    "GeLUGrad": OperatorCase(
        lambda inputs, _: differences_of_each(gelu)(inputs[:2], {}),
        [([Y, X, np.zeros(X.shape)], {})],
        by_differences=True,
    ),
    "SoftplusGrad": OperatorCase(
        differences_of_each(lambda v: math.log1p(math.exp(v))), [([Y, X], {})], by_differences=True
    ),
    "PReLUGrad": OperatorCase(
        prelu_gradient,
        [([Y, NEAR, numbers(3)], {}), ([Y, NEAR, numbers(1)], {})],
        by_differences=True,
    ),
}
