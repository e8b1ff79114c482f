"""Faults that show in an operator's results: they change its first output."""

from __future__ import annotations

import zlib
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from workbench.run.faults.fault import Fault, Site


def scaled_output(fault: Fault, site: Site) -> Site:
    """Multiply the first output by the strength (1.01 if none is given)."""
    factor = 1.01 if fault.strength is None else fault.strength
    first = site.outputs[0]
    scaled = (first.astype(np.float64) * factor).astype(first.dtype)
    return replace(site, outputs=(scaled, *site.outputs[1:]))


def overwritten_element(fault: Fault, site: Site) -> Site:
    """Overwrite neighboring elements of the first output, at a place that the seed chooses.

    ``strength`` elements (1 if none is given) become ``value``, or ten times the largest magnitude.
    """
    if site.outputs[0].size == 0:
        return site
    first = site.outputs[0].copy()
    count = min(int(1 if fault.strength is None else fault.strength), first.size)
    rng = np.random.default_rng([zlib.crc32(site.op.name.encode()), fault.seed])
    start = int(rng.integers(first.size - count + 1))
    largest = np.max(np.abs(first[np.isfinite(first)].astype(np.float64)), initial=0.1)
    flat = first.reshape(-1)
    flat[start : start + count] = 10 * largest if fault.value is None else float(fault.value)
    return replace(site, outputs=(first, *site.outputs[1:]))
