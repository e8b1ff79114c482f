"""Layer 2: dump configurations of each vendor: read, checked, explained, converted, lowered to a plan.

::

    form = wb.config.new("mindspore-o0o1")
    form = form.set("common_dump_settings.iteration", "0|5-8")
    form.check(wb.config.Context(version="2.6"))
    print(form.explain())
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from workbench.config.config import Config, Conversion, new, of
    from workbench.config.context import Context
    from workbench.config.files import load, read
    from workbench.config.schema import json_schema
    from workbench.config.surface import SURFACES, Surface, get

__all__ = [
    "SURFACES",
    "Config",
    "Context",
    "Conversion",
    "Surface",
    "get",
    "json_schema",
    "load",
    "new",
    "of",
    "read",
]

_MODULES = {
    "Context": "context",
    "json_schema": "schema",
    "Config": "config",
    "Conversion": "config",
    "SURFACES": "surface",
    "Surface": "surface",
    "get": "surface",
    "new": "config",
    "of": "config",
}


def __getattr__(name: str) -> Any:
    """Load a name when it is first used: nobody needs them all."""
    if name not in __all__:
        message = f"module 'workbench.config' has no attribute {name!r}; known: {__all__}"
        raise AttributeError(message)
    from importlib import import_module

    return getattr(import_module(f"workbench.config.{_MODULES.get(name, 'files')}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
