"""Operators that move elements."""

from __future__ import annotations

from workbench.graph.infer import indexing, movement
from workbench.graph.opdef import OpDef

_MASKS = dict.fromkeys(
    ("begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask"), 0
)

MOVEMENT: dict[str, OpDef] = {
    "Reshape": OpDef("input shape", movement.reshape, "none"),
    "Flatten": OpDef("input_x", movement.flatten, "none"),
    "ExpandDims": OpDef("input_x axis", movement.expand_dims, "none"),
    "Squeeze": OpDef("input axis", movement.squeeze, "none", defaults={"axis": ()}),
    "Transpose": OpDef("input dims", movement.transpose),
    "Concat": OpDef("tensors axis", movement.concat, tensors=-1, defaults={"axis": 0}),
    "ConcatD": OpDef("tensors axis", movement.concat, tensors=-1, defaults={"axis": 0}),
    "Stack": OpDef("x", movement.stack, tensors=-1, defaults={"axis": 0}),
    "Split": OpDef("input_x axis output_num", movement.split, defaults={"axis": 0}),
    "SplitD": OpDef("input_x axis output_num", movement.split, defaults={"axis": 0}),
    "SplitV": OpDef("input_x", movement.split_sizes, defaults={"size_splits": (), "split_dim": 0}),
    "Slice": OpDef("input begin size", movement.slices),
    "StridedSlice": OpDef(
        "input_x begin end strides begin_mask end_mask ellipsis_mask new_axis_mask "
        "shrink_axis_mask",
        movement.strided_slice,
        defaults=_MASKS,
    ),
    "PadV3": OpDef(
        "x paddings constant_value",
        movement.pad,
        defaults={"constant_value": None, "mode": "constant"},
    ),
    "Tile": OpDef("input dims", movement.tile),
    "BroadcastTo": OpDef("input shape", movement.broadcast_to),
    "ReverseV2": OpDef("input axis", movement.reverse),
    "ReverseSequence": OpDef(
        "x seq_lengths",
        movement.reverse_sequence,
        tensors=2,
        defaults={"seq_dim": 0, "batch_dim": 0},
    ),
    "DepthToSpace": OpDef("x", movement.depth_to_space, defaults={"block_size": 1}),
    "SpaceToDepth": OpDef("x", movement.space_to_depth, defaults={"block_size": 1}),
    "Gather": OpDef(
        "input_params input_indices axis batch_dims",
        indexing.gather,
        tensors=2,
        defaults={"axis": 0, "batch_dims": 0},
    ),
    "GatherD": OpDef("x dim index", indexing.gather_d, tensors=2, places=(0, 2)),
    "GatherNd": OpDef("input_x indices", indexing.gather_nd, tensors=2),
    "TensorScatterUpdate": OpDef("input_x indices updates", indexing.scatter_nd_update, tensors=3),
    "TensorScatterAdd": OpDef("input_x indices updates", indexing.scatter_nd_update, tensors=3),
    "TensorScatterMul": OpDef("input_x indices updates", indexing.scatter_nd_update, tensors=3),
    "TensorScatterMax": OpDef("input_x indices updates", indexing.scatter_nd_update, tensors=3),
    "TensorScatterMin": OpDef("input_x indices updates", indexing.scatter_nd_update, tensors=3),
    "TensorScatterElements": OpDef(
        "data indices updates axis reduce",
        indexing.scatter_elements,
        tensors=3,
        defaults={"axis": 0, "reduce": "none"},
    ),
    "OneHot": OpDef(
        "indices depth on_value off_value axis",
        indexing.one_hot,
        tensors=3,
        defaults={"axis": -1},
        places=(0, 2, 3),
    ),
}
