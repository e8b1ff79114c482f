"""Forms for the examples of the rules: a dump that passes, with some settings changed."""

from __future__ import annotations

from typing import Any

from workbench.config.context import Context
from workbench.config.form.rules import Example

ABSENT: Any = object()
"""What a setting is changed to in order to remove it."""

LIST = [{"model_name": "m"}]
NEWEST = Context("9.2")
OLD = Context("8.0")
HERE = Context(here=True)


def data(context: Context | None = None, **change: Any) -> Example:
    """Dump of model ``m`` with settings changed."""
    return _example({"dump_path": "d", "dump_list": LIST}, context, change)


def item(**settings: Any) -> Example:
    """Dump with one entry in its list and, except for a watch, level ``op``."""
    return data(dump_list=[settings], dump_level="op")


def scene(
    name: str = "aic_err_brief_dump", context: Context | None = None, **change: Any
) -> Example:
    """Dump with a scene and settings changed."""
    return _example({"dump_scene": name, "dump_path": "d"}, context, change)


def watch(context: Context | None = None, **change: Any) -> Example:
    """Watch of one operator with settings changed."""
    nodes = [{"layer": ["A"], "watcher_nodes": ["C"]}]
    return scene("watcher", context, **{"dump_list": nodes} | change)


def debug(**change: Any) -> Example:
    """Overflow dump with settings changed."""
    return _example({"dump_path": "d", "dump_debug": "on"}, None, change)


def _example(dump: dict[str, Any], context: Context | None, change: dict[str, Any]) -> Example:
    kept = {key: value for key, value in (dump | change).items() if value is not ABSENT}
    return Example({"dump": kept}, context or Context())
