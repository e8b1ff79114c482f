"""Tensors about to become files, and their figures: computed, or as wide as they can become.

A record without data (`workbench.run.outline`) has a spec alone. Its figures are stood in for by text as wide as
a value of its type can be printed, so that a table of them has the most bytes that it can have.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from workbench._values import NamedTuple
from workbench.core.dtypes import DTYPES, name_of
from workbench.core.tensors import ArraySource, TensorSpec
from workbench.dump.statistics.compute import (
    device_statistics_of,
    ge_statistics_of,
    statistics_of,
    takes,
)
from workbench.dump.statistics.dialects import DIALECTS, TITLES
from workbench.run.outline import Outlined

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from workbench.core.tensors import TensorRecord
    from workbench.npu.layout import TensorLayout

_WIDEST, _WIDEST_WHOLE = "-1.23457e-308", "-9223372036854775808"
"""A float of six digits, and a whole number, as wide as they can be printed."""

_WIDTHS = {"MD5": 32, "SHA1": 40}
_SURE = frozenset(("count", "md5", "sha1"))
"""Statistics whose printed width no value changes."""

_LARGEST = 1 << 60
"""Elements that no file holds; a graph that states more is broken."""


class TensorContent(NamedTuple):
    """A tensor about to become a file: what is in it, as far as that is known.

    The shape of ``spec`` is ``None`` if it is unknown, ``array`` if nothing is computed. ``on_device`` is the
    array as a device has it, where that is known.
    """

    spec: TensorSpec
    array: NDArray[Any] | None = None
    on_device: NDArray[Any] | None = None

    @property
    def nbytes(self) -> int:
        """Bytes of the elements in memory, 0 where they are unknown."""
        if self.array is not None:
            return self.array.nbytes
        return stored_bytes(self.spec.dtype, self.spec.size) or 0

    def laid(self, layout: TensorLayout) -> TensorContent:
        """Return it as it lies on the device; raises FormatError if it cannot lie so."""
        there, size = self.spec._replace(shape=layout.shape), self.spec.size
        if not layout.is_device_format or layout.held or there.size is None or not size:
            return self
        if self.on_device is not None and self.on_device.shape == layout.shape:
            return TensorContent(there, self.on_device)
        return TensorContent(there, None if self.array is None else layout.laid(self.array))

    def sampled(self, keep: int | None) -> TensorContent:
        """Return the first elements, if there are more than are kept."""
        size = self.spec.size
        if keep is None or size is None or size <= keep:
            return self
        array = None if self.array is None else self.array.reshape(-1)[:keep]
        return TensorContent(self.spec._replace(shape=(keep,)), array)


class Figures(NamedTuple):
    """Figures under their column titles; not ``exact`` if they stand for what is not computed."""

    values: Mapping[str, float | int | str]
    exact: bool = True


def content_of(record: TensorRecord) -> TensorContent | None:
    """What a record holds; ``None`` if it has statistics alone."""
    source = record.source
    if source is None:
        return None
    if isinstance(source, Outlined):
        return TensorContent(source.spec())
    array = source.array()
    on_device = source.there if isinstance(source, ArraySource) else None
    return TensorContent(TensorSpec(name_of(array.dtype), array.shape), array, on_device)


def stored_bytes(dtype: str, size: int | None) -> int | None:
    """Bytes of so many elements in memory; ``None`` if number or dtype are unknown, or no disk's."""
    row = DTYPES.get(dtype)
    if row is None or size is None or size >= _LARGEST:
        return None
    return size * row.storage.itemsize


def figures_of(content: TensorContent, categories: Sequence[str], precision: str = "") -> Figures:
    """Figures of a tensor as the host computes them, or kernels of the device with a ``precision``."""
    array = content.array
    if array is None:
        return (
            _kernel_widths(content, categories, precision)
            if precision
            else _widths(content, categories)
        )
    if precision:
        return Figures(device_statistics_of(array, categories, precision=precision))
    return Figures(statistics_of(array, categories))


def engine_figures_of(content: TensorContent, dialect: str) -> Figures:
    """Figures that the graph engine's device computes of a tensor as it lies there."""
    if content.array is not None:
        return Figures(ge_statistics_of(content.array, dialect))
    writer, dtype = DIALECTS[dialect], content.spec.dtype
    if dtype not in writer.computed or not content.spec.size:
        return Figures({})
    width = _WIDEST_WHOLE if dtype.startswith(("int", "uint")) else _WIDEST
    values: dict[str, float | int | str] = {
        TITLES[name]: content.spec.size if name.endswith("count") else width
        for name in writer.titles
    }
    return Figures(values, exact=False)


def _widths(content: TensorContent, categories: Sequence[str]) -> Figures:
    values: dict[str, float | int | str] = {}
    is_complex = content.spec.dtype.startswith("complex")
    for name in categories:
        title = TITLES[name]
        if title in _WIDTHS:
            values[title] = "0" * _WIDTHS[title]
        elif name == "count" or (name.endswith(" count") and not is_complex):
            values[title] = content.spec.size or 0
        elif not is_complex:
            values[title] = _WIDEST
    return Figures(values, exact=_SURE.issuperset(categories))


def _kernel_widths(content: TensorContent, categories: Sequence[str], precision: str) -> Figures:
    """Stand in for what kernels of the device compute; the others leave ``null``."""
    dtype = content.spec.dtype
    taken = [name for name in categories if takes(name, dtype, precision)]
    width = _WIDEST_WHOLE if dtype.startswith(("int", "uint")) else _WIDEST
    values = {TITLES[name]: "False" if dtype == "bool" else width for name in taken}
    return Figures(values, exact=not taken)
