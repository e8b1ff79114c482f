"""Where in the user's code an operator comes from: a traceback as MindSpore writes it.

Outermost first; every function contributes its definition and then the line that is being
executed. The workbench's own machinery is left out, its layers stay as library frames.
"""

from __future__ import annotations

import linecache
import sys
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING

from workbench.graph.nodes import SourceFrame

if TYPE_CHECKING:
    from types import CodeType, FrameType

_MACHINERY = frozenset(f"workbench.graph.{name}" for name in ("frames", "tensor", "cell", "tracer"))


def capture(boundary: CodeType) -> tuple[SourceFrame, ...]:
    """Frames between the function with code ``boundary`` and the caller, outermost first."""
    found: list[SourceFrame] = []
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code is not boundary:
        if frame.f_globals.get("__name__") not in _MACHINERY:
            found.append(_line(frame.f_code, frame.f_lasti))
            if not frame.f_code.co_name.startswith("<"):
                found.append(_definition(frame.f_code))
        frame = frame.f_back
    return tuple(reversed(found))


@lru_cache(maxsize=4096)
def _line(code: CodeType, instruction: int) -> SourceFrame:
    """Return the expression that an instruction (byte offset) belongs to."""
    start, end, column, column_end = next(
        islice(code.co_positions(), instruction // 2, None), (None, None, None, None)
    )
    line = start or code.co_firstlineno
    return SourceFrame(
        file=_file(code.co_filename),
        line=line,
        code=_text(code.co_filename, line),
        line_end=end if end and end != line else 0,
        column=column or 0,
        column_end=column_end or 0,
    )


@lru_cache(maxsize=1024)
def _definition(code: CodeType) -> SourceFrame:
    """Return the ``def`` line of a function, with the range of its whole body."""
    line = code.co_firstlineno
    while _text(code.co_filename, line).lstrip().startswith("@"):
        line += 1
    text = _text(code.co_filename, line)
    ends = [(end, column) for _, end, _, column in code.co_positions() if end and column]
    end, column_end = max(ends, default=(line, 0))
    return SourceFrame(
        file=_file(code.co_filename),
        line=line,
        code=text,
        line_end=end if end > line else 0,
        column=len(text) - len(text.lstrip()),
        column_end=column_end,
    )


def _text(file: str, line: int) -> str:
    return linecache.getline(file, line).rstrip("\r\n")


def _file(name: str) -> str:
    """``cell In[3]`` for a notebook cell, whose own file name is a temporary one."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    label = shell.compile.format_code_name(name) if shell else None
    return f"{label[0].lower()} {label[1]}" if label else name
