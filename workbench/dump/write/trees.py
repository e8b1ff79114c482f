"""What writes a tree, chosen once: `FILES_OF`.

Promise: the same records give the same tree, byte for byte, and no name leaves the root.
"""

from __future__ import annotations

import re
import shutil
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from workbench.core.errors import FormatError
from workbench.core.files import unwritable
from workbench.dump.new_folder import WORK, check_empty
from workbench.dump.write.mindspore import mindspore_files
from workbench.dump.write.plan_files import save
from workbench.dump.write.session import session_files
from workbench.dump.write.targets import Clock
from workbench.graph.graph import Graph

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from workbench.core.plan import DumpPlan
    from workbench.core.tensors import TensorRecord
    from workbench.dump.write.plan_files import Progress, TreeFiles
    from workbench.dump.write.targets import Target

_NET_NAME = re.compile(r"[A-Za-z0-9_-]+")


class FilesOf(Protocol):
    """A writer: it yields the files of a tree; ``foretold`` if records have no data."""

    def __call__(
        self,
        records: Iterable[TensorRecord],
        plan: DumpPlan,
        graphs: Sequence[Graph],
        target: Target,
        clock: Clock,
        *,
        foretold: bool = False,
    ) -> TreeFiles: ...


FILES_OF: dict[str, FilesOf] = {
    "mindspore": mindspore_files,
    "session": session_files,
}
"""Program of `workbench.core.writers.Writer` → what yields the files of its tree."""


def write_tree(
    records: Iterable[TensorRecord],
    plan: DumpPlan,
    root: str | Path,
    *,
    graph: Graph | Sequence[Graph],
    target: Target,
    progress: Progress | None = None,
    clock: Clock | None = None,
    anew: bool = True,
    part: str = "",
) -> Path:
    """Write the records that the plan wants as the target does; return ``root``.

    Parameters
    ----------
    records : iterable of TensorRecord
        As of the surface's writer in `FILES_OF`; taken one after the other.
    root : path
        A folder that is new or empty; it takes the place of the plan's own path.
    graph : Graph or sequence of Graph
        What ran. The graph engine runs one.
    target : Target
        Whose tree it is.
    progress : callable, optional
        Called after every tensor with their number so far and the operator's name.
    clock : Clock, optional
        Source of timestamps and of numbers that replace names that are too long.
    anew : bool
        Whether the root must be new or empty. If not, tables that are there already grow.
    part : str
        Name of the process where several write into one root at the same time; who starts them sees to
        it that the root is new or empty (`shared`).

    Raises
    ------
    FormatError
        The root is not empty, or a name cannot be a file name.
    OutputError
        The root cannot be written. What was written before stays, each file whole.
    """
    root = Path(root)
    if target.writer.by_mindspore:
        check_net_name(plan.net_name)
    if anew and not part:
        _check(root)
    graphs = (graph,) if isinstance(graph, Graph) else tuple(graph)
    files = FILES_OF[target.writer.program](records, plan, graphs, target, clock or Clock())
    save(files, root, progress=progress, grows=not anew, part=part)
    return root


@contextmanager
def shared(root: Path) -> Iterator[None]:
    """Let several processes write into a folder that is new or empty; raises FormatError if it is not."""
    _check(root)
    work = root / WORK
    try:
        work.mkdir(parents=True)
    except OSError as error:
        raise unwritable(root, error, "dump folder") from error
    try:
        yield
    finally:
        shutil.rmtree(work, ignore_errors=True)


def check_net_name(net_name: str) -> None:
    """Raise FormatError for a name that MindSpore refuses, and that could leave the root."""
    if not _NET_NAME.fullmatch(net_name):
        raise FormatError("dump/net-name", got=net_name)


def _check(root: Path) -> None:
    try:
        check_empty(root)
    except OSError as error:
        raise unwritable(root, error, "dump folder") from error
