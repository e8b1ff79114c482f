"""Layer 2: dump configurations of each vendor: read, checked, explained, converted, lowered to a plan.

In: a vendor's form as file, text or data, and the `Context` that it is judged in.
Out: a `Config` that answers: problems, plan, words, code, the same on another surface.
Added here: a surface as a folder and a row of `SURFACES` (and of `workbench.core.writers.WRITERS`).

>>> from workbench.config import new
>>> form = new("mindspore-o0o1").set("common_dump_settings.iteration", "0|5-8")
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
