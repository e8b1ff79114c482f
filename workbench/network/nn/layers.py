"""Layers, named and set up like ``mindspore.nn``. Weights are seeded by their names (`Initial`)."""

from __future__ import annotations

from math import prod, sqrt
from typing import TYPE_CHECKING, Any

from workbench.core.errors import GraphError
from workbench.network.cell import Cell
from workbench.network.nn import functional
from workbench.network.nn.activations import ELU, HSigmoid, HSwish, LeakyReLU, Mish, ReLU6, SiLU
from workbench.network.symbolic import Initial, Parameter
from workbench.ops.kernels.window import pair

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from workbench.network.symbolic import Operators, Tensor


class ReLU(Cell):
    """max(x, 0)."""

    def construct(self, x: Operators) -> Tensor:
        return functional.relu(x)


class Sigmoid(Cell):
    """1 / (1 + exp(-x))."""

    def construct(self, x: Operators) -> Tensor:
        return functional.sigmoid(x)


class Tanh(Cell):
    """Hyperbolic tangent."""

    def construct(self, x: Operators) -> Tensor:
        return functional.tanh(x)


class GELU(Cell):
    """Gaussian error linear unit: by the tanh formula, or exactly if not ``approximate``."""

    def __init__(self, approximate: bool = True) -> None:
        self.approximate = approximate

    def construct(self, x: Operators) -> Tensor:
        if self.approximate:
            return functional.gelu(x)
        return x * 0.5 * (functional.erf(x / sqrt(2.0)) + 1.0)


class Softmax(Cell):
    """exp(x) / sum(exp(x)) along an axis."""

    def __init__(self, axis: int = -1) -> None:
        self.axis = axis

    def construct(self, x: Operators) -> Tensor:
        return functional.softmax(x, self.axis)


class Identity(Cell):
    """Hands its input on."""

    def construct(self, x: Operators) -> Operators:
        return x


class Dropout(Identity):
    """Hands its input on, as dropout does in inference; ``p`` is the share it would drop."""

    def __init__(self, keep_prob: float = 0.5, p: float | None = None) -> None:
        self.p = 1.0 - keep_prob if p is None else p


class Flatten(Cell):
    """Joins every axis but the first."""

    def construct(self, x: Operators) -> Tensor:
        return functional.flatten(x)


ACTIVATIONS: dict[str, type[Cell]] = {
    "relu": ReLU,
    "sigmoid": Sigmoid,
    "tanh": Tanh,
    "gelu": GELU,
    "softmax": Softmax,
    "relu6": ReLU6,
    "leakyrelu": LeakyReLU,
    "elu": ELU,
    "silu": SiLU,
    "mish": Mish,
    "hswish": HSwish,
    "hsigmoid": HSigmoid,
}
"""Activations that `Dense` knows by name."""


def _activation(name: str) -> Cell:
    try:
        return ACTIVATIONS[name]()
    except KeyError:
        known = sorted(ACTIVATIONS)
        raise GraphError("core/choice", subject="activation", got=name, known=known) from None


class Conv2d(Cell):
    """Convolution over (N, C, H, W)."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        pad_mode: str = "same",
        padding: Any = 0,
        dilation: Any = 1,
        group: int = 1,
        has_bias: bool = False,
    ) -> None:
        size = pair(kernel_size)
        fan_in = in_channels // group * prod(size)
        shape = (out_channels, in_channels // group, *size)
        self.settings = (stride, pad_mode, padding, dilation, group)
        self.weight = Parameter(Initial(shape, "normal", sqrt(2.0 / fan_in)))
        self.bias = _bias(out_channels, fan_in) if has_bias else None

    def construct(self, x: Operators) -> Tensor:
        output = functional.conv2d(x, self.weight, *self.settings)
        if self.bias is not None:
            output = functional.bias_add(output, self.bias)
        return output


class Conv2dTranspose(Cell):
    """Transposed convolution over (N, C, H, W): the output is ``stride`` times as large."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        pad_mode: str = "same",
        padding: Any = 0,
        has_bias: bool = False,
    ) -> None:
        size = pair(kernel_size)
        fan_in = in_channels * prod(size)
        self.settings = (stride, pad_mode, padding)
        shape = (in_channels, out_channels, *size)
        self.weight = Parameter(Initial(shape, "normal", sqrt(2.0 / fan_in)))
        self.bias = _bias(out_channels, fan_in) if has_bias else None

    def construct(self, x: Operators) -> Tensor:
        output = functional.conv2d_transpose(x, self.weight, *self.settings)
        if self.bias is not None:
            output = functional.bias_add(output, self.bias)
        return output


def _bias(size: int, fan_in: int) -> Parameter:
    return Parameter(Initial((size,), "uniform", 1.0 / sqrt(fan_in)))


class Dense(Cell):
    """x · weightᵀ + bias, then the activation if one is given; leading axes are joined."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        has_bias: bool = True,
        activation: str | Cell | None = None,
    ) -> None:
        scale = sqrt(2.0 / in_channels)
        self.weight = Parameter(Initial((out_channels, in_channels), "normal", scale))
        self.bias = _bias(out_channels, in_channels) if has_bias else None
        self.activation = _activation(activation) if isinstance(activation, str) else activation

    def construct(self, x: Operators) -> Tensor:
        shape = x.shape
        if len(shape) != 2:
            x = functional.reshape(x, (-1, shape[-1]))
        x = functional.matmul(x, self.weight, False, True)
        if self.bias is not None:
            x = functional.bias_add(x, self.bias)
        if self.activation is not None:
            x = self.activation(x)
        if len(shape) != 2:
            x = functional.reshape(x, (*shape[:-1], x.shape[-1]))
        return x  # type: ignore[return-value]


class MaxPool2d(Cell):
    """Largest value of each window."""

    def __init__(self, kernel_size: Any = 1, stride: Any = 1, pad_mode: str = "valid") -> None:
        self.settings = (kernel_size, stride, pad_mode)

    def construct(self, x: Operators) -> Tensor:
        return functional.max_pool2d(x, *self.settings)


class AvgPool2d(Cell):
    """Mean of each window, padding not counted."""

    def __init__(self, kernel_size: Any = 1, stride: Any = 1, pad_mode: str = "valid") -> None:
        self.settings = (kernel_size, stride, pad_mode)

    def construct(self, x: Operators) -> Tensor:
        return functional.avg_pool2d(x, *self.settings)


class LayerNorm(Cell):
    """Normalization over the last axes."""

    def __init__(
        self, normalized_shape: tuple[int, ...] | list[int], epsilon: float = 1e-7
    ) -> None:
        shape = tuple(normalized_shape)
        self.begin_axis = -len(shape)
        self.epsilon = epsilon
        self.gamma = Parameter(Initial(shape, "ones"))
        self.beta = Parameter(Initial(shape, "zeros"))

    def construct(self, x: Operators) -> Tensor:
        return functional.layer_norm(x, self.gamma, self.beta, self.begin_axis, self.epsilon)


class BatchNorm2d(Cell):
    """Normalization over batch and space, with stored moments; in training with those of the batch."""

    def __init__(self, num_features: int, eps: float = 1e-5, momentum: float = 0.9) -> None:
        shape = (num_features,)
        self.eps = eps
        self.momentum = momentum
        self.gamma = Parameter(Initial(shape, "ones"))
        self.beta = Parameter(Initial(shape, "zeros"))
        self.moving_mean = Parameter(Initial(shape, "zeros"), requires_grad=False)
        self.moving_variance = Parameter(Initial(shape, "ones"), requires_grad=False)

    def construct(self, x: Operators) -> Tensor:
        moments = (self.gamma, self.beta, self.moving_mean, self.moving_variance)
        share = 1.0 - self.momentum
        return functional.batch_norm(x, *moments, self.eps, share, training=self.training)


class Embedding(Cell):
    """Rows of a table, by integer ids."""

    def __init__(self, vocab_size: int, embedding_size: int) -> None:
        self.embedding_table = Parameter(Initial((vocab_size, embedding_size), "normal", 1.0))

    def construct(self, ids: Operators) -> Tensor:
        flat = functional.reshape(ids, (-1,))
        rows = functional.gather(self.embedding_table, flat, 0)
        return functional.reshape(rows, (*ids.shape, self.embedding_table.shape[1]))


class CellList(Cell):
    """A list of cells; the network's own code calls them."""

    def __init__(self, cells: Iterable[Cell] = ()) -> None:
        for cell in cells:
            self.append(cell)

    def append(self, cell: Cell) -> None:
        """Add a cell at the end."""
        setattr(self, str(len(self)), cell)

    def __len__(self) -> int:
        return len(list(self.cells()))

    def __iter__(self) -> Iterator[Cell]:
        return (cell for _, cell in self.cells())

    def __getitem__(self, index: int) -> Cell:
        return list(self)[index]


class SequentialCell(CellList):
    """Cells that are called one after the other. Takes cells, or one list of them."""

    def __init__(self, *cells: Any) -> None:
        super().__init__(cells[0] if len(cells) == 1 and not isinstance(cells[0], Cell) else cells)

    def construct(self, x: Any) -> Any:
        for cell in self:
            x = cell(x)
        return x
