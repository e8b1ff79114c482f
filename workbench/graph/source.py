"""Where in the user's code an operator comes from: a traceback as MindSpore writes it.

Outermost first; every function contributes its definition and then the line that is being
executed. The workbench's own machinery is left out, its layers stay as library frames.
"""

from __future__ import annotations

import linecache
import os
import sys
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from workbench.graph.graph import SourceFrame

if TYPE_CHECKING:
    from types import CodeType, FrameType

_INSTALLED = f"{Path(__file__).parents[2]}{os.sep}"
"""Folder that the package lies in; its own files are named from there, alike on every machine."""

_MACHINERY = frozenset(
    f"workbench.{name}"
    for name in (
        "graph.source",
        "network.symbolic",
        "network.tracer",
        "network.autodiff",
        "network.control",
        "network.cell",
    )
)

_COMPREHENSIONS = frozenset(("<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>"))
"""Names of code that Python 3.12 no longer calls as a function of its own."""


class FrameReader:
    """Reads frames during one trace; source text is read anew for each trace."""

    def __init__(self) -> None:
        # equal code of two files is equal to Python, so the file name is part of every key
        self._lines: dict[tuple[str, CodeType, int], SourceFrame] = {}
        self._definitions: dict[tuple[str, CodeType], SourceFrame] = {}
        self._labels: dict[str, str] = {}

    def capture(self, boundary: CodeType) -> tuple[SourceFrame, ...]:
        """Frames between the function with code ``boundary`` and the caller, outermost first."""
        found: list[SourceFrame] = []
        inside = False
        frame: FrameType | None = sys._getframe(1)
        while frame is not None and frame.f_code is not boundary:
            code = frame.f_code
            if frame.f_globals.get("__name__") not in _MACHINERY:
                if not inside:  # the line inside a comprehension says more than that around it
                    found.append(self._line(code, frame.f_lasti))
                inside = code.co_name in _COMPREHENSIONS
                if not code.co_name.startswith("<"):
                    found.append(self._definition(code))
            frame = frame.f_back
        return tuple(reversed(found))

    def _line(self, code: CodeType, instruction: int) -> SourceFrame:
        """Return the expression that an instruction (byte offset) belongs to."""
        key = (code.co_filename, code, instruction)
        if key not in self._lines:
            nothing = (None, None, None, None)
            positions = islice(code.co_positions(), instruction // 2, None)
            start, end, column, column_end = next(positions, nothing)
            line = start or code.co_firstlineno
            self._lines[key] = SourceFrame(
                file=self._label(code.co_filename),
                line=line,
                code=_text(code.co_filename, line),
                line_end=end if end and end != line else 0,
                column=column or 0,
                column_end=column_end or 0,
            )
        return self._lines[key]

    def _definition(self, code: CodeType) -> SourceFrame:
        """Return the ``def`` line of a function, with the range of its whole body."""
        key = (code.co_filename, code)
        if key not in self._definitions:
            file = self._label(code.co_filename)
            line = code.co_firstlineno
            while _text(code.co_filename, line).lstrip().startswith("@"):
                line += 1
            text = _text(code.co_filename, line)
            ends = [(end, column) for _, end, _, column in code.co_positions() if end and column]
            end, column_end = max(ends, default=(line, 0))
            last = end if end > line else 0
            indent = len(text) - len(text.lstrip())
            self._definitions[key] = SourceFrame(file, line, text, last, indent, column_end)
        return self._definitions[key]

    def _label(self, name: str) -> str:
        """Return the file name that is shown; source text is read under its real one."""
        if name not in self._labels:
            linecache.checkcache(name)
            self._labels[name] = _cell(name) or _packaged(name)
        return self._labels[name]


def _cell(name: str) -> str:
    """``cell In[3]`` for a notebook cell, whose own file name is a temporary one."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    cell = shell.compile.format_code_name(name) if shell else None
    return f"{cell[0].lower()} {cell[1]}" if cell else ""


def _packaged(name: str) -> str:
    """``workbench/network/nn/layers.py`` for a file of this package, else the name as it is."""
    inside = name.removeprefix(_INSTALLED)
    own = inside != name and inside.startswith(f"workbench{os.sep}")
    return inside.replace(os.sep, "/") if own else name


def _text(file: str, line: int) -> str:
    return linecache.getline(file, line).rstrip("\r\n")
