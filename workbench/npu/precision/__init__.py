"""What a run asks of the compiler: formats of operators, implementations, HF32.

In: options of the graph engine as text, or ATC's file of them (`options`). Out: a `Precision`, and what a mode means on
a device (`rule_of`). Added here: a mode in `modes.MODES`, a list of operators in `lists`, an option in `options`.
"""

from typing import TYPE_CHECKING

from workbench._doors import make_door

if TYPE_CHECKING:
    from workbench.npu.precision.modes import (
        IMPLEMENTATIONS,
        MODES,
        MODES_V2,
        Precision,
        Rule,
        modes_of,
        read_precision,
        rule_of,
    )

__all__ = [
    "IMPLEMENTATIONS",
    "MODES",
    "MODES_V2",
    "Precision",
    "Rule",
    "modes_of",
    "read_precision",
    "rule_of",
]

PLACES = {
    "IMPLEMENTATIONS": "workbench.npu.precision.modes:IMPLEMENTATIONS",
    "MODES": "workbench.npu.precision.modes:MODES",
    "MODES_V2": "workbench.npu.precision.modes:MODES_V2",
    "Precision": "workbench.npu.precision.modes:Precision",
    "Rule": "workbench.npu.precision.modes:Rule",
    "modes_of": "workbench.npu.precision.modes:modes_of",
    "read_precision": "workbench.npu.precision.modes:read_precision",
    "rule_of": "workbench.npu.precision.modes:rule_of",
}
"""What others import from here, by name; each is loaded when it is first used."""

__getattr__, __dir__ = make_door(__name__, PLACES)
