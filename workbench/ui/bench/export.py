"""What the report is to hold."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, NoReturn

from workbench.core.errors import WorkbenchError
from workbench.core.words import Message
from workbench.show.look.checked import TEXT, texts
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
                _refuse(name, TEXT, getattr(self, name))
        if not texts(self.pins):
            _refuse("pins", Message("ui/expected-names"), self.pins)
        if not texts(self.sections) or set(self.sections) - set(SECTIONS):
            _refuse("sections", Message("show/expected-some", known=list(SECTIONS)), self.sections)

    @property
    def options(self) -> dict[str, Any]:
        """Arguments of `Comparison.to_html` that are not its defaults."""
        default = Export()
        found = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: value for name, value in found.items() if value != getattr(default, name)}


def _refuse(name: str, expected: Message, got: object) -> NoReturn:
    raise WorkbenchError("show/setting", name=name, expected=expected, got=got)
