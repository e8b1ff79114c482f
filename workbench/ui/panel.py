"""The panel of a `Workbench`: configure, run in the background, see where the runs part."""

from __future__ import annotations

import threading
from html import escape
from typing import TYPE_CHECKING, Any

import ipywidgets as W

from workbench.core.errors import WorkbenchError
from workbench.graph.models import MODELS
from workbench.graph.nodes import Graph
from workbench.graph.trainings import TRAININGS
from workbench.run.modes import MODES
from workbench.run.profiles import PROFILES
from workbench.ui.alerts import Alert, alert_html, close_tree
from workbench.ui.copy import CopyButton
from workbench.ui.form import ConfigForm
from workbench.ui.job import Job

if TYPE_CHECKING:
    from workbench.pipeline.compare import Comparison
    from workbench.ui.app import Workbench

_STYLE = {"description_width": "190px"}
_WIDE = {"width": "480px"}
_STATES = {"running": "running", "done": "done", "cancelled": "cancelled", "failed": "failed"}


class Panel:
    """Widgets over a `Workbench`; ``bench`` holds the state, ``job`` the present or last run."""

    def __init__(self, bench: Workbench) -> None:
        self.bench = bench
        self.job: Job | None = None
        self.alert = Alert()
        self._lock = threading.RLock()
        self._inputs()
        self.progress = W.FloatProgress(min=0.0, max=1.0, layout=_WIDE, style=_STYLE)
        self.progress.description = "progress"
        self.status, self.reason, self.answer = W.HTML(), W.HTML(), W.HTML()
        self.plot, self.listing = W.HTML(), W.HTML()
        self.run = W.Button(description="Run comparison", button_style="primary")
        self.cancel = W.Button(description="Cancel run", disabled=True)
        self.run.on_click(self.alert.guard(self._on_run))
        self.cancel.on_click(self.alert.guard(self._on_cancel))
        self.code = CopyButton("Copy run as code")
        self.form = ConfigForm(bench.config, changed=self._on_form)
        self.view = self._build()
        self._take_inputs()

    def close(self) -> None:
        """Cancel what runs and remove every widget from the kernel."""
        if self.job is not None:
            self.job.cancel()
        close_tree(self.view)

    def _inputs(self) -> None:
        bench, shared = self.bench, {"layout": _WIDE, "style": _STYLE}
        own = isinstance(bench.graph, Graph)
        name = bench.graph.name if isinstance(bench.graph, Graph) else bench.graph
        self.graph = W.Combobox(
            description="graph", value=name, options=[*MODELS, *TRAININGS], disabled=own, **shared
        )
        self.graph.continuous_update = False
        self.device = W.Dropdown(
            description="device", options=list(PROFILES), value=bench.device, **shared
        )
        modes = [("default of the device", ""), *((mode, mode) for mode in MODES)]
        self.mode = W.Dropdown(
            description="precision_mode", options=modes, value=bench.precision_mode or "", **shared
        )
        self.faults = W.Text(
            description="faults",
            value=" ".join(bench.faults),
            placeholder="kind:operator:settings, separated by blanks",
            continuous_update=False,
            **shared,
        )
        self.iterations = W.BoundedIntText(
            description="iterations", value=bench.iterations, min=1, max=100_000, **shared
        )
        self.seed = W.IntText(description="seed", value=bench.seed, **shared)
        for widget in self._settings():
            widget.observe(self.alert.guard(self._on_input), "value")

    def _settings(self) -> tuple[W.Widget, ...]:
        return (self.graph, self.device, self.mode, self.faults, self.iterations, self.seed)

    def _build(self) -> W.VBox:
        run = W.VBox(
            [
                W.HTML("<h3>Run</h3>"),
                *self._settings(),
                W.HBox([self.run, self.cancel, self.reason]),
                self.progress,
                self.status,
                self.alert.widget,
                self.code,
                self.listing,
            ]
        )
        answer = W.VBox([W.HTML("<h3>Divergence</h3>"), self.plot, self.answer])
        return W.VBox([self.form.view, run, answer])

    def _on_input(self, _change: Any) -> None:
        self._take_inputs()

    def _take_inputs(self) -> None:
        """Bring the bench, the preview and the run button up to date with the inputs."""
        with self._lock:
            bench = self.bench
            own = isinstance(bench.graph, Graph)
            changed = not own and (bench.graph, bench.seed) != (self.graph.value, self.seed.value)
            if not own:
                bench.graph = self.graph.value
            bench.device, bench.precision_mode = self.device.value, self.mode.value or None
            bench.faults = tuple(self.faults.value.split())
            bench.iterations, bench.seed = self.iterations.value, self.seed.value
            if changed or self.form.graph is None:
                self._show_graph()
            self._update()

    def _show_graph(self) -> None:
        self.form.graph = None
        try:
            self.form.graph = self.bench.load_graph()
        except WorkbenchError as error:
            self.alert.show(error)

    def _on_form(self, form: ConfigForm) -> None:
        with self._lock:
            self.bench.config = form.config
            if hasattr(self, "view"):
                self._update()

    def _update(self) -> None:
        """Allow a run, or say why there can be none."""
        why = self.form.refused or self.bench.reason()
        if not why and self.form.graph is None:
            why = "there is no such graph"
        busy = self.job is not None and self.job.state == "running"
        self.run.disabled = busy or bool(why)
        self.cancel.disabled = not busy
        text = f"cannot run: {why}" if why else ""
        self.reason.value = f'<span role="status">{escape(text)}</span>' if text else ""
        self.code.text = self.bench.to_code()
        text = escape(self.code.text)
        self.listing.value = f"<details><summary>The code</summary><pre>{text}</pre></details>"

    def _on_run(self, _button: Any) -> None:
        if self.job is not None and self.job.state == "running":
            return
        self.job = Job(self._work, self._on_worker)
        self.job.start()

    def _on_cancel(self, _button: Any) -> None:
        if self.job is not None:
            self.job.cancel()

    def _work(self, job: Job) -> Comparison:
        return self.bench.run(report=job.report)

    def _on_worker(self, job: Job) -> None:
        """Show how far the run is, or why that cannot be shown: nobody sees what a thread raises."""
        try:
            self._on_job(job)
        except Exception as error:
            self.alert.show(error)

    def _on_job(self, job: Job) -> None:
        with self._lock:
            self.progress.value = job.done / job.total if job.total else self.progress.value
            words = f"{_STATES[job.state]}: {job.done} tensors, {job.text}"
            if job.state == "done":
                self._show(job.result)
                words = f"done in {job.seconds:.1f} s: {len(job.result.rows)} tensors compared"
            elif job.state == "running" and not job.total:
                self.progress.value = (job.done % 200) / 200  # the number is not known yet
            bad = job.state == "failed"
            text = f"failed: {type(job.error).__name__}: {job.error}" if bad else words
            self.status.value = (
                alert_html(text) if bad else f'<span role="status">{escape(text)}</span>'
            )
            self._update()

    def _show(self, comparison: Comparison) -> None:
        from workbench.show.plots import divergence_svg

        self.progress.value = 1.0
        self.answer.value = comparison._repr_html_()
        self.plot.value = divergence_svg(comparison.result)

    def _repr_mimebundle_(self, **options: Any) -> Any:
        """Widget, and what stays of it where there are none."""
        bundle = self.view._repr_mimebundle_(**options) or {}
        bundle["text/plain"] = repr(self.bench)
        bundle["text/html"] = self.bench._repr_html_()
        return bundle

    def __repr__(self) -> str:
        return f"<Panel of {self.bench!r}>"
