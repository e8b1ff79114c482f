"""How tensors lie in a dump: as the device has them, as a record states it, or as a vendor converts them.

Which formats the device uses says `workbench.run.layout`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.core.errors import FormatError
from workbench.core.formats import FORMATS, read_format
from workbench.run.layout import Lie, device_lie, host_lie

if TYPE_CHECKING:
    from workbench.core.tensors import TensorKey, TensorSpec
    from workbench.graph.nodes import Op

_DEFAULT = "DefaultFormat"

CONVERTED = frozenset(
    ("NC1HWC0", "NC1HWC0_C04", "FRACTAL_Z", "FRACTAL_NZ", "C1HWNCoC0", "NDC1HWC0", "FRACTAL_Z_3D")
)
"""Formats that MindSpore O2 knows to convert."""


def lie_of(
    key: TensorKey, label: TensorSpec, spec: TensorSpec, op: Op | None, *, host_format: bool
) -> Lie:
    """Return how a tensor of ``spec`` lies in a dump.

    A ``label`` with a format says how the device holds it; if the label's shape is another one,
    ``spec`` is the graph's and the data are still to be laid. Without a label the operator decides.
    ``host_format`` asks for the graph's format wherever the data are in it.
    """
    stated = _stated(label, spec.shape)
    if host_format and (stated is None or not stated.held):
        return host_lie(spec.shape)
    return stated or device_lie(op, key.io, key.slot, spec)


def converted(lie: Lie, shape: tuple[int, ...] | None) -> Lie:
    """Return what MindSpore O2 makes of a tensor for an npy file: NCHW, if it has four axes there.

    All others stay as the device has them (``ascend_dump.cc``).
    """
    if lie.format in CONVERTED and not lie.held and shape is not None and len(shape) == 4:
        return host_lie(shape)
    return lie


def _stated(label: TensorSpec, shape: tuple[int, ...] | None) -> Lie | None:
    """How a label says that a tensor lies; ``None`` if it does not."""
    if label.format == _DEFAULT:
        return None
    there = shape if label.shape is None else label.shape
    host = host_lie(shape).format
    try:
        word = read_format(label.format)
    except FormatError:
        return Lie(label.format, there, host_format=host, held=True)
    row = FORMATS[word.name]
    if not row.device or there == shape:
        host = row.name if row.is_host else host
        return Lie(row.name, there, word.groups, host, held=True)
    if row.axes != "RC":
        host = "NCDHW" if len(shape or ()) == 5 else "NCHW"
    return Lie(row.name, there, word.groups, host)
