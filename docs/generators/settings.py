"""Settings and rules of each configuration surface: what ``workbench config explain`` prints, as one page."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING

from generators.markdown import code, page, prose, table
from workbench.config.form.settings import always, declared
from workbench.config.surface import SURFACES, get

if TYPE_CHECKING:
    from collections.abc import Callable

    from workbench.config.form.rules import Rule
    from workbench.config.form.settings import Setting

INTRODUCTION = """\
{title}, as {product} {version} reads it. `workbench config explain {name} KEY` prints one setting with its rules;
`workbench config new {name}` prints a minimal valid configuration. [How to use it](../../guide/configure.md)."""

RULES = """\
Checks beyond the type of each setting. *error*: refused by the vendor, with this code. *warning*: ignored or changed
silently, or refused later. *hint*: it works, with a known disadvantage."""


def settings_of(name: str) -> str:
    """Return the page of one surface."""
    surface = get(name)
    facts = {"name": name, "title": surface.title}
    facts |= {"product": surface.product, "version": surface.version}
    settings = [_setting(*row) for row in declared(surface.model)]
    rules = sorted((_rule(rule) for rule in surface.rules), key=lambda row: SEVERITIES[row[1]])
    return page(
        f"Settings of {name}",
        INTRODUCTION.format(**facts),
        "## Settings",
        table(("Setting", "Meaning", "Values", "Default", "Versions"), settings),
        "## Rules",
        RULES,
        table(("Rule", "Severity", "Code", "Problem", "What to do"), rules),
    )


SEVERITIES = {"error": 0, "warning": 1, "hint": 2}


def _setting(path: str, setting: Setting) -> tuple[str, ...]:
    default = list(setting.default) if isinstance(setting.default, tuple) else setting.default
    shown = "(required)" if setting.required is always else code(repr(default))
    versions = f"from {setting.since}" * bool(setting.since)
    return code(path), prose(setting.help), prose(setting.expected), shown, versions


def _rule(rule: Rule) -> tuple[str, ...]:
    return code(rule.id), rule.severity, code(rule.code), _words(rule.says), _words(rule.fix)


def _words(text: str) -> str:
    """A sentence whose values only a breach knows: their names are in italics."""
    return re.sub(r"\{(\w*)[^{}]*\}", lambda match: f"*{match[1] or 'value'}*", prose(text))


def pages() -> dict[str, Callable[[], str]]:
    """Return path → page of every surface."""
    return {f"reference/settings/{name}.md": partial(settings_of, name) for name in SURFACES}
