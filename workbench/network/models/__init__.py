"""Networks by name: an example, a training, a file of Python or ONNX. Users know it as ``wb.models``.

In: a text such as ``lenet``, ``net.py:Net`` or ``model.onnx:batch=2``, and a seed. Out: a `Graph` or `ControlFlow`.
An example is added to `networks.MODELS`, a training to `trainings.TRAININGS`.
"""

from __future__ import annotations

from workbench.network.models.load import load_graph, split_graph
from workbench.network.models.networks import (
    MLP,
    MODELS,
    AlexNet,
    Attention,
    BasicBlock,
    BatchNorm,
    EncoderLayer,
    LeNet,
    Norm,
    ResNet,
    SequenceClassifier,
    Transformer,
)
from workbench.network.models.trainings import TRAININGS

__all__ = [
    "MLP",
    "MODELS",
    "TRAININGS",
    "AlexNet",
    "Attention",
    "BasicBlock",
    "BatchNorm",
    "EncoderLayer",
    "LeNet",
    "Norm",
    "ResNet",
    "SequenceClassifier",
    "Transformer",
    "load_graph",
    "split_graph",
]
