"""Attention, rotary positions and the choice of experts, as CANN's documents state them.

Their optional tensors are settings: a setting may be computed. Nothing here has a gradient or is traced;
the comparison computes these operators of a dump again.
"""

from __future__ import annotations

from workbench.core.tensors import TensorSpec
from workbench.ops.definition import Call, OpDef, output_like, reject, same_as_input
from workbench.ops.kernels import transformer as kernels

ENDLESS = 2147483647
"""Tokens before or behind that a query may look at, if nobody limits them."""

NOT_GIVEN = None
"""Default of an optional tensor."""


def flash_shapes(call: Call) -> tuple[TensorSpec, ...]:
    """Maximum and sum of every row, a reserved output, and the attention like the query."""
    shape, layout = call.shape(), kernels.layout_name(call.settings["input_layout"])
    heads = int(call.settings["head_num"])
    places = {"BSH": (0, 1), "SBH": (1, 0), "BSND": (0, 1), "BNSD": (0, 2)}
    if layout == "TND":
        rows: tuple[int, ...] = shape[:2]
    elif layout in places:
        batch, position = (shape[axis] for axis in places[layout])
        rows = (batch, heads, position)
    else:
        reject("core/choice", subject="input_layout", got=layout, known=[*places, "TND"])
    statistics = TensorSpec("float32", (*rows, kernels.STATISTICS))
    return statistics, statistics, *output_like(call, (1,)), *output_like(call, shape)


def chosen_shapes(call: Call) -> tuple[TensorSpec, ...]:
    """Weights and numbers of k experts; with all weights where these are asked for."""
    shape, k = call.shape(), call.settings["k"]
    if not isinstance(k, int) or not 0 < k <= shape[-1]:
        reject("graph/integer", subject="k", least=1, got=k)
    chosen = (*shape[:-1], k)
    found = (*output_like(call, chosen), TensorSpec("int32", chosen))
    return (*found, TensorSpec("float32", shape)) if "norm_type" in call.settings else found


_FLASH = {
    **dict.fromkeys(("real_shift", "drop_mask", "padding_mask", "attn_mask", "prefix"), NOT_GIVEN),
    "actual_seq_qlen": NOT_GIVEN,
    "actual_seq_kvlen": NOT_GIVEN,
    "keep_prob": 1.0,
    "scale_value": 1.0,
    "pre_tokens": ENDLESS,
    "next_tokens": ENDLESS,
    "inner_precise": 0,
    "input_layout": "BSH",
    "sparse_mode": 0,
}
_PROMPT = {
    **dict.fromkeys(("attn_mask", *kernels.PROMPT_OPEN), NOT_GIVEN),
    "num_heads": 1,
    "scale_value": 1.0,
    "pre_tokens": ENDLESS,
    "next_tokens": 0,
    "input_layout": "BSH",
    "num_key_value_heads": 0,
    "sparse_mode": 0,
    "inner_precise": 1,
}
_INCREMENTAL = {
    **dict.fromkeys(("attn_mask", "actual_seq_lengths", *kernels.INCREMENTAL_OPEN), NOT_GIVEN),
    "num_heads": 1,
    "input_layout": "BSH",
    "scale_value": 1.0,
    "num_key_value_heads": 0,
    "block_size": 0,
    "inner_precise": 1,
}
_GATING = {
    "bias": NOT_GIVEN,
    "k_group": 1,
    "group_count": 1,
    "group_select_mode": 0,
    "renorm": 0,
    "norm_type": 0,
    "out_flag": False,
    "routed_scaling_factor": 1.0,
    "eps": 1e-20,
}


ROWS: dict[str, OpDef] = {
    "FlashAttentionScore": OpDef(
        "query key value real_shift drop_mask padding_mask attn_mask prefix "
        "actual_seq_qlen actual_seq_kvlen head_num keep_prob scale_value pre_tokens "
        "next_tokens inner_precise input_layout sparse_mode",
        flash_shapes,
        "mixed",
        3,
        _FLASH,
        kernel=kernels.flash_attention,
        effect="contract",
        libm=True,
    ),
    "PromptFlashAttention": OpDef(
        "query key value attn_mask actual_seq_lengths actual_seq_lengths_kv pse_shift "
        "deq_scale1 quant_scale1 deq_scale2 quant_scale2 quant_offset2 num_heads "
        "scale_value pre_tokens next_tokens input_layout num_key_value_heads sparse_mode "
        "inner_precise",
        same_as_input,
        "mixed",
        3,
        _PROMPT,
        kernel=kernels.prompt_attention,
        effect="contract",
        libm=True,
    ),
    "IncreFlashAttention": OpDef(
        "query key value attn_mask actual_seq_lengths pse_shift dequant_scale1 quant_scale1 "
        "dequant_scale2 quant_scale2 quant_offset2 antiquant_scale antiquant_offset "
        "block_table num_heads input_layout scale_value num_key_value_heads block_size "
        "inner_precise kv_padding_size",
        same_as_input,
        "mixed",
        3,
        _INCREMENTAL,
        kernel=kernels.incremental_attention,
        effect="contract",
        libm=True,
    ),
    "RotaryPositionEmbedding": OpDef(
        "x cos sin mode", same_as_input, tensors=3, defaults={"mode": 0}, kernel=kernels.rotary
    ),
    "MoeGatingTopK": OpDef(
        "x bias k k_group group_count group_select_mode renorm norm_type out_flag "
        "routed_scaling_factor eps",
        chosen_shapes,
        defaults=_GATING,
        kernel=kernels.choose_experts,
        effect="sum",
        discontinuous=True,
        libm=True,
    ),
    "MoeGatingTopKSoftmax": OpDef(
        "x finished k",
        chosen_shapes,
        defaults={"finished": NOT_GIVEN},
        kernel=kernels.softmax_experts,
        effect="sum",
        discontinuous=True,
        libm=True,
    ),
}
