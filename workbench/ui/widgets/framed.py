"""The explorer in a frame, for notebooks without anywidget."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

import ipywidgets as W

from workbench.core.text import editable
from workbench.core.words.translate import Say
from workbench.show.look.look import look_code
from workbench.show.report import explorer_page
from workbench.ui.widgets.alerts import Alert, close_tree
from workbench.ui.widgets.boxes import style_sheet, styled
from workbench.ui.widgets.bundle import with_html
from workbench.ui.widgets.still import display_with_still

if TYPE_CHECKING:
    from workbench.core.text import editable
    from workbench.core.words.translate import Language
    from workbench.session.comparison import Comparison


class Framed(W.VBox):
    """The same explorer, which knows nothing of Python; ``operator`` selects by name on both sides."""

    def __init__(self, comparison: Comparison, language: Language = "en") -> None:
        self.comparison, self.look = comparison, comparison.look
        say = Say(language)
        self.alert = Alert(say)
        names = (row.op_name or row.golden_op_name for row in comparison.rows)
        self._called = {editable(name): name for name in names}
        self.operator = W.Combobox(
            description=say("ui/operator"),
            options=[*self._called],
            continuous_update=False,
        )
        page = escape(explorer_page(comparison.result, language), quote=True)
        frame = W.HTML(
            f'<iframe title="{say("ui/divergence")}" sandbox="allow-scripts" '
            f'style="width:100%;height:1136px;border:0" srcdoc="{page}"></iframe>'
        )
        inputs = [styled(self.operator, "input"), self.alert.widget]
        super().__init__([*inputs, frame, style_sheet()])
        styled(self, "panel")
        self._show(None)
        self.look.observe(self._show, "selected")
        self.operator.observe(self.alert.guard(self._take), "value")

    def to_code(self) -> str:
        """Python that gives the rows that are shown."""
        return look_code(self.look)

    def _names(self) -> tuple[str, ...]:
        row = self.comparison.selected
        names = ("",) if row is None else (row.op_name or row.golden_op_name, row.golden_op_name)
        return tuple(map(editable, names))

    def _show(self, _change: Any) -> None:
        if self.operator.value not in self._names():
            self.operator.value = self._names()[0]

    def _take(self, _change: Any) -> None:
        text = self.operator.value
        if text not in ("", *self._names()):
            self.comparison.selected = self._called.get(text, text)

    def close(self) -> None:
        """Follow nothing any more, and leave the kernel."""
        if self.comm is not None:  # it is closed once more when it is collected
            self.look.unobserve(self._show, "selected")
            for child in self.children:
                close_tree(child)
            self.layout.close()
        super().close()

    def _ipython_display_(self) -> None:
        display_with_still(self, self.comparison._repr_html_, repr(self.comparison))

    def _repr_mimebundle_(self, **options: Any) -> Any:
        return with_html(super()._repr_mimebundle_(**options), self.comparison)
