"""Layers, losses, optimizers and trainings, named and set up like ``mindspore.nn``. Users know it as ``wb.nn``.

In: symbolic tensors (`workbench.network.symbolic`). Out: the same, with operators recorded and weights as parameters.
A layer is added to `layers` (activations, losses, optimizers to their own modules) and to ``__all__`` here; a
function of ``mindspore.ops`` to `functional`.
"""

from __future__ import annotations

from workbench.network.cell import Cell
from workbench.network.nn import functional
from workbench.network.nn.activations import ELU, HSigmoid, HSwish, LeakyReLU, Mish, ReLU6, SiLU
from workbench.network.nn.layers import (
    GELU,
    AvgPool2d,
    BatchNorm2d,
    CellList,
    Conv2d,
    Conv2dTranspose,
    Dense,
    Dropout,
    Embedding,
    Flatten,
    Identity,
    LayerNorm,
    MaxPool2d,
    ReLU,
    SequentialCell,
    Sigmoid,
    Softmax,
    Tanh,
)
from workbench.network.nn.losses import L1Loss, LossBase, MSELoss, SoftmaxCrossEntropyWithLogits
from workbench.network.nn.optimizers import SGD, Adam, AdamWeightDecay, Momentum, Optimizer
from workbench.network.nn.parallel import DistributedGradReducer, data_parallel
from workbench.network.nn.recurrent import LSTM
from workbench.network.nn.schedules import (
    CosineDecayLR,
    ExponentialDecayLR,
    InverseDecayLR,
    LearningRateSchedule,
    NaturalExpDecayLR,
    PolynomialDecayLR,
    WarmUpLR,
)
from workbench.network.nn.training import (
    DynamicLossScaleUpdateCell,
    FixedLossScaleUpdateCell,
    TrainOneStepCell,
    TrainOneStepWithLossScaleCell,
    WithLossCell,
)
from workbench.network.primitive import Primitive
from workbench.network.symbolic import Initial, Parameter

__all__ = [
    "ELU",
    "GELU",
    "LSTM",
    "SGD",
    "Adam",
    "AdamWeightDecay",
    "AvgPool2d",
    "BatchNorm2d",
    "Cell",
    "CellList",
    "Conv2d",
    "Conv2dTranspose",
    "CosineDecayLR",
    "Dense",
    "DistributedGradReducer",
    "Dropout",
    "DynamicLossScaleUpdateCell",
    "Embedding",
    "ExponentialDecayLR",
    "FixedLossScaleUpdateCell",
    "Flatten",
    "HSigmoid",
    "HSwish",
    "Identity",
    "Initial",
    "InverseDecayLR",
    "L1Loss",
    "LayerNorm",
    "LeakyReLU",
    "LearningRateSchedule",
    "LossBase",
    "MSELoss",
    "MaxPool2d",
    "Mish",
    "Momentum",
    "NaturalExpDecayLR",
    "Optimizer",
    "Parameter",
    "PolynomialDecayLR",
    "Primitive",
    "ReLU",
    "ReLU6",
    "SequentialCell",
    "SiLU",
    "Sigmoid",
    "Softmax",
    "SoftmaxCrossEntropyWithLogits",
    "Tanh",
    "TrainOneStepCell",
    "TrainOneStepWithLossScaleCell",
    "WarmUpLR",
    "WithLossCell",
    "data_parallel",
    "functional",
]
