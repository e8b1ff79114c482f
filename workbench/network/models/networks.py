"""Small networks to rehearse with, and `load_graph`, which finds one by what the user typed."""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.network.nn import (
    GELU,
    LSTM,
    BatchNorm2d,
    Cell,
    Conv2d,
    Dense,
    Embedding,
    Flatten,
    Initial,
    LayerNorm,
    MaxPool2d,
    Parameter,
    ReLU,
    SequentialCell,
)
from workbench.network.nn import functional as ops

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from workbench.network.symbolic import Operators, Tensor


class LeNet(Cell):
    """Two convolutions and three dense layers on (N, 1, 28, 28)."""

    def __init__(self, classes: int = 10) -> None:
        self.conv1 = Conv2d(1, 6, 5, pad_mode="same")
        self.conv2 = Conv2d(6, 16, 5, pad_mode="valid")
        self.relu = ReLU()
        self.max_pool2d = MaxPool2d(kernel_size=2, stride=2)
        self.flatten = Flatten()
        self.fc1 = Dense(400, 120)
        self.fc2 = Dense(120, 84)
        self.fc3 = Dense(84, classes)

    def construct(self, x: Operators) -> Tensor:
        x = self.conv1(x)
        x = self.relu(x)
        x = self.max_pool2d(x)
        x = self.conv2(x)
        x = self.relu(x)
        x = self.max_pool2d(x)
        x = self.flatten(x)
        x = self.fc1(x)
        x = self.relu(x)
        x = self.fc2(x)
        x = self.relu(x)
        return self.fc3(x)


class AlexNet(Cell):
    """AlexNet's shape at an eighth of its width, on (N, 3, 111, 111)."""

    def __init__(self, classes: int = 10) -> None:
        self.conv1 = Conv2d(3, 12, 11, stride=4, pad_mode="valid")
        self.conv2 = Conv2d(12, 32, 5, pad_mode="same")
        self.conv3 = Conv2d(32, 48, 3, stride=2, pad_mode="same")
        self.conv4 = Conv2d(48, 48, 3, pad_mode="same")
        self.conv5 = Conv2d(48, 32, 3, pad_mode="same")
        self.relu = ReLU()
        self.max_pool2d = MaxPool2d(kernel_size=3, stride=2)
        self.flatten = Flatten()
        self.fc1 = Dense(128, 128)
        self.fc2 = Dense(128, 64)
        self.fc3 = Dense(64, classes)

    def construct(self, x: Operators) -> Tensor:
        x = self.conv1(x)
        x = self.relu(x)
        x = self.max_pool2d(x)
        x = self.conv2(x)
        x = self.relu(x)
        x = self.conv3(x)
        x = self.relu(x)
        x = self.conv4(x)
        x = self.relu(x)
        x = self.conv5(x)
        x = self.relu(x)
        x = self.max_pool2d(x)
        x = self.flatten(x)
        x = self.fc1(x)
        x = self.relu(x)
        x = self.fc2(x)
        x = self.relu(x)
        return self.fc3(x)


class MLP(Cell):
    """Three dense layers on (N, 64)."""

    def __init__(self, classes: int = 10) -> None:
        self.body = SequentialCell(Dense(64, 96, activation="relu"), Dense(96, 48))
        self.relu = ReLU()
        self.head = Dense(48, classes)

    def construct(self, x: Operators) -> Tensor:
        x = self.relu(self.body(x))
        return self.head(x)


class BatchNorm(BatchNorm2d):
    """Batch normalization with moments and factors as training leaves them, not 0 and 1."""

    def __init__(self, channels: int) -> None:
        super().__init__(channels)
        self.gamma = Parameter(Initial((channels,), "uniform", 0.3, center=1.0))
        self.beta = Parameter(Initial((channels,), "uniform", 0.2))
        mean = Initial((channels,), "uniform", 0.3)
        self.moving_mean = Parameter(mean, requires_grad=False)
        variance = Initial((channels,), "uniform", 0.5, center=1.0)
        self.moving_variance = Parameter(variance, requires_grad=False)


class BasicBlock(Cell):
    """Two convolutions around which the input is led and added again."""

    def __init__(self, channels: int, out_channels: int, stride: int = 1) -> None:
        self.conv1 = Conv2d(channels, out_channels, 3, stride, "pad", 1)
        self.bn1 = BatchNorm(out_channels)
        self.conv2 = Conv2d(out_channels, out_channels, 3, 1, "pad", 1)
        self.bn2 = BatchNorm(out_channels)
        self.relu = ReLU()
        self.down = None
        if stride != 1 or channels != out_channels:
            self.down = SequentialCell(
                Conv2d(channels, out_channels, 1, stride, "valid"), BatchNorm(out_channels)
            )

    def construct(self, x: Operators) -> Tensor:
        out = self.conv1(x)
        out = self.bn1(out)
        out = self.relu(out)
        out = self.conv2(out)
        out = self.bn2(out)
        if self.down is not None:
            x = self.down(x)
        return self.relu(out + x)


class ResNet(Cell):
    """A residual network of three blocks on (N, 3, 32, 32)."""

    def __init__(self, classes: int = 10) -> None:
        self.conv1 = Conv2d(3, 16, 3, 1, "same")
        self.bn1 = BatchNorm(16)
        self.relu = ReLU()
        self.max_pool2d = MaxPool2d(kernel_size=3, stride=2, pad_mode="same")
        self.layer1 = BasicBlock(16, 16)
        self.layer2 = BasicBlock(16, 32, stride=2)
        self.layer3 = BasicBlock(32, 64, stride=2)
        self.fc = Dense(64, classes)

    def construct(self, x: Operators) -> Tensor:
        x = self.conv1(x)
        x = self.bn1(x)
        x = self.relu(x)
        x = self.max_pool2d(x)
        x = self.layer1(x)
        x = self.layer2(x)
        x = self.layer3(x)
        x = ops.mean(x, (2, 3))
        return self.fc(x)


class Norm(LayerNorm):
    """Layer normalization with factors as training leaves them, not 1 and 0."""

    def __init__(self, size: int) -> None:
        super().__init__((size,), epsilon=1e-5)
        self.gamma = Parameter(Initial((size,), "uniform", 0.3, center=1.0))
        self.beta = Parameter(Initial((size,), "uniform", 0.2))


class Attention(Cell):
    """Self-attention of several heads over (N, S, H)."""

    def __init__(self, size: int, heads: int) -> None:
        self.heads = heads
        self.scale = 1.0 / sqrt(size // heads)
        self.query = Dense(size, size)
        self.key = Dense(size, size)
        self.value = Dense(size, size)
        self.output = Dense(size, size)

    def split(self, x: Operators) -> Tensor:
        """(N, S, H) as (N, heads, S, H / heads)."""
        batch, length, size = x.shape
        x = ops.reshape(x, (batch, length, self.heads, size // self.heads))
        return ops.transpose(x, (0, 2, 1, 3))

    def construct(self, x: Operators) -> Tensor:
        query = self.split(self.query(x))
        key = self.split(self.key(x))
        value = self.split(self.value(x))
        scores = ops.matmul(query, key, transpose_b=True)
        weights = ops.softmax(scores * self.scale)
        mixed = ops.matmul(weights, value)
        mixed = ops.transpose(mixed, (0, 2, 1, 3))
        return self.output(ops.reshape(mixed, x.shape))


class EncoderLayer(Cell):
    """Attention and two dense layers, each added to its input and normalized."""

    def __init__(self, size: int, heads: int, inner: int) -> None:
        self.attention = Attention(size, heads)
        self.norm1 = Norm(size)
        self.dense1 = Dense(size, inner)
        self.gelu = GELU()
        self.dense2 = Dense(inner, size)
        self.norm2 = Norm(size)

    def construct(self, x: Operators) -> Tensor:
        x = self.norm1(x + self.attention(x))
        inner = self.gelu(self.dense1(x))
        return self.norm2(x + self.dense2(inner))


class Transformer(Cell):
    """A Transformer encoder of two layers on token ids (N, 12) below 100."""

    def __init__(self, classes: int = 10) -> None:
        self.embedding = Embedding(100, 32)
        self.position = Parameter(Initial((12, 32), "normal", 0.5))
        self.layer1 = EncoderLayer(32, 4, 64)
        self.layer2 = EncoderLayer(32, 4, 64)
        self.head = Dense(32, classes)

    def construct(self, ids: Operators) -> Tensor:
        x = self.embedding(ids) + self.position
        x = self.layer1(x)
        x = self.layer2(x)
        x = ops.mean(x, 1)
        return self.head(x)


class Router(Cell):
    """Which experts each token of (N, S, H) goes to, and where in their queues: masks (N, S, experts · capacity).

    As in GShard (Lepikhin et al., 2020, algorithm 1), with a sequence for a group: a token goes to the ``chosen``
    experts of the largest scores, first choices of a sequence before second ones, and is left out of a full queue.
    The first mask, of ones, dispatches; the second, of scores that add up to 1 over a token's experts, combines.
    """

    def __init__(self, size: int, experts: int, chosen: int, capacity: int) -> None:
        self.experts, self.chosen, self.capacity = experts, chosen, capacity
        self.gate = Dense(size, experts, has_bias=False)

    def construct(self, x: Operators) -> tuple[Tensor, Tensor]:
        batch, length, _ = x.shape
        scores = ops.softmax(self.gate(x))
        _, choice = ops.topk(scores, self.chosen)
        mask = ops.one_hot(choice, self.experts)  # (N, S, chosen, experts)
        given = ops.sum(ops.reshape(scores, (batch, length, 1, self.experts)) * mask, -1)
        given = given / ops.sum(given, -1, keep_dims=True)
        seats = self.seats(mask)  # (N, chosen, S, experts · capacity)
        weights = ops.reshape(ops.transpose(given, (0, 2, 1)), (batch, self.chosen, length, 1))
        return ops.sum(seats, 1), ops.sum(seats * weights, 1)

    def seats(self, mask: Tensor) -> Tensor:
        """Return the place of each choice in the queue of its expert as a vector of zeros and a one."""
        batch, length, _, _ = mask.shape
        choices = self.chosen * length
        queue = ops.reshape(ops.transpose(mask, (0, 2, 1, 3)), (batch, choices, self.experts))
        before = ops.cumsum(queue, 1) - queue
        place = ops.cast(ops.sum(before * queue, -1), "int32")
        place = ops.one_hot(place, self.capacity)  # zeros for a place behind the last
        seats = ops.reshape(queue, (batch, choices, self.experts, 1)) * ops.reshape(
            place, (batch, choices, 1, self.capacity)
        )
        return ops.reshape(seats, (batch, self.chosen, length, self.experts * self.capacity))


class Experts(Cell):
    """A feed-forward network of two products for each expert, over (experts, tokens, H)."""

    def __init__(self, experts: int, size: int, inner: int) -> None:
        self.weight1 = Parameter(Initial((experts, size, inner), "normal", sqrt(2.0 / size)))
        self.gelu = GELU()
        self.weight2 = Parameter(Initial((experts, inner, size), "normal", sqrt(2.0 / inner)))

    def construct(self, x: Operators) -> Tensor:
        inner = self.gelu(ops.matmul(x, self.weight1))
        return ops.matmul(inner, self.weight2)


class MixtureOfExperts(Cell):
    """Experts of whom each token of (N, S, H) goes to a few; what they give is weighted by its scores and added."""

    def __init__(self, size: int, inner: int, experts: int, chosen: int, capacity: int) -> None:
        self.router = Router(size, experts, chosen, capacity)
        self.experts = Experts(experts, size, inner)
        self.sizes = experts, capacity

    def construct(self, x: Operators) -> Tensor:
        batch, _, size = x.shape
        experts, capacity = self.sizes
        dispatch, combine = self.router(x)
        tokens = ops.matmul(dispatch, x, transpose_a=True)  # (N, experts · capacity, H)
        tokens = ops.transpose(ops.reshape(tokens, (batch, experts, capacity, size)), (1, 0, 2, 3))
        found = self.experts(ops.reshape(tokens, (experts, batch * capacity, size)))
        found = ops.transpose(ops.reshape(found, (experts, batch, capacity, size)), (1, 0, 2, 3))
        return ops.matmul(combine, ops.reshape(found, (batch, experts * capacity, size)))


class ExpertLayer(Cell):
    """Attention and a mixture of experts, each added to its input and normalized."""

    def __init__(self, size: int, heads: int, inner: int) -> None:
        self.attention = Attention(size, heads)
        self.norm1 = Norm(size)
        self.moe = MixtureOfExperts(size, inner, experts=4, chosen=2, capacity=7)
        self.norm2 = Norm(size)

    def construct(self, x: Operators) -> Tensor:
        x = self.norm1(x + self.attention(x))
        return self.norm2(x + self.moe(x))


class MoETransformer(Cell):
    """A Transformer encoder of one layer, whose feed-forward network is a mixture of 4 experts, on ids (N, 12)."""

    def __init__(self, classes: int = 10) -> None:
        self.embedding = Embedding(100, 32)
        self.position = Parameter(Initial((12, 32), "normal", 0.5))
        self.layer = ExpertLayer(32, 4, 32)
        self.head = Dense(32, classes)

    def construct(self, ids: Operators) -> Tensor:
        x = self.embedding(ids) + self.position
        x = self.layer(x)
        return self.head(ops.mean(x, 1))


class SequenceClassifier(Cell):
    """Two layers of LSTM on (N, 8, 20); the last state is classified."""

    def __init__(self, classes: int = 10) -> None:
        self.lstm = LSTM(20, 32, num_layers=2, batch_first=True)
        self.fc = Dense(32, classes)

    def construct(self, x: Operators) -> Tensor:
        outputs, _ = self.lstm(x)
        last = outputs[:, -1]
        return self.fc(last)


def _image(seed: int, *shape: int) -> NDArray[Any]:
    return np.random.default_rng(seed).random(shape, dtype=np.float32)


def lenet(seed: int = 0) -> tuple[Cell, tuple[NDArray[Any], ...]]:
    """LeNet and a batch of two images."""
    return LeNet(), (_image(seed, 2, 1, 28, 28),)


def alexnet(seed: int = 0) -> tuple[Cell, tuple[NDArray[Any], ...]]:
    """Small AlexNet and a batch of two images."""
    return AlexNet(), (_image(seed, 2, 3, 111, 111),)


def mlp(seed: int = 0) -> tuple[Cell, tuple[NDArray[Any], ...]]:
    """Three dense layers and a batch of four vectors."""
    return MLP(), (_image(seed, 4, 64) - np.float32(0.5),)


def resnet(seed: int = 0) -> tuple[Cell, tuple[NDArray[Any], ...]]:
    """Small residual network and a batch of two images."""
    return ResNet(), (_image(seed, 2, 3, 32, 32),)


def transformer(seed: int = 0) -> tuple[Cell, tuple[NDArray[Any], ...]]:
    """Small Transformer encoder and two sequences of token ids."""
    ids = np.random.default_rng(seed).integers(0, 100, (2, 12), dtype=np.int32)
    return Transformer(), (ids,)


def lstm(seed: int = 0) -> tuple[Cell, tuple[NDArray[Any], ...]]:
    """Small classifier of sequences and a batch of two."""
    return SequenceClassifier(), (_image(seed, 2, 8, 20) - np.float32(0.5),)


MODELS: dict[str, Callable[[int], tuple[Cell, tuple[NDArray[Any], ...]]]] = {
    "lenet": lenet,
    "alexnet": alexnet,
    "mlp": mlp,
    "resnet": resnet,
    "transformer": transformer,
    "lstm": lstm,
}
"""Network and example inputs by name; both are the same for the same seed."""
