"""Quantization, as the graph engine spells it."""

from __future__ import annotations

from workbench.graph.infer import quantization
from workbench.graph.opdef import OpDef

_QUANT = {
    "scale": 1.0,
    "offset": 0.0,
    "sqrt_mode": False,
    "round_mode": "Round",
    "dst_type": 2,
}

QUANTIZATION: dict[str, OpDef] = {
    "AscendQuant": OpDef("x", quantization.quant, defaults=_QUANT),
    "AscendDequant": OpDef(
        "x deq_scale",
        quantization.dequant,
        tensors=2,
        defaults={"sqrt_mode": False, "relu_flag": False, "dtype": 0},
    ),
    "TransQuantParamV2": OpDef(
        "scale", quantization.trans_quant_param, tensors=-1, defaults={"round_mode": 0}
    ),
    "AscendAntiQuant": OpDef(
        "x",
        quantization.anti_quant,
        defaults={"scale": 1.0, "offset": 0.0, "dtype": 0, "sqrt_mode": False},
    ),
}
