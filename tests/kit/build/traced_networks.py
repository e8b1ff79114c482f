"""Networks to be traced: small ones for hypothesis, and control flow.

`graphs` draws a few operators in a row, some of them awkward to dump. `FLOWS` are the networks of
``conformance/run_mindspore_flows.py``.
"""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from workbench.network import nn
from workbench.network.nn import functional as F
from workbench.network.symbolic import Parameter, record
from workbench.network.tracer import trace

X = np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4)

_STEPS = {
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


class Named(nn.Cell):
    """A network whose only layer has a name of so many letters."""

    def __init__(self, steps: list[str], letters: int) -> None:
        super().__init__()
        setattr(self, "n" * letters, _Steps(steps))

    def construct(self, x):
        for _, cell in self.cells():
            x = cell(x)
        return x


class _Steps(nn.Cell):
    def __init__(self, steps: list[str]) -> None:
        super().__init__()
        self.steps = steps

    def construct(self, x):
        for step in self.steps:
            if step == "square" and np.prod(x.shape) != 12:
                continue
            if step in ("mean", "softmax", "concat") and not x.shape:
                continue
            x = _STEPS[step](x)
        return x


def graphs():
    """Graphs of 1 to 6 operators; some of their file names are longer than 255 bytes."""
    steps = st.lists(st.sampled_from(sorted(_STEPS)), min_size=1, max_size=6)
    letters = st.sampled_from((1, 8, 150, 185, 190, 195, 240))
    return st.builds(lambda s, n: trace(Named(s, n), X), steps, letters)


# ---------------- control flow


class Base(nn.Cell):
    def __init__(self):
        super().__init__()
        self.fc, self.mid = nn.Dense(4, 4), nn.Dense(4, 4)
        self.out, self.relu = nn.Dense(4, 3), nn.ReLU()
        self.count = Parameter(np.int32(0), "count")

    def turns(self, n, h, body_of_h):
        """Apply a function n times."""

        def body(value):
            made = body_of_h(value[1])
            return value[0] + 1, made

        return F.while_loop(lambda value: F.less(value[0], n), body, (np.int32(0), h))[1]


class Both(Base):
    def construct(self, n, x):
        h = self.turns(n, self.relu(x), lambda h: self.relu(self.fc(h)) + x)
        positive = F.greater(h.sum(), 0.0)
        return F.cond(positive, self.out, lambda h: self.out(-h) * 2.0, h)


class Loop(Base):
    def construct(self, n, x):
        h = self.turns(n, self.relu(self.mid(x)), lambda h: self.relu(self.fc(h)) + x)
        return self.out(h)


class First(Base):
    def construct(self, n, x):
        return self.out(self.turns(n, x, lambda h: self.relu(self.fc(h))))


class Choice(Base):
    def construct(self, p, x):
        h = self.fc(x)
        then = lambda h: (self.out(h), self.relu(h))  # noqa: E731
        y, z = F.cond(p, then, lambda h: (self.out(-h) * 2.0, x), h)
        return y * 3.0, z + 1.0


class Counting(Base):
    def construct(self, p, x):
        def then(x):
            h = self.fc(x)
            record("AssignAdd", self.count, np.int32(1))
            return h

        return F.cond(p, then, self.mid, x)


class Inside(Base):
    def construct(self, n, x):
        def body(h):
            h = h + x
            positive = F.greater(h.sum(), 0.0)
            h = F.cond(positive, lambda h: self.relu(self.mid(h)), lambda h: self.mid(-h), h)
            return h * 2.0

        return self.out(self.turns(n, self.fc(x), body) - x)


FLOWS = {
    "both": Both,
    "loop": Loop,
    "first": First,
    "choice": Choice,
    "counting": Counting,
    "inside": Inside,
}
"""By the names of the record; a loop's first argument is how often it turns, a choice's the side."""
