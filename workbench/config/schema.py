"""JSON Schema of a form, so that editors complete and check it while it is written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic_core import to_jsonable_python

from workbench.config.setting import adapter, always
from workbench.core.errors import ConfigError
from workbench.core.problems import Problem
from workbench.core.words import Message

if TYPE_CHECKING:
    from workbench.config.setting import Section
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
    sections = model.sections()
    required = []
    for key, info in model.model_fields.items():
        if key in sections:
            inner, many = sections[key]
            part = section_schema(inner)
            properties[key] = {"type": "array", "items": part} if many else part
            continue
        setting = model.settings()[key]
        entry = adapter(model, key).json_schema()
        described = Message("config/described", help=setting.help, expected=setting.expected)
        entry["description"] = str(described)
        if setting.required is always:
            required.append(key)
        elif info.default is not None:
            entry["default"] = to_jsonable_python(info.default)
        properties[key] = entry
    schema: dict[str, Any] = {"type": "object", "properties": properties}
    if required:
        schema["required"] = required
    if model.unknown == "error":
        schema["additionalProperties"] = False
    return schema
