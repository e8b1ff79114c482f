"""Single values of protobuf's text form: numbers, words, strings; and where an error is."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

import numpy as np

from workbench.core.words import Message
from workbench.graph_files.ge.fields import ENUMS, MESSAGES, enum_word

MAX_SHOWN = 100
"""Longest part of a line that an error shows."""

STRING = r""""[^"\\\n]*+(?:\\.[^"\\\n]*+)*+"|'[^'\\\n]*+(?:\\.[^'\\\n]*+)*+'"""
"""Pattern of one quoted string on one line."""

_PIECE = re.compile(STRING)
_INTEGER = re.compile(r"(-?)(?:0[xX]([0-9a-fA-F]{1,16})|(0[0-7]{0,22})|([1-9][0-9]{0,19}))")
_FLOAT = re.compile(
    r"-?(?:((?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?)[fF]?|(?i:inf(?:inity)?|nan))"
)
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_BOOLS = {"true": True, "True": True, "t": True, "1": True}
_BOOLS |= {"false": False, "False": False, "f": False, "0": False}
_LIMITS = {"int64": (-(1 << 63), (1 << 63) - 1), "uint32": (0, (1 << 32) - 1)}
_ESCAPE = re.compile(
    rb"\\(?:[0-7]{1,3}|[xX][0-9a-fA-F]{1,2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|.|$)", re.DOTALL
)
_SIMPLE = dict(zip(b"abfnrtv\\'\"?", b"\a\b\f\n\r\t\v\\'\"?", strict=True))
_ASKED = {
    "int64": Message("ir/int64"),
    "uint32": Message("ir/uint32"),
    "float": Message("ir/float"),
    "bool": Message("ir/bool"),
}


def asked(kind: str) -> Message:
    """What a field of a kind must be."""
    if kind in MESSAGES:
        return Message("ir/block")
    return Message("ir/word") if kind in ENUMS else _ASKED.get(kind, Message("ir/string"))


def parse_word(kind: str, word: str) -> Any:
    """Value of a bare word; ``None`` if the kind has no such value.

    >>> parse_word("int64", "0x10"), parse_word("float", "1e-05"), parse_word("bool", "2")
    (16, 1e-05, None)
    """
    if kind == "bool":
        return _BOOLS.get(word)
    if kind == "float":
        found = _FLOAT.fullmatch(word)
        number = found and (found[1] or word.lstrip("-"))
        return None if number is None else single(float(number) * (-1 if word[0] == "-" else 1))
    if kind in ENUMS and _WORD.fullmatch(word):
        return word
    found = _INTEGER.fullmatch(word)
    if found is None or kind not in (*ENUMS, *_LIMITS):
        return None
    sign, sixteen, eight, ten = found.groups()
    size = int(sixteen, 16) if sixteen else int(eight, 8) if eight else int(ten)
    low, high = _LIMITS.get(kind, _LIMITS["int64"])
    number = -size if sign else size
    if not low <= number <= high:
        return None
    return enum_word(kind, number) if kind in ENUMS else number


def single(value: float) -> float:
    """The shortest decimal number that names the same number of single precision.

    >>> single(0.100000001490116), single(1e300)
    (0.1, inf)
    """
    with np.errstate(over="ignore"):
        return float(str(np.float32(value)))


def parse_string(kind: str, quoted: str) -> str | bytes:
    """Value of strings that stand side by side; raises ValueError for an escape that C does not have."""
    if "\\" not in quoted and quoted.count(quoted[0]) == 2 and quoted[-1] == quoted[0]:
        return decode(kind, quoted[1:-1].encode("utf-8", "surrogateescape"))
    pieces = (piece[0][1:-1] for piece in _PIECE.finditer(_bare(quoted)))
    return decode(kind, b"".join(unescape(piece) for piece in pieces))


def _bare(quoted: str) -> str:
    """Strings without the comments between them, whose quotes must not be read as strings."""
    if "#" not in quoted:
        return quoted
    return " ".join(found[0] for found in _PIECE_OR_COMMENT.finditer(quoted) if found[0][0] != "#")


_PIECE_OR_COMMENT = re.compile(rf"{STRING}|#[^\n]*")


def decode(kind: str, data: bytes) -> str | bytes:
    r"""A string field as text; ``text`` that is no UTF-8 stays bytes, a name gets ``\xff`` escapes."""
    if kind == "bytes":
        return data
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data if kind == "text" else data.decode("utf-8", "backslashreplace")


def unescape(text: str) -> bytes:
    """Bytes of the inside of a string; raises ValueError for an escape that C does not have."""
    data = text.encode("utf-8", "surrogateescape")
    return _ESCAPE.sub(lambda found: _byte(found[0]), data) if b"\\" in data else data


@lru_cache(maxsize=1024)
def _byte(escape: bytes) -> bytes:
    """What one escape stands for."""
    mark = escape[1:2]
    if mark and mark[0] in _SIMPLE:
        return bytes([_SIMPLE[mark[0]]])
    try:
        if mark and mark in b"uU":
            return chr(int(escape[2:], 16)).encode("utf-8")
        return bytes([int(escape[2:], 16) if mark in b"xX" and mark else int(escape[1:], 8)])
    except (ValueError, OverflowError):
        raise ValueError(escape.decode("utf-8", "backslashreplace")) from None


def line_of(text: str, position: int) -> int:
    """Number of the line that holds a position."""
    return text.count("\n", 0, position) + 1


def excerpt(text: str, position: int) -> str:
    """Return the line that holds a position (at most a part of it) and a caret below."""
    start = text.rfind("\n", 0, position) + 1
    end = text.find("\n", position)
    start = max(start, position - MAX_SHOWN // 2)
    shown = text[start : min(len(text) if end < 0 else end, start + MAX_SHOWN)]
    shown = "".join(letter if letter.isprintable() else "?" for letter in shown)
    return f"{shown}\n{' ' * (position - start)}^"
