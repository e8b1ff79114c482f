"""Every action of the workbench without a browser: what the kernel computes, and what it sends."""

from __future__ import annotations

import json
import time
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from ipywidgets.widgets import widget

from workbench.session.comparison import Comparison
from workbench.ui import background, part
from workbench.ui.shell import PARTS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from workbench.ui.bench.app import Workbench
    from workbench.ui.shell import Shell

    Step = tuple[str, str, Callable[[], Any]]


@dataclass(frozen=True, slots=True)
class Took:
    """What an action took: processor seconds of the kernel, and bytes that went to the page."""

    panel: str
    action: str
    seconds: float
    sent: int


class Wire:
    """A connection of a widget to nobody, which counts the bytes that are sent."""

    def __init__(self, counted: list[int]) -> None:
        self.counted, self.comm_id = counted, str(id(self))

    def send(self, data: Any = None, metadata: Any = None, buffers: Any = None) -> None:
        """Count a message: JSON, and what goes beside it as bytes."""
        beside = sum(memoryview(one).nbytes for one in buffers or ())
        self.counted[0] += len(json.dumps(data, default=str)) + beside

    def on_msg(self, _call: Any) -> None:
        """Nobody answers."""

    def close(self, *_arguments: Any, **_options: Any) -> None:
        """Nobody hears."""


@contextmanager
def counting() -> Iterator[list[int]]:
    """Count the bytes that widgets send in here; what panels do in the background is done at once."""
    counted, create, settle = [0], widget.comm.create_comm, part.SETTLE
    beside = background.start

    def made(data: Any = None, buffers: Any = None, **_options: Any) -> Wire:
        wire = Wire(counted)
        wire.send(data, buffers=buffers)
        return wire

    widget.comm.create_comm, part.SETTLE = made, 0.0
    background.start = lambda run: run()
    try:
        yield counted
    finally:
        widget.comm.create_comm, part.SETTLE = create, settle
        background.start = beside


def steps(bench: Workbench, shell: Shell, folder: Path) -> Iterator[Step]:
    """Panel, action, and what does it; in this order."""
    for name, actions in (
        ("configure", ()),
        ("run", ()),
        ("job", ()),
        ("align", aligning(bench, shell)),
        ("divergence", diverging(bench, shell)),
        ("operator", operating(bench, shell)),
        ("source", ()),
        ("report", reporting(shell, folder)),
    ):
        turn = partial(setattr, shell.tabs, "selected_index", list(PARTS).index(name))
        yield name, "open", turn
        for action, call in actions:
            yield name, action, call
    rows = len(bench.comparison.rows)
    turn = partial(setattr, shell.tabs, "selected_index", list(PARTS).index("source"))
    yield "source", "open again", turn
    yield "source", "choose an operator", partial(setattr, bench.comparison, "selected", rows // 3)
    known = bench.comparison
    other = Comparison(known.result, known._flow, known.provenance)
    yield "all", "another comparison comes", partial(setattr, bench, "comparison", other)
    yield "all", "another language", partial(setattr, bench, "language", "zh")


def aligning(bench: Workbench, shell: Shell) -> Iterator[tuple[str, Callable[[], Any]]]:
    """What is done in Align."""
    align: Any = shell.parts["align"]
    hand = align.hand
    name = next(row.op_name for row in bench.comparison.rows if row.op_name)

    def pair() -> None:
        for names in hand.names.values():
            names.value = names.options[0][1:]
        hand.buttons["pair"].click()

    yield "filter", partial(setattr, align.search, "value", "matmul query")
    yield "filter away", partial(setattr, align.search, "value", "")
    yield "differing only", partial(setattr, align.kind, "value", "bad")
    yield "next page", align.forth.click
    yield "list every operator", partial(setattr, hand.which, "value", hand.which.options[1][1])
    yield "filter the lists", partial(setattr, hand.search, "value", name.rpartition("/")[0])
    yield "match by hand", pair
    for key in ("undo", "redo", "undo"):
        yield key, hand.buttons[key].click


def diverging(bench: Workbench, shell: Shell) -> Iterator[tuple[str, Callable[[], Any]]]:
    """What is done in Divergence."""
    divergence: Any = shell.parts["divergence"]
    yield "filter", partial(setattr, bench.comparison.look, "query", "matmul")
    yield "filter away", partial(setattr, bench.comparison.look, "query", "")
    yield "worst error", divergence.worst.click
    yield "first divergence", divergence.first.click


def operating(bench: Workbench, shell: Shell) -> Iterator[tuple[str, Callable[[], Any]]]:
    """What is done in Operator."""
    operator: Any = shell.parts["operator"]
    last = max(n for n, row in enumerate(bench.comparison.rows) if row.match_rule)
    yield "next failing", operator.forth.click
    yield "previous failing", operator.back.click
    yield "choose the last one", partial(setattr, bench.comparison, "selected", last)
    yield "pin", operator.pin.click


def reporting(shell: Shell, folder: Path) -> Iterator[tuple[str, Callable[[], Any]]]:
    """What is done in Report."""
    report: Any = shell.parts["report"]

    def write(kind: str) -> None:
        report.paths[kind].value = str(folder / f"report.{kind}")
        report.writers[kind].click()

    def keep() -> None:
        report.session.value = str(folder / "bench.session.json")
        report.keep.click()

    def pin() -> None:
        pins = report.inputs["pins"]
        pins.value = tuple(name for _, name in pins.options[:2])

    yield "title", partial(setattr, report.inputs["title"], "value", "a title")
    yield "pin two", pin
    for kind in ("html", "csv", "json"):
        yield f"write {kind.upper()}", partial(write, kind)
    yield "save session", keep


def measure(bench: Workbench, folder: Path) -> Iterator[Took]:
    """Open every panel of a bench that has a comparison, and do everything once."""
    with counting() as counted:

        def timed(panel: str, action: str, call: Callable[[], Any]) -> tuple[Took, Any]:
            before, start = counted[0], time.process_time()
            result = call()
            took = time.process_time() - start
            return Took(panel, action, took, counted[0] - before), result

        took, shell = timed("all", "open", bench.form)
        yield took
        for panel, action, call in steps(bench, shell, folder):
            took, _ = timed(panel, action, call)
            check(shell, f"{panel}: {action}")
            yield took
        shell.close()


def check(shell: Shell, place: str) -> None:
    """Raise RuntimeError if a panel shows an error."""
    made: list[Any] = list(shell.parts.made.values())
    for one in [*made, *(panel.hand for panel in made if hasattr(panel, "hand"))]:
        if one.alert.text:
            raise RuntimeError(f"{place}: {one.alert.text}")
