"""Write records as a MindSpore dump tree: CPU, and Ascend in O0/O1.

The tree is that of ``dump_utils.cc`` and ``cpu_e2e_dump.cc`` (r2.6) and of real dumps::

    {root}/rank_{r}/.dump_metadata/{config,data_dump}.json                      CPU
    {root}/rank_{r}/graphs/ms_output_trace_code_graph_{g}.ir
    {root}/rank_{r}/execution_order/ms_execution_order_graph_{g}.csv
    {root}/rank_{r}/execution_order/ms_global_execution_order_graph_{g}.csv     CPU
    {root}/rank_{r}/{net_name}/{graph_id}/{iteration}/{*.npy, statistic.csv, mapping.csv, *.json}

Promises (`tests/dump/test_writer.py`): every file appears whole under its final name or not at all,
no name leaves the root, and the same records give the same tree, byte for byte. Files keep the
user's own permissions; MindSpore's 0400 would only make them hard to delete.
"""

from __future__ import annotations

import json
import random
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Literal

import numpy as np

from workbench.core.errors import FormatError, GraphError
from workbench.core.tensors import TensorSpec
from workbench.dump.names import NameParts, format_name, is_too_long, release
from workbench.dump.npy import npy_header, write_npy
from workbench.dump.statistic import categories_of, format_header, format_row, statistics_of
from workbench.graph.ops import bind
from workbench.ir.ms_text_writer import write_ms_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numpy.typing import NDArray

    from workbench.core.plan import DumpPlan
    from workbench.core.tensors import TensorKey, TensorRecord
    from workbench.graph.nodes import Graph, Op

    Progress = Callable[[int, str], None]

Device = Literal["CPU", "Ascend"]

_PARAMETER = "Parameter"
_NET_NAME = re.compile(r"[A-Za-z0-9_-]+")
_WIDENED = {"bfloat16": "float32", "int4": "int8"}
"""What Ascend writes in place of types that NumPy does not know."""


@dataclass
class Clock:
    """Time and random numbers of a run, the same for the same seed; ``now`` is in microseconds."""

    seed: int = 0
    now: int = 1_700_000_000_000_000
    _random: random.Random = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._random = random.Random(self.seed)

    def tick(self) -> int:
        """Return the time of the next event, a little later than the last one."""
        self.now += self._random.randrange(200, 1200)
        return self.now

    def draw(self) -> int:
        """Return a number that replaces a name, as ``rand_r`` gives."""
        return self._random.randrange(10**8, 2**31)


def write(
    records: Iterable[TensorRecord],
    plan: DumpPlan,
    root: str | Path,
    *,
    graph: Graph,
    device: Device = "CPU",
    version: str = "2.6.0",
    config_text: str | None = None,
    progress: Progress | None = None,
    clock: Clock | None = None,
) -> Path:
    """Write the records that the plan wants; return ``root``.

    Parameters
    ----------
    records : iterable of TensorRecord
        ``key.op_name`` is the full name with slashes. Records of type ``Parameter`` are written by
        a CPU alone.
    root : path
        A folder that is new or empty; it takes the place of the plan's own path.
    graph : Graph
        Written as IR and as execution order.
    device : {"CPU", "Ascend"}
    version : str
        MindSpore version whose names and columns are written, 1.3 or newer.
    config_text : str, optional
        Copied into ``.dump_metadata`` (CPU).
    progress : callable, optional
        Called after every tensor with their number so far and the operator's name.
    clock : Clock, optional
        Source of timestamps and of numbers that replace names over 255 bytes.

    Raises
    ------
    FormatError
        The root is not empty or cannot be written, or a name cannot be a file name. What was
        written before stays, each file whole.
    """
    root = Path(root)
    _check(plan, root)
    tree = _Tree(plan, root, graph, device, version, config_text, clock or Clock())
    try:
        tree.take(records, progress)
    except OSError as error:
        message = f"dump folder must be writable, got {str(error.filename or root)!r}"
        raise FormatError(f"{message} ({error.strerror})") from error
    return root


def _check(plan: DumpPlan, root: Path) -> None:
    if not _NET_NAME.fullmatch(plan.net_name):
        message = f"net_name must be letters, digits, '-' and '_', got {plan.net_name!r}"
        raise FormatError(message)
    try:
        if root.exists() and (not root.is_dir() or any(root.iterdir())):
            message = f"dump folder must be new or empty, got {str(root)!r}"
            raise FormatError(f"{message}; name another one or empty it")
    except OSError as error:
        message = f"dump folder must be writable, got {str(root)!r} ({error.strerror})"
        raise FormatError(message) from error


@dataclass(slots=True)
class _Leaf:
    """A folder of one iteration, and the lines of its tables."""

    path: Path
    rows: list[str] = field(default_factory=list)
    mapping: list[str] = field(default_factory=list)
    names: set[str] = field(default_factory=set)


class _Tree:
    """A tree while it is written."""

    def __init__(
        self,
        plan: DumpPlan,
        root: Path,
        graph: Graph,
        device: Device,
        version: str,
        config_text: str | None,
        clock: Clock,
    ) -> None:
        self._plan, self._root, self._graph = plan, root, graph
        self._device, self._version, self._clock = device, version, clock
        self._config_text = config_text
        self._categories = categories_of(version, plan.statistics)
        self._leaves: dict[Path, _Leaf] = {}
        self._iterations: dict[int, list[int]] = {}
        self._ops = {op.name: op for op in graph.ops}

    def take(self, records: Iterable[TensorRecord], progress: Progress | None) -> None:
        """Write the records in their order, and the tables even if the records end in an error."""
        written = 0
        try:
            for record in records:
                self._enter(record.key)
                if self._wants(record.key):
                    self._add(record)
                    written += 1
                    if progress is not None:
                        progress(written, record.key.op_name)
            if not self._iterations:
                self._rank(0)
        finally:
            self._finish()

    def _enter(self, key: TensorKey) -> None:
        """Prepare the folder of a rank when its first record comes, and note the iteration."""
        if min(key.rank, key.graph_id, key.iteration, key.slot) < 0:
            message = f"rank, graph, iteration and slot must not be negative, got {key!r}"
            raise FormatError(message)
        if key.rank not in self._iterations:
            self._rank(key.rank)
        known = self._iterations[key.rank]
        if key.iteration in self._plan.iterations and key.iteration not in known:
            known.append(key.iteration)

    def _wants(self, key: TensorKey) -> bool:
        is_parameter = key.op_type == _PARAMETER
        if is_parameter and self._device != "CPU" and release(self._version) >= (2, 3):
            return False
        return self._plan.wants(key.op_name, kernel_type(key.op_name), key.io, key.iteration)

    def _rank(self, rank: int) -> None:
        """Write what does not depend on tensors: metadata, graph, execution order."""
        self._iterations[rank] = []
        base, number = self._root / f"rank_{rank}", self._graph.graph_id
        if self._device == "CPU":
            words = {"device_target": "CPU", "ms_version": self._version}
            text = json.dumps(words, separators=(",", ":"), sort_keys=True)
            self._text(base / ".dump_metadata" / "config.json", text)
            if self._config_text is not None:
                self._text(base / ".dump_metadata" / "data_dump.json", self._config_text)
        ir = f"ms_output_trace_code_graph_{number}.ir"
        self._text(base / "graphs" / ir, write_ms_text(self._graph))
        names = ["NodeExecutionOrder-FullNameWithScope", *(op.name for op in self._graph.ops)]
        order = f"ms_execution_order_graph_{number}.csv"
        self._text(base / "execution_order" / order, "\n".join(names) + "\n")

    def _finish(self) -> None:
        for leaf in self._leaves.values():
            if leaf.rows:
                lines = [format_header(self._categories), *leaf.rows]
                self._text(leaf.path / "statistic.csv", "".join(lines))
            if leaf.mapping:
                self._text(leaf.path / "mapping.csv", "".join(leaf.mapping))
        for rank, iterations in self._iterations.items():
            if self._device == "CPU" and iterations:
                name = f"ms_global_execution_order_graph_{self._graph.graph_id}.csv"
                path = self._root / f"rank_{rank}" / "execution_order" / name
                self._text(path, "".join(f"{iteration}\n" for iteration in iterations))

    def _leaf(self, key: TensorKey) -> _Leaf:
        rank = self._root / f"rank_{key.rank}" / self._plan.net_name
        path = rank / str(key.graph_id) / str(key.iteration)
        if path not in self._leaves:
            path.mkdir(parents=True, exist_ok=True)
            self._leaves[path] = _Leaf(path)
        return self._leaves[path]

    def _add(self, record: TensorRecord) -> None:
        key, leaf = record.key, self._leaf(record.key)
        array = record.source.array() if record.source is not None else None
        if array is not None and array.size == 0:
            return
        label = record.label
        dtype = label.dtype or (array.dtype.name if array is not None else "")
        stream = 0 if key.op_type == _PARAMETER else record.stream_id
        stamp = record.timestamp_us or self._clock.tick()
        parts = NameParts(
            key.op_type, key.op_name, 0, stream, stamp, key.io, key.slot, label.format, dtype
        )
        if self._plan.saved != "tensor":
            self._statistic(leaf, parts, record, array)
        if self._plan.saved != "statistic" and array is not None:
            self._tensor(leaf, parts, array)
        if self._plan.kernel_args and key.op_name in self._ops:
            self._arguments(leaf, self._ops[key.op_name])

    def _statistic(
        self, leaf: _Leaf, parts: NameParts, record: TensorRecord, array: NDArray[Any] | None
    ) -> None:
        figures = record.statistics or {}
        shape, size = record.label.shape, 0
        if array is not None:
            figures, shape = statistics_of(array, self._categories), array.shape
            size = array.nbytes
        spec = TensorSpec(parts.dtype, shape)
        row = format_row(parts, spec, size, figures, self._categories, version=self._version)
        leaf.rows.append(row)

    def _tensor(self, leaf: _Leaf, parts: NameParts, array: NDArray[Any]) -> None:
        """Write one npy file; types that MindSpore cannot put into one are left out, as there."""
        dtype = array.dtype.name
        if self._device != "CPU":
            dtype = _WIDENED.get(dtype, dtype)
        if not _is_stored(dtype, self._device):
            return
        sample = self._plan.sample
        if sample is not None and array.size > sample:
            array = array.reshape(-1)[:sample]
        while (name := self._file_name(parts)) in leaf.names:
            parts = parts._replace(timestamp_us=self._clock.tick())
        leaf.names.add(name)
        path = leaf.path / self._fitting(leaf, name)
        self._whole(path, lambda file: write_npy(file, array, dtype))

    def _file_name(self, parts: NameParts) -> str:
        name = format_name(parts, self._version, device=self._device)
        if "/" in name or "\0" in name:
            message = f"type and name of an operator must fit a file name, got {name!r}"
            raise FormatError(message)
        return name

    def _fitting(self, leaf: _Leaf, name: str) -> str:
        """Return the name itself, or the number that replaces a name that is too long."""
        if not is_too_long(name):
            return name
        short = f"{self._clock.draw()}.npy"
        while short in leaf.names:
            short = f"{self._clock.draw()}.npy"
        leaf.names.add(short)
        leaf.mapping.append(f"{short},{name}\n")
        return short

    def _arguments(self, leaf: _Leaf, op: Op) -> None:
        """Write an operator's settings, once an iteration; too long a name has no file."""
        full = op.name.replace(".", "_").replace("/", "_")
        name = f"{kernel_type(op.name)}.{full}.json"
        if name not in leaf.names and not is_too_long(name):
            leaf.names.add(name)
            text = json.dumps(kernel_arguments(op), indent=4, sort_keys=True, ensure_ascii=False)
            self._text(leaf.path / name, text)

    def _text(self, path: Path, text: str) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        data = text.encode("utf-8", "surrogateescape")
        self._whole(path, lambda file: file.write(data))

    def _whole(self, path: Path, fill: Callable[[BinaryIO], object]) -> None:
        """Let ``fill`` write a file that appears under its name only when it is complete."""
        partial = path.with_name(".partial")
        try:
            with partial.open("wb") as file:
                fill(file)
            partial.replace(path)
        except BaseException:
            partial.unlink(missing_ok=True)
            raise


def _is_stored(dtype: str, device: Device) -> bool:
    if dtype == "complex64" and device != "CPU":
        return False
    try:
        npy_header(dtype, ())
    except FormatError:
        return False
    return True


def kernel_type(op_name: str) -> str:
    """Return what MindSpore takes for the operator's type: from the last ``/`` to the last ``-``.

    >>> kernel_type("Default/conv1-Conv2d/Conv2D-op12"), kernel_type("conv1.weight")
    ('Conv2D', 'conv1.weight')
    """
    last = op_name[op_name.rfind("/") + 1 :]
    return last.rpartition("-")[0] or last


def kernel_arguments(op: Op) -> dict[str, str]:
    """Return the settings of an operator as text; its attributes if its type is unknown."""
    try:
        settings = bind(op).settings
    except GraphError:
        settings = dict(op.attrs)
    return {name: _argument(value) for name, value in settings.items()}


def _argument(value: Any) -> str:
    if isinstance(value, bool | np.bool_):
        return "true" if value else "false"
    if isinstance(value, tuple | list):
        return f"({', '.join(_argument(item) for item in value)})"
    return str(value)
