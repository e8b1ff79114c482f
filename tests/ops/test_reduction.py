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
    ("ReduceSum", (X,), {"axis": (1, -2)}, "graph/axis-twice", {"got": (1, -2)}),
    ("Softmax", (X,), {"axis": 0.5}, "graph/axis", {"subject": "axis", "low": -3, "high": 3, "got": 0.5}),
    ("ReduceMax", (spec(2, 0),), {"axis": 1}, "graph/empty-axis", {"got": (2, 0)}),
    ("ArgMaxWithValue", (spec(),), {"axis": 0}, "graph/empty-axis", {"got": ()}),
    ("LogSoftmaxGrad", (X, X), {"axis": 3}, "graph/axis", {"subject": "axis", "low": -3, "high": 3, "got": 3}),
    ("LogSoftmaxGrad", (X, spec(2, 3)), {}, "graph/shapes-differ", {"got": ((2, 3, 4), (2, 3))}),
]  # fmt: skip


class TestReduction(FamilyTests):
    rows, cases, refused = ROWS, CASES, REFUSED
