"""What `workbench.config` says: name → sentence."""

from __future__ import annotations

SENTENCES: dict[str, str] = {
    "problems": "{problems:lines}",
}
