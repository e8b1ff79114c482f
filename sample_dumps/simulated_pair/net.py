"""LeNet on two small images: what both dumps of this folder come from."""

import numpy as np

from workbench import nn


class LeNet(nn.Cell):
    """Two convolutions and three dense layers on (N, 1, 20, 20)."""

    def __init__(self):
        self.conv1 = nn.Conv2d(1, 6, 5, pad_mode="same")
        self.conv2 = nn.Conv2d(6, 16, 5, pad_mode="valid")
        self.relu = nn.ReLU()
        self.max_pool2d = nn.MaxPool2d(kernel_size=2, stride=2)
        self.flatten = nn.Flatten()
        self.fc1 = nn.Dense(144, 60)
        self.fc2 = nn.Dense(60, 42)
        self.fc3 = nn.Dense(42, 10)

    def construct(self, x):
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


def inputs(seed):
    """Return the network's input: two images."""
    return np.random.default_rng(seed).random((2, 1, 20, 20), dtype=np.float32)
