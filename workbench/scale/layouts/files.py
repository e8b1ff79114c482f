"""The layouts of a job by name, and files of them.

A file has a line for each pattern of names, the first that fits decides::

    parallel: tp=4,pp=2,dp=2
    numbered layer{}-: pp 2 2
    *Dense/MatMul-op0:output.0: (b*s)[dp] h[tp]
    *Add-op*: b[dp] s h

``parallel`` gives the axes of the job. ``numbered`` says that layers (or experts) are counted anew on every rank of
an axis, and how many each has; more numbers than ranks are the chunks of an interleaved pipeline. Patterns have ``*``
and ``?``, and may name one slot behind a colon (``:output.0``). Lines that begin with ``#`` are comments. The same
stands in JSON and TOML under ``parallel``, ``numbered`` and ``layouts``.
"""

from __future__ import annotations

import json
import re
import tomllib
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.core.errors import FormatError, GraphError
from workbench.core.files import file_content, unreadable
from workbench.run.parallel import AXES, Parallel
from workbench.scale.layouts.grammar import TensorLayout, parse_layout

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from workbench.core.tensors import TensorKey

GIVEN, INFERRED = "given", "inferred"
"""How a layout is known."""

MOST_BYTES = 16 << 20
"""Bytes of a file of layouts."""

_KEYS = ("parallel", "numbered", "layouts")


@dataclass(frozen=True, slots=True)
class Numbered:
    """Names that are counted anew on every rank of an axis.

    ``pattern`` has ``{}`` where the number stands; ``counts`` are how many numbers each rank has, one chunk of an
    interleaved pipeline after the other: rank c of n has chunks c, n + c, 2n + c, …
    """

    pattern: str
    axis: str
    counts: tuple[int, ...]

    def renamed(self, name: str, place: int, size: int) -> str:
        """Return a name as the whole job counts, for the rank at ``place`` of ``size``.

        >>> Numbered("layers.{}.", "pp", (2, 2)).renamed("layers.1.mlp", 1, 2)
        'layers.3.mlp'
        """
        before, _, after = self.pattern.partition("{}")
        found = re.compile(f"{re.escape(before)}([0-9]{{1,9}}){re.escape(after)}")
        return found.sub(
            lambda one: f"{before}{self.number(int(one[1]), place, size)}{after}", name
        )

    def number(self, own: int, place: int, size: int) -> int:
        """Return which number of the whole job a rank's own is; one beyond its counts goes on from the last."""
        starts = [sum(self.counts[:chunk]) for chunk in range(len(self.counts))]
        for chunk in range(place, len(self.counts), size):
            if own < self.counts[chunk] or chunk + size >= len(self.counts):
                return starts[chunk] + own
            own -= self.counts[chunk]
        return own

    def __str__(self) -> str:
        return f"{self.pattern}: {self.axis} {' '.join(map(str, self.counts))}"


@dataclass(frozen=True, slots=True)
class LayoutRow:
    """The layout of all tensors whose name fits a pattern, and how it is known.

    Of an inferred one ``agreed`` of the ``seen`` tensors lie so.
    """

    pattern: str
    layout: TensorLayout
    trust: str = GIVEN
    seen: int = 0
    agreed: int = 0

    def fits(self, name: str, slot: str) -> bool:
        """Whether a tensor is meant, by the operator's name and ``output.0``."""
        return fnmatchcase(f"{name}:{slot}", self.pattern) or fnmatchcase(name, self.pattern)

    def __str__(self) -> str:
        return f"{self.pattern}: {self.layout}"


@dataclass(frozen=True, slots=True)
class LayoutTable:
    """The layouts of a job: rows, the first that fits decides, and what ranks count anew."""

    rows: tuple[LayoutRow, ...] = ()
    numbered: tuple[Numbered, ...] = ()
    parallel: Parallel | None = None

    def find(self, name: str, slot: str = "") -> LayoutRow | None:
        """Return the row of a tensor, ``slot`` as ``output.0``; `None` if there is none."""
        return next((row for row in self.rows if row.fits(name, slot)), None)

    def of(self, key: TensorKey) -> LayoutRow | None:
        """Return the row of a tensor of a dump."""
        return self.find(key.op_name, f"{key.io}.{key.slot}")

    def whole_name(self, name: str, rank: int, parallel: Parallel) -> str:
        """Return a name as the whole job counts, for one that a rank has."""
        for one in self.numbered:
            place = parallel.coordinates(rank)[one.axis]
            name = one.renamed(name, place, parallel.size(one.axis))
        return name

    def __str__(self) -> str:
        lines = [f"parallel: {self.parallel}"] if self.parallel is not None else []
        lines += [f"numbered {one}" for one in self.numbered]
        return "\n".join([*lines, *map(str, self.rows)]) + "\n"

    def to_json(self) -> dict[str, Any]:
        """Return the lines of its file, and how each row is known, as JSON values."""
        return {"lines": str(self), "known": [[r.trust, r.seen, r.agreed] for r in self.rows]}

    @classmethod
    def from_json(cls, said: Mapping[str, Any]) -> LayoutTable:
        """Return what `to_json` gave; raises FormatError, KeyError, TypeError or ValueError for anything else."""
        found = parse_layouts(said["lines"])
        rows = (
            replace(row, trust=str(trust), seen=int(seen), agreed=int(agreed))
            for row, (trust, seen, agreed) in zip(found.rows, said["known"], strict=True)
        )
        return replace(found, rows=tuple(rows))


def read_layouts(path: str | Path) -> LayoutTable:
    """Read a file of layouts: lines, or JSON or TOML by its ending.

    Raises FormatError with file and line, in JSON and TOML with the key.
    """
    path = Path(path)
    content = file_content(path, MOST_BYTES, "layout file")
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise unreadable(path, error, "layout file") from error
    reader = _READERS.get(path.suffix.lower())
    if reader is None:
        return parse_layouts(text, str(path))
    kind, load, broken = reader
    try:
        found = load(text)
    except (broken, RecursionError) as error:
        raise FormatError("layouts/file-json", place=str(path), kind=kind, why=error) from error
    return _table_of(found, str(path))


_READERS: dict[str, tuple[str, Callable[[str], Any], type[ValueError]]] = {
    ".json": ("JSON", json.loads, json.JSONDecodeError),
    ".toml": ("TOML", tomllib.loads, tomllib.TOMLDecodeError),
}


def parse_layouts(text: str, place: str = "layouts") -> LayoutTable:
    """Read the lines of a file of layouts; raises FormatError with ``place`` and the line."""
    lines = (
        (f"{place}:{number}", line.strip()) for number, line in enumerate(text.splitlines(), 1)
    )
    entries = (
        (where, *_split_line(line, where)) for where, line in lines if line and line[0] != "#"
    )
    return _gather(entries)


def _split_line(line: str, where: str) -> tuple[str, str]:
    """Part ``pattern: layout`` at the first colon with a space behind it, or at the end."""
    found = re.search(r":(?=\s)|:$", line)
    if found is None or not line[: found.start()].strip():
        raise FormatError("layouts/file-line", place=where, got=line)
    return line[: found.start()].strip(), line[found.end() :].strip()


def _table_of(found: object, place: str) -> LayoutTable:
    """Read what JSON or TOML holds."""
    if not isinstance(found, dict):
        raise FormatError("layouts/file-value", place=place, key="layouts")
    for key in found:
        if key not in _KEYS:
            raise FormatError("layouts/file-keys", place=place, got=key, known=[*_KEYS])
    entries = []
    if "parallel" in found:
        entries.append(
            (f"{place}: parallel", "parallel", _text(found["parallel"], "parallel", place))
        )
    for key, prefix in (("numbered", "numbered "), ("layouts", "")):
        rows = found.get(key, {})
        if not isinstance(rows, dict):
            raise FormatError("layouts/file-value", place=place, key=key)
        for name, value in rows.items():
            entries.append((f"{place}: {name}", prefix + name, _text(value, name, place)))
    return _gather(iter(entries))


def _text(value: object, key: str, place: str) -> str:
    if not isinstance(value, str):
        raise FormatError("layouts/file-value", place=place, key=key)
    return value


def _gather(entries: Iterator[tuple[str, str, str]]) -> LayoutTable:
    """Make a table of entries: place, name and value of each."""
    rows: list[LayoutRow] = []
    numbered: list[Numbered] = []
    parallel = None
    for where, name, value in entries:
        try:
            if name == "parallel":
                parallel = Parallel.of(value)
            elif name.startswith("numbered "):
                numbered.append(_numbered(name.removeprefix("numbered ").strip(), value))
            else:
                rows.append(LayoutRow(name, parse_layout(value)))
        except (FormatError, GraphError) as error:
            raise FormatError(error.code, place=where, **error.values) from error
    if parallel is not None:
        _check_counts(numbered, parallel)
    return LayoutTable(tuple(rows), tuple(numbered), parallel)


def _numbered(pattern: str, value: str) -> Numbered:
    axis, *counts = value.split() or [""]
    if pattern.count("{}") != 1 or axis not in AXES or not counts:
        raise FormatError("layouts/numbered", got=f"{pattern}: {value}")
    if not all(one.isascii() and one.isdecimal() and len(one) < 8 for one in counts):
        raise FormatError("layouts/numbered", got=f"{pattern}: {value}")
    return Numbered(pattern, axis, tuple(map(int, counts)))


def _check_counts(numbered: list[Numbered], parallel: Parallel) -> None:
    for one in numbered:
        size = parallel.size(one.axis)
        if len(one.counts) % size:
            raise FormatError(
                "layouts/numbered-counts",
                got=one.pattern,
                count=len(one.counts),
                axis=one.axis,
                size=size,
            )


def layouts_of(rows: Mapping[str, str], parallel: Parallel | None = None) -> LayoutTable:
    """Make a table of layouts as text by pattern; raises FormatError as `read_layouts`."""
    table = _gather((name, name, text) for name, text in rows.items())
    return LayoutTable(table.rows, table.numbered, parallel or table.parallel)
