"""Pairs, groups and exceptions by hand, each step of which can be taken back."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import traitlets as T

from workbench.comparison.map_file import (
    NO_OVERRIDES,
    Ignore,
    Overrides,
    Tolerance,
    parse_overrides,
    read_overrides,
    save_overrides,
    to_data,
)
from workbench.core.errors import AlignError

if TYPE_CHECKING:
    from collections.abc import Iterable

Side = Literal["both", "target", "golden"]


class MapFile(T.HasTraits):
    """A map file in the making; ``overrides`` is what it says now.

    What a map file would refuse raises FormatError or AlignError and changes nothing.
    """

    overrides: Any = T.Instance(Overrides, ())

    def __init__(self, overrides: Overrides = NO_OVERRIDES) -> None:
        super().__init__(overrides=overrides)
        self._past: list[Overrides] = []
        self._future: list[Overrides] = []

    def match(self, target: list[str] | str, golden: list[str] | str) -> None:
        """Say that operators stand for the same computation: one to one, or groups of them."""
        self._take(self.overrides.match(_names(target), _names(golden)))

    def ignore(self, name: str, side: Side = "both", reason: str = "") -> None:
        """Leave operators out, by name or pattern."""
        self.ignore_all([(side, name)], reason)

    def ignore_all(self, entries: Iterable[tuple[Side, str]], reason: str = "") -> None:
        """Leave several operators out, each given by side and name; one step to take back."""
        made = (*self.overrides.ignore, *(Ignore(name, side, reason) for side, name in entries))
        self._change(ignore=tuple(dict.fromkeys(made)))

    def remove(self, number: int) -> None:
        """Take one entry out: matches count first, then what is ignored, then what is tolerated."""
        left = number
        for name in ("matches", "ignore", "tolerances"):
            found = getattr(self.overrides, name)
            if 0 <= left < len(found):
                kept = found[:left] + found[left + 1 :]
                self._change(**{name: kept})
                return
            left -= len(found)
        raise AlignError("ui/no-entry", got=number)

    def tolerate(
        self, relative_error: float, reason: str, name: str = "", op_type: str = ""
    ) -> None:
        """Tolerate an error of the outputs of some operators, and say why."""
        entry = Tolerance(relative_error, reason, name, op_type)
        self._change(tolerances=(*self.overrides.tolerances, entry))

    def open(self, path: str | Path) -> None:
        """Begin with what a map file says."""
        self._take(read_overrides(Path(path)))

    def save(self, path: str | Path) -> Path:
        """Write the map file."""
        return save_overrides(self.overrides, path)

    @property
    def can_undo(self) -> bool:
        """Whether there is a step to take back."""
        return bool(self._past)

    @property
    def can_redo(self) -> bool:
        """Whether there is a step that was taken back."""
        return bool(self._future)

    def undo(self) -> None:
        """Take the last step back; nothing happens without one."""
        if self._past:
            self._future.append(self.overrides)
            self.overrides = self._past.pop()

    def redo(self) -> None:
        """Do again what was taken back last."""
        if self._future:
            self._past.append(self.overrides)
            self.overrides = self._future.pop()

    def _change(self, **values: Any) -> None:
        """Say something else; no file says the same any more."""
        self._take(replace(self.overrides, **values, path=""))

    def _take(self, overrides: Overrides) -> None:
        parse_overrides(to_data(overrides))
        if overrides != self.overrides:
            self._past.append(self.overrides)
            self._future.clear()
            self.overrides = overrides


def _names(names: list[str] | str) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else tuple(names)
