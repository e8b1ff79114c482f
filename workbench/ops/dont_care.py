"""Outputs, or parts of them, whose values say nothing: the vendor leaves them open.

A row names the operator type, the output, the region of it, why nobody may rely on what lies there, and the vendor's
document that says so. Without such a document there is no row. A region is left out only where both dumps hold the
tensor that defines it and agree on it (`workbench.comparison.pair.undefined`).

Not shipped, as these values are defined as far as is known: ``CombinedNonMaxSuppression`` (behind the valid
detections are zeros), ``ReverseSequence`` (behind the length the input is copied), ``UniqueWithPad`` and the drop mode
of ``MoeInitRoutingV2`` (padded with a stated value), ``Softmax`` of a row of −∞ (NaN, which later operators read).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench._values import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping


class Whole(NamedTuple):
    """Every element."""


class BehindCount(NamedTuple):
    """Elements along ``axis`` from a count on that another tensor of the operator holds, at ``io`` and ``slot``.

    One number counts for all; as many as the tensor has entries along its first axes, in front of ``axis``, count for
    these.
    """

    io: str
    slot: int
    axis: int = 0


class BehindGroups(NamedTuple):
    """Rows that no group has: behind the sum of the sizes of all groups.

    The groups are the operator's one input of int64 with one axis: sizes, or where each group ends.
    """


class MaskedRows(NamedTuple):
    """Rows of an attention that may look at no key: the mask (1: forbidden) is 1 all along its last axis.

    ``mask``, ``layout`` and ``off`` are names of arguments: the mask, the order of the output's axes (``""``: batch,
    head, row), and settings with the values under which the mask is whole and the row is left open.
    """

    mask: str
    layout: str
    open_if: Mapping[str, tuple[object, ...]]


class WhereZero(NamedTuple):
    """Elements, along the first axes, where another tensor of the operator is zero, at ``io`` and ``slot``."""

    io: str
    slot: int


Region = Whole | BehindCount | BehindGroups | MaskedRows | WhereZero


class DontCare(NamedTuple):
    """What of an output of an operator type says nothing, the code of the reason, and the document that says so."""

    op_type: str
    slot: int
    region: Region
    reason: str
    source: str


_FLASH = "CANN ops-transformer, aclnnFlashAttentionScore"
_MASKED = MaskedRows(
    "attn_mask",
    "input_layout",
    {"inner_precise": (0, 1, None), "sparse_mode": (0, 1, None)},
)
_STATISTICS = _MASKED._replace(layout="")
_INVALID_ROWS = (
    f"{_FLASH}, innerPrecise: a row masked as a whole is an invalid row, computed right only with 2"
)
_GROUPS = "CANN ops-transformer, aclnnGroupedMatmulV4, groupListOptional: what it does not name is not updated"
_SWIGLU = (
    "CANN ops-transformer, aclnnGroupedMatmulSwigluQuantV2: behind groupList[-1] output and scale are neither updated "
    "nor initialized"
)
_NMS = "CANN op proto, NonMaxSuppressionV4 and V5: valid_outputs elements are valid, and come first"
_BATCH_NMS = (
    "CANN op proto, BatchMultiClassNonMaxSuppression: nmsed_num is the valid number of nmsed_boxes"
)

DONT_CARE: tuple[DontCare, ...] = (
    DontCare("FlashAttentionScore", 2, Whole(), "reserved", f"{_FLASH}: softmaxOutOut is a reserved parameter"),
    DontCare("LSTM", 4, Whole(), "rng-state", "MindSpore, mindspore.ops.LSTM: state is the random number generator's"),
    DontCare("FlashAttentionScore", 0, _STATISTICS, "masked-rows", _INVALID_ROWS),
    DontCare("FlashAttentionScore", 1, _STATISTICS, "masked-rows", _INVALID_ROWS),
    DontCare("FlashAttentionScore", 3, _MASKED, "masked-rows", _INVALID_ROWS),
    DontCare("GroupedMatmul", 0, BehindGroups(), "behind-groups", _GROUPS),
    DontCare("GroupedMatmulV4", 0, BehindGroups(), "behind-groups", _GROUPS),
    DontCare("GroupedMatmulSwigluQuant", 0, BehindGroups(), "behind-groups", _SWIGLU),
    DontCare("GroupedMatmulSwigluQuant", 1, BehindGroups(), "behind-groups", _SWIGLU),
    DontCare("NonMaxSuppressionV4", 0, BehindCount("output", 1), "behind-count", _NMS),
    DontCare("NonMaxSuppressionV5", 0, BehindCount("output", 2), "behind-count", _NMS),
    DontCare("NonMaxSuppressionV5", 1, BehindCount("output", 2), "behind-count", _NMS),
    DontCare("BatchMultiClassNonMaxSuppression", 0, BehindCount("output", 3, 1), "behind-count", _BATCH_NMS),
    DontCare("BatchMultiClassNonMaxSuppression", 1, BehindCount("output", 3, 1), "behind-count", _BATCH_NMS),
    DontCare("BatchMultiClassNonMaxSuppression", 2, BehindCount("output", 3, 1), "behind-count", _BATCH_NMS),
)  # fmt: skip
"""What nobody has to compare, and who says so."""

STRUCK_OUT = -32752.0
"""Half of the least number of float16: a score at or below it is one that a mask has struck out."""

WHOLE: Mapping[tuple[str, int], str] = {
    (row.op_type, row.slot): row.reason for row in DONT_CARE if isinstance(row.region, Whole)
}
"""Operator type and output slot → why none of its values says anything."""

REGIONAL: Mapping[str, tuple[DontCare, ...]] = {
    op_type: tuple(row for row in DONT_CARE if row.op_type == op_type)
    for op_type in {row.op_type for row in DONT_CARE if not isinstance(row.region, Whole)}
}
"""Operator types of which a part of an output means nothing → their rows."""
