"""Job: the map of a job of many ranks; a unit that is chosen is compared, and the other panels show it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import ipywidgets as W

from workbench.show.html import head_html
from workbench.ui.bench.code import code_html, job_code, unit_code
from workbench.ui.bench.job import compared
from workbench.ui.part import Part
from workbench.ui.widgets.alerts import alert_html, close_tree, error_code, error_text, status_html
from workbench.ui.widgets.boxes import panel, styled
from workbench.ui.widgets.chooser import Chooser
from workbench.ui.widgets.native import make_copy, make_map

if TYPE_CHECKING:
    from collections.abc import Callable

    from workbench.scale.job import JobResult
    from workbench.session.comparison import Comparison
    from workbench.ui.bench.app import Workbench
    from workbench.ui.bench.job import Job
    from workbench.ui.part import Stage

Place = tuple[int, int]


class JobPanel(Part):
    """The units of the bench's ``job`` as a map; a click or Enter on one makes it the bench's ``comparison``.

    It is compared as every run of the bench is: one at a time, with progress on the Run panel. Of units that are
    chosen while one is compared, that one is stopped and the last is compared.
    """

    name, title = "job", "ui/job"

    def build(self) -> W.Widget:
        self.job: JobResult | None = None
        self.place: Place | None = None
        self._shown: Comparison | None = None
        self._taken: JobResult | None = None
        self._waits: Place | None = None
        self._running: Job | None = None
        self.folder = Chooser(self.say("ui/job-folder"), self.say)
        self.again = W.Button(description=self.say("ui/job-read-again"))
        self.cancel = W.Button(description=self.say("ui/cancel-run"), disabled=True)
        self.answer, self.listing = W.HTML(), W.HTML()
        self.status, self.found = styled(W.HTML(status_html("")), "heading"), W.HTML()
        self.map = W.VBox()
        self.code = make_copy("ui/copy-as-code", self.say)
        self.on(self.folder, self._take)
        self.on_click(self.again, self.refresh)
        self.on_click(self.cancel, self._stop)
        self.follow(self.bench, "job", self.update)
        self.follow(self.bench, "comparison", self._show_unit)
        self.follow(self.bench.runner, "state", self._follow_run)
        buttons = styled(self.row(self.again, self.cancel), "below")
        below = [self.status, self.found, self.code, self.listing]
        return panel([self.alert.widget, self.folder.view, buttons, self.answer, self.map, *below])

    @staticmethod
    def stage(bench: Workbench) -> Stage:
        return ("ready", "") if bench.job else ("pending", "")

    def _take(self) -> None:
        """Take a folder that somebody chose, if it is one of a job; else it is said beside it why not."""
        folder = self.folder.value
        if folder and folder != self.bench.job:
            self.background.ask(lambda: self._chosen(folder), self.folder.alert)
        else:
            self.bench.job = folder

    def _chosen(self, folder: str) -> Callable[[], None]:
        found = self.bench.read_job(folder)

        def take() -> None:
            self._taken = found
            self.bench.job = folder

        return take

    def refresh(self) -> None:
        """Read the job of the bench anew, and show its map."""
        self.fill(self.folder, self.bench.job)
        self._show_code()
        known, self._taken = self._taken, None
        if self.bench.job and known is None:
            self.background.ask(self._read)
        else:
            self._show(known)

    def _read(self) -> Callable[[], None]:
        """Read the job; return what shows it."""
        try:
            found = self.bench.read_job()
        except BaseException:
            with self.lock:
                self._show(None)
            raise
        return lambda: self._show(found)

    def _show(self, job: JobResult | None) -> None:
        for child in self.map.children:
            close_tree(child)
        self.alert.clear()
        self.job, self.place = job, None
        self.again.disabled = not self.bench.job
        self.answer.value = "" if job is None else _said(job)
        self.map.children = [] if job is None else [make_map(job, self.choose, self.say)]
        if job is None:
            self.status.value = status_html(self.say("ui/no-job"), "ui/no-job")
        else:
            self.status.value = status_html(self.say("ui/job-choose"), "ui/job-choose")
        self._show_unit()

    def choose(self, rank: int, iteration: int) -> None:
        """Begin to compare a unit, as a click on it does."""
        with self.lock:
            self._waits = rank, iteration
            if self.bench.runner.busy:
                if self._running is not None:  # another unit; what else runs is waited for
                    self._running.cancel()
                self._tell("opening", self._waits)
            else:
                self._begin()

    def _begin(self) -> None:
        place, self._waits = self._waits, None
        if place is not None:
            self._tell("opening", place)
            self._running = self.bench.runner.start(lambda job: self._compare(job, place))
            self.cancel.disabled = False

    def _compare(self, job: Job, place: Place) -> Comparison:
        read = self.job

        def work(**asked: Any) -> Comparison:
            return self.bench.compare_unit(*place, job=read, **asked)

        found = compared(job, work)
        with self.lock:
            self.place, self._shown = place, found
            self._show_unit()
        return found

    def _stop(self) -> None:
        self._waits = None
        if self._running is not None:
            self._running.cancel()

    def _follow_run(self) -> None:
        """Hear that a run ended: what of it is to be said here, and begin with the unit that waits."""
        runner = self.bench.runner
        if runner.busy:
            return
        ended, self._running = self._running, None
        self.cancel.disabled = True
        if self._waits is not None:
            self._begin()
        elif ended is not None and ended.error is not None:
            why = error_text(ended.error, self.say)
            self.status.value = alert_html(why, error_code(ended.error))
        elif ended is not None and ended.state == "cancelled":
            self.status.value = status_html(self.say("ui/cancelled"), "ui/cancelled")

    def _tell(self, what: str, place: Place) -> None:
        joined = "-joined" if self.job is not None and self.job.axes is not None else ""
        code = f"job/map-{what}{joined}"
        said = self.say(code, rank=place[0], iteration=place[1])
        self.status.value = status_html(said, code)

    def _show_unit(self) -> None:
        """Say what the unit that was chosen shows; nothing once the bench has another comparison."""
        if self.place is None or self._shown is not self.bench.comparison:
            self.place, self.found.value = None, ""
        elif self._shown is not None:
            self._tell("opened", self.place)
            self.found.value = head_html(self._shown.result, self.bench.language)
        self._show_code()

    def _unit_code(self) -> str:
        if self.job is None or self.place is None:
            return ""
        return unit_code(self.job.folder, *self.place)

    def to_code(self) -> str:
        """Python that gives the comparison that is shown, or the job."""
        return self._unit_code() or (job_code(self.bench.job) if self.bench.job else "")

    def _show_code(self) -> None:
        self.code.text = self.to_code()
        shown = bool(self.code.text)
        self.code.layout.display = "" if shown else "none"
        self.listing.value = code_html(self.say("ui/the-code"), self.code.text) if shown else ""

    def close(self) -> None:
        self._stop()
        self.folder.close()
        super().close()


def _said(job: JobResult) -> str:
    """Return what was found, in one sentence, as HTML."""
    return status_html(str(job.sentence), job.sentence.code)
