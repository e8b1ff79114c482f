"""Family matrix: kernels, gradients and refusals."""

from ops.matrix_cases import CASES

from kit.oracle.families import IMAGE, FamilyTests, X, spec
from workbench.ops.rows.matrix import ROWS

VOLUME = spec(1, 4, 3, 5, 5)
REFUSED = [
    ("MatMul", (spec(2, 3), spec(4, 5)), {},
     "graph/inner", {"left": (2, 3), "right": (4, 5), "transposed": False, "expected": 3, "got": 4}),
    ("MatMul", (X, X), {}, "graph/matrices", {"type": "MatMul", "got": ((2, 3, 4), (2, 3, 4))}),
    ("BatchMatMul", (spec(2, 3, 4), spec(3, 4, 5)), {}, "graph/broadcast", {"got": ((2,), (3,))}),
    ("Conv2D", (spec(2, 4, 8), IMAGE), {},
     "graph/layout", {"subject": "input and weight", "expected": "NCHW, OIHW", "got": ((2, 4, 8), (2, 4, 8, 8))}),
    ("Conv2D", (IMAGE, spec(3, 5, 3, 3)), {},
     "graph/channels", {"weight": (3, 5, 3, 3), "group": 1, "expected": 5, "got": 4}),
    ("Conv2D", (IMAGE, spec(3, 2, 3, 3)), {"group": 2},
     "graph/multiple", {"subject": "output channels", "of": 2, "got": 3}),
    ("Conv2D", (IMAGE, spec(3, 4, 9, 9)), {}, "graph/window-reach", {"reach": 9, "got": 8}),
    ("Conv2D", (IMAGE, spec(3, 4, 3, 3)), {"format": "NHWC"},
     "graph/only", {"subject": "format", "expected": "NCHW", "got": "NHWC"}),
    ("Conv2D", (IMAGE, spec(3, 4, 3, 3)), {"stride": 0},
     "graph/window", {"subject": "stride", "least": 1, "got": (0, 0)}),
    ("Conv2D", (IMAGE, spec(3, 4, 3, 3)), {"group": 0}, "graph/integer", {"subject": "group", "least": 1, "got": 0}),
    ("Conv2DTranspose", (IMAGE, spec(4, 2, 3, 3)), {"input_size": (2, 2, 9)},
     "graph/layout", {"subject": "input_size", "expected": "NCHW", "got": (2, 2, 9)}),
    ("Conv2DTranspose", (IMAGE, spec(4, 2, 3, 3)), {"input_size": (2, 2, 9, 10)},
     "graph/input-size", {"given": (2, 4, 7, 8), "expected": (2, 4, 8, 8), "got": (2, 2, 9, 10)}),
    ("Conv2D", (IMAGE, spec(3, 4, 3, 3)), {"stride": 0, "pad_mode": "same"},
     "graph/window", {"subject": "stride", "least": 1, "got": (0, 0)}),
    ("Conv2D", (IMAGE, spec(3, 4, 3, 3)), {"stride": "two"}, "graph/window-sizes", {"got": "two"}),
    ("Conv2D", (IMAGE, spec(3, 4, 3, 3)), {"pad_mode": "pad", "pad": 0.5}, "graph/window-pad", {"got": 0.5}),
    ("Conv3D", (X, VOLUME), {}, "graph/layout", {"subject": "input", "expected": "NCDHW", "got": (2, 3, 4)}),
    ("Conv3D", (VOLUME, spec(2, 3, 1, 1, 1)), {},
     "graph/shape", {"subject": "weight", "expected": (2, 4, 1, 1, 1), "got": (2, 3, 1, 1, 1)}),
    ("Conv3D", (VOLUME, spec(3, 2, 1, 1, 1)), {"group": 2},
     "graph/shape", {"subject": "weight", "expected": (3, 2, 1, 1, 1), "got": (3, 2, 1, 1, 1)}),
    ("Conv3D", (VOLUME, spec(2, 4, 4, 1, 1)), {}, "graph/window-reach", {"reach": 4, "got": 3}),
    ("Conv3D", (VOLUME, spec(2, 4, 1, 1, 1)), {"group": 0},
     "graph/integer", {"subject": "group", "least": 1, "got": 0}),
    ("Conv3D", (VOLUME, spec(2, 4, 1, 1, 1)), {"stride": (1, 0, 1)},
     "graph/window", {"subject": "stride", "least": 1, "got": (1, 0, 1)}),
    ("Conv3D", (VOLUME, spec(2, 4, 1, 1, 1)), {"stride": (2, 2)}, "graph/window-sizes", {"got": (2, 2)}),
    ("Conv3D", (VOLUME, spec(2, 4, 1, 1, 1)), {"pad_mode": "pad", "pad": (1, 1)}, "graph/window-pad", {"got": (1, 1)}),
    ("Conv3D", (VOLUME, spec(2, 4, 1, 1, 1)), {"pad_mode": "full"},
     "core/choice", {"subject": "pad_mode", "got": "full"}),
]  # fmt: skip


class TestMatrix(FamilyTests):
    rows, cases, refused = ROWS, CASES, REFUSED
