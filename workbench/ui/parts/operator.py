"""Operator: the selected one, looked at closely."""

from __future__ import annotations

from dataclasses import replace
from html import escape
from typing import TYPE_CHECKING, Any

import ipywidgets as W

from workbench.core.errors import WorkbenchError
from workbench.pipeline.operator_html import operator_html
from workbench.show.html import read_asset
from workbench.ui.copy import CopyButton
from workbench.ui.following import Following
from workbench.ui.parts.planes import Planes
from workbench.ui.pieces import Pieces

if TYPE_CHECKING:
    from workbench.compare.elements import HeatMap
    from workbench.pipeline.operator_view import OperatorView

_ABOVE = ("head", "source", "tensors", "elements")
_BELOW = ("trend", "neighbours", "attributes", "ir")


class Operator(Following):
    """What `Comparison.operator` tells of the row that is looked at; its clicks select another one."""

    name, title = "operator", "Operator"
    traits = ("selected", "element_error", "worst", "axes", "plane")

    def build(self) -> W.Widget:
        self.view_of: OperatorView | None = None
        choose = self.alert.guard(self._choose)
        self.style = W.HTML(f"<style>{read_asset('parts.css')}{read_asset('operator.css')}</style>")
        self.hint, self.above, self.below = W.HTML(), Pieces(choose), Pieces(choose)
        self.planes = Planes(self)
        self.worst = Pieces(choose)
        self.details = W.VBox(
            [self.above, self.planes.view, self.worst, self.below, self._minimal_case()]
        )
        self.follow(self.bench, "export", self._show_pin)
        self.follow_comparison()
        head = [self.style, self._buttons(), self.alert.widget, self.hint, self.details]
        return W.VBox(head)

    def _buttons(self) -> W.Widget:
        say = self.say
        self.back = W.Button(description=say("Previous failing"))
        self.forth = W.Button(description=say("Next failing"))
        self.pin = W.Button()
        self.code = CopyButton(say("Copy as code"))
        self.on_click(self.back, lambda: self._step(-1))
        self.on_click(self.forth, lambda: self._step(1))
        self.on_click(self.pin, self._toggle_pin)
        wrap = {"flex_flow": "row wrap", "align_items": "center"}
        return W.HBox([self.back, self.forth, self.pin, self.code], layout=wrap)

    def _minimal_case(self) -> W.Widget:
        say = self.say
        self.folder = W.Text(description=say("folder"), value="minimal_case")
        self.extract = W.Button(description=say("Write minimal case"))
        self.case = W.HTML()
        self.on_click(self.extract, self._extract)
        head = W.HTML(f'<div class="wb wb-op"><h3>{escape(say("Minimal case"))}</h3></div>')
        return W.VBox([head, W.HBox([self.folder, self.extract]), self.case])

    def changed(self, name: str) -> None:
        if name == "selected":
            self.refresh()
        elif name == "element_error":
            self._draw()
        else:
            self._draw_elements(name)

    def refresh(self) -> None:
        """Show the row that is looked at now."""
        if not self.shown:
            return
        comparison = self.bench.comparison
        row = comparison.selected if comparison is not None else None
        before = self.view_of
        if row is None:
            self.view_of = None
        elif before is None or before.comparison is not comparison or before.row is not row:
            self.view_of = comparison.operator(comparison.look.selected)
        self.details.layout.display = "none" if row is None else "flex"
        for button in (self.back, self.forth, self.pin):
            button.disabled = comparison is None or (row is None and button is self.pin)
        missing = "Run a comparison first; then an operator can be looked at here."
        if comparison is not None:
            missing = "Select an operator in the plot or the table."
        self.hint.value = f"<p>{escape(self.say(missing))}</p>" if row is None else ""
        if self.view_of is not before and self.view_of is not None:
            comparison.look.axes = comparison.look.plane = None
            self.case.value = ""
            self._draw()
        self._show_pin()

    def _html(self, *sections: str, **options: Any) -> str:
        assert self.view_of is not None
        look = self.bench.comparison.look
        return operator_html(
            self.view_of,
            sections=sections,
            kind=look.element_error,
            count=look.worst,
            say=self.say,
            clickable=True,
            **options,
        )

    def _draw(self) -> None:
        """Draw everything anew."""
        if self.view_of is None:
            return
        self.above.html = self._html(*_ABOVE)
        self.below.html = self._html(*_BELOW)
        self.planes.refresh()
        self._draw_elements()

    def _draw_elements(self, name: str = "") -> None:
        """Draw what the controls of the elements decide: all of it, or what follows one of them."""
        if self.view_of is None:
            return
        if name != "worst":
            self.planes.draw()
        if name in ("", "worst"):
            self.worst.html = self._html("worst") if self.view_of.elements is not None else ""
        self.code.text = self._code()

    def draw_heat(self, plane: HeatMap) -> str:
        """Return the heat map of a plane."""
        return self._html("heat", heat=plane)

    def _code(self) -> str:
        """Lines that show the same in a cell."""
        view = self.view_of
        if view is None:
            return ""
        look = self.bench.comparison.look
        lines = [f"operator = comparison.operator({view.index})  # {view.name!a}"]
        if view.elements is not None:
            kind = f"kind={look.element_error!r}"
            lines.append(f"worst = operator.worst({look.worst}, {kind})")
            lines.append(f"errors = operator.heat_map({look.axes}, {look.plane}, {kind})")
        return "\n".join((*lines, "operator")) + "\n"

    def _choose(self, row: str) -> None:
        self.bench.comparison.selected = int(row)

    def _step(self, step: int) -> None:
        comparison = self.bench.comparison
        start = comparison.look.selected
        if start < 0:
            start = -1 if step > 0 else len(comparison.rows)
        found = comparison.places.failing(start, step)
        if found < 0:
            where = "after" if step > 0 else "before"
            raise WorkbenchError(f"operator {where} this one must fail to be shown, got none")
        comparison.selected = found

    def _show_pin(self) -> None:
        pinned = self.view_of is not None and self.view_of.name in self.bench.export.pins
        self.pin.description = self.say("Unpin from report" if pinned else "Pin to report")
        self.pin.icon = "check" if pinned else ""

    def _toggle_pin(self) -> None:
        assert self.view_of is not None
        name, pins = self.view_of.name, self.bench.export.pins
        left = tuple(pin for pin in pins if pin != name)
        self.bench.export = replace(
            self.bench.export, pins=left if len(left) < len(pins) else (*pins, name)
        )

    def _extract(self) -> None:
        assert self.view_of is not None
        found = self.view_of.extract(self.folder.value)
        script = found.script.read_text(encoding="utf-8", errors="replace")
        self.case.value = (
            f'<div class="wb wb-op" role="status"><p>{escape(str(found))}</p>'
            f'<div class="wb-op-lines"><pre>{escape(script)}</pre></div></div>'
        )

    def still(self) -> str:
        if self.view_of is None:
            return super().still()
        pieces = (self.above, self.planes.picture, self.worst, self.below)
        return str(self.style.value) + "".join(piece.html for piece in pieces)

    @property
    def state(self) -> tuple[str, str]:
        if self.bench.comparison is None:
            return "to do", ""
        row = self.bench.comparison.selected
        if row is None:
            return "ready", ""
        return "done", (row.op_name or row.golden_op_name).rpartition("/")[2][:40]

    def close(self) -> None:
        self.planes.close()
        super().close()
