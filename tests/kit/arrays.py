"""Arrays of records and of the sources behind them."""

from __future__ import annotations

import numpy as np

from workbench.dump.formats.container import list_tensors, locate
from workbench.dump.payload.blocks import Buffer, ExtentSource, chunks


def outputs(records):
    """Array of every output by the name of its operator and its slot."""
    return {(r.key.op_name, r.key.slot): r.source.array() for r in records if r.key.io == "output"}


def by_operator(records):
    """Array of the output of every operator by its name; of several outputs, the last."""
    return {r.key.op_name: r.source.array() for r in records if r.key.io == "output"}


def read_all(source, buffer=None, most=10**9) -> np.ndarray:
    """All elements of a source, front to back where they lie so, at most ``most`` at a time."""
    reading = source.reading(buffer or Buffer(64))
    if reading is None:
        return source.array()
    parts = [np.empty(0, reading.dtype)]
    while count := reading.available():
        parts.append(reading.read(min(count, most)).copy())
    reading.close()
    array = np.concatenate(parts)
    assert (array.dtype, array.size) == (reading.dtype, reading.size)
    return array.reshape(reading.shape)


def sources_of(path) -> list[ExtentSource]:
    """Sources of all tensors of a container, inputs first."""
    found = list_tensors(str(path))
    return [ExtentSource(extent) for side in (found.inputs, found.outputs) for extent in side]


def stored(path, block) -> np.ndarray:
    """Elements of a container's block as they lie, in the type of their number format."""
    extent = locate(str(path), block)._replace(host=None)
    extent.refuse()
    parts = [np.empty(0, extent.dtype.storage), *chunks(extent)]
    return np.concatenate([part.reshape(-1) for part in parts]).reshape(extent.shape)
