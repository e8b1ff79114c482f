"""Operators that update weights in place, and those that look for overflow."""

from __future__ import annotations

from workbench.graph.infer import update
from workbench.graph.opdef import OpDef

_ADAM = "var m v beta1_power beta2_power learning_rate beta1 beta2 epsilon gradient"
_ADAM_DECAY = "var m v learning_rate beta1 beta2 epsilon decay gradient clip"

UPDATE: dict[str, OpDef] = {
    "Assign": OpDef("variable value", update.assign, tensors=2, writes=(0,)),
    "AssignAdd": OpDef("variable value", update.assign, tensors=2, writes=(0,)),
    "AssignSub": OpDef("variable value", update.assign, tensors=2, writes=(0,)),
    "ApplyMomentum": OpDef(
        "variable accumulation learning_rate gradient momentum",
        update.optimizer((1, 3), (2, 4)),
        tensors=5,
        defaults={"use_nesterov": False, "use_locking": False, "gradient_scale": 1.0},
        writes=(0, 1),
    ),
    "FusedMulApplyMomentum": OpDef(
        "var accum lr x1 momentum x2",
        update.optimizer((1, 3), (2, 4, 5)),
        tensors=6,
        defaults={"use_nesterov": False, "use_locking": False},
        writes=(0, 1),
    ),
    "SGD": OpDef(
        "parameters gradient learning_rate accum momentum stat",
        update.optimizer((1, 3, 5), (2, 4)),
        tensors=6,
        defaults={"dampening": 0.0, "weight_decay": 0.0, "nesterov": False},
        writes=(0, 3, 5),
    ),
    "Adam": OpDef(
        _ADAM,
        update.optimizer((1, 2, 9), (3, 4, 5, 6, 7, 8), outputs=3),
        tensors=10,
        defaults={"use_nesterov": False, "use_locking": False},
        writes=(0, 1, 2),
    ),
    "AdamWeightDecay": OpDef(
        _ADAM_DECAY,
        update.optimizer((1, 2, 8), (3, 4, 5, 6, 7), outputs=3),
        tensors=9,
        defaults={"clip": False},
        writes=(0, 1, 2),
    ),
    "FusedMulAddN": OpDef("x1 x2 x3", update.optimizer((1,), (2,)), tensors=3),
    "AllFinite": OpDef("gradients", update.flag, tensors=-1),
    "NPUGetFloatStatusV2": OpDef("addr", update.float_status),
    "NPUClearFloatStatusV2": OpDef("addr", update.float_status),
}
"""Rows of the operator table."""
