"""Judge a configuration: the verdict of ``workbench config check``, as text and as JSON."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from workbench.core.problems import Problem
from workbench.core.words import Message

if TYPE_CHECKING:
    from workbench.config import Config, Context

SCHEMA = "workbench.config/1"
_LINE = re.compile(r":(\d+)(?::|$)")


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a vendor's reader would say to a form, and by which version that was judged."""

    surface: str
    product: str
    version: str
    problems: tuple[Problem, ...]

    @property
    def accepted(self) -> bool:
        """Whether no problem is an error."""
        return not any(problem.severity == "error" for problem in self.problems)

    @property
    def sentence(self) -> str:
        """Verdict and counts in one line."""
        counts = Counter(problem.severity for problem in self.problems)
        found = [
            Message(f"cli/check-{severity}s", count=counts[severity])
            for severity in ("error", "warning", "hint")
            if counts[severity]
        ]
        said = Message(
            "cli/check-accepted" if self.accepted else "cli/check-refused",
            product=self.product,
            version=self.version,
            surface=self.surface,
            found=found or [Message("cli/check-none")],
        )
        return str(said)

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form, schema ``workbench.config/1``."""
        return {
            "schema": SCHEMA,
            "surface": self.surface,
            "version": self.version,
            "accepted": self.accepted,
            "problems": [to_json(problem) for problem in self.problems],
        }


def to_json(problem: Problem) -> dict[str, Any]:
    """Return a problem as JSON values, its sentences made."""
    return asdict(problem) | {"message": str(problem.message), "fix": str(problem.fix)}


def judge(config: Config, context: Context | None = None) -> Verdict:
    """Check a form in a context."""
    context = config.context(context)
    surface = config.surface
    return Verdict(surface.name, surface.product, context.version, config.check(context))


def unreadable(error: Exception, surface: str = "", version: str = "") -> dict[str, Any]:
    """Return the JSON form for text that could not be decoded; its one problem says where."""
    first = str(error).partition("\n")[0]
    place = _LINE.search(getattr(error, "place", "") or first)
    code, product = "", ""
    if surface:
        from workbench.config import get

        row = get(surface)
        code, product = row.syntax_code, row.product
        version = version or row.version
    line = int(place[1]) if place else 0
    problem = Problem("unreadable", "error", "", first, line=line, code=code)
    return Verdict(surface, product, version, (problem,)).to_dict()
