"""What the walk through the data flow knows of a value, and of one execution of an operator."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from workbench._values import NamedTuple
from workbench.comparison.limits import limits

if TYPE_CHECKING:
    from collections.abc import Mapping

    from workbench.comparison.align.differences import Difference
    from workbench.comparison.bind.binding import Execution
    from workbench.comparison.map_file import Tolerance
    from workbench.comparison.measure.measure import Measured
    from workbench.comparison.measure.quantization_error import QuantizationError
    from workbench.comparison.replay.own_error import OwnError


INHERITS, VERSION_MATTER, DIFFERS_AT_START = "inherits", "version-matter", "differs-at-start"
"""Conclusions that others ask for: inputs were wrong; two versions of the framework are known to differ; a parameter
differs before the first step."""


class ValueState(NamedTuple):
    """What is known of a value: its relative error, and whether a named defect explains it.

    ``causes`` are differences in something that no operator produced, on their way to the first
    operator that computes with it; ``unobserved`` operators since the last measured value that were not
    dumped. ``from_earlier_step`` values come from an earlier step, at most moved; ``rank_local`` ones of the batch of
    their rank.
    """

    error: float = 0.0
    measured: bool = False
    tainted: bool = False
    causes: tuple[Difference, ...] = ()
    unobserved: tuple[int, ...] = ()
    from_earlier_step: bool = False
    rank_local: bool = False


SOME_INPUT = (-1,)
"""Slots of inputs that were not dumped, where nobody knows how many there are."""


class Assessment(NamedTuple):
    """One execution of one operator, judged.

    ``conclusion`` names the rule that decided. ``rounding_floor`` is the error its own rounding explains,
    ``expected_error`` that and what it inherited, magnified as its data magnify it; it is guilty beyond ``limit``,
    ``tolerance_factor`` times that, or what an update or a jump explains.
    ``origin_op`` is the operator to name, another one if the error began where nothing was dumped. ``masked`` says
    that whatever reads the difference agrees again, ``tolerated`` what of the map file excuses it. ``steps`` are those
    to which its inputs were quantized; ``rank_local`` says that it computes with the batch of its own rank;
    ``replayed`` is its own error; ``overflowed`` results come of an overflow that both runs have. ``open_inputs`` are
    the slots of an origin's inputs that the target has not dumped, `SOME_INPUT` where nobody knows which: the error may
    as well have come with them.
    ``undecided`` is why its error, too large to agree, is not called an origin.
    """

    block: Execution
    op: int
    rounding_floor: float
    inherited: float
    tainted: bool
    order: int
    measured: Mapping[tuple[str, int], Measured] = MappingProxyType({})
    tolerance_factor: float = 0.0
    expected_error: float = 0.0
    differences: tuple[Difference, ...] = ()
    is_origin: bool = False
    masked: bool = False
    worst: Measured | None = None
    origin_op: int = -1
    steps: QuantizationError | None = None
    unobserved_count: int = 0
    rank_local: bool = False
    replayed: OwnError | None = None
    overflowed: bool = False
    limit: float = 0.0
    tolerated: Tolerance | None = None
    conclusion: str = ""
    open_inputs: tuple[int, ...] = ()
    undecided: str = ""


def agreeing(block: Execution, op: int, floor: float, order: int) -> Assessment:
    """Judge an operator whose inputs and outputs are equal; ``floor`` is what its own rounding explains."""
    return Assessment(block, op, floor, 0.0, False, order, tolerance_factor=limits().pass_factor)
