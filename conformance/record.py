"""The record of a run: one JSON file, small enough to be kept with the tests.

Most texts, logs and trees of files repeat themselves. ``text`` is therefore ``[head, middle, tail]``:
so many characters of ``base`` from its start, the middle itself, so many from its end. ``log`` is an
index into ``logs`` and ``files`` one into ``trees``, which give an index into ``listings`` by folder.
Exceptions are ``RuntimeError`` unless ``type`` says otherwise. Run with two records, this module
lists what differs between them.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import files

Json = dict[str, Any]
COMPACT = (",", ":")


def write_record(path: Path, about: Json, cases: list[Json], outcomes: dict[str, Json]) -> None:
    """Write cases with their outcomes, one a line."""
    tables: dict[str, list[Any]] = {"listings": [], "trees": [], "logs": []}
    lines = []
    for case in cases:
        text = None if case["text"] is None else _pack(case["text"], files.GOOD)
        packed = {**case, "text": text, **_shortened(outcomes[case["id"]], tables)}
        lines.append(json.dumps(packed, separators=COMPACT))
    head = json.dumps({"about": about, "base": files.GOOD} | tables, separators=COMPACT)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f'{head[:-1]},"cases":[\n' + ",\n".join(lines) + "\n]}\n", encoding="ascii")


def _shortened(outcome: Json, tables: dict[str, list[Any]]) -> Json:
    short = dict(outcome)
    if short.get("type") == "RuntimeError":
        del short["type"]
    if "files" in short:
        tree = {
            folder: _index(tables["listings"], names) for folder, names in short["files"].items()
        }
        short["files"] = _index(tables["trees"], tree)
    if "log" in short:
        short["log"] = _index(tables["logs"], short["log"])
    return short


def _index(table: list[Any], row: Any) -> int:
    if row not in table:
        table.append(row)
    return table.index(row)


def _pack(text: str, base: str) -> list[Any]:
    head = _shared(text, base)
    tail = _shared(text[head:][::-1], base[head:][::-1])
    return [head, text[head : len(text) - tail], tail]


def _shared(a: str, b: str) -> int:
    """Length of the common start."""
    return next(
        (i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b))
    )


def read_outcomes(path: Path) -> dict[str, Json]:
    """Outcome of each case by id, nothing shortened."""
    record = json.loads(path.read_text(encoding="ascii"))
    outcomes = {}
    for case in record["cases"]:
        outcome = {"type": "RuntimeError"} if case["verdict"] == "refused" else {}
        outcome |= {
            key: case[key] for key in ("verdict", "type", "message", "status") if key in case
        }
        tree = record["trees"][case["files"]] if "files" in case else {}
        outcome["files"] = {folder: record["listings"][number] for folder, number in tree.items()}
        outcome["log"] = record["logs"][case["log"]] if "log" in case else []
        outcomes[case["id"]] = outcome
    return outcomes


def differences(first: Path, second: Path) -> list[str]:
    """Lines that say which outcomes differ in what."""
    ours, theirs = read_outcomes(first), read_outcomes(second)
    lines = [f"only in one: {label}" for label in sorted(ours.keys() ^ theirs.keys())]
    for label in [label for label in ours if label in theirs]:
        a, b = ours[label], theirs[label]
        keys = [key for key in a | b if a.get(key) != b.get(key)]
        lines += [f"{label}: {key}: {a.get(key)!r} -> {b.get(key)!r}" for key in keys]
    return lines


if __name__ == "__main__":
    print("\n".join(differences(*map(Path, sys.argv[1:3]))))
