"""Operators that combine elements along axes: reductions and normalizations."""

from __future__ import annotations

from workbench.graph import infer
from workbench.graph.infer import reduction
from workbench.graph.opdef import OpDef

_REDUCED = {"axis": (), "keep_dims": False}
_SUMMED = {"exclusive": False, "reverse": False}
_LRN = {
    "depth_radius": 5,
    "bias": 1.0,
    "alpha": 1.0,
    "beta": 0.5,
    "norm_region": "ACROSS_CHANNELS",
}
_NORM = {"begin_norm_axis": 1, "begin_params_axis": 1, "epsilon": 1e-7}
_MOMENTS = {"epsilon": 1e-5}
_BATCH_NORM = {"is_training": False, "epsilon": 1e-5, "momentum": 0.1, "data_format": 0}

REDUCTION: dict[str, OpDef] = {
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
        writes=(3, 4),
        writes_if="is_training",
    ),
    "BNTrainingReduce": OpDef("x", reduction.channel_sums),
    "BNTrainingUpdate": OpDef(
        "x sum square_sum scale offset mean variance factor epsilon",
        reduction.update_by_sums,
        tensors=7,
        defaults={"factor": 0.1, "epsilon": 1e-5},
        writes=(5, 6),
    ),
    "ConvBnFilterHost": OpDef(
        "filter scale offset mean variance epsilon", infer.same, tensors=5, defaults=_MOMENTS
    ),
    "ConvBnBiasHost": OpDef(
        "bias scale offset mean variance epsilon", infer.same, tensors=5, defaults=_MOMENTS
    ),
    "LRN": OpDef("x", reduction.lrn, defaults=_LRN),
}
