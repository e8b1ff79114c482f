"""Converters of matrix products, normalizations and resizing."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.network.onnx.elementwise import cast, number
from workbench.network.onnx.movement import checked
from workbench.network.onnx.node import UnsupportedNodeError, values_of
from workbench.network.symbolic import record, record_all

if TYPE_CHECKING:
    from collections.abc import Callable

    from workbench.network.onnx.node import Array, Node


def reshaped(item: Any, shape: tuple[int, ...]) -> Any:
    """Return an operand in another shape; one that is known needs no operator."""
    values = values_of(item)
    return record("Reshape", item, shape) if values is None else values.reshape(shape)


def matmul(node: Node) -> Any:
    """NumPy's matrix product: vectors get an axis that the result loses."""
    left, right = node.tensor(0), node.tensor(1)
    ranks = (node.rank(0), node.rank(1))
    if ranks == (2, 2):
        return record("MatMul", left, right, False, False)
    if ranks[0] == 1:
        left = reshaped(left, (1, *node.shape(0)))
    if ranks[1] == 1:
        right = reshaped(right, (*node.shape(1), 1))
    op_type = "BatchMatMul" if max(len(left.shape), len(right.shape)) > 2 else "MatMul"
    found = record(op_type, left, right, False, False)
    if 1 not in ranks:
        return found
    shape = list(found.shape)
    if ranks[0] == 1:
        del shape[-2]
    if ranks[1] == 1:
        del shape[-1]
    return record("Reshape", found, tuple(shape))


def gemm(node: Node) -> Any:
    """Alpha · A · B + beta · C; a vector C is a bias."""
    dtype = node.dtype()
    flags = bool(node.attr("transA", 0)), bool(node.attr("transB", 0))
    found = record("MatMul", node.tensor(0), node.tensor(1), *flags)
    if node.attr("alpha", 1.0) != 1:
        found = record("Mul", found, number(node.attr("alpha"), dtype))
    if not node.has(2) or node.attr("beta", 1.0) == 0:
        return found
    bias = node.tensor(2)
    if node.attr("beta", 1.0) != 1:
        bias = record("Mul", bias, number(node.attr("beta"), dtype))
    if tuple(bias.shape) == found.shape[1:]:
        return record("BiasAdd", found, bias, 0)
    return record("Add", found, bias)


def batch_norm(node: Node) -> Any:
    """Normalize with stored moments."""
    node.only("training_mode", 0, 0)
    node.only("spatial", 1, 1)
    x, rank = node.tensor(), node.rank()
    settings = (False, float(node.attr("epsilon", 1e-5)), float(1 - node.attr("momentum", 0.9)), 0)
    if rank < 2:
        raise UnsupportedNodeError("graph/rank", subject="input", least=2, got=node.shape())
    return record_all("BatchNorm", x, *(node.tensor(i) for i in range(1, 5)), *settings)[0]


def layer_norm(node: Node) -> Any:
    """Normalize the axes from one on; factors of another shape come afterwards."""
    x, dtype, axis = node.tensor(), node.dtype(), node.axis(node.attr("axis", -1))
    inner = node.shape()[axis:]
    epsilon = float(node.attr("epsilon", 1e-5))
    fits = node.shape(1) == inner and (not node.has(2) or node.shape(2) == inner)
    gamma = node.tensor(1) if fits else np.broadcast_to(number(1, dtype), inner)
    beta = node.tensor(2) if fits and node.has(2) else np.broadcast_to(number(0, dtype), inner)
    y, mean, variance = record_all("LayerNorm", x, gamma, beta, axis, axis, epsilon)
    if not fits:
        y = record("Mul", y, node.tensor(1))
        y = record("Add", y, node.tensor(2)) if node.has(2) else y
    if not node.wants(1) and not node.wants(2):
        return y
    spread = record("Add", variance, number(epsilon, dtype))
    return [y, mean, record("Rsqrt", spread)]


def rms_norm(node: Node) -> Any:
    """Divide by the root mean square of the axes from one on."""
    inner = node.shape()[node.axis(node.attr("axis", -1)) :]
    if node.shape(1) != inner:
        raise UnsupportedNodeError(
            "graph/shape", subject="scale", expected=inner, got=node.shape(1)
        )
    epsilon = float(node.attr("epsilon", 1e-5))
    return record_all("RmsNorm", node.tensor(0), node.tensor(1), epsilon)[0]


def group_norm(node: Node) -> Any:
    """Normalize groups of channels; before opset 21 there is one factor for each group."""
    groups, channels = int(node.attr("num_groups")), node.shape()[1]
    factors = [node.tensor(1), node.tensor(2)]
    if node.opset < 21:
        factors = [_repeated(factor, groups, channels // max(groups, 1)) for factor in factors]
    epsilon = float(node.attr("epsilon", 1e-5))
    return record_all("GroupNorm", node.tensor(0), groups, *factors, epsilon)[0]


def _repeated(factor: Any, groups: int, times: int) -> Any:
    values = values_of(factor)
    if values is not None:
        checked((groups, times))
        return np.repeat(values, times)
    wide = record("BroadcastTo", record("ExpandDims", factor, 1), (groups, times))
    return record("Reshape", wide, (groups * times,))


def instance_norm(node: Node) -> Any:
    """Normalize every channel: groups of one."""
    epsilon = float(node.attr("epsilon", 1e-5))
    tensors = (node.tensor(1), node.tensor(2))
    return record_all("GroupNorm", node.tensor(0), node.shape()[1], *tensors, epsilon)[0]


def lrn(node: Node) -> Any:
    """Sum over an odd number of channels."""
    size = int(node.attr("size"))
    if size % 2 == 0 or node.rank() != 4:
        raise UnsupportedNodeError("graph/onnx-lrn", size=size, rank=node.rank())
    return record(
        "LRN",
        node.tensor(),
        depth_radius=size // 2,
        bias=float(node.attr("bias", 1.0)),
        alpha=float(node.attr("alpha", 1e-4)) / size,
        beta=float(node.attr("beta", 0.75)),
        norm_region="ACROSS_CHANNELS",
    )


_PLACES: dict[str, Callable[[Any, int, float], Any]] = {
    "half_pixel": lambda i, old, scale: (i + 0.5) / scale - 0.5,
    "pytorch_half_pixel": lambda i, old, scale: (i + 0.5) / scale - 0.5 if i.size > 1 else 0 * i,
    "asymmetric": lambda i, old, scale: i / scale,
    "align_corners": lambda i, old, scale: i * (old - 1) / max(old * scale - 1, 1),
    "half_pixel_symmetric": lambda i, old, scale: (
        old / 2 * (1 - i.size / (old * scale)) + (i + 0.5) / scale - 0.5
    ),
}
"""Where output pixels lie in the input, by ``coordinate_transformation_mode``."""

_NEAREST: dict[str, Callable[[Any], Any]] = {
    "round_prefer_floor": lambda x: np.ceil(x - 0.5),
    "round_prefer_ceil": lambda x: np.floor(x + 0.5),
    "floor": np.floor,
    "ceil": np.ceil,
}


def resize(node: Node) -> Any:
    """Nearest pixels as `Gather`; bilinear as MindSpore's operator."""
    sizes, scales = _sizes(node)
    mode = node.attr("mode", "nearest")
    node.only("antialias", 0, 0)
    if mode == "linear":
        return _bilinear(node, sizes, scales)
    node.only("mode", "nearest", "nearest")
    default = "half_pixel" if node.op_type == "Resize" and node.opset >= 11 else "asymmetric"
    node.only("coordinate_transformation_mode", default, *_PLACES)
    place = _PLACES[node.attr("coordinate_transformation_mode", default)]
    rounding = _NEAREST[
        node.attr("nearest_mode", "round_prefer_floor" if default == "half_pixel" else "floor")
    ]
    x = node.tensor()
    for axis, (old, new, scale) in enumerate(zip(node.shape(), sizes, scales, strict=True)):
        if old != new or scale != 1:
            checked((new,))
            where = rounding(place(np.arange(new), old, scale))
            indices = np.clip(where, 0, old - 1).astype(np.int64)
            x = record("Gather", x, indices, axis, 0)
    return x


def _sizes(node: Node) -> tuple[list[int], list[float]]:
    """New sizes and scales of all axes."""
    shape = node.shape()
    last = 1 if node.op_type == "Upsample" or node.opset < 11 else 2
    axes = [node.axis(axis) for axis in node.ints("axes", tuple(range(len(shape))))]
    sizes, scales = list(shape), [1.0] * len(shape)
    if node.attr("scales") is not None:
        given: Array = np.asarray(node.attr("scales"))
    else:
        given = node.known(last) if node.has(last) else np.zeros(0)
    if given.size:
        for axis, scale in zip(axes, given.ravel().tolist(), strict=True):
            scales[axis], sizes[axis] = scale, int(np.floor(shape[axis] * scale))
        return sizes, scales
    node.only("keep_aspect_ratio_policy", "stretch", "stretch")
    for axis, size in zip(axes, node.known_ints(3), strict=True):
        scales[axis], sizes[axis] = size / max(shape[axis], 1), size
    return sizes, scales


def _bilinear(node: Node, sizes: list[int], scales: list[float]) -> Any:
    shape = node.shape()
    default = "half_pixel" if node.op_type == "Resize" and node.opset >= 11 else "asymmetric"
    node.only("coordinate_transformation_mode", default, "half_pixel", "asymmetric",
              "align_corners", "pytorch_half_pixel")  # fmt: skip
    mode = node.attr("coordinate_transformation_mode", default)
    exact = all(size == old * scale for size, old, scale in zip(sizes, shape, scales, strict=True))
    if len(shape) != 4 or sizes[:2] != list(shape[:2]) or not exact:
        raise UnsupportedNodeError("graph/onnx-resize", source=shape, target=sizes)
    if mode == "pytorch_half_pixel" and 1 in sizes[2:]:
        raise UnsupportedNodeError("graph/onnx-half-pixel", got=sizes)
    corners, halves = mode == "align_corners", mode.endswith("half_pixel")
    return record("ResizeBilinearV2", node.tensor(), tuple(sizes[2:]), corners, halves)


def quantize(node: Node) -> Any:
    """Round x / scale, add the zero point and saturate; per tensor or along an axis."""
    x, dtype = node.tensor(), node.dtype()
    target = node.dtype(2) if node.has(2) else _output_dtype(node)
    scale = _along(node, 1)
    if str(scale.dtype) != dtype:
        scale = cast(scale, dtype)
    low, high = _limits(target)
    scaled = record("Round", record("RealDiv", x, scale), 0)
    if node.has(2):
        scaled = record("Add", scaled, cast(_along(node, 2), dtype))
    return cast(record("ClampScalar", scaled, float(low), float(high)), target)


def _output_dtype(node: Node) -> str:
    from workbench.network.onnx.elementwise import dtype_of

    code = node.attr("output_dtype", 0)
    return dtype_of(code) if code else "uint8"


def _limits(dtype: str) -> tuple[int, int]:
    limits = {"int8": (-128, 127), "uint8": (0, 255), "int16": (-32768, 32767),
              "uint16": (0, 65535), "int4": (-8, 7)}  # fmt: skip
    if dtype not in limits:
        raise UnsupportedNodeError(
            "graph/dtype", subject="quantized", expected=sorted(limits), got=dtype
        )
    return limits[dtype]


def dequantize(node: Node) -> Any:
    """(x - zero point) · scale."""
    if not node.dtype().startswith(("int", "uint")):
        raise UnsupportedNodeError("graph/dtype-integer", subject="input", got=node.dtype())
    x, scale = node.tensor(), _along(node, 1)
    wide = cast(x, "int32")
    if node.has(2):
        wide = record("Sub", wide, cast(_along(node, 2), "int32"))
    return record("Mul", cast(wide, str(scale.dtype)), scale)


def _along(node: Node, index: int) -> Any:
    """Scale or zero point in a shape that meets the input's axis."""
    item, shape = node.tensor(index), node.shape(index)
    if prod(shape) == 1:
        return reshaped(item, ())
    node.only("block_size", 0, 0)
    if len(shape) != 1:
        raise UnsupportedNodeError("graph/onnx-along", input=index, got=shape)
    axis = node.axis(node.attr("axis", 1))
    return reshaped(item, tuple(-1 if k == axis else 1 for k in range(node.rank())))
