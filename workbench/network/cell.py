"""`Cell`: a network or a layer, MindSpore's way. Subclasses write `construct`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from workbench.core.errors import GraphError
from workbench.network.primitive import Primitive
from workbench.network.symbolic import Parameter, Tensor, is_tracing, recorder

if TYPE_CHECKING:
    from collections.abc import Iterator

_FLOATS = ("float16", "float32", "bfloat16")


class Cell:
    """A part of a network. Cells and parameters set as attributes become its parts, in order.

    The attribute's name and the class make the scope of its operators (``conv1-Conv2d``) and the
    names of its weights (``conv1.weight``).
    """

    float_dtype = ""
    """Dtype in which the cell computes; empty: in that of its inputs and weights."""

    dumps = False
    """Whether the cell's operators are marked for a dump (`set_dump`)."""

    training = False
    """Whether layers behave as in training (`set_train`)."""

    auto_prefix = True
    """Whether names of weights below the cell begin with the attributes that lead to them."""

    def __init__(self, auto_prefix: bool = True) -> None:
        self.auto_prefix = auto_prefix

    def construct(self, *inputs: Any) -> Any:
        """Compute the outputs from the inputs; every subclass writes its own."""
        raise GraphError("graph/no-construct", cell=type(self).__name__)

    def __call__(self, *inputs: Any) -> Any:
        with recorder(type(self).__name__).within(self):
            return self.construct(*self.taken(inputs))

    def to_float(self, dst_type: Any) -> Self:
        """Compute in another float dtype: inputs and weights are cast where the cell reads them.

        Holds for this cell and all below it; returns the cell.
        """
        name = dst_type if isinstance(dst_type, str) else np.dtype(dst_type).name
        if name not in _FLOATS:
            raise GraphError("core/choice", subject="dtype", got=name, known=list(_FLOATS))
        self.float_dtype = name
        for _, child in self.cells():
            child.to_float(name)
        return self

    def set_train(self, mode: bool = True) -> Self:
        """Let this cell and all below it behave as in training, or as in inference; returns the cell."""
        self.training = mode
        for _, child in self.cells():
            child.set_train(mode)
        return self

    def taken(self, values: Any) -> Any:
        """Inputs as the cell computes with them, tuples of tensors included."""
        if isinstance(values, tuple | list):
            return tuple(self.taken(value) for value in values)
        if isinstance(values, Tensor) and self.float_dtype and "float" in values.dtype:
            return values if values.dtype == self.float_dtype else values.astype(self.float_dtype)
        return values

    def cells(self) -> Iterator[tuple[str, Cell]]:
        """Direct parts that are cells, with their attribute names."""
        for name, value in vars(self).items():
            if isinstance(value, Cell):
                yield name, value

    def own_parameters(self) -> Iterator[tuple[str, Parameter]]:
        """Direct parts that are parameters, with their attribute names."""
        for name, value in vars(self).items():
            if isinstance(value, Parameter):
                yield name, value

    def parameters_and_names(self, name_prefix: str = "") -> Iterator[tuple[str, Parameter]]:
        """All weights with their full names, depth first in order of attributes."""
        for name, parameter in self.own_parameters():
            yield f"{name_prefix}{parameter.given_name or name}", parameter
        for name, child in self.cells():
            prefix = f"{name_prefix}{name}." if self.auto_prefix else name_prefix
            yield from child.parameters_and_names(prefix)

    def get_parameters(self) -> list[Parameter]:
        """All weights once; from now on their ``name`` is the full one."""
        found: dict[int, Parameter] = {}
        for name, parameter in self.parameters_and_names():
            if id(parameter) not in found:
                parameter.name = name
                found[id(parameter)] = parameter
        return list(found.values())

    def trainable_params(self) -> list[Parameter]:
        """Weights that an optimizer updates, under their full names."""
        return [parameter for parameter in self.get_parameters() if parameter.requires_grad]


def set_dump(target: Cell | Primitive, enabled: bool = True) -> None:
    """Mark a cell and all cells below it for a dump of ``dump_mode`` 2, or take the mark away.

    Marked are the operators of the cells, those of composite functions in them included, and those of their
    gradients. A later call for a cell or a `workbench.nn.Primitive` below counts for that one. Call it before the
    network is traced. Of a primitive its operators are marked, and those of their gradients. A sum of gradients is
    marked if all operators are whose gradients meet in it.
    Any other operator is marked by its name: ``simulate(..., set_dump=["Default/MatMul-op0"])``.

    Source: ``mindspore.tools.set_dump`` of MindSpore 2.10 and the graphs that it gives on a CPU
    (``tests/data/conformance/marks_2.10.0_cpu.json``).

    Raises
    ------
    GraphError
        The target is neither cell nor primitive, ``enabled`` no boolean, or the network is being traced.
    """
    if not isinstance(target, Cell | Primitive):
        raise GraphError("graph/mark-target", got=type(target).__name__)
    if not isinstance(enabled, bool):
        raise GraphError("graph/mark-enabled", got=enabled)
    if is_tracing():
        raise GraphError("graph/mark-late", cell=type(target).__name__)
    target.dumps = enabled
    for child in vars(target).values() if isinstance(target, Cell) else ():
        if isinstance(child, Cell | Primitive):
            set_dump(child, enabled)
