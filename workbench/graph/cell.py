"""`Cell`: a network or a layer, MindSpore's way. Subclasses write `construct`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from workbench.core.errors import GraphError
from workbench.graph.tensor import Parameter, Tensor, recorder

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

    def construct(self, *inputs: Any) -> Any:
        """Compute the outputs from the inputs; every subclass writes its own."""
        message = f"{type(self).__name__} must define construct(self, ...), got none"
        raise GraphError(message)

    def __call__(self, *inputs: Any) -> Any:
        with recorder(type(self).__name__).within(self):
            return self.construct(*self.taken(inputs))

    def to_float(self, dst_type: Any) -> Self:
        """Compute in another float dtype: inputs and weights are cast where the cell reads them.

        Holds for this cell and all below it; returns the cell.
        """
        name = dst_type if isinstance(dst_type, str) else np.dtype(dst_type).name
        if name not in _FLOATS:
            message = f"dtype of to_float must be one of {list(_FLOATS)}, got {name!r}"
            raise GraphError(message)
        self.float_dtype = name
        for _, child in self.cells():
            child.to_float(name)
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

    def parameters(self, prefix: str = "") -> Iterator[tuple[str, Parameter]]:
        """All weights with their full names, depth first in order of attributes."""
        for name, parameter in self.own_parameters():
            yield f"{prefix}{parameter.name or name}", parameter
        for name, child in self.cells():
            yield from child.parameters(f"{prefix}{name}.")
