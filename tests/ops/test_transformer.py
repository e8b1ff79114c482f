"""Family transformer: kernels, gradients and refusals."""

from ops.transformer_cases import CASES

from kit.oracle.families import FamilyTests, spec
from workbench.ops.rows.transformer import ROWS

FLASH = "FlashAttentionScore"
REFUSED = [
    (FLASH, (spec(2, 8, 64),) * 3, {"head_num": 4, "input_layout": "NBS"},
     "core/choice", {"subject": "input_layout", "got": "NBS"}),
    *((name, (spec(6, 16),), {"k": k}, "graph/integer", {"subject": "k", "least": 1, "got": k})
      for name in ("MoeGatingTopK", "MoeGatingTopKSoftmax") for k in (0, 17, 2.0)),
]  # fmt: skip


def attention(layout, shape, rows):
    return FLASH, (spec(*shape),) * 3, {"head_num": 4, "input_layout": layout}, [
        spec(*rows, 8), spec(*rows, 8), spec(1), spec(*shape)]  # fmt: skip


INFERRED = [
    attention("BSH", (2, 7, 64), (2, 4, 7)),
    attention("SBH", (7, 2, 64), (2, 4, 7)),
    attention("BSND", (2, 7, 4, 16), (2, 4, 7)),
    attention("BNSD", (2, 4, 7, 16), (2, 4, 7)),
    attention("TND", (14, 4, 16), (14, 4)),
    ("PromptFlashAttention", (spec(2, 7, 64),) * 3, {}, [spec(2, 7, 64)]),
    ("MoeGatingTopK", (spec(6, 16, dtype="float16"),), {"k": 4},
     [spec(6, 4, dtype="float16"), spec(6, 4, dtype="int32"), spec(6, 16)]),
    ("MoeGatingTopKSoftmax", (spec(6, 16),), {"k": 16}, [spec(6, 16), spec(6, 16, dtype="int32")]),
]  # fmt: skip


class TestTransformer(FamilyTests):
    rows, cases, refused, inferred = ROWS, CASES, REFUSED, INFERRED
