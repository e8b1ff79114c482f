"""Whether two tensors can be laid over each other: data in a device format need the host's shape."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.core.errors import FormatError
from workbench.core.formats import FORMATS, read_format
from workbench.core.words import Message
from workbench.dump.values.reading import FileSource

if TYPE_CHECKING:
    from workbench.core.tensors import Source


def layout_mismatch(target: Source, golden: Source) -> Message | None:
    """Why elements of two tensors have other places; ``None`` if they have the same.

    A tensor that lies as its device has it is told the other's shape on the host first, which serves
    where no graph did. Raises FormatError if a source cannot be read.
    """
    if _device_format(target) == _device_format(golden):
        return None
    for one, other in ((target, golden), (golden, target)):
        if isinstance(one, FileSource) and _device_format(one) and not _device_format(other):
            one.settle(other.spec())
    ours, theirs = _device_format(target), _device_format(golden)
    if ours == theirs:
        return None
    a, b = target.spec(), golden.spec()
    return Message(
        "compare/layouts-differ", target_shape=a.shape, target_format=a.format, golden_shape=b.shape,
        golden_format=b.format,
    )  # fmt: skip


def _device_format(source: Source) -> str:
    """Device format that a source's elements come in; ``""`` for those in a host format."""
    if not isinstance(source, FileSource) or not source.is_cut:
        return ""
    name = source.spec().format
    try:
        return name if FORMATS[read_format(name).name].device else ""
    except FormatError:
        return ""
