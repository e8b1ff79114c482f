"""`Cell`: a network or a layer, MindSpore's way. Subclasses write `construct`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from workbench.core.errors import GraphError
from workbench.graph.tensor import Parameter, recorder

if TYPE_CHECKING:
    from collections.abc import Iterator


class Cell:
    """A part of a network. Cells and parameters set as attributes become its parts, in order.

    The attribute's name and the class make the scope of its operators (``conv1-Conv2d``) and the
    names of its weights (``conv1.weight``).
    """

    def construct(self, *inputs: Any) -> Any:
        """Compute the outputs from the inputs; every subclass writes its own."""
        message = f"{type(self).__name__} must define construct(self, ...), got none"
        raise GraphError(message)

    def __call__(self, *inputs: Any) -> Any:
        with recorder(type(self).__name__).within(self):
            return self.construct(*inputs)

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
