"""Settings of an operator as MindSpore's ``save_kernel_args`` writes them: JSON, every value a text.

What the operator's definition declares is printed like a tensor, attributes of other operators like the
values of an IR. Source: MindSpore ``E2eDump::DumpArgsSingleNode``.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.core.errors import GraphError
from workbench.graph.graph import Param, Value
from workbench.ops import bind, op_def

if TYPE_CHECKING:
    from workbench.graph.graph import Op


def kernel_arguments(op: Op) -> str:
    """Text of an operator's file: four blanks, keys in order; ``null`` if it has no setting."""
    settings = arguments_of(op)
    return json.dumps(settings or None, indent=4, sort_keys=True, ensure_ascii=False)


def arguments_of(op: Op) -> dict[str, str]:
    """Return the settings of an operator as text; its attributes if its type is unknown.

    Settings that a kernel takes as inputs are those that its definition declares; if there are any, the
    attributes stay out.
    """
    try:
        bound = bind(op)
    except GraphError:
        return {name: _attribute(value) for name, value in op.attrs.items()}
    count = sum(1 for _ in op.flat_inputs()) - len(bound.tensors)
    declared = op_def(op.op_type).settings[:count]
    if not declared:
        return {name: _attribute(value) for name, value in bound.settings.items()}
    values = {name: bound.settings[name] for name in declared}
    computed = (Value, Param, type(None))
    return {name: _tensor(v) for name, v in values.items() if not isinstance(v, computed)}


def _attribute(value: Any) -> str:
    if isinstance(value, bool | np.bool_):
        return "true" if value else "false"
    if isinstance(value, tuple | list):
        return f"({', '.join(_attribute(item) for item in value)})"
    return str(value)


def _tensor(value: Any) -> str:
    """Print a setting as the tensor that a kernel takes: ``False``, ``1e-05``, ``[1 1]``."""
    if isinstance(value, tuple | list):
        items = [_tensor(item) for item in value]
        width = max(map(len, items), default=0)
        return f"[{' '.join(item.rjust(width) for item in items)}]"
    if isinstance(value, float | np.floating):
        return f"{float(value):g}"
    return str(value)
