"""Networks and functions to be traced: small ones for hypothesis, control flow, and every operator for its gradient.

`graphs` draws a few operators in a row, some of them awkward to dump. `FLOWS` are the networks of
``conformance/run_mindspore_flows.py``. `GRADIENTS` is one table for the whole vocabulary: functions with inputs at
which their gradients are checked. These stay away from places where a function has no derivative and are float64;
what is not differentiated (indices, masks) stands inside the functions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st

from workbench.network import nn
from workbench.network.nn import functional as F
from workbench.network.symbolic import Parameter, record, record_all
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


# ---------------- gradients

_RNG = np.random.default_rng(2026)


class Case(NamedTuple):
    """A function of tensors, and the arrays it is differentiated at."""

    function: Callable[..., Any]
    points: tuple[np.ndarray[Any, Any], ...]


def anywhere(*shape: int) -> np.ndarray[Any, Any]:
    """Numbers of both signs between 0.2 and 0.9 in size, all different."""
    sizes = _RNG.permutation(np.linspace(0.2, 0.9, max(1, int(np.prod(shape)))))
    return np.asarray(sizes * _RNG.choice([-1.0, 1.0], sizes.shape)).reshape(shape)


def positive(*shape: int) -> np.ndarray[Any, Any]:
    """Positive numbers, none of them one of `anywhere`."""
    return np.asarray(np.abs(anywhere(*shape)) + 0.0371)


def one(op_type: str, *arguments: Any, point: Any = None, **attrs: Any) -> list[Case]:
    """Case of an operator with one tensor, in front of other arguments."""
    at = anywhere(2, 3) if point is None else point
    return [Case(lambda x: record(op_type, x, *arguments, **attrs), (at,))]


def two(op_type: str, left: Any = anywhere, right: Any = positive) -> list[Case]:
    """Cases of an operator with two tensors: of one shape, and stretched in several ways."""
    shapes = [((2, 3), (2, 3)), ((2, 3), (3,)), ((1, 3), (2, 1)), ((2, 3), ()), ((3,), (2, 1, 3))]
    return [Case(lambda x, y: record(op_type, x, y), (left(*a), right(*b))) for a, b in shapes]


def between(low: float, high: float) -> np.ndarray[Any, Any]:
    """Numbers between two bounds."""
    return _RNG.uniform(low, high, (2, 3))


def products(op_type: str, *stack: int) -> list[Case]:
    """Matrix products with all ways to transpose."""
    cases = []
    for flip_x in (False, True):
        for flip_y in (False, True):
            x = anywhere(*stack, *((4, 2) if flip_x else (2, 4)))
            y = anywhere(*stack, *((3, 4) if flip_y else (4, 3)))
            cases.append(Case(lambda x, y, a=flip_x, b=flip_y: record(op_type, x, y, a, b), (x, y)))
    return cases


def convolution(**settings: Any) -> Case:
    weight = anywhere(4, 2 // settings.get("group", 1), 3, 2)
    return Case(lambda x, w: F.conv2d(x, w, **settings), (anywhere(1, 2, 5, 6), weight))


def transposed(**settings: Any) -> Case:
    return Case(
        lambda x, w: F.conv2d_transpose(x, w, **settings),
        (anywhere(1, 3, 3, 4), anywhere(3, 2, 2, 3)),
    )


def window(op_type: str) -> list[Case]:
    pool = {"MaxPool": F.max_pool2d, "AvgPool": F.avg_pool2d}[op_type]
    return [
        Case(lambda x, s=settings: pool(x, *s), (anywhere(1, 2, 5, 6),))
        for settings in ((2, 2), (3, 2, "same"), ((2, 3), 1), (3, 1, "same"))
    ]


def moments(training: bool) -> Case:
    mean, variance = anywhere(3), positive(3) + 0.5

    def norm(x: Any, scale: Any, bias: Any) -> Any:
        settings = (training, 1e-3, 0.1, 0)
        return record_all("BatchNorm", x, scale, bias, mean, variance, *settings)[0]

    return Case(norm, (anywhere(2, 3, 2, 2), anywhere(3), anywhere(3)))


def recurrent(states: bool) -> Case:
    settings = {
        "cell_type": "LSTM", "direction": "UNIDIRECTIONAL", "cell_depth": 1, "use_peephole": False,
        "keep_prob": 1.0, "cell_clip": -1.0, "num_proj": 0, "time_major": True, "activation": "tanh",
        "forget_bias": 0.5, "is_training": True,
    }  # fmt: skip

    def layer(x: Any, w: Any, b: Any, h: Any, c: Any) -> Any:
        y, last, cell, *_ = record_all("DynamicRNN", x, w, b, None, h, c, **settings)
        return (y, last[-1], cell[-1]) if states else y

    points = (
        anywhere(3, 2, 4),
        anywhere(7, 12),
        anywhere(12),
        anywhere(1, 2, 3),
        anywhere(1, 2, 3),
    )
    return Case(layer, points)


ROWS = np.array([[0, 1], [2, 0]], np.int64)
LABELS = np.array([2, 0, 1], np.int32)
LIKELY = np.array([[0.2, 0.3, 0.5, 0.0], [0.0, 0.0, 1.0, 0.0], [0.25, 0.25, 0.25, 0.25]])
MASK = np.array([[True, False, True], [False, False, True]])

GRADIENTS: dict[str, list[Case]] = {
    # cube unit
    "Conv2D": [
        convolution(),
        convolution(pad_mode="same", stride=2),
        convolution(pad_mode="pad", padding=1, dilation=2),
        convolution(group=2, stride=(2, 1)),
    ],
    "Conv2DTranspose": [
        transposed(),
        transposed(stride=2),
        transposed(pad_mode="same", stride=2),
        transposed(pad_mode="pad", padding=1),
    ],
    "MatMul": products("MatMul"),
    "BatchMatMul": [
        *products("BatchMatMul", 2),
        Case(lambda x, y: record("BatchMatMul", x, y, False, False), (anywhere(2, 2, 3), anywhere(3, 2))),
        Case(
            lambda x, y: record("BatchMatMul", x, y, False, True),
            (anywhere(2, 1, 2, 3), anywhere(1, 3, 4, 3)),
        ),
    ],
    "LSTM": [
        Case(
            lambda *inputs: record_all("LSTM", *inputs, input_size=2, hidden_size=3, num_layers=1)[
                :3
            ],
            (anywhere(2, 2, 2), anywhere(1, 2, 3), anywhere(1, 2, 3), anywhere(72, 1, 1)),
        )
    ],
    "DynamicRNN": [recurrent(states=False), recurrent(states=True)],
    # two inputs and more
    **{name: two(name) for name in ("Add", "Sub", "Mul", "RealDiv", "Maximum", "Minimum")},
    "Pow": two("Pow", positive, anywhere),
    "AddN": [Case(lambda x, y: record("AddN", (x, y, x), n=3, N=3), (anywhere(2), anywhere(2)))],
    "BiasAdd": [
        Case(lambda x, y: record("BiasAdd", x, y, 0), (anywhere(*shape), anywhere(3)))
        for shape in ((2, 3), (2, 3, 2, 2))
    ],
    "PReLU": [
        Case(lambda x, w: record("PReLU", x, w), (anywhere(2, 3, 2), anywhere(count)))
        for count in (3, 1)
    ],
    "Select": [Case(lambda x, y: record("Select", MASK, x, y), (anywhere(2, 3), anywhere(2, 3)))],
    "MaskedFill": [
        Case(lambda x, y: record("MaskedFill", x, MASK, y), (anywhere(2, 3), anywhere())),
        Case(lambda x: record("MaskedFill", x, MASK[0], 2.0), (anywhere(2, 3),)),
    ],
    "Dropout": [
        Case(
            lambda x: record_all("Dropout", x, keep_prob=0.5, Seed0=1, Seed1=2)[0], (anywhere(4, 4),)
        )
    ],
    # one input
    **{
        name: one(name)
        for name in (
            "ReLU", "SeLU", "SiLU", "Softplus", "Softsign", "Mish", "Sigmoid", "GeLU", "Erf",
            "Reciprocal", "Exp", "Sin", "Cos", "Tanh", "Abs", "Neg", "Square",
        )
    },
    **{name: one(name, point=between(0.3, 2.0)) for name in ("Sqrt", "Rsqrt", "Log")},
    "ReLU6": one("ReLU6", point=np.array([-1.0, 0.5, 5.5, 6.5])),
    "HSwish": one("HSwish", point=np.array([-4.0, -2.5, -0.5, 2.5, 3.5])),
    "HSigmoid": one("HSigmoid", point=np.array([-4.0, -2.5, -0.5, 2.5, 3.5])),
    "Elu": [*one("Elu", 1.0), *one("Elu", 0.5)],
    "ClampScalar": [
        *one("ClampScalar", -0.45, 0.55),
        *one("ClampScalar", None, 0.45),
        *one("ClampScalar", -0.45, None),
        *one("ClampScalar", None, None),
    ],
    "Cast": one("Cast", dst_type="float64"),
    # steps and constants
    **{name: one(name) for name in ("Sign", "Floor", "Ceil", "Round", "OnesLike")},
    "FloorDiv": two("FloorDiv"),
    # reductions
    "Softmax": [*one("Softmax", (-1,)), *one("Softmax", (0,), point=anywhere(3, 2, 2))],
    "LogSoftmax": [*one("LogSoftmax", -1), *one("LogSoftmax", 1, point=anywhere(2, 3, 2))],
    **{
        name: [
            case
            for axes in ((), (1,), (0, -1), (1, 2))
            for kept in (False, True)
            for case in one(name, axes, kept, *more, point=anywhere(2, 3, 2))
        ]
        for name, more in (
            ("ReduceMean", ()),
            ("ReduceSum", (False,)),
            ("ReduceMax", ()),
            ("ReduceMin", ()),
        )
    },
    "TopK": [Case(lambda x: record_all("TopK", x, 2, sorted=True)[0], (anywhere(2, 2, 4),))],
    "CumSum": [
        case
        for exclusive in (False, True)
        for reverse in (False, True)
        for case in one("CumSum", 1, exclusive, reverse, point=anywhere(2, 4))
    ],
    # normalizations, windows and losses
    "LayerNorm": [
        Case(
            lambda x, g, b: record_all("LayerNorm", x, g, b, -1, -1, 1e-3)[0],
            (anywhere(2, 2, 4), anywhere(4), anywhere(4)),
        ),
        Case(
            lambda x, g, b: record_all("LayerNorm", x, g, b, 1, 1, 1e-3)[0],
            (anywhere(2, 2, 3), anywhere(2, 3), anywhere(2, 3)),
        ),
    ],
    "RmsNorm": [
        Case(lambda x, g: record_all("RmsNorm", x, g, 1e-3)[0], (anywhere(2, 4), anywhere(4)))
    ],
    "GroupNorm": [
        Case(
            lambda x, g, b: record_all("GroupNorm", x, 2, g, b, 1e-3)[0],
            (anywhere(2, 4, 3), anywhere(4), anywhere(4)),
        )
    ],
    "BatchNorm": [moments(training=False), moments(training=True)],
    "MaxPool": window("MaxPool"),
    "AvgPool": window("AvgPool"),
    "SoftmaxCrossEntropyWithLogits": [
        Case(
            lambda x: record_all("SoftmaxCrossEntropyWithLogits", x, LIKELY)[0], (anywhere(3, 4),)
        )
    ],
    "SparseSoftmaxCrossEntropyWithLogits": [
        Case(
            lambda x: record("SparseSoftmaxCrossEntropyWithLogits", x, LABELS, is_grad=False),
            (anywhere(3, 4),),
        )
    ],
    # data movement
    "Reshape": one("Reshape", (3, -1)),
    "Flatten": one("Flatten", point=anywhere(2, 3, 2)),
    "ExpandDims": one("ExpandDims", 1),
    "Squeeze": one("Squeeze", (1,), point=anywhere(2, 1, 3)),
    "Transpose": one("Transpose", (2, 0, 1), point=anywhere(2, 3, 2)),
    "Concat": [
        Case(lambda x, y: record("Concat", (x, y, x), -1), (anywhere(2, 3), anywhere(2, 1)))
    ],
    "Stack": [
        Case(
            lambda x, y, a=axis: record("Stack", (x, y), axis=a, num=2, N=2),
            (anywhere(2, 3), anywhere(2, 3)),
        )
        for axis in (0, -1)
    ],
    "Split": [
        Case(lambda x: record_all("Split", x, 1, 2), (anywhere(2, 4),)),
        Case(lambda x: record_all("Split", x, -1, 2)[1], (anywhere(2, 4),)),
    ],
    "SplitV": [
        Case(
            lambda x: record_all("SplitV", x, size_splits=(1, 3), split_dim=1, num_split=2),
            (anywhere(2, 4),),
        )
    ],
    "Slice": one("Slice", (0, 1), (2, 2)),
    "StridedSlice": [
        Case(lambda x, i=index: x[i], (anywhere(3, 4),))
        for index in (1, (slice(None), slice(None, None, 2)), (slice(2, None, -1), None), (..., -1))
    ],
    "PadV3": [
        Case(lambda x, p=padding: F.pad(x, p, value=0.5), (anywhere(2, 3),))
        for padding in ((1, 2), (0, 1, 2, 0))
    ]
    + [
        Case(lambda x, m=mode: F.pad(x, (1, 2), m), (anywhere(2, 3, 4),))
        for mode in ("reflect", "edge", "circular")
    ],
    "Tile": [*one("Tile", (2, 3)), *one("Tile", (2, 1, 3)), *one("Tile", (2,))],
    "BroadcastTo": [
        *one("BroadcastTo", (4, 2, 3)),
        *one("BroadcastTo", (2, 3), point=anywhere(2, 1)),
    ],
    "ReverseV2": one("ReverseV2", (1,)),
    "Gather": [
        Case(lambda x, a=axis: record("Gather", x, ROWS, a, 0), (anywhere(3, 4, 3),))
        for axis in (0, 2, -2)
    ],
    "GatherD": [Case(lambda x: record("GatherD", x, 1, np.array([[0, 0], [2, 1]])), (anywhere(2, 3),))],
    "GatherNd": [
        Case(lambda x: record("GatherNd", x, ROWS), (anywhere(3, 2),)),
        Case(lambda x: record("GatherNd", x, np.array([[1], [1]])), (anywhere(3, 2),)),
    ],
}  # fmt: skip
"""Operator type → cases of its gradient."""
