"""HTML of a template as a widget: what it marks can be chosen by click and keyboard."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import anywidget
import traitlets

if TYPE_CHECKING:
    from collections.abc import Callable


class Pieces(anywidget.AnyWidget):
    """Shows ``html``, which must be escaped already; calls back with the ``data-row`` of what was chosen.

    A click on ``data-fold`` opens or closes the details in it.
    """

    _esm = (Path(__file__).parent / "pieces.mjs").read_text(encoding="utf-8")
    html = traitlets.Unicode("").tag(sync=True)

    def __init__(self, chosen: Callable[[str], None]) -> None:
        super().__init__()
        self._chosen = chosen
        self.on_msg(self._take)

    def _take(self, _widget: Any, content: Any, _buffers: Any) -> None:
        if isinstance(content, dict) and isinstance(content.get("row"), str):
            self._chosen(content["row"])
