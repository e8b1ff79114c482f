"""Operator: the selected one, looked at closely."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

import ipywidgets as W

from workbench.core.errors import WorkbenchError
from workbench.core.text import call_text, escape, escape_whole
from workbench.core.words import Message
from workbench.show.assets import style_sheets
from workbench.show.look.look import Look
from workbench.show.templates import OPERATOR_STYLES
from workbench.ui.background import Background
from workbench.ui.bench.typed import typed_path
from workbench.ui.following import Following
from workbench.ui.parts.planes import Planes
from workbench.ui.widgets.alerts import status_html
from workbench.ui.widgets.boxes import panel, styled
from workbench.ui.widgets.native import make_copy
from workbench.views.render import operator_html

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from workbench.comparison.measure.elements import ErrorKind, HeatMap
    from workbench.session.comparison import Comparison
    from workbench.ui.bench.app import Workbench
    from workbench.ui.part import Stage
    from workbench.views.operator import OperatorView

_PIECES = {
    "above": ("head", "source", "tensors", "values", "elements"),
    "heat": ("heat",),
    "worst": ("worst",),
    "below": ("trend", "neighbours", "attributes", "ir"),
}
"""Pieces that are drawn anew by themselves → their sections."""

_FOLLOWS = {
    "element_error": ("above", "heat", "worst"),
    "worst": ("worst",),
    "axes": ("heat",),
    "plane": ("heat",),
}
"""Trait of the look → pieces that follow it."""


@dataclass
class Drawn:
    """Pieces of one operator as HTML, the plane of its heat map, and what could not be drawn."""

    html: dict[str, str] = field(default_factory=dict)
    plane: HeatMap | None = None
    error: Exception | None = None


class Operator(Following):
    """What `Comparison.operator` tells of the row that is looked at; its clicks select another one."""

    name, title = "operator", "ui/operator"
    traits = ("selected", "element_error", "worst", "axes", "plane", "factor", "limit")

    def build(self) -> W.Widget:
        self.view_of: OperatorView | None = None
        self.look_of = Look()  # of what is shown; the bench may have another comparison by now
        self.style = W.HTML(f"<style>{style_sheets(*OPERATOR_STYLES)}</style>")
        self.hint, self.planes = W.HTML(), Planes(self)
        self.writing = Background(self.lock, self.alert)
        self.todo: frozenset[str] = frozenset()
        self.above, self.worst, self.below = (self.new_pieces() for _ in range(3))
        told = [
            self.note(self.above),
            self.above,
            self.planes.view,
            self.note(self.worst),
            self.worst,
        ]
        told += [self.note(self.below), self.below]
        self.details = W.VBox([*told, self._minimal_case()])
        self.follow(self.bench, "export", self._show_pin)
        self.follow_comparison()
        self.doing = self.drawing_line()
        head = [self.style, self._buttons(), self.alert.widget, self.hint, self.doing, self.details]
        return panel(head)

    def _buttons(self) -> W.Widget:
        say = self.say
        self.back = W.Button(description=say("ui/previous-failing"))
        self.forth = W.Button(description=say("ui/next-failing"))
        self.pin = W.Button(description=say("ui/pin"))
        self.code = make_copy("ui/copy-as-code", self.say)
        self.on_click(self.back, lambda: self._step(-1))
        self.on_click(self.forth, lambda: self._step(1))
        self.on_click(self.pin, self._toggle_pin)
        return self.row(self.back, self.forth, self.pin, self.code)

    def _minimal_case(self) -> W.Widget:
        say = self.say
        self.folder = styled(W.Text(description=say("ui/folder"), value="minimal_case"), "short")
        self.extract = W.Button(description=say("ui/write-minimal-case"))
        self.said, self.case = W.HTML(), W.HTML()
        self.on(self.folder)
        self.on_click(self.extract, self._extract)
        self.watch(self.writing, self._allow)
        head = W.HTML(f'<div class="wb wb-op"><h3>{escape(say("ui/minimal-case"))}</h3></div>')
        return W.VBox([head, self.row(self.folder, self.extract), self.said, self.case])

    def changed(self, name: str) -> None:
        if name in _FOLLOWS:
            self._draw(_FOLLOWS[name])
        else:
            self.refresh()

    def refresh(self) -> None:
        """Show the row that is looked at now."""
        comparison, before = self.graded, self.view_of
        row = comparison.selected if comparison is not None else None
        same = before is not None and comparison is not None and self._same(before, comparison)
        if comparison is None or row is None:
            self.view_of = None
        elif before is None or not same:
            self.view_of = comparison.operator(comparison.look.selected)
            self.look_of = comparison.look
            comparison.look.axes = comparison.look.plane = None
            self.case.value = ""
        elif before.compared is not comparison.compared:
            self.view_of = before.graded_in(comparison.compared)
        self.details.layout.display = "none" if row is None else "flex"
        for button in (self.back, self.forth, self.pin):
            button.disabled = comparison is None or (row is None and button is self.pin)
        self.hint.value = "" if row is not None else self._hint()
        if self.view_of is not before:
            self._draw(_PIECES)
        self._show_pin()

    def _same(self, view: OperatorView, comparison: Comparison) -> bool:
        """Whether a view is of the row that is looked at, however it is graded."""
        return self.look_of is comparison.look and view.index == comparison.look.selected

    def _hint(self) -> str:
        if self.bench.comparison is None:
            return self.waiting()
        return status_html(self.say("ui/select-operator"), "ui/select-operator")

    def _draw(self, pieces: Iterable[str]) -> None:
        """Draw some pieces anew, as soon as those are done that are being drawn."""
        if self.view_of is not None:
            self.todo |= frozenset(pieces)
            self.background.ask(self._drawn)

    def _drawn(self) -> Callable[[], None] | None:
        """Draw what is wanted now; return what shows it. It ends when somebody has gone on to another operator."""
        with self.lock:
            view, todo, self.todo = self.view_of, self.todo, frozenset()
        drawn = Drawn()
        for piece in _PIECES:
            if view is None or view is not self.view_of:
                return None
            if piece in todo:
                try:
                    self._add(drawn, view, piece)
                except (WorkbenchError, OSError, ValueError) as error:
                    drawn.error = error
        return None if view is None else partial(self._show, view, drawn)

    def _add(self, drawn: Drawn, view: OperatorView, piece: str) -> None:
        """Draw one piece."""
        look = self.look_of
        if piece in ("heat", "worst") and view.elements is None:
            drawn.html[piece] = ""
            return
        if piece == "heat" and view.elements is not None:
            kinds = view.elements.kinds
            kind: ErrorKind = look.element_error if look.element_error in kinds else "absolute"
            drawn.plane = view.heat_map(look.axes, look.plane, kind)
        drawn.html[piece] = operator_html(
            view,
            sections=_PIECES[piece],
            kind=look.element_error,
            count=look.worst,
            heat=drawn.plane,
            say=self.say,
            clickable=self.above.clickable,
        )

    def _show(self, view: OperatorView, drawn: Drawn) -> None:
        """Show what was drawn, unless another operator is wanted by now."""
        if view is not self.view_of:
            return
        for name, widget in (("above", self.above), ("worst", self.worst), ("below", self.below)):
            if name in drawn.html:
                widget.html = drawn.html[name]
        if "heat" in drawn.html:
            self.planes.show(view, drawn.plane, drawn.html["heat"])
        self.code.text = self._code()
        self.update_stills()
        if drawn.error is not None:
            raise drawn.error

    def _code(self) -> str:
        """Lines that show the same in a cell."""
        view = self.view_of
        if view is None:
            return ""
        look = self.look_of
        grades = {name: getattr(look, name) for name in ("factor", "limit")}
        given = {name: value for name, value in grades.items() if value is not None}
        comparison = f"comparison{call_text('regrade', given)}"
        lines = [f"operator = {comparison}.operator({view.index})  # {view.name!a}"]
        if view.elements is not None:
            kind = f"kind={look.element_error!r}"
            lines.append(f"worst = operator.worst({look.worst}, {kind})")
            lines.append(f"errors = operator.heat_map({look.axes}, {look.plane}, {kind})")
        return "\n".join((*lines, "operator")) + "\n"

    def _step(self, step: int) -> None:
        comparison = self.graded
        if comparison is None:
            raise WorkbenchError("ui/run-first")
        start = comparison.look.selected
        if start < 0:
            start = -1 if step > 0 else len(comparison.rows)
        found = comparison.row_index.failing(start, step)
        if found < 0:
            raise WorkbenchError("ui/no-next-failing" if step > 0 else "ui/no-previous-failing")
        comparison.selected = found

    def _show_pin(self) -> None:
        pinned = self.view_of is not None and self.view_of.name in self.bench.export.pins
        self.pin.description = self.say("ui/unpin" if pinned else "ui/pin")
        self.pin.icon = "check" if pinned else ""

    def _seen(self, code: str) -> OperatorView:
        """The operator that is looked at; raises WorkbenchError of this code if there is none."""
        if self.view_of is None:
            raise WorkbenchError(code)
        return self.view_of

    def _toggle_pin(self) -> None:
        name, pins = self._seen("ui/select-to-pin").name, self.bench.export.pins
        left = tuple(pin for pin in pins if pin != name)
        self.bench.export = replace(
            self.bench.export, pins=left if len(left) < len(pins) else (*pins, name)
        )

    def _extract(self) -> None:
        folder = typed_path(self.folder.value, Message("ui/file-minimal-case"), "minimal_case")
        work = partial(self._extracted, self._seen("ui/select-to-write"), folder)
        self.writing.ask(work, self.alert_of(self.extract))

    def _extracted(self, view: OperatorView, folder: str) -> Callable[[], None]:
        """Write the minimal case; return what tells of it."""
        found = view.extract(folder)
        script = found.script.read_text(encoding="utf-8", errors="replace")
        html = (
            f'<div class="wb wb-op" role="status"><p>{escape(self.say.told(found))}</p>'
            f'<div class="wb-op-lines"><pre>{escape_whole(script)}</pre></div></div>'
        )
        return lambda: setattr(self.case, "value", html)

    def _allow(self) -> None:
        self.extract.disabled = self.writing.busy
        text = self.say("ui/writing") if self.writing.busy else ""
        self.said.value = status_html(text, "ui/writing")

    def still(self) -> str:
        if self.view_of is None:
            return super().still()
        shown = (self.above, self.planes.picture, self.worst, self.below)
        return str(self.style.value) + "".join(piece.html for piece in shown)

    @staticmethod
    def stage(bench: Workbench) -> Stage:
        if bench.comparison is None:
            return "pending", ""
        row = bench.comparison.selected
        if row is None:
            return "ready", ""
        return "done", (row.op_name or row.golden_op_name).rpartition("/")[2][:40]

    def close(self) -> None:
        self.planes.close()
        self.writing.close()
        super().close()
