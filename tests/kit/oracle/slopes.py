"""Places at which gradients are checked: away from where a function has no derivative, in float64.

What is not differentiated (indices, masks) stands inside the functions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from workbench.network.symbolic import record


class GradientCase(NamedTuple):
    """A function of tensors, and the arrays it is differentiated at."""

    function: Callable[..., Any]
    points: tuple[np.ndarray[Any, Any], ...]


def anywhere(*shape: int) -> np.ndarray[Any, Any]:
    """Numbers of both signs between 0.2 and 0.9 in size, all different."""
    sizes = _RNG.permutation(np.linspace(0.2, 0.9, max(1, int(np.prod(shape)))))
    return np.asarray(sizes * _RNG.choice([-1.0, 1.0], sizes.shape)).reshape(shape)


def positive(*shape: int) -> np.ndarray[Any, Any]:
    """Positive numbers, none of them one of `anywhere`."""
    return np.asarray(np.abs(anywhere(*shape)) + 0.0371)


def one_tensor(
    op_type: str, *arguments: Any, point: Any = None, **attrs: Any
) -> list[GradientCase]:
    """Case of an operator with one tensor, in front of other arguments."""
    at = anywhere(2, 3) if point is None else point
    return [GradientCase(lambda x: record(op_type, x, *arguments, **attrs), (at,))]


def two_tensors(op_type: str, left: Any = anywhere, right: Any = positive) -> list[GradientCase]:
    """Cases of an operator with two tensors: of one shape, and stretched in several ways."""
    shapes = [((2, 3), (2, 3)), ((2, 3), (3,)), ((1, 3), (2, 1)), ((2, 3), ()), ((3,), (2, 1, 3))]
    return [
        GradientCase(lambda x, y: record(op_type, x, y), (left(*a), right(*b))) for a, b in shapes
    ]


def between(low: float, high: float) -> np.ndarray[Any, Any]:
    """Numbers between two bounds."""
    return _RNG.uniform(low, high, (2, 3))


_RNG = np.random.default_rng(2026)
