"""The verdict of ``workbench config check``, as a sentence and as JSON, schema ``workbench.config/1``."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from workbench.config.context import GUIDE
from workbench.core.problems import Problem
from workbench.core.words import Message

if TYPE_CHECKING:
    from collections.abc import Iterable

    from workbench.config.judge import Judged
    from workbench.core.errors import FormatError

SCHEMA = "workbench.config/1"


def verdict_message(judged: Judged) -> Message:
    """Say whether the vendor accepts the form, by which version, and how many problems there are."""
    counts = Counter(problem.severity for problem in judged.problems)
    found = [
        Message(f"cli/check-{severity}s", count=counts[severity])
        for severity in ("error", "warning", "hint")
        if counts[severity]
    ]
    return Message(
        "cli/check-accepted" if judged.accepted else "cli/check-refused",
        product=judged.surface.product,
        version=GUIDE if judged.context.guide else judged.context.version,
        surface=judged.surface.name,
        found=found or [Message("cli/check-none")],
    )


def verdict_json(judged: Judged) -> dict[str, Any]:
    """Return the JSON values of a form that could be read."""
    surface, context = judged.surface.name, judged.context
    version = GUIDE if context.guide else context.version
    return _json(surface, version, judged.problems, accepted=judged.accepted)


def unreadable_json(error: FormatError, surface: str = "", version: str = "") -> dict[str, Any]:
    """Return the JSON values of text that could not be decoded; its one problem says where."""
    code = ""
    if surface:
        from workbench.config import get

        row = get(surface)
        code, version = row.syntax_code, version or row.version
    line = error.place.rpartition(":")[2]
    said, number = str(error).partition("\n")[0], int(line) if line.isdecimal() else 0
    problem = Problem("unreadable", "error", "", said, line=number, code=code)
    return _json(surface, version, [problem], accepted=False)


def _json(
    surface: str, version: str, problems: Iterable[Problem], *, accepted: bool
) -> dict[str, Any]:
    shown = [asdict(one) | {"message": str(one.message), "fix": str(one.fix)} for one in problems]
    values = {"surface": surface, "version": version, "accepted": accepted, "problems": shown}
    return {"schema": SCHEMA, **values}
