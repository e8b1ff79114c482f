"""IR text as earlier releases of MindSpore spell it, from the text of `workbench.graph_files.mindspore.write_text`.

One row for each spelling that changed. What a release lacks is left out: counts, types of objects, keys of
weights, ends and columns of source lines. Sources: those of
`workbench.graph_files.mindspore.releases`, which reads all of them.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

Release = tuple[int, ...]
Kind = Literal["parameter", "node", "types", "objects", "name", "source", "other"]

_CURRENT: Release = (2, 3)
_HASH_HEADER: Release = (2, 0)
_OUTWARD: Release = (2, 0)

_LETTERS = {"Float": "F", "BFloat": "BF", "Int": "I", "UInt": "U"}
_TYPED: tuple[Kind, ...] = ("parameter", "types")
_OBJECT = r"(?:Tensor|Scalar|TupleUnfold|Tuple|, )*"
_KINDS: tuple[tuple[Kind, re.Pattern[str]], ...] = (
    ("parameter", re.compile(r"%para\d+_")),
    ("node", re.compile(r"  (?:%\d+\(|Return\()")),
    ("objects", re.compile(rf"      : \({_OBJECT}\) -> \({_OBJECT}\)$")),
    ("types", re.compile(r"      : \(")),
    ("name", re.compile(r"      # Fullname with scope: ")),
    ("source", re.compile(r"      # In file ")),
)
"""Kinds of lines, by how they begin; a line break inside a constant makes an ``other`` one."""


class Spelling(NamedTuple):
    """What is spelled otherwise in releases before ``before``, and in which lines."""

    before: Release
    lines: tuple[Kind, ...]
    pattern: re.Pattern[str]
    text: str | Callable[[re.Match[str]], str]


def _scalar(match: re.Match[str]) -> str:
    if match["bool"]:
        return "true" if match["bool"] == "1" else "false"
    return match["number"]


def _short(match: re.Match[str]) -> str:
    """Type inside a reference: ``Tensor(F32)``."""
    word = re.sub(r"^(B?Float|U?Int)(?=\d)", lambda kind: _LETTERS[kind[0]], match[1])
    return f"Ref[Tensor({word})]"


def _row(before: Release, lines: tuple[Kind, ...], pattern: str, text: str) -> Spelling:
    return Spelling(before, lines, re.compile(pattern), text)


SPELLINGS = (
    _row((2, 3), ("parameter",), r"^([^<]*): <", r"\1 : <"),
    _row((2, 3), ("parameter",), r"> : \[[^\]]*\]  :  ", ">  :  "),
    _row((2, 3), _TYPED, r", ref_key=([^,>]*), is_parameter(?:, is_inplace)?>", r", ref_key=:\1>"),
    _row((2, 3), ("node", "other"), r"PrimFunc_(?=\w+\()", ""),
    _row((2, 3), ("node", "other"), r"\bUMonad\[U\]", "U"),
    _row((2, 3), ("source",), r"^( *# In file [^:]*:\d+)(?:~\d+)?(?:, \d+~\d+)?/", r"\1/"),
    _row((2, 2), _TYPED, r"\[const vector\]\{([^}]*)\}", r"[const vector][\1]"),
    Spelling(
        (2, 1),
        ("node", "other"),
        re.compile(r"\b(?:Bool\((?P<bool>[01])\)|(?:[IU]\d+|B?F\d+)\((?P<number>[^()]*)\))"),
        _scalar,
    ),
    _row((2, 1), ("node", "other"), r'(?<=: )"([A-Za-z_]\w*)"(?=[,}])', r"\1"),
    Spelling((2, 0), _TYPED, re.compile(r"Ref\[Tensor\[(\w+)\]\]"), _short),
    _row((2, 0), ("name",), "Fullname with scope: ", "fullname_with_scope: "),
    _row((1, 9), ("parameter",), "  :  has_default", ""),
    _row((1, 9), ("parameter",), "IsWeight: ", "IsWeight:"),
    _row((1, 9), ("source",), r"^( *# In file [^:]*):(\d+)/", r"\1(\2)/"),
    _row((1, 7), _TYPED, r", ref_key=:[^,>]*>", ">"),
    _row((1, 7), ("name",), "# fullname_with_scope: ", ": "),
    _row((1, 6), ("types",), r", value=\.\.\.", ""),
    _row((1, 5), _TYPED, r"<([^<>]*), \(([^()]*)\)>", r"<\1x[const vector][\2]>"),
    _row((1, 5), _TYPED, r"<([^<>]*), (?:NoShape|TupleShape\([^<>]*\))>", r"<\1>"),
)
"""Spellings, those that changed last first: each row may build on the ones before it."""

_ABSENT: tuple[tuple[Release, Kind, re.Pattern[str]], ...] = (
    ((2, 0), "objects", re.compile("")),
    ((2, 3), "other", re.compile(r"# Parameters: ")),
    ((1, 8), "other", re.compile(r"subgraph instance: ")),
    ((1, 6), "other", re.compile(r" *# Corresponding code candidate:")),
    ((2, 0), "other", re.compile(r"# Order:|#   1: @")),
)
"""Lines that releases before the first column do not have."""


def respelled(text: str, release: Release) -> str:
    """Return the text of a writer of today as ``release`` spells it.

    >>> respelled("%para1_x: <Int64, NoShape>", (2, 2)), respelled("%para1_x: <Int64, NoShape>", (1, 3))
    ('%para1_x : <Int64, NoShape>', '%para1_x : <Int64>')
    """
    if release >= _CURRENT:
        return text
    head, counting, body = text.partition("Node counting information:\n")
    if counting:
        _, _, body = body.partition("\n\n")
    lines = [*_lines(head, release), *_lines(body, release)]
    if release < _OUTWARD:
        lines = list(_turned(lines))
    return "".join(lines) if release >= _HASH_HEADER else _old_header("".join(lines))


def _lines(text: str, release: Release) -> Iterator[str]:
    spellings = [row for row in SPELLINGS if release < row.before]
    absent = [row for row in _ABSENT if release < row[0]]
    for line in text.splitlines(keepends=True):
        kind = next((kind for kind, pattern in _KINDS if pattern.match(line)), "other")
        if any(kind == of and pattern.match(line) for _, of, pattern in absent):
            continue
        for row in spellings:
            if kind in row.lines:
                line = row.pattern.sub(row.text, line)
        yield line


def _turned(lines: Iterable[str]) -> Iterator[str]:
    """Turn tracebacks: before 2.0 the operator's own line comes first."""
    run: list[str] = []
    for line in lines:
        if line.startswith("      # In file "):
            run.append(line)
            continue
        yield from reversed(run)
        run = []
        yield line
    yield from reversed(run)


_HEADER = re.compile(
    r"# IR entry: (?P<name>@[^\n]*)\n# Total subgraphs: (?P<graphs>\d+)\n\n"
    r"(?:# Attrs:\n(?P<attrs>.*?)\n)?# Total params: (?P<count>\d+)\n# Params:\n(?P<params>.*?)(?=\Z|\nsubgraph attr:)",
    re.DOTALL,
)


def _old_header(text: str) -> str:
    """Put the header in the order that it had before 2.0."""

    def header(match: re.Match[str]) -> str:
        attrs = re.sub(r"^([^:\n]*): ", r"\1 : ", match["attrs"] or "", flags=re.MULTILINE)
        return (
            f"#IR entry      : {match['name']}\n#attrs         :\n{attrs}"
            f"#Total params  : {match['count']}\n\n{match['params']}\n#Total subgraph : {match['graphs']}\n"
        )

    return _HEADER.sub(header, text, count=1)
