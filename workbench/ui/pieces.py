"""HTML of a template as a widget: what it marks can be chosen by click and keyboard."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import anywidget
import traitlets

if TYPE_CHECKING:
    from collections.abc import Callable


class Pieces(anywidget.AnyWidget):
    """Shows ``html``, which must be escaped already; calls back with the name and text of what was chosen.

    Elements with ``data-row`` or ``data-line`` can be chosen.
    """

    _esm = (Path(__file__).parent / "pieces.mjs").read_text(encoding="utf-8")
    html = traitlets.Unicode("").tag(sync=True)

    def __init__(self, chosen: Callable[[str, str], None]) -> None:
        super().__init__()
        self._chosen = chosen
        self.on_msg(self._take)

    def _take(self, _widget: Any, content: Any, _buffers: Any) -> None:
        if not isinstance(content, dict):
            return
        for name in ("row", "line"):
            if isinstance(content.get(name), str):
                self._chosen(name, content[name])
