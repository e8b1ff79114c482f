"""What the report is to hold."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from workbench.show.report import SECTIONS


@dataclass(frozen=True, slots=True)
class Export:
    """Title, notes in plain text, sections, and operators that are told in full, by name."""

    title: str = ""
    notes: str = ""
    sections: tuple[str, ...] = tuple(SECTIONS)
    pins: tuple[str, ...] = ()

    @property
    def options(self) -> dict[str, Any]:
        """Arguments of `Comparison.to_html` that are not its defaults."""
        default = Export()
        found = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: value for name, value in found.items() if value != getattr(default, name)}
