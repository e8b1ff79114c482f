"""What the report is to hold."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from workbench.core.errors import WorkbenchError
from workbench.show.checked import texts
from workbench.show.report import SECTIONS


@dataclass(frozen=True, slots=True)
class Export:
    """Title, notes in plain text, sections, and operators that are told in full, by name."""

    title: str = ""
    notes: str = ""
    sections: tuple[str, ...] = tuple(SECTIONS)
    pins: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Refuse what no report could hold; raises WorkbenchError."""
        for name in ("title", "notes"):
            if not isinstance(getattr(self, name), str):
                raise WorkbenchError(f"{name} must be text, got {getattr(self, name)!r}")
        if not texts(self.pins):
            raise WorkbenchError(f"pins must be a tuple of names, got {self.pins!r}")
        if not texts(self.sections) or set(self.sections) - set(SECTIONS):
            raise WorkbenchError(
                f"sections must be some of {list(SECTIONS)}, got {self.sections!r}"
            )

    @property
    def options(self) -> dict[str, Any]:
        """Arguments of `Comparison.to_html` that are not its defaults."""
        default = Export()
        found = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: value for name, value in found.items() if value != getattr(default, name)}
