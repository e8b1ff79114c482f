"""Operators as their files tell them, where no graph does: types, shapes, formats, and what rounding these explain.

Of a hundred thousand operators few differ in that: those whose files are labelled alike share one value.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench._values import NamedTuple
from workbench.comparison.measure.noise import (
    CUBE_INPUT,
    INT8,
    expected_rounding,
    spec_roundoff,
)
from workbench.core.tensors import TensorSpec
from workbench.graph.graph import Op, Param
from workbench.ops import CONTRACTIONS
from workbench.ops.aliases import type_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence, Set

    from workbench.comparison.bind.binding import OperatorRun
    from workbench.comparison.follow.trace import Survey
    from workbench.comparison.measure.measure import Measured

    Told = tuple[str, int, TensorSpec, TensorSpec, str, int]
    """What decides of a measured tensor: direction, slot, both labels, the golden operator's type, elements."""


class StandIn(NamedTuple):
    """What all operators are that are labelled alike.

    ``types`` are those that files of either side name, ``op`` has type and shapes as far as these are known, without a
    name. ``roundoff`` is the coarsest of its files' formats and of the cube's inputs.
    """

    types: Set[str]
    op: Op
    roundoff: float


class StandIns:
    """The stand-ins of one walk, each made once; their floors hold for the limits that the walk judges by."""

    def __init__(self, known: Survey) -> None:
        self._known = known
        self._made: dict[tuple[str, tuple[Told, ...]], StandIn] = {}
        self._floors: dict[tuple[int, float], float] = {}

    def of(self, run: OperatorRun, usable: Sequence[Measured]) -> StandIn:
        """Return what stands in for an operator."""
        key = run.op_type, tuple([_told(one) for one in usable])
        found = self._made.get(key)
        if found is None:
            found = self._made[key] = _stand_in(run, usable, npu=self._known.npu)
        return found

    def roundoff(self, run: OperatorRun, stand_in: StandIn) -> float:
        """Coarsest roundoff that an operator applies: that of its stand-in, or of int8."""
        quantized = self._known.quantized
        return INT8 if quantized and run.block in quantized and run.in_int8 else stand_in.roundoff

    def floor(self, stand_in: StandIn, coarsest: float) -> float:
        """Relative error that an operator's own rounding explains, behind formats whose roundoff is ``coarsest``."""
        key = id(stand_in), coarsest
        found = self._floors.get(key)
        if found is None:
            found = self._floors[key] = expected_rounding(stand_in.op, coarsest)
        return found


def _told(item: Measured) -> Told:
    pair = item.pair
    golden = pair.golden_run
    kind = "" if golden is None else golden.op_type
    return pair.io, pair.slot, pair.target.label, pair.golden.label, kind, item.divergence.size


def types_of(run: OperatorRun, usable: Iterable[Measured]) -> set[str]:
    """Types that files of either side name."""
    golden = {m.pair.golden_run.op_type for m in usable if m.pair.golden_run is not None}
    return {type_of(one) for one in ({run.op_type} | golden) if one}


def _stand_in(run: OperatorRun, usable: Sequence[Measured], *, npu: bool) -> StandIn:
    types = types_of(run, usable)
    labels = [r.label for m in usable for r in (m.pair.target, m.pair.golden)]
    own = max((spec_roundoff(label) for label in labels), default=0.0)
    cube = own > 0.0 and npu and bool(types & CONTRACTIONS)
    return StandIn(types, _op(run, types, usable), max(own, CUBE_INPUT) if cube else own)


def _op(run: OperatorRun, types: Set[str], usable: Sequence[Measured]) -> Op:
    inputs = [m for m in usable if m.pair.io == "input"]
    kind = next(iter(sorted(types & CONTRACTIONS)), type_of(run.op_type) or min(types, default=""))
    outputs = tuple(_spec(m) for m in usable if m.pair.io == "output")
    slots = range(1 + max((m.pair.slot for m in inputs), default=-1))
    by_slot = {m.pair.slot: _spec(m) for m in inputs}
    specs = tuple(by_slot.get(slot) for slot in slots)
    return Op("", kind, tuple(Param(slot) for slot in slots), {}, outputs, specs)


def _spec(item: Measured) -> TensorSpec:
    label = item.pair.golden.label
    return TensorSpec(label.dtype, (item.divergence.size,), label.format)
