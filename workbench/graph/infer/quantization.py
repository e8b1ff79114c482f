"""Rules of quantization (CANN's operator definitions)."""

from __future__ import annotations

import math
from typing import Any

from workbench.core.dtypes import DTYPES
from workbench.core.tensors import TensorSpec
from workbench.graph.infer import Call, cast_target, refuse

_NAMED = ("float32", "float16", "int8", "int32", "bfloat16", "int4")
GE_TYPES = {DTYPES[name].acl: name for name in _NAMED}
"""GE's numbers of the dtypes that these operators name in ``dst_type`` and ``dtype``."""

ROUND_MODES = ("Round", "Floor", "Ceil", "Ceiling", "Trunc", "Truncate")


def ge_type(value: Any, what: str) -> str:
    """Dtype by GE's number, or by name."""
    if isinstance(value, int):
        name = GE_TYPES.get(value, "")
        return name or refuse("core/choice", subject=what, got=value, known=sorted(GE_TYPES))
    return cast_target(value, what)


def _number(call: Call, name: str) -> None:
    value = call.settings[name]
    if not isinstance(value, int | float) or not math.isfinite(value):
        refuse("graph/finite", subject=name, got=value)


def quant(call: Call) -> tuple[TensorSpec, ...]:
    """A float becomes int8 or int4."""
    if not call.tensors[0].dtype.startswith(("float", "bfloat")):
        refuse("graph/dtype-float", subject="input", got=call.tensors[0].dtype)
    if call.settings["round_mode"] not in ROUND_MODES:
        refuse(
            "core/choice", subject="round_mode", got=call.settings["round_mode"], known=ROUND_MODES
        )
    _number(call, "scale")
    _number(call, "offset")
    target = ge_type(call.settings["dst_type"], "dst_type")
    if target not in ("int8", "int4"):
        refuse("core/choice", subject="dst_type", got=target, known=["int8", "int4"])
    return (TensorSpec(target, call.shape()),)


def dequant(call: Call) -> tuple[TensorSpec, ...]:
    """The int32 sums of a quantized product become floats; one scale, or one for each channel.

    The channels are axis 1 of (N, C, H, W) and the last axis of everything else. Scales of uint64
    carry float32 bits in their low half.
    """
    shape, scales = call.shape(), call.shape(1)
    if call.tensors[0].dtype != "int32":
        refuse("graph/dtype", subject="input", expected=["int32"], got=call.tensors[0].dtype)
    if not call.tensors[1].dtype.startswith(("float", "bfloat", "uint64")):
        refuse(
            "graph/dtype-float-or", subject="deq_scale", other="uint64", got=call.tensors[1].dtype
        )
    channels = shape[1 if len(shape) == 4 else -1] if shape else 1
    if scales not in ((), (1,), (channels,)):
        refuse("graph/shape-or", subject="deq_scale", expected=[(1,), (channels,)], got=scales)
    return (TensorSpec(ge_type(call.settings["dtype"], "dtype"), shape),)


def trans_quant_param(call: Call) -> tuple[TensorSpec, ...]:
    """Float32 scales, and offsets if there are any, become words of 64 bits."""
    if len(call.tensors) > 2:
        refuse("graph/scale-and-offset", got=len(call.tensors))
    if call.settings["round_mode"] not in (0, 1):
        refuse("core/choice", subject="round_mode", got=call.settings["round_mode"], known=[0, 1])
    for slot, name in enumerate(("scale", "offset")[: len(call.tensors)]):
        if call.tensors[slot].dtype not in ("float32", "float64"):
            refuse("graph/dtype", subject=name, expected=["float32"], got=call.tensors[slot].dtype)
    shapes = [call.shape(slot) for slot in range(len(call.tensors))]
    lengths = {shape[-1] for shape in shapes if shape} - {1}
    leads = any(one != 1 for shape in shapes for one in shape[:-1])
    if len(lengths) > 1 or leads or not all(len(shape) in (1, 2) for shape in shapes):
        refuse(
            "graph/layout", subject="scale and offset", expected="(n,), (1, n) or (1,)", got=shapes
        )
    return (TensorSpec("uint64", max(shapes, key=lambda shape: (shape[-1] != 1, len(shape)))),)


def anti_quant(call: Call) -> tuple[TensorSpec, ...]:
    """An int8 becomes a float again."""
    if call.tensors[0].dtype not in ("int8", "int4"):
        refuse("graph/dtype", subject="input", expected=["int8", "int4"], got=call.tensors[0].dtype)
    _number(call, "scale")
    _number(call, "offset")
    return (TensorSpec(ge_type(call.settings["dtype"], "dtype"), call.shape()),)
