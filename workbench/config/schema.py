"""JSON Schema of a form, so that editors complete and check it while it is written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from workbench.config.form.settings import Setting, always
from workbench.core.errors import ConfigError
from workbench.core.problems import Problem
from workbench.core.words import Message

if TYPE_CHECKING:
    from workbench.config.form.settings import Section
    from workbench.config.surface import Surface

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def json_schema(surface: Surface) -> dict[str, Any]:
    """Return the schema of a surface's form; raises ConfigError if the form is no JSON."""
    if surface.language != "json":
        said = Message("config/schema", surface=surface.name)
        raise ConfigError([Problem("schema", "error", "", said)])
    return {"$schema": DIALECT, "title": surface.title} | section_schema(surface.model)


def section_schema(model: type[Section]) -> dict[str, Any]:
    """Schema of one object: types, bounds, choices, defaults and help of its settings."""
    properties: dict[str, Any] = {}
    for key, one in model.fields.items():
        if isinstance(one, Setting):
            properties[key] = _setting_schema(one)
        else:
            part = section_schema(one.model)
            properties[key] = {"type": "array", "items": part} if one.many else part
    required = [key for key, one in model.settings().items() if one.required is always]
    schema: dict[str, Any] = {"type": "object", "properties": properties}
    if required:
        schema["required"] = required
    if model.unknown == "error":
        schema["additionalProperties"] = False
    return schema


def _setting_schema(setting: Setting) -> dict[str, Any]:
    described = Message("config/described", help=setting.help, expected=setting.expected)
    entry = {**dict(sorted(setting.kind.schema.items())), "description": str(described)}
    default = list(setting.default) if isinstance(setting.default, tuple) else setting.default
    if setting.required is not always and default is not None:
        entry["default"] = default
    return entry
