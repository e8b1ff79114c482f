"""What operators and weights of a model are called: names are text of strangers, and may break no line and no path.

PyTorch's newer exporter keeps the modules of a node in ``pkg.torch.onnx.name_scopes`` and ``class_hierarchy``.
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_SCOPES = "pkg.torch.onnx.name_scopes"
_CLASSES = "pkg.torch.onnx.class_hierarchy"
_UNSAFE = re.compile(r"[^\w./:-]+")
_LONGEST = 1 << 16  # characters of a note


def safe_name(text: str) -> str:
    """Text as a name in graphs and files: what could break a line of an IR or a path becomes ``_``.

    >>> safe_name("/layer1/conv (1)"), safe_name("../../x")
    ('layer1/conv_1_', 'x')
    """
    parts = [part for part in _UNSAFE.sub("_", text).split("/") if part.strip(".")]
    return "/".join(parts)[:512]


def scope_of(notes: Mapping[str, str], name: str, op_type: str, number: int) -> str:
    """Scope of a node's operators below the root: its modules by its notes, or else its own name."""
    modules = _modules(_words(notes.get(_SCOPES, "")), _words(notes.get(_CLASSES, "")))
    return modules or safe_name(name) or f"{safe_name(op_type)}_{number}"


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
