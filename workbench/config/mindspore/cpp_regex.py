"""Regular expressions of ``kernels``: those of C++'s ``std::regex`` (ECMAScript), not Python's.

`to_python` refuses what libstdc++ refuses and rewrites what Python reads otherwise, so that a match
here is a match there. Its results are expressions of both languages and map to themselves.
Source: libstdc++ ``regex_scanner.tcc`` and ``regex_compiler.tcc``; outcomes recorded from MindSpore
2.10.0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from workbench._values import NamedTuple
from workbench.core.errors import FormatError

if TYPE_CHECKING:
    from collections.abc import Container

MAX_STATES = 100_000
"""States of an automaton that libstdc++ builds at most."""

MAX_DEPTH = 100
"""Groups in each other that are read here."""

_CLASSES = {
    "d": "0-9",
    "w": "A-Za-z0-9_",
    "s": r"\x20\x09-\x0d",
    "digit": "0-9",
    "alpha": "A-Za-z",
    "alnum": "A-Za-z0-9",
    "upper": "A-Z",
    "lower": "a-z",
    "xdigit": "A-Fa-f0-9",
    "space": r"\x20\x09-\x0d",
    "blank": r"\x20\x09",
    "cntrl": r"\x00-\x1f\x7f",
    "graph": r"!-\~",
    "print": r"\x20-\~",
    "punct": r"!-/:-@\[-`{-\~",
}
_CONTROLS = {"0": "\0", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_SPECIAL = frozenset(".^$*+?()[]{}|\\")
_IN_SET = frozenset("\\]^-[&~|")


_AROUND = 3
"""States around an expression: its begin, its end, and that it is accepted."""


class _Part(NamedTuple):
    """A piece of the result, and how many states it costs."""

    text: str
    states: int = 1


def to_python(text: str) -> str:
    """Return the same expression for Python's ``re``; raises FormatError where libstdc++ refuses.

    >>> to_python("a**[[:digit:]]")
    '(?:a*)*[0-9]'
    """
    return _Reader(text).run()


class _Reader:
    """One pass over an expression."""

    def __init__(self, text: str) -> None:
        self._text, self._place, self._depth = text, 0, 0
        self._groups = 0
        self._open: set[int] = set()

    def run(self) -> str:
        part = self._choice()
        if self._place < len(self._text):
            self._fail("alone", got=self._next())
        return self._counted(part.text, part.states + _AROUND).text

    def _next(self) -> str:
        return self._text[self._place : self._place + 1]

    def _take(self, text: str) -> bool:
        """Step over a text if it comes next."""
        if not self._text.startswith(text, self._place):
            return False
        self._place += len(text)
        return True

    def _fail(self, fault: str, **values: Any) -> NoReturn:
        raise FormatError(f"config/regex-{fault}", place=f"character {self._place}", **values)

    def _counted(self, text: str, states: int) -> _Part:
        if states > MAX_STATES:
            self._fail("states", limit=MAX_STATES)
        return _Part(text, states)

    def _choice(self) -> _Part:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            self._fail("depth", limit=MAX_DEPTH)
        part = self._sequence()
        while self._take("|"):
            other = self._sequence()
            part = self._counted(f"{part.text}|{other.text}", part.states + other.states + 2)
        self._depth -= 1
        return part

    def _sequence(self) -> _Part:
        texts, states = [], 1
        while (term := self._term()) is not None:
            texts.append(term.text)
            states = self._counted("", states + term.states).states
        return _Part("".join(texts), states)

    def _term(self) -> _Part | None:
        """Assertion, or atom with its quantifiers; ``None`` where neither begins."""
        assertion = self._assertion()
        if assertion is not None:
            return assertion
        atom = self._atom()
        quantified = False
        while atom is not None and (end := self._quantifier(atom)) is not None:
            atom = _Part(
                f"(?:{atom.text}){end.text}" if quantified else atom.text + end.text, end.states
            )
            quantified = True
        return atom

    def _assertion(self) -> _Part | None:
        for mark in ("^", "$", r"\b", r"\B"):
            if self._take(mark):
                return _Part(mark)
        for mark in ("(?=", "(?!"):
            if self._take(mark):
                inner = self._closed(self._choice())
                return _Part(f"{mark}{inner.text})", inner.states + 2)
        return None

    def _closed(self, part: _Part) -> _Part:
        if not self._take(")"):
            self._fail("parenthesis")
        return part

    def _atom(self) -> _Part | None:
        char = self._next()
        if char in ("", "|", ")", "*", "+", "?", "{"):
            return None
        if char == "(":
            return self._group()
        self._place += 1
        if char == "[":
            return self._set()
        if char == "\\":
            return self._escape()
        return _Part(r"\x20" if char == " " else char)

    def _group(self) -> _Part:
        if self._take("(?:"):
            inner = self._closed(self._choice())
            return _Part(f"(?:{inner.text})", inner.states + 1)
        self._place += 1
        if self._next() == "?":
            self._fail("group")
        self._groups += 1
        number = self._groups
        self._open.add(number)
        inner = self._closed(self._choice())
        self._open.remove(number)
        return _Part(f"({inner.text})", inner.states + 2)

    def _escape(self) -> _Part:
        char = self._next()
        if char in ("d", "D", "w", "W", "s", "S"):
            self._place += 1
            return _Part(_class_outside(char))
        if char.isascii() and char.isdigit() and char != "0":
            return self._reference()
        return _Part(_quoted(self._escaped(), _SPECIAL))

    def _reference(self) -> _Part:
        digits = ""
        while self._next().isascii() and self._next().isdigit():
            digits += self._next()
            self._place += 1
        number = int(digits[:5])
        if number > self._groups or number in self._open or number > 99:
            self._fail("reference")
        return _Part(f"\\{number}")

    def _escaped(self) -> str:
        """Character that stands behind a backslash."""
        char = self._literal()
        if char == "c":
            return self._literal()
        width = {"x": 2, "u": 4}.get(char)
        if width is not None:
            digits = self._text[self._place : self._place + width]
            if len(digits) < width or any(d not in "0123456789abcdefABCDEF" for d in digits):
                self._fail("escape")
            self._place += width
            return chr(int(digits, 16))
        return _CONTROLS.get(char, char)

    def _literal(self) -> str:
        char = self._next()
        if not char:
            self._fail("backslash")
        self._place += 1
        return char

    def _quantifier(self, atom: _Part) -> _Part | None:
        for mark in "*+?":
            if self._take(mark):
                lazy = "?" if self._take("?") else ""
                return self._counted(mark + lazy, atom.states + (2 if mark == "?" else 1))
        if not self._take("{"):
            return None
        least, more = self._number(), 1  # the end of what is bounded
        most, text = least, f"{{{least}"
        if self._take(","):
            endless = not self._next().isdigit()
            most = least if endless else self._number()
            more = atom.states + 1 if endless else 1 + (most - least) * (atom.states + 1)
            text += "," if endless else f",{most}"
        if not self._take("}"):
            self._fail("brace")
        if most < least:
            self._fail("repetition")
        lazy = "?" if self._take("?") else ""
        return self._counted(text + "}" + lazy, atom.states * (least + 1) + 1 + more)

    def _number(self) -> int:
        digits = ""
        while self._next().isascii() and self._next().isdigit():
            digits += self._next()
            self._place += 1
        if not digits or len(digits) > 9:
            self._fail("number")
        return int(digits)

    def _set(self) -> _Part:
        negated = self._take("^")
        items: list[str] = []
        last: str | None = ""  # the character a range may begin with; "" none, None a class
        while not self._take("]"):
            if not self._next():
                self._fail("bracket")
            last = self._set_item(items, last)
        if not items:
            return _Part(r"(?:.|[\x0a\x0d])" if negated else "(?:(?!))")
        return _Part(f"[{'^' if negated else ''}{''.join(items)}]")

    def _set_item(self, items: list[str], last: str | None) -> str | None:
        """Add one item of a set; return what a following dash would begin a range with."""
        if self._take("-"):
            if self._next() == "]" or last == "":
                items.append(r"\-")
                return "-"
            if last is None:
                self._fail("range-class")
            end = "-" if self._take("-") else self._set_char()
            if end is None or end < last:
                self._fail("range")
            items[-1] = f"{_quoted(last, _IN_SET)}-{_quoted(end, _IN_SET)}"
            return ""
        name = self._set_class()
        if name:
            items.append(name)
            return None
        char = self._set_char()
        if char is None:
            self._fail("in-bracket")
        items.append(_quoted(char, _IN_SET))
        return char

    def _set_class(self) -> str:
        """Class that comes next, written for a set; empty if none does."""
        if self._take("[:"):
            name = self._until(":]").lower()
            if name not in _CLASSES:
                self._fail("class", got=name)
            return _CLASSES[name]
        two = self._text[self._place : self._place + 2]
        if len(two) == 2 and two[0] == "\\" and two[1] in "dDwWsS":
            self._place += 2
            return _CLASSES.get(two[1], two)
        return ""

    def _set_char(self) -> str | None:
        """Character that comes next in a set; ``None`` where something else does."""
        for mark in (".", "="):
            if self._take(f"[{mark}"):
                name = self._until(f"{mark}]")
                if len(name) != 1:
                    self._fail("character", got=name)
                return name
        char = self._next()
        if char in ("", "]") or self._text.startswith("[:", self._place):
            return None
        self._place += 1
        if char != "\\":
            return char
        if self._take("b"):
            return "\b"
        behind = self._next()
        if behind in ("d", "D", "w", "W", "s", "S", "B") or (behind in "123456789" and behind):
            return None
        return self._escaped()

    def _until(self, end: str) -> str:
        start = self._place
        stop = self._text.find(end, start)
        if stop < 0:
            self._fail("bracket")
        self._place = stop + len(end)
        return self._text[start:stop]


def _class_outside(char: str) -> str:
    return f"[{_CLASSES[char]}]" if char in _CLASSES else f"[^{_CLASSES[char.lower()]}]"


def _quoted(char: str, special: Container[str]) -> str:
    """Write a character so that both languages read it as itself."""
    if char in special:
        return "\\" + char
    return char if "!" <= char <= "~" or ord(char) > 0x7F else f"\\x{ord(char):02x}"
