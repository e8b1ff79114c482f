"""The controls of the elements of a tensor: kind of error, plane of the heat map, number of the worst."""

from __future__ import annotations

from typing import TYPE_CHECKING

import ipywidgets as W

from workbench.ui.widgets.alerts import close_tree
from workbench.ui.widgets.boxes import styled
from workbench.ui.widgets.native import make_pieces, make_slider

if TYPE_CHECKING:
    from workbench.comparison.measure.elements import Elements, HeatMap
    from workbench.show.look.look import Look
    from workbench.ui.parts.operator import Operator
    from workbench.views.operator import OperatorView

_NONE = -1
_KINDS = {"absolute": "ui/absolute", "relative": "ui/relative", "ulp": "ui/ulp"}


class Planes:
    """Inputs that write to the `Look` of the comparison; the panel draws when that changes."""

    def __init__(self, panel: Operator) -> None:
        self.panel = panel
        say = panel.say
        self.kind = W.Dropdown(description=say("ui/error"), options=["absolute"])
        self.rows = W.Dropdown(description=say("ui/rows"), options=[("–", _NONE)])
        self.columns = W.Dropdown(description=say("ui/columns"), options=[("–", _NONE)])
        self.count = W.BoundedIntText(
            description=say("ui/worst-elements"), value=20, min=1, max=10_000
        )
        self.sliders = W.VBox()
        self.picture = make_pieces(lambda _row: None)
        shorts = (self.kind, self.count, self.rows, self.columns)
        inputs = panel.row(*(styled(one, "short") for one in shorts))
        self.view = W.VBox([inputs, self.sliders, panel.note(self.sliders), self.picture])
        self.shown: OperatorView | None = None
        self.plane: HeatMap | None = None
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
        """The elements of the tensor that is shown."""
        return self.shown.elements if self.shown is not None else None

    @property
    def _deaf(self) -> bool:
        """Whether changes are not the user's, or meant for an operator that is looked at no more."""
        return self._quiet or self.shown is None or self.shown is not self.panel.view_of

    def show(self, view: OperatorView, plane: HeatMap | None, html: str) -> None:
        """Show a plane, and bring the inputs up to date with it."""
        self.shown, self.plane = view, plane
        self.view.layout.display = "none" if view.elements is None else "flex"
        self._quiet = True
        try:
            if view.elements is None or plane is None:
                self._replace_sliders([])
            else:
                self._show_choices(view.elements)
                self._show_axes(plane)
                self._show_sliders(plane)
        finally:
            self._quiet = False
        self.picture.html = html

    def _show_choices(self, elements: Elements) -> None:
        self.kind.options = [(self.panel.say(_KINDS[kind]), kind) for kind in elements.kinds]
        wanted = self.look.element_error
        self.kind.value = wanted if wanted in elements.kinds else "absolute"
        self.count.value = self.look.worst

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

    def _slider(self, axis: int, size: int) -> W.Widget:
        """A slider over the index in one axis."""
        say = self.panel.say
        made = make_slider(axis, say("ui/axis", axis=axis), size - 1, say)
        made.observe(self.panel.guard(self.sliders, self._take_plane), "value")
        return made

    def _replace_sliders(self, new: list[W.Widget]) -> None:
        old, self.sliders.children = self.sliders.children, new
        for slider in old:
            close_tree(slider)

    def _take_kind(self) -> None:
        if not self._deaf:
            self.look.element_error = self.kind.value

    def _take_count(self) -> None:
        if not self._deaf:
            self.look.worst = self.count.value

    def _take_axes(self) -> None:
        if self._deaf or self.plane is None:
            return
        chosen = (self.rows.value, self.columns.value)
        if chosen[0] == chosen[1]:  # then the other one takes what this one had
            chosen = self.plane.axes[::-1]
        self.look.axes = chosen

    def _take_plane(self) -> None:
        if self._deaf or self.plane is None:
            return
        at = list(self.plane.at)
        for slider in self.sliders.children:
            at[slider.axis] = slider.value
        self.look.plane = tuple(at)

    def close(self) -> None:
        """Remove the sliders; the panel removes what else it holds."""
        self._replace_sliders([])
