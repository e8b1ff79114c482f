"""Operators that shift and scale by means and variances, and their gradients."""

from __future__ import annotations

from typing import Any

from workbench.core.tensors import TensorSpec
from workbench.ops.definition import (
    Call,
    OpDef,
    expect_shapes,
    foreign,
    one_axis,
    output_like,
    reject,
    same_dtype,
)
from workbench.ops.gradient import Backward, Entries
from workbench.ops.kernels import normalization as kernels
from workbench.ops.kernels.window import expect_channels_first


def layer_norm_shapes(call: Call) -> tuple[TensorSpec, ...]:
    """Return the normalized input, then mean and variance with the normalized axes kept as 1."""
    same_dtype(call)
    shape = call.shape()
    begin = one_axis(call.settings["begin_norm_axis"], len(shape), "begin_norm_axis")
    first = one_axis(call.settings["begin_params_axis"], len(shape), "begin_params_axis")
    if first < begin:
        reject(
            "graph/between", subject="begin_params_axis", low=begin, high=len(shape) - 1, got=first
        )
    for index, name in ((1, "gamma"), (2, "beta")):
        if call.shape(index) != shape[first:]:
            reject("graph/shape", subject=name, expected=shape[first:], got=call.shape(index))
    moments = TensorSpec(call.tensors[0].dtype, (*shape[:begin], *(1 for _ in shape[begin:])))
    return (*output_like(call, shape), moments, moments)


def rms_norm_shapes(call: Call) -> tuple[TensorSpec, ...]:
    """Return the normalized input, then 1 / root mean square with the normalized axes kept as 1."""
    same_dtype(call)
    shape, gamma = call.shape(), call.shape(1)
    begin = len(shape) - len(gamma)
    if not gamma or begin < 0 or shape[begin:] != gamma:
        reject("graph/shape-last", subject="gamma", whole=shape, got=gamma)
    return (*output_like(call, shape), TensorSpec("float32", (*shape[:begin], *(1 for _ in gamma))))


def group_norm_shapes(call: Call) -> tuple[TensorSpec, ...]:
    """Return the normalized input (N, C, …), then mean and 1 / deviation of every group."""
    same_dtype(call)
    shape, groups = call.shape(), call.settings["num_groups"]
    if len(shape) < 2:
        reject("graph/rank", subject="input", least=2, got=shape)
    if not isinstance(groups, int) or groups < 1 or shape[1] % groups:
        reject("graph/divisor", subject="num_groups", whole=shape[1], got=groups)
    for index, name in ((1, "weight"), (2, "bias")):
        if call.shape(index) != (shape[1],):
            reject("graph/shape", subject=name, expected=(shape[1],), got=call.shape(index))
    moments = TensorSpec(call.tensors[0].dtype, (shape[0], groups))
    return (*output_like(call, shape), moments, moments)


def batch_norm_shapes(call: Call) -> tuple[TensorSpec, ...]:
    """Return the normalized input, then mean and variance twice.

    In training these are the moving ones as they have become, and those of the batch.
    """
    expect_channels_first(call.settings)
    shape = call.shape()
    if len(shape) < 2:
        reject("graph/rank", subject="input", least=2, got=shape)
    for index, name in enumerate(("scale", "bias", "mean", "variance"), 1):
        if call.shape(index) != (shape[1],):
            reject("graph/shape", subject=name, expected=(shape[1],), got=call.shape(index))
    moments = TensorSpec(call.tensors[1].dtype, (shape[1],))
    return (*output_like(call, shape), moments, moments, moments, moments)


def channel_sums_shapes(call: Call) -> tuple[TensorSpec, ...]:
    """Sum of every channel and of its squares; the input has at least 2 dimensions."""
    shape = call.shape()
    if len(shape) < 2:
        reject("graph/rank", subject="input", least=2, got=shape)
    dtype = "float64" if call.tensors[0].dtype == "float64" else "float32"
    return (TensorSpec(dtype, (shape[1],)),) * 2


def update_by_sums_shapes(call: Call) -> tuple[TensorSpec, ...]:
    """Return the normalized input, moving mean and variance, and those of the batch."""
    shape = call.shape()
    if len(shape) < 2:
        reject("graph/rank", subject="input", least=2, got=shape)
    names = ("sum", "square_sum", "scale", "offset", "mean", "variance")
    for index, name in enumerate(names, 1):
        if call.shape(index) != (shape[1],):
            reject("graph/shape", subject=name, expected=(shape[1],), got=call.shape(index))
    return (*output_like(call, shape), *(TensorSpec(call.tensors[5].dtype, (shape[1],)),) * 4)


def folded_filter_shapes(call: Call) -> tuple[TensorSpec, ...]:
    """Filter (O, …) of a convolution; moments and factors of its O outputs."""
    shape = call.shape()
    if not shape:
        reject("graph/rank", subject="filter", least=1, got=shape)
    return _folded(call, shape[:1])


def folded_bias_shapes(call: Call) -> tuple[TensorSpec, ...]:
    """Bias (O,) of a convolution; moments and factors of its O outputs."""
    shape = call.shape()
    if len(shape) != 1:
        reject("graph/layout", subject="bias", expected="(O,)", got=shape)
    return _folded(call, shape)


def _folded(call: Call, outputs: tuple[int, ...]) -> tuple[TensorSpec, ...]:
    names = ("scale", "offset", "mean", "variance")
    expect_shapes(call, {name: (index, outputs) for index, name in enumerate(names, 1)})
    return output_like(call, call.shape())


def lrn_shapes(call: Call) -> tuple[TensorSpec, ...]:
    """Input (N, C, H, W)."""
    shape, radius = call.shape(), call.settings["depth_radius"]
    if len(shape) != 4:
        reject("graph/layout", subject="input", expected="NCHW", got=shape)
    if not isinstance(radius, int) or radius < 0:
        reject("graph/integer", subject="depth_radius", least=0, got=radius)
    if call.settings["norm_region"] != "ACROSS_CHANNELS":
        reject(
            "core/choice",
            subject="norm_region",
            got=call.settings["norm_region"],
            known=["ACROSS_CHANNELS"],
        )
    return output_like(call, shape)


def layer_norm_grad_shapes(call: Call) -> tuple[TensorSpec, ...]:
    """Gradients of x, gamma and beta; the moments have the normalized axes kept as 1."""
    same_dtype(call)
    shape = call.shape()
    begin = one_axis(call.settings["begin_norm_axis"], len(shape), "begin_norm_axis")
    first = one_axis(call.settings["begin_params_axis"], len(shape), "begin_params_axis")
    moments = (*shape[:begin], *(1 for _ in shape[begin:]))
    gamma = shape[first:]
    expect_shapes(
        call,
        {"dy": (1, shape), "variance": (2, moments), "mean": (3, moments), "gamma": (4, gamma)},
    )
    return (*output_like(call, shape), *output_like(call, gamma, 4), *output_like(call, gamma, 4))


def rms_norm_grad_shapes(call: Call) -> tuple[TensorSpec, ...]:
    """Gradients of x and gamma; ``rstd`` and the gradient of gamma are float32."""
    shape, gamma = call.shape(1), call.shape(3)
    begin = len(shape) - len(gamma)
    if not gamma or begin < 0 or shape[begin:] != gamma:
        reject("graph/shape-last", subject="gamma", whole=shape, got=gamma)
    moments = (*shape[:begin], *(1 for _ in gamma))
    expect_shapes(call, {"dy": (0, shape), "rstd": (2, moments)})
    return (*output_like(call, shape, 1), TensorSpec("float32", gamma))


def group_norm_grad_shapes(call: Call) -> tuple[TensorSpec, ...]:
    """Gradients of x (N, C, …), weight and bias; mean and ``rstd`` of every group."""
    same_dtype(call)
    shape, groups = call.shape(1), call.settings["num_groups"]
    if len(shape) < 2:
        reject("graph/rank", subject="x", least=2, got=shape)
    if not isinstance(groups, int) or groups < 1 or shape[1] % groups:
        reject("graph/divisor", subject="num_groups", whole=shape[1], got=groups)
    moments, gamma = (shape[0], groups), (shape[1],)
    expect_shapes(
        call,
        {"dy": (0, shape), "mean": (2, moments), "rstd": (3, moments), "gamma_opt": (4, gamma)},
    )
    return (
        *output_like(call, shape, 1),
        *output_like(call, gamma, 4),
        *output_like(call, gamma, 4),
    )


def batch_norm_grad_shapes(call: Call) -> tuple[TensorSpec, ...]:
    """Gradients of x (N, C, …), scale and bias; all moments are of the channels."""
    expect_channels_first(call.settings)
    shape = call.shape(1)
    if len(shape) < 2:
        reject("graph/rank", subject="x", least=2, got=shape)
    names = ("scale", "saved_mean", "saved_variance", "reserve")
    expect_shapes(
        call, {"dout": (0, shape)} | {name: (k, (shape[1],)) for k, name in enumerate(names, 2)}
    )
    return (
        *output_like(call, shape, 1),
        *output_like(call, (shape[1],), 2),
        *output_like(call, (shape[1],), 2),
    )


def layer_norm_gradient(b: Backward) -> Entries:
    """Normalization over the last axes."""
    x, gamma, _ = b.inputs
    _, mean, variance = b.outputs
    s = b.settings

    def operands() -> tuple[Any, ...]:
        axes = (s["begin_norm_axis"], s["begin_params_axis"])
        return (x, b.dout, variance, mean, gamma, *axes)

    return b.multi_output_gradient(3, "LayerNormGrad", operands, epsilon=s["epsilon"])


def rms_norm_gradient(b: Backward) -> Entries:
    """Division by the root of the mean square."""
    x, gamma = b.inputs
    return b.multi_output_gradient(2, "RmsNormGrad", lambda: (b.dout, x, b.outputs[1], gamma))


def group_norm_gradient(b: Backward) -> Entries:
    """Normalization over groups of channels."""
    x, gamma, _ = b.inputs
    _, mean, rstd = b.outputs
    groups = b.settings["num_groups"]
    flags = (True, True, True)
    return b.multi_output_gradient(
        3, "GroupNormGrad", lambda: (b.dout, x, mean, rstd, gamma, groups, *flags)
    )


def batch_norm_gradient(b: Backward) -> Entries:
    """Normalization over batch and space: by their own moments in training, else by given ones."""
    x, scale, _, mean, variance = b.inputs
    s = b.settings
    saved = b.outputs[3:5] if s["is_training"] else (mean, variance)

    def operands() -> tuple[Any, ...]:
        settings = (bool(s["is_training"]), s["epsilon"], s["data_format"])
        return (b.dout, x, scale, *saved, b.outputs[2], *settings)

    return (*b.multi_output_gradient(3, "BatchNormGrad", operands), None, None)


_NORM = {"begin_norm_axis": 1, "begin_params_axis": 1, "epsilon": 1e-7}


_BATCH_NORM = {"is_training": False, "epsilon": 1e-5, "momentum": 0.1, "data_format": 0}


_REQUIRED = dict.fromkeys(("dx_is_require", "dgamma_is_require", "dbeta_is_require"), True)


_MOMENTS = {"epsilon": 1e-5}


_LRN = {
    "depth_radius": 5,
    "bias": 1.0,
    "alpha": 1.0,
    "beta": 0.5,
    "norm_region": "ACROSS_CHANNELS",
}


ROWS: dict[str, OpDef] = {
    "LayerNorm": OpDef(
        "input_x gamma beta begin_norm_axis begin_params_axis epsilon",
        layer_norm_shapes,
        tensors=3,
        defaults=_NORM,
        kernel=kernels.layer_norm,
        gradient=layer_norm_gradient,
        effect="sum",
        floats=(0, 1, 2),
    ),
    "RmsNorm": OpDef(
        "x gamma epsilon",
        rms_norm_shapes,
        tensors=2,
        defaults={"epsilon": 1e-6},
        kernel=kernels.rms_norm,
        gradient=rms_norm_gradient,
        effect="sum",
        floats=(0, 1),
    ),
    "GroupNorm": OpDef(
        "input num_groups weight bias eps",
        group_norm_shapes,
        tensors=3,
        defaults={"eps": 1e-5},
        places=(0, 2, 3),
        kernel=kernels.group_norm,
        gradient=group_norm_gradient,
        effect="sum",
        floats=(0, 1, 2),
    ),
    "BatchNorm": OpDef(
        "input_x scale bias mean variance is_training epsilon momentum data_format",
        batch_norm_shapes,
        tensors=5,
        defaults=_BATCH_NORM,
        writes=(3, 4),
        writes_if="is_training",
        kernel=kernels.batch_norm,
        gradient=batch_norm_gradient,
        effect="sum",
        unwritten_on_cpu=(1, 2),
        floats=(0, 1, 2, 3, 4),
    ),
    "BNTrainingReduce": OpDef("x", channel_sums_shapes, kernel=kernels.channel_sums, effect="sum"),
    "BNTrainingUpdate": OpDef(
        "x sum square_sum scale offset mean variance factor epsilon",
        update_by_sums_shapes,
        tensors=7,
        defaults={"factor": 0.1, "epsilon": 1e-5},
        writes=(5, 6),
        kernel=kernels.update_by_sums,
        effect="sum",
        floats=(0, 1, 2, 3, 4, 5, 6),
    ),
    "ConvBnFilterHost": OpDef(
        "filter scale offset mean variance epsilon",
        folded_filter_shapes,
        tensors=5,
        defaults=_MOMENTS,
        kernel=kernels.folded_filter,
        floats=(0, 1, 2, 3, 4),
    ),
    "ConvBnBiasHost": OpDef(
        "bias scale offset mean variance epsilon",
        folded_bias_shapes,
        tensors=5,
        defaults=_MOMENTS,
        kernel=kernels.folded_bias,
        floats=(0, 1, 2, 3, 4),
    ),
    "LRN": OpDef(
        "x", lrn_shapes, defaults=_LRN, kernel=kernels.lrn, effect="sum", libm=True, floats=(0,)
    ),
    "LayerNormGrad": OpDef(
        "x dy variance mean gamma begin_norm_axis begin_params_axis",
        layer_norm_grad_shapes,
        tensors=5,
        defaults={"begin_norm_axis": 1, "begin_params_axis": 1, "epsilon": 1e-7},
        kernel=kernels.layer_norm_grad,
        effect="sum",
        floats=(0, 1, 2, 3, 4),
    ),
    "RmsNormGrad": OpDef(
        "dy x rstd gamma",
        rms_norm_grad_shapes,
        tensors=4,
        kernel=kernels.rms_norm_grad,
        effect="sum",
        floats=(0, 1, 2, 3),
    ),
    "GroupNormGrad": OpDef(
        "dy x mean rstd gamma_opt num_groups dx_is_require dgamma_is_require dbeta_is_require",
        group_norm_grad_shapes,
        tensors=5,
        defaults=_REQUIRED,
        only=_REQUIRED,
        kernel=kernels.group_norm_grad,
        effect="sum",
        floats=(0, 1, 2, 3, 4),
    ),
    "BatchNormGrad": OpDef(
        "dout x scale saved_mean saved_variance reserve is_training epsilon data_format",
        batch_norm_grad_shapes,
        tensors=6,
        defaults={"is_training": False, "epsilon": 1e-5, "data_format": 0},
        kernel=kernels.batch_norm_grad,
        effect="sum",
        floats=(0, 1, 2, 3, 4, 5),
    ),
    "AddLayerNorm": foreign(effect="sum"),
    "AddRmsNorm": foreign("x1 x2 gamma epsilon", effect="sum"),
    "BatchNormExt": foreign(
        "input weight bias running_mean running_var training momentum epsilon",
        effect="sum",
        writes=(3, 4),
    ),
    "BatchNormGradExt": foreign(effect="sum"),
    "InstanceNorm": foreign(effect="sum"),
    "L2Normalize": foreign(effect="sum"),
    "LayerNormExt": foreign("input normalized_shape weight bias eps", effect="sum"),
    "LayerNormGradExt": foreign(effect="sum"),
    "LayerNormGradV3": foreign(effect="sum"),
    "LayerNormV3": foreign("x gamma beta", effect="sum"),
}
