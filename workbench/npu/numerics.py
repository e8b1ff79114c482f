"""How a device computes the operators of a graph: in which formats, rounded how, implemented how."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from workbench._values import dataclass
from workbench.core.dtypes import DTYPES
from workbench.core.errors import GraphError
from workbench.graph.graph import Param, Value
from workbench.npu.arithmetic import store
from workbench.npu.ops_info import op_info
from workbench.npu.orders.known import NO_ORDERS, Orders
from workbench.npu.precision import Precision, Rule, rule_of
from workbench.npu.profiles import HF32, HF32_AWAY, profile
from workbench.npu.rounding import ROUND
from workbench.ops import OPS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from workbench.graph.graph import Graph, Op, Operand
    from workbench.npu.profiles import Profile

    Array = NDArray[Any]
    F32 = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Formats:
    """What an operator's inputs and outputs are rounded to; ``""``: nothing beyond their dtype."""

    inputs: str = ""
    output: str = ""


UNTOUCHED = Formats()
"""The graph's own dtypes and nothing else."""


_AS_STATED = Rule()


@dataclass(frozen=True, slots=True)
class NumericModel:
    """How a device computes what was compiled with a `Precision`; ``orders`` are those that its sums have."""

    profile: Profile
    precision: Precision
    rule: Rule
    saturates: bool
    orders: Orders = NO_ORDERS

    def formats(self, graph: Graph) -> list[Formats]:
        """Return the formats of every operator of a graph, in order."""
        found: list[Formats] = []
        for op in graph.ops:
            found.append(self._formats(op, found))
        return found

    def _formats(self, op: Op, before: list[Formats]) -> Formats:
        row = OPS.get(op.op_type)
        if row is None or row.writes[:1] == (0,):  # weights are updated in their own dtype
            return UNTOUCHED
        if row.engine == "mixed":  # statistics stay float32, whatever it reads
            return UNTOUCHED
        chosen, cube = self.precision.chosen.formats(op), row.engine == "cube"
        if chosen is not None:
            return Formats(chosen.inputs or (self._cube_input(op) if cube else ""), chosen.output)
        rule = _AS_STATED if self.precision.kept.has(op) else self.rule
        dtype = op.outputs[0].dtype if op.outputs else ""
        lowered = dtype in rule.lowers and (not rule.mixed or self._allowed(op, before))
        if cube:
            own = self._cube_input(op) if dtype == "float32" else ""
            written = "" if op_info(op.op_type).wide_output else rule.cube_out
            return Formats(rule.cube_in or own, written) if lowered else Formats(own)
        return Formats(rule.vector, rule.vector) if lowered else Formats()

    def _cube_input(self, op: Op) -> str:
        """Format in which the cube unit reads float32: HF32 where the device has it and is told to.

        A device without float32 in its cube runs the operator on a scalar unit, in float32.
        """
        if HF32 not in self.profile.cube or not self.precision.uses_hf32(op):
            return ""
        return HF32 if op.op_type.startswith("Conv") else HF32_AWAY

    def _allowed(self, op: Op, before: list[Formats]) -> bool:
        """Whether mixed precision lowers an operator: by its list, gray ones follow their producer."""
        shade = self.precision.mixlist.shade(op.op_type)
        if shade != "gray":
            return shade == "white"
        produced: list[Operand] = [o for o in op.flat_inputs() if isinstance(o, Value | Param)]
        first = produced[0] if produced else None
        return isinstance(first, Value) and before[first.op].output != ""

    def implementation(self, op: Op, formats: Formats) -> str:
        """Return how the vector unit computes an operator: a key of `APPROXIMATIONS`, or exactly.

        The fast implementations are those of 16-bit inputs; only ``super_performance`` is wider.
        """
        chosen = self.precision.implementation(op)
        if chosen == "super_performance":
            return chosen
        dtype = op.outputs[0].dtype if op.outputs else ""
        row = DTYPES.get(formats.output or dtype)
        half = row is not None and row.is_float and row.storage.itemsize == 2
        return chosen if half else "high_precision"

    def round(self, array: F32, name: str, *, own: bool = False) -> F32:
        """Round float32 values to a format of fewer bits, with the device's overflow behavior.

        ``own``: the array is nobody else's and may be overwritten.
        """
        return ROUND[name or "float32"](array, saturate=self.saturates, own=own)

    def store(self, array: Array, name: str) -> Array:
        """Values as the device stores them in the dtype ``name``. Integers always saturate."""
        return store(array, name, self.saturates)


def numeric_model(name: str, precision: Precision | str | None = None) -> NumericModel:
    """Return the model of a device; text is a precision mode, nothing the device's own for training.

    Raises GraphError for unknown names and what the device cannot do.
    """
    device = profile(name)
    if not isinstance(precision, Precision):
        precision = Precision(precision or "")
    mode = precision.mode or (device.inference if precision.training is False else device.training)
    saturates = precision.saturate
    if saturates is None:
        saturates = device.overflow == "saturate"
    if device.overflow != "either" and saturates != (device.overflow == "saturate"):
        raise GraphError(
            "run/overflow-mode", device=device.title, only=device.overflow, got=saturates
        )
    return NumericModel(device, precision, rule_of(mode, device), saturates)
