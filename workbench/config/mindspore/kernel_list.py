"""The entries of ``kernels`` in a ``data_dump.json``: regular expression, full name or type.

Source: MindSpore r2.7 ``dump_json_parser.cc``, which works on the JSON *text* of each entry: quotes
and blanks vanish, backslashes stay doubled, and a number is its digits.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from workbench.core.plan import Selector

if TYPE_CHECKING:
    from collections.abc import Iterable

_REGEX = "name-regex("


def kernel_text(entry: Any) -> str:
    """Text that MindSpore makes of an entry.

    >>> kernel_text("Default/my net"), kernel_text(5), kernel_text("a[.]b")
    ('Default/mynet', '5', 'a[.]b')
    """
    text = json.dumps(entry, ensure_ascii=False, separators=(",", ":"))
    return text.replace('"', "").replace(" ", "")


def read_kernel(entry: Any) -> Selector | None:
    """Selector of an entry; ``None`` for an empty one.

    >>> [read_kernel(entry).kind for entry in ("name-regex(Default/fc.+)", "Conv2D-op1", "Conv2D")]
    ['regex', 'name', 'type']
    """
    text = kernel_text(entry)
    if not text:
        return None
    if text.startswith(_REGEX) and text.endswith(")"):
        return Selector("regex", text[len(_REGEX) : -1])
    return Selector("name" if "/" in text or "-op" in text else "type", text)


def read_kernels(entries: Iterable[Any]) -> tuple[Selector, ...]:
    """Selectors of a list: regular expressions first, then names, then types. None: everything."""
    order = ("regex", "name", "type")
    found = [selector for entry in entries if (selector := read_kernel(entry))]
    return tuple(sorted(found, key=lambda selector: order.index(selector.kind)))
