"""Golden data of an ONNX model: made here, and taken for the golden dump of the comparison."""

from __future__ import annotations

import os
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import ipywidgets as W

from workbench._values import NamedTuple
from workbench.core.errors import WorkbenchError
from workbench.core.words import Message
from workbench.dump.new_folder import check_empty
from workbench.golden_data import given_in, golden
from workbench.graph_files.formats import read_graph
from workbench.ui.bench.job import Runner
from workbench.ui.part import Part
from workbench.ui.widgets.alerts import alert_html, error_code, error_text, status_html
from workbench.ui.widgets.boxes import row, styled

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from workbench.golden_data import Golden
    from workbench.ui.bench.job import Job


class _Wanted(NamedTuple):
    """What is to be made: of which model, of what, where."""

    model: str
    inputs: Mapping[str, Path]
    shapes: Mapping[str, Sequence[int]]
    out: str


class GoldenInputs(Part):
    """A model, what it is fed, where its tensors go, and a button that makes them."""

    name, title = "golden", "ui/make-golden"

    def build(self) -> W.Widget:
        self.runner = Runner()
        self.model = W.Text(description=self.say("ui/golden-onnx"), continuous_update=False)
        self.inputs = W.Textarea(
            description=self.say("ui/golden-inputs"),
            placeholder=self.say("ui/golden-inputs-example"),
            rows=2,
            continuous_update=False,
        )
        self.out = W.Text(description=self.say("ui/golden-folder"), continuous_update=False)
        self.make = W.Button(description=self.say("ui/make-golden-data"))
        self.cancel = W.Button(description=self.say("ui/cancel-golden"), disabled=True)
        self.status = styled(W.HTML(), "below")
        self._connect()
        inputs = [styled(one, "input") for one in (self.model, self.inputs, self.out)]
        note = styled(self.note(*inputs, self.make, self.cancel), "beside")
        buttons = styled(row([self.make, self.cancel, note]), "below")
        return W.VBox([self.alert.widget, *inputs, buttons, self.status])

    def _connect(self) -> None:
        self.on(self.model, self._look_at_model)
        self.on(self.out, self._look_at_folder)
        self.on(self.inputs, self._look_at_inputs)
        self.on_click(self.make, self._start)
        self.on_click(self.cancel, self.runner.cancel)
        self.follow(self.runner, ["state", "progress"], self._show)

    def _look_at_model(self) -> None:
        if self.model.value:
            read_graph(_path(self.model))

    def _look_at_folder(self) -> None:
        if self.out.value:
            check_empty(Path(_path(self.out)))

    def _look_at_inputs(self) -> None:
        self._wanted()

    def _wanted(self) -> _Wanted:
        """What the inputs say; raises WorkbenchError for a line that says nothing."""
        files, shapes = given_in(self.inputs.value.splitlines())
        return _Wanted(_path(self.model), files, shapes, _path(self.out))

    def _start(self) -> None:
        wanted = self._wanted()
        if not wanted.model or not wanted.out:
            raise WorkbenchError("ui/golden-lacking")
        self._look_at_model()
        self._look_at_folder()
        self.runner.start(partial(self._work, wanted))

    def _work(self, wanted: _Wanted, job: Job) -> tuple[Golden, list[Message]]:
        said: list[Message] = []
        made = golden(
            wanted.model,
            wanted.inputs,
            wanted.out,
            shapes=wanted.shapes,
            seed=self.bench.seed,
            progress=job.report,
            report=said.append,
        )
        trees = self.bench.trees
        self.bench.trees = replace(trees, golden=str(made.path), golden_graph=wanted.model)
        return made, said

    def _show(self) -> None:
        job, busy = self.runner.job, self.runner.busy
        self.make.disabled, self.cancel.disabled = busy, not busy
        if job is not None and job.error is not None:
            told = self.say("ui/run-failed", why=error_text(job.error, self.say))
            self.status.value = alert_html(told, error_code(job.error))
        elif job is not None:
            said = [status_html(self.say.told(one), one.code) for one in _told(job)]
            self.status.value = "".join(said)

    def close(self) -> None:
        self.runner.cancel()
        super().close()


def _path(control: W.Text) -> str:
    return os.path.expanduser(str(control.value).strip())


def _told(job: Job) -> list[Message]:
    """What is said of a job: how far it is, or what came of it."""
    if job.state == "cancelled":
        return [Message("ui/golden-cancelled")]
    if job.state != "done" and not job.text:
        return [Message("ui/running")]
    if job.state != "done":
        return [Message("ui/golden-running", done=job.done, total=job.total, step=job.text)]
    made, said = job.result
    values = {"tensors": made.tensors, "seconds": job.seconds, "engine": made.engine}
    left = [Message("golden/not-computed", nodes=len(made.missing), missing=made.missing)]
    return [Message("ui/golden-done", **values), *(left if made.missing else ()), *said]
