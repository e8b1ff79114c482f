"""A form for one dump configuration: inputs, problems beside them, and what it all means, live."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import ipywidgets as W

from workbench.config.form.paths import lookup
from workbench.core.errors import WorkbenchError
from workbench.core.text import escape, escape_whole
from workbench.core.words.translate import ENGLISH, Say
from workbench.show.assets import read_asset
from workbench.ui.bench.code import config_code
from workbench.ui.widgets.alerts import close_tree, status_html
from workbench.ui.widgets.boxes import panel, styled
from workbench.ui.widgets.fields import UNSET, fields_of, problems_html
from workbench.ui.widgets.native import make_copy
from workbench.ui.widgets.still import display_with_still

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from workbench.config import Config, Context
    from workbench.core.problems import Problem
    from workbench.graph.control_flow import Network
    from workbench.ui.widgets.fields import Field

PREVIEWED = 100
"""Iterations that the preview looks at, at most: a tenth of a second for a network of twenty operators."""

_PROSE = "line-height:1.5;word-break:normal;overflow-wrap:anywhere;max-width:110ch"


class ConfigForm:
    """Inputs for every setting of a surface.

    ``config`` is the last form that the vendor would accept; ``draft`` is what the inputs say. Set
    ``config`` from a cell and the inputs follow. ``graph`` makes the preview possible; an error says why there is none.
    ``changed(form)`` is called after every change. ``say`` gives words of the screen in another language.
    """

    def __init__(
        self,
        config: Config,
        context: Context | None = None,
        *,
        graph: Network | WorkbenchError | None = None,
        iterations: int = 1,
        changed: Callable[[ConfigForm], None] | None = None,
        say: Say = ENGLISH,
    ) -> None:
        self._lock = threading.RLock()
        self._context, self._changed = config.context(context), changed
        self._graph, self._iterations = graph, iterations
        self._quiet, self._say = False, say
        self.draft = config
        self._config = config
        self.problems: tuple[Problem, ...] = ()
        self._update_still: Callable[[], None] | None = None
        self.fields: dict[str, Field] = {}
        self.view = self._build()
        self._show_draft()
        self.refresh()

    @property
    def config(self) -> Config:
        """The last accepted form."""
        return self._config

    @config.setter
    def config(self, config: Config) -> None:
        with self._lock:
            self.draft = config
            self._show_draft()
            self.refresh()

    @property
    def graph(self) -> Network | WorkbenchError | None:
        """The graph that the preview looks at, or why there is none."""
        return self._graph

    @graph.setter
    def graph(self, graph: Network | WorkbenchError | None) -> None:
        self._graph = graph
        self.refresh()

    @property
    def iterations(self) -> int:
        """How many iterations the run of the preview has."""
        return self._iterations

    @iterations.setter
    def iterations(self, iterations: int) -> None:
        self._iterations = iterations
        self.refresh()

    @property
    def refused(self) -> Problem | None:
        """Why the draft cannot be used: its first error; ``None`` if it can."""
        return next((p for p in self.problems if p.severity == "error"), None)

    def refresh(self) -> None:
        """Judge the draft anew and show the outcome."""
        with self._lock:
            self.problems = self.draft.check(self._context)
            if not self.refused:
                self._config = self.draft
            self._mark()
            self.text.value = _pre(self.draft.to_text())
            self.meaning.value = prose_html(self.draft.explain(self._context))
            self.preview.value = self._preview()
            self.code.text = self.to_code()
            self.listing.value = _pre(self.code.text)
        if self._update_still is not None:
            self._update_still()
        if self._changed is not None:
            self._changed(self)

    def to_code(self) -> str:
        """Python that makes the same form; running it gives an equal `Config`."""
        return f"import workbench as wb\n\nform = {config_code(self.draft)}\n"

    def close(self) -> None:
        """Remove every widget of the form from the kernel."""
        close_tree(self.view)

    def _build(self) -> W.VBox:
        surface = self.draft.surface
        for field in fields_of(surface.model, say=self._say):
            self.fields[field.path] = field
            field.observe(self._on_change(field))
        self.text, self.meaning, self.preview, self.listing = (W.HTML() for _ in range(4))
        self.others = W.HTML()
        self.code = make_copy("ui/copy-as-code", self._say)
        title = W.HTML(f"<h3>{escape(surface.title)}</h3>")
        inputs = W.VBox([title, *self._groups(), self.others])
        kind = "ui/json" if surface.language == "json" else "ui/script"
        titles = [self._say(code) for code in (kind, "ui/meaning", "ui/preview", "ui/code")]
        parts = [self.text, self.meaning, self.preview, W.VBox([self.code, self.listing])]
        tabs = styled(W.Tab(parts, titles=titles), "tabs")
        return panel([inputs, tabs])

    def _groups(self) -> list[W.Widget]:
        groups: dict[str, list[W.Widget]] = {}
        for path, field in self.fields.items():
            groups.setdefault(path.rpartition(".")[0], []).append(field.widget)
        boxes: list[W.Widget] = []
        for name, rows in groups.items():
            boxes.append(
                W.VBox([W.HTML(f"<h4>{escape(name or self._say('ui/general'))}</h4>"), *rows])
            )
        return boxes

    def _on_change(self, field: Field) -> Callable[[Any], None]:
        def handle(_change: Any) -> None:
            if self._quiet:
                return
            with self._lock:
                value = field.value
                path = field.path
                draft = self.draft
                self.draft = draft.unset(path) if value is UNSET else draft.set(path, value)
                self.refresh()

        return handle

    def _show_draft(self) -> None:
        """Put the draft into the inputs without taking that for the user's doing."""
        self._quiet = True
        try:
            for path, field in self.fields.items():
                field.show(lookup(self.draft.data, path, UNSET))
        finally:
            self._quiet = False

    def _mark(self) -> None:
        """Show every problem once: beside its field, or below if it has none."""
        homeless: list[Problem] = []
        found: dict[str, list[Problem]] = {path: [] for path in self.fields}
        for problem in self.problems:
            home = _home(problem.path, found)
            (found[home] if home else homeless).append(problem)
        for path, field in self.fields.items():
            field.mark(found[path])
        self.others.value = "".join(problems_html([problem], self._say) for problem in homeless)

    def _preview(self) -> str:
        if self.refused:
            return _pre(self._say("ui/no-preview"), "ui/no-preview")
        if self._graph is None:
            return _pre(self._say("ui/no-network"), "ui/no-network")
        if isinstance(self._graph, WorkbenchError):
            return _pre(self._say.told(self._graph), self._graph.code)
        from workbench.forecast.preview import preview

        count = min(self._iterations, PREVIEWED)
        shown = preview(self.draft, self._graph, context=self._context, iterations=count)
        first = ""
        if count < self._iterations:
            said = self._say("ui/preview-first", n=count, total=self._iterations)
            first = status_html(said, "ui/preview-first")
        return first + shown._repr_html_()

    def _still_html(self) -> str:
        return config_html(self.config, self._context, self.problems)

    def _ipython_display_(self) -> None:
        self._update_still = display_with_still(self.view, self._still_html, repr(self))

    def _repr_mimebundle_(self, **options: Any) -> Any:
        """Widget, and what stays of it where there are none."""
        bundle = self.view._repr_mimebundle_(**options) or {}
        return bundle | {"text/plain": repr(self), "text/html": self._still_html()}

    def __repr__(self) -> str:
        return f"<ConfigForm {self.draft.surface.name}: {self.refused or self._say('ui/accepted')}>"


def config_html(config: Config, context: Context, problems: Sequence[Problem]) -> str:
    """Return the static view of a form: its text, its meaning and its problems."""
    listed = "".join(problems_html([problem]) for problem in problems)
    style = f"<style>{read_asset('panels.css')}</style>"
    return f"{style}{_pre(config.to_text())}{prose_html(config.explain(context))}{listed}"


def prose_html(text: str) -> str:
    """Return an explanation as a paragraph and a list."""
    first, *rest = text.splitlines() or [""]
    items = "".join(f"<li>{escape(line.removeprefix('- '))}</li>" for line in rest)
    return f'<div style="{_PROSE}"><p>{escape(first)}</p><ul>{items}</ul></div>'


def _pre(text: str, code: str = "") -> str:
    said = f' data-code="{escape(code)}"' if code else ""
    return f'<pre class="workbench-text" tabindex="0"{said}>{escape_whole(text)}</pre>'


def _home(path: str, fields: dict[str, list[Problem]]) -> str:
    """Field that a problem belongs to: its path, or the innermost field that holds it."""
    while path:
        if path in fields:
            return path
        path = path[: max(path.rfind("."), path.rfind("["), 0)]
    return ""
