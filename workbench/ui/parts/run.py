"""Run: rehearse or compare two trees in the background, with progress and a way to stop it."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

import ipywidgets as W

from workbench.compare.profiles import PROFILES as VERDICTS
from workbench.ui.alerts import alert_html
from workbench.ui.boxes import row
from workbench.ui.copy import CopyButton
from workbench.ui.part import Part
from workbench.ui.parts.rehearsal import RehearsalInputs
from workbench.ui.parts.trees import TreeInputs

if TYPE_CHECKING:
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
        self.profile = W.Dropdown(
            description=self.say("profile"),
            options=list(VERDICTS),
            style={"description_width": "190px"},
        )
        self.progress = W.FloatProgress(
            description=self.say("progress"), min=0.0, max=1.0, style={"description_width": "190px"}
        )
        self.status, self.reason, self.listing = W.HTML(), W.HTML(), W.HTML()
        self.run = W.Button(description=self.say("Run comparison"), button_style="primary")
        self.cancel = W.Button(description=self.say("Cancel run"), disabled=True)
        self.code = CopyButton(self.say("Copy as code"))
        self._connect()
        buttons = row([self.run, self.cancel, self.reason])
        below = [buttons, self.progress, self.status, self.alert.widget, self.code, self.listing]
        inputs = [self.way, self.rehearsal.view, self.trees.view, self.profile]
        return W.VBox([*inputs, *below])

    def _connect(self) -> None:
        self.on_click(self.run, self._start)
        self.on_click(self.cancel, self.bench.runner.cancel)
        self.on(self.way, lambda: setattr(self.bench, "rehearsing", self.way.value))
        self.on(self.profile, lambda: setattr(self.bench, "profile", self.profile.value))
        self.follow(self.bench, list(_SHOWN), self.refresh)
        self.follow(self.bench.runner, ["state", "progress"], self._show_job)

    def refresh(self) -> None:
        """Bring the inputs, the code and the buttons up to date with the bench."""
        self.way.value, self.profile.value = self.bench.rehearsing, self.bench.profile
        for part, shown in (
            (self.rehearsal, self.bench.rehearsing),
            (self.trees, not self.bench.rehearsing),
        ):
            part.view.layout.display = "" if shown else "none"
        self.code.text = self.bench.to_code()
        text = f"<summary>{self.say('The code')}</summary><pre>{escape(self.code.text)}</pre>"
        self.listing.value = f"<details>{text}</details>"
        self._allow()

    @property
    def state(self) -> tuple[str, str]:
        state = self.bench.runner.state
        why = self.bench.reason()
        if state == "ready" and self.bench.comparison is not None:
            state = "done"
        return ("to do", why) if state == "ready" and why else (state, "")

    def _allow(self) -> None:
        """Allow a run, or say why there can be none."""
        why, busy = self.bench.reason(), self.bench.runner.busy
        self.run.disabled = busy or bool(why)
        self.cancel.disabled = not busy
        text = f"cannot run: {why}" if why else ""
        self.reason.value = f'<span role="status">{escape(text)}</span>' if text else ""

    def _start(self) -> None:
        self.bench.runner.start(self._work)

    def _work(self, job: Job) -> Any:
        return self.bench.run(report=job.report)

    def _show_job(self) -> None:
        job = self.bench.runner.job
        if job is None:
            return
        if job.total:
            self.progress.value = job.done / job.total
        elif job.state == "running":
            self.progress.value = (job.done % 200) / 200  # the number is not known yet
        self.status.value = _words(job, self.bench.comparison)
        if job.state == "done":
            self.progress.value = 1.0
        self._allow()

    def close(self) -> None:
        self.bench.runner.cancel()
        self.rehearsal.close()
        self.trees.close()
        super().close()


def _words(job: Job, comparison: Any) -> str:
    if job.state == "failed":
        return alert_html(f"failed: {type(job.error).__name__}: {job.error}")
    text = f"{job.state}: {job.done} tensors, {job.text}"
    if job.state == "done" and comparison is not None:
        text = f"done in {job.seconds:.1f} s: {len(comparison.rows)} tensors compared"
    return f'<span role="status">{escape(text)}</span>'
