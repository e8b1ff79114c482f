"""Activation functions and their gradients."""

from __future__ import annotations

import numpy as np

from workbench.core.tensors import TensorSpec
from workbench.ops.definition import (
    Call,
    OpDef,
    expect_numbers,
    foreign,
    grad_of,
    output_like,
    reject,
    same_as_input,
    same_dtype,
    same_shape,
    unary,
)
from workbench.ops.gradient import Backward, Entries, Symbol, backward_op, input_gradient, number
from workbench.ops.kernels import activation as kernels


def prelu_shapes(call: Call) -> tuple[TensorSpec, ...]:
    """Output as the input; one weight, or one for each channel (axis 1)."""
    same_dtype(call)
    shape = call.shape()
    channels = shape[1] if len(shape) > 1 else 1
    if call.shape(1) not in ((1,), (channels,)):
        reject("graph/shape-or", subject="weight", expected=[(1,), (channels,)], got=call.shape(1))
    return output_like(call, shape)


def prelu_grad_shapes(call: Call) -> tuple[TensorSpec, ...]:
    """Gradients of the input and of one weight, or one for each channel (axis 1)."""
    same_dtype(call)
    shape, x, weight = call.shape(0), call.shape(1), call.shape(2)
    if shape != x:
        reject("graph/shape", subject="dy", expected=x, got=shape)
    channels = x[1] if len(x) > 1 else 1
    if weight not in ((1,), (channels,)):
        reject("graph/shape-or", subject="weight", expected=[(1,), (channels,)], got=weight)
    return (*output_like(call, x), *output_like(call, weight, 2))


def prelu_gradient(b: Backward) -> Entries:
    """Slopes of channels."""
    return b.multi_output_gradient(2, "PReLUGrad", lambda: (b.dout, *b.inputs))


def threshold_shapes(call: Call) -> tuple[TensorSpec, ...]:
    """Output as the input; two numbers."""
    expect_numbers(call, "threshold", "value")
    return same_as_input(call)


_SELU_SCALE, _SELU_ALPHA = 1.0507009873554805, 1.6732632423543772


def elu_gradient(b: Backward) -> Symbol:
    """1 where x is positive, else out + alpha."""
    alpha = b.settings["alpha"]
    if alpha == 1:  # all that MindSpore's own operator knows
        return b.record("EluGrad", b.dout, b.out)
    bent = b.times(b.dout, b.record("Add", b.out, number(alpha, b.x)))
    return b.record("Select", b.record("Greater", b.x, number(0, b.x)), b.dout, bent)


def selu_gradient(b: Backward) -> Symbol:
    """Scale where x is positive, else out + scale · alpha (MindSpore 2.10 adds 1 there, and scales)."""
    rising = b.record("Mul", b.dout, number(_SELU_SCALE, b.x))
    bent = b.times(b.dout, b.record("Add", b.out, number(_SELU_SCALE * _SELU_ALPHA, b.x)))
    return b.record("Select", b.record("Greater", b.x, number(0, b.x)), rising, bent)


def silu_gradient(b: Backward) -> Symbol:
    """σ + x · σ · (1 - σ)."""
    sigmoid = b.record("Sigmoid", b.x)
    bent = b.record("SigmoidGrad", sigmoid, b.times(b.x, b.dout))
    return b.record("Add", bent, b.times(sigmoid, b.dout))


def mish_gradient(b: Backward) -> Symbol:
    """tanh(softplus(x)) + x · d tanh(softplus(x))."""
    tanh = b.record("Tanh", b.record("Softplus", b.x))
    bent = b.record("SoftplusGrad", b.record("TanhGrad", tanh, b.x), b.x)
    return b.times(b.record("Add", tanh, bent), b.dout)


def softsign_gradient(b: Backward) -> Symbol:
    """1 / (1 + |x|)²."""
    width = b.record("Add", b.record("Abs", b.x), number(1, b.x))
    return b.record("Div", b.dout, b.record("Square", width))


ROWS: dict[str, OpDef] = {
    "PReLU": OpDef(
        "input weight", prelu_shapes, tensors=2, kernel=kernels.prelu, gradient=prelu_gradient
    ),
    "ReLU": unary(
        kernel=kernels.relu,
        gradient=backward_op("ReluGrad", "dout out"),
        onnx="Relu",
        effect="choose",
    ),
    "ReLU6": unary("x", kernel=kernels.relu6, gradient=backward_op("ReLU6Grad", "dout x")),
    "Elu": OpDef(
        "input_x alpha",
        same_as_input,
        defaults={"alpha": 1.0},
        kernel=kernels.elu,
        gradient=input_gradient(elu_gradient),
        libm=True,
        floats=(0,),
    ),
    "CeLU": OpDef(
        "x alpha",
        same_as_input,
        defaults={"alpha": 1.0},
        kernel=kernels.celu,
        libm=True,
        floats=(0,),
    ),
    "SeLU": unary(
        "input_x",
        kernel=kernels.selu,
        gradient=input_gradient(selu_gradient),
        libm=True,
        floats=(0,),
    ),
    "SiLU": unary(
        kernel=kernels.silu, gradient=input_gradient(silu_gradient), libm=True, floats=(0,)
    ),
    "HSwish": unary(
        kernel=kernels.hswish,
        gradient=backward_op("HSwishGrad", "dout x"),
        onnx="HardSwish",
        floats=(0,),
    ),
    "HSigmoid": unary(
        kernel=kernels.hsigmoid, gradient=backward_op("HSigmoidGrad", "dout x"), floats=(0,)
    ),
    "HShrink": OpDef(
        "input lambd",
        same_as_input,
        defaults={"lambd": 0.5},
        kernel=kernels.hshrink,
        discontinuous=True,
    ),
    "SoftShrink": OpDef(
        "input lambd",
        same_as_input,
        defaults={"lambd": 0.5},
        kernel=kernels.soft_shrink,
        floats=(0,),
    ),
    "Threshold": OpDef(
        "input threshold value",
        threshold_shapes,
        kernel=kernels.threshold,
        discontinuous=True,
        floats=(0,),
    ),
    "Softplus": unary(
        "x",
        kernel=kernels.softplus,
        gradient=backward_op("SoftplusGrad", "dout x"),
        onnx="Softplus",
        libm=True,
        floats=(0,),
    ),
    "Softsign": unary(
        "input_x",
        kernel=kernels.softsign,
        gradient=input_gradient(softsign_gradient),
        onnx="Softsign",
        floats=(0,),
    ),
    "Mish": unary(
        "x",
        kernel=kernels.mish,
        gradient=input_gradient(mish_gradient),
        onnx="Mish",
        libm=True,
        floats=(0,),
    ),
    "Sigmoid": unary(
        kernel=kernels.sigmoid,
        gradient=backward_op("SigmoidGrad", "out dout"),
        onnx="Sigmoid",
        libm=True,
        floats=(0,),
    ),
    "GeLU": unary(
        kernel=kernels.gelu, gradient=backward_op("GeLUGrad", "dout x out"), libm=True, floats=(0,)
    ),
    "Tanh": unary(
        kernel=np.tanh,
        gradient=backward_op("TanhGrad", "out dout"),
        onnx="Tanh",
        libm=True,
        floats=(0,),
    ),
    "ReluGrad": grad_of(
        "y_backprop x", kernel=kernels.relu_grad, effect="choose", discontinuous=True
    ),
    "SigmoidGrad": grad_of("y dy", kernel=kernels.sigmoid_grad),
    "TanhGrad": grad_of("y dy", kernel=kernels.tanh_grad, libm=True),
    "ReLU6Grad": grad_of("y_backprop x", kernel=kernels.relu6_grad, discontinuous=True),
    "EluGrad": grad_of("dout out", kernel=kernels.elu_grad),
    "SiLUGrad": grad_of("dout x", kernel=kernels.silu_grad),
    "HSwishGrad": grad_of("y_grad x", kernel=kernels.hswish_grad),
    "HSigmoidGrad": grad_of("grads input_x", kernel=kernels.hsigmoid_grad),
    "GeLUGrad": OpDef(
        "dy x y", same_shape, tensors=3, kernel=kernels.gelu_grad, libm=True, floats=(0, 1, 2)
    ),
    "SoftplusGrad": grad_of("gradients features", kernel=kernels.softplus_grad),
    "PReLUGrad": OpDef("dy x weight", prelu_grad_shapes, tensors=3, kernel=kernels.prelu_grad),
    "SwiGlu": foreign("x dim"),
    "Swiglu": foreign("input dim"),
    "SoftplusExt": foreign("input beta threshold"),
}
