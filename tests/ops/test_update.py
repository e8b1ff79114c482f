"""Family update: kernels, gradients and refusals."""

from ops.update_cases import CASES

from kit.oracle.families import FamilyTests, X, spec
from workbench.ops.rows.update import ROWS

REFUSED = [
    ("Assign", (X, spec(2, 3)), {}, "graph/assigned", {}),
    ("Assign", (X, spec(2, 3, 4, dtype="float16")), {}, "graph/assigned", {}),
    ("ApplyMomentum", (X, spec(2), spec(), X, spec()), {},
     "graph/shape", {"subject": "input 1", "expected": (2, 3, 4), "got": (2,)}),
    ("ApplyMomentum", (X, X, spec(2), X, spec()), {}, "graph/one-number", {"subject": "input 2", "got": (2,)}),
    ("NPUGetFloatStatusV2", (spec(8),), {}, "graph/dtype-integer", {"subject": "the status", "got": "float32"}),
    ("NPUGetFloatStatusV2", (spec(4, dtype="int32"),), {},
     "graph/shape", {"subject": "status", "expected": (8,), "got": (4,)}),
]  # fmt: skip


class TestUpdate(FamilyTests):
    rows, cases, refused = ROWS, CASES, REFUSED
