"""What `workbench.ui` says: name → sentence."""

from __future__ import annotations

SENTENCES: dict[str, str] = {}
