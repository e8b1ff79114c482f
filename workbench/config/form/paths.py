"""Paths of settings inside a form: ``dump.dump_list[0].layer[1]``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from workbench.config.form.json_text import MAX_PATH
from workbench.core.errors import ConfigError
from workbench.core.problems import Problem
from workbench.core.words import Message

_PART = r"[^.\[\]]++(?:\[[0-9]{1,9}\])*+"
_PATH = re.compile(rf"{_PART}(?:\.{_PART}){{0,63}}+")
_STEP = re.compile(r"([^.\[\]]+)|\[([0-9]{1,9})\]")


def steps(path: str) -> list[str | int]:
    """Return keys and indices of a path.

    >>> steps("dump.dump_list[0].layer")
    ['dump', 'dump_list', 0, 'layer']
    """
    return [key or int(index) for key, index in _STEP.findall(path)]


def lookup(data: Any, path: str, default: Any = None) -> Any:
    """Value at a path, or ``default``; everything at the empty path."""
    if path and not _PATH.fullmatch(path):
        return default
    for step in steps(path):
        if isinstance(step, int):
            there = isinstance(data, list | tuple) and step < len(data)
        else:
            there = isinstance(data, Mapping) and step in data
        if not there:
            return default
        data = data[step]
    return data


def assign(data: Any, path: str, value: Any) -> Any:
    """Return a copy with a value at a path; missing objects are made, a list grows by one at most.

    Raises ConfigError if the path is none or leaves out elements of a list.
    """
    return _change(data, _way(path), path, lambda holder, step: _put(holder, step, value, path))


def delete(data: Any, path: str) -> Any:
    """Return a copy without the value at a path; raises ConfigError if the path is none."""
    way, missing = _way(path), object()
    if lookup(data, path, missing) is missing:
        return data

    def remove(holder: Any, step: str | int) -> None:
        del holder[step]

    return _change(data, way, path, remove)


def _way(path: str) -> list[str | int]:
    if not _PATH.fullmatch(path):
        raise ConfigError([Problem("path", "error", path, Message("config/path", got=path))])
    return steps(path)


def _change(data: Any, way: list[str | int], path: str, act: Any) -> Any:
    step = way[0]
    holder: Any
    if isinstance(step, int):
        holder = list(data) if isinstance(data, list | tuple) else []
    else:
        holder = dict(data) if isinstance(data, Mapping) else {}
    if len(way) == 1:
        act(holder, step)
    else:
        _put(holder, step, _change(_member(holder, step), way[1:], path, act), path)
    return holder


def _member(holder: Any, step: str | int) -> Any:
    """Member of an object or a list; ``None`` if it has none."""
    if isinstance(step, int):
        return holder[step] if step < len(holder) else None
    return holder.get(step)


def _put(holder: Any, step: str | int, value: Any, path: str) -> None:
    if isinstance(step, int) and step == len(holder):
        holder.append(value)
    elif isinstance(step, int) and step > len(holder):
        said = Message("config/path-index", path=path, index=step, length=len(holder))
        raise ConfigError([Problem("path", "error", path, said)])
    else:
        holder[step] = value


def place_of(lines: Mapping[str, int], path: str) -> int:
    """Line of a path, or of the innermost part of it that has one; 0 if none has."""
    path = path[:MAX_PATH]
    while path:
        if path in lines:
            return lines[path]
        path = path[: max(path.rfind("."), path.rfind("["), 0)]
    return 0
