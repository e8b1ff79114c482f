"""Small traced networks for hypothesis: a few operators in a row, some of them awkward to dump."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from workbench.graph import functional as F
from workbench.graph.cell import Cell
from workbench.graph.tracer import trace

X = np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4)

STEPS = {
    "relu": F.relu,
    "tanh": lambda x: F.tanh(x.astype("float32")),
    "add": lambda x: x + x,
    "scale": lambda x: x * 2,
    "reshape": lambda x: x.reshape(-1),
    "square": lambda x: x.reshape(2, 6).transpose(1, 0),
    "expand": lambda x: F.expand_dims(x, 0),
    "concat": lambda x: F.concat((x, x), 0),
    "softmax": lambda x: F.softmax(x.astype("float32")),
    "mean": lambda x: x.astype("float32").mean(0),
    "half": lambda x: x.astype("float16"),
    "int": lambda x: x.astype("int32"),
    "bf16": lambda x: x.astype("bfloat16"),
}
"""Each takes a tensor of any shape, or ends the network if its shape does not fit."""


class Named(Cell):
    """A network whose only layer has a name of so many letters."""

    def __init__(self, steps: list[str], letters: int) -> None:
        super().__init__()
        setattr(self, "n" * letters, _Steps(steps))

    def construct(self, x):
        for _, cell in self.cells():
            x = cell(x)
        return x


class _Steps(Cell):
    def __init__(self, steps: list[str]) -> None:
        super().__init__()
        self.steps = steps

    def construct(self, x):
        for step in self.steps:
            if step == "square" and np.prod(x.shape) != 12:
                continue
            if step in ("mean", "softmax", "concat") and not x.shape:
                continue
            x = STEPS[step](x)
        return x


def graphs():
    """Graphs of 1 to 6 operators; some of their file names are longer than 255 bytes."""
    steps = st.lists(st.sampled_from(sorted(STEPS)), min_size=1, max_size=6)
    letters = st.sampled_from((1, 8, 150, 185, 190, 195, 240))
    return st.builds(lambda s, n: trace(Named(s, n), X), steps, letters)
