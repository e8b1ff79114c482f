"""The operator table: MindSpore's primitive vocabulary, its arguments, shapes and engines.

An operator has *tensor arguments* and *settings*. A setting is a constant operand in newer dialects
(``MatMul(%x, %w, Bool(0), Bool(1))``) and an attribute in older ones and in `Conv2D`;
`workbench.graph.ops.bind` reads both the same way. Argument names and order are those of MindSpore
2.10; operators that only the graph engine has (`MaxPoolV3`, `AvgPoolV2`, `AscendQuant`, …) are
spelled as CANN does. `tests/ops/test_ops.py` checks every row, `tests/ops/test_kernel_oracles.py`
that each has a kernel and what it is checked against.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.graph.table.backward import BACKWARD
from workbench.graph.table.collectives import COLLECTIVES
from workbench.graph.table.cube import CUBE
from workbench.graph.table.elementwise import ELEMENTWISE
from workbench.graph.table.movement import MOVEMENT
from workbench.graph.table.quantization import QUANTIZATION
from workbench.graph.table.reduction import REDUCTION
from workbench.graph.table.update import UPDATE
from workbench.graph.table.window import WINDOW

if TYPE_CHECKING:
    from workbench.graph.opdef import OpDef

OPS: dict[str, OpDef] = {
    **CUBE,
    **ELEMENTWISE,
    **REDUCTION,
    **WINDOW,
    **MOVEMENT,
    **QUANTIZATION,
    **BACKWARD,
    **UPDATE,
    **COLLECTIVES,
}
"""Every operator the workbench can trace and execute, by type."""
