"""Operators that update weights in place, and those that look for overflow."""

from __future__ import annotations

import numpy as np

from workbench.core.tensors import TensorSpec
from workbench.ops.definition import (
    Call,
    OpDef,
    ShapeRule,
    foreign,
    integers,
    output_like,
    reject,
)
from workbench.ops.kernels import update as kernels

STATUS = 8
"""Numbers of the float status that the device hands out."""


def assign_shapes(call: Call) -> tuple[TensorSpec, ...]:
    """Return the variable; the value is like it."""
    if call.tensors[0] != call.tensors[1]:
        reject("graph/assigned", expected=call.tensors[0], got=call.tensors[1])
    return output_like(call, call.shape())


def optimizer(alike: tuple[int, ...], numbers: tuple[int, ...], outputs: int = 1) -> ShapeRule:
    """Rule of an optimizer whose tensors ``alike`` have the variable's shape; ``numbers`` are single ones."""

    def rule(call: Call) -> tuple[TensorSpec, ...]:
        shape = call.shape()
        for place in alike:
            if call.shape(place) != shape:
                reject(
                    "graph/shape", subject=f"input {place}", expected=shape, got=call.shape(place)
                )
        for place in numbers:
            if call.tensors[place].size != 1:
                reject("graph/one-number", subject=f"input {place}", got=call.shape(place))
        return output_like(call, shape) * outputs

    return rule


def flag_shapes(call: Call) -> tuple[TensorSpec, ...]:
    """Return one bool."""
    return (TensorSpec("bool", ()),)


def float_status_shapes(call: Call) -> tuple[TensorSpec, ...]:
    """Return the status of the device, eight numbers as the input."""
    integers(call, 0, "the status")
    if call.shape() != (STATUS,):
        reject("graph/shape", subject="status", expected=(STATUS,), got=call.shape())
    return output_like(call, call.shape())


_ADAM = "var m v beta1_power beta2_power learning_rate beta1 beta2 epsilon gradient"


_ADAM_DECAY = "var m v learning_rate beta1 beta2 epsilon decay gradient clip"


ROWS: dict[str, OpDef] = {
    "Assign": OpDef(
        "variable value",
        assign_shapes,
        tensors=2,
        writes=(0,),
        kernel=kernels.assigning(lambda _, value: value),
    ),
    "AssignAdd": OpDef(
        "variable value", assign_shapes, tensors=2, writes=(0,), kernel=kernels.assigning(np.add)
    ),
    "AssignSub": OpDef(
        "variable value",
        assign_shapes,
        tensors=2,
        writes=(0,),
        kernel=kernels.assigning(np.subtract),
    ),
    "ApplyMomentum": OpDef(
        "variable accumulation learning_rate gradient momentum",
        optimizer((1, 3), (2, 4)),
        tensors=5,
        defaults={"use_nesterov": False, "use_locking": False, "gradient_scale": 1.0},
        writes=(0, 1),
        kernel=kernels.apply_momentum,
        floats=(0, 1, 2, 3, 4),
    ),
    "FusedMulApplyMomentum": OpDef(
        "var accum lr x1 momentum x2",
        optimizer((1, 3), (2, 4, 5)),
        tensors=6,
        defaults={"use_nesterov": False, "use_locking": False},
        writes=(0, 1),
        kernel=kernels.scaled_momentum,
        floats=(0, 1, 2, 3, 4, 5),
    ),
    "SGD": OpDef(
        "parameters gradient learning_rate accum momentum stat",
        optimizer((1, 3, 5), (2, 4)),
        tensors=6,
        defaults={"dampening": 0.0, "weight_decay": 0.0, "nesterov": False},
        writes=(0, 3, 5),
        kernel=kernels.sgd,
        floats=(0, 1, 2, 3, 4, 5),
    ),
    "Adam": OpDef(
        _ADAM,
        optimizer((1, 2, 9), (3, 4, 5, 6, 7, 8), outputs=3),
        tensors=10,
        defaults={"use_nesterov": False, "use_locking": False},
        writes=(0, 1, 2),
        kernel=kernels.adam,
        unwritten_on_cpu=(0, 1, 2),
        floats=(0, 1, 2, 3, 4, 5, 6, 7, 8, 9),
    ),
    "AdamWeightDecay": OpDef(
        _ADAM_DECAY,
        optimizer((1, 2, 8), (3, 4, 5, 6, 7), outputs=3),
        tensors=9,
        defaults={"clip": False},
        only={"clip": False},
        writes=(0, 1, 2),
        kernel=kernels.adam_weight_decay,
        unwritten_on_cpu=(0, 1, 2),
        floats=(0, 1, 2, 3, 4, 5, 6, 7, 8),
    ),
    "FusedMulAddN": OpDef(
        "x1 x2 x3", optimizer((1,), (2,)), tensors=3, kernel=kernels.scaled_sum, floats=(0, 1, 2)
    ),
    "AllFinite": OpDef("gradients", flag_shapes, tensors=-1, kernel=kernels.all_finite),
    "NPUGetFloatStatusV2": OpDef("addr", float_status_shapes, kernel=kernels.quiet_status),
    "NPUClearFloatStatusV2": OpDef("addr", float_status_shapes, kernel=kernels.quiet_status),
    "ApplyAdagrad": OpDef(
        "var accum learning_rate gradient",
        optimizer((1, 3), (2,), outputs=2),
        tensors=4,
        defaults={"update_slots": True},
        writes=(0, 1),
        kernel=kernels.apply_adagrad,
        floats=(0, 1, 2, 3),
    ),
    "ApplyAdam": foreign(writes=(0, 1, 2)),
    "ApplyFtrl": foreign(writes=(0, 1, 2)),
    "ApplyRMSProp": OpDef(
        "var mean_square moment learning_rate gradient decay momentum epsilon",
        optimizer((1, 2, 4), (3,)),
        tensors=5,
        writes=(0, 1, 2),
        unwritten_on_cpu=(0,),
        kernel=kernels.apply_rms_prop,
    ),
    "FusedAdam": foreign(writes=(0, 1, 2)),
    "FusedSparseAdam": foreign(writes=(0, 1, 2)),
}
