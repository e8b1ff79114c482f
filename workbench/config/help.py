"""Help on a surface: its settings and rules, from the same tables that the check uses."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from workbench.config.form.settings import always, declared
from workbench.core.errors import ConfigError
from workbench.core.problems import Problem
from workbench.core.words import Message

if TYPE_CHECKING:
    from collections.abc import Iterator

    from workbench.config.form.rules import Rule
    from workbench.config.form.settings import Setting
    from workbench.config.surface import Surface

_INDEX = re.compile(r"\[[0-9]+\]")


def places(surface: Surface) -> dict[str, list[tuple[str, Setting]]]:
    """Return what help knows beside settings: sections, each with its own settings, and what a form is judged by."""
    settings = list(declared(surface.model))
    found: dict[str, list[tuple[str, Setting]]] = {}
    for row in settings:
        if section := row[0].rpartition(".")[0]:
            found.setdefault(section, []).append(row)
    known = {path.removesuffix("[]") for path in (*(row[0] for row in settings), *found)}
    for path in (path for rule in surface.rules for path in rule.looks_at()):
        if path.removesuffix("[]") not in known:
            found.setdefault(path, [])
    return found


def surface_help(surface: Surface, key: str = "") -> str:
    """Say what the settings of a surface are; of one alone everything, its rules included.

    ``key`` is a setting, a section or a variable of the environment, by its path or the last part of it; raises
    ConfigError if nothing is called so.
    """
    rows = list(declared(surface.model))
    if not key:
        head = Message(
            "config/help-head",
            title=surface.title,
            product=surface.product,
            version=surface.version,
        )
        return "\n".join(map(str, [head, *(_short(*row) for row in rows)]))
    lines: list[Message | str] = [
        line for row in rows if _is_called(row[0], key) for line in _long(surface, *row)
    ]
    if not lines:
        for path, inner in places(surface).items():
            if _is_called(path, key):
                lines += [path, *(_short(*row) for row in inner), *_rules(surface, path)]
    if not lines:
        said = Message("config/help-key", got=key, surface=surface.name)
        raise ConfigError([Problem("setting", "error", key, said)])
    return "\n".join(map(str, lines))


def _is_called(path: str, key: str) -> bool:
    plain = path.removesuffix("[]")
    return key.removesuffix("[]") in (plain, plain.rpartition(".")[2])


def _short(path: str, setting: Setting) -> Message:
    need = _need(setting)
    return Message("config/help-short", path=path, help=setting.help, need=need)


def _need(setting: Setting) -> Message:
    if setting.required is always:
        return Message("config/help-required")
    default = setting.default
    plain = list(default) if isinstance(default, tuple) else default
    return Message("config/help-default", default=plain)


def _long(surface: Surface, path: str, setting: Setting) -> Iterator[Message]:
    yield Message("config/help-setting", path=path, help=setting.help)
    yield Message("config/help-value", expected=setting.expected, bad=setting.misfit)
    yield Message("config/help-line", line=_need(setting))
    if setting.since:
        yield Message("config/help-since", since=setting.since)
    yield Message("config/help-source", source=setting.source or surface.source)
    yield from _rules(surface, path)


def _rules(surface: Surface, path: str) -> Iterator[Message]:
    """Yield every rule that looks at a place."""
    for rule in surface.rules:
        if path.removesuffix("[]") in {place.removesuffix("[]") for place in rule.looks_at()}:
            said, advice = _words_at(surface, rule, path)
            yield Message(
                "config/help-rule",
                severity=rule.severity,
                rule=rule.id,
                said=said,
                advice=advice,
                source=rule.source,
            )


def _words_at(surface: Surface, rule: Rule, path: str) -> tuple[Any, Any]:
    """Return what a rule says of its breaking example, as if that broke it at a place."""
    from workbench.config.config import of_example

    problems = of_example(surface, rule.breaks).check(rule.breaks.context)
    broken = [problem for problem in problems if problem.id == rule.id]
    wanted = path.removesuffix("[]")
    for problem in broken:
        if _INDEX.sub("[]", problem.path).removesuffix("[]") == wanted:
            return problem.message, problem.fix
    said: Any = broken[0].message
    if rule.about:  # of a text, whose sentences speak of the setting of the example
        return said, broken[0].fix
    values = {name: value for name, value in said.values.items() if name not in ("path", "key")}
    return rule.sentences(path.replace("[]", "[0]"), values)
