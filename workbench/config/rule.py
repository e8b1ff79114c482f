"""Rules: what else must hold in a form, beyond the type of each setting. One table per surface.

A rule is a value: what it demands, how grave a breach is, what to do, where it is written, and one
form that breaks and one that keeps it; help and tests show the same two.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from workbench.config.context import Context
from workbench.config.setting import shorten
from workbench.core.problems import Problem

if TYPE_CHECKING:
    from collections.abc import Iterator

    from workbench.core.problems import Severity

NOTHING = object()
"""What a breach ``got`` where a setting is absent."""


class Breach(NamedTuple):
    """Where a rule is broken, by what, and words that complete its text."""

    path: str
    got: Any = NOTHING
    words: Mapping[str, Any] = {}


Find = Callable[[Any, Context], Iterable[Breach]]
"""Breaches of a typed form (the surface's root section) in a context."""


@dataclass(frozen=True, slots=True)
class Example:
    """A form, as decoded, and the context it is judged in."""

    form: Any
    context: Context = field(default_factory=Context)


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule of a surface.

    Attributes
    ----------
    id : str
        Stable name (``iteration-void``).
    severity : {"error", "warning", "hint"}
        error: the vendor's reader of this form refuses; warning: ignored, changed, or refused by a
        later component; hint: it will hurt.
    find : function
        Yields the breaches.
    must, fix : str
        Complete ``<path> must … , got …; <fix>``; ``{words}`` come from the breach.
    source : str
        Document or code.
    breaks, keeps : Example
    code : str
        The vendor's own error code.
    """

    id: str
    severity: Severity
    find: Find
    must: str
    fix: str
    source: str
    breaks: Example
    keeps: Example
    code: str = ""

    def problems(self, settings: Any, context: Context) -> Iterator[Problem]:
        """Yield a Problem for every breach."""
        for breach in self.find(settings, context):
            got = "nothing" if breach.got is NOTHING else shorten(breach.got)
            message = f"{breach.path} must {self.must.format(**breach.words)}, got {got}"
            yield Problem(
                self.id,
                self.severity,
                breach.path,
                message.strip(),
                self.fix.format(**breach.words),
                code=str(breach.words.get("code", self.code)),
                source=self.source,
            )
