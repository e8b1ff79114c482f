"""Write records as a dump tree: MindSpore's own, or one of the graph engine.

What goes where say `workbench.dump.write.mindspore_tree` and `workbench.dump.write.ge_tree`. Promises
(`tests/dump/write/test_writer.py`, `tests/dump/write/test_writer_ge.py`): every file appears whole under its final name
or not at all, no name leaves the root, and the same records give the same tree, byte for byte. Files keep
the user's own permissions; MindSpore's 0400 would only make them hard to delete.
"""

from __future__ import annotations

import itertools
import os
import re
import shutil
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, BinaryIO

from workbench.core.dtypes import name_of
from workbench.core.errors import FormatError
from workbench.core.files import encoded, unwritable
from workbench.core.tensors import ArraySource, TensorSpec
from workbench.dump.formats.container_write import write_container
from workbench.dump.formats.npy import write_npy
from workbench.dump.new_folder import WORK, check_empty
from workbench.dump.statistics.device import device_statistics_of
from workbench.dump.statistics.ge import ge_statistics_of
from workbench.dump.statistics.statistic import statistics_of
from workbench.dump.write.ge_graphs import GeRun
from workbench.dump.write.mindspore_tree import Tree
from workbench.dump.write.reported import chosen_by_mindspore
from workbench.dump.write.sink import Clock, Content
from workbench.dump.write.target import VERSION, Target
from workbench.graph.nodes import Graph
from workbench.run.outline import Outlined
from workbench.run.reference import run_reference

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from workbench.core.plan import DumpPlan
    from workbench.core.tensors import TensorKey, TensorRecord
    from workbench.core.words import Message
    from workbench.dump.formats.container import Container
    from workbench.dump.releases import Device
    from workbench.dump.write.target import GeTarget

    Progress = Callable[[int, str], None]

_NET_NAME = re.compile(r"[A-Za-z0-9_-]+")


def write(
    records: Iterable[TensorRecord],
    plan: DumpPlan,
    root: str | Path,
    *,
    graph: Graph | Sequence[Graph],
    device: Device = "CPU",
    version: str = VERSION,
    config_text: str | None = None,
    progress: Progress | None = None,
    clock: Clock | None = None,
    rank: int = 0,
    ran: Mapping[int, Sequence[int]] = MappingProxyType({}),
    part: str = "",
) -> Path:
    """Write the records that the plan wants; return ``root``.

    Parameters
    ----------
    records : iterable of TensorRecord
        ``key.op_name`` is the full name with slashes. Records of type ``Parameter`` are not written
        by Ascend.
    root : path
        A folder that is new or empty; it takes the place of the plan's own path.
    graph : Graph or sequence of Graph
        Written as IR and as execution order.
    device : {"CPU", "GPU", "Ascend"}
    version : str
        MindSpore version whose names and columns are written, 1.3 or newer.
    config_text : str, optional
        Copied into ``.dump_metadata`` (CPU, GPU).
    progress : callable, optional
        Called after every tensor with their number so far and the operator's name.
    clock : Clock, optional
        Source of timestamps and of numbers that replace names over 255 bytes.
    rank : int
        Rank of the process, which has a folder even if no record comes.
    ran : mapping of int to sequence of int
        Iterations that ran, if not all of them are dumped, by the id of the graph that they begin with.
    part : str
        Name of the process where several write into one root at the same time; who starts them sees to
        it that the root is new or empty (`shared`).

    Raises
    ------
    FormatError
        The root is not empty or cannot be written, or a name cannot be a file name. What was
        written before stays, each file whole.
    """
    root = Path(root)
    check_net_name(plan.net_name)
    if not part:
        _check(root)
    target, disk = Target(device, version, config_text, rank, ran), _Disk(root, part=part)
    graphs = (graph,) if isinstance(graph, Graph) else tuple(graph)
    tree = Tree(plan, graphs, target, clock or Clock(), disk)
    _take(tree, chosen_by_mindspore(records, plan, device), disk, progress)
    return root


def write_ge(
    records: Iterable[TensorRecord],
    plan: DumpPlan,
    root: str | Path,
    *,
    graph: Graph,
    target: GeTarget,
    progress: Progress | None = None,
    clock: Clock | None = None,
    anew: bool = True,
    part: str = "",
) -> Path:
    """Write the records that the plan wants as the graph engine does; return ``root``.

    Parameters
    ----------
    records : iterable of TensorRecord
        Those of an operator one after the other, inputs first, slots rising. Parameters leave no
        dump. A label with a format states how the data lie already.
    root, progress, clock, part
        As of `write`.
    graph : Graph
        Numbers tasks and tells tensors that are the same memory.
    target : GeTarget
        Whose tree it is.
    anew : bool
        Whether the root must be new or empty. If not, tables that are there already grow.

    Raises
    ------
    FormatError
        As `write`, or a number format has no known packing.
    """
    root = Path(root)
    if anew and not part:
        _check(root)
    disk = _Disk(root, grows=not anew, part=part)
    tree = GeRun(plan, graph, target, clock or Clock(), disk, run_reference)
    _take(tree, records, disk, progress)
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


def _take(
    tree: Tree | GeRun, records: Iterable[TensorRecord], disk: _Disk, progress: Progress | None
) -> None:
    count = itertools.count(1)

    def done(key: TensorKey) -> None:
        if progress is not None:
            progress(next(count), key.op_name)

    try:
        tree.take(records, done)
    except OSError as error:
        raise unwritable(error.filename or disk.root, error, "dump folder") from error
    finally:
        disk.close()


def check_net_name(net_name: str) -> None:
    """Raise FormatError for a name that MindSpore refuses, and that could leave the root."""
    if not _NET_NAME.fullmatch(net_name):
        raise FormatError("dump/net-name", got=net_name)


def _check(root: Path) -> None:
    try:
        check_empty(root)
    except OSError as error:
        raise unwritable(root, error, "dump folder") from error


class _Disk:
    """The sink that makes files.

    What is not whole yet lies in a folder of its own. It is there before all else and `close` removes it,
    so that one that is left tells of a run that was killed. ``grows``: text is added to a file of its name.
    """

    def __init__(self, root: Path, *, grows: bool = False, part: str = "") -> None:
        self.root, self._grows = root, grows
        self._work = root / WORK / part
        self._partial = str(self._work / "file")
        self._made: set[Path] = set()

    def close(self) -> None:
        shutil.rmtree(self._work, ignore_errors=True)

    def content(self, record: TensorRecord) -> Content | None:
        if record.source is None or isinstance(record.source, Outlined):
            return None
        array = record.source.array()
        there = record.source.there if isinstance(record.source, ArraySource) else None
        return Content(TensorSpec(name_of(array.dtype), array.shape), array.nbytes, array, there)

    def figures(
        self, content: Content, categories: Sequence[str], precision: str = ""
    ) -> Mapping[str, float | int | str]:
        if content.array is None:
            return {}
        if precision:
            return device_statistics_of(content.array, categories, precision=precision)
        return statistics_of(content.array, categories)

    def leaf(self, path: str, iteration: int | None) -> None:
        self._folder(self.root / path)

    def text(self, path: str, text: str) -> None:
        place, data = self.root / path, encoded(text)
        if self._grows and place.exists():
            data = place.read_bytes() + data
        self.data(path, data)

    def data(self, path: str, data: bytes) -> None:
        place = self.root / path
        self._folder(place.parent)
        self._whole(place, lambda file: file.write(data))

    def table(self, path: str, lines: Sequence[str]) -> None:
        self.text(path, "".join(lines))

    def tensor(self, path: str, content: Content, stored: TensorSpec) -> None:
        array, dtype, shape = content.array, stored.dtype, stored.shape
        if array is not None and shape is not None:
            self._whole(self.root / path, lambda file: write_npy(file, array, dtype, shape))

    def container(
        self, path: str, container: Container | None, payload: Iterable[NDArray[np.uint8]]
    ) -> None:
        if container is not None:
            self._whole(self.root / path, lambda file: write_container(file, container, payload))

    def raw(self, path: str, size: int | None, payload: Iterable[NDArray[np.uint8]]) -> None:
        if size is not None:
            self._whole(self.root / path, lambda file: [file.write(part.data) for part in payload])

    def device_figures(self, content: Content, dialect: str) -> Mapping[str, float | int | str]:
        return {} if content.array is None else ge_statistics_of(content.array, dialect)

    def skip(self, key: TensorKey, reason: Message) -> None:
        pass

    def _folder(self, path: Path) -> None:
        if path not in self._made:
            self._work.mkdir(parents=True, exist_ok=True)
            path.mkdir(parents=True, exist_ok=True)
            self._made.add(path)

    def _whole(self, path: Path, fill: Callable[[BinaryIO], object]) -> None:
        """Let ``fill`` write a file that appears under its name only when it is complete."""
        with open(self._partial, "wb") as file:
            fill(file)
        os.replace(self._partial, path)
