"""How large an own error may be: the noise floor of one operator on its own inputs, four ways.

``ulp``    one rounding of the result: u of the dtype that it is written in
``bound``  rounding on the way. A backward stable kernel gives the exact result of inputs that are
           off by a few units of its arithmetic; how much that moves the result, the operator's
           condition on these very inputs, is measured with inputs that are off at random; so is what
           becomes of products that a kernel of several operators rounds before it goes on with them
``order``  rounding on the way where the order of summation is not known, that of a healthy kernel of any kind
           (`workbench.comparison.measure.noise`); 0 where nothing is summed
``model``  what the formats of the device's units cost: the distance of its numeric model from
           exact arithmetic on the same inputs

The relative error of a sum of K products in an arithmetic of unit u grows with √K·u for random signs
(Higham & Mary 2019), and never beyond γ(K) = Ku/(1 - Ku).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench._values import NamedTuple
from workbench.comparison.measure.noise import (
    APPROXIMATION,
    CUBE_INPUT,
    any_order,
    reduction_length,
    summation_length,
    sums,
)
from workbench.comparison.replay.kernel import Change, Computation, distance
from workbench.core.dtypes import DTYPES, name_of
from workbench.core.words import Message
from workbench.graph.graph import Value
from workbench.npu.arithmetic import EXACT
from workbench.ops import APPROXIMATED, CONTRACTIONS, MOVEMENT

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from workbench.comparison.replay.attempt import Attempt
    from workbench.graph.graph import Op
    from workbench.npu.arithmetic import Arithmetic

    Array = NDArray[Any]

FLOAT32 = DTYPES["float32"].roundoff
_STEP = 2.0**-16
"""Relative size of the random steps that measure a condition: far above float64's noise."""

RECURRENT = frozenset(
    ("LSTM", "DynamicRNN", "DynamicGRUV2", "LSTMGrad", "DynamicRNNGrad", "GRUV2", "CudnnGRU",
)
)  # fmt: skip
"""Types that round what goes from step to step."""

_ATTENTION = frozenset(("FlashAttentionScore", "PromptFlashAttention", "IncreFlashAttention"))
"""Types that round the shares of keys before they meet the values."""

_QUANTIZES = "AscendQuant"
"""Type that rounds floats to integers by a scale that it states."""

_STEEPEST = 2.0**20


class Floor(NamedTuple):
    """Relative errors that explain a result, by what they come from."""

    ulp: float
    bound: float
    model: float = 0.0
    order: float = 0.0

    @property
    def rounding(self) -> float:
        """What roundings explain, whatever the units do: an error beyond some multiples of it is suspect."""
        return max(self.ulp, self.bound)

    @property
    def of_any_order(self) -> Floor:
        """The floor of an operator of which nobody knows in which order it sums."""
        return self._replace(bound=max(self.bound, self.order))

    @property
    def largest(self) -> float:
        return max(self.ulp, self.bound, self.model)

    @property
    def reason(self) -> Message:
        """Which of them is the largest."""
        known = ("ulp", "bound", "model")
        return Message(f"compare/floor-{max(known, key=lambda name: float(getattr(self, name)))}")


def unit_of(array: Array) -> float:
    """Unit roundoff of an array's dtype; 0 for integers and bools."""
    row = DTYPES.get(name_of(array.dtype))
    return row.roundoff if row is not None else 0.0


def quick_floor(attempt: Attempt, slot: int, arithmetic: Arithmetic = EXACT) -> float:
    """Return what an operator may be off at least, without looking at its data."""
    unit = written_unit(attempt, slot, arithmetic)
    if not unit or all(op.op_type in MOVEMENT for op in attempt.kernel.ops):
        return unit
    ops = attempt.kernel.ops
    length = (
        sum(reduction_length(op) for op in ops) if len(ops) == 1 else reduction_length(attempt.op)
    )
    approximated = any(op.op_type in APPROXIMATED for op in ops)
    inside = 2.0 * FLOAT32 * math.sqrt(length)
    return unit + inside + (APPROXIMATION if approximated else 0.0)


def written_unit(attempt: Attempt, slot: int, arithmetic: Arithmetic) -> float:
    """Unit roundoff of what is written: the file's dtype, or that of a coarser format behind it."""
    unit = unit_of(attempt.given[slot])
    specs = attempt.op.device_outputs or attempt.op.outputs
    stated = specs[slot].dtype if 0 <= slot < len(specs) else ""
    rows = [DTYPES[name] for name in (arithmetic.output, stated) if name in DTYPES]
    return max(unit, *(row.roundoff for row in rows)) if rows and unit else unit


def careful_floor(
    attempt: Attempt,
    slot: int,
    expected: Array,
    arithmetic: Arithmetic,
    *,
    wide: bool = False,
    unrounded: bool = False,
) -> Floor:
    """Return the floor of a result on the inputs that it was computed from.

    ``wide``: the vector unit is known to compute in float32, whatever it reads. ``unrounded``: and so do kernels of
    the same steps with the products that they go on with.
    """
    ulp = written_unit(attempt, slot, arithmetic)
    if not ulp:
        return _floor_of_steps(attempt, slot, expected)
    steepness = min(condition(attempt, slot), _STEEPEST)
    ops = attempt.kernel.ops
    inside = max(
        (unit_inside(op, attempt.inputs, arithmetic, wide=wide) for op in ops), default=FLOAT32
    )
    if (
        attempt.rule == "network"
    ):  # what went into its weights was rounded with them, as the cube rounds
        inside = max(inside, CUBE_INPUT)
    length = max((reduction_length(op) for op in ops), default=1.0)
    largest = max((array.size for array in attempt.inputs.values()), default=1)
    length = max(length, largest / max(attempt.given[slot].size, 1))
    bound = ulp + steepness * (2.0 * inside + FLOAT32 * length**0.5)
    if not unrounded:
        bound = max(bound, handed_on(attempt, slot, arithmetic))
    order = 0.0
    if any(map(sums, ops)):
        longest = max(length, *map(summation_length, ops))
        order = ulp + steepness * (2.0 * inside + any_order(longest))
    model = 0.0
    if arithmetic != EXACT:
        model = distance(expected, attempt.results(EXACT)[slot])
    return Floor(ulp, bound, model if np.isfinite(model) else 0.0, order)


def _floor_of_steps(attempt: Attempt, slot: int, expected: Array) -> Floor:
    """Return the floor of integers that floats were rounded to: a step where roundings of what is read move them.

    One element may lie on an edge always. Other integers have no error.
    """
    if attempt.op.op_type != _QUANTIZES or slot < 0:
        return Floor(0.0, 0.0)
    norm = float(np.linalg.norm(expected.astype(np.float64)))
    step = 1.0 / norm if norm else 1.0
    unit = max((unit_of(array) for array in attempt.inputs.values()), default=0.0)
    rng = np.random.default_rng(0)
    moved = {
        number: array * (1.0 + unit * rng.uniform(-1.0, 1.0, array.shape))
        for number, array in attempt.inputs.items()
    }
    still = attempt.computed((slot,))[slot]
    off = distance(Computation(attempt.kernel, moved).computed((slot,))[slot], still)
    return Floor(step, max(step, off if math.isfinite(off) else 0.0))


def handed_on(attempt: Attempt, slot: int, arithmetic: Arithmetic) -> float:
    """Return the relative error of a result whose kernel rounds the products that it goes on with.

    What leaves the cube unit may be float32, or of the format in which the kernel writes it; no file tells. A sum
    over elements that cancel magnifies such roundings, and nothing of that shows in the condition on the kernel's
    inputs, where each step moves all of the terms. 0 for a product itself, and where its format is float32.
    """
    kernel = attempt.kernel
    read = {o for op in kernel.ops for o in op.flat_inputs() if isinstance(o, Value)}
    off = 0.0
    for part, op in enumerate(kernel.ops):
        mine = [value for value in read if value.op == part]
        own = not 0 <= slot < len(kernel.results) or kernel.results[slot].op == part
        if op.op_type not in CONTRACTIONS or own or not mine:
            continue
        unit = max(_handed_unit(attempt, value, arithmetic) for value in mine)
        if unit > FLOAT32:
            off = math.hypot(off, _moved_by(attempt, slot, part, unit))
    return off


def _handed_unit(attempt: Attempt, value: Value, arithmetic: Arithmetic) -> float:
    """Coarsest unit roundoff in which a value inside a kernel may be held: that of its file, or that of the graph."""
    results, op = attempt.kernel.results, attempt.kernel.ops[value.op]
    stated = op.outputs[value.slot].dtype if value.slot < len(op.outputs) else ""
    units = [DTYPES[stated].roundoff if stated in DTYPES else 0.0]
    units += [
        written_unit(attempt, slot, arithmetic)
        for slot, one in enumerate(results)
        if one == value and slot in attempt.given
    ]
    return max(units)


def _moved_by(attempt: Attempt, slot: int, part: int, unit: float) -> float:
    """Return how far roundings at random of what one operator of a kernel gives move a result."""
    rng = np.random.default_rng(part)

    def store(given: list[Array]) -> list[Array]:
        return [array * (1.0 + unit * rng.uniform(-1.0, 1.0, array.shape)) for array in given]

    still = attempt.computed((slot,))[slot]
    moved = distance(attempt.computed((slot,), EXACT, Change(part, store=store))[slot], still)
    return moved if math.isfinite(moved) else 0.0


class _Read(NamedTuple):
    """What the unit inside a kernel depends on, beside the operator.

    ``units`` are those of its inputs, ``rows`` those of the device's formats.
    """

    units: tuple[float, ...]
    rows: tuple[float, ...]
    wide: bool


class UnitRule(NamedTuple):
    """Unit roundoff inside a kernel; ``why`` says what the rule's place in the table depends on."""

    name: str
    applies: Callable[[Op, _Read], bool]
    unit: Callable[[_Read], float]
    why: str


UNIT_RULES: tuple[UnitRule, ...] = (
    UnitRule(
        "recurrent", lambda op, read: op.op_type in RECURRENT | _ATTENTION,
        lambda read: max(FLOAT32, *read.units, *read.rows),
        "before products, which these contain: what they keep between these is rounded, on wide units, too",
    ),
    UnitRule(
        "product", lambda op, read: op.op_type in CONTRACTIONS, lambda read: FLOAT32,
        "before the inputs' formats: the cube sums them in float32",
    ),
    UnitRule(
        "wide", lambda op, read: read.wide, lambda read: FLOAT32,
        "before the inputs' formats: the vector unit is known to compute in float32, whatever it reads",
    ),
    UnitRule(
        "inputs", lambda op, read: True, lambda read: max(read.units, default=FLOAT32),
        "applies always: perhaps it computes in the inputs' own format",
    ),
)  # fmt: skip
"""In which format an operator rounds on its way: the first rule that applies decides."""


def unit_inside(
    op: Op, inputs: Mapping[int, Array], arithmetic: Arithmetic, *, wide: bool
) -> float:
    """Return the unit roundoff inside a kernel."""
    formats = [DTYPES[name] for name in (arithmetic.inputs, arithmetic.output) if name in DTYPES]
    units = tuple(unit_of(array) for array in inputs.values())
    read = _Read(units, tuple(row.roundoff for row in formats), wide)
    return next(rule for rule in UNIT_RULES if rule.applies(op, read)).unit(read)


def condition(attempt: Attempt, slot: int) -> float:
    """Return how much random relative errors of the inputs are magnified in a result, at least 1.

    Of what is left in overwritten inputs it is not known. A whole number by itself, such as an exponent, is held by
    every format as it is, so it has no error.
    """
    if slot < 0:
        return 1.0
    rng = np.random.default_rng(0)
    moved = {}
    for number, array in attempt.inputs.items():
        moved[number] = array
        if not unit_of(array):
            continue
        with np.errstate(all="ignore"):  # a file may hold anything
            wide = array.astype(np.float64)
            if wide.size != 1 or not float(wide.item()).is_integer():
                moved[number] = wide * (1.0 + _STEP * rng.uniform(-1.0, 1.0, array.shape))
    still = attempt.computed((slot,))
    other = Computation(attempt.kernel, moved).computed((slot,))
    if slot not in still:
        return 1.0
    off = distance(other[slot], still[slot])
    return max(1.0, off / (_STEP * 3.0**-0.5)) if np.isfinite(off) else _STEEPEST
