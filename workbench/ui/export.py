"""What the report is to hold."""

from __future__ import annotations

from dataclasses import dataclass

from workbench.show.report import SECTIONS


@dataclass(frozen=True, slots=True)
class Export:
    """Title, notes in plain text, sections, and operators that are told in full, by name."""

    title: str = ""
    notes: str = ""
    sections: tuple[str, ...] = tuple(SECTIONS)
    pins: tuple[str, ...] = ()
