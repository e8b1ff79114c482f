"""Family indexing: kernels, gradients and refusals."""

from ops.indexing_cases import CASES

from kit.oracle.families import FamilyTests, X, spec
from workbench.ops.rows.indexing import ROWS

REFUSED = [
    ("Gather", (X, spec(2)), {}, "graph/dtype-integer", {"subject": "the indices", "got": "float32"}),
    ("Gather", (X, spec(2, dtype="int32")), {"batch_dims": 1},
     "graph/only", {"subject": "batch_dims", "expected": 0, "got": 1}),
    ("GatherD", (X, spec(2, 4, 4, dtype="int64")), {"dim": 2},
     "graph/index-shape", {"subject": "index", "whole": (2, 3, 4), "axis": 2, "got": (2, 4, 4)}),
    ("GatherNd", (X, spec(5, 4, dtype="int64")), {}, "graph/index-rows", {"got": (5, 4)}),
    ("TensorScatterUpdate", (X, spec(5, 2, dtype="int64"), spec(5, 3)), {},
     "graph/shape", {"subject": "updates", "expected": (5, 4), "got": (5, 3)}),
    ("TensorScatterAdd", (X, spec(5, 2, dtype="int64"), spec(5, 4, dtype="int8")), {},
     "graph/dtype", {"subject": "updates", "expected": ["float32"], "got": "int8"}),
    ("TensorScatterElements", (X, spec(1, 1, dtype="int64"), spec(1, 1)), {},
     "graph/index-updates", {"whole": (2, 3, 4), "axis": 0, "indices": (1, 1), "updates": (1, 1)}),
    ("TensorScatterElements", (X, spec(1, 1, 1, dtype="int64"), spec(1, 1, 1)),
     {"reduce": "mul"}, "core/choice", {"subject": "reduce", "got": "mul"}),
    ("OneHot", (spec(2, dtype="int64"), spec(), spec(dtype="int8")), {"depth": 2},
     "graph/dtypes-differ", {"subject": "on_value and off_value", "got": ("float32", "int8")}),
    ("OneHot", (spec(2, dtype="int64"), spec(), spec()), {"depth": -2},
     "graph/integer", {"subject": "depth", "least": 0, "got": -2}),
]  # fmt: skip


class TestIndexing(FamilyTests):
    rows, cases, refused = ROWS, CASES, REFUSED
