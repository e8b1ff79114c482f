"""NumPy kernels, one for each operator of `workbench.graph.ops.OPS`.

A kernel takes the tensor inputs (float32 or float64, or integers) and the settings of the operator
and returns its outputs in the precision of the inputs. It knows nothing of dtypes on a device.
`tests/run/test_kernels.py` holds every kernel against loops over indices or closed forms.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from workbench.run.kernels import elementwise, matrix, movement, reduction
from workbench.run.kernels.elementwise import binary, unary

if TYPE_CHECKING:
    from workbench.run.kernels.elementwise import Kernel

KERNELS: dict[str, Kernel] = {
    "Conv2D": matrix.conv2d,
    "MatMul": matrix.matmul,
    "BatchMatMul": matrix.matmul,
    "Add": binary(np.add),
    "Sub": binary(np.subtract),
    "Mul": binary(np.multiply),
    "RealDiv": binary(np.divide),
    "Div": binary(np.divide),
    "Maximum": binary(np.maximum),
    "Minimum": binary(np.minimum),
    "Pow": binary(np.power),
    "BiasAdd": elementwise.bias_add,
    "MaskedFill": elementwise.masked_fill,
    "ReLU": unary(elementwise.relu),
    "Sigmoid": unary(elementwise.sigmoid),
    "Tanh": unary(np.tanh),
    "GeLU": unary(elementwise.gelu),
    "Erf": unary(elementwise.erf),
    "Sqrt": unary(np.sqrt),
    "Rsqrt": unary(elementwise.rsqrt),
    "Exp": unary(np.exp),
    "Log": unary(np.log),
    "Abs": unary(np.abs),
    "Neg": unary(np.negative),
    "Square": unary(np.square),
    "Cast": elementwise.cast,
    "Softmax": reduction.softmax,
    "LogSoftmax": reduction.log_softmax,
    "ReduceMean": reduction.reduce_mean,
    "ReduceSum": reduction.reduce_sum,
    "LayerNorm": reduction.layer_norm,
    "BatchNorm": reduction.batch_norm,
    "MaxPool": reduction.max_pool,
    "AvgPool": reduction.avg_pool,
    "Reshape": movement.reshape,
    "Flatten": movement.flatten,
    "ExpandDims": movement.expand_dims,
    "Transpose": movement.transpose,
    "Concat": movement.concat,
    "Gather": movement.gather,
}
"""Kernel of every operator type, in the order of `OPS`."""
