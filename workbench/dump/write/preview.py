"""What a dump will write, known before the run: every file with its bytes.

`predict_tree` grows the same tree as the writer (`workbench.dump.write.mindspore_tree`) from records that
have no data, into a sink that counts. Promise (`tests/dump/write/test_preview.py`): names, folders and
bytes equal those that `workbench.pipeline.simulate` writes with the same seed. Only the bytes of a
statistic.csv depend on values; they are an upper bound, its rows are exact.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from workbench.core.dtypes import DTYPES
from workbench.core.files import encoded
from workbench.core.tensors import TensorSpec
from workbench.core.words import Message
from workbench.dump.formats.container_write import header_bytes
from workbench.dump.formats.npy import npy_header
from workbench.dump.selection import kernel_type
from workbench.dump.statistics.device import takes
from workbench.dump.statistics.ge import WRITERS
from workbench.dump.statistics.statistic import TITLES
from workbench.dump.write.mindspore_tree import CONTROL, CONTROL_FLOW, Tree
from workbench.dump.write.reported import chosen_by_mindspore
from workbench.dump.write.sink import Clock, Content
from workbench.dump.write.target import Target
from workbench.run.outline import outline

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from workbench.core.plan import DumpPlan
    from workbench.core.tensors import TensorKey, TensorRecord
    from workbench.dump.formats.container import Container
    from workbench.dump.selection import Choice
    from workbench.graph.nodes import Graph, Op

MAX_TENSORS = 500_000
"""Tensors that are listed one by one; iterations beyond are counted like the last one listed."""

_WIDEST, _WIDEST_WHOLE = "-1.23457e-308", "-9223372036854775808"
"""A float of six digits, and a whole number, as wide as they can be printed."""

_LENGTH_WORD = 8
_LARGEST = 1 << 60
"""Elements that no file holds; a graph that states more is broken."""

_WIDTHS = {"MD5": 32, "SHA1": 40}
_SURE = frozenset(("count", "md5", "sha1"))
"""Statistics whose printed width no value changes."""


class FileEntry(NamedTuple):
    """A file that will be written: path below the dump's folder, bytes, iteration.

    ``size`` is ``None`` if a shape is unknown; ``bound`` marks bytes that are an upper bound.
    """

    path: str
    size: int | None
    iteration: int | None = None
    bound: bool = False


@dataclass(frozen=True)
class Forecast:
    """What a dump will write.

    Attributes
    ----------
    files : tuple of FileEntry
        In the order of writing.
    tensors : mapping of operator name to int
        How many tensors of each operator are dumped in all listed iterations; those of parameters
        are under the parameter's name.
    rows : int
        Rows of all statistic.csv.
    moved : int
        Bytes of tensors that an iteration copies from the device, whatever is written of them.
    silent : mapping of operator name to Message
        Operators that were asked for and write nothing, with the reason.
    more : int
        Iterations beyond those listed, each like the last one listed.
    doubts : tuple of Message
        Why names or bytes are not exact; empty if they are.
    """

    files: tuple[FileEntry, ...] = ()
    tensors: Mapping[str, int] = field(default_factory=dict)
    rows: int = 0
    moved: int = 0
    silent: Mapping[str, Message | str] = field(default_factory=dict)
    more: int = 0
    doubts: tuple[Message, ...] = ()


def predict_tree(
    graphs: Sequence[Graph],
    plan: DumpPlan,
    iterations: Sequence[int],
    *,
    target: Target | None = None,
    clock: Clock | None = None,
) -> Forecast:
    """Return what MindSpore's O0/O1, CPU or GPU writes; of kind ``exception`` if nothing fails.

    Parameters
    ----------
    graphs : sequence of Graph
        All graphs of the run, the root graph first.
    iterations : sequence of int
        The iterations that run and dump (`workbench.dump.selection.dumped_iterations`).
    target : Target, optional
        Device, version and configuration text; a CPU if left out.
    clock : Clock, optional
        As the writer's, for the same names.

    Raises
    ------
    FormatError
        A name cannot be a file name, or an entry of the operator list is no regular expression.
    """
    counter, target = Counter(), target or Target()
    tree = Tree(plan, graphs, target, clock or Clock(), counter)
    rank = target.rank
    once = sum(_tensors(graph) for graph in graphs)
    listed = max(1, MAX_TENSORS // max(once, 1))
    run = ((graph, number) for number in iterations[:listed] for graph in graphs)
    records: Iterator[TensorRecord] = chain.from_iterable(
        _kernels(graph, number, rank) for graph, number in run
    )
    if plan.kind == "exception":
        records = chosen_by_mindspore(records, plan, target.device)
    tree.take(records, counter.done)
    more = max(0, len(iterations) - listed)
    silent: dict[str, Message | str] = {
        name: why for name, why in counter.skipped.items() if not counter.tensors[name]
    }
    silent |= {
        op.name or op.op_type: CONTROL
        for graph in graphs
        for op in _control_flow(graph, tree.choice)
    }
    turns = max(1, len(iterations) - more)
    return Forecast(
        counter.files,
        {name: count for name, count in counter.tensors.items() if count},
        counter.rows,
        counter.moved // turns,
        silent,
        more,
        (*_doubts(counter, graphs), *beyond(more, listed)),
    )


def _control_flow(graph: Graph, choice: Choice) -> Iterator[Op]:
    """Chosen nodes of a MindSpore graph that no kernel computes."""
    for block in (graph, *graph.subgraphs):
        for op in block.ops:
            if op.op_type in CONTROL_FLOW and choice.selects(op.name, kernel_type(op.name)):
                yield op


def _tensors(graph: Graph) -> int:
    """How many records one iteration has at most."""
    blocks = (graph, *graph.subgraphs)
    ops = (op for block in blocks for op in block.ops)
    return len(graph.parameters) + sum(
        sum(1 for _ in op.flat_inputs()) + len(op.outputs) for op in ops
    )


def _kernels(graph: Graph, iteration: int, rank: int) -> Iterator[TensorRecord]:
    """Records of one iteration that a kernel can leave."""
    for record in outline(graph, iteration):
        if record.key.op_type not in CONTROL_FLOW:
            record.key = record.key._replace(rank=rank)
            yield record


def _doubts(counter: Counter, graphs: Sequence[Graph]) -> Iterator[Message]:
    if any(entry.bound for entry in counter.files):
        yield Message("dump/size-bound")
    yield from branches(graphs)
    yield from shapeless(counter.files)


def branches(graphs: Sequence[Graph]) -> Iterator[Message]:
    """Doubt about graphs with control flow, and about operators that a flag leaves out."""
    if any(graph.subgraphs or graph.inner for graph in graphs):
        yield Message("dump/branches")
    flags = sorted({op.unless for graph in graphs for op in graph.ops if op.unless})
    if flags:
        yield Message("dump/flags", flags=flags)


def shapeless(files: Iterable[FileEntry]) -> Iterator[Message]:
    """Doubt about tensors whose shape no graph tells."""
    unknown = sum(entry.size is None for entry in files)
    if unknown:
        yield Message("dump/shapeless", files=unknown)


def beyond(more: int, listed: int) -> Iterator[Message]:
    """Doubt about iterations that are not listed one by one."""
    if more:
        yield Message("dump/beyond", listed=listed, more=more)


def stored_bytes(dtype: str, size: int | None) -> int | None:
    """Bytes of so many elements in memory; ``None`` if number or dtype are unknown, or no disk's."""
    row = DTYPES.get(dtype)
    if row is None or size is None or size >= _LARGEST:
        return None
    return size * row.storage.itemsize


class Counter:
    """The sink that counts."""

    def __init__(self) -> None:
        self._entries: dict[str, FileEntry] = {}
        self.tensors: dict[str, int] = {}
        self.skipped: dict[str, Message] = {}
        self.rows = 0
        self.moved = 0
        self._iterations: dict[str, int | None] = {}
        self._wide = False
        self._headers: dict[tuple[object, ...], int] = {}

    @property
    def files(self) -> tuple[FileEntry, ...]:
        """Every file once, however often it is written."""
        return tuple(self._entries.values())

    def done(self, key: TensorKey) -> None:
        """Count a tensor that was asked for."""
        self.tensors[key.op_name] = self.tensors.get(key.op_name, 0) + 1

    def content(self, record: TensorRecord) -> Content | None:
        if record.source is None:
            return None
        spec = record.source.spec()
        nbytes = stored_bytes(spec.dtype, spec.size) or 0
        self.moved += nbytes
        return Content(spec, nbytes)

    def figures(
        self, content: Content, categories: Sequence[str], precision: str = ""
    ) -> Mapping[str, float | int | str]:
        """Stand in for figures by text as wide as they can become."""
        if precision:
            return self._kernel_figures(content, categories, precision)
        figures: dict[str, float | int | str] = {}
        is_complex = content.spec.dtype.startswith("complex")
        self._wide |= not _SURE.issuperset(categories)
        for name in categories:
            title = TITLES[name]
            if title in _WIDTHS:
                figures[title] = "0" * _WIDTHS[title]
            elif name == "count" or (name.endswith(" count") and not is_complex):
                figures[title] = content.spec.size or 0
            elif not is_complex:
                figures[title] = _WIDEST
        return figures

    def _kernel_figures(
        self, content: Content, categories: Sequence[str], precision: str
    ) -> Mapping[str, float | int | str]:
        """Stand in for what kernels of the device compute; the others leave ``null``."""
        dtype = content.spec.dtype
        taken = [name for name in categories if takes(name, dtype, precision)]
        self._wide |= bool(taken)
        wide = _WIDEST_WHOLE if dtype.startswith(("int", "uint")) else _WIDEST
        return {TITLES[name]: "False" if dtype == "bool" else wide for name in taken}

    def device_figures(self, content: Content, dialect: str) -> Mapping[str, float | int | str]:
        """Stand in for what the device computes."""
        writer, dtype = WRITERS[dialect], content.spec.dtype
        if dtype not in writer.computed or not content.spec.size:
            return {}
        self._wide = True
        width = _WIDEST_WHOLE if dtype.startswith(("int", "uint")) else _WIDEST
        return {
            TITLES[name]: content.spec.size if name.endswith("count") else width
            for name in writer.dialect.titles
        }

    def leaf(self, path: str, iteration: int | None) -> None:
        self._iterations[path] = iteration

    def text(self, path: str, text: str) -> None:
        self.data(path, encoded(text))

    def data(self, path: str, data: bytes) -> None:
        self._add(path, len(data))

    def table(self, path: str, lines: Sequence[str]) -> None:
        self.rows += len(lines) - 1
        self._add(path, sum(len(line.encode()) for line in lines), bound=self._wide)

    def tensor(self, path: str, content: Content, stored: TensorSpec) -> None:
        size = stored_bytes(stored.dtype, content.spec.size)
        if size is not None and stored.shape is not None:
            size += len(npy_header(stored.dtype, stored.shape))
        self._add(path, size)

    def container(
        self, path: str, container: Container | None, payload: Iterable[NDArray[np.uint8]]
    ) -> None:
        if container is None:
            self._add(path, None)
            return
        # a header is as long as another of the same tensors: its time has as many bytes
        blocks, time = container.blocks, container.dump_time
        key = (container.op_name, blocks, (time.bit_length() + 6) // 7)
        if key not in self._headers:
            self._headers[key] = _LENGTH_WORD + len(header_bytes(container))
        self._add(path, self._headers[key] + sum(block.size for block in blocks))

    def raw(self, path: str, size: int | None, payload: Iterable[NDArray[np.uint8]]) -> None:
        self._add(path, size)

    def skip(self, key: TensorKey, reason: Message) -> None:
        self.skipped[key.op_name] = reason
        self.tensors[key.op_name] = self.tensors.get(key.op_name, 0) - 1

    def _add(self, path: str, size: int | None, *, bound: bool = False) -> None:
        folder = path.rpartition("/")[0]
        self._entries[path] = FileEntry(path, size, self._iterations.get(folder), bound)
