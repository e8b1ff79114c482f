"""The example networks in training: a step of each, and a batch for every iteration.

Batches have something to learn: images and vectors are a pattern of their class under noise, sequences
draw their ids from a range of their class. Patterns are the same for every seed.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.network import nn
from workbench.network.models.networks import MLP, LeNet, MoETransformer, ResNet, Transformer

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Batch = tuple[NDArray[Any], NDArray[Any]]
    Batches = Callable[[int, int], Batch]

CLASSES = 10


def _step(network: nn.Cell, optimizer: Callable[[list[nn.Parameter]], nn.Optimizer]) -> nn.Cell:
    loss = nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")
    cell = nn.WithLossCell(network, loss)
    return nn.TrainOneStepCell(cell, optimizer(network.trainable_params())).set_train()


def lenet_train() -> nn.Cell:
    """LeNet with Momentum."""
    return _step(LeNet(), lambda weights: nn.Momentum(weights, 0.004, 0.9))


def mlp_train() -> nn.Cell:
    """Three dense layers with SGD and a learning rate that decays."""
    return _step(MLP(), lambda weights: nn.SGD(weights, nn.ExponentialDecayLR(0.2, 0.9, 10)))


def resnet_train() -> nn.Cell:
    """Small residual network with Momentum and weight decay."""
    return _step(ResNet(), lambda weights: nn.Momentum(weights, 0.02, 0.9, weight_decay=1e-4))


def transformer_train() -> nn.Cell:
    """Small Transformer encoder with Adam."""
    return _step(Transformer(), lambda weights: nn.Adam(weights, 2e-3))


def moe_train() -> nn.Cell:
    """Small Transformer encoder with a mixture of experts, with Adam."""
    return _step(MoETransformer(), lambda weights: nn.Adam(weights, 4e-3))


def _patterns(shape: tuple[int, ...], count: int, seed: int, iteration: int) -> Batch:
    """Return a pattern of its class under noise for every sample, and the classes."""
    patterns = np.random.default_rng(7).standard_normal((CLASSES, *shape), np.float32)
    rng = np.random.default_rng([seed, iteration])
    labels = rng.integers(0, CLASSES, count, dtype=np.int32)
    noise = rng.standard_normal((count, *shape), np.float32)
    return patterns[labels] + np.float32(0.3) * noise, labels


def _sequences(count: int, seed: int, iteration: int) -> Batch:
    """Return 12 ids of a range of its class for every sample, and the classes."""
    rng = np.random.default_rng([seed, iteration])
    labels = rng.integers(0, CLASSES, count, dtype=np.int32)
    ids = rng.integers(0, CLASSES, (count, 12), dtype=np.int32)
    return ids + CLASSES * labels[:, None], labels


TRAININGS: dict[str, tuple[Callable[[], nn.Cell], Batches]] = {
    "lenet_train": (lenet_train, partial(_patterns, (1, 28, 28), 8)),
    "mlp_train": (mlp_train, partial(_patterns, (64,), 16)),
    "resnet_train": (resnet_train, partial(_patterns, (3, 32, 32), 8)),
    "transformer_train": (transformer_train, partial(_sequences, 16)),
    "moe_train": (moe_train, partial(_sequences, 8)),
}
"""Training step by name, and its batch for a seed and an iteration."""
