"""Faults and the places where they work, as plain values."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, Literal

from workbench.run.numeric import UNTOUCHED

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from workbench.graph.nodes import Op
    from workbench.run.numeric import Formats

    Array = NDArray[Any]

Step = Literal["compile", "load", "store"]
"""When a fault strikes: while the operator is compiled, when its inputs are in the unit, or when its
results are in memory."""


@dataclass(frozen=True, slots=True)
class Fault:
    """A defect of the device.

    ``op_name`` is a full operator name, a pattern with ``*``, or an operator type. What ``strength``
    and ``value`` mean for each kind says `workbench.run.faults.FAULTS`.
    """

    kind: str
    op_name: str
    strength: float | None = None
    seed: int = 0
    value: Any = None

    def meets(self, op: Op) -> bool:
        """Whether the fault is in this operator."""
        return self.op_name in (op.name, op.op_type) or fnmatchcase(op.name, self.op_name)


@dataclass(frozen=True, slots=True)
class Site:
    """One operator on the device: as it is compiled, then with its ``inputs``, then its ``outputs``.

    ``formats``, ``implementation`` (``""``: what the compiler was asked for) and ``accumulator`` say
    how it is computed; or it ``fails``.
    """

    op: Op
    formats: Formats = UNTOUCHED
    implementation: str = ""
    accumulator: str = "float32"
    fails: bool = False
    inputs: tuple[Array, ...] = ()
    outputs: tuple[Array, ...] = ()
