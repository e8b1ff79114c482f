"""Run: rehearse or compare two trees in the background, with progress and a way to stop it."""

from __future__ import annotations

from functools import partial
from html import escape
from typing import TYPE_CHECKING, Any

import ipywidgets as W

from workbench.graph.models import MODELS
from workbench.graph.trainings import TRAININGS
from workbench.run.modes import MODES
from workbench.run.profiles import PROFILES
from workbench.ui.alerts import alert_html
from workbench.ui.copy import CopyButton
from workbench.ui.part import Part

if TYPE_CHECKING:
    from workbench.ui.job import Job

_STYLE = {"description_width": "190px"}
_WIDE = {"width": "480px"}
_SETTINGS = ("graph", "device", "precision_mode", "faults", "iterations", "seed")


class Run(Part):
    """What runs, a button that starts it, and how far it is."""

    name, title = "run", "Run"

    def build(self) -> W.Widget:
        self.inputs = self._inputs()
        self.progress = W.FloatProgress(
            description=self.say("progress"), min=0.0, max=1.0, layout=_WIDE, style=_STYLE
        )
        self.status, self.reason, self.listing = W.HTML(), W.HTML(), W.HTML()
        self.run = W.Button(description=self.say("Run comparison"), button_style="primary")
        self.cancel = W.Button(description=self.say("Cancel run"), disabled=True)
        self.code = CopyButton(self.say("Copy as code"))
        self.on_click(self.run, self._start)
        self.on_click(self.cancel, self.bench.runner.cancel)
        for name, widget in self.inputs.items():
            self.on(widget, partial(self._take, name))
        self.follow(
            self.bench, [*_SETTINGS, "config", "refused", "trees", "rehearsing"], self.refresh
        )
        self.follow(self.bench.runner, ["state", "progress"], self._show_job)
        buttons = W.HBox([self.run, self.cancel, self.reason])
        below = [buttons, self.progress, self.status, self.alert.widget, self.code, self.listing]
        return W.VBox([*self.inputs.values(), *below])

    def _inputs(self) -> dict[str, W.Widget]:
        modes = [(self.say("default of the device"), ""), *((mode, mode) for mode in MODES)]
        choices: dict[str, Any] = {"layout": _WIDE, "style": _STYLE}
        late = choices | {"continuous_update": False}
        words = {name: self.say(name.replace("_", " ")) for name in _SETTINGS}
        return {
            "graph": W.Combobox(description=words["graph"], options=[*MODELS, *TRAININGS], **late),
            "device": W.Dropdown(description=words["device"], options=list(PROFILES), **choices),
            "precision_mode": W.Dropdown(
                description=words["precision_mode"], options=modes, **choices
            ),
            "faults": W.Text(
                description=words["faults"], placeholder="kind:operator:settings …", **late
            ),
            "iterations": W.BoundedIntText(
                description=words["iterations"], value=1, min=1, max=100_000, **choices
            ),
            "seed": W.IntText(description=words["seed"], **choices),
        }

    def _take(self, name: str) -> None:
        """Bring an input to the bench."""
        value: Any = self.inputs[name].value
        if name == "faults":
            value = tuple(value.split())
        if name == "precision_mode":
            value = value or None
        if name != "graph" or isinstance(self.bench.graph, str):
            setattr(self.bench, name, value)

    def refresh(self) -> None:
        """Bring the inputs, the code and the buttons up to date with the bench."""
        bench = self.bench
        own = not isinstance(bench.graph, str)
        shown = {name: getattr(bench, name) for name in _SETTINGS} | {
            "graph": bench.graph.name if own else bench.graph,
            "faults": " ".join(bench.faults),
            "precision_mode": bench.precision_mode or "",
        }
        for name, value in shown.items():
            if self.inputs[name].value != value:
                self.inputs[name].value = value
        self.inputs["graph"].disabled = own
        self.code.text = bench.to_code()
        text = f"<summary>{self.say('The code')}</summary><pre>{escape(self.code.text)}</pre>"
        self.listing.value = f"<details>{text}</details>"
        self._allow()

    @property
    def state(self) -> tuple[str, str]:
        state = self.bench.runner.state
        why = self.bench.reason()
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
        super().close()


def _words(job: Job, comparison: Any) -> str:
    if job.state == "failed":
        return alert_html(f"failed: {type(job.error).__name__}: {job.error}")
    text = f"{job.state}: {job.done} tensors, {job.text}"
    if job.state == "done" and comparison is not None:
        text = f"done in {job.seconds:.1f} s: {len(comparison.rows)} tensors compared"
    return f'<span role="status">{escape(text)}</span>'
