"""Family elementwise: kernels, gradients and refusals."""

from ops.elementwise_cases import CASES

from kit.oracle.families import FamilyTests, X, spec
from workbench.ops.rows.elementwise import ROWS

REFUSED = [
    ("Add", (spec(2, 3), spec(2, 4)), {}, "graph/broadcast", {"got": ((2, 3), (2, 4))}),
    ("Add", (spec(2), spec(2, dtype="float16")), {},
     "graph/dtypes-differ", {"subject": "inputs", "got": ("float32", "float16")}),
    ("BiasAdd", (spec(4), spec(4)), {}, "graph/rank", {"subject": "input", "least": 2, "got": (4,)}),
    ("BiasAdd", (spec(2, 4), spec(5)), {}, "graph/shape", {"subject": "bias", "expected": (4,), "got": (5,)}),
    ("Cast", (X,), {"dst_type": "float33"}, "core/choice", {"subject": "dst_type", "got": "float33"}),
    ("MaskedFill", (X, X, spec()), {}, "graph/dtype", {"subject": "mask", "expected": ["bool"], "got": "float32"}),
    ("MaskedFill", (X, spec(5, dtype="bool"), spec()), {},
     "graph/broadcast-to", {"subject": "mask", "expected": (2, 3, 4), "got": (5,)}),
    ("LogicalAnd", (X, X), {},
     "graph/dtype", {"subject": "inputs", "expected": ["bool"], "got": ("float32", "float32")}),
    ("LeftShift", (X, X), {}, "graph/dtype-integer", {"subject": "input 0", "got": "float32"}),
    ("AddN", (X, spec(3, 4)), {}, "graph/shapes-differ", {"subject": "inputs", "got": ((2, 3, 4), (3, 4))}),
    ("Select", (X, X, X), {}, "graph/dtype", {"subject": "condition", "expected": ["bool"], "got": "float32"}),
    ("Select", (spec(1, dtype="bool"), X, spec(1, dtype="int8")), {},
     "graph/dtypes-differ", {"subject": "both values", "got": ("float32", "int8")}),
    ("ClampScalar", (X,), {"min": "0"}, "graph/number", {"subject": "min", "got": "0"}),
    ("Round", (X,), {"decimals": 0.5}, "graph/integer-any", {"subject": "decimals", "got": 0.5}),
]  # fmt: skip


class TestElementwise(FamilyTests):
    rows, cases, refused = ROWS, CASES, REFUSED
