"""Whose tree is written: what names and files depend on beside the plan and the graph."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from workbench.graph_files.ge.stages import FIRST, STAGES

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from workbench.dump.releases import Device
    from workbench.graph.nodes import Graph
    from workbench.graph_files.ge.stages import StageFile
    from workbench.run.profiles import RecordLayout

VERSION = "2.6.0"
"""MindSpore version whose names and columns are written unless another one is named."""


class Target(NamedTuple):
    """Whose tree it is: device, MindSpore's version, text of the configuration.

    ``rank`` has a tree even if no record comes; the keys of records tell their own. ``ran`` are the
    iterations of the run by the id of the graph that they begin with, which GPU and Ascend list although they
    dump fewer; a CPU lists what it dumps.
    """

    device: Device = "CPU"
    version: str = VERSION
    config_text: str | None = None
    rank: int = 0
    ran: Mapping[int, Sequence[int]] = MappingProxyType({})


class GraphFiles(NamedTuple):
    """Graph files of one graph, in which folder below `FOLDER`, and the options of the session.

    ``compiled`` are graphs of the network by the stage from which on it looks so; without one it is
    always the same.
    """

    stages: tuple[StageFile, ...]
    folder: str
    options: Mapping[str, str]
    compiled: Mapping[str, Graph] = MappingProxyType({})

    def at(self, stage: str, graph: Graph) -> Graph:
        """Return the network's graph, which runs as ``graph``, as it is after a stage."""
        now = self.compiled.get(FIRST, graph)
        for one in STAGES:
            now = self.compiled.get(one.name, now)
            if one.name == stage:
                break
        return now


class GeTarget(NamedTuple):
    """Whose tree it is.

    ``world`` is how many processes torchair has and which of them this is, ``rank`` the number of msprobe's.
    ``form`` gives the files that MindSpore O2 writes for AscendCL before a step, by name; it takes the step and
    the name that the start of the run gives a folder. ``steps`` is how many steps run. ``version`` is MindSpore's.
    ``graphs`` are the graph files that every model leaves, ``beside`` says that the program runs other
    models than its network, too (`workbench.dump.write.ge_graphs`). ``session`` is the timestamp folder if an
    earlier model opened it, ``model_id`` the number of the model if it is not that of its graph,
    ``first_task`` the number of its first task.
    ``overflow_layout`` is that of the device's overflow records, empty if it writes none; ``chip`` is
    the driver's number of its kind.
    """

    surface: str
    device: int = 0
    world: tuple[int, int] = (1, 0)
    form: Callable[[int, str], Mapping[str, str]] | None = None
    steps: int = 0
    version: str = VERSION
    graphs: GraphFiles | None = None
    beside: bool = False
    session: str = ""
    model_id: int = 0
    first_task: int = 1
    overflow_layout: RecordLayout = "classic"
    chip: int = 0
    rank: int = 0
