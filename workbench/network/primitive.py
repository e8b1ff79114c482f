"""`Primitive`: one operator as an attribute of a cell, MindSpore's way of holding what `set_dump` marks alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from workbench.core.errors import GraphError
from workbench.network.symbolic import recorder
from workbench.ops import OPS

if TYPE_CHECKING:
    from workbench.network.symbolic import Tensor


class Primitive:
    """One operator, as ``mindspore.ops.Mul()`` is: ``self.mul = wb.nn.Primitive("Mul")``.

    Its operator lies in the scope of the cell that calls it, under its type: ``Default/Mul-op0``.

    Parameters
    ----------
    op_type : str
        Type of the operator, a row of `workbench.ops`.
    **settings
        Attributes of the operator.

    Raises
    ------
    GraphError
        There is no such type.
    """

    dumps: bool | None = None
    """Whether its operators are marked for a dump (`workbench.set_dump`); ``None`` if those of its cell decide."""

    def __init__(self, op_type: str, **settings: Any) -> None:
        if op_type not in OPS:
            raise GraphError("graph/primitive", got=op_type)
        self.op_type, self.settings = op_type, settings

    def __call__(self, *operands: Any) -> Tensor | tuple[Tensor, ...]:
        """Record the operator; return its result, a tuple of them if it has several."""
        trace = recorder(self.op_type)
        made = trace.record(self.op_type, operands, self.settings, marked=self.dumps)
        return made[0] if len(made) == 1 else made

    def __repr__(self) -> str:
        return f"Primitive({self.op_type!r})"
