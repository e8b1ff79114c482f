"""Source lines of a node, as exporters write them into a model.

PyTorch's newer exporter keeps a Python traceback in ``pkg.torch.onnx.stack_trace`` (innermost line last); the older
one wrote ``file(line): function`` into ``doc_string``, innermost line first.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from workbench.graph.graph import SourceFrame

if TYPE_CHECKING:
    from collections.abc import Mapping

STACK = "pkg.torch.onnx.stack_trace"
_TRACEBACK = re.compile(
    r'^ *File "(?P<file>[^"\n]{1,4096})", line (?P<line>\d{1,9})(?:, in [^\n]*)?(?:\n(?! *File ")(?P<code>[^\n]*))?',
    re.MULTILINE,
)
_DOCUMENTED = re.compile(
    r"^(?:# )?(?P<file>[^\n()]{1,4096})\((?P<line>\d{1,9})\): [^\n]*$", re.MULTILINE
)
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_LONGEST = 1 << 16  # characters of a traceback
_DEEPEST = 64


def frames_of(notes: Mapping[str, str], doc_string: str) -> tuple[SourceFrame, ...]:
    """Source lines of a node by its notes (``metadata_props``), outermost first; none if the exporter kept none."""
    found = _frames(_TRACEBACK, notes.get(STACK, "") or doc_string)
    return found or _frames(_DOCUMENTED, doc_string)[::-1]


def _frames(pattern: re.Pattern[str], text: str) -> tuple[SourceFrame, ...]:
    matches = list(pattern.finditer(text[:_LONGEST]))[-_DEEPEST:]
    return tuple(
        SourceFrame(
            _CONTROL.sub(" ", match["file"]).strip(),
            int(match["line"]),
            _CONTROL.sub(" ", match.groupdict().get("code") or ""),
        )
        for match in matches
    )
