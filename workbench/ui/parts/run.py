"""Run: rehearse or compare two trees in the background, with progress and a way to stop it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import ipywidgets as W

from workbench.compare.profiles import PROFILES as VERDICTS
from workbench.core.text import escape, shorten
from workbench.show.summary import summary
from workbench.ui.alerts import MOST, alert_html, error_text
from workbench.ui.boxes import panel, styled
from workbench.ui.code import code_html
from workbench.ui.job import compared
from workbench.ui.native import make_copy
from workbench.ui.part import Part
from workbench.ui.parts.rehearsal import RehearsalInputs
from workbench.ui.parts.trees import TreeInputs

if TYPE_CHECKING:
    from collections.abc import Callable

    from workbench.ui.app import Workbench
    from workbench.ui.job import Job

_SHOWN = (
    *("config", "refused", "rehearsing", "graph", "device", "precision_mode"),
    *("faults", "iterations", "seed", "ranks", "trees", "profile"),
)
"""What the code and the reason depend on."""


class Run(Part):
    """What runs, a button that starts it, and how far it is."""

    name, title = "run", "Run"

    def build(self) -> W.Widget:
        self.rehearsal, self.trees = RehearsalInputs(self.bench), TreeInputs(self.bench)
        ways = [
            (self.say("Rehearse on the simulated NPU"), True),
            (self.say("Compare two trees"), False),
        ]
        self.way = W.ToggleButtons(options=ways, value=self.bench.rehearsing)
        self.way.style.button_width = "auto"
        self.way.description = self.say("what to do")
        self.profile = W.Dropdown(description=self.say("profile"), options=list(VERDICTS))
        self.progress = W.FloatProgress(description=self.say("progress"), min=0.0, max=1.0)
        for widget in (self.way, self.profile, self.progress):
            styled(widget, "input")
        self.status, self.reason, self.listing = styled(W.HTML(), "below"), W.HTML(), W.HTML()
        self.run = W.Button(description=self.say("Run comparison"), button_style="primary")
        self.cancel = W.Button(description=self.say("Cancel run"), disabled=True)
        self.code = make_copy(self.say("Copy as code"))
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
        for alert in (*self.rehearsal.alerts, *self.trees.alerts):
            self.follow(alert.widget, "value", self._allow)

    def refresh(self) -> None:
        """Bring the inputs, the code and the buttons up to date with the bench."""
        self.way.value, self.profile.value = self.bench.rehearsing, self.bench.profile
        for part, shown in (
            (self.rehearsal, self.bench.rehearsing),
            (self.trees, not self.bench.rehearsing),
        ):
            part.view.layout.display = "" if shown else "none"
        self.code.text = self.bench.to_code()
        self.listing.value = code_html(self.say("The code"), self.code.text)
        self._allow()

    @staticmethod
    def stage(bench: Workbench) -> tuple[str, str]:
        state = bench.runner.state
        why = bench.reason()
        if state == "ready" and bench.comparison is not None:
            state = "done"
        return ("to do", why) if state == "ready" and why else (state, "")

    def _why(self) -> str:
        """Why nothing can run; empty if it can. What an input refused is not what would run."""
        alerts = (self.rehearsal if self.bench.rehearsing else self.trees).alerts
        return self.bench.reason() or next((alert.text for alert in alerts if alert.text), "")

    def _allow(self) -> None:
        """Allow a run, or say why there can be none."""
        why, busy = self._why(), self.bench.runner.busy
        self.run.disabled = busy or bool(why)
        self.cancel.disabled = not busy
        text = f"{self.say('cannot run')}: {shorten(why, MOST)}" if why else ""
        self.reason.value = f'<span role="status">{escape(text)}</span>' if text else ""

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
        self.status.value = _words(job, self.say)
        if job.state == "done":
            self.progress.value = 1.0
        self._allow()

    def close(self) -> None:
        self.bench.runner.cancel()
        self.rehearsal.close()
        self.trees.close()
        super().close()


def _words(job: Job, say: Callable[[str], str]) -> str:
    if job.error is not None:
        return alert_html(f"{say('failed')}: {error_text(job.error)}")
    done = f"{job.done:,} {say('tensors')}, " if job.done else ""
    text = f"{say('stopping' if job.cancelled else job.state)}: {done}{job.text}"
    if job.state == "done":
        text = f"{say('done in')} {job.seconds:.1f} s: {summary(job.result.result)}"
    elif job.state == "cancelled":
        text = f"{say('cancelled after')} {job.seconds:.1f} s: {_kept(job, say)}"
    return f'<span role="status">{escape(text)}</span>'


def _kept(job: Job, say: Callable[[str], str]) -> str:
    """What stays of a cancelled job."""
    if job.result is None:
        return say("nothing was compared by then, and the result before it stays")
    return f"{say('the result is partial')}; {summary(job.result.result)}"
