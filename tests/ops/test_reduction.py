"""Family reduction: kernels, gradients and refusals."""

from ops.reduction_cases import CASES

from kit.oracle.families import FamilyTests, X, spec
from workbench.ops.rows.reduction import ROWS

REFUSED = [
    ("Softmax", (X,), {"axis": (3,)}, "graph/axis", {"subject": "axis", "low": -3, "high": 3, "got": 3}),
    ("ReduceSum", (X,), {"axis": 7}, "graph/axis", {"subject": "axis", "low": -3, "high": 3, "got": 7}),
    ("ReduceAll", (X,), {}, "graph/dtype", {"subject": "input", "expected": ["bool"], "got": "float32"}),
    ("Argmax", (X,), {"output_type": 43}, "core/choice", {"subject": "output_type", "got": "float32"}),
    ("Argmax", (spec(2, 0),), {}, "graph/empty-axis", {"got": (2, 0)}),
    ("TopK", (X,), {"k": 5}, "graph/between", {"subject": "k", "low": 0, "high": 4, "got": 5}),
    ("CumSum", (X,), {"axis": 3}, "graph/axis", {"subject": "axis", "low": -3, "high": 3, "got": 3}),
]  # fmt: skip


class TestReduction(FamilyTests):
    rows, cases, refused = ROWS, CASES, REFUSED
