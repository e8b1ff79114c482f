"""Family pooling: kernels, gradients and refusals."""

from ops.pooling_cases import CASES

from kit.oracle.families import IMAGE, FamilyTests, X
from workbench.ops.rows.pooling import ROWS

REFUSED = [
    ("MaxPool", (X,), {}, "graph/layout", {"subject": "input", "expected": "NCHW", "got": (2, 3, 4)}),
    ("MaxPool", (IMAGE,), {"data_format": 1},
     "graph/only", {"subject": "data_format", "expected": "NCHW", "got": 1}),
    ("AvgPool", (IMAGE,), {"data_format": "NHWC"},
     "graph/only", {"subject": "data_format", "expected": "NCHW", "got": "NHWC"}),
    ("MaxPoolV3", (IMAGE,), {"data_format": "NHWC"},
     "graph/only", {"subject": "data_format", "expected": "NCHW", "got": "NHWC"}),
    ("MaxPoolV3", (X,), {}, "graph/layout", {"subject": "input", "expected": "NCHW", "got": (2, 3, 4)}),
    ("MaxPoolV3", (IMAGE,), {"pads": (0, 0, -1, 0)},
     "graph/window", {"subject": "padding", "least": 0, "got": (0, 0, -1, 0)}),
    ("MaxPoolV3", (IMAGE,), {"ksize": ()}, "graph/window-sizes", {"got": ()}),
    ("ResizeBilinearV2", (IMAGE,), {"size": (0, 3)}, "graph/two-sizes", {"subject": "size", "got": (0, 3)}),
    ("ResizeBilinearV2", (IMAGE,), {"size": (2, 3), "align_corners": True,
                                    "half_pixel_centers": True}, "graph/corners", {}),
]  # fmt: skip


class TestPooling(FamilyTests):
    rows, cases, refused = ROWS, CASES, REFUSED
