"""Rules of operators that combine the elements along axes."""

from __future__ import annotations

from workbench.core.tensors import TensorSpec
from workbench.graph.infer import Call, cast_target, like, one_axis, one_dtype, reduced_axes, refuse


def reduce(call: Call) -> tuple[TensorSpec, ...]:
    """Given axes (none: all) become 1 or disappear."""
    shape = call.shape()
    axes = reduced_axes(call.settings["axis"], len(shape))
    if call.op_type in ("ReduceMax", "ReduceMin") and any(not shape[axis] for axis in axes):
        refuse("graph/empty-axis", got=shape)
    if call.settings["keep_dims"]:
        return like(call, tuple(1 if i in axes else dim for i, dim in enumerate(shape)))
    return like(call, tuple(dim for i, dim in enumerate(shape) if i not in axes))


def reduce_bool(call: Call) -> tuple[TensorSpec, ...]:
    """As `reduce`, of bools."""
    if call.tensors[0].dtype != "bool":
        refuse("graph/dtype", subject="input", expected=["bool"], got=call.tensors[0].dtype)
    return reduce(call)


def _without(call: Call, axis: int, keep: bool) -> tuple[int, ...]:
    shape = call.shape()
    if not shape or not shape[axis]:
        refuse("graph/empty-axis", got=shape)
    return (*shape[:axis], *((1,) if keep else ()), *shape[axis + 1 :])


def place_of(call: Call) -> tuple[TensorSpec, ...]:
    """Index of an extreme value along one axis, which disappears."""
    axis = one_axis(call.settings["axis"], len(call.shape()))
    kind = cast_target(call.settings["output_type"], "output_type")
    if kind not in ("int32", "int64"):
        refuse("core/choice", subject="output_type", got=kind, known=["int32", "int64"])
    return (TensorSpec(kind, _without(call, axis, False)),)


def place_and_value(call: Call) -> tuple[TensorSpec, ...]:
    """Index and value of an extreme value along one axis."""
    axis = one_axis(call.settings["axis"], len(call.shape()))
    shape = _without(call, axis, bool(call.settings["keep_dims"]))
    return (TensorSpec("int32", shape), *like(call, shape))


def top_k(call: Call) -> tuple[TensorSpec, ...]:
    """Return the ``k`` largest values along the last axis, and their indices."""
    shape, k = call.shape(), call.settings["k"]
    last = shape[-1] if shape else 0
    if not isinstance(k, int) or not 0 <= k <= last:
        refuse("graph/between", subject="k", low=0, high=last, got=k)
    return (*like(call, (*shape[:-1], k)), TensorSpec("int32", (*shape[:-1], k)))


def cumulative(call: Call) -> tuple[TensorSpec, ...]:
    """Output as the input; one axis."""
    one_axis(call.settings["axis"], len(call.shape()))
    return like(call, call.shape())


def softmax(call: Call) -> tuple[TensorSpec, ...]:
    """Output as the input; the axis exists."""
    axis = call.settings["axis"]
    for one in (axis,) if isinstance(axis, int) else axis:
        one_axis(one, len(call.shape()))
    return like(call, call.shape())


def layer_norm(call: Call) -> tuple[TensorSpec, ...]:
    """Return the normalized input, then mean and variance with the normalized axes kept as 1."""
    one_dtype(call)
    shape = call.shape()
    begin = one_axis(call.settings["begin_norm_axis"], len(shape), "begin_norm_axis")
    first = one_axis(call.settings["begin_params_axis"], len(shape), "begin_params_axis")
    for index, name in ((1, "gamma"), (2, "beta")):
        if call.shape(index) != shape[first:]:
            refuse("graph/shape", subject=name, expected=shape[first:], got=call.shape(index))
    moments = TensorSpec(call.tensors[0].dtype, (*shape[:begin], *(1 for _ in shape[begin:])))
    return (*like(call, shape), moments, moments)


def rms_norm(call: Call) -> tuple[TensorSpec, ...]:
    """Return the normalized input, then 1 / root mean square with the normalized axes kept as 1."""
    one_dtype(call)
    shape, gamma = call.shape(), call.shape(1)
    begin = len(shape) - len(gamma)
    if not gamma or begin < 0 or shape[begin:] != gamma:
        refuse("graph/shape-last", subject="gamma", whole=shape, got=gamma)
    return (*like(call, shape), TensorSpec("float32", (*shape[:begin], *(1 for _ in gamma))))


def group_norm(call: Call) -> tuple[TensorSpec, ...]:
    """Return the normalized input (N, C, …), then mean and 1 / deviation of every group."""
    one_dtype(call)
    shape, groups = call.shape(), call.settings["num_groups"]
    if len(shape) < 2:
        refuse("graph/rank", subject="input", least=2, got=shape)
    if not isinstance(groups, int) or groups < 1 or shape[1] % groups:
        refuse("graph/divisor", subject="num_groups", whole=shape[1], got=groups)
    for index, name in ((1, "weight"), (2, "bias")):
        if call.shape(index) != (shape[1],):
            refuse("graph/shape", subject=name, expected=(shape[1],), got=call.shape(index))
    moments = TensorSpec(call.tensors[0].dtype, (shape[0], groups))
    return (*like(call, shape), moments, moments)


def batch_norm(call: Call) -> tuple[TensorSpec, ...]:
    """Return the normalized input, then mean and variance twice.

    In training these are the moving ones as they have become, and those of the batch.
    """
    shape = call.shape()
    if len(shape) < 2:
        refuse("graph/rank", subject="input", least=2, got=shape)
    for index, name in enumerate(("scale", "bias", "mean", "variance"), 1):
        if call.shape(index) != (shape[1],):
            refuse("graph/shape", subject=name, expected=(shape[1],), got=call.shape(index))
    moments = TensorSpec(call.tensors[1].dtype, (shape[1],))
    return (*like(call, shape), moments, moments, moments, moments)


def channel_sums(call: Call) -> tuple[TensorSpec, ...]:
    """Sum of every channel and of its squares; the input has at least 2 dimensions."""
    shape = call.shape()
    if len(shape) < 2:
        refuse("graph/rank", subject="input", least=2, got=shape)
    dtype = "float64" if call.tensors[0].dtype == "float64" else "float32"
    return (TensorSpec(dtype, (shape[1],)),) * 2


def update_by_sums(call: Call) -> tuple[TensorSpec, ...]:
    """Return the normalized input, moving mean and variance, and those of the batch."""
    shape = call.shape()
    if len(shape) < 2:
        refuse("graph/rank", subject="input", least=2, got=shape)
    names = ("sum", "square_sum", "scale", "offset", "mean", "variance")
    for index, name in enumerate(names, 1):
        if call.shape(index) != (shape[1],):
            refuse("graph/shape", subject=name, expected=(shape[1],), got=call.shape(index))
    return (*like(call, shape), *(TensorSpec(call.tensors[5].dtype, (shape[1],)),) * 4)


def lrn(call: Call) -> tuple[TensorSpec, ...]:
    """Input (N, C, H, W)."""
    shape, radius = call.shape(), call.settings["depth_radius"]
    if len(shape) != 4:
        refuse("graph/layout", subject="input", expected="NCHW", got=shape)
    if not isinstance(radius, int) or radius < 0:
        refuse("graph/integer", subject="depth_radius", least=0, got=radius)
    if call.settings["norm_region"] != "ACROSS_CHANNELS":
        refuse(
            "core/choice",
            subject="norm_region",
            got=call.settings["norm_region"],
            known=["ACROSS_CHANNELS"],
        )
    return like(call, shape)
