"""The map file: what the user knows better than alignment. Read everywhere, reported in the result.

::

    {"pairs":  [{"target": "Default/b-Net/ReLU-op1", "golden": "Default/a-Net/ReLU-op0"}],
     "ignore": ["Default/debug-Print/Print-op0"]}

Names are full operator names of the IR, or file-side names where there is no IR.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from workbench.core.errors import AlignError, FormatError
from workbench.core.files import file_content

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

MAX_BYTES = 1 << 26
"""Largest file that is read."""

_KEYS = ("pairs", "ignore")


@dataclass(frozen=True, slots=True)
class Overrides:
    """Pairs of operators (target name → golden name) and operators to leave out."""

    pairs: Mapping[str, str] = field(default_factory=dict)
    ignore: frozenset[str] = frozenset()
    path: str = ""


NO_OVERRIDES = Overrides()


def read_overrides(path: Path) -> Overrides:
    """Read a map file; raises FormatError with its place if it is not one."""
    try:
        data = json.loads(file_content(path, MAX_BYTES, "map file"))
    except (ValueError, RecursionError) as error:
        message = f"{path}: map file must be JSON, got {error}"
        raise FormatError(message) from error
    if not isinstance(data, dict) or set(data) - set(_KEYS):
        unknown = sorted(set(data) - set(_KEYS)) if isinstance(data, dict) else type(data).__name__
        message = f"{path}: map file must be an object with {list(_KEYS)}, got {unknown!r}"
        raise FormatError(message)
    pairs = _pairs(data.get("pairs", []), path)
    ignore = data.get("ignore", [])
    if not isinstance(ignore, list) or not all(isinstance(name, str) for name in ignore):
        message = f"{path}: ignore must be a list of operator names, got {ignore!r}"
        raise FormatError(message)
    return Overrides(pairs, frozenset(ignore), str(path))


def _pairs(items: Any, path: Path) -> dict[str, str]:
    if not isinstance(items, list):
        message = f"{path}: pairs must be a list of {{target, golden}}, got {items!r}"
        raise FormatError(message)
    pairs: dict[str, str] = {}
    for number, item in enumerate(items):
        names = (item.get("target"), item.get("golden")) if isinstance(item, dict) else (None, None)
        if not all(isinstance(name, str) for name in names):
            message = (
                f"{path}: pairs[{number}] must be {{target: name, golden: name}}, got {item!r}"
            )
            raise FormatError(message)
        target, golden = str(names[0]), str(names[1])
        for word, name, taken in (("target", target, pairs), ("golden", golden, pairs.values())):
            if name in taken:
                message = f"{path}: pairs[{number}] must name a {word} once, got {name!r} again"
                raise AlignError(message)
        pairs[target] = golden
    return pairs
