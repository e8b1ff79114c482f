"""The network that every configuration dumps: few kinds of operators, two of a type, parameters."""

from __future__ import annotations

import mindspore as ms
import numpy as np
from mindspore import Tensor, nn

STEPS = 6


class Net(nn.Cell):
    """Convolution, two dense layers, two additions in one scope."""

    def __init__(self) -> None:
        super().__init__()
        weights = {"weight_init": "ones", "bias_init": "zeros"}
        self.conv = nn.Conv2d(1, 2, 3, pad_mode="valid", has_bias=True, **weights)
        self.relu = nn.ReLU()
        self.flatten = nn.Flatten()
        self.fc1 = nn.Dense(8, 4, activation="relu", **weights)
        self.fc2 = nn.Dense(4, 2, **weights)

    def construct(self, x: Tensor) -> Tensor:
        """Of (1, 1, 4, 4) make (1, 2)."""
        y = self.flatten(self.relu(self.conv(x * x)))
        return self.fc2(self.fc1(y + y) + 2.0)


def run() -> None:
    """Build it and run ``STEPS`` iterations on the CPU."""
    ms.set_context(mode=ms.GRAPH_MODE, device_target="CPU")
    net = Net()
    x = Tensor(np.ones((1, 1, 4, 4), np.float32))
    for _ in range(STEPS):
        net(x)
