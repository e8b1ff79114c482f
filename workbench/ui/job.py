"""A job in the notebook: the map of its units, and the comparison of the one that was chosen, made when it is."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import ipywidgets as W

from workbench.core.long_work import Stopped, stoppable
from workbench.core.words import Message
from workbench.show.html import head_html
from workbench.ui.background import Background
from workbench.ui.widgets.alerts import Alert, close_tree, status_html
from workbench.ui.widgets.boxes import panel, styled
from workbench.ui.widgets.bundle import with_html
from workbench.ui.widgets.native import make_map
from workbench.ui.widgets.still import display_with_still

if TYPE_CHECKING:
    from collections.abc import Callable

    from workbench.scale.job import JobResult
    from workbench.session.comparison import Comparison


class JobExplorer(W.VBox):
    """The units of a job as a map; a click or Enter on one compares it and shows its explorer below.

    ``comparison`` is the one that is shown, that of ``place`` (rank and iteration); ``None`` before any was chosen, and
    after one could not be made: then ``alert`` says why. It is made beside the cells, one at a time; what runs while
    another unit is chosen is stopped, and of those that were chosen only the last is compared.
    """

    def __init__(self, job: JobResult) -> None:
        self.job = job
        self.comparison: Comparison | None = None
        self.place: tuple[int, int] | None = None
        self._asked: tuple[int, int] | None = None
        self.alert = Alert()
        self._lock = threading.RLock()
        self.background = Background(self._lock, self.alert)
        self.map = make_map(job, self.show)
        self.status = styled(W.HTML(status_html("")), "heading")
        self.answer, self.below = W.HTML(), W.VBox()
        self._explorer: Any = None
        parts = [self.map, self.status, self.alert.widget, self.answer, self.below]
        super().__init__([panel(parts)])

    def show(self, rank: int, iteration: int) -> None:
        """Begin to compare a unit, as a click on it does; it is shown as soon as it is compared."""
        place = rank, iteration
        with self._lock:  # what was chosen before may be shown right now
            self._asked = place
            self.alert.clear()
            self._say("opening", place)
            self.background.ask(lambda: self._made(place))

    def to_code(self) -> str:
        """Python that gives the comparison that is shown, of ``job``; nothing where there is none."""
        return "" if self.comparison is None else "job.comparison({}, {})".format(*self.place or ())

    def _made(self, place: tuple[int, int]) -> Callable[[], None]:
        """Compare a unit; return what shows it, or why it could not be compared."""

        def overtaken() -> bool:
            return place != self._asked

        try:
            with stoppable(overtaken):
                made = self.job.comparison(*place, cancelled=overtaken)
        except Stopped:
            return lambda: None
        except Exception as error:
            failed = error
            return lambda: self._fail(place, failed)
        return lambda: self._show(place, made)

    def _show(self, place: tuple[int, int], made: Comparison) -> None:
        if place != self._asked:  # another one was chosen meanwhile
            return
        self._drop()
        self.comparison, self.place, self._explorer = made, place, made.explore()
        self._say("opened", place)
        self.answer.value = head_html(made.result)
        self.below.children = [self._explorer]

    def _fail(self, place: tuple[int, int], error: Exception) -> None:
        if place != self._asked:
            return
        self._drop()
        self.status.value = status_html("")
        self.alert.show(error)

    def _say(self, what: str, place: tuple[int, int]) -> None:
        joined = "-joined" if self.job.axes is not None else ""
        code = f"job/map-{what}{joined}"
        said = str(Message(code, rank=place[0], iteration=place[1]))
        self.status.value = status_html(said, code)

    def _drop(self) -> None:
        """Let go of the comparison that was shown."""
        self.answer.value, self.below.children = "", []
        if self._explorer is not None:
            close_tree(self._explorer)
        self.comparison = self.place = self._explorer = None

    def close(self) -> None:
        """Show nothing of what runs any more, and leave the kernel."""
        if self.comm is not None:  # it is closed once more when it is collected
            self._asked = None
            self.background.close()
            self._drop()
            for child in self.children:
                close_tree(child)
            self.layout.close()
        super().close()

    def _ipython_display_(self) -> None:
        display_with_still(self, self.job._repr_html_, repr(self.job))

    def _repr_mimebundle_(self, **options: Any) -> Any:
        return with_html(super()._repr_mimebundle_(**options), self.job)
