"""Quantization, as the graph engine spells it."""

from __future__ import annotations

import math

import numpy as np

from workbench.core.tensors import TensorSpec
from workbench.ops.definition import Call, OpDef, reject
from workbench.ops.kernels import quantization as kernels

ROUND_MODES = ("Round", "Floor", "Ceil", "Ceiling", "Trunc", "Truncate")


def _number(call: Call, name: str) -> None:
    value = call.settings[name]
    if not isinstance(value, int | float) or not math.isfinite(value):
        reject("graph/finite", subject=name, got=value)


def quant_shapes(call: Call) -> tuple[TensorSpec, ...]:
    """A float becomes int8 or int4."""
    if not call.tensors[0].dtype.startswith(("float", "bfloat")):
        reject("graph/dtype-float", subject="input", got=call.tensors[0].dtype)
    if call.settings["round_mode"] not in ROUND_MODES:
        reject(
            "core/choice", subject="round_mode", got=call.settings["round_mode"], known=ROUND_MODES
        )
    _number(call, "scale")
    _number(call, "offset")
    target = kernels.ge_type(call.settings["dst_type"], "dst_type")
    if target not in ("int8", "int4"):
        reject("core/choice", subject="dst_type", got=target, known=["int8", "int4"])
    return (TensorSpec(target, call.shape()),)


def dequant_shapes(call: Call) -> tuple[TensorSpec, ...]:
    """The int32 sums of a quantized product become floats; one scale, or one for each channel.

    The channels are axis 1 of (N, C, H, W) and the last axis of everything else. Scales of uint64
    carry float32 bits in their low half.
    """
    shape, scales = call.shape(), call.shape(1)
    if call.tensors[0].dtype != "int32":
        reject("graph/dtype", subject="input", expected=["int32"], got=call.tensors[0].dtype)
    if not call.tensors[1].dtype.startswith(("float", "bfloat", "uint64")):
        reject(
            "graph/dtype-float-or", subject="deq_scale", other="uint64", got=call.tensors[1].dtype
        )
    channels = shape[1 if len(shape) == 4 else -1] if shape else 1
    if scales not in ((), (1,), (channels,)):
        reject("graph/shape-or", subject="deq_scale", expected=[(1,), (channels,)], got=scales)
    return (TensorSpec(kernels.ge_type(call.settings["dtype"], "dtype"), shape),)


def trans_quant_param_shapes(call: Call) -> tuple[TensorSpec, ...]:
    """Float32 scales, and offsets if there are any, become words of 64 bits."""
    if len(call.tensors) > 2:
        reject("graph/scale-and-offset", got=len(call.tensors))
    if call.settings["round_mode"] not in (0, 1):
        reject("core/choice", subject="round_mode", got=call.settings["round_mode"], known=[0, 1])
    for slot, name in enumerate(("scale", "offset")[: len(call.tensors)]):
        if call.tensors[slot].dtype not in ("float32", "float64"):
            reject("graph/dtype", subject=name, expected=["float32"], got=call.tensors[slot].dtype)
    shapes = [call.shape(slot) for slot in range(len(call.tensors))]
    lengths = {shape[-1] for shape in shapes if shape} - {1}
    leads = any(one != 1 for shape in shapes for one in shape[:-1])
    if len(lengths) > 1 or leads or not all(len(shape) in (1, 2) for shape in shapes):
        reject(
            "graph/layout", subject="scale and offset", expected="(n,), (1, n) or (1,)", got=shapes
        )
    return (TensorSpec("uint64", np.broadcast_shapes(*shapes)),)


def anti_quant_shapes(call: Call) -> tuple[TensorSpec, ...]:
    """An int8 becomes a float again."""
    if call.tensors[0].dtype not in ("int8", "int4"):
        reject("graph/dtype", subject="input", expected=["int8", "int4"], got=call.tensors[0].dtype)
    _number(call, "scale")
    _number(call, "offset")
    return (TensorSpec(kernels.ge_type(call.settings["dtype"], "dtype"), call.shape()),)


_QUANT = {
    "scale": 1.0,
    "offset": 0.0,
    "sqrt_mode": False,
    "round_mode": "Round",
    "dst_type": 2,
}


ROWS: dict[str, OpDef] = {
    "AscendQuant": OpDef(
        "x", quant_shapes, defaults=_QUANT, kernel=kernels.quant, discontinuous=True
    ),
    "AscendDequant": OpDef(
        "x deq_scale",
        dequant_shapes,
        tensors=2,
        defaults={"sqrt_mode": False, "relu_flag": False, "dtype": 0},
        kernel=kernels.dequant,
    ),
    "TransQuantParamV2": OpDef(
        "scale",
        trans_quant_param_shapes,
        tensors=-1,
        defaults={"round_mode": 0},
        kernel=kernels.trans_quant_param,
    ),
    "AscendAntiQuant": OpDef(
        "x",
        anti_quant_shapes,
        defaults={"scale": 1.0, "offset": 0.0, "dtype": 0, "sqrt_mode": False},
        kernel=kernels.anti_quant,
    ),
}
