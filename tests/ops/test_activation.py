"""Family activation: kernels, gradients and refusals."""

from ops.activation_cases import CASES

from kit.oracle.families import FamilyTests, X, spec
from workbench.core.tensors import TensorSpec
from workbench.ops.rows.activation import ROWS

REFUSED = [
    ("PReLU", (X, spec(4)), {}, "graph/shape-or", {"subject": "weight", "expected": [(1,), (3,)], "got": (4,)}),
    ("ReLU", (TensorSpec("float32", None),), {}, "graph/open-shape", {"subject": "input 0"}),
    ("Threshold", (X,), {"threshold": None, "value": 1}, "graph/number", {"subject": "threshold", "got": None}),
    ("HShrink", (X,), {"lambd": (1, 2)}, "graph/number", {"subject": "lambd", "got": (1, 2)}),
]  # fmt: skip


class TestActivation(FamilyTests):
    rows, cases, refused = ROWS, CASES, REFUSED
