"""The controls of the elements of a tensor: kind of error, plane of the heat map, number of the worst."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import ipywidgets as W

from workbench.ui.alerts import close_tree
from workbench.ui.pieces import Pieces
from workbench.ui.slider import Slider

if TYPE_CHECKING:
    from collections.abc import Callable

    from workbench.compare.elements import Elements, HeatMap
    from workbench.pipeline.operator_view import OperatorView
    from workbench.show.look import Look
    from workbench.ui.alerts import Alert
    from workbench.ui.app import Workbench

_NONE = -1
_STYLE = {"description_width": "initial"}


class Owner(Protocol):
    """The panel that the inputs belong to."""

    bench: Workbench
    alert: Alert

    @property
    def view_of(self) -> OperatorView | None:
        """The operator that is looked at."""

    def say(self, text: str) -> str:
        """Words in the language of the bench."""

    def on(self, widget: W.Widget, call: Callable[[], None]) -> None:
        """Call back after a change."""

    def draw_heat(self, plane: HeatMap) -> str:
        """Draw a plane."""


class Planes:
    """Inputs that write to the `Look` of the comparison; the panel draws when that changes."""

    def __init__(self, panel: Owner) -> None:
        self.panel = panel
        say = panel.say
        short: dict[str, Any] = {"layout": {"width": "190px"}, "style": _STYLE}
        self.kind = W.Dropdown(description=say("error"), options=["absolute"], **short)
        self.rows = W.Dropdown(description=say("rows"), options=[("–", _NONE)], **short)
        self.columns = W.Dropdown(description=say("columns"), options=[("–", _NONE)], **short)
        self.count = W.BoundedIntText(
            description=say("worst elements"), value=20, min=1, max=10_000, **short
        )
        self.sliders = W.VBox()
        self.picture = Pieces(lambda _row: None)
        wrap = {"flex_flow": "row wrap"}
        self.view = W.VBox(
            [
                W.HBox([self.kind, self.count, self.rows, self.columns], layout=wrap),
                self.sliders,
                self.picture,
            ]
        )
        self._quiet = False
        panel.on(self.kind, self._take_kind)
        panel.on(self.count, self._take_count)
        panel.on(self.rows, self._take_axes)
        panel.on(self.columns, self._take_axes)

    @property
    def look(self) -> Look:
        """What is looked at."""
        look: Look = self.panel.bench.comparison.look
        return look

    @property
    def elements(self) -> Elements | None:
        """The elements of the selected tensor."""
        return self.panel.view_of.elements if self.panel.view_of is not None else None

    def refresh(self) -> None:
        """Offer what the tensor that is looked at now has."""
        elements = self.elements
        self.view.layout.display = "none" if elements is None else "flex"
        if elements is None:
            self._replace_sliders([])
            return
        self._quiet = True
        try:
            self.kind.options = [(self.panel.say(kind), kind) for kind in elements.kinds]
            wanted = self.look.element_error
            self.kind.value = wanted if wanted in elements.kinds else "absolute"
            self.count.value = self.look.worst
        finally:
            self._quiet = False

    def draw(self) -> None:
        """Draw the plane, and bring the inputs up to date with it."""
        if self.elements is None or self.panel.view_of is None:
            self.picture.html = ""
            return
        kind = self.kind.value
        plane = self.panel.view_of.heat_map(self.look.axes, self.look.plane, kind)
        self.picture.html = self.panel.draw_heat(plane)
        self._quiet = True
        try:
            self._show_axes(plane)
            self._show_sliders(plane)
        finally:
            self._quiet = False

    def _show_axes(self, plane: HeatMap) -> None:
        assert self.elements is not None
        shape = self.elements.shape
        axes = [(f"{axis} ({size})", axis) for axis, size in enumerate(shape) if size > 1]
        for widget, axis in zip((self.rows, self.columns), plane.axes, strict=True):
            options = axes if axis >= 0 else [("–", _NONE)]
            if list(widget.options) != options:
                widget.options = options
            widget.value = axis
            widget.layout.display = "flex" if len(axes) > 2 else "none"

    def _show_sliders(self, plane: HeatMap) -> None:
        assert self.elements is not None
        shape = self.elements.shape
        rest = [axis for axis, n in enumerate(shape) if n > 1 and axis not in plane.axes]
        present = [(slider.axis, slider.max) for slider in self.sliders.children]
        if present != [(axis, shape[axis] - 1) for axis in rest]:
            self._replace_sliders([self._slider(axis, shape[axis]) for axis in rest])
        for slider in self.sliders.children:
            slider.value = plane.at[slider.axis]

    def _slider(self, axis: int, size: int) -> Slider:
        """A slider over the index in one axis."""
        slider = Slider(axis, f"{self.panel.say('axis')} {axis}", size - 1)
        slider.observe(self.panel.alert.guard(lambda _change: self._take_plane()), "value")
        return slider

    def _replace_sliders(self, new: list[Slider]) -> None:
        old, self.sliders.children = self.sliders.children, new
        for slider in old:
            close_tree(slider)

    def _take_kind(self) -> None:
        if not self._quiet:
            self.look.element_error = self.kind.value

    def _take_count(self) -> None:
        if not self._quiet:
            self.look.worst = self.count.value

    def _take_axes(self) -> None:
        if self._quiet:
            return
        chosen = (self.rows.value, self.columns.value)
        if chosen[0] == chosen[1]:  # then the other one takes what this one had
            before = self.look.axes or self.elements.telling_axes(self.kind.value)  # type: ignore[union-attr]
            chosen = before[::-1]
        self.look.axes = chosen

    def _take_plane(self) -> None:
        if self._quiet or self.elements is None:
            return
        at = list(self.look.plane or self.elements.worst_index(self.kind.value))
        for slider in self.sliders.children:
            at[slider.axis] = slider.value
        self.look.plane = tuple(at)

    def close(self) -> None:
        """Remove the sliders; the panel removes what else it holds."""
        self._replace_sliders([])
