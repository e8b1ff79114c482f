"""The errors of the workbench.

::

    WorkbenchError
    ├── ConfigError    a dump configuration breaks a rule (carries its problems)
    ├── GraphError     a graph cannot be traced, ordered or executed
    ├── FormatError    bytes, text or names break their format (the message starts with the place)
    └── AlignError     golden and target cannot be paired at all

Every message reads ``<subject> must be <expected>, got <value!r>; <fix>``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from workbench.core.text import readable

if TYPE_CHECKING:
    from collections.abc import Iterable


class WorkbenchError(Exception):
    """Anything the workbench refuses; its text is meant for the user, so that no name in it is obeyed or hidden."""

    def __str__(self) -> str:
        return readable(super().__str__())


class ConfigError(WorkbenchError):
    """A dump configuration breaks at least one rule.

    ``problems`` are the breaches, each a `workbench.core.problems.Problem`.
    """

    def __init__(self, problems: Iterable[Any]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems))


class GraphError(WorkbenchError):
    """A graph cannot be traced, ordered or executed."""


class FormatError(WorkbenchError):
    """Bytes, text or a name break their format; the message starts with the place."""


class AlignError(WorkbenchError):
    """Golden and target cannot be paired at all."""
