"""Family quantization: kernels, gradients and refusals."""

from ops.quantization_cases import CASES

from kit.oracle.families import FamilyTests, X, spec
from workbench.ops.rows.quantization import ROWS

REFUSED = [
    ("AscendQuant", (spec(2, dtype="int8"),), {}, "graph/dtype-float", {"subject": "input", "got": "int8"}),
    ("AscendQuant", (X,), {"round_mode": "Hybrid"}, "core/choice", {"subject": "round_mode", "got": "Hybrid"}),
    ("AscendQuant", (X,), {"scale": float("nan")}, "graph/finite", {"subject": "scale"}),
    ("AscendQuant", (X,), {"dst_type": 3}, "core/choice", {"subject": "dst_type", "got": "int32"}),
    ("AscendDequant", (X, spec(1)), {}, "graph/dtype", {"subject": "input", "expected": ["int32"], "got": "float32"}),
    ("AscendDequant", (spec(2, 3, dtype="int32"), spec(2)), {},
     "graph/shape-or", {"subject": "deq_scale", "expected": [(1,), (3,)], "got": (2,)}),
    ("AscendDequant", (spec(2, dtype="int32"), spec(1)), {"dtype": 99},
     "core/choice", {"subject": "dtype", "got": 99}),
    ("AscendDequant", (spec(2, dtype="int32"), spec(1, dtype="int8")), {},
     "graph/dtype-float-or", {"subject": "deq_scale", "other": "uint64", "got": "int8"}),
    ("TransQuantParamV2", (spec(3, dtype="int8"),), {},
     "graph/dtype", {"subject": "scale", "expected": ["float32"], "got": "int8"}),
    ("TransQuantParamV2", (spec(3), spec(4)), {},
     "graph/layout", {"subject": "scale and offset", "expected": "(n,), (1, n) or (1,)", "got": [(3,), (4,)]}),
    ("TransQuantParamV2", (spec(2, 3),), {},
     "graph/layout", {"subject": "scale and offset", "expected": "(n,), (1, n) or (1,)", "got": [(2, 3)]}),
    ("TransQuantParamV2", (spec(1),) * 3, {}, "graph/scale-and-offset", {"got": 3}),
    ("TransQuantParamV2", (spec(3),), {"round_mode": 2}, "core/choice", {"subject": "round_mode", "got": 2}),
    ("AscendAntiQuant", (X,), {},
     "graph/dtype", {"subject": "input", "expected": ["int8", "int4"], "got": "float32"}),
]  # fmt: skip


class TestQuantization(FamilyTests):
    rows, cases, refused = ROWS, CASES, REFUSED
