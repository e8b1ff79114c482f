"""Cells around a network that make a training step of it, named and set up like those of ``mindspore.nn``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.core.errors import GraphError
from workbench.network.autodiff import gradients
from workbench.network.cell import Cell
from workbench.network.nn import functional
from workbench.network.nn.hyper import number
from workbench.network.nn.optimizers import Optimizer
from workbench.network.nn.parallel import (
    DATA_PARALLEL,
    DistributedGradReducer,
    all_reduce,
    parallel,
)
from workbench.network.symbolic import Parameter, record, recorder

if TYPE_CHECKING:
    from collections.abc import Sequence

    from workbench.network.symbolic import Operators, Tensor


class WithLossCell(Cell):
    """A network and its loss."""

    auto_prefix = False

    def __init__(self, backbone: Cell, loss_fn: Cell) -> None:
        self._backbone = backbone
        self._loss_fn = loss_fn

    def construct(self, data: Operators, label: Operators) -> Tensor:
        out = self._backbone(data)
        return self._loss_fn(out, label)


class TrainOneStepCell(Cell):
    """One step: the loss, its gradients (of ``sens`` times the loss) and the optimizer."""

    auto_prefix = False

    def __init__(self, network: Cell, optimizer: Optimizer, sens: float | None = None) -> None:
        if not isinstance(optimizer, Optimizer):
            raise GraphError("graph/optimizer", got=optimizer)
        scale = 1.0 if sens is None else number("sens", sens)
        if not scale:
            raise GraphError("graph/sens", got=sens)
        self.network = network
        self.optimizer = optimizer
        self.weights = optimizer.parameters
        self.sens = scale
        self.reducer_flag = parallel().parallel_mode == DATA_PARALLEL
        if self.reducer_flag:
            self.grad_reducer = DistributedGradReducer(self.weights)

    def construct(self, *inputs: Operators) -> Any:
        loss = self.network(*inputs)
        grads = self.reduced(gradients(loss, self.weights, self.sens))
        self.optimizer(grads)
        return loss

    def reduced(self, grads: Sequence[Tensor]) -> Sequence[Tensor]:
        """Return the gradients of all ranks, if there are several."""
        return self.grad_reducer(grads) if self.reducer_flag else grads


class TrainOneStepWithLossScaleCell(TrainOneStepCell):
    """One step with a scaled loss; it is skipped where a gradient overflows.

    ``scale_sense`` is a number, or a cell that follows overflows. Returns the loss, whether a gradient
    overflowed, and the scale.

    Notes
    -----
    MindSpore asks a device that saturates for its float status and looks for Inf and NaN on others;
    what is recorded here is ``AllFinite``, which becomes the former where a device needs it. Its own
    graph is cut at the condition, on its own surfaces (`workbench.network.partition.parted`): the optimizer runs
    in a graph of its own, or not at all.
    """

    def __init__(self, network: Cell, optimizer: Optimizer, scale_sense: Any) -> None:
        super().__init__(network, optimizer)
        follows = isinstance(scale_sense, FixedLossScaleUpdateCell | DynamicLossScaleUpdateCell)
        self.loss_scaling_manager = scale_sense if follows else None
        scale = scale_sense.get_loss_scale() if follows else scale_sense
        if isinstance(scale, Cell) or np.size(scale) != 1:
            raise GraphError("graph/scale-sense", got=scale)
        value = np.asarray(scale, np.float32).reshape(())
        self.scale_sense = Parameter(value, "scale_sense", requires_grad=False)

    def construct(self, *inputs: Operators) -> Any:
        loss = self.network(*inputs)
        scale = recorder("TrainOneStepWithLossScaleCell").read(self.scale_sense)
        sens = scale if loss.dtype == scale.dtype else scale.astype(loss.dtype)
        if loss.shape:
            sens = functional.mul(record("OnesLike", loss), sens)
        factor = functional.reciprocal(scale)
        own = [
            gradient * (factor if gradient.dtype == factor.dtype else factor.astype(gradient.dtype))
            for gradient in gradients(loss, self.weights, sens)
        ]
        grads = self.reduced(own)
        cond = record("AllFinite", tuple(grads))
        if self.reducer_flag:
            cond = all_reduce(cond.astype("float32")).astype("bool")
        overflow = self.process_loss_scale(cond)
        with recorder("TrainOneStepWithLossScaleCell").unless(overflow):
            self.optimizer(grads)
        return loss, cond, scale

    def process_loss_scale(self, overflow: Tensor) -> Tensor:
        """Let the scale follow, and return whether to skip the step."""
        if self.loss_scaling_manager is not None:
            return self.loss_scaling_manager(self.scale_sense, overflow)
        return overflow


class FixedLossScaleUpdateCell(Cell):
    """A scale of the loss that stays as it is."""

    def __init__(self, loss_scale_value: float) -> None:
        self.loss_scale_value = number("loss_scale_value", loss_scale_value, above=0)

    def get_loss_scale(self) -> float:
        """Return the scale."""
        return self.loss_scale_value

    def construct(self, _: Parameter, overflow: Tensor) -> Tensor:
        return overflow


class DynamicLossScaleUpdateCell(Cell):
    """A scale that is divided by a factor at an overflow, and multiplied after a window without one."""

    def __init__(self, loss_scale_value: float, scale_factor: float, scale_window: int) -> None:
        self.loss_scale_value = number("loss_scale_value", loss_scale_value, above=0)
        self.scale_factor = np.float32(number("scale_factor", scale_factor, above=0))
        self.scale_window = np.int32(number("scale_window", scale_window, least=1))
        self.cur_iter = Parameter(np.asarray(1, np.int32), "current_iterator_step")
        self.last_overflow_iter = Parameter(np.asarray(0, np.int32), "last_overflow_iterator_step")

    def get_loss_scale(self) -> float:
        """Return the scale of the first step."""
        return self.loss_scale_value

    def construct(self, loss_scale: Parameter, overflow: Tensor) -> Tensor:
        lower = functional.maximum(loss_scale * (1 / self.scale_factor), np.float32(1.0))
        on_overflow = functional.select(overflow, lower, loss_scale)
        passed = self.cur_iter - self.last_overflow_iter
        should_inc = functional.less_equal(self.scale_window, passed)
        last_iter_cond = functional.logical_or(overflow, should_inc)
        last = functional.select(last_iter_cond, self.cur_iter, self.last_overflow_iter)
        record("Assign", self.last_overflow_iter, last)
        update = functional.logical_and(should_inc, functional.logical_not(overflow))
        higher = on_overflow * self.scale_factor
        record("Assign", loss_scale, functional.select(update, higher, on_overflow))
        record("Assign", self.cur_iter, self.cur_iter + 1)
        return overflow
