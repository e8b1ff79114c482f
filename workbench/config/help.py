"""Help on a surface: its settings and rules, from the same tables that the check uses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from workbench.config.setting import always
from workbench.core.errors import ConfigError
from workbench.core.problems import Problem
from workbench.core.words import Message

if TYPE_CHECKING:
    from collections.abc import Iterator

    from workbench.config.form.rules import Rule
    from workbench.config.setting import Section, Setting
    from workbench.config.surface import Surface


def declared(model: type[Section], path: str = "") -> Iterator[tuple[str, Setting, Any]]:
    """Yield path, declaration and default of every setting; a list of sections adds ``[]``."""
    prefix = f"{path}." if path else ""
    settings, sections = model.settings(), model.sections()
    for key, info in model.model_fields.items():
        if key in settings:
            yield prefix + key, settings[key], info.default
        elif key in sections:
            inner, many = sections[key]
            yield from declared(inner, prefix + key + ("[]" if many else ""))


def surface_help(surface: Surface, key: str = "") -> str:
    """Say what the settings of a surface are; of one alone everything, its rules included.

    ``key`` is a path or its last part; raises ConfigError if no setting is called so.
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
    found = [row for row in rows if key in (row[0], row[0].rpartition(".")[2])]
    if not found:
        said = Message("config/help-key", got=key, surface=surface.name)
        raise ConfigError([Problem("setting", "error", key, said)])
    return "\n".join(str(line) for row in found for line in _long(surface, *row))


def _short(path: str, setting: Setting, default: Any) -> Message:
    need = _need(setting, default)
    return Message("config/help-short", path=path, help=setting.help, need=need)


def _need(setting: Setting, default: Any) -> Message:
    if setting.required is always:
        return Message("config/help-required")
    plain = list(default) if isinstance(default, tuple) else default
    return Message("config/help-default", default=plain)


def _long(surface: Surface, path: str, setting: Setting, default: Any) -> Iterator[Message]:
    yield Message("config/help-setting", path=path, help=setting.help)
    yield Message("config/help-value", expected=setting.expected, bad=setting.bad)
    yield Message("config/help-line", line=_need(setting, default))
    if setting.since:
        yield Message("config/help-since", since=setting.since)
    yield Message("config/help-source", source=setting.source or surface.source)
    for rule in surface.rules:
        problem = _example_of(rule, path, surface)
        if problem is not None:
            yield Message(
                "config/help-rule",
                severity=rule.severity,
                rule=rule.id,
                said=problem.message,
                advice=problem.fix,
                source=rule.source,
            )


def _example_of(rule: Rule, path: str, surface: Surface) -> Problem | None:
    """What a rule says of its breaking example at a setting; ``None`` if it breaks it elsewhere."""
    from workbench.config.config import Config

    config = Config(surface, rule.breaks.form)
    context = config.context(rule.breaks.context)
    for problem in rule.problems(surface.reading(config.settings, context)):
        if path == "".join("[]" if part.isdigit() else part for part in _pieces(problem.path)):
            return problem
    return None


def _pieces(path: str) -> list[str]:
    return path.replace("[", "\0").replace("]", "\0").split("\0")
