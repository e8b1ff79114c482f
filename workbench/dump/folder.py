"""Read one folder of dump files: every file becomes records, a note, or is skipped with a reason.

What a file is its name says (`workbench.dump.formats.table`). A name that was too long is looked up in
``mapping.csv`` first.
"""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatch
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from workbench.core.cancel import checkpoint
from workbench.core.errors import FormatError
from workbench.core.words import Message
from workbench.dump.dump import Note, Overflow, Skipped
from workbench.dump.formats.ffts import slice_records, turns
from workbench.dump.formats.file import DumpFile, FileContent, FileName
from workbench.dump.formats.renamed import FILE_NAME, is_renamed, parse_mapping
from workbench.dump.formats.table import TABLE, format_of, parse_name
from workbench.dump.readers import (
    ON_NPU,
    base_name,
    check_numbers,
    message_of,
    read_lines,
    read_tensors,
    skip,
    skip_unmapped,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from workbench.core.tensors import TensorRecord
    from workbench.dump.dump import Failure
    from workbench.dump.formats.ffts import Part
    from workbench.dump.formats.file import At
    from workbench.dump.reports.opdebug import OverflowRecord
    from workbench.dump.survey import DumpFolder

_UNKNOWN = FileName("")


@dataclass(frozen=True, slots=True)
class FolderContent:
    """What a folder holds: fields as those of `workbench.dump.dump.Dump`; ``writer`` is empty if none is known."""

    records: tuple[TensorRecord, ...]
    skipped: tuple[Skipped, ...]
    notes: tuple[Note, ...]
    writer: str
    overflows: tuple[Overflow, ...]
    failures: tuple[Failure, ...]


def read_folder(folder: DumpFolder) -> FolderContent:
    """Read all files of a folder; whatever is wrong with one is in the content."""
    at = folder.graph_id, folder.iteration, folder.rank, folder.net_name
    mapping, wrong = _read_mapping(folder)
    contents = [FileContent(notes=wrong)]
    for name in sorted(folder.names, key=TABLE.__eq__):  # its rows come last
        checkpoint()
        if name != FILE_NAME:
            contents.append(_read_file(folder.path, name, mapping, at))
    contents += _join_slices([one.part for one in contents if one.part is not None], at)
    records = _without_doubles(list(chain.from_iterable(one.records for one in contents)))
    reports = list(chain.from_iterable(one.overflows for one in contents))
    overflows = tuple(_name_operators(reports, records, folder))
    notes = [*chain.from_iterable(one.notes for one in contents), *map(_note, overflows)]
    return FolderContent(
        records=records,
        skipped=tuple(chain.from_iterable(one.skipped for one in contents)),
        notes=tuple(notes),
        writer=next((one.writer for one in contents if one.writer), ""),
        overflows=overflows,
        failures=tuple(chain.from_iterable(one.failures for one in contents)),
    )


def _read_mapping(folder: DumpFolder) -> tuple[Mapping[str, str], tuple[Note, ...]]:
    """Given name → intended name, and what is wrong; a row that names another folder is refused."""
    if FILE_NAME not in folder.names:
        return {}, ()
    lines, notes = read_lines(Path(folder.path) / FILE_NAME)
    mapping, wrong = parse_mapping(lines)
    return mapping, (*notes, *(Note("mapping", FILE_NAME, one) for one in wrong))


def _read_file(folder: str, name: str, mapping: Mapping[str, str], at: At) -> FileContent:
    full = mapping.get(name, name) if mapping and is_renamed(name) else name
    found = parse_name(full)
    file = DumpFile(f"{folder}/{name}", full, found or _UNKNOWN, at)
    if found is None or "/" in name or "\0" in name:
        return _unknown(file, mapping)
    problem = check_numbers(found)
    if problem is not None:
        return FileContent(skipped=(skip(file, "unknown-name", problem),))
    try:
        return format_of(found).read(file)
    except (FormatError, OSError) as error:
        return FileContent(skipped=(skip(file, "unreadable", message_of(file.path, error)),))


def _unknown(file: DumpFile, mapping: Mapping[str, str]) -> FileContent:
    """Tell of a file whose name no format has."""
    name = base_name(file)
    if name in mapping:
        return skip_unmapped(file._replace(full=mapping[name]))
    if _is_no_tensor(name):
        return FileContent(notes=(Note("ignored", name, Message("dump/no-tensor-file")),))
    return FileContent(skipped=(skip(file, "unknown-name", Message("dump/name-unknown")),))


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
    begins = (".".join(words[:count]) for count in range(2, len(words) + 1))
    return not any(parse_name(begin) is not None for begin in begins)


def _join_slices(parts: Iterable[Part], at: At) -> Iterator[FileContent]:
    """Put slices of operators together; those that do not fit stay files of their own."""
    operators: dict[tuple[str, str, bool], list[Part]] = {}
    for part in parts:
        operator = part.name.op_type, part.op_name, part.cut.automatic
        operators.setdefault(operator, []).append(part)
    for turn in chain.from_iterable(map(turns, operators.values())):
        try:
            records = tuple(slice_records(turn, at))
        except FormatError as error:
            yield from (_read_slice(part, at) for part in turn)
            detail = Message("dump/slices-apart", why=error.message)
            yield FileContent(notes=(Note("slices", turn[0].op_name, detail),), writer=ON_NPU)
        else:
            detail = Message("dump/slices-joined", slices=len(turn))
            yield FileContent(records, (), (Note("slices", turn[0].op_name, detail),), ON_NPU)


def _read_slice(part: Part, at: At) -> FileContent:
    """Read a slice as a file of its own."""
    file = DumpFile(part.path, part.path.rpartition("/")[2], part.name, at)
    try:
        return read_tensors(file)
    except (FormatError, OSError) as error:
        return FileContent(skipped=(skip(file, "unreadable", message_of(file.path, error)),))


def _without_doubles(records: list[TensorRecord]) -> tuple[TensorRecord, ...]:
    """Drop rows of statistics for tensors that have a file of their own."""
    if all(record.source is not None for record in records):
        return tuple(records)
    held = {record.key[:4] for record in records if record.source is not None}
    return tuple(one for one in records if one.source is not None or one.key[:4] not in held)


def _name_operators(
    reports: Sequence[tuple[str, OverflowRecord]],
    records: Iterable[TensorRecord],
    folder: DumpFolder,
) -> Iterator[Overflow]:
    """Name the operators of overflow records by the task and stream of their files."""
    if not reports:
        return
    names: dict[tuple[object, object], str] = {
        (record.task_id, record.stream_id): record.key.op_name for record in records
    }
    for path, record in reports:
        one = record.first or record.accelerators[0]
        place = one.fields.get("task_id"), one.fields.get("stream_id")
        op_name = names.get(place, "") if record.first is not None else ""
        yield Overflow(path, record, op_name, folder.rank, folder.iteration)


def _note(overflow: Overflow) -> Note:
    """What an overflow record says, in one sentence."""
    name, one = overflow.op_name or Path(overflow.path).name, overflow.record.first
    if one is None:
        return Note("overflow", name, Message("dump/overflow-unreported"))
    detail = Message(
        "dump/overflow",
        unit=one.title,
        task=one.fields["task_id"],
        stream=one.fields["stream_id"],
        status=one.meaning or [f"status {number:#x}" for number in one.statuses],
    )
    return Note("overflow", name, detail)
