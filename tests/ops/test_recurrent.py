"""Family recurrent: kernels, gradients and refusals."""

from ops.recurrent_cases import CASES

from kit.oracle.families import FamilyTests, X, spec
from workbench.ops.rows.recurrent import ROWS

REFUSED = [
    ("DynamicRNN", (X, spec(9, 20), spec(20), spec(1, 3, 5), spec(1, 3, 4)), {},
     "graph/shape", {"subject": "init_c", "expected": (1, 3, 5), "got": (1, 3, 4)}),
    ("DynamicRNN", (spec(3, 4), *[spec(1)] * 4), {},
     "graph/layout", {"subject": "input", "expected": "(time, batch, features)", "got": (3, 4)}),
    ("DynamicRNN", (X, *[spec(1)] * 4), {"use_peephole": True},
     "graph/only", {"subject": "use_peephole", "expected": False, "got": True}),
    ("DynamicGRUV2", (X, *[spec(1)] * 4, spec(3, 5)), {},
     "graph/shape", {"subject": "weight_input", "expected": (4, 15), "got": (1,)}),
    ("DynamicGRUV2", (X, *[spec(1)] * 5), {"gate_order": "hrz"},
     "core/choice", {"subject": "gate_order", "got": "hrz"}),
    ("LSTM", (X, *[spec(1, 3, 5)] * 2, spec(180, 1, 1)), {"hidden_size": 5},
     "graph/shape", {"subject": "w", "expected": (200, 1, 1), "got": (180, 1, 1)}),
    ("LSTM", (X, *[spec(1, 3, 5)] * 2, spec(200, 1, 1)), {"hidden_size": "5"},
     "graph/integer", {"subject": "hidden_size", "least": 1, "got": "5"}),
]  # fmt: skip


class TestRecurrent(FamilyTests):
    rows, cases, refused = ROWS, CASES, REFUSED
