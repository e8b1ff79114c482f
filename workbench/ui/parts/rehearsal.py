"""What a rehearsal runs: the network, the device, its precision mode, the faults that are planted in it."""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING, Any

import ipywidgets as W

from workbench.core.errors import WorkbenchError
from workbench.core.text import editable, escape
from workbench.graph.control_flow import ControlFlow
from workbench.graph.marks import mark_operators
from workbench.network.models import MODELS, TRAININGS
from workbench.npu.faults import FAULTS
from workbench.npu.precision import MODES
from workbench.npu.profiles import PROFILES
from workbench.simulation.inputs import is_model
from workbench.ui.bench.own_graphs import graph_of, notebook_names, own_graphs
from workbench.ui.part import Part
from workbench.ui.widgets.alerts import status_html
from workbench.ui.widgets.boxes import fold, row, styled
from workbench.ui.widgets.chooser import Chooser

if TYPE_CHECKING:
    from collections.abc import Sequence

    from workbench.graph.graph import Op
    from workbench.ui.widgets.alerts import Alert

_SETTINGS = {
    "graph": "ui/network",
    "device": "ui/device",
    "precision_mode": "ui/precision-mode",
    "faults": "ui/faults",
    "set_dump": "ui/marks",
    "iterations": "ui/iterations",
    "seed": "ui/seed",
    "ranks": "ui/ranks",
}
"""Setting → code of its label."""
_LISTS = ("faults", "set_dump")
"""Settings of one entry a line."""

_NONE = ""


class RehearsalInputs(Part):
    """Inputs of the settings of a rehearsal; what one of them refuses changes nothing and stands beside it."""

    name, title = "rehearsal", "ui/simulate"

    def build(self) -> W.Widget:
        # made with the first model: few have one, and all would wait for it
        self.fed: W.Textarea | None = None
        self._chosen: Any = None
        self._model = ""
        self.inputs = self._inputs()
        self.file = Chooser(self.say("ui/model-file"), self.say, suffixes=(".onnx", ".py"))
        self.own = W.Dropdown(description=self.say("ui/from-notebook"))
        self.kind = W.Dropdown(description=self.say("ui/fault"), options=list(FAULTS))
        self.operator = W.Combobox(description=self.say("ui/operator"))
        self.settings = W.Text(description=self.say("ui/parameters"))
        for widget in (*self.inputs.values(), self.own, self.kind, self.operator, self.settings):
            styled(widget, "input")
        self.meaning = styled(W.HTML(), "below")
        self.add = W.Button(description=self.say("ui/add-fault"))
        self._connect()
        self.left = styled(W.HTML(), "below")
        rows = [self.row(widget) for widget in self.inputs.values()]
        rows.insert([*self.inputs].index("iterations") + 1, self.left)
        fault = (self.kind, self.operator, self.settings, self.add)
        add = styled(row([self.add, styled(self.note(*fault), "beside")]), "below")
        builder = W.VBox([self.kind, self.meaning, self.operator, self.settings, add])
        others = fold(self.say("ui/other-networks"), W.VBox([self.row(self.own), self.file.view]))
        return W.VBox(
            [self.alert.widget, *rows, others, fold(self.say("ui/inject-fault"), builder)]
        )

    def _connect(self) -> None:
        for name, widget in self.inputs.items():
            self.on(widget, partial(self._take, name))
        self.on(self.own, self._take_own)
        self.on(self.file, self._take_file)
        self.on(self.kind, self._explain)
        for control in (self.operator, self.settings):
            self.on(control)
        self.on_click(self.add, self._add)
        self.follow(self.bench, [*_SETTINGS, "inputs"], self.refresh)
        self.follow(self.bench, "config", self._tell_left)
        self._explain()

    def _inputs(self) -> dict[str, W.Widget]:
        modes = [(self.say("ui/device-default"), _NONE), *((mode, mode) for mode in MODES)]
        late: dict[str, Any] = {"continuous_update": False}
        words = {name: self.say(code) for name, code in _SETTINGS.items()}
        hint = self.say("ui/faults-example")
        return {
            "graph": W.Combobox(description=words["graph"], options=[*MODELS, *TRAININGS], **late),
            "device": W.Dropdown(description=words["device"], options=list(PROFILES)),
            "precision_mode": W.Dropdown(description=words["precision_mode"], options=modes),
            "iterations": W.Text(description=words["iterations"], **late),
            "seed": W.Text(description=words["seed"], **late),
            "ranks": W.Text(description=words["ranks"], **late),
            "faults": W.Textarea(description=words["faults"], placeholder=hint, rows=3, **late),
        }

    def _take(self, name: str) -> None:
        """Bring an input to the bench."""
        if self.inputs[name].value == self._shown()[name]:
            return
        value = _value(name, self.inputs[name].value)
        if name in _LISTS:
            given = {editable(str(one)): one for one in getattr(self.bench, name)}
            value = tuple(given.get(text, text) for text in value)
        if name == "set_dump":
            mark_operators(self.bench.network, value)  # raises for what marks nothing
        if name == "graph":
            self._take_graph(value)
        else:
            setattr(self.bench, name, value)

    def _take_graph(self, graph: Any) -> None:
        """Bring a network to the bench, if it is one, whichever control names it."""
        self._model = graph if isinstance(graph, str) and is_model(graph) else ""
        self._show_fed()
        self._take_network(graph, self._lines() if self._model else ())

    def _take_network(self, graph: Any, inputs: tuple[str, ...]) -> None:
        """Bring a network and what it is fed to the bench, if it can be fed so."""
        self.bench.look_up(graph, inputs)
        with self.bench.hold_trait_notifications():
            self.bench.graph, self.bench.inputs = graph, inputs
        for control in (self.inputs["graph"], self.own, self.file):
            self.alert_of(control).clear()
        if self.fed is not None:
            self.alert_of(self.fed).clear()

    def _take_fed(self) -> None:
        """Bring inputs to the bench, with the model that could not be read without them."""
        graph, lines = self._model or self.bench.graph, self._lines()
        if (graph, lines) != (self.bench.graph, self.bench.inputs):
            self._take_network(graph, lines)

    def _lines(self) -> tuple[str, ...]:
        """What is fed, as it stands there."""
        text = "" if self.fed is None else self.fed.value
        given = {editable(line): line for line in self.bench.inputs}
        lines = (line.strip() for line in text.splitlines() if line.strip())
        return tuple(given.get(line, line) for line in lines)

    def _show_fed(self) -> None:
        """Show where inputs are given if the network is a model, or if some are given."""
        shown = bool(self._model or self.bench.inputs)
        if self.fed is None and shown:
            self.fed = W.Textarea(
                description=self.say("ui/golden-inputs"),
                placeholder=self.say("ui/golden-inputs-example"),
                rows=2,
                continuous_update=False,
            )
            below = self.row(styled(self.fed, "input"))
            self.on(self.fed, self._take_fed)
            alert, graph, *others = self.view.children
            self.view.children = (alert, graph, below, *others)
        if self.fed is not None:
            self.fed.layout.display = "" if shown else "none"

    def _take_own(self) -> None:
        if self.own.value:
            names = notebook_names()
            self._take_graph(graph_of(self.own.value, own_graphs(names)[self.own.value], names))

    def _take_file(self) -> None:
        if self.file.value:
            self._take_graph(self.file.value)

    def _explain(self) -> None:
        kind = FAULTS[self.kind.value]
        said = {"strength": kind.strength, "value": kind.value}
        told = [self.say("ui/fault-setting", name=n, meaning=m) for n, m in said.items() if m]
        text = "; ".join(told)
        self.meaning.value = f"<span>{escape(text)}</span>"

    def _add(self) -> None:
        settings = self.settings.value.strip()
        name = self.operator.value.strip()
        name = next((op.name for op in self._ops() if editable(op.name) == name), name)
        text = f"{self.kind.value}:{name}"
        self.bench.faults = (*self.bench.faults, f"{text}:{settings}" if settings else text)

    def _ops(self) -> Sequence[Op]:
        network = self.bench.network
        blocks = network.graphs if isinstance(network, ControlFlow) else (network,)
        return [op for block in blocks for op in block.ops]

    def refresh(self) -> None:
        """Bring the inputs up to date with the bench."""
        self._show_marks()
        for name, value in self._shown().items():
            if name in self.inputs:
                self.fill(self.inputs[name], value)
        self._fill_fed()
        self.own.options = [_NONE, *own_graphs(notebook_names())]
        try:
            self.operator.options = [editable(op.name) for op in self._ops()]
        except WorkbenchError:
            self.operator.options = []
        self._tell_left()

    def _fill_fed(self) -> None:
        """Show what the bench feeds; what was typed for a model that is not the bench's yet stays."""
        graph = self.bench.graph
        if graph is not self._chosen:
            self._chosen = graph
            self._model = graph if isinstance(graph, str) and is_model(graph) else ""
        self._show_fed()
        if self.fed is not None and self._model in ("", graph):
            self.fill(self.fed, "\n".join(map(editable, self.bench.inputs)))

    def _tell_left(self) -> None:
        """Say beside the number of iterations how many of them are dumped, if not all are."""
        left = self.bench.left_out()
        self.left.value = "" if left is None else status_html(self.say.told(left), left.code)
        self._show_marks()

    def _show_marks(self) -> None:
        """Show where operators are marked if the configuration dumps those."""
        field = self.inputs.get("set_dump")
        if field is None and self.bench.dumps_marked:
            field = W.Textarea(
                description=self.say(_SETTINGS["set_dump"]),
                placeholder=self.say("ui/marks-example"),
                value=self._shown()["set_dump"],
                rows=2,
                continuous_update=False,
            )
            self.inputs["set_dump"] = field
            below = self.row(styled(field, "input"))
            self.on(field, partial(self._take, "set_dump"))
            *above, others, faults = self.view.children
            self.view.children = (*above, below, others, faults)
        if field is not None:
            field.layout.display = "" if self.bench.dumps_marked else "none"

    def _shown(self) -> dict[str, str]:
        """What the inputs show of the bench."""
        bench = self.bench
        own = not isinstance(bench.graph, str)
        return {name: str(getattr(bench, name)) for name in _SETTINGS} | {
            "graph": editable(bench.graph.name if own else bench.graph),
            "faults": "\n".join(editable(str(fault)) for fault in bench.faults),
            "set_dump": "\n".join(map(editable, bench.set_dump)),
            "precision_mode": bench.precision_mode or _NONE,
        }

    @property
    def alerts(self) -> list[Alert]:
        """Where it is said what the inputs refuse."""
        fed = () if self.fed is None else (self.fed,)
        controls = (*self.inputs.values(), *fed, self.own, self.file)
        return [self.alert_of(control) for control in controls]

    def close(self) -> None:
        self.file.close()
        super().close()


def _value(name: str, text: str) -> Any:
    """What an input says, as the bench has it; raises WorkbenchError for what is no number."""
    if name in _LISTS:
        return tuple(line.strip() for line in text.splitlines() if line.strip())
    if name == "precision_mode":
        return text or None
    if name not in ("iterations", "seed", "ranks"):
        return os.path.expanduser(text.strip())
    try:
        return int(text)
    except ValueError:
        raise WorkbenchError("ui/not-a-number", name=name, got=text[:40]) from None
