"""What each kind of file in a dump becomes: pure functions from a file to its content.

A file that cannot be read raises FormatError or OSError; all else that is wrong is in the content. Of tensors no
more than names and headers are read.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from workbench.core.dtypes import data_type_of
from workbench.core.errors import FormatError
from workbench.core.files import file_content, open_listed, unreadable
from workbench.core.formats import read_format
from workbench.core.tensors import TensorKey, TensorRecord, TensorSpec
from workbench.core.words import Message
from workbench.dump import formats
from workbench.dump.dump import Failure, Note, Skipped
from workbench.dump.formats import raw
from workbench.dump.formats.file import MAX_TENSORS, NOTHING, FileContent
from workbench.dump.formats.npy import NpySource
from workbench.dump.formats.renamed import FILE_NAME
from workbench.dump.payload.blocks import ExtentSource
from workbench.dump.payload.extent import is_device_format

if TYPE_CHECKING:
    from collections.abc import Callable

    from workbench.core.tensors import Io, Source
    from workbench.dump.formats.file import DumpFile, FileName
    from workbench.dump.payload.extent import Extent
    from workbench.dump.statistics.parse import StatisticTable

ON_NPU, ON_CPU = "ascend", "cpu"
"""Who wrote a dump: software of an NPU, or MindSpore on a CPU."""

_HOST_WORDS = frozenset(("DefaultFormat", "ND", "NCHW"))
_MAX_LIST = 64 << 20
_MAX_JSON = 1 << 20
_END_OF_TIME = (1 << 63) - 1
_LAST_ID = (1 << 32) - 1


def skip(file: DumpFile, reason: str, detail: Message) -> Skipped:
    """Return why a file takes no part, under its place in the run."""
    return Skipped(f"{file.at[0]}/{file.at[1]}/{base_name(file)}", reason, detail)


def base_name(file: DumpFile) -> str:
    """Name that a file has in its folder."""
    return file.path.rpartition("/")[2]


def message_of(path: str, error: FormatError | OSError) -> Message:
    """Return what an error says, without the frames that it holds on to."""
    return (error if isinstance(error, FormatError) else unreadable(path, error)).message


def read_lines(path: Path) -> tuple[list[str], tuple[Note, ...]]:
    """Lines of a small text file; a note instead of an error."""
    try:
        return file_content(path, _MAX_LIST).decode("utf-8", "replace").splitlines(), ()
    except FormatError as error:
        return [], (Note("unreadable", path.name, error.message),)


def check_numbers(name: FileName) -> Message | None:
    """Say which number of a name no dump can have; ``None`` if all are sound."""
    _, _, _, time, task, stream, _, slot, _, _, _ = name
    task, stream, slot = task or 0, stream or 0, slot or 0
    if slot < MAX_TENSORS and time <= _END_OF_TIME and task <= _LAST_ID and stream <= _LAST_ID:
        return None
    numbers = {
        "slot": (slot, MAX_TENSORS - 1),
        "timestamp": (time, _END_OF_TIME),
        "task id": (task, _LAST_ID),
        "stream id": (stream, _LAST_ID),
    }
    field = next(field for field, (got, limit) in numbers.items() if got > limit)
    got, limit = numbers[field]
    return Message("dump/name-number", field=field, got=got, limit=limit)


# ---------------------------------------------------------------- a tensor a file


def read_npy_file(file: DumpFile) -> FileContent:
    """The tensor of an npy file of MindSpore; how it spells the number format tells who wrote it."""
    name = file.name
    writer = writer_of(file.full.rsplit(".", 2)[-2]) if name.dtype else ""
    return FileContent((_record(file, npy_source(file.path, name)),), (), (), writer)


def writer_of(word: str) -> str:
    """Return who spells a number format so: only MindSpore on a CPU capitalizes it."""
    return ON_CPU if word[0].isupper() and not word.isupper() else ON_NPU


def read_raw_file(file: DumpFile) -> FileContent:
    """The tensor that a file holds nothing else of."""
    if not file.name.dtype:
        detail = Message("dump/raw-type")
        return FileContent(skipped=(skip(file, "unknown-type", detail),), writer=ON_NPU)
    source = ExtentSource(raw.locate(file.path, data_type_of(file.name.dtype)))
    return FileContent((_record(file, source),), writer=ON_NPU)


def _record(file: DumpFile, source: Source) -> TensorRecord:
    _, op_type, op_name, time, task, stream, io, slot, form, dtype, _ = file.name
    key = TensorKey(op_type, op_name, io, slot or 0, *file.at)
    label = TensorSpec(dtype, None, form)
    return TensorRecord(key, label, source, None, time, task or 0, stream or 0, file.path)


def npy_source(path: str, name: FileName) -> Source:
    """Source of an npy file: what lies on the device is given as the host has it, where that is known."""
    if name.format in _HOST_WORDS:
        return NpySource(path)
    try:
        word = read_format(name.format)
    except FormatError:
        return NpySource(path)
    return NpySource(path, word, name.dtype) if is_device_format(word) else NpySource(path)


def read_saved_file(file: DumpFile) -> FileContent:
    """Tensors of a file of PyTorch, of a list one for each; runs are iterations."""
    name, (graph_id, iteration, rank, net_name) = file.name, file.at
    at = graph_id, iteration + (name.ids.run or 0), rank, net_name
    return FileContent(
        tuple(
            TensorRecord(
                TensorKey(name.op_type, name.op_name, name.io, slot, *at), TensorSpec("", None),
                source, path=file.path,
            )
            for slot, source in enumerate(saved_sources(file.path), name.slot or 0)
        )
    )  # fmt: skip


def read_golden_file(file: DumpFile) -> FileContent:
    """Another framework's output, which knows no type of operator."""
    if not file.full.endswith((".npy", ".pt")):
        detail = Message("dump/golden-suffix", got=file.full.rpartition(".")[2])
        return FileContent(skipped=(skip(file, "not-npy", detail),))
    sources = enumerate(saved_sources(file.path), file.name.slot or 0)
    return FileContent(
        tuple(_record(file._replace(name=file.name._replace(slot=n)), one) for n, one in sources)
    )


def read_plain_file(file: DumpFile) -> FileContent:
    """A tensor whose file says no more than a name: that of an operator or of the tensor itself."""
    return FileContent((_record(file, NpySource(file.path)),))


def read_archive_file(file: DumpFile) -> FileContent:
    """The tensors of an archive of NumPy, each under its own name."""
    records, skipped = list[TensorRecord](), list[Skipped]()
    for name, found in formats.locate_npz(file.path):
        one = file._replace(name=file.name._replace(op_name=name))
        if isinstance(found, FormatError):
            skipped.append(Skipped(name, "unreadable", found.message))
        else:
            records.append(_record(one, found))
    return FileContent(tuple(records), tuple(skipped))


def saved_sources(path: str) -> list[Source]:
    """Tensors of an npy file or of one of PyTorch; raises FormatError if the latter is none."""
    if path.endswith(".npy"):
        return [NpySource(path)]
    return [ExtentSource(extent) for extent in formats.locate_saved(path)]


# ---------------------------------------------------------------- an operator a file


def read_container_file(file: DumpFile) -> FileContent:
    """Tensors of a container, or the slice that it is."""
    if file.name.ids.thread is not None:
        part = formats.read_part(file.path, file.name, formats.read_container(file.path))
        if part is not None:
            return FileContent(part=part)
    return read_tensors(file)


def read_tensors(file: DumpFile) -> FileContent:
    """Tensors of a container, slice or not."""
    path, at = file.path, file.at
    inputs, outputs, told = formats.list_tensors(path)
    _, op_type, op_name, time, task, stream, *_ = file.name
    task, stream = task or 0, stream or 0
    records: list[TensorRecord] = []
    sides: tuple[tuple[Io, tuple[Extent, ...]], ...] = (("input", inputs), ("output", outputs))
    for io, extents in sides:
        for slot, extent in enumerate(extents):
            key = TensorKey(op_type, op_name, io, slot, *at)
            label = TensorSpec(extent.dtype.name, None, extent.format.name)
            source = ExtentSource(extent)
            records.append(TensorRecord(key, label, source, None, time, task, stream, path))
    if records and not told:
        return FileContent(tuple(records), (), (), ON_NPU)
    notes = tuple(Note("container", file.full, one) for one in told)
    empty = () if records else (skip(file, "empty", Message("dump/container-empty")),)
    return FileContent(tuple(records), empty, notes, ON_NPU)


# ---------------------------------------------------------------- statistics


def read_operator_statistics(file: DumpFile) -> FileContent:
    """Statistics of one operator."""
    from workbench.dump import statistics

    return _read_table(file, partial(statistics.read_ge_statistics, name=file.name))


def read_statistic_file(file: DumpFile) -> FileContent:
    """Statistics of a folder's tensors."""
    from workbench.dump import statistics

    return _read_table(file, statistics.read_statistics)


def _read_table(file: DumpFile, read: Callable[[Path], StatisticTable]) -> FileContent:
    """Records of a table, one a row; a table that cannot be read is noted: its tensors may have files."""
    name = base_name(file)
    try:
        table = read(Path(file.path))
    except (FormatError, OSError) as error:
        return FileContent(notes=(Note("unreadable", name, message_of(file.path, error)),))
    problems = list(table.problems)
    records: list[TensorRecord] = []
    for row in table.rows:
        parts = row.parts
        if (problem := check_numbers(parts)) is not None:
            place = f"{file.path}: {parts.op_name}"
            problems.append(Message(problem.code, place=place, **problem.values))
            continue
        key = TensorKey(parts.op_type, parts.op_name, parts.io, parts.slot or 0, *file.at)
        label = TensorSpec(parts.dtype, row.shape, parts.format)
        ids = parts.task_id or 0, parts.stream_id or 0
        records.append(
            TensorRecord(key, label, None, row.statistics, parts.timestamp_us, *ids, file.path)
        )
    bad = {id(one): Skipped(name, "bad-row", one) for one in problems}
    skipped = tuple(bad[id(one)] for one in problems)
    return FileContent(tuple(records), skipped, writer=ON_NPU)  # the CPU writer has no statistics


# ---------------------------------------------------------------- reports beside the tensors


def read_overflow_file(file: DumpFile) -> FileContent:
    """Overflow records as the device wrote them."""
    from workbench.dump import reports

    return FileContent(
        overflows=tuple((file.path, one) for one in reports.read_overflow(file.path))
    )


def read_overflow_text(file: DumpFile) -> FileContent:
    """An overflow record that was decoded already."""
    with open_listed(file.path) as opened:
        text = opened.read(_MAX_JSON + 1).decode("utf-8", "replace")
    from workbench.dump import reports

    return FileContent(overflows=((file.path, reports.parse_json(text, file.path)),))


def read_exception_file(file: DumpFile) -> FileContent:
    """The arguments of a failed operator."""
    from workbench.dump import reports

    scene, held = reports.read_exception(file.path)
    op_name = held.op_name or file.name.op_name
    return _failed(Failure(file.path, scene, op_name, held, file.at[2]))


def read_core_file(file: DumpFile) -> FileContent:
    """The memory of a failed kernel."""
    from workbench.dump import reports

    core, held = reports.read_failed_core(file.path)
    kernel = core.kernel or file.name.op_name or file.full
    return _failed(Failure(file.path, "detail", kernel, held, file.at[2], core))


def _failed(failure: Failure) -> FileContent:
    held, log = failure.container, failure.container.dfx_message.strip()
    detail = Message(
        "dump/failed-log" if log else "dump/failed",
        inputs=len(held.part("input")),
        outputs=len(held.part("output")),
        scene=failure.scene,
        log=log[:200],
    )
    return FileContent(notes=(Note("exception", failure.op_name, detail),), failures=(failure,))


# ---------------------------------------------------------------- files without tensors


def skip_unmapped(file: DumpFile) -> FileContent:
    """Leave out a file whose name was too long: nothing, or no name of a dump, is in its place."""
    detail = Message("dump/unmapped", file=FILE_NAME)
    if file.full != base_name(file):
        detail = Message("dump/mapped-unknown", file=FILE_NAME, got=file.full)
    return FileContent(skipped=(skip(file, "unmapped", detail),))


def skip_old(file: DumpFile) -> FileContent:
    """Leave out a file of the releases before npy files."""
    return FileContent(skipped=(skip(file, "too-old", Message("dump/too-old")),))


def read_nothing(_file: DumpFile) -> FileContent:
    """A file that has nothing for a comparison."""
    return NOTHING
