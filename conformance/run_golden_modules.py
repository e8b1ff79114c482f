"""Has the workbench watch modules of PyTorch and Keras, and records what it wrote, beside weights and inputs.

``run_golden_modules.py RECORD``; needs PyTorch, Keras and the workbench. `tests/golden_data/test_recorded_modules.py`
computes the same from the weights by NumPy.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

os.environ["KERAS_BACKEND"] = "torch"

import keras
import numpy as np
import torch

import workbench as wb

X = np.linspace(-1, 1, 8, dtype=np.float32).reshape(2, 4)


class Net(torch.nn.Module):
    """A block, and a head that is called twice; results lie in a mapping."""

    def __init__(self) -> None:
        super().__init__()
        self.block = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.ReLU(inplace=True))
        self.head = torch.nn.Linear(3, 2)

    def forward(self, x: torch.Tensor) -> dict[str, Any]:
        hidden = self.block(x)
        return {"first": self.head(hidden), "others": (self.head(hidden * 2), None)}


def of_torch() -> tuple[Any, list[np.ndarray]]:
    """A module of PyTorch, and its weights: kernels with a column an output."""
    torch.manual_seed(0)
    net = Net()
    parts = [net.block[0].weight.T, net.block[0].bias, net.head.weight.T, net.head.bias]
    return net, [one.detach().numpy() for one in parts]


def of_keras() -> tuple[Any, list[np.ndarray]]:
    """The same layers of Keras."""
    keras.utils.set_random_seed(0)
    image = keras.Input((4,))
    hidden = keras.layers.ReLU(name="act")(keras.layers.Dense(3, name="hidden")(image))
    model = keras.Model(image, keras.layers.Dense(2, name="head")(hidden), name="net")
    return model, model.get_weights()


def written(root: Path) -> list[list[Any]]:
    """Name, output and values of each file, in order of time."""
    paths = sorted(root.glob("*.npy"), key=lambda path: path.name.split(".")[-2])
    return [
        [name, int(slot), np.load(path).tolist()]
        for path in paths
        for name, slot, *_ in [path.name.split(".")]
    ]


def recorded(model: Any, weights: list[np.ndarray]) -> dict[str, Any]:
    """What the workbench writes of a module."""
    with tempfile.TemporaryDirectory() as folder:
        done = wb.golden(model, X, Path(folder) / "out")
        files = written(Path(folder) / "out")
    return {"engine": done.engine, "weights": [one.tolist() for one in weights], "files": files}


versions = {"torch": torch.__version__, "keras": keras.__version__}
record = versions | {"x": X.tolist(), "modules": [recorded(*of_torch()), recorded(*of_keras())]}
Path(sys.argv[1]).write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
