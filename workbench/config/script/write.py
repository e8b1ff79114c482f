"""Values as Python source."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from workbench.config.form.settings import RuntimeValue


def expression(value: Any, text: Callable[[str], str] = repr) -> str:
    """Python source of a value; ``text`` writes text. What only a run knows keeps its own words, if they are Python."""
    if not isinstance(value, RuntimeValue):
        return text(value) if isinstance(value, str) else repr(value)
    try:
        ast.parse(str(value), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return text(str(value))
    return f"({value})" if "\n" in value else str(value)


def double_quoted(text: str) -> str:
    """Text in double quotes, where it needs no escapes."""
    plain = text.isprintable() and not set(text) & set('"\\')
    return f'"{text}"' if plain else repr(text)
