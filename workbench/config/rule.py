"""Rules: what else must hold in a form, beyond the type of each setting. One table per surface.

A rule is a value: what it finds, what it says of it, how grave it is, what to do, where it is written,
and one form that breaks and one that keeps it; help and tests show the same two.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from workbench.config.context import Context
from workbench.config.setting import MANY, shown_path
from workbench.core.problems import Problem
from workbench.core.words import Message, RowMessage

if TYPE_CHECKING:
    from collections.abc import Iterator

    from workbench.core.problems import Severity

NOTHING = object()
"""What a breach ``got`` where a setting is absent."""


class Breach(NamedTuple):
    """Where a rule is broken, by what, and other values that its sentence names."""

    path: str
    got: Any = NOTHING
    values: Mapping[str, Any] = {}


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
    says, fix : str
        What is wrong, and what to do: sentences in the language of `workbench.core.words.render`. They name
        ``{path}``, its last part ``{key}``, ``{got}`` and the values of the breach; ``fix`` may be empty.
    source : str
        Document or code.
    breaks, keeps : Example
    code : str
        The vendor's own error code.
    """

    id: str
    severity: Severity
    find: Find
    says: str
    fix: str
    source: str
    breaks: Example
    keeps: Example
    code: str = ""

    def problems(self, reading: Any) -> Iterator[Problem]:
        """Yield a Problem for every breach, for the first `MANY`, and one that counts the others."""
        breaches = iter(self.find(reading.form, reading.context))
        last = None
        for breach in islice(breaches, MANY):
            last = Problem(
                self.id,
                self.severity,
                breach.path,
                *sentences(self.id, self.says, self.fix, breach),
                code=str(breach.values.get("code", self.code)),
                source=self.source,
            )
            yield last
        if last is not None and (others := sum(1 for _ in breaches)):
            yield replace(last, message=Message("config/more", count=others), fix="")


def sentences(id_: str, says: str, fix: str, breach: Breach) -> tuple[RowMessage, RowMessage | str]:
    """Return what a row says of a breach, and its advice; empty where it has none."""
    path = shown_path(breach.path)
    values = {"path": path, "key": path.rpartition(".")[2], **breach.values}
    if breach.got is not NOTHING:
        values["got"] = breach.got
    advice = RowMessage(id_, fix, **values) if fix else ""
    return RowMessage(id_, says, **values), advice
