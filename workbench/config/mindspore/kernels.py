"""The entries of ``kernels`` in a ``data_dump.json``: regular expression, full name or type.

Source: MindSpore ``dump_json_parser.cc``, which works on the JSON *text* of each entry: quotes and
blanks vanish, backslashes stay doubled, and a number is its digits.
"""

from __future__ import annotations

import contextlib
import json
import re
import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from workbench.config.mindspore.cpp_regex import to_python
from workbench.core.errors import FormatError
from workbench.core.plan import Selector

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_REGEX = "name-regex("
_SPECIAL = frozenset(".$*+?()[{|")
_TEXT = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), sort_keys=True)
_TEXT_UNSORTED = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=str)


def kernel_text(entry: Any) -> str:
    """Text that MindSpore makes of an entry.

    >>> kernel_text("Default/my net"), kernel_text(5), kernel_text("a[.]b")
    ('Default/mynet', '5', 'a[.]b')
    """
    try:
        text = _TEXT.encode(entry)
    except TypeError:  # keys of more than one kind, which no file holds
        text = _TEXT_UNSORTED.encode(entry)
    return text.replace('"', "").replace(" ", "")


def is_regex(text: str) -> bool:
    """Whether the text of an entry is a regular expression."""
    return text.startswith(_REGEX) and text.endswith(")") and len(text) > len(_REGEX)


def read_kernel(entry: Any) -> Selector | None:
    """Selector of an entry; ``None`` for an empty one. Raises FormatError for a bad expression.

    >>> [read_kernel(entry).kind for entry in ("name-regex(Default/fc.+)", "Conv2D-op1", "Conv2D")]
    ['regex', 'name', 'type']
    """
    text = kernel_text(entry)
    if not text:
        return None
    if is_regex(text):
        return Selector("regex", to_python(text[len(_REGEX) : -1]))
    return Selector("name" if "/" in text or "-op" in text else "type", text)


def read_kernels(entries: Iterable[Any]) -> tuple[Selector, ...]:
    """Selectors of a list: regular expressions first, then names, then types. None: everything."""
    order = ("regex", "name", "type")
    found = [selector for entry in entries if (selector := read_kernel(entry))]
    return tuple(sorted(dict.fromkeys(found), key=lambda selector: order.index(selector.kind)))


def for_ascendcl(selectors: Iterable[Selector], *, anywhere: bool) -> tuple[Selector, ...]:
    """Return what entries mean to AscendCL, which O2 hands them on to.

    AscendCL knows no types: it looks for an operator of that name. ``anywhere``: whether expressions
    are searched for in names, as MindSpore does up to 2.6, or match whole ones, as msprobe has it.

    >>> [found.text for found in for_ascendcl([Selector("regex", "fc[12]")], anywhere=True)]
    ['.*(?:fc[12]).*']
    """
    return tuple(_for_ascendcl(selector, anywhere) for selector in selectors)


def _for_ascendcl(selector: Selector, anywhere: bool) -> Selector:
    text = selector.text
    if selector.kind == "type":
        return replace(selector, kind="name")
    if selector.kind != "regex":
        return selector
    whole = _between_anchors(text)
    if whole is not None:
        return replace(selector, text=whole)
    searched = anywhere and not _begins_and_ends_freely(text)
    return replace(selector, text=f".*(?:{text}).*") if searched else selector


def ascendcl_entry(selector: Selector) -> str | None:
    """Entry by which AscendCL is told of a selector, whatever the release; ``None`` if none does.

    >>> [ascendcl_entry(Selector(kind, "MatMul")) for kind in ("name", "regex", "type")]
    ['MatMul', 'name-regex(^MatMul$)', None]
    """
    if selector.kind == "name":
        plain = selector.text and not is_regex(selector.text)
        spelled = (entry for entry in _spellings(selector) if kernel_text(entry) == selector.text)
        entry = next(spelled, None) if plain else None
        return entry or _anchored(write_kernel(selector))
    if selector.kind != "regex" or _begins_and_ends_freely(selector.text):
        return None if selector.kind == "type" else write_kernel(selector)
    text = selector.text
    if compiled(text) is None:
        return None
    return write_kernel(replace(selector, text=f"^(?:{text})$" if "|" in text else f"^{text}$"))


def _anchored(entry: str | None) -> str | None:
    """Return the expression for a name so that it matches the whole of it."""
    found = read_kernel(entry) if entry else None
    return ascendcl_entry(found) if found and found.kind == "regex" else None


def _between_anchors(text: str) -> str | None:
    """What stands between ``^`` and ``$``, if both hold for all of it."""
    if "|" in text:
        inner = text[4:-2]
        return inner if text == f"^(?:{inner})$" and compiled(inner) is not None else None
    inner = text[1:-1]
    return inner if text == f"^{inner}$" and not _escapes(inner) else None


def _begins_and_ends_freely(text: str) -> bool:
    """Whether an expression that matches part of a name matches all of it."""
    if "|" in text:
        inner = text[5:-3]
        return text == f".*(?:{inner}).*" and compiled(inner) is not None
    return text.startswith(".*") and text.endswith(".*") and not _escapes(text[:-2])


def compiled(text: str) -> re.Pattern[str] | None:
    """Return an expression ready to search with; ``None`` if it is none."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # "[[" may mean something else to a later Python
            return re.compile(text)
    except (re.error, OverflowError, RecursionError):
        return None


def _escapes(text: str) -> bool:
    """Whether a text ends in a backslash that belongs to what follows."""
    return (len(text) - len(text.rstrip("\\"))) % 2 == 1


def write_kernel(selector: Selector) -> str | None:
    """Entry that means a selector, or as nearly as can be said; ``None`` if none does.

    >>> write_kernel(Selector("name", "fc1.weight")), write_kernel(Selector("type", "Conv2D"))
    ('name-regex(fc1[.]weight)', 'Conv2D')
    """
    plain = replace(selector, model="")
    return next((entry for entry in _spellings(selector) if _means(entry, plain)), None) or next(
        (entry for entry in _escaped(selector) if _is_expression(entry)), None
    )


def _spellings(selector: Selector) -> Iterator[str]:
    """Entries whose text may be the selector's: a quote leaves one backslash, the rest leave two."""
    text = f"{_REGEX}{selector.text})" if selector.kind == "regex" else selector.text
    yield text
    with contextlib.suppress(ValueError):
        yield str(json.loads(f'"{text}"'))
    yield text.replace("\\", '"')
    if selector.kind == "regex":
        yield text.translate({ord("\\"): '"', ord('"'): '"x22'})


def _means(entry: str, selector: Selector) -> bool:
    try:
        return read_kernel(entry) == selector
    except FormatError:
        return False


def _is_expression(entry: str) -> bool:
    try:
        found = read_kernel(entry)
    except FormatError:
        return False
    return found is not None and found.kind == "regex"


def _escaped(selector: Selector) -> Iterator[str]:
    """A name without scope, as an expression, because alone it would be a type."""
    if selector.kind == "name" and selector.text:
        body = "".join(_escape(char) for char in selector.text)
        yield f"{_REGEX}{body})"


def _escape(char: str) -> str:
    """Write one character into an expression; a quote becomes a backslash there."""
    if char in "^\\":
        return f'"{char}' if char == "^" else '""'
    if char in _SPECIAL:
        return f"[{char}]"
    return (
        char if ("!" <= char <= "~" and char != '"') or ord(char) > 0x7F else f'"x{ord(char):02x}'
    )
