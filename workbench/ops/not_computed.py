"""Operator types that files name and that are not computed, each with its reason.

Random operators, those across ranks and those that read the overflow status are told by rules of their own
(`workbench.comparison.replay.lowering`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

Reason = Literal["end", "hands-on", "order-open", "no-oracle"]
"""``end``: it is where data enter or leave a graph. ``hands-on``: its output is its input. ``order-open``: documents
leave open which of equal elements comes first. ``no-oracle``: nobody has recorded what it has to give."""


def _types(reason: Reason, types: str) -> dict[str, Reason]:
    return dict.fromkeys(types.split(), reason)


NOT_COMPUTED: Mapping[str, Reason] = {
    **_types("end", "Const Constant Data NetOutput NoOp RefData Variable"),
    **_types("hands-on", "Depend Identity Load Switch TensorMove"),
    **_types("order-open", "BatchMultiClassNonMaxSuppression Sort"),
    **_types(
        "no-oracle",
        "AddLayerNorm ApplyFtrl BatchNormGradExt FusedAdam FusedSparseAdam InstanceNorm L2Normalize "
        "LayerNormGradExt LayerNormGradV3 Norm ScatterAdd ScatterNdUpdate ScatterUpdate",
    ),
}
"""Operator type → why it is not computed."""
