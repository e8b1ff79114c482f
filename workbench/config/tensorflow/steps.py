"""``dump_step`` as npu_bridge reads it: pieces joined by ``|``, a piece ``5`` or ``5-8``.

``checkDumpStep`` of ``npu_attrs.cc`` splits by ``getline``: a trailing separator is dropped, an empty
number counts as 0, an empty piece between separators is an error.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.core.plan import Iterations

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_PIECES = 100
LARGEST = 2**31 - 1


def _split(text: str, separator: str) -> list[str]:
    """Pieces of a text, without the empty one behind a trailing separator."""
    pieces = text.split(separator)
    return pieces[:-1] if pieces[-1] == "" else pieces


def _number(text: str) -> int:
    """``std::atoi`` on 64-bit Linux: ``strtol``, of which the low 32 bits are kept."""
    value = min(int(text or "0"), 2**63 - 1) if len(text) < 100 else 2**63 - 1
    return (value + 2**31) % 2**32 - 2**31


def step_fault(text: str) -> str:
    """Say what npu_bridge refuses: ``pieces``, ``format``, ``order``; empty if it takes the text.

    >>> [step_fault(text) for text in ("5|", "-5", "|5", "3-3")]
    ['', '', 'format', 'order']
    """
    pieces = _split(text, "|") if text else []
    if len(pieces) > MAX_PIECES:
        return "pieces"
    for piece in pieces:
        ends = _split(piece, "-")
        digits = all(end == "" or (end.isascii() and end.isdigit()) for end in ends)
        if not digits or len(ends) not in (1, 2):
            return "format"
        if len(ends) == 2 and _number(ends[0]) >= _number(ends[1]):
            return "order"
    return ""


def iterations_of(text: str) -> Iterations:
    """Return the iterations that an accepted text means; empty text means every one."""
    return Iterations(tuple(_ranges(text)) if text else None)


def _ranges(text: str) -> Iterator[tuple[int, int]]:
    for piece in _split(text, "|"):
        ends = [int(end[:20] or "0") for end in _split(piece, "-")]
        if ends:
            yield ends[0], ends[-1]


def step_text(iterations: Iterations) -> str | None:
    """Return the text that means the iterations, as far as 100 pieces go; None if it means none.

    >>> step_text(Iterations.parse("0|5-8|7-3"))
    '0|5-8'
    """
    if iterations.ranges is None:
        return ""
    ranges = [(a, min(b, LARGEST)) for a, b in iterations.ranges if a <= min(b, LARGEST)]
    if len(ranges) > MAX_PIECES:
        ranges = list(_merged(ranges))[:MAX_PIECES]
    return str(Iterations(tuple(ranges))) if ranges else None


def _merged(ranges: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Join ranges that touch."""
    low, high = None, -1
    for a, b in sorted(ranges):
        if low is not None and a <= high + 1:
            high = max(high, b)
            continue
        if low is not None:
            yield low, high
        low, high = a, b
    if low is not None:
        yield low, high
