"""What a row of the operator table says."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from workbench.graph.infer import Call, nothing

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from workbench.core.tensors import TensorSpec

Engine = Literal["cube", "vector", "none"]


@dataclass(frozen=True, slots=True)
class OpDef:
    """One operator type.

    ``arguments`` are blank-separated names, tensors and settings alike. ``tensors`` counts the
    leading arguments that are tensors (-1: the first argument is a tuple of tensors); where
    settings stand between them ``places`` gives the positions. ``defaults`` gives settings that may
    be left out, attributes among them. ``engine`` is the unit that computes it: ``none`` only
    renames data. ``derived`` gives attributes that follow from the others and the shapes, as
    MindSpore writes them into its IR. ``writes`` are the positions of tensor arguments that it
    overwrites; with ``writes_if`` only where that setting is true.
    """

    names: str
    infer: Callable[[Call], tuple[TensorSpec, ...]]
    engine: Engine = "vector"
    tensors: int = 1
    defaults: Mapping[str, Any] = field(default_factory=dict)
    derived: Callable[[Call], Mapping[str, Any]] = nothing
    places: tuple[int, ...] = ()
    writes: tuple[int, ...] = ()
    writes_if: str = ""

    @property
    def arguments(self) -> tuple[str, ...]:
        """Names of the arguments, in order."""
        return tuple(self.names.split())

    @property
    def positions(self) -> tuple[int, ...]:
        """Positions of the arguments that are tensors, or a tuple of them."""
        return self.places or tuple(range(abs(self.tensors)))

    @property
    def settings(self) -> tuple[str, ...]:
        """Arguments that are no tensors, in order."""
        places = self.positions
        return tuple(name for i, name in enumerate(self.arguments) if i not in places)

    def named(self, values: Sequence[Any]) -> dict[str, Any]:
        """Settings by name, of operands that are no tensors; the last ones may be missing."""
        return dict(zip(self.settings, values, strict=False))
