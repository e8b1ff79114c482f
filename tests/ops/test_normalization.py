"""Family normalization: kernels, gradients and refusals."""

from ops.normalization_cases import CASES

from kit.oracle.families import IMAGE, FamilyTests, X, spec
from workbench.ops.rows.normalization import ROWS

REFUSED = [
    ("BatchNorm", (IMAGE, *(spec(4),) * 4), {"data_format": 1},
     "graph/only", {"subject": "data_format", "expected": "NCHW", "got": 1}),
    ("BatchNormGrad", (IMAGE, IMAGE, *(spec(4),) * 4), {"data_format": "NHWC"},
     "graph/only", {"subject": "data_format", "expected": "NCHW", "got": "NHWC"}),
    ("LayerNorm", (X, spec(3), spec(4)), {"begin_params_axis": -1},
     "graph/shape", {"subject": "gamma", "expected": (4,), "got": (3,)}),
    ("BatchNorm", (IMAGE, *[spec(4)] * 3, spec(5)), {},
     "graph/shape", {"subject": "variance", "expected": (4,), "got": (5,)}),
    ("RmsNorm", (X, spec(3)), {}, "graph/shape-last", {"subject": "gamma", "whole": (2, 3, 4), "got": (3,)}),
    ("GroupNorm", (IMAGE, spec(4), spec(4)), {"num_groups": 3},
     "graph/divisor", {"subject": "num_groups", "whole": 4, "got": 3}),
    ("GroupNorm", (IMAGE, spec(4), spec(3)), {"num_groups": 2},
     "graph/shape", {"subject": "bias", "expected": (4,), "got": (3,)}),
    ("LRN", (X,), {}, "graph/layout", {"subject": "input", "expected": "NCHW", "got": (2, 3, 4)}),
    ("LRN", (IMAGE,), {"norm_region": "WITHIN"}, "core/choice", {"subject": "norm_region", "got": "WITHIN"}),
    ("LRN", (IMAGE,), {"depth_radius": -1}, "graph/integer", {"subject": "depth_radius", "least": 0, "got": -1}),
    ("LayerNorm", (X, spec(3, 4), spec(3, 4)), {"begin_norm_axis": 2, "begin_params_axis": 1},
     "graph/between", {"subject": "begin_params_axis", "low": 2, "high": 2, "got": 1}),
    ("LayerNorm", (X, spec(4), spec(4)), {"epsilon": None}, "graph/number", {"subject": "epsilon", "got": None}),
    ("ConvBnFilterHost", (spec(), *(spec(2),) * 4), {}, "graph/rank", {"subject": "filter", "least": 1, "got": ()}),
    ("ConvBnFilterHost", (X, *(spec(2),) * 3, spec(3)), {},
     "graph/shape", {"subject": "variance", "expected": (2,), "got": (3,)}),
    ("ConvBnBiasHost", (X, *(spec(2),) * 4), {}, "graph/layout", {"subject": "bias", "got": (2, 3, 4)}),
    ("ConvBnBiasHost", (spec(2), spec(3), *(spec(2),) * 3), {},
     "graph/shape", {"subject": "scale", "expected": (2,), "got": (3,)}),
    ("GroupNorm", (spec(4), spec(4), spec(4)), {"num_groups": 2}, "graph/rank", {"least": 2, "got": (4,)}),
    *(("GroupNorm", (IMAGE, spec(4), spec(4)), {"num_groups": n}, "graph/divisor", {"got": n}) for n in (0, -2, 2.0)),
    ("BatchNorm", (spec(4), *(spec(4),) * 4), {}, "graph/rank", {"subject": "input", "least": 2}),
    ("BNTrainingReduce", (spec(4),), {}, "graph/rank", {"subject": "input", "least": 2}),
    ("BNTrainingUpdate", (spec(4), *(spec(4),) * 6), {}, "graph/rank", {"subject": "input", "least": 2}),
    ("BNTrainingUpdate", (IMAGE, *(spec(4),) * 5, spec(5)), {},
     "graph/shape", {"subject": "variance", "expected": (4,), "got": (5,)}),
    ("BatchNormGrad", (spec(4), spec(4), *(spec(4),) * 4), {}, "graph/rank", {"subject": "x", "least": 2}),
    ("BatchNormGrad", (IMAGE, IMAGE, *(spec(4),) * 3, spec(5)), {},
     "graph/shape", {"subject": "reserve", "expected": (4,), "got": (5,)}),
    ("GroupNormGrad", (spec(4), spec(4), spec(4, 2), spec(4, 2), spec(4)), {"num_groups": 2},
     "graph/rank", {"subject": "x", "least": 2}),
    ("GroupNormGrad", (IMAGE, IMAGE, spec(2, 2), spec(2, 2), spec(4)), {"num_groups": 3},
     "graph/divisor", {"subject": "num_groups", "whole": 4, "got": 3}),
    ("GroupNormGrad", (IMAGE, IMAGE, spec(2, 2), spec(2, 4), spec(4)), {"num_groups": 2},
     "graph/shape", {"subject": "rstd", "expected": (2, 2), "got": (2, 4)}),
    ("RmsNormGrad", (X, X, spec(2, 3, 1), spec(3)), {}, "graph/shape-last", {"subject": "gamma", "got": (3,)}),
    ("RmsNormGrad", (X, X, spec(2, 3), spec(4)), {},
     "graph/shape", {"subject": "rstd", "expected": (2, 3, 1), "got": (2, 3)}),
]  # fmt: skip


class TestNormalization(FamilyTests):
    rows, cases, refused = ROWS, CASES, REFUSED
