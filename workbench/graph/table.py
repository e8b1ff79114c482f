"""The operator table: MindSpore's primitive vocabulary, its arguments, shapes and engines.

An operator has *tensor arguments* and *settings*. A setting is a constant operand in newer dialects
(``MatMul(%x, %w, Bool(0), Bool(1))``) and an attribute in older ones and in `Conv2D`;
`workbench.graph.ops.bind` reads both the same way. Argument names and order are those of MindSpore
2.10; operators that only the graph engine has (`MaxPoolV3`, `AvgPoolV2`, `AscendQuant`, …) are
spelled as CANN does. `tests/graph/test_ops.py` checks every row, `tests/run/test_kernel_oracles.py`
that each has a kernel and what it is checked against.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.graph import infer
from workbench.graph.infer import elementwise as each
from workbench.graph.infer import (
    indexing,
    matrix,
    movement,
    quantization,
    recurrent,
    reduction,
)
from workbench.graph.infer import window as windows
from workbench.graph.opdef import OpDef

if TYPE_CHECKING:
    from collections.abc import Callable

    from workbench.core.tensors import TensorSpec
    from workbench.graph.infer import Call


def _unary(
    name: str = "input", rule: Callable[[Call], tuple[TensorSpec, ...]] = infer.same
) -> OpDef:
    return OpDef(name, rule)


def _binary(
    names: str = "input other",
    rule: Callable[[Call], tuple[TensorSpec, ...]] = each.broadcast,
) -> OpDef:
    return OpDef(names, rule, tensors=2)


_TRANSPOSES = {"transpose_a": False, "transpose_b": False}
_CONV = {"group": 1, "pad_mode": "valid", "pad": 0, "stride": 1, "dilation": 1, "format": "NCHW"}
_POOL = {"kernel_size": 1, "strides": 1, "pad_mode": "valid", "data_format": 0}
_GE_POOL = {
    "ksize": (1, 1, 1, 1),
    "strides": (1, 1, 1, 1),
    "padding_mode": "CALCULATED",
    "pads": (0, 0, 0, 0),
    "data_format": "NCHW",
    "global_pooling": False,
    "ceil_mode": False,
}
_REDUCED = {"axis": (), "keep_dims": False}
_CORNERS = {"align_corners": False, "half_pixel_centers": False}
_SUMMED = {"exclusive": False, "reverse": False}
_MASKS = dict.fromkeys(
    ("begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask"), 0
)
_RECURRENT = {
    "seq_length": None,
    "direction": "UNIDIRECTIONAL",
    "cell_depth": 1,
    "keep_prob": 1.0,
    "cell_clip": -1.0,
    "num_proj": 0,
    "time_major": True,
    "activation": "tanh",
    "is_training": False,
}
_RNN = {"cell_type": "LSTM", "use_peephole": False, "forget_bias": 0.0, **_RECURRENT}
_GRU = {"gate_order": "rzh", "reset_after": True, **_RECURRENT}
_LSTM = {
    "input_size": 0,
    "hidden_size": 0,
    "num_layers": 1,
    "has_bias": True,
    "bidirectional": False,
    "dropout": 0.0,
    "proj_size": 0,
}
_LRN = {
    "depth_radius": 5,
    "bias": 1.0,
    "alpha": 1.0,
    "beta": 0.5,
    "norm_region": "ACROSS_CHANNELS",
}
_NORM = {"begin_norm_axis": 1, "begin_params_axis": 1, "epsilon": 1e-7}
_BATCH_NORM = {"is_training": False, "epsilon": 1e-5, "momentum": 0.1, "data_format": 0}
_QUANT = {
    "scale": 1.0,
    "offset": 0.0,
    "sqrt_mode": False,
    "round_mode": "Round",
    "dst_type": 2,
}

OPS: dict[str, OpDef] = {
    # cube unit
    "Conv2D": OpDef("x weight", matrix.conv2d, "cube", 2, _CONV, matrix.pad_list),
    "Conv2DTranspose": OpDef(
        "dout weight input_size",
        matrix.conv2d_transpose,
        "cube",
        2,
        _CONV,
        matrix.transpose_pad_list,
    ),
    "Conv2DBackpropInput": OpDef(
        "dout weight input_size",
        matrix.conv2d_transpose,
        "cube",
        2,
        _CONV,
        matrix.transpose_pad_list,
    ),
    "MatMul": OpDef("input mat2 transpose_a transpose_b", matrix.matmul, "cube", 2, _TRANSPOSES),
    "BatchMatMul": OpDef("x y transpose_a transpose_b", matrix.matmul, "cube", 2, _TRANSPOSES),
    "DynamicRNN": OpDef(
        "x w b seq_length init_h init_c",
        recurrent.dynamic_rnn,
        "cube",
        5,
        _RNN,
        places=(0, 1, 2, 4, 5),
    ),
    "DynamicGRUV2": OpDef(
        "x weight_input weight_hidden bias_input bias_hidden seq_length init_h",
        recurrent.dynamic_gru,
        "cube",
        6,
        _GRU,
        places=(0, 1, 2, 3, 4, 6),
    ),
    "LSTM": OpDef("x h c w", recurrent.lstm, "cube", 4, _LSTM),
    # elementwise, two inputs and more
    "Add": _binary(),
    "Sub": _binary(),
    "Mul": _binary(),
    "RealDiv": _binary("x y"),
    "Div": _binary(),
    "FloorDiv": _binary(),
    "FloorMod": _binary("x y"),
    "TruncateDiv": _binary("x y"),
    "TruncateMod": _binary("x y"),
    "Maximum": _binary(),
    "Minimum": _binary(),
    "Pow": _binary("input exponent"),
    "Equal": _binary(rule=each.compare),
    "NotEqual": _binary(rule=each.compare),
    "Greater": _binary(rule=each.compare),
    "GreaterEqual": _binary(rule=each.compare),
    "Less": _binary(rule=each.compare),
    "LessEqual": _binary(rule=each.compare),
    "LogicalAnd": _binary("x y", each.logic),
    "LogicalOr": _binary("x y", each.logic),
    "LogicalXor": _binary(rule=each.logic),
    "BitwiseAnd": _binary("x1 x2", each.bitwise),
    "BitwiseOr": _binary("x1 x2", each.bitwise),
    "BitwiseXor": _binary("x1 x2", each.bitwise),
    "LeftShift": _binary("x1 x2", each.bitwise),
    "RightShift": _binary("input_x input_y", each.bitwise),
    "AddN": OpDef("x", each.total, tensors=-1),
    "BiasAdd": OpDef(
        "input_x bias data_format", each.bias_add, tensors=2, defaults={"data_format": 0}
    ),
    "PReLU": OpDef("input weight", each.prelu, tensors=2),
    "Select": OpDef("condition input other", each.select, tensors=3),
    "MaskedFill": OpDef("input_x mask value", each.masked_fill, tensors=3),
    # elementwise, one input
    "ReLU": _unary(),
    "ReLU6": _unary("x"),
    "Elu": OpDef("input_x alpha", infer.same, defaults={"alpha": 1.0}),
    "CeLU": OpDef("x alpha", infer.same, defaults={"alpha": 1.0}),
    "SeLU": _unary("input_x"),
    "SiLU": _unary(),
    "HSwish": _unary(),
    "HSigmoid": _unary(),
    "HShrink": OpDef("input lambd", infer.same, defaults={"lambd": 0.5}),
    "SoftShrink": OpDef("input lambd", infer.same, defaults={"lambd": 0.5}),
    "Threshold": OpDef("input threshold value", infer.same),
    "Softplus": _unary("x"),
    "Softsign": _unary("input_x"),
    "Mish": _unary("x"),
    "Sigmoid": _unary(),
    "GeLU": _unary(),
    "Erf": _unary(),
    "Sqrt": _unary("x"),
    "Rsqrt": _unary(),
    "Reciprocal": _unary(),
    "Exp": _unary(),
    "Expm1": _unary(),
    "Log": _unary(),
    "Log1p": _unary(),
    "Sin": _unary(),
    "Cos": _unary(),
    "Tan": _unary(),
    "Asin": _unary(),
    "ACos": _unary(),
    "Atan": _unary(),
    "Sinh": _unary(),
    "Cosh": _unary(),
    "Tanh": _unary(),
    "Asinh": _unary(),
    "Acosh": _unary(),
    "Atanh": _unary(),
    "Abs": _unary(),
    "Neg": _unary(),
    "Sign": _unary(),
    "Square": _unary(),
    "Floor": _unary(),
    "Ceil": _unary(),
    "Trunc": _unary(),
    "Rint": _unary("input_x"),
    "Round": OpDef("input decimals", infer.same, defaults={"decimals": 0}),
    "ClampScalar": OpDef("input min max", infer.same, defaults={"min": None, "max": None}),
    "Invert": _unary("x", each.bitwise),
    "LogicalNot": _unary(rule=each.logic),
    "IsNan": _unary("x", each.whether),
    "IsInf": _unary(rule=each.whether),
    "IsFinite": _unary(rule=each.whether),
    "ZerosLike": _unary("x"),
    "OnesLike": _unary("x"),
    "Cast": OpDef("input_x dtype", each.cast),
    "Tril": OpDef("x", movement.triangle, defaults={"diagonal": 0}),
    "Triu": OpDef("input diagonal", movement.triangle, defaults={"diagonal": 0}),
    # reductions
    "Softmax": OpDef("input axis", reduction.softmax, defaults={"axis": (-1,)}),
    "LogSoftmax": OpDef("logits axis", reduction.softmax, defaults={"axis": -1}),
    "ReduceMean": OpDef("x axis keep_dims", reduction.reduce, defaults=_REDUCED),
    "ReduceSum": OpDef(
        "x axis keep_dims skip_mode", reduction.reduce, defaults={**_REDUCED, "skip_mode": False}
    ),
    "ReduceMax": OpDef("x axis keep_dims", reduction.reduce, defaults=_REDUCED),
    "ReduceMin": OpDef("x axis keep_dims", reduction.reduce, defaults=_REDUCED),
    "ReduceProd": OpDef("x axis keep_dims", reduction.reduce, defaults=_REDUCED),
    "ReduceAll": OpDef("input axis keep_dims", reduction.reduce_bool, defaults=_REDUCED),
    "ReduceAny": OpDef("x axis keep_dims", reduction.reduce_bool, defaults=_REDUCED),
    "Argmax": OpDef(
        "input_x axis output_type", reduction.place_of, defaults={"axis": -1, "output_type": 34}
    ),
    "Argmin": OpDef(
        "x axis output_type", reduction.place_of, defaults={"axis": -1, "output_type": 34}
    ),
    "ArgMaxWithValue": OpDef(
        "input axis keep_dims", reduction.place_and_value, defaults={"axis": 0, "keep_dims": False}
    ),
    "ArgMinWithValue": OpDef(
        "input axis keep_dims", reduction.place_and_value, defaults={"axis": 0, "keep_dims": False}
    ),
    "TopK": OpDef("input_x k", reduction.top_k, defaults={"sorted": True}),
    "CumSum": OpDef("input axis exclusive reverse", reduction.cumulative, defaults=_SUMMED),
    "CumProd": OpDef("x axis exclusive reverse", reduction.cumulative, defaults=_SUMMED),
    # normalizations
    "LayerNorm": OpDef(
        "input_x gamma beta begin_norm_axis begin_params_axis epsilon",
        reduction.layer_norm,
        tensors=3,
        defaults=_NORM,
    ),
    "RmsNorm": OpDef("x gamma epsilon", reduction.rms_norm, tensors=2, defaults={"epsilon": 1e-6}),
    "GroupNorm": OpDef(
        "input num_groups weight bias eps",
        reduction.group_norm,
        tensors=3,
        defaults={"eps": 1e-5},
        places=(0, 2, 3),
    ),
    "BatchNorm": OpDef(
        "input_x scale bias mean variance is_training epsilon momentum data_format",
        reduction.batch_norm,
        tensors=5,
        defaults=_BATCH_NORM,
    ),
    "LRN": OpDef("x", reduction.lrn, defaults=_LRN),
    # windows
    "MaxPool": OpDef("x kernel_size strides pad_mode data_format", windows.pool, defaults=_POOL),
    "AvgPool": OpDef("x kernel_size strides pad_mode data_format", windows.pool, defaults=_POOL),
    "MaxPoolV3": OpDef("x", windows.padded_pool, defaults=_GE_POOL),
    "AvgPoolV2": OpDef("x", windows.padded_pool, defaults={**_GE_POOL, "exclusive": True}),
    "ResizeNearestNeighborV2": OpDef(
        "image size align_corners half_pixel_centers", windows.resize, defaults=_CORNERS
    ),
    "ResizeBilinearV2": OpDef(
        "image size align_corners half_pixel_centers", windows.resize, defaults=_CORNERS
    ),
    # data movement
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
    # quantization
    "AscendQuant": OpDef("x", quantization.quant, defaults=_QUANT),
    "AscendDequant": OpDef(
        "x deq_scale",
        quantization.dequant,
        tensors=2,
        defaults={"sqrt_mode": False, "relu_flag": False, "dtype": 0},
    ),
    "TransQuantParamV2": OpDef(
        "scale", quantization.trans_quant_param, tensors=-1, defaults={"round_mode": 0}
    ),
    "AscendAntiQuant": OpDef(
        "x",
        quantization.anti_quant,
        defaults={"scale": 1.0, "offset": 0.0, "dtype": 0, "sqrt_mode": False},
    ),
}
"""Every operator the workbench can trace and execute, by type."""
