"""How tensors lie on the simulated device: which formats its operators use, one row a type.

The cube unit reads feature maps as NC1HWC0, weights of convolutions as FRACTAL_Z and matrices as
FRACTAL_NZ; operators between convolutions keep feature maps as they are. All others work on tensors as the
graph has them. A real compiler chooses for every graph anew; here the type of the operator decides.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from workbench.core.arrangement import device_shape
from workbench.core.errors import FormatError, GraphError
from workbench.graph.ops import bind

if TYPE_CHECKING:
    from workbench.core.tensors import Io, TensorSpec
    from workbench.graph.nodes import Op

_MAP, _WEIGHT, _MATRIX = "NC1HWC0", "FRACTAL_Z", "FRACTAL_NZ"

FORMATS_OF: dict[str, tuple[str, ...]] = {
    "Conv2D": (_MAP, _WEIGHT, _MAP),
    "MaxPool": (_MAP, _MAP),
    "AvgPool": (_MAP, _MAP),
    "BatchNorm": (_MAP, _MAP),
    "BiasAdd": (_MAP, "", _MAP),
    "ReLU": (_MAP, _MAP),
    "MatMul": (_MATRIX, _MATRIX, _MATRIX),
    "BatchMatMul": (_MATRIX, _MATRIX, _MATRIX),
}
"""Operator type → format of each input, then that of the first output; empty: as in the graph."""

_TYPES = frozenset(("float16", "float32", "bfloat16", "int8"))
"""Number formats that the cube unit takes."""


class Lie(NamedTuple):
    """How a tensor lies: its format and shape there, groups of a weight, its format in the graph."""

    format: str
    shape: tuple[int, ...] | None
    groups: int = 1
    host_format: str = "ND"


@lru_cache(maxsize=4096)
def host_lie(shape: tuple[int, ...] | None) -> Lie:
    """Return how a tensor lies in the graph: four dimensions are NCHW, all others ND."""
    form = "NCHW" if shape is not None and len(shape) == 4 else "ND"
    return Lie(form, shape, host_format=form)


def device_lie(op: Op | None, io: Io, slot: int, spec: TensorSpec) -> Lie:
    """Return how a tensor of an operator lies on the device; as in the graph if it does not fit."""
    form, shape = _format(op, io, slot), spec.shape
    if op is None or not form or shape is None or spec.dtype not in _TYPES:
        return host_lie(shape)
    return _lie(form, shape, spec.dtype, _groups(op) if form == _WEIGHT else 1)


@lru_cache(maxsize=4096)
def _lie(form: str, shape: tuple[int, ...], dtype: str, groups: int) -> Lie:
    if not (len(shape) >= 2 if form == _MATRIX else len(shape) == 4):
        return host_lie(shape)
    host = "ND" if form == _MATRIX else "NCHW"
    try:
        there = device_shape(shape, host, form, dtype, groups=groups)
    except FormatError:  # open or impossible in a graph that nobody has run
        return host_lie(shape)
    return Lie(form, there, groups, host)


def _format(op: Op | None, io: Io, slot: int) -> str:
    formats = FORMATS_OF.get(op.op_type, ()) if op is not None else ()
    if io == "output":
        return formats[-1] if formats and slot == 0 else ""
    return formats[slot] if slot < len(formats) - 1 else ""


def _groups(op: Op) -> int:
    try:
        groups = bind(op).settings.get("group", 1)
    except GraphError:
        return 1
    return groups if isinstance(groups, int) else 1
