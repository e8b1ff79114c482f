"""The networks of ``conformance/run_mindspore_flows.py``, written for a trace."""

import numpy as np

from workbench.graph import functional as F
from workbench.graph import nn
from workbench.graph.tensor import Parameter, record


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


CASES = {
    "both": Both,
    "loop": Loop,
    "first": First,
    "choice": Choice,
    "counting": Counting,
    "inside": Inside,
}
"""By the names of the record; a loop's first argument is how often it turns, a choice's the side."""
