"""Two dump trees, how they are to be read, and where they come from."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

from workbench.core.errors import WorkbenchError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

Number = int | tuple[int, int] | None


def _is_number(value: object) -> bool:
    given = value if isinstance(value, tuple) and len(value) == 2 else (value,)
    return value is None or all(type(number) is int and number >= 0 for number in given)


@dataclass(frozen=True, slots=True)
class Trees:
    """Arguments of `workbench.pipeline.compare.compare`; empty texts and ``None`` leave them out."""

    target: str = ""
    golden: str = ""
    target_graph: str = ""
    golden_graph: str = ""
    target_model: str = ""
    golden_model: str = ""
    rank: Number = None
    iteration: Number = None

    def __post_init__(self) -> None:
        """Refuse what no comparison could read; raises WorkbenchError."""
        for one in fields(self):
            value = getattr(self, one.name)
            if one.name in ("rank", "iteration"):
                fits, expected = (
                    _is_number(value),
                    "a whole number from 0, or two as (target, golden)",
                )
            else:
                fits, expected = isinstance(value, str), "text"
            if not fits:
                raise WorkbenchError(f"{one.name} must be {expected}, got {value!r}")

    @property
    def options(self) -> dict[str, object]:
        """What is given beside the trees themselves."""
        names = (one.name for one in fields(self)[2:])
        return {
            name: getattr(self, name) for name in names if getattr(self, name) not in ("", None)
        }

    @property
    def lacking(self) -> str:
        """Why nothing can be compared yet; empty if it can."""
        missing = [side for side in ("target", "golden") if not getattr(self, side)]
        return f"the {' and the '.join(missing)} tree must be chosen" if missing else ""


@dataclass(frozen=True, slots=True)
class TreePair:
    """Two trees to compare, as they were given or rehearsed: settings of the workbench may have changed since.

    ``arguments`` is the code of the workbench that has them, ``form`` the one that they were dumped by, under its
    heading; ``remove`` removes trees that nobody else has.
    """

    target: str | Path
    golden: str | Path
    arguments: list[str]
    options: Mapping[str, Any] = field(default_factory=dict)
    form: Mapping[str, str] = field(default_factory=dict)
    remove: Callable[[], object] | None = None

    def forget(self) -> None:
        """Remove the trees, if nobody else has them."""
        if self.remove is not None:
            self.remove()
