"""Run: rehearse or compare two trees in the background, with progress and a way to stop it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import ipywidgets as W

from workbench.comparison.measure.profiles import PROFILES as VERDICTS
from workbench.core.text import shorten
from workbench.core.words import Message
from workbench.show.summary import summary
from workbench.simulation.events import ITERATIONS
from workbench.ui.bench.code import code_html
from workbench.ui.bench.job import compared
from workbench.ui.part import STATES, Part
from workbench.ui.parts.rehearsal import RehearsalInputs
from workbench.ui.parts.trees import TreeInputs
from workbench.ui.widgets.alerts import MOST, alert_html, error_code, error_text, status_html
from workbench.ui.widgets.boxes import panel, styled
from workbench.ui.widgets.native import make_copy

if TYPE_CHECKING:
    from workbench.comparison.result import Result
    from workbench.core.words.translate import Say
    from workbench.ui.bench.app import Workbench
    from workbench.ui.bench.job import Job
    from workbench.ui.part import Stage
    from workbench.ui.widgets.alerts import Alert

_SHOWN = (
    *("config", "refused", "rehearsing", "graph", "device", "precision_mode"),
    *("faults", "set_dump", "inputs", "iterations", "seed", "ranks", "trees", "profile"),
)
"""What the code and the reason depend on."""


class Run(Part):
    """What runs, a button that starts it, and how far it is."""

    name, title = "run", "ui/run"

    def build(self) -> W.Widget:
        self.rehearsal, self.trees = RehearsalInputs(self.bench), TreeInputs(self.bench)
        ways = [
            (self.say("ui/simulate"), True),
            (self.say("ui/compare-dumps"), False),
        ]
        self.way = W.ToggleButtons(options=ways, value=self.bench.rehearsing)
        self.way.style.button_width = "auto"
        self.way.description = self.say("ui/mode")
        self.profile = W.Dropdown(
            description=self.say("ui/verdict-profile"), options=list(VERDICTS)
        )
        self.progress = W.FloatProgress(description=self.say("ui/progress"), min=0.0, max=1.0)
        for widget in (self.way, self.profile, self.progress):
            styled(widget, "input")
        self.status, self.reason, self.listing = styled(W.HTML(), "below"), W.HTML(), W.HTML()
        self.run = W.Button(description=self.say("ui/run-comparison"), button_style="primary")
        self.cancel = W.Button(description=self.say("ui/cancel-run"), disabled=True)
        self.code = make_copy("ui/copy-as-code", self.say)
        self._connect()
        buttons = styled(self.row(self.run, self.cancel, self.reason), "below")
        below = [buttons, self.progress, self.status, self.code, self.listing]
        inputs = [self.rehearsal.view, self.trees.view, self.row(self.profile)]
        return panel([self.alert.widget, self.row(self.way), *inputs, *below])

    def _connect(self) -> None:
        self.on_click(self.run, self._start)
        self.on_click(self.cancel, self._stop)
        self.on(self.way, lambda: setattr(self.bench, "rehearsing", self.way.value))
        self.on(self.profile, lambda: setattr(self.bench, "profile", self.profile.value))
        self.follow(self.bench, list(_SHOWN), self.refresh)
        self.follow(self.bench.runner, ["state", "progress"], self._show_job)
        self._followed: set[Alert] = set()
        self.follow(self.rehearsal.view, "children", self._follow_alerts)
        self._follow_alerts()

    def _follow_alerts(self) -> None:
        """Hear of what the inputs refuse, also of an input that came later."""
        alerts = {*self.rehearsal.alerts, *self.trees.alerts}
        for alert in alerts - self._followed:
            self.follow(alert.widget, "value", self._allow)
        self._followed |= alerts

    def refresh(self) -> None:
        """Bring the inputs, the code and the buttons up to date with the bench."""
        self.way.value, self.profile.value = self.bench.rehearsing, self.bench.profile
        for part, shown in (
            (self.rehearsal, self.bench.rehearsing),
            (self.trees, not self.bench.rehearsing),
        ):
            part.view.layout.display = "" if shown else "none"
        self.code.text = self.bench.to_code()
        self.listing.value = code_html(self.say("ui/the-code"), self.code.text)
        self._allow()

    @staticmethod
    def stage(bench: Workbench) -> Stage:
        state = bench.runner.state
        if state == "ready" and bench.comparison is not None:
            state = "done"
        if state != "ready" or not bench.reason():
            return state, ""
        return "pending", Message("ui/input-invalid" if bench.rehearsing else "ui/input-missing")

    def _why(self) -> tuple[str, str]:
        """Code and words of why nothing can run; empty if it can. What an input refused is not what would run."""
        alerts = (self.rehearsal if self.bench.rehearsing else self.trees).alerts
        why = self.bench.reason()
        if isinstance(why, Message):
            return why.code, self.say.told(why)
        if why is not None:
            return "ui/not-ready", self.say("ui/not-ready", why=self.say.told(why))
        wrong = next((alert for alert in alerts if alert.text), None)
        return (wrong.code, wrong.text) if wrong is not None else ("", "")

    def _allow(self) -> None:
        """Allow a run, or say why there can be none."""
        (code, why), busy = self._why(), self.bench.runner.busy
        self.run.disabled = busy or bool(why)
        self.cancel.disabled = not busy
        self.reason.value = status_html(shorten(why, MOST), code) if why else ""

    def _start(self) -> None:
        self.bench.runner.start(self._work)

    def _stop(self) -> None:
        """Ask what runs to stop, and say so at once: what was compared by then is still to be judged."""
        self.bench.runner.cancel()
        with self.lock:
            self._show_job()

    def _work(self, job: Job) -> Any:
        return compared(job, self.bench.run)

    def _show_job(self) -> None:
        job = self.bench.runner.job
        if job is None:
            return
        if job.total:
            self.progress.value = job.done / job.total
        elif job.state == "running":
            self.progress.value = (job.done % 200) / 200  # the number is not known yet
        self.status.value = _told(job, self.say)
        if job.state == "done":
            self.progress.value = 1.0
        self._allow()

    def close(self) -> None:
        self.bench.runner.cancel()
        self.rehearsal.close()
        self.trees.close()
        super().close()


def _told(job: Job, say: Say) -> str:
    """Return how far a job is, or how it ended, as HTML."""
    if job.error is not None:
        told = say("ui/run-failed", why=error_text(job.error, say))
        return alert_html(told, error_code(job.error))
    message = _ended(job) or _running(job)
    return status_html(say.told(message), message.code)


def _running(job: Job) -> Message:
    state = Message("ui/stopping" if job.cancelled else STATES[job.state][1])
    if not job.text:
        return state
    if not job.done:
        return Message("ui/run-state", state=state, step=job.text)
    return Message("ui/run-state-tensors", state=state, done=job.done, step=job.text)


def _ended(job: Job) -> Message | None:
    """What came of a job, also of one that was cancelled."""
    if job.state not in ("done", "cancelled"):
        return None
    if job.result is None:
        return Message("ui/nothing-kept")
    found = _summary(job.result.result)
    if job.state == "done":
        return Message("ui/run-done", seconds=job.seconds, summary=found)
    kept = Message("ui/partial-kept", summary=found)
    return Message("ui/run-cancelled", seconds=job.seconds, kept=kept)


def _summary(result: Result) -> Message:
    """What was compared, and which iterations were not dumped."""
    left = result.facts.get(ITERATIONS)
    found = summary(result)
    return found if left is None else Message("ui/summary-noted", summary=found, note=left)
