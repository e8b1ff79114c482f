"""Operators in the words of smaller ones, as exporters and compilers write them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from workbench.graph.graph import Const, Op, Value

if TYPE_CHECKING:
    from collections.abc import Callable

    from aligning.twin import Twin
    from workbench.graph.graph import Operand


class Writer:
    """Operators in place of one: they stand where it stood, for what it stood for."""

    def __init__(self, twin: Twin, number: int) -> None:
        self.twin, self.number = twin, number
        self.op = twin.ops[number]
        self.inputs = list(self.op.flat_inputs())
        self.shape = self.op.outputs[0].shape or ()
        self._count = 0

    def __call__(
        self, op_type: str, *inputs: Operand, shape: tuple[int, ...] | None = None
    ) -> Value:
        """Write one operator; returns its output."""
        self._count += 1
        spec = self.op.outputs[0]._replace(shape=self.shape if shape is None else shape)
        name = f"{self.op.scope}/{op_type}-part{self.number}x{self._count}"
        frames = self.op.frames
        op = Op(name, op_type, inputs, {}, (spec,), (None,) * len(inputs), frames=frames)
        place = self.twin.places[self.number] + self._count / 1000
        return self.twin.add(op, self.twin.stands[self.number], place)

    def mean(self, value: Operand, *, sums: str = "ReduceMean") -> Value:
        """A reduction over the last axis."""
        axes = Const((-1,), "tuple", (1,)), Const(True, "bool", ())
        return self(sums, value, *axes, shape=(*self.shape[:-1], 1))

    def end(self, *results: Value) -> None:
        """Let these values be those of the operator, which goes."""
        for slot, value in enumerate(results):
            self.twin.redirect(Value(self.number, slot), value)
        self.twin.remove(self.number)


def number(value: float) -> Const:
    """A constant scalar."""
    return Const(value, "float32", ())


def layer_norm(write: Writer) -> None:
    x, gamma, beta, *_ = write.inputs
    mean = write.mean(x)
    centred = write("Sub", x, mean)
    variance = write.mean(write("Square", centred))
    epsilon = write("Add", variance, number(1e-5), shape=(*write.shape[:-1], 1))
    factor = write("Rsqrt", epsilon, shape=(*write.shape[:-1], 1))
    normal = write("Mul", centred, factor)
    write.end(write("Add", write("Mul", normal, gamma), beta), mean, variance)


def softmax(write: Writer) -> None:
    (x, *_) = write.inputs
    power = write("Exp", write("Sub", x, write.mean(x, sums="ReduceMax")))
    write.end(write("RealDiv", power, write.mean(power, sums="ReduceSum")))


def gelu(write: Writer) -> None:
    (x, *_) = write.inputs
    erf = write("Erf", write("Mul", x, number(2**-0.5)))
    write.end(write("Mul", write("Mul", x, number(0.5)), write("Add", erf, number(1.0))))


def batch_norm(write: Writer) -> None:
    x, gamma, beta, mean, variance, *_ = write.inputs
    channels = (1, *write.shape[1:2], *(1 for _ in write.shape[2:]))
    epsilon = write("Add", variance, number(1e-5), shape=channels)
    factor = write("Mul", write("Rsqrt", epsilon, shape=channels), gamma, shape=channels)
    write.end(write("Add", write("Mul", write("Sub", x, mean), factor), beta))


def batch_norm_training(write: Writer) -> None:
    """Moments of the batch; what the gradient reads are they."""
    x, gamma, beta, *_ = write.inputs
    channels = (1, *write.shape[1:2], *(1 for _ in write.shape[2:]))
    axes = Const((0, 2, 3), "tuple", (3,)), Const(True, "bool", ())
    mean = write("ReduceMean", x, *axes, shape=channels)
    centred = write("Sub", x, mean)
    variance = write("ReduceMean", write("Square", centred), *axes, shape=channels)
    epsilon = write("Add", variance, number(1e-5), shape=channels)
    factor = write("Mul", write("Rsqrt", epsilon, shape=channels), gamma, shape=channels)
    result = write("Add", write("Mul", centred, factor), beta)
    write.end(result, mean, variance, mean, variance)


def reduce_mean(write: Writer) -> None:
    write.end(write("RealDiv", write("ReduceSum", *write.op.inputs), number(12.0)))


def real_div(write: Writer) -> None:
    a, b, *_ = write.inputs
    write.end(write("Mul", a, write("Reciprocal", b)))


def sums(write: Writer) -> None:
    total: Any = write.inputs[0]
    for one in write.inputs[1:]:
        total = write("Add", total, one)
    write.end(total)


def cross_entropy(write: Writer) -> None:
    logits, labels = write.inputs[:2]
    spec = write.op.input_specs[0] if write.op.input_specs else None
    shape = (spec.shape if spec is not None else None) or ()
    logs = write("LogSoftmax", logits, Const(-1, "int64", ()), shape=shape)
    picked = write("GatherD", logs, Const(1, "int64", ()), labels, shape=shape[:1])
    write.end(write("Neg", write("ReduceMean", picked)))


def bias_add(write: Writer) -> None:
    write.end(write("Add", *write.inputs[:2]))


DECOMPOSED: dict[str, Callable[[Writer], None]] = {
    "LayerNorm": layer_norm,
    "Softmax": softmax,
    "GeLU": gelu,
    "BatchNorm": batch_norm,
    "ReduceMean": reduce_mean,
    "RealDiv": real_div,
    "AddN": sums,
    "SparseSoftmaxCrossEntropyWithLogits": cross_entropy,
    "BiasAdd": bias_add,
}
"""Operator type → who writes it in other words."""


def can_decompose(twin: Twin, number: int) -> bool:
    """Whether an operator has other words, in which all that is read of it is there."""
    op = twin.ops[number]
    if op.op_type == "AddN" and len(list(op.flat_inputs())) < 2:
        return False
    if op.op_type == "SparseSoftmaxCrossEntropyWithLogits" and op.attrs.get("is_grad") is not False:
        return False
    return op.op_type in DECOMPOSED and (twin.is_alone(number) or op.op_type == "BatchNorm")


def decompose(twin: Twin, number: int) -> None:
    """Put smaller operators in the place of one."""
    writer = Writer(twin, number)
    training = any(slot and twin.readers(Value(number, slot)) for slot in range(5))
    if writer.op.op_type == "BatchNorm" and training:
        batch_norm_training(writer)
    else:
        DECOMPOSED[writer.op.op_type](writer)
