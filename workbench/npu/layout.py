"""How tensors lie on the simulated device: which formats its operators use, one row a type.

The cube unit reads feature maps as NC1HWC0, weights of convolutions as FRACTAL_Z and matrices as
FRACTAL_NZ; operators between convolutions keep feature maps as they are. All others work on tensors as the
graph has them. A real compiler chooses for every graph anew; here the type of the operator decides.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from workbench._values import NamedTuple
from workbench.core.device_shape import device_shape
from workbench.core.dtypes import DTYPES
from workbench.core.errors import FormatError
from workbench.core.formats import FORMATS, read_format
from workbench.core.tensors import TensorSpec
from workbench.core.transdata import to_device
from workbench.npu.ops_info import op_info
from workbench.ops import groups_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from workbench.core.tensors import Io
    from workbench.graph.graph import Op

_TYPES = frozenset(
    ("float16", "float32", "bfloat16", "int8", "int32", "hifloat8", "float8_e4m3fn", "float8_e5m2")
)
"""Number formats that the cube unit takes and gives."""


class TensorLayout(NamedTuple):
    """How a tensor lies: its format and shape there, groups of a weight, its format in the graph.

    ``held`` says that the data at hand lie so already.
    """

    format: str
    shape: tuple[int, ...] | None
    groups: int = 1
    host_format: str = "ND"
    held: bool = False

    @property
    def is_device_format(self) -> bool:
        """Whether it lies in a format of the device."""
        row = FORMATS.get(self.format)
        return row is not None and bool(row.device)

    def laid(self, array: NDArray[Any]) -> NDArray[Any]:
        """Return the graph's tensor as it lies there; raises FormatError if it cannot."""
        c0 = self.shape[-1] if self.shape else None
        there = to_device(array, self.host_format, self.format, groups=self.groups, c0=c0)
        if there.shape != self.shape:
            raise FormatError(
                "core/device-shape",
                shape=array.shape,
                host=self.host_format,
                device=self.format,
                expected=there.shape,
                got=self.shape,
            )
        return there


@lru_cache(maxsize=4096)
def host_layout(shape: tuple[int, ...] | None) -> TensorLayout:
    """Return how a tensor lies in the graph: four dimensions are NCHW, all others ND."""
    form = "NCHW" if shape is not None and len(shape) == 4 else "ND"
    return TensorLayout(form, shape, host_format=form)


def device_layout(op: Op | None, io: Io, slot: int, spec: TensorSpec) -> TensorLayout:
    """Return how a tensor of an operator lies on the device; as in the graph if it does not fit.

    What a compiled operator states counts; else its type decides.
    """
    if op is not None and op.device_outputs:
        stated = op.device_inputs if io == "input" else op.device_outputs
        if slot < len(stated) and stated[slot].format != "DefaultFormat":
            return parse_layout(stated[slot], spec.shape)
    form, shape = _format(op, io, slot), spec.shape
    if op is None or not form or shape is None or spec.dtype not in _TYPES:
        return host_layout(shape)
    return _layout_of(form, shape, spec.dtype, groups_of(op) if form == "FRACTAL_Z" else 1)


@lru_cache(maxsize=4096)
def _layout_of(form: str, shape: tuple[int, ...], dtype: str, groups: int) -> TensorLayout:
    if not (len(shape) >= 2 if form == "FRACTAL_NZ" else len(shape) == 4):
        return host_layout(shape)
    host = "ND" if form == "FRACTAL_NZ" else "NCHW"
    try:
        there = device_shape(shape, host, form, dtype, groups=groups)
    except FormatError:  # open or impossible in a graph that nobody has run
        return host_layout(shape)
    return TensorLayout(form, there, groups, host)


def layout_spec(spec: TensorSpec, layout: TensorLayout) -> TensorSpec:
    """Return the spec of a tensor as it lies; groups of a weight stand behind its format."""
    groups = f":{layout.groups}" if layout.groups > 1 else ""
    return TensorSpec(spec.dtype, layout.shape, f"{layout.format}{groups}")


@lru_cache(maxsize=4096)
def parse_layout(there: TensorSpec, shape: tuple[int, ...] | None) -> TensorLayout:
    """Return how a tensor of ``shape`` lies that its spec on the device tells."""
    try:
        word = read_format(there.format)
    except FormatError:
        return host_layout(shape)
    row = FORMATS[word.name]
    if not row.device:
        return TensorLayout(word.name, shape, host_format=word.name)
    host = "ND" if row.axes == "RC" else "NCDHW" if len(shape or ()) == 5 else "NCHW"
    return TensorLayout(row.name, there.shape, word.groups, host)


def bytes_of(spec: TensorSpec, layout: TensorLayout) -> int:
    """Bytes of a tensor that lies so, elements below eight bits a byte each; 0 if they are unknown."""
    row, count = DTYPES.get(spec.dtype), TensorSpec(spec.dtype, layout.shape).size
    return row.storage.itemsize * count if row is not None and count is not None else 0


def _format(op: Op | None, io: Io, slot: int) -> str:
    formats = op_info(op.op_type).formats if op is not None else ()
    if io == "output":
        return formats[-1] if formats and slot == 0 else ""
    return formats[slot] if slot < len(formats) - 1 else ""
