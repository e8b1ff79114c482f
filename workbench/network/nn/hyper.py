"""Hyper-parameters of training, refused as MindSpore refuses them."""

from __future__ import annotations

import math
from numbers import Real
from typing import Any

import numpy as np

from workbench.core.errors import GraphError


def number(
    name: str,
    value: Any,
    *,
    least: float = -math.inf,
    above: float = -math.inf,
    below: float = math.inf,
) -> float:
    """Return a finite number within its limits; raises GraphError for anything else."""
    plain = (
        value.item() if isinstance(value, np.ndarray | np.generic) and value.size == 1 else value
    )
    if isinstance(plain, Real) and not isinstance(plain, bool):
        found = float(plain)
        if math.isfinite(found) and found >= least and above < found < below:
            return found
    limits = [
        f"{sign} {limit:g}"
        for sign, limit in ((">=", least), (">", above), ("<", below))
        if math.isfinite(limit)
    ]
    code = "graph/finite-within" if limits else "graph/finite"
    raise GraphError(code, subject=name, limits=limits, got=value)
