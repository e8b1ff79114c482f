"""Where a node comes from: its scope and its source lines, as exporters write them into a model.

PyTorch's newer exporter keeps a Python traceback in ``pkg.torch.onnx.stack_trace`` (innermost line
last) and the modules in ``pkg.torch.onnx.name_scopes`` and ``class_hierarchy``; the older one wrote
``file(line): function`` into ``doc_string``, innermost line first. Names are text of strangers: what
could break a line of an IR or a path becomes ``_``.
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from workbench.graph.graph import SourceFrame

if TYPE_CHECKING:
    from collections.abc import Iterable

    from onnx import NodeProto

_STACK = "pkg.torch.onnx.stack_trace"
_SCOPES = "pkg.torch.onnx.name_scopes"
_CLASSES = "pkg.torch.onnx.class_hierarchy"
_TRACEBACK = re.compile(
    r'^ *File "(?P<file>[^"\n]{1,4096})", line (?P<line>\d{1,9})(?:, in [^\n]*)?(?:\n(?! *File ")(?P<code>[^\n]*))?',
    re.MULTILINE,
)
_DOCUMENTED = re.compile(
    r"^(?:# )?(?P<file>[^\n()]{1,4096})\((?P<line>\d{1,9})\): [^\n]*$", re.MULTILINE
)
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_UNSAFE = re.compile(r"[^\w./:-]+")
_LONGEST = 1 << 16  # characters of a traceback
_DEEPEST = 64


def safe_name(text: str) -> str:
    """Text as a name in graphs and files.

    >>> safe_name("/layer1/conv (1)"), safe_name("../../x")
    ('layer1/conv_1_', 'x')
    """
    parts = [part for part in _UNSAFE.sub("_", text).split("/") if part.strip(".")]
    return "/".join(parts)[:512]


def frames_of(node: NodeProto) -> tuple[SourceFrame, ...]:
    """Source lines of a node, outermost first; none if the exporter kept none."""
    notes = {entry.key: entry.value for entry in getattr(node, "metadata_props", ())}
    found = _frames(_TRACEBACK, notes.get(_STACK, "") or node.doc_string)
    return found or _frames(_DOCUMENTED, node.doc_string)[::-1]


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


def scope_of(node: NodeProto, number: int) -> str:
    """Scope of a node's operators below the root: its modules, or else its own name."""
    notes = {entry.key: entry.value for entry in getattr(node, "metadata_props", ())}
    modules = _modules(_words(notes.get(_SCOPES, "")), _words(notes.get(_CLASSES, "")))
    return modules or safe_name(node.name) or f"{safe_name(node.op_type)}_{number}"


def _words(text: str) -> list[str]:
    """Return the list of strings that a note spells; anything else is an empty list."""
    if len(text) > _LONGEST or not text.startswith("["):
        return []
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return []
    return value if all(isinstance(word, str) for word in value) else []


def _modules(scopes: Iterable[str], classes: Iterable[str]) -> str:
    """``layer1-Block/conv-Conv2d``: modules as MindSpore would name them."""
    parts, before = [], ""
    for scope, kind in list(zip(scopes, classes, strict=False))[
        :-1
    ]:  # the last one is the operator
        own = scope.removeprefix(before).strip(".")
        before = scope
        if own:
            parts.append(f"{own.replace('/', '_')}-{kind.rpartition('.')[2]}")
    return safe_name("/".join(parts))
