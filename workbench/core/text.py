"""Text that nobody vouches for, made fit to be read: nothing in it is obeyed, hidden or turns its neighbours around.

Names, paths and lines of dumps, graphs and scripts may hold anything. What a person reads goes through this module
once, on its way out: command line, messages of errors and ``str()`` through `visible`, pages through `escape` and the
templates. Files for programs (JSON, CSV) hold the texts themselves.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

_HIDDEN = (
    "\x00-\x08\x0a-\x1f\x7f-\x9f\xad\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u180e\u200b-\u200f\u2028-\u202e"
    "\u2060-\u2064\u2066-\u206f\ud800-\udfff\ufeff\ufff9-\ufffb\U000110bd\U000110cd\U00013430-\U00013438"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0001\U000e0020-\U000e007f"
)
"""Unicode's controls, formats, surrogates, line and paragraph separators (Cc, Cf, Cs, Zl, Zp), but for the tab."""

_ALL = re.compile(f"[{_HIDDEN}]")
_WITHIN_LINES = re.compile(f"(?!\n)[{_HIDDEN}]")
_ESCAPABLE = re.compile(f"(?![\n\r])[{_HIDDEN}]")
_LONE = re.compile("[\ud800-\udfff]")
_RUN = re.compile(r"\S{1001,}")

LONG = 1000
"""Characters without a space that a page or terminal shows whole."""

_KEPT = 240


def visible(text: object) -> str:
    r"""Write out what would be invisible, obeyed by a terminal, or turn the text around.

    >>> visible("a" + chr(27) + "[31mb"), visible("x" + chr(0x202E) + "y\n")
    ('a\\x1b[31mb', 'x\\u202ey\\n')
    """
    shown = str(text)
    return shown if shown.isprintable() else _ALL.sub(_spelled, shown)


def visible_lines(text: object) -> str:
    """`visible` for a text of several lines, which stay lines."""
    shown = str(text)
    return shown if shown.isprintable() else _WITHIN_LINES.sub(_spelled, shown)


def readable(text: object) -> str:
    """`visible_lines`, with words of more than LONG characters cut."""
    return _cut(visible_lines(text))


def one_line(text: object) -> str:
    """`visible`, with words of more than LONG characters cut."""
    return _cut(visible(text))


def brief(name: object) -> str:
    """`visible`, cut above LONG characters."""
    shown = visible(name)
    return shown if len(shown) <= LONG else shorten(shown, _KEPT)


def editable(text: str) -> str:
    """Return a text for an input, which takes all but lone surrogates as it is: with one of them, `visible`."""
    return visible(text) if _LONE.search(text) else text


def escape(text: object) -> str:
    """`readable` for a page: as text or as an attribute between quotes."""
    from html import escape as escaped

    return escaped(readable(text))


def escape_whole(text: object) -> str:
    """`escape` for what is copied, such as code: nothing is cut."""
    from html import escape as escaped

    return escaped(visible_lines(text))


def json_visible(text: str) -> str:
    """Write the same JSON with escapes for what `visible` would write out; nothing is lost."""
    if text.replace("\n", "").isprintable():  # nearly always, and thirty times as fast
        return text
    return _ESCAPABLE.sub(lambda found: json_escape(found[0]), text)


NOT_FINITE = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
"""How numbers that are not finite stand in JSON, which has none of them, and in CSV."""


def json_number(value: float) -> float | str:
    """Return a number as JSON and CSV hold it: one that is not finite is a word of NOT_FINITE."""
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def json_escape(character: str) -> str:
    r"""Return ``\uXXXX``, two of them above U+FFFF."""
    units = character.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))


def shorten(text: str, width: int) -> str:
    """Cut the middle out of a text longer than ``width`` characters and leave an ellipsis; no more than that are left.

    Above LONG characters the ellipsis says how many are missing, if ``width`` has room for it.

    >>> shorten("abcdefgh", 5), shorten("x" * 10_000, 40)
    ('ab…gh', 'xxxxxxxxxxxx…[9,975 more]…xxxxxxxxxxxxx')
    """
    if len(text) <= width:
        return text
    mark, kept = "…", width - 1
    if len(text) > LONG and width >= 28:
        kept = width - len(f"…[{len(text):,} more]…")
        mark = f"…[{len(text) - kept:,} more]…"
    head = kept // 2
    return f"{text[:head]}{mark}{text[len(text) - (kept - head) :]}"


def plural(count: int, word: str) -> str:
    """Count things.

    >>> plural(1, "tensor"), plural(20000, "tensor")
    ('1 tensor', '20,000 tensors')
    """
    return f"{count:,} {word}" if count == 1 else f"{count:,} {word}s"


def _cut(text: str) -> str:
    return text if len(text) <= LONG else _RUN.sub(lambda run: shorten(run[0], _KEPT), text)


def _spelled(found: re.Match[str]) -> str:
    return found[0].encode("unicode_escape").decode("ascii")


def call_text(name: str, options: Mapping[str, Any]) -> str:
    """Return the call of a method, or nothing if there are no options to it."""
    return (
        f".{name}({', '.join(f'{key}={value!r}' for key, value in options.items())})"
        if options
        else ""
    )
