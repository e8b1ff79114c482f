"""Family loss: kernels, gradients and refusals."""

from ops.loss_cases import CASES

from kit.oracle.families import FamilyTests, X, spec
from workbench.ops.rows.loss import ROWS

SCORES, CLASSES = spec(4, 3), spec(4, dtype="int32")
SPARSE, DENSE = "SparseSoftmaxCrossEntropyWithLogits", "SoftmaxCrossEntropyWithLogits"
LAYOUT = {"expected": "(samples, classes)"}
REFUSED = [
    (SPARSE, (SCORES, spec(4)), {}, "graph/dtype-integer", {"subject": "labels", "got": "float32"}),
    (SPARSE, (X, CLASSES), {}, "graph/layout", LAYOUT),
    (SPARSE, (spec(0, 3), spec(0, dtype="int32")), {}, "graph/layout", LAYOUT),
    (SPARSE, (SCORES, spec(3, dtype="int32")), {},
     "graph/shape", {"subject": "labels", "expected": (4,), "got": (3,)}),
    (DENSE, (X, X), {}, "graph/layout", LAYOUT),
    (DENSE, (spec(4, 0), spec(4, 0)), {}, "graph/layout", LAYOUT),
    (DENSE, (SCORES, spec(4, 3, dtype="float16")), {}, "graph/dtypes-differ", {}),
    *(("Dropout", (X,), {"keep_prob": kept}, "graph/probability", {"got": kept}) for kept in (0, 1.5, -1)),
    ("Dropout", (X,), {"keep_prob": "1"}, "graph/number", {"subject": "keep_prob", "got": "1"}),
    *(("Dropout", (X,), {name: 0.5}, "graph/integer-any", {"subject": name, "got": 0.5})
      for name in ("Seed0", "Seed1")),
    ("NLLLoss", (SCORES, spec(4), spec(3)), {}, "graph/dtype-integer", {"subject": "labels"}),
    ("NLLLoss", (X, CLASSES, spec(3)), {}, "graph/layout", {"subject": "logits"} | LAYOUT),
    ("NLLLoss", (spec(4, 0), CLASSES, spec(0)), {}, "graph/layout", {"subject": "logits"} | LAYOUT),
    ("NLLLoss", (SCORES, spec(3, dtype="int32"), spec(3)), {}, "graph/shape", {"subject": "labels", "expected": (4,)}),
    ("NLLLoss", (SCORES, CLASSES, spec(4)), {}, "graph/shape", {"subject": "weight", "expected": (3,)}),
    ("NLLLoss", (SCORES, CLASSES, spec(3)), {"reduction": "most"}, "core/choice", {"subject": "reduction"}),
    ("NLLLoss", (SCORES, CLASSES, spec(3)), {"ignore_index": None}, "graph/integer-any", {"subject": "ignore_index"}),
]  # fmt: skip


class TestLoss(FamilyTests):
    rows, cases, refused = ROWS, CASES, REFUSED
