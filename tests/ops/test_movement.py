"""Family movement: kernels, gradients and refusals."""

from ops.movement_cases import CASES

from kit.oracle.families import IMAGE, FamilyTests, X, spec
from workbench.ops.rows.movement import ROWS

REFUSED = [
    ("Reshape", (X,), {"shape": (5, -1)}, "graph/reshape", {"shape": (2, 3, 4), "elements": 24, "got": (5, -1)}),
    ("Reshape", (X,), {"shape": (-1, -1)}, "graph/reshape-open", {"got": (-1, -1)}),
    ("Flatten", (spec(),), {}, "graph/rank", {"subject": "input", "least": 1, "got": ()}),
    ("Transpose", (X,), {"dims": (0, 1)}, "graph/permutation", {"rank": 3, "got": (0, 1)}),
    ("Transpose", (X,), {"dims": (0, 1, 3)}, "graph/axis", {"subject": "dims", "low": -3, "high": 3, "got": 3}),
    ("Concat", (X, spec(2, 2, 5)), {"axis": 1}, "graph/concat", {"axis": 1, "got": ((2, 3, 4), (2, 2, 5))}),
    ("Concat", (spec(), spec()), {"axis": 0}, "graph/rank", {"subject": "inputs", "least": 1, "got": ()}),
    ("ExpandDims", (X,), {"axis": 4}, "graph/axis", {"subject": "axis", "low": -4, "high": 4, "got": 4}),
    ("Squeeze", (X,), {"axis": (0,)}, "graph/squeeze", {"axis": 0, "shape": (2, 3, 4)}),
    ("Stack", (X, spec(2, 3)), {}, "graph/shapes-differ", {"subject": "inputs", "got": ((2, 3, 4), (2, 3))}),
    ("Split", (X,), {"axis": 1, "output_num": 2}, "graph/axis-parts", {"axis": 1, "shape": (2, 3, 4), "got": 2}),
    ("SplitV", (X,), {"size_splits": (1, 2)}, "graph/splits", {"expected": 2, "got": (1, 2)}),
    ("SplitV", (X,), {"size_splits": (3, -1)}, "graph/splits", {"expected": 2, "got": (3, -1)}),
    ("Slice", (X,), {"begin": (0, 0, 3), "size": (1, 1, 2)},
     "graph/slice-outside", {"whole": (2, 3, 4), "begin": (0, 0, 3), "size": (1, 1, 2)}),
    ("Slice", (X,), {"begin": (0,), "size": (1,)},
     "graph/slice-outside", {"whole": (2, 3, 4), "begin": (0,), "size": (1,)}),
    ("StridedSlice", (X,), {"begin": (0,), "end": (1, 1), "strides": (1,)},
     "graph/slice-lengths", {"begin": (0,), "end": (1, 1), "strides": (1,)}),
    ("StridedSlice", (X,), {"begin": (0,), "end": (1,), "strides": (0,)},
     "graph/slice", {"shape": (2, 3, 4), "begin": (0,), "end": (1,), "strides": (0,)}),
    ("StridedSlice", (X,), {"begin": (2,), "end": (3,), "strides": (1,), "shrink_axis_mask": 1},
     "graph/axis", {"subject": "begin", "low": -2, "high": 2, "got": 2}),
    ("PadV3", (X,), {"paddings": (1,)}, "graph/paddings", {"got": (1,)}),
    ("PadV3", (X,), {"paddings": (1, -6)}, "graph/paddings-small", {"axis": 2, "shape": (2, 3, 4), "got": (1, -6)}),
    ("PadV3", (X,), {"paddings": (1, -1), "mode": "edge"},
     "graph/paddings-negative", {"mode": "edge", "got": (1, -1)}),
    ("PadV3", (X,), {"paddings": (4, 0), "mode": "reflect"},
     "graph/paddings-large", {"axis": 2, "shape": (2, 3, 4), "mode": "reflect", "got": (4, 0)}),
    ("PadV3", (X,), {"paddings": (1, 0), "mode": "mirror"}, "core/choice", {"subject": "mode", "got": "mirror"}),
    ("Tile", (X,), {"dims": (1, -1)}, "graph/negative", {"subject": "dims", "got": (1, -1)}),
    ("BroadcastTo", (X,), {"shape": (2, 3, 5)},
     "graph/broadcast-to", {"subject": "input", "expected": (2, 3, 5), "got": (2, 3, 4)}),
    ("BroadcastTo", (X,), {"shape": (4,)},
     "graph/broadcast-to", {"subject": "input", "expected": (4,), "got": (2, 3, 4)}),
    ("ReverseV2", (X,), {"axis": (3,)}, "graph/axis", {"subject": "axis", "low": -3, "high": 3, "got": 3}),
    ("ReverseSequence", (X, spec(3, dtype="int32")), {"seq_dim": 1},
     "graph/shape", {"subject": "seq_lengths", "expected": (2,), "got": (3,)}),
    ("DepthToSpace", (IMAGE,), {"block_size": 3},
     "graph/multiple", {"subject": "channels of the input", "of": 9, "got": 4}),
    ("DepthToSpace", (IMAGE,), {"block_size": 0}, "graph/integer", {"subject": "block_size", "least": 1, "got": 0}),
    ("SpaceToDepth", (IMAGE,), {"block_size": 3},
     "graph/multiple", {"subject": "height and width of the input", "of": 3, "got": (8, 8)}),
    ("SpaceToDepth", (X,), {}, "graph/layout", {"subject": "input", "expected": "NCHW", "got": (2, 3, 4)}),
    ("Concat", (), {"axis": 0}, "graph/no-tensor", {}),
    ("Reshape", (X,), {"shape": None}, "graph/sizes-unknown", {"subject": "shape", "got": None}),
    ("ReverseV2", (X,), {"axis": (0, -3)}, "graph/axis-twice", {"got": (0, -3)}),
    ("ReverseSequence", (X, spec(2, dtype="int32")), {"seq_dim": -3}, "graph/axis-twice", {"got": (-3, 0)}),
    ("StridedSlice", (X,), {"begin": 0, "end": (1,), "strides": (1,)},
     "graph/sizes-unknown", {"subject": "begin", "got": 0}),
    ("StridedSlice", (X,), {"begin": (0, 0), "end": (1, 1), "strides": (1, 1), "ellipsis_mask": 3},
     "graph/one-ellipsis", {"got": 3}),
    ("StridedSlice", (X,), {"begin": (0,), "end": (1,), "strides": (1,), "end_mask": "1"},
     "graph/integer", {"subject": "end_mask", "least": 0, "got": "1"}),
    ("PadV3", (X,), {"paddings": (1, 1), "constant_value": "1"},
     "graph/number", {"subject": "constant_value", "got": "1"}),
]  # fmt: skip


class TestMovement(FamilyTests):
    rows, cases, refused = ROWS, CASES, REFUSED
