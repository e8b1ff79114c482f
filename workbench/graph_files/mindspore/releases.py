"""Which MindSpore wrote an IR text: its spelling changed from version to version.

One row for each spelling and the versions that have it; what a file shows narrows the range. Sources:
MindSpore's ``anf_ir_dump.cc`` at the tags 1.0 to 2.7, and files written by 1.0.0, 2.0.0, 2.7.0 and 2.10.0.
Versions that are not listed (0.x, 1.4, 2.4 and later) spell as their neighbours do.
"""

from __future__ import annotations

import re

from workbench._values import NamedTuple

_VERSIONS = "1.0 1.1 1.2 1.3 1.5 1.6 1.7 1.8 1.9 1.10 2.0 2.1 2.2 2.3"
VERSIONS = tuple(_VERSIONS.split())
"""Versions whose spelling differs from that of the one before; the last one stands for all later ones."""

CURRENT = "mindspore"
"""Dialect of 2.3 and later, and of text that shows nothing older."""

_OLDEST_OUTWARD = VERSIONS.index("2.0")
_CURRENT_ONLY = "\nNode counting information:"
_HEADER = 1 << 20
_HEADER_LINES = 40
_BODY_LINES = 300
_MOST = 1 << 16


class Mark(NamedTuple):
    """A spelling, and the first and last version with it."""

    pattern: re.Pattern[str]
    first: int
    last: int


def _mark(pattern: str, first: str, last: str) -> Mark:
    return Mark(re.compile(pattern, re.MULTILINE), VERSIONS.index(first), VERSIONS.index(last))


MARKS = (
    _mark(r"^#Total subgraph : ", "1.0", "1.10"),
    _mark(r"^#IR entry ", "1.0", "2.0"),
    _mark(r"^# IR entry: ", "2.0", "2.3"),
    _mark(r"^%para\d{1,9} = ", "1.0", "1.2"),
    _mark(r"^%para\d{1,9}_[^<\n]{0,400}? : <", "1.3", "2.2"),
    _mark(r"^%para\d{1,9}_[^<\n]{0,400}?(?<! ): <", "2.3", "2.3"),
    _mark(r"[\])]x\[const vector\]", "1.0", "1.3"),
    _mark(r"[\])]x\(", "1.3", "1.5"),
    _mark(r"<[^<>\n]{1,80}[\])], \(", "1.5", "2.3"),
    _mark(r"[)}] \{(?!instance name: |in_strategy: | ?strategy: )\w", "1.0", "1.1"),
    _mark(r" primitive_attrs: \{", "1.2", "2.3"),
    _mark(r" cnode_primal_attrs: \{", "1.3", "2.3"),
    _mark(r"[)}] \{ strategy: ", "1.0", "1.5"),
    _mark(r"[)}] \{in_strategy: ", "1.6", "2.3"),
    _mark(r", (?:value=\.\.\.|sequence_nodes=|elements_use_flags=)", "1.6", "2.3"),
    _mark(r", ref_key=:", "1.7", "2.2"),
    _mark(r", ref_key=[^:\n]", "2.3", "2.3"),
    _mark(r"^ *: \([^<>()\[\]\n]{0,900}(?:/|-op)[^<>()\[\]\n]{0,900}\)$", "1.0", "1.6"),
    _mark(r"^ *# (?:fullname_with_scope|scope): ", "1.7", "2.0"),
    _mark(r"^ *# (?:Fullname with scope|Scope): ", "2.0", "2.3"),
    _mark(r"In file [^()\n]{1,900}\(\d{1,9}\)/", "1.0", "1.8"),
    _mark(r"In file [^:\n]{1,900}:\d{1,9}/", "1.9", "2.2"),
    _mark(r"In file [^:\n]{1,900}:\d{1,9}(?:~\d{1,9})?, \d{1,9}~\d{1,9}/", "2.3", "2.3"),
    _mark(r"^subgraph instance: ", "1.8", "2.3"),
    _mark(r" parent: \[subgraph @", "2.0", "2.3"),
    _mark(r"^indirect: ", "2.2", "2.3"),
    _mark(r"  :  has_default", "1.9", "2.3"),
    _mark(r"  :  IsWeight:[tf]", "1.0", "1.8"),
    _mark(r"  :  IsWeight: ", "1.9", "2.3"),
    _mark(r"\[const vector\]\[", "1.0", "2.1"),
    _mark(r"\[const vector\]\{", "2.2", "2.3"),
    _mark(r"[ (](?:Bool|I64|F32)\(", "2.1", "2.3"),
)
"""Spellings, the ones that say most first: where two contradict each other the earlier counts."""


def dialect_of(text: str) -> str:
    """Return ``mindspore`` or, for older text, the versions that spell so: ``mindspore 1.5-1.6``.

    Only the header and the first operators are looked at.
    """
    first, last = _versions(text)
    if last == len(VERSIONS) - 1:
        return CURRENT
    known = VERSIONS[first] if first == last else f"{VERSIONS[first]}-{VERSIONS[last]}"
    return f"{CURRENT} {known}"


def inner_frame_first(dialect: str) -> bool:
    """Whether a traceback begins with the operator's own line, as it does before 2.0."""
    last = dialect.removeprefix(CURRENT).strip().rpartition("-")[2]
    return last in VERSIONS and VERSIONS.index(last) < _OLDEST_OUTWARD


def _versions(text: str) -> tuple[int, int]:
    """Places in `VERSIONS` of the oldest and the newest version that may have written a text."""
    first, last = 0, len(VERSIONS) - 1
    if text.find(_CURRENT_ONLY, 0, _HEADER) >= 0:
        return last, last
    sample = _sample(text)
    for mark in MARKS:
        narrow = max(first, mark.first), min(last, mark.last)
        if narrow != (first, last) and narrow[0] <= narrow[1] and mark.pattern.search(sample):
            first, last = narrow
    return first, last


def _sample(text: str) -> str:
    """Lines from the beginning, and from around where the first subgraph begins."""
    body = max(text.find("\nsubgraph @"), 0)
    header = text[:_MOST].split("\n", _HEADER_LINES)[:_HEADER_LINES]
    header += text[max(body - _MOST, 0) : body].split("\n")[
        -_HEADER_LINES:
    ]  # behind the parameters
    lines = text[body : body + _MOST].split("\n", _BODY_LINES)[:_BODY_LINES]
    return "\n".join((*header, *lines))
