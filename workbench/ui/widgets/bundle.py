"""What stays of a widget in a notebook that is read without a kernel: the answer as static HTML."""

from __future__ import annotations

from typing import Any


def with_html(bundle: Any, item: Any) -> dict[str, Any]:
    """Return what a widget shows of itself, with text and HTML of the plain object behind it."""
    shown = bundle[0] if isinstance(bundle, tuple) else bundle
    return {**(shown or {}), "text/plain": repr(item), "text/html": item._repr_html_()}
