"""Small networks to rehearse with, and `load_graph`, which finds one by what the user typed."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.core.errors import GraphError
from workbench.graph.nn import (
    Cell,
    Conv2d,
    Dense,
    Flatten,
    MaxPool2d,
    ReLU,
    SequentialCell,
)
from workbench.graph.tracer import trace

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

    from numpy.typing import NDArray

    from workbench.graph.nodes import Graph
    from workbench.graph.tensor import Operators, Tensor


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
        return self.fc3(x)  # type: ignore[no-any-return]


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
        return self.fc3(x)  # type: ignore[no-any-return]


class MLP(Cell):
    """Three dense layers on (N, 64)."""

    def __init__(self, classes: int = 10) -> None:
        self.body = SequentialCell(Dense(64, 96, activation="relu"), Dense(96, 48))
        self.relu = ReLU()
        self.head = Dense(48, classes)

    def construct(self, x: Operators) -> Tensor:
        x = self.relu(self.body(x))
        return self.head(x)  # type: ignore[no-any-return]


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


MODELS: dict[str, Callable[[int], tuple[Cell, tuple[NDArray[Any], ...]]]] = {
    "lenet": lenet,
    "alexnet": alexnet,
    "mlp": mlp,
}
"""Network and example inputs by name; both are the same for the same seed."""


def load_graph(text: str, seed: int = 0) -> Graph:
    """Return the graph that ``text`` names: a model of the table, or ``file.py:Name``.

    ``Name`` is a Cell class (built without arguments), a Cell, or a function. The file says what
    goes in: ``INPUTS``, or ``inputs()``, or ``inputs(seed)`` - one array, or a tuple of them.
    """
    if text in MODELS:
        network, inputs = MODELS[text](seed)
        return trace(network, *inputs, seed=seed)
    path, _, name = text.rpartition(":")
    if not path.endswith(".py"):
        known = f"one of {sorted(MODELS)} or 'file.py:Name'"
        message = f"graph must be {known}, got {text!r}"
        raise GraphError(message)
    return _load_file(Path(path), name, seed)


def _load_file(path: Path, name: str, seed: int) -> Graph:
    if not path.is_file():
        message = f"graph file must exist, got {str(path)!r}"
        raise GraphError(message)
    module = _execute(path)
    network = getattr(module, name, None)
    if network is None:
        known = sorted(key for key, value in vars(module).items() if _is_network(value, module))
        message = f"network in {path} must be one of {known}, got {name!r}"
        raise GraphError(message)
    if isinstance(network, type):
        network = network()
    return trace(network, *_inputs(module, path, seed), name=name, seed=seed)


def _execute(path: Path) -> ModuleType:
    """Run the user's file as a module; its folder is on the path meanwhile, as if run by Python.

    The code keeps the name as the user typed it, so that source lines show ``net.py``.
    """
    spec = importlib.util.spec_from_file_location(path.stem, path.resolve())
    if spec is None:
        message = f"graph file must be a Python file, got {str(path)!r}"
        raise GraphError(message)
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(path.resolve().parent))
    try:
        exec(compile(path.read_bytes(), str(path), "exec"), vars(module))
    except Exception as error:
        message = f"graph file {path} must run without error, got {type(error).__name__}: {error}"
        raise GraphError(message) from error
    finally:
        sys.path.remove(str(path.resolve().parent))
    return module


def _is_network(value: Any, module: ModuleType) -> bool:
    if isinstance(value, Cell):
        return True
    own = getattr(value, "__module__", None) == module.__name__
    return own and callable(value) and getattr(value, "__name__", "") != "inputs"


def _inputs(module: ModuleType, path: Path, seed: int) -> tuple[Any, ...]:
    value = getattr(module, "INPUTS", None)
    make = getattr(module, "inputs", None)
    if value is None and make is not None:
        value = make(seed) if make.__code__.co_argcount else make()
    if value is None:
        message = f"{path} must define INPUTS or inputs(), got neither; e.g. INPUTS = (x,)"
        raise GraphError(message)
    return tuple(value) if isinstance(value, tuple | list) else (value,)
