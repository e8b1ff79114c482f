"""Which widgets this kernel can make: those of anywidget, or plain ones in their place. Decided here alone.

anywidget is required, but a kernel may run in another environment than it was installed in, or have a version of it
that does not load.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import ipywidgets as W

from workbench.core.text import escape
from workbench.core.words.translate import ENGLISH, Say
from workbench.ui.widgets.plain import PlainCopy, PlainMap, PlainPieces, PlainSlider

if TYPE_CHECKING:
    from collections.abc import Callable

    from workbench.core.words.translate import Language
    from workbench.scale.job import JobResult
    from workbench.session.comparison import Comparison
    from workbench.ui.part import Part
    from workbench.ui.widgets.explorer import Explorer
    from workbench.ui.widgets.framed import Framed
    from workbench.ui.widgets.live import CopyButton, JobMap, Pieces, Slider

_QUIET = "margin:0 0 6px;color:var(--jp-ui-font-color2,#5a6472);line-height:1.4"


def lacks_anywidget() -> bool:
    """Whether anywidget cannot be used in this kernel."""
    try:
        import anywidget  # noqa: F401
    except Exception:  # not there, or of a version that does not fit what it needs
        return True
    return False


def make_copy(code: str, say: Say) -> CopyButton | PlainCopy:
    """Return what copies its ``text``; its label are the words of a code."""
    if lacks_anywidget():
        return PlainCopy(say(code))
    from workbench.ui.widgets.live import CopyButton

    return CopyButton(say(code), say("ui/copied"), say("ui/copy-forbidden"))


def make_slider(axis: int, label: str, last: int, say: Say = ENGLISH) -> Slider | PlainSlider:
    """Return what chooses a ``value`` from 0 to ``last`` along an ``axis``."""
    if lacks_anywidget():
        return PlainSlider(axis, label, last, say)
    from workbench.ui.widgets.live import Slider

    return Slider(axis, label, last)


def make_pieces(chosen: Callable[[str], None], say: Say = ENGLISH) -> Pieces | PlainPieces:
    """Return what shows ``html`` and calls back with the ``data-row`` of what was chosen in it.

    ``clickable`` says whether the HTML itself takes clicks.
    """
    if lacks_anywidget():
        return PlainPieces(chosen, say)
    from workbench.ui.widgets.live import Pieces

    return Pieces(chosen)


def make_map(
    job: JobResult, chosen: Callable[[int, int], None], say: Say = ENGLISH
) -> JobMap | PlainMap:
    """Return the units of a job as a map, which calls back with rank and iteration of the one to be opened."""
    if lacks_anywidget():
        return PlainMap(job, chosen, say)
    from workbench.ui.widgets.live import JobMap

    return JobMap(job, chosen, say)


def make_explorer(
    comparison: Comparison, *, fallback: bool = False, language: Language = "en"
) -> Explorer | Framed:
    """Return plot, table and details of a comparison."""
    if fallback or lacks_anywidget():
        from workbench.ui.widgets.framed import Framed

        return Framed(comparison, language)
    from workbench.ui.widgets.explorer import Explorer

    return Explorer(comparison, language)


def tell_what_is_missing(part: Part) -> None:
    """Say above a panel that its widgets are plain ones, and how to get the others."""
    if not lacks_anywidget():
        return
    line = W.HTML()

    def write() -> None:
        text = part.say("ui/no-anywidget")
        line.value = f'<p role="note" style="{_QUIET}">{escape(text)}</p>'

    write()
    part.follow(part.bench, "language", write)
    part.view = W.VBox([line, part.view])
