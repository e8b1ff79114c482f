"""Texts of iterations in the graph engine's forms: numbers and ranges joined by ``|``, at most 100 pieces.

Three readers take them: GE itself (``dump_properties.cc``), npu_bridge before it (``checkDumpStep`` of
``npu_attrs.cc``) and adump for ``acl.json``. Each forgives something else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.core.plan import Iterations

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

MAX_PIECES = 100

LARGEST = 2**31 - 1
"""Largest number of GE and npu_bridge."""

LARGEST_OF_ADUMP = 2**63 - 1


def ge_fault(text: str) -> str:
    """Name what GE refuses of ``dumpStep``: ``pieces``, ``numbers``, ``order``; empty if it is fine.

    >>> ge_fault("0|5-8"), ge_fault("3-3")
    ('', 'order')
    """
    pieces = text.split("|") if text else []
    if len(pieces) > MAX_PIECES:
        return "pieces"
    for piece in pieces:
        ends = piece.split("-")
        if len(ends) > 2 or not all(map(_is_ge_step, ends)):
            return "numbers"
        if len(ends) == 2 and adump_number(ends[0]) >= adump_number(ends[1]):
            return "order"
    return ""


def _is_ge_step(text: str) -> bool:
    return text.isascii() and text.isdigit() and adump_number(text) <= LARGEST


def bridge_fault(text: str) -> str:
    """Name what npu_bridge refuses: ``pieces``, ``format``, ``order``; empty if it takes the text.

    It splits by ``getline``: a trailing separator is dropped, an empty number counts as 0, an empty piece between
    separators is an error.

    >>> [bridge_fault(text) for text in ("5|", "-5", "|5", "3-3")]
    ['', '', 'format', 'order']
    """
    pieces = _getline(text, "|") if text else []
    if len(pieces) > MAX_PIECES:
        return "pieces"
    for piece in pieces:
        ends = _getline(piece, "-")
        digits = all(end == "" or (end.isascii() and end.isdigit()) for end in ends)
        if not digits or len(ends) not in (1, 2):
            return "format"
        if len(ends) == 2 and _atoi(ends[0]) >= _atoi(ends[1]):
            return "order"
    return ""


def _getline(text: str, separator: str) -> list[str]:
    """Pieces of a text, without the empty one behind a trailing separator."""
    pieces = text.split(separator)
    return pieces[:-1] if pieces[-1] == "" else pieces


def _atoi(text: str) -> int:
    """``std::atoi`` on 64-bit Linux: ``strtol``, of which the low 32 bits are kept."""
    return (adump_number(text) + 2**31) % 2**32 - 2**31


def bridge_iterations(text: str) -> Iterations:
    """Return the iterations that a text means which npu_bridge takes; empty text means every one."""
    return Iterations(tuple(_bridge_ranges(text)) if text else None)


def _bridge_ranges(text: str) -> Iterator[tuple[int, int]]:
    for piece in _getline(text, "|"):
        ends = [int(end[:20] or "0") for end in _getline(piece, "-")]
        if ends:
            yield ends[0], ends[-1]


def adump_pieces(text: str) -> Iterator[tuple[str, str]]:
    """Yield the pieces of adump's ``dump_step``, each with its fault: ``parts``, ``digits``, ``order`` or none."""
    for piece in text.split("|") if text else ():
        ends = piece.split("-")
        if len(ends) > 2:
            yield piece, "parts"
        elif not all(end.isascii() and end.isdigit() for end in ends):
            yield piece, "digits"
        elif adump_number(ends[0]) > adump_number(ends[-1]):
            yield piece, "order"
        else:
            yield piece, ""


def adump_number(digits: str) -> int:
    """Value of digits as a 64-bit conversion gives it: too large ones are the largest, none are 0."""
    significant = digits.lstrip("0")
    long = len(significant) > 19
    return LARGEST_OF_ADUMP if long else min(int(significant or "0"), LARGEST_OF_ADUMP)


def adump_iterations(text: str) -> Iterations:
    """Return the executions that adump reads; empty text means every one, a piece with a fault none."""
    if not text:
        return Iterations()
    good = (piece.split("-") for piece, fault in adump_pieces(text) if not fault)
    return Iterations(tuple((adump_number(ends[0]), adump_number(ends[-1])) for ends in good))


def step_text(
    iterations: Iterations, largest: int = LARGEST, *, rising: bool = False
) -> str | None:
    """Return the text that means iterations, as far as 100 pieces go; ``None`` if it means none.

    ``rising``: whether ranges must ascend and stay apart, as GE wants it; else they stand as they are.

    >>> step_text(Iterations.parse("7|2-3|3-5|9-4")), step_text(Iterations.parse("7|2-3|3-5"), rising=True)
    ('7|2-3|3-5', '2-5|7')
    """
    if iterations.ranges is None:
        return ""
    ranges = list(bounded(iterations.ranges, largest))
    if rising or len(ranges) > MAX_PIECES:
        ranges = merged(ranges)
    return str(Iterations(tuple(ranges[:MAX_PIECES]))) if ranges else None


def bounded(ranges: Iterable[tuple[int, int]], largest: int) -> Iterator[tuple[int, int]]:
    """Yield what lies between 0 and a largest number of each range."""
    for low, high in ranges:
        low, high = max(low, 0), min(high, largest)
        if low <= high:
            yield low, high


def merged(ranges: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return ranges in rising order; those that touch are one.

    >>> merged([(7, 7), (2, 3), (3, 5)])
    [(2, 5), (7, 7)]
    """
    found: list[tuple[int, int]] = []
    for low, high in sorted(ranges):
        if found and low <= found[-1][1] + 1:
            found[-1] = found[-1][0], max(found[-1][1], high)
        else:
            found.append((low, high))
    return found
