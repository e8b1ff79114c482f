"""Family pooling: kernels, gradients and refusals."""

from ops.pooling_cases import CASES

from kit.oracle.families import IMAGE, FamilyTests, X, spec
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
    ("ResizeBilinearGrad", (spec(2, 4, 3, 3), spec(2, 3, 8, 8)), {}, "graph/resized", {"grads": (2, 4, 3, 3)}),
    ("ResizeBilinearGrad", (spec(2, 4, 3, 3), X), {}, "graph/resized", {"image": (2, 3, 4)}),
    ("ResizeBilinearGrad", (spec(2, 4, 0, 3), IMAGE), {}, "graph/resized", {"grads": (2, 4, 0, 3)}),
    ("MaxPoolGrad", (IMAGE, spec(2, 4, 8, 8), spec(2, 4, 7, 7)), {"kernel_size": 2, "strides": 1, "pad_mode": "valid"},
     "graph/shape", {"subject": "out", "expected": (2, 4, 7, 7), "got": (2, 4, 8, 8)}),
    ("AvgPoolGrad", (IMAGE, spec(2, 4, 7, 7), IMAGE), {"kernel_size": 2, "strides": 1, "pad_mode": "valid"},
     "graph/shape", {"subject": "dout", "expected": (2, 4, 7, 7), "got": (2, 4, 8, 8)}),
]  # fmt: skip


class TestPooling(FamilyTests):
    rows, cases, refused = ROWS, CASES, REFUSED
