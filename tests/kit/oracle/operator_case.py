"""What one operator is held against: a row of ``tests/ops/*_cases.py``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from kit.oracle.slopes import GradientCase

Oracle = Callable[[list[np.ndarray], Mapping[str, Any]], list[Any]]


class OperatorCase(NamedTuple):
    """Oracle, inputs, gradient and node tests of an operator.

    ``oracle`` gives the outputs for inputs and settings, by loops or closed forms in plain Python; ``None`` where it is
    PyTorch's record (`test_torch_operators`). ``examples`` are inputs with settings; those that are left out have the
    defaults of the operator's row. ``gradient`` has functions in which the operator stands, with the places where they
    are differentiated. ``onnx`` names ONNX operators whose node tests, written by onnx, end in this kernel.
    ``by_differences``: the oracle differentiates what goes forward, and is right to nine digits, not to twelve.
    """

    oracle: Oracle | None
    examples: Sequence[tuple[list[np.ndarray], Mapping[str, Any]]] = ()
    by_differences: bool = False
    gradient: Sequence[GradientCase] = ()
    onnx: str = ""
