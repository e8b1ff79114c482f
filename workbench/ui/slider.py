"""A slider with a name that screen readers say; that of ipywidgets has none."""

from __future__ import annotations

from pathlib import Path

import anywidget
import traitlets


class Slider(anywidget.AnyWidget):
    """Chooses a ``value`` from 0 to ``max``."""

    _esm = (Path(__file__).parent / "slider.mjs").read_text(encoding="utf-8")
    label = traitlets.Unicode("").tag(sync=True)
    max = traitlets.Int(0).tag(sync=True)
    value = traitlets.Int(0).tag(sync=True)

    def __init__(self, axis: int, label: str, last: int) -> None:
        super().__init__(label=label, max=last)
        self.axis = axis

    @traitlets.validate("value")
    def _inside(self, proposal: traitlets.Bunch) -> int:
        return min(max(int(proposal["value"]), 0), self.max)
