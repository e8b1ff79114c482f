"""What a rehearsal runs: the network, the device, its precision mode, the faults that are planted in it."""

from __future__ import annotations

from functools import partial
from html import escape
from typing import TYPE_CHECKING, Any

import ipywidgets as W

from workbench.core.errors import WorkbenchError
from workbench.graph.flow import Flow
from workbench.graph.models import MODELS
from workbench.graph.trainings import TRAININGS
from workbench.run.faults import FAULTS, check_settings, parse_fault
from workbench.run.modes import MODES
from workbench.run.profiles import PROFILES
from workbench.ui.alerts import alert_html
from workbench.ui.boxes import row
from workbench.ui.chooser import Chooser
from workbench.ui.own_graphs import graph_of, notebook_names, own_graphs
from workbench.ui.part import Part

if TYPE_CHECKING:
    from collections.abc import Sequence

    from workbench.graph.nodes import Op

_STYLE = {"description_width": "190px"}
_WIDE = {"width": "640px", "max_width": "98%"}
_SETTINGS = ("graph", "device", "precision_mode", "faults", "iterations", "seed", "ranks")
_NONE = ""


class RehearsalInputs(Part):
    """Inputs of the settings of a rehearsal, each with what is wrong beside it."""

    name, title = "rehearsal", "Rehearsal"

    def build(self) -> W.Widget:
        self.inputs = self._inputs()
        self.notes = {name: W.HTML() for name in self.inputs}
        self.file = Chooser(self.say("model file"), self.say, suffixes=(".onnx", ".py"))
        self.own = W.Dropdown(
            description=self.say("from this notebook"), style=_STYLE, layout=_WIDE
        )
        self.kind = W.Dropdown(
            description=self.say("kind of fault"), options=list(FAULTS), style=_STYLE, layout=_WIDE
        )
        self.operator = W.Combobox(description=self.say("in operator"), style=_STYLE, layout=_WIDE)
        self.settings = W.Text(description=self.say("with"), style=_STYLE, layout=_WIDE)
        self.meaning = W.HTML()
        self.add = W.Button(description=self.say("Add fault"))
        self.fault_note = W.HTML()
        self._connect()
        rows = [row([widget, self.notes[name]]) for name, widget in self.inputs.items()]
        builder = W.VBox([self.kind, self.meaning, self.operator, self.settings])
        builder.children = (*builder.children, row([self.add, self.fault_note]))
        parts = [W.VBox([self.own, self.file.view]), builder]
        more = W.Accordion(parts, titles=[self.say("Other networks"), self.say("Plant a fault")])
        return W.VBox([*rows, more, self.alert.widget])

    def _connect(self) -> None:
        for name, widget in self.inputs.items():
            self.on(widget, partial(self._take, name))
        self.on(self.own, self._take_own)
        self.follow(self.file, "value", self._take_file)
        self.on(self.kind, self._explain)
        self.on_click(self.add, self._add)
        self.follow(self.bench, list(_SETTINGS), self.refresh)
        self._explain()

    def _inputs(self) -> dict[str, W.Widget]:
        modes = [(self.say("default of the device"), _NONE), *((mode, mode) for mode in MODES)]
        choices: dict[str, Any] = {"layout": _WIDE, "style": _STYLE}
        late = choices | {"continuous_update": False}
        words = {name: self.say(name.replace("_", " ")) for name in _SETTINGS}
        hint = "kind:operator:settings, " + self.say("one a line")
        return {
            "graph": W.Combobox(description=words["graph"], options=[*MODELS, *TRAININGS], **late),
            "device": W.Dropdown(description=words["device"], options=list(PROFILES), **choices),
            "precision_mode": W.Dropdown(
                description=words["precision_mode"], options=modes, **choices
            ),
            "iterations": W.Text(description=words["iterations"], **late),
            "seed": W.Text(description=words["seed"], **late),
            "ranks": W.Text(description=words["ranks"], **late),
            "faults": W.Textarea(description=words["faults"], placeholder=hint, rows=3, **late),
        }

    def _take(self, name: str) -> None:
        """Bring an input to the bench; what it refuses is said beside the input."""
        self.notes[name].value = ""
        if self.inputs[name].value == self._shown()[name]:
            return
        try:
            value = _value(name, self.inputs[name].value)
            if name == "faults":
                _check(value)
            setattr(self.bench, name, value)
            if name == "graph":
                self.bench.network  # noqa: B018  a graph that is none is said here
        except WorkbenchError as error:
            self.notes[name].value = alert_html(str(error))

    def _take_own(self) -> None:
        if self.own.value:
            names = notebook_names()
            self.bench.graph = graph_of(self.own.value, own_graphs(names)[self.own.value], names)

    def _take_file(self) -> None:
        if self.file.value:
            self.bench.graph = self.file.value

    def _explain(self) -> None:
        kind = FAULTS[self.kind.value]
        said = {"strength": kind.strength, "value": kind.value}
        text = "; ".join(f"{name}: {words}" for name, words in said.items() if words)
        self.meaning.value = f"<span>{escape(text)}</span>"

    def _add(self) -> None:
        self.fault_note.value = ""
        settings = self.settings.value.strip()
        text = f"{self.kind.value}:{self.operator.value.strip()}"
        try:
            faults = (*self.bench.faults, f"{text}:{settings}" if settings else text)
            _check(faults)
        except WorkbenchError as error:
            self.fault_note.value = alert_html(str(error))
            return
        self.bench.faults = faults

    def _ops(self) -> Sequence[Op]:
        network = self.bench.network
        blocks = network.graphs if isinstance(network, Flow) else (network,)
        return [op for block in blocks for op in block.ops]

    def refresh(self) -> None:
        """Bring the inputs up to date with the bench."""
        for name, value in self._shown().items():
            if self.inputs[name].value != value and not self.notes[name].value:
                self.inputs[name].value = value
        self.own.options = [_NONE, *own_graphs(notebook_names())]
        try:
            self.operator.options = [op.name for op in self._ops()]
        except WorkbenchError:
            self.operator.options = []

    def _shown(self) -> dict[str, str]:
        """What the inputs show of the bench."""
        bench = self.bench
        own = not isinstance(bench.graph, str)
        return {name: str(getattr(bench, name)) for name in _SETTINGS} | {
            "graph": bench.graph.name if own else bench.graph,
            "faults": "\n".join(map(str, bench.faults)),
            "precision_mode": bench.precision_mode or _NONE,
        }

    def close(self) -> None:
        self.file.close()
        super().close()


def _check(faults: Sequence[str]) -> None:
    """Refuse faults that no run would take, whatever its graph; raises GraphError."""
    for text in faults:
        check_settings(parse_fault(text))


def _value(name: str, text: str) -> Any:
    """What an input says, as the bench has it; raises WorkbenchError for what is no number."""
    if name == "faults":
        return tuple(line.strip() for line in text.splitlines() if line.strip())
    if name == "precision_mode":
        return text or None
    if name not in ("iterations", "seed", "ranks"):
        return text
    try:
        return int(text)
    except ValueError:
        raise WorkbenchError(f"{name} must be a whole number, got {text[:40]!r}") from None
