"""Forms for the examples of rules."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from workbench.config.context import Context
from workbench.config.form.rules import Example

if TYPE_CHECKING:
    from collections.abc import Mapping


def make(change: Mapping[str, Any] | None = None, **context: Any) -> Example:
    """Return a form that dumps, with settings changed by path, and its context."""
    form: dict[str, Any] = {
        "script": {"interface": "session", "porting": "automated"},
        "dump": {"enable_dump": True, "dump_path": "/d", "dump_step": "0"},
        "environment": {"DUMP_GE_GRAPH": "2"},
    }
    for path, value in (change or {}).items():
        section, _, key = path.partition(".")
        form[section] = {**form.get(section, {}), key: value}
    return Example(form, Context(**context))
