"""Problems: what a rule returns. Rules never raise; `require` raises what they found, all at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from workbench.core.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from workbench.core.words import Message

Severity = Literal["error", "warning", "hint"]


@dataclass(frozen=True, slots=True)
class Problem:
    """One breach of one rule.

    ``path`` names the setting (``common_dump_settings.iteration``), ``message`` what is wrong with it and ``fix``
    what to do, ``line`` its 1-based line in the file (0: unknown), ``code`` the vendor's own error code and
    ``source`` the document or code that the rule comes from.
    """

    id: str
    severity: Severity
    path: str
    message: str | Message
    fix: str | Message = ""
    line: int = 0
    code: str = ""
    source: str = ""

    def __str__(self) -> str:
        return f"{self.message}. {self.fix}" if self.fix else str(self.message)


def require(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """Return the problems that are not errors; raise ConfigError with all of them if any is one."""
    found = tuple(problems)
    if any(problem.severity == "error" for problem in found):
        raise ConfigError([problem for problem in found if problem.severity == "error"])
    return found
