"""Read one folder of dump files: every file becomes records, a note, or is skipped with a reason.

What a file is its name says (`workbench.dump.formats.ge_name`); `READERS` has one row for every kind. A name
that was too long is looked up in ``mapping.csv`` first.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from workbench.core.cancel import checkpoint
from workbench.core.errors import FormatError
from workbench.core.files import file_content, open_listed, unreadable
from workbench.core.formats import read_format
from workbench.core.tensors import TensorKey, TensorRecord, TensorSpec
from workbench.core.words import Message
from workbench.dump.dump import Failure, Note, Overflow, Skipped
from workbench.dump.formats import raw, torch_archive
from workbench.dump.formats.call_name import TorchName, parse_call_name, parse_node_name
from workbench.dump.formats.container import label_of, list_tensors, read_container
from workbench.dump.formats.ffts import read_part, slice_records, turns
from workbench.dump.formats.ge_name import GeName, recognize
from workbench.dump.formats.mindspore_name import NameParts
from workbench.dump.formats.npy import NpySource
from workbench.dump.formats.raw import parse_raw_name
from workbench.dump.formats.renamed import FILE_NAME, is_renamed, parse_mapping
from workbench.dump.payload.blocks import ExtentSource
from workbench.dump.payload.extent import is_device_format
from workbench.dump.reports.exception import read_exception, read_failed_core
from workbench.dump.reports.opdebug import read_overflow
from workbench.dump.reports.opdebug_json import parse_json
from workbench.dump.statistics.parse import read_ge_statistics, read_statistics

if TYPE_CHECKING:
    from collections.abc import Callable

    from workbench.core.tensors import Io, Source
    from workbench.dump.formats.ffts import Part
    from workbench.dump.formats.raw import RawName
    from workbench.dump.payload.extent import Extent
    from workbench.dump.reports.opdebug import OverflowRecord
    from workbench.dump.statistics.parse import StatisticTable
    from workbench.dump.survey import Leaf

TABLE = "statistic.csv"
_EXTRAS = (FILE_NAME, TABLE)
_HOST_WORDS = frozenset(("DefaultFormat", "ND", "NCHW"))
_MAX_LIST = 64 << 20
_MAX_JSON = 1 << 20
_OLDEST = re.compile(r".+_shape_[\d_]+.*\.bin", re.ASCII)


_new = tuple.__new__  # makes a key without a call in between: there is one for every tensor


@dataclass
class Found:
    """What a dump was found to hold so far; fields as those of `workbench.dump.dump.Dump`."""

    records: list[TensorRecord] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    info: dict[str, str] = field(default_factory=dict)
    overflows: list[Overflow] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)

    def lines(self, path: Path) -> list[str]:
        """Lines of a small text file; a note instead of an error."""
        try:
            return file_content(path, _MAX_LIST).decode("utf-8", "replace").splitlines()
        except FormatError as error:
            self.notes.append(Note("unreadable", path.name, error.message))
            return []


def read_leaf(leaf: Leaf, found: Found) -> list[TensorRecord]:
    """Read all files of a folder into ``found``; return the records among them."""
    reader = _LeafReader(leaf, found)
    for name in leaf.names:
        checkpoint()
        if name not in _EXTRAS:
            reader.file(name)
    if TABLE in leaf.names:
        reader.table(TABLE, read_statistics)
    reader.join()
    reader.link()
    found.records += reader.records
    return reader.records


class _LeafReader:
    """One folder, file by file."""

    def __init__(self, leaf: Leaf, found: Found) -> None:
        self.leaf = leaf
        self.found = found
        self.records: list[TensorRecord] = []
        self.overflows: list[tuple[str, OverflowRecord]] = []
        self.parts: dict[tuple[str, str, bool], list[Part]] = {}
        self.at = leaf.graph_id, leaf.iteration, leaf.rank, leaf.net_name
        self.mapping = self._mapping() if FILE_NAME in leaf.names else {}

    def _mapping(self) -> dict[str, str]:
        """Given name → intended name; a row that names another folder is refused."""
        table, wrong = parse_mapping(self.found.lines(Path(self.leaf.path) / FILE_NAME))
        self.found.notes += [Note("mapping", FILE_NAME, one) for one in wrong]
        return table

    def file(self, name: str) -> None:
        """Read one file."""
        path = f"{self.leaf.path}/{name}"
        plain = _PLAIN_NAME(name)
        if plain is not None:
            op_type, op_name, task, stream, time = plain.groups()
            self._tensors(path, name, (op_type, op_name, int(time), int(task), int(stream)))
            return
        full = self.mapping.get(name, name) if is_renamed(name) else name
        parts = _recognize(full)
        if isinstance(parts, GeName | TorchName):
            try:
                if isinstance(parts, TorchName):
                    self._saved(path, parts)
                else:
                    READERS[parts.kind](self, path, full, parts)
            except (FormatError, OSError) as error:
                self.skip(name, "unreadable", _message(path, error))
        elif isinstance(parts, NameParts):
            self._npy(path, full, parts)
        elif parts == "renamed":
            self._unmapped(name)
        elif (bare := parse_raw_name(full)) is not None:
            self._raw(path, bare)
        elif not full.endswith(".json"):
            self._unknown(name)

    def skip(self, name: str, reason: str, detail: Message) -> None:
        """Leave a file out."""
        place = f"{self.leaf.graph_id}/{self.leaf.iteration}/{name}"
        self.found.skipped.append(Skipped(place, reason, detail))

    def add(self, parts: NameParts, path: str, source: Source) -> None:
        """Take a tensor that has a file of its own."""
        key = TensorKey(parts.op_type, parts.op_name, parts.io, parts.slot, *self.at)
        label = TensorSpec(parts.dtype, None, parts.format)
        self.records.append(
            TensorRecord(
                key, label, source, None, parts.timestamp_us, parts.task_id, parts.stream_id, path
            )
        )

    def _npy(self, path: str, full: str, parts: NameParts) -> None:
        if parts.dtype and "writer" not in self.found.info:
            word = full.rsplit(".", 2)[-2]  # only the CPU writer capitalises it
            on_cpu = word[0].isupper() and not word.isupper()
            self.found.info["writer"] = "cpu" if on_cpu else "ascend"
        self.add(parts, path, npy_source(path, parts))

    def _raw(self, path: str, name: RawName) -> None:
        self.found.info.setdefault("writer", "ascend")
        short = path.rpartition("/")[2]
        if name.row is None:
            self.skip(short, "unknown-type", Message("dump/raw-type"))
            return
        try:
            self.add(name.parts, path, ExtentSource(raw.locate(path, name.row)))
        except FormatError as error:
            self.skip(short, "unreadable", error.message)

    def _unmapped(self, name: str) -> None:
        detail = Message("dump/unmapped", file=FILE_NAME)
        if name in self.mapping:
            detail = Message("dump/mapped-unknown", file=FILE_NAME, got=self.mapping[name])
        self.skip(name, "unmapped", detail)

    def _unknown(self, name: str) -> None:
        if name in self.mapping:
            self._unmapped(name)
        elif _is_no_tensor(name):
            self.found.notes.append(Note("ignored", name, Message("dump/no-tensor-file")))
        elif _OLDEST.fullmatch(name):
            self.skip(name, "too-old", Message("dump/too-old"))
        else:
            self.skip(name, "unknown-name", Message("dump/name-unknown"))

    def _saved(self, path: str, name: TorchName) -> None:
        """Records of a file of PyTorch, of a list one for each of its tensors; runs are iterations."""
        graph_id, iteration, rank, net_name = self.at
        at = graph_id, iteration + name.run, rank, net_name
        for slot, source in enumerate(saved_sources(path), name.slot):
            key = TensorKey(name.op_type, name.op_name, name.io, slot, *at)
            self.records.append(TensorRecord(key, TensorSpec("", None), source, path=path))

    def container(self, path: str, full: str, name: GeName) -> None:
        """Records of a container, unless it is a slice."""
        part = read_part(path, name, read_container(path)) if name.thread_id is not None else None
        if part is not None:
            operator = name.op_type, part.op_name, part.cut.automatic
            self.parts.setdefault(operator, []).append(part)
        else:
            self._container(path, full, name)

    def _container(self, path: str, full: str, name: GeName) -> None:
        ids = name.task_id or 0, name.stream_id or 0
        self._tensors(path, full, (name.op_type, name.op_name, name.timestamp, *ids))

    def _tensors(self, path: str, full: str, operator: tuple[str, str, int, int, int]) -> None:
        """Records of a container; ``operator`` is type, name, time, task and stream of its name."""
        try:
            inputs, outputs, notes = list_tensors(path)
        except (FormatError, OSError) as error:
            self.skip(path.rpartition("/")[2], "unreadable", _message(path, error))
            return
        if notes or not (inputs or outputs):
            self._unusual(path, full, notes, bool(inputs or outputs))
        self.found.info.setdefault("writer", "ascend")
        op_type, op_name, time, task, stream = operator
        at, add = self.at, self.records.append
        sides: tuple[tuple[Io, tuple[Extent, ...]], ...] = (("input", inputs), ("output", outputs))
        for io, extents in sides:
            for slot, extent in enumerate(extents):
                key = _new(TensorKey, (op_type, op_name, io, slot, *at, 0))
                label = label_of(extent.dtype.name, extent.format.name)
                add(TensorRecord(key, label, ExtentSource(extent), None, time, task, stream, path))

    def join(self) -> None:
        """Put slices of operators together; those that do not fit stay files of their own."""
        for parts in self.parts.values():
            for turn in turns(parts):
                detail = Message("dump/slices-joined", slices=len(turn))
                try:
                    self.records += slice_records(turn, self.at)
                except FormatError as error:
                    detail = Message("dump/slices-apart", why=error.message)
                    for part in turn:
                        self._container(part.path, part.path.rpartition("/")[2], part.name)
                self.found.info.setdefault("writer", "ascend")
                self.found.notes.append(Note("slices", turn[0].op_name, detail))

    def _unusual(self, path: str, full: str, notes: tuple[Message, ...], holds_any: bool) -> None:
        self.found.notes += [Note("container", full, one) for one in notes]
        if not holds_any:
            self.skip(path.rpartition("/")[2], "empty", Message("dump/container-empty"))

    def golden(self, path: str, full: str, name: GeName) -> None:
        """Record of another framework's output, which knows no type of operator."""
        if not full.endswith((".npy", ".pt")):
            suffix = full.rpartition(".")[2]
            detail = Message("dump/golden-suffix", got=suffix)
            self.skip(path.rpartition("/")[2], "not-npy", detail)
            return
        for slot, source in enumerate(saved_sources(path), name.slot or 0):
            self.add(
                NameParts("", name.op_name, 0, 0, name.timestamp, "output", slot, "", ""),
                path,
                source,
            )

    def statistics(self, path: str, full: str, name: GeName) -> None:
        """Records of one operator's statistics."""
        self.table(path.rpartition("/")[2], lambda file: read_ge_statistics(file, name))

    def table(self, name: str, read: Callable[[Path], StatisticTable]) -> None:
        """Rows of a table for tensors that have no file of their own."""
        path = Path(self.leaf.path) / name
        try:
            table = read(path)
        except (FormatError, OSError) as error:
            self.found.notes.append(Note("unreadable", name, _message(str(path), error)))
            return
        self.found.info.setdefault("writer", "ascend")  # the CPU writer has no statistics
        bad = {id(one): Skipped(name, "bad-row", one) for one in table.problems}
        self.found.skipped += [bad[id(one)] for one in table.problems]
        seen = {record.key[:4] for record in self.records if record.source is not None}
        for row in table.rows:
            parts = row.parts
            if (parts.op_type, parts.op_name, parts.io, parts.slot) in seen:
                continue
            key = TensorKey(parts.op_type, parts.op_name, parts.io, parts.slot, *self.at)
            label = TensorSpec(parts.dtype, row.shape, parts.format)
            self.records.append(
                TensorRecord(
                    key, label, None, row.statistics,
                    parts.timestamp_us, parts.task_id, parts.stream_id, str(path),
                )
            )  # fmt: skip

    def overflow(self, path: str, full: str, _name: GeName) -> None:
        """An overflow record, as the device wrote it."""
        self.overflows += [(path, record) for record in read_overflow(path)]

    def overflow_json(self, path: str, full: str, _name: GeName) -> None:
        """An overflow record that was decoded already."""
        with open_listed(path) as file:
            text = file.read(_MAX_JSON + 1).decode("utf-8", "replace")
        self.overflows.append((path, parse_json(text, path)))

    def exception(self, path: str, full: str, name: GeName) -> None:
        """The arguments of a failed operator."""
        scene, held = read_exception(path)
        self._failed(Failure(path, scene, held.op_name or name.op_name, held, self.leaf.rank))

    def core(self, path: str, full: str, name: GeName) -> None:
        """The memory of a failed kernel."""
        core, held = read_failed_core(path)
        kernel = core.kernel or name.op_name or full
        self._failed(Failure(path, "detail", kernel, held, self.leaf.rank, core))

    def _failed(self, failure: Failure) -> None:
        self.found.failures.append(failure)
        held, log = failure.container, failure.container.dfx_message.strip()
        detail = Message(
            "dump/failed-log" if log else "dump/failed",
            inputs=len(held.part("input")),
            outputs=len(held.part("output")),
            scene=failure.scene,
            log=log[:200],
        )
        self.found.notes.append(Note("exception", failure.op_name, detail))

    def link(self) -> None:
        """Name the operators of the overflow records by the task and stream of their files."""
        if not self.overflows:
            return
        names: dict[tuple[object, object], str] = {
            (record.task_id, record.stream_id): record.key.op_name for record in self.records
        }
        for path, record in self.overflows:
            one = record.first or record.accelerators[0]
            place = one.fields.get("task_id"), one.fields.get("stream_id")
            op_name = names.get(place, "") if record.first is not None else ""
            found = Overflow(path, record, op_name, self.leaf.rank, self.leaf.iteration)
            self.found.overflows.append(found)
            self.found.notes.append(Note("overflow", op_name or Path(path).name, _says(record)))


def _message(path: str, error: FormatError | OSError) -> Message:
    """Return what an error says, without the frames that it holds on to."""
    return (error if isinstance(error, FormatError) else unreadable(path, error)).message


def _recognize(name: str) -> NameParts | GeName | TorchName | Literal["renamed"] | None:
    """Read any name of a dump; PyTorch's only where it is not one of the others, which say more."""
    parts = recognize(name)
    if parts is None or (isinstance(parts, GeName) and parts.kind == "golden"):
        return parse_call_name(name) or parse_node_name(name) or parts
    return parts


_NO_TENSORS = (
    ".DS_Store", "._*", "Thumbs.db", "desktop.ini", ".directory", ".nfs*", ".gitignore", ".gitkeep",
    "readme", "license", "*~", "*.swp", "*.txt", "*.md", "*.rst", "*.log", "*.html", "*.pdf", "*.png", "*.jpg",
    "*.py", "*.sh", "*.yaml", "*.yml", "*.toml", "*.ini", "*.cfg", "*.xlsx",
)  # fmt: skip
"""Names of files that people, editors and desktops leave in folders, in lower or upper case."""


def _is_no_tensor(name: str) -> bool:
    """Whether a name is plainly none of a dump; a tensor's name with something behind it is a tensor's still."""
    if not any(fnmatch(name.lower(), known.lower()) for known in _NO_TENSORS):
        return False
    words = name.removeprefix("._").split(".")
    return not any(_is_of_tensor(".".join(words[:count])) for count in range(2, len(words) + 1))


def _is_of_tensor(name: str) -> bool:
    """Whether a dump may name a tensor like this."""
    found = _recognize(name)
    return found is not None or parse_raw_name(name) is not None or bool(_OLDEST.fullmatch(name))


def saved_sources(path: str) -> list[Source]:
    """Tensors of an npy file or of one of PyTorch; raises FormatError if the latter is none."""
    if path.endswith(".npy"):
        return [NpySource(path)]
    return [ExtentSource(extent) for extent in torch_archive.locate(path)]


def npy_source(path: str, parts: NameParts) -> Source:
    """Source of an npy file: what lies on the device is given as the host has it, where that is known."""
    if parts.format in _HOST_WORDS:
        return NpySource(path)
    try:
        word = read_format(parts.format)
    except FormatError:
        return NpySource(path)
    return NpySource(path, word, parts.dtype) if is_device_format(word) else NpySource(path)


def _says(record: OverflowRecord) -> Message:
    """What an overflow record says, in one sentence."""
    one = record.first
    if one is None:
        return Message("dump/overflow-unreported")
    return Message(
        "dump/overflow",
        unit=one.title,
        task=one.fields["task_id"],
        stream=one.fields["stream_id"],
        status=one.meaning or [f"status {number:#x}" for number in one.statuses],
    )


READERS: dict[str, Callable[[_LeafReader, str, str, GeName], None]] = {
    "tensors": _LeafReader.container,
    "captured": _LeafReader.container,
    "statistics": _LeafReader.statistics,
    "overflow": _LeafReader.overflow,
    "overflow-json": _LeafReader.overflow_json,
    "brief": _LeafReader.exception,
    "callback": _LeafReader.exception,
    "norm": _LeafReader.exception,
    "core": _LeafReader.core,
    "golden": _LeafReader.golden,
}
"""Kind of name → what reads such a file."""


_PLAIN_NAME = re.compile(
    r"(?!Opdebug\.)(?=.{1,255}$)([^./\\]+)\.([^./\\]+)\.(\d{1,20})\.(\d{1,20})\.(\d{1,255})",
    re.ASCII,
).fullmatch
"""The plainest name of a container, as almost all are; `recognize` knows all others."""
