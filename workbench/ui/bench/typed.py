"""What somebody types, as it is meant."""

from __future__ import annotations

import os

from workbench.core.errors import WorkbenchError
from workbench.core.words import Message


def typed_path(text: str, subject: Message, example: str) -> str:
    """Return a path to write to, with ``~`` as a shell reads it; raises WorkbenchError for none.

    >>> typed_path(" map.json ", Message("ui/file-map"), "map.json")
    'map.json'
    """
    path = text.strip()
    if not path:
        raise WorkbenchError("ui/path-empty", subject=subject, example=example)
    if not path.isprintable():
        raise WorkbenchError("ui/path-invisible", subject=subject, got=path)
    return os.path.expanduser(path)
