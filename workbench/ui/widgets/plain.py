"""Plain ipywidgets in the place of those of `workbench.ui.widgets.live`, for kernels without anywidget.

They have the same attributes, and every click has an equivalent.
"""

from __future__ import annotations

from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any, ClassVar

import ipywidgets as W
import traitlets

from workbench.core.text import escape, escape_whole, shorten
from workbench.core.words.translate import ENGLISH, Say
from workbench.scale.heatmap import axes_of
from workbench.scale.report import picture_svg
from workbench.ui.widgets.alerts import status_html
from workbench.ui.widgets.boxes import row, styled

if TYPE_CHECKING:
    from collections.abc import Callable

    from workbench.scale.job import JobResult

MOST = 500
"""Choices that are listed at once; a filter finds the others."""

_LABEL = 120
_INLINE = ("b", "bdi", "code", "span", "strong", "wbr")
_AREA = (
    "box-sizing:border-box;width:640px;max-width:100%;font:12px/1.4 var(--jp-code-font-family,monospace);"
    "background:var(--jp-layout-color2,#f3f4f6);color:var(--jp-ui-font-color1,#1d2530)"
)


class PlainCopy(W.VBox):
    """Shows ``text`` to be selected and copied by hand."""

    label = traitlets.Unicode("")
    text = traitlets.Unicode("")

    def __init__(self, label: str) -> None:
        self.toggle = W.ToggleButton(description=label, layout={"width": "auto"})
        self.area = W.HTML(layout={"display": "none"})
        super().__init__([self.toggle, self.area], label=label)
        self.toggle.observe(self._turn, "value")
        self._write()

    @traitlets.observe("text")
    def _write(self, _change: Any = None) -> None:
        # the notebook takes keys for itself that are pressed in an input that cannot be written to
        rows = min(max(self.text.count("\n") + 1, 2), 12)
        self.area.value = (
            f'<textarea readonly data-lm-suppress-shortcuts="true" spellcheck="false" rows="{rows}" '
            f'aria-label="{escape(self.label)}" style="{_AREA}">\n{escape_whole(self.text)}</textarea>'
        )

    def _turn(self, _change: Any) -> None:
        self.area.layout.display = "" if self.toggle.value else "none"


class PlainSlider(W.BoundedIntText):
    """A number from 0 to ``max``."""

    def __init__(self, axis: int, label: str, last: int, say: Say = ENGLISH) -> None:
        style = {"description_width": "initial"}
        words = say("ui/axis-range", label=label, last=last)
        super().__init__(description=words, min=0, max=last, style=style)
        self.axis = axis


class PlainPieces(W.VBox):
    """Shows ``html``, which must be escaped already; a list beside it chooses what carries a ``data-row``."""

    html = traitlets.Unicode("")
    clickable: ClassVar[bool] = False

    def __init__(self, chosen: Callable[[str], None], say: Say = ENGLISH) -> None:
        self._chosen, self._say, self._quiet = chosen, say, False
        self._found: dict[str, str] = {}
        self._selected = ""
        self.search = W.Text(description=say("ui/filter"), continuous_update=False)
        self.chooser = W.Dropdown(description=say("ui/choose"), options=[("–", "")])
        self.counted, self.shown = W.HTML(), W.HTML()
        self.choice = row(
            [*(styled(one, "input") for one in (self.search, self.chooser)), self.counted]
        )
        super().__init__([self.choice, self.shown])
        self.search.observe(self._list, "value")
        self.chooser.observe(self._take, "value")
        self._list()

    @traitlets.observe("html")
    def _draw(self, _change: Any) -> None:
        self.shown.value = self.html
        self._found, self._selected = marked_rows(self.html)
        self._list()

    def _list(self, _change: Any = None) -> None:
        """Offer what was found and fits the filter, as many as a browser bears; how many there are is said."""
        self.choice.layout.display = "" if self._found else "none"
        self.search.layout.display = "" if len(self._found) > MOST else "none"
        words = self.search.value.lower().split() if len(self._found) > MOST else []
        fits = [(text, n) for n, text in self._found.items() if _has(text, words)]
        told = self._say("ui/first-of", n=MOST, total=len(fits)) if len(fits) > MOST else ""
        self.counted.value = status_html(told, "ui/first-of")
        options = [("–", ""), *((shorten(text, _LABEL), n) for text, n in fits[:MOST])]
        self._quiet = True
        try:
            self.chooser.options = options
            here = any(self._selected == number for _, number in options)
            self.chooser.value = self._selected if here else ""
        finally:
            self._quiet = False

    def _take(self, _change: Any) -> None:
        if self.chooser.value and not self._quiet:
            self._chosen(self.chooser.value)


class PlainMap(W.VBox):
    """The units of a job as a picture; calls back with rank and iteration of the one that is chosen beside it."""

    def __init__(
        self, job: JobResult, chosen: Callable[[int, int], None], say: Say = ENGLISH
    ) -> None:
        ranks, iterations = axes_of(job)
        self.rank, self.iteration = (
            W.Dropdown(description=say(code), options=numbers)
            for code, numbers in (("job/map-rank", ranks), ("job/map-iteration", iterations))
        )
        self.rank.layout.display = "" if job.axes is None else "none"
        self.button = W.Button(description=say("job/map-open"))
        self.button.on_click(lambda _: chosen(self.rank.value, self.iteration.value))
        picture = W.HTML(f'<div style="max-width:900px">{picture_svg(job)}</div>')
        choice = row([styled(self.rank, "short"), styled(self.iteration, "short"), self.button])
        super().__init__([picture, choice])


def marked_rows(html: str) -> tuple[dict[str, str], str]:
    """Return what carries a ``data-row``, with its words, and the one that is selected; empty if none is.

    Words are those of ``data-words``, else of a title in it, else all of its text. The first of several with one
    number stands for it.

    >>> marked_rows('<p data-row="3" aria-selected="true">a <b>bias</b></p><p data-row="4"><title>c</title>d</p>')
    ({'3': 'a bias', '4': 'c'}, '3')
    """
    reader = _Rows()
    if "data-row" in html:
        reader.feed(html)
        reader.close()
    return reader.found, reader.selected


class _Rows(HTMLParser):
    """Collects the words of what is marked; that is never nested."""

    def __init__(self) -> None:
        super().__init__()
        self.found: dict[str, str] = {}
        self.selected = ""
        self._open: tuple[str, str, str] | None = None  # tag, number, words given
        self._depth = 0
        self._text: list[str] = []
        self._title: list[str] | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self._part(tag)
        if self._open is not None:
            self._depth += tag == self._open[0]
        elif given.get("data-row"):
            number = str(given["data-row"])
            self._open, self._depth = (tag, number, given.get("data-words") or ""), 1
            self._text = []
            if given.get("aria-selected") == "true":
                self.selected = self.selected or number

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Pass over what holds nothing."""

    def handle_data(self, data: str) -> None:
        self._text.append(data)

    def handle_endtag(self, tag: str) -> None:
        if self._open is None:
            return
        self._part(tag)
        if tag == "title":
            self._title, self._text = self._text, []
        self._depth -= tag == self._open[0]
        if not self._depth:
            self._end(*self._open)

    def _part(self, tag: str) -> None:
        """Let no two words run together that stand in two places."""
        if tag not in _INLINE:
            self._text.append(" ")

    def _end(self, _tag: str, number: str, given: str) -> None:
        words = given or "".join(self._title or ()) or "".join(self._text)
        self.found.setdefault(number, " ".join(words.split()))
        self._open = self._title = None


def _has(text: str, words: list[str]) -> bool:
    low = text.lower()
    return all(word in low for word in words)
