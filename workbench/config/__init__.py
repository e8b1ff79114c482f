"""Layer 2: dump configurations of each vendor: read, checked, explained, converted, lowered to a plan.

In: a vendor's form as file, text or data, and the `Context` that it is judged in.
Out: a `Config` that answers: problems, plan, words, code, the same on another surface.
Added here: a surface as a folder and a row of `SURFACES` (and of `workbench.core.writers.WRITERS`).

>>> from workbench.config import new
>>> form = new("mindspore-o0o1").set("common_dump_settings.iteration", "0|5-8")
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench._doors import make_door

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

PLACES = {
    "SURFACES": "workbench.config.surface:SURFACES",
    "Config": "workbench.config.config:Config",
    "Context": "workbench.config.context:Context",
    "Conversion": "workbench.config.config:Conversion",
    "Surface": "workbench.config.surface:Surface",
    "get": "workbench.config.surface:get",
    "json_schema": "workbench.config.schema:json_schema",
    "load": "workbench.config.files:load",
    "new": "workbench.config.config:new",
    "of": "workbench.config.config:of",
    "read": "workbench.config.files:read",
}
"""What others import from here, by name; each is loaded when it is first used: nobody needs them all."""

__getattr__, __dir__ = make_door(__name__, PLACES)
