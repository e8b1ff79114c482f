"""What a folder holds: its files, their sizes and contents, by their path below it."""

from __future__ import annotations

import csv
from pathlib import Path


def files(root: Path) -> dict[str, Path]:
    """Every file below a folder by its path there, in the order of names."""
    found = sorted(path for path in root.rglob("*") if path.is_file())
    return {path.relative_to(root).as_posix(): path for path in found}


def listed(root: Path) -> list[str]:
    """Paths of the files below a folder, in order."""
    return list(files(root))


def sizes(root: Path) -> dict[str, int]:
    """Size of every file below a folder."""
    return {name: path.stat().st_size for name, path in files(root).items()}


def contents(root: Path) -> dict[str, bytes]:
    """Bytes of every file below a folder."""
    return {name: path.read_bytes() for name, path in files(root).items()}


def foretold(forecast) -> dict[str, int]:
    """Size of every file that a forecast names, to be compared with ``sizes``."""
    return {entry.path: entry.size for entry in forecast.files}


def rows(path: Path) -> list[list[str]]:
    """Cells of a CSV file, line by line."""
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.reader(file))
