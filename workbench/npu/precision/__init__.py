"""What a run asks of the compiler: formats of operators, implementations, HF32.

In: options of the graph engine as text, or ATC's file of them (`options`). Out: a `Precision`, and what a mode means on
a device (`rule_of`). Added here: a mode in `modes.MODES`, a list of operators in `lists`, an option in `options`.
"""

from __future__ import annotations

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
