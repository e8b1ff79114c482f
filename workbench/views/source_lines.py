"""Source lines in context: from the file, if it still says what the dump says, else what the dump knows.

Names of files come from dumps, which nobody vouches for: only Python files are opened, of bearable size, and
nothing of them is shown unless the line of the dump stands where the dump says.
"""

from __future__ import annotations

import re
import stat
import sys
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from workbench.core.words import Message

if TYPE_CHECKING:
    from collections.abc import Sequence

    from workbench.graph.graph import SourceFrame

AROUND = 4
"""Lines of context before and after a line."""

_LARGEST = 4 << 20
_CELL = re.compile(r"cell in\[(\d{1,9})\]|<ipython-input-(\d{1,9})-", re.IGNORECASE | re.ASCII)
_KERNEL_FILE = re.compile(r"[/\\]ipykernel_\d+[/\\]")

Origin = Literal["file", "notebook", "dump"]


@dataclass(frozen=True, slots=True)
class Line:
    """One line of source; ``here`` if it is the one in question."""

    number: int
    text: str
    here: bool = False


@dataclass(frozen=True, slots=True)
class SourceContext:
    """A source line and what stands around it.

    ``origin`` says where the text comes from, ``note`` why it is no more than the dump knows.
    """

    file: str
    line: int
    origin: Origin
    lines: tuple[Line, ...]
    note: Message | None = None
    library: bool = False

    @property
    def place(self) -> str:
        """File and line, for people."""
        return f"{self.file}:{self.line}"


def in_context(frame: SourceFrame, around: int = AROUND) -> SourceContext:
    """Return the line of a frame with its surroundings, or alone and the reason."""
    lines, origin, why = find_source(frame.file)
    if lines and not says_so(lines, frame.line, frame.code):
        lines, why = (), _other(frame)
    if not lines:
        own = (Line(frame.line, frame.code.rstrip(), here=True),)
        return SourceContext(frame.file, frame.line, "dump", own, why, frame.library)
    first, last = max(1, frame.line - around), min(len(lines), frame.line + around)
    shown = (Line(n, lines[n - 1], n == frame.line) for n in range(first, last + 1))
    return SourceContext(frame.file, frame.line, origin, tuple(shown), None, frame.library)


def says_so(lines: Sequence[str], number: int, code: str) -> bool:
    """Whether a line of a text is the one that a dump states; one that it does not state is none."""
    told = code.strip()
    return bool(told) and 0 < number <= len(lines) and lines[number - 1].strip() == told


def _other(frame: SourceFrame) -> Message:
    if not frame.code.strip():
        return Message("views/line-unknown")
    return Message("views/line-differs")


def find_source(name: str) -> tuple[tuple[str, ...], Origin, Message | None]:
    """Return the text of a file or notebook cell in lines, where it is from, and why there is none."""
    if cell := _CELL.search(name):
        lines = _cell_text(int(cell[1] or cell[2]))
        return lines, "notebook", None if lines else Message("views/cell-gone")
    if _KERNEL_FILE.search(name):
        lines = _kernel_text(name)
        return lines, "notebook", None if lines else Message("views/cell-gone")
    path = _located(name)
    if path.suffix != ".py" or name.startswith(("//", "\\\\")):  # a share would be asked for
        return (), "file", Message("views/not-python")
    try:
        about = path.stat()
    except (OSError, ValueError):
        return (), "file", Message("views/file-missing")
    if not stat.S_ISREG(about.st_mode) or about.st_size > _LARGEST:
        return (), "file", Message("views/file-size", limit=_LARGEST >> 20)
    lines = _read(str(path), about.st_mtime_ns, about.st_size)
    return lines, "file", None if lines else Message("views/file-unreadable")


def _located(name: str) -> Path:
    """Path of a file; those of this package are named from the folder that it lies in."""
    if name.startswith("workbench/"):
        return Path(__file__).parents[2] / name
    return Path(name)


@lru_cache(maxsize=64)
def _read(path: str, _modified: int, _size: int) -> tuple[str, ...]:
    try:
        with Path(path).open(encoding="utf-8", errors="replace") as file:
            return tuple(file.read(_LARGEST).splitlines())
    except OSError:
        return ()


def _cell_text(number: int) -> tuple[str, ...]:
    """Text of a cell of the notebook that runs here."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    texts = shell.user_ns.get("In", ()) if shell else ()
    text = texts[number] if isinstance(texts, list) and number < len(texts) else ""
    return tuple(text.splitlines()) if isinstance(text, str) else ()


def _kernel_text(name: str) -> tuple[str, ...]:
    """Text of a cell by the name of the temporary file that its kernel gives it."""
    linecache = sys.modules.get("linecache")
    entry = linecache.cache.get(name) if linecache else None
    return tuple(line.rstrip("\n") for line in entry[2]) if entry and len(entry) == 4 else ()
