"""What somebody types, as it is meant."""

from __future__ import annotations

import os

from workbench.core.errors import WorkbenchError


def typed_path(text: str, subject: str, example: str) -> str:
    """Return a path to write to, with ``~`` as a shell reads it; raises WorkbenchError for none.

    >>> typed_path(" report.html ", "HTML", "report.html")
    'report.html'
    """
    path = text.strip()
    if not path:
        raise WorkbenchError(f"{subject} must have a path, got none; for example {example}")
    if not path.isprintable():
        message = f"{subject} must have a path of visible characters, got {path!r}"
        raise WorkbenchError(f"{message}; for example {example}")
    return os.path.expanduser(path)
