"""Attention, rotary positions and expert gating, whose oracle is PyTorch's record."""

from __future__ import annotations

from kit.oracle.operator_case import OperatorCase

CASES = {
    "FlashAttentionScore": OperatorCase(None),
    "PromptFlashAttention": OperatorCase(None),
    "IncreFlashAttention": OperatorCase(None),
    "RotaryPositionEmbedding": OperatorCase(None),
    "MoeGatingTopK": OperatorCase(None),
    "MoeGatingTopKSoftmax": OperatorCase(None),
}
