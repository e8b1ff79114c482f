"""A button that copies its text, and says whether the browser let it."""

from __future__ import annotations

from pathlib import Path

import anywidget
import traitlets


class CopyButton(anywidget.AnyWidget):
    """Copies ``text`` to the clipboard of the browser."""

    _esm = (Path(__file__).parent / "copy.mjs").read_text(encoding="utf-8")
    label = traitlets.Unicode("").tag(sync=True)
    text = traitlets.Unicode("").tag(sync=True)

    def __init__(self, label: str, text: str = "") -> None:
        super().__init__(label=label, text=text)
