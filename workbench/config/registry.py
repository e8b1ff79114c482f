"""The table of surfaces."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from workbench.core.errors import ConfigError
from workbench.core.problems import Problem
from workbench.core.words import Message

if TYPE_CHECKING:
    from workbench.config.surface import Surface

HOMES = {
    "mindspore-o0o1": ("workbench.config.mindspore.surfaces", "O0O1"),
    "mindspore-o2": ("workbench.config.mindspore.surfaces", "O2"),
    "mindspore-cpu": ("workbench.config.mindspore.surfaces", "CPU"),
    "mindspore-gpu": ("workbench.config.mindspore.surfaces", "GPU"),
    "mindspore-ge": ("workbench.config.mindspore.surfaces", "GE"),
    "tensorflow": ("workbench.config.tensorflow.surface", "TENSORFLOW"),
    "torchair": ("workbench.config.torchair.surface", "TORCHAIR"),
    "acl": ("workbench.config.acl.surface", "ACL"),
}
"""Where each surface is written; the order is that of recognition."""


def get(name: str) -> Surface:
    """Return a surface; raises ConfigError for an unknown name."""
    if name not in HOMES:
        said = Message("core/choice", subject="surface", got=name, known=list(HOMES))
        raise ConfigError([Problem("surface", "error", "", said)])
    module, attribute = HOMES[name]
    surface: Surface = getattr(import_module(module), attribute)
    return surface
