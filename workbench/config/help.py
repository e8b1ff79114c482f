"""Help on a surface: its settings and rules, from the same tables that the check uses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from workbench.config.setting import always
from workbench.core.errors import ConfigError
from workbench.core.problems import Problem

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from workbench.config.rule import Rule
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
        head = f"{surface.title} (as {surface.product} {surface.version} reads it)"
        return "\n".join([head, *(_short(*row) for row in rows)])
    found = [row for row in rows if key in (row[0], row[0].rpartition(".")[2])]
    if not found:
        known = [path.rpartition(".")[2] for path, _, _ in rows]
        message = f"setting must be one of {known}, got {key!r}"
        raise ConfigError([Problem("setting", "error", key, message)])
    return "\n".join(line for row in found for line in _long(surface, *row))


def _short(path: str, setting: Setting, default: Any) -> str:
    need = "required" if setting.required is always else f"default {_plain(default)}"
    return f"  {path}: {setting.help} [{need}]"


def _long(surface: Surface, path: str, setting: Setting, default: Any) -> Iterator[str]:
    yield f"{path}: {setting.help}"
    yield f"  must be {setting.expected}; for example not {setting.bad!r}"
    need = "  required" if setting.required is always else f"  default {_plain(default)}"
    yield need
    if setting.since or setting.until:
        until = f" until {setting.until}" if setting.until else ""
        yield f"  read since {setting.since or 'ever'}{until}"
    yield f"  source: {setting.source or surface.source}"
    for rule in surface.rules:
        words = _words_on(path, rule, surface)
        if words is not None:
            must, fix = rule.must.format(**words), rule.fix.format(**words)
            yield f"  {rule.severity} [{rule.id}] must {must}; {fix} ({rule.source})"


def _words_on(path: str, rule: Rule, surface: Surface) -> Mapping[str, Any] | None:
    """Words of a rule where its breaking example breaks it at a setting; ``None`` if it does not."""
    from workbench.config.config import Config

    config = Config(surface, rule.breaks.form)
    context = config.context(rule.breaks.context)
    for breach in rule.find(config.settings, context):
        if path == "".join("[]" if part.isdigit() else part for part in _pieces(breach.path)):
            return breach.words
    return None


def _pieces(path: str) -> list[str]:
    return path.replace("[", "\0").replace("]", "\0").split("\0")


def _plain(value: Any) -> str:
    return repr(list(value) if isinstance(value, tuple) else value)
