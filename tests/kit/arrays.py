"""Arrays of records and of the sources behind them."""

from __future__ import annotations

import numpy as np

from workbench.dump.payload.reading import Buffer


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
    while count := reading.ready():
        parts.append(reading.take(min(count, most)).copy())
    reading.close()
    array = np.concatenate(parts)
    assert (array.dtype, array.size) == (reading.dtype, reading.size)
    return array.reshape(reading.shape)
