"""Small trainings, spelled so that MindSpore's ``nn`` and ours build the same ones.

`build` takes either module. Weights and batches depend on their names and the step alone.
"""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np

STEPS = 4

_RATE = {
    "exponential": ("ExponentialDecayLR", (0.1, 0.5, 2)),
    "exponential-stair": ("ExponentialDecayLR", (0.1, 0.5, 2, True)),
    "natural": ("NaturalExpDecayLR", (0.1, 0.3, 2, False)),
    "natural-stair": ("NaturalExpDecayLR", (0.1, 0.3, 2, True)),
    "inverse": ("InverseDecayLR", (0.1, 0.9, 2, True)),
    "cosine": ("CosineDecayLR", (0.01, 0.1, 3)),
    "polynomial": ("PolynomialDecayLR", (0.1, 0.01, 3, 0.5)),
    "polynomial-update": ("PolynomialDecayLR", (0.1, 0.01, 2, 2.0, True)),
    "warmup": ("WarmUpLR", (0.1, 3)),
}
"""Schedule of a case: class and arguments."""

_MOMENTUM = {"momentum": 0.9}
CASES: dict[str, dict[str, Any]] = {
    "sgd": {"optimizer": "SGD", "options": {}},
    "sgd-momentum": {
        "optimizer": "SGD",
        "options": {**_MOMENTUM, "dampening": 0.2, "weight_decay": 0.01, "loss_scale": 4.0},
        "sens": 4.0,
    },
    "sgd-nesterov": {"optimizer": "SGD", "options": {**_MOMENTUM, "nesterov": True}},
    "momentum": {"optimizer": "Momentum", "options": _MOMENTUM},
    "momentum-nesterov": {"optimizer": "Momentum", "options": {**_MOMENTUM, "use_nesterov": True}},
    "momentum-decay": {
        "optimizer": "Momentum",
        "options": {**_MOMENTUM, "weight_decay": 0.05, "loss_scale": 1024.0},
        "sens": 1024.0,
    },
    "momentum-list": {"optimizer": "Momentum", "options": _MOMENTUM, "rate": [0.1, 0.05, 0.2, 0.1]},
    **{
        f"momentum-{name}": {"optimizer": "Momentum", "options": _MOMENTUM, "rate": name}
        for name in _RATE
    },
    "adam": {"optimizer": "Adam", "options": {"weight_decay": 0.01}},
    "adam-nesterov": {"optimizer": "Adam", "options": {"use_nesterov": True, "beta1": 0.7}},
    "adam-decay": {"optimizer": "AdamWeightDecay", "options": {"weight_decay": 0.1}},
    "mean-square": {"optimizer": "Momentum", "options": _MOMENTUM, "loss": ("MSELoss", {})},
    "absolute": {
        "optimizer": "Momentum",
        "options": _MOMENTUM,
        "loss": ("L1Loss", {"reduction": "sum"}),
    },
    "dense-labels": {
        "optimizer": "Momentum",
        "options": _MOMENTUM,
        "loss": ("SoftmaxCrossEntropyWithLogits", {"sparse": False, "reduction": "mean"}),
    },
    "batch-normalization": {"optimizer": "Momentum", "options": _MOMENTUM, "images": True},
}
"""Cases by name; without ``rate`` the learning rate is 0.1, without ``loss`` classes are learnt."""


def numbers(name: str, *shape: int) -> np.ndarray:
    """Return numbers that depend on a name alone."""
    return np.random.RandomState(zlib.crc32(name.encode())).randn(*shape).astype(np.float32)


def batch(case: dict[str, Any], step: int) -> tuple[np.ndarray, np.ndarray]:
    """Return inputs and labels of a step."""
    data = numbers(f"data{step}", 4, 1, 4, 4) if "images" in case else numbers(f"data{step}", 4, 6)
    labels = np.abs(numbers(f"labels{step}", 4, 3))
    if "loss" in case:
        return data, labels / labels.sum(axis=1, keepdims=True)
    return data, labels.argmax(axis=1).astype(np.int32)


def build(nn: Any, case: dict[str, Any], tensor: Any) -> Any:
    """Return the training cell of a case; ``tensor`` makes what the framework takes for values."""

    class Net(nn.Cell):  # type: ignore[misc,name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.fc1 = nn.Dense(6, 5, activation="relu")
            self.fc2 = nn.Dense(5, 3)

        def construct(self, x: Any) -> Any:
            return self.fc2(self.fc1(x))

    class Images(nn.Cell):  # type: ignore[misc,name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.conv = nn.Conv2d(1, 2, 3)
            self.bn = nn.BatchNorm2d(2)
            self.relu = nn.ReLU()
            self.flatten = nn.Flatten()
            self.fc = nn.Dense(32, 3)

        def construct(self, x: Any) -> Any:
            x = self.conv(x)
            x = self.bn(x)
            x = self.relu(x)
            return self.fc(self.flatten(x))

    net = Images() if "images" in case else Net()
    for weight in net.trainable_params():
        weight.set_data(tensor(0.5 * numbers(weight.name, *weight.shape)))
    rate = case.get("rate", 0.1)
    if isinstance(rate, str):
        kind, arguments = _RATE[rate]
        rate = getattr(nn, kind)(*arguments)
    optimizer = getattr(nn, case["optimizer"])(
        net.trainable_params(), learning_rate=rate, **case["options"]
    )
    default = ("SoftmaxCrossEntropyWithLogits", {"sparse": True, "reduction": "mean"})
    kind, options = case.get("loss", default)
    network = nn.WithLossCell(net, getattr(nn, kind)(**options))
    train = nn.TrainOneStepCell(network, optimizer, sens=case.get("sens"))
    train.set_train()
    return train
