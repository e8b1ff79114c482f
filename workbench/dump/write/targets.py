"""Whose tree is written: what names and files depend on beside the plan and the graph; and the clock of a run."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from random import Random
from types import MappingProxyType
from typing import TYPE_CHECKING

from workbench._values import NamedTuple
from workbench.core.writers import MINDSPORE_RELEASE, WRITERS
from workbench.dump.releases import check_version
from workbench.graph_files.ge.stages import FIRST, STAGES

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from workbench.core.writers import Platform, Writer
    from workbench.graph.graph import Graph
    from workbench.graph_files.ge.stages import StageFile
    from workbench.npu.profiles import RecordLayout


def tree_version(surface: str, version: str) -> str:
    """Return the MindSpore version of a surface's tree: the one asked for, or `MINDSPORE_RELEASE`.

    Raises FormatError if its dumps are not written. The version of another vendor's software changes
    no name.
    """
    if not version or not WRITERS[surface].of_mindspore:
        return MINDSPORE_RELEASE
    check_version(version)
    return version


@dataclass
class Clock:
    """Time and random numbers of a run, the same for the same seed; ``now`` is in microseconds."""

    seed: int = 0
    now: int = 1_700_000_000_000_000
    random: Random = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self.random = Random(self.seed)

    @classmethod
    def of_process(cls, seed: int, number: int) -> Clock:
        """Return the clock of one of several processes, each of which starts a second after the one before."""
        return cls(seed + number, cls.now + number * 1_000_000)

    def tick(self) -> int:
        """Return the time of the next event, a little later than the last one."""
        self.now += self.random.randrange(200, 1200)
        return self.now


def time_folder(now: int) -> str:
    """Name of a folder: year to second of a time in microseconds."""
    return f"{datetime.fromtimestamp(now // 1_000_000, UTC):%Y%m%d%H%M%S}"


class GraphFiles(NamedTuple):
    """Graph files of one graph, in which folder below `workbench.dump.write.session.FOLDER`, and the session's options.

    ``compiled`` are graphs of a network by the stage from which on it looks so, by the id of the graph that runs;
    without one it is always the same. ``digits`` are those of the number in a file's name.
    """

    stages: tuple[StageFile, ...]
    folder: str
    options: Mapping[str, str]
    compiled: Mapping[int, Mapping[str, Graph]] = MappingProxyType({})
    digits: int = 8

    def at(self, stage: str, graph: Graph) -> Graph:
        """Return the network's graph, which runs as ``graph``, as it is after a stage."""
        stages = self.compiled.get(graph.graph_id, {})
        now = stages.get(FIRST, graph)
        for one in STAGES:
            now = stages.get(one.name, now)
            if one.name == stage:
                break
        return now


class Target(NamedTuple):
    """Whose tree it is.

    ``version`` is MindSpore's. ``rank`` is the number of MindSpore's or msprobe's process, which has a tree
    of MindSpore's own even if no record comes; the keys of records tell their own.

    Of MindSpore's own trees: ``config_text`` is copied into ``.dump_metadata``, ``ran`` are the iterations of the run
    by the id of the graph that they begin with, which GPU and Ascend list although they dump fewer; a CPU lists
    what it dumps.

    Of the graph engine's: ``device`` is its number, ``world`` how many processes torchair has and which of them this
    is. ``form`` gives the files that MindSpore O2 writes for AscendCL before a step, by name; it takes the step and
    the name that the start of the run gives a folder. ``steps`` is how many steps run. ``graphs`` are the graph
    files that every model leaves, ``beside`` says that the program runs other models than its network, too
    (`workbench.dump.write.session`). ``session`` is the timestamp folder if an earlier model opened it, ``model_id``
    the number of the model if it is not that of its graph, ``first_task`` the number of its first task.
    ``overflow_layout`` is that of the device's overflow records, empty if it writes none; ``chip`` is the driver's
    number of its kind.
    """

    surface: str = "mindspore-cpu"
    version: str = MINDSPORE_RELEASE
    rank: int = 0
    config_text: str | None = None
    ran: Mapping[int, Sequence[int]] = MappingProxyType({})
    device: int = 0
    world: tuple[int, int] = (1, 0)
    form: Callable[[int, str], Mapping[str, str]] | None = None
    steps: int = 0
    graphs: GraphFiles | None = None
    beside: bool = False
    session: str = ""
    model_id: int = 0
    first_task: int = 1
    overflow_layout: RecordLayout = "classic"
    chip: int = 0

    @property
    def writer(self) -> Writer:
        """Who writes the tree."""
        return WRITERS[self.surface]

    @property
    def platform(self) -> Platform:
        """The device as MindSpore calls it."""
        return self.writer.platform
