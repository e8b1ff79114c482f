"""Who writes the dump tree of a surface: one row a surface, `WRITERS`.

In: the name of a surface. Out: its `Writer`, which everything outside `workbench.config` asks about the surface.
A surface is added here and in `SURFACES` of `workbench.config.surface`, and nowhere else.

Sources stand with whoever acts by a fact: `workbench.dump.releases`, `workbench.dump.write`, the rules of the surface.
"""

from __future__ import annotations

from typing import Literal

from workbench._values import dataclass

Platform = Literal["CPU", "GPU", "Ascend"]
Kind = Literal["data", "overflow", "exception", "watch"]

MINDSPORE_RELEASE = "2.6.0"
"""Release of MindSpore by which forms are judged and as which trees are written where none is asked for."""

_REPORTED: tuple[Kind, ...] = ("data", "overflow", "exception")


@dataclass(frozen=True, slots=True)
class Writer:
    """Who writes the tree of a surface, and how.

    Attributes
    ----------
    surface : str
        Its name in `workbench.config`.
    program : {"mindspore", "session", "script"}
        MindSpore's own dump, operator by operator; a session of the graph engine; or a tool in the script, which
        watches the calls of a framework, of which a graph knows nothing.
    layout, model : str
        Row of `workbench.dump.layouts` that has the folders of one iteration; what a model is called there, where
        ``{time}``, ``{id}`` and ``{graph}`` stand for what the run gives it.
    kinds : tuple of str
        Kinds of dump (`workbench.core.plan.DumpPlan`) that are written.
    platform : str
        As MindSpore calls the device.
    containers : bool
        Whether its files are containers of one operator each, and not arrays in a host format.
    weights : str
        Type of the operators that hold weights in a compiled graph; ``Const`` where the compiler knows them, empty
        where operators run one by one.
    graph_files : {"", "options", "beside"}
        How a graph file comes about: ``options`` of GE's session ask for the dump, and it then always writes the
        graph that runs; a dump that is set up ``beside`` the compiler has none of its own. What was fused only a
        graph file tells, so the simulation leaves that of the graph that runs; a real compiler must be asked.
    rank_variable : str
        Variable of the environment that names the rank.
    of_mindspore : bool
        Whether it is MindSpore's: its release decides names, and ``DEVICE_ID`` the device.
    msprobe_from : tuple of int
        Release of MindSpore from which on msprobe writes the dump; empty: never.
    by_step : bool
        Whether AscendCL is set up anew before every step.
    dumps_feeders : bool
        Whether data operators are dumped that feed a chosen operator.
    operators_alone : bool
        Whether operators may run outside models, and lists of operators belong to a model.
    sessions : bool
        Whether a program feeds its network by an iterator and runs other models than it, in sessions of their own.
    ids_apart : int
        How far the ids of a session's graphs are apart.
    overflow_note : str
        What a preview of an overflow dump says of it, as a code of `workbench.core.words.pipeline`.
    notes : tuple of str
        What every preview says of it.
    """

    surface: str
    program: Literal["mindspore", "session", "script"]
    layout: str
    model: str
    kinds: tuple[Kind, ...]
    platform: Platform = "Ascend"
    containers: bool = False
    weights: str = ""
    graph_files: Literal["", "options", "beside"] = ""
    rank_variable: str = "RANK_ID"
    of_mindspore: bool = False
    msprobe_from: tuple[int, ...] = ()
    by_step: bool = False
    dumps_feeders: bool = False
    operators_alone: bool = False
    sessions: bool = False
    ids_apart: int = 1
    overflow_note: str = ""
    notes: tuple[str, ...] = ()

    @property
    def by_mindspore(self) -> bool:
        """Whether MindSpore writes the tree itself, and not a session of the graph engine."""
        return self.program == "mindspore"

    @property
    def runs_several(self) -> bool:
        """Whether several networks run in one process."""
        return self.by_mindspore or self.sessions

    @property
    def is_simulated(self) -> bool:
        """Whether a simulated device can write the tree, and a graph foretells it."""
        return self.program != "script"

    @property
    def is_compiled(self) -> bool:
        """Whether the graph engine compiles whole graphs."""
        return bool(self.weights)

    @property
    def is_offline(self) -> bool:
        """Whether models are compiled for inference, before they run."""
        return self.weights == "Const"


_ROWS = (
    Writer(
        "mindspore-o0o1", "mindspore", "mindspore", "", _REPORTED,
        of_mindspore=True, overflow_note="forecast/ms-overflow",
    ),
    Writer(  # an exception dump holds nothing here: a CPU or GPU reports no failures
        "mindspore-cpu", "mindspore", "mindspore", "", ("data", "exception"),
        platform="CPU", of_mindspore=True,
    ),
    Writer(
        "mindspore-gpu", "mindspore", "mindspore", "", ("data", "exception"),
        platform="GPU", of_mindspore=True,
    ),
    Writer(
        "mindspore-o2", "session", "mindspore-o2", "kernel_graph{id}", _REPORTED,
        weights="RefData", graph_files="beside",
        of_mindspore=True, msprobe_from=(2, 7, 0), by_step=True,
    ),
    Writer(
        "mindspore-ge", "session", "ge", "kernel_graph{id}", ("data", "overflow"),
        containers=True, weights="RefData", graph_files="options", of_mindspore=True,
    ),
    Writer(
        "tensorflow", "session", "ge", "ge_default_{time}_{id}", _REPORTED,
        containers=True, weights="Variable", graph_files="options", sessions=True, ids_apart=10,
        notes=("forecast/tf-sessions", "forecast/tf-steps"),
    ),
    Writer(
        "torchair", "session", "torchair", "ge_default_{time}_{id}", ("data",),
        containers=True, weights="Data", graph_files="options",
        rank_variable="RANK", dumps_feeders=True,
    ),
    Writer(
        "acl", "session", "ge", "{graph}", (*_REPORTED, "watch"),
        containers=True, weights="Const", graph_files="beside", operators_alone=True,
    ),
    Writer("msprobe", "script", "msprobe-api", "", ("data",), rank_variable="RANK"),
    Writer("msprobe-mindspore", "script", "msprobe-api", "", ("data",)),
)  # fmt: skip

WRITERS: dict[str, Writer] = {row.surface: row for row in _ROWS}
"""Surface → who writes its tree."""

SIMULATED_SURFACES = tuple(name for name, row in WRITERS.items() if row.is_simulated)
"""Surfaces whose trees a simulated device writes."""

COMPILED_SURFACES = tuple(name for name, row in WRITERS.items() if row.is_compiled)
"""Surfaces whose graphs the graph engine compiles."""
