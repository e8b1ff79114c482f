"""Read one folder of dump files: every file becomes records, a note, or is skipped with a reason.

What a file is its name says (`workbench.dump.formats.table`). A name that was too long is looked up in
``mapping.csv`` first.
"""

from __future__ import annotations

from dataclasses import replace
from fnmatch import fnmatch
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from workbench._values import NamedTuple, dataclass
from workbench.core.errors import FormatError
from workbench.core.long_work import checkpoint
from workbench.core.tensors import TensorSpec
from workbench.core.words import Message
from workbench.dump import formats
from workbench.dump.dump import Note, Overflow, Skipped
from workbench.dump.formats.file import DumpFile, FileContent, FileName
from workbench.dump.formats.ge_name import ROLES
from workbench.dump.formats.mindspore_name import dtype_of_word
from workbench.dump.formats.renamed import FILE_NAME, is_renamed, parse_mapping
from workbench.dump.formats.table import TABLE, format_of, parse_name, parse_names
from workbench.dump.index import (
    DTYPE,
    EMPTY,
    ENCODING,
    IO,
    Index,
    Numbers,
    Place,
    Strings,
    as_numbers,
    index_of,
    join,
)
from workbench.dump.payload.blocks import ExtentSource
from workbench.dump.readers import (
    ON_NPU,
    base_name,
    check_numbers,
    message_of,
    npy_source,
    read_lines,
    read_tensors,
    skip,
    skip_unmapped,
    writer_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from workbench.dump.dump import Failure
    from workbench.dump.formats.container import HeaderForm
    from workbench.dump.formats.ffts import SliceFile
    from workbench.dump.formats.file import At
    from workbench.dump.formats.table import CommonNames
    from workbench.dump.payload.extent import Extent
    from workbench.dump.reports.opdebug import OverflowRecord
    from workbench.dump.survey import DumpFolder

    _Header = tuple[int, HeaderForm, bytes]

_UNKNOWN = FileName("")

_BATCH = 8 << 20
"""Bytes of headers after which those read by then are taken apart."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class FolderContent:
    """What a folder holds: fields as those of `workbench.dump.dump.Dump`; ``writer`` is empty if none is known."""

    index: Index
    skipped: tuple[Skipped, ...]
    notes: tuple[Note, ...]
    writer: str
    overflows: tuple[Overflow, ...]
    failures: tuple[Failure, ...]


def read_folder(folder: DumpFolder) -> FolderContent:
    """Read all files of a folder; whatever is wrong with one is in the content."""
    at = Place(folder.graph_id, folder.iteration, folder.rank, folder.net_name)
    mapping, wrong = _read_mapping(folder)
    names = sorted(folder.names, key=TABLE.__eq__)  # its rows come last
    parts, others = ([], range(len(names))) if mapping else _read_common(folder.path, names, at)
    contents = {-1: FileContent(notes=wrong)}
    for number in others:
        checkpoint()
        if names[number] != FILE_NAME and not _tells_roles(folder, names[number]):
            contents[number] = _read_file(folder, names[number], mapping, at)
    slices = [one.part for one in contents.values() if one.part is not None]
    contents |= enumerate(_join_slices(slices, at), len(names))
    index = _without_doubles(_in_order([*parts, _records_part(contents)]))
    reports = [report for one in contents.values() for report in one.overflows]
    overflows = tuple(_name_operators(reports, index, folder))
    notes = [note for one in contents.values() for note in one.notes]
    writers = [(number, one.writer) for number, one in contents.items() if one.writer]
    writers += [part.writer for part in parts if part.writer is not None]
    return FolderContent(
        index=index,
        skipped=tuple(chain.from_iterable(one.skipped for one in contents.values())),
        notes=(*notes, *map(_note, overflows)),
        writer=min(writers)[1] if writers else "",
        overflows=overflows,
        failures=tuple(chain.from_iterable(one.failures for one in contents.values())),
    )


# ---------------------------------------------------------------- files as nearly all of them are


class _Part(NamedTuple):
    """Some tensors of a folder, the number of the file that each is of, and the first that tells who wrote it."""

    tensors: Index
    order: NDArray[np.intp]
    writer: tuple[int, str] | None = None


def _in_order(parts: Sequence[_Part]) -> Index:
    """Put tensors in the order of their files."""
    parts = [part for part in parts if len(part.tensors)]
    index = join([part.tensors for part in parts])
    if len(parts) < 2:
        return index
    order = np.concatenate([part.order for part in parts])
    return index.take(np.argsort(order, kind="stable"))


def _records_part(contents: Mapping[int, FileContent]) -> _Part:
    """Tensors of files that were read one by one."""
    sizes = [len(one.records) for one in contents.values()]
    index = index_of(chain.from_iterable(one.records for one in contents.values()))
    return _Part(index, np.repeat(np.array([*contents], np.intp), sizes))


def _read_common(
    folder: str, names: Sequence[str], place: Place
) -> tuple[list[_Part], Sequence[int]]:
    """Tensors of files that are like thousands of others, and the numbers of the files that are not."""
    npy, containers, others = parse_names(names)
    parts = []
    if npy.numbers:
        parts.append(_npy_part(_index_files(folder, names, npy, place), npy))
    if containers.numbers:
        part, unusual = _container_part(_index_files(folder, names, containers, place), containers)
        parts.append(part)
        others = sorted((*others, *unusual))
    return parts, others


def _index_files(folder: str, names: Sequence[str], found: CommonNames, place: Place) -> Index:
    """A row for each file with what its name says of the operator and the time."""
    rows = np.zeros(len(found.numbers), DTYPE)
    mine = [names[number] for number in found.numbers]
    data = "".join(mine).encode(*ENCODING)
    sizes = _sizes(mine, data)
    ends = np.cumsum(sizes)
    op_types, rows["op_type"] = _numbered(found.op_types)
    op_names, rows["op_name"] = _numbered(found.op_names)
    first = dict(zip(reversed(found.op_names), range(len(mine))[::-1], strict=True))
    at = np.array([first[name] for name in op_names])
    starts = (ends - sizes + 1 + _sizes(found.op_types, data))[at]
    stops = starts + _sizes(found.op_names, data)[at]
    for column, digits in (("task", found.tasks), ("stream", found.streams), ("time", found.times)):
        rows[column] = [*map(int, digits)]
    rows["file"] = np.arange(len(mine))
    return Index(
        rows, Strings.at(data, starts, stops), Strings.at(data, ends - sizes, ends),
        as_numbers(np.zeros(len(mine)), 1), (f"{folder}/",), op_types, (place,),
    )  # fmt: skip


def _sizes(texts: Sequence[str], data: bytes) -> NDArray[np.int64]:
    """Bytes of each text, all of which ``data`` has in it."""
    if data.isascii():
        return np.fromiter(map(len, texts), np.int64, len(texts))
    return np.array([len(text.encode(*ENCODING)) for text in texts])


def _numbered(values: Iterable[T]) -> tuple[tuple[T, ...], list[int]]:
    """Values in the order of first appearance, and the number of each."""
    values = [*values]
    numbers = {value: number for number, value in enumerate(dict.fromkeys(values))}
    return tuple(numbers), [*map(numbers.__getitem__, values)]


def _npy_part(files: Index, found: CommonNames) -> _Part:
    """A tensor of each file, which stays closed."""
    rows = files.rows.copy()
    rows["io"] = [*map(IO.index, found.io)]
    rows["slot"] = [*map(int, found.slots)]
    words, numbers = _numbered(zip(found.formats, found.dtypes, strict=True))
    rows["label"] = numbers
    rows["kind"] = rows["label"] + 1
    said = [FileName("npy", format=form, dtype=dtype_of_word(word)) for form, word in words]
    kinds = (None, *(npy_source("", one) for one in said))
    labels = tuple(TensorSpec(one.dtype, None, one.format) for one in said)
    writers = zip(found.numbers, found.dtypes, strict=True)
    writer = next(((number, writer_of(word)) for number, word in writers if word), None)
    rows.setflags(write=False)
    index = replace(files, rows=rows, kinds=kinds, labels=labels)
    return _Part(index, np.array(found.numbers), writer)


def _container_part(files: Index, found: CommonNames) -> tuple[_Part, list[int]]:
    """Tensors of containers whose headers are sound, and the numbers of the files that have no such."""
    forms: Numbers[HeaderForm] = Numbers()
    batches = [_place_tensors(forms, batch) for batch in _read_headers(files)]
    rows = np.concatenate([EMPTY.rows, *(rows for rows, _ in batches)])
    for column in ("op_type", "op_name", "time", "task", "stream"):
        rows[column] = files.rows[column][rows["file"]]
    names, origins = _numbered(chain.from_iterable(names for _, names in batches))
    rows["origin"][rows["origin"] > 0] = np.array(origins, np.uint32) + 1
    index = _with_kinds(replace(files, rows=rows, origins=Strings.of(names)), forms.all)
    sound = np.zeros(len(files), np.bool_)
    sound[rows["file"]] = True
    numbers = np.array(found.numbers)
    writer = (int(numbers[sound][0]), ON_NPU) if len(rows) else None
    return _Part(index, numbers[rows["file"]], writer), numbers[~sound].tolist()


"""Number of a file, what its header says, and the file up to the header's end."""


def _read_headers(files: Index) -> Iterator[list[_Header]]:
    """Read the headers of containers, some MB at a time; those that hold anything unusual are left out."""
    batch: list[_Header] = []
    size = 0
    for row, name in enumerate(files.files.all()):
        checkpoint()
        try:
            found = formats.read_form(files.folders[0] + name)
        except FormatError:
            continue  # the careful reader says why
        if found is None or not found[0].tensors:
            continue
        batch.append((row, *found))
        if (size := size + len(found[1])) > _BATCH:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _place_tensors(
    forms: Numbers[HeaderForm], batch: Sequence[_Header]
) -> tuple[NDArray[np.void], list[str]]:
    """A row for each tensor, and the names of the origins of those whose origin is not 0.

    ``kind`` is the number of the tensor among those of all forms.
    """
    files, used, headers = zip(*batch, strict=True)
    known, places = _numbered(used)
    numbers = np.array([forms.number(form) for form in known])[places]
    sizes = np.array([len(form.tensors) for form in forms.all])
    counts = sizes[numbers]
    rows = np.zeros(counts.sum(), DTYPE)
    rows["file"] = np.repeat(files, counts)
    behind = np.cumsum(sizes)[numbers] - np.cumsum(counts)
    rows["kind"] = np.arange(len(rows)) + np.repeat(behind, counts)
    said = np.array([one[1:] for form in forms.all for one in form.tensors])
    io, slot, start, output, *spans = said.T[:, rows["kind"]]
    rows["io"], rows["slot"], rows["start"], rows["origin_slot"] = io, slot, start, output
    data = b"".join(headers)
    lengths = np.fromiter(map(len, headers), np.int64, len(headers))
    begins = np.repeat(np.cumsum(lengths) - lengths, counts)
    rows["address"] = formats.decode_numbers(data, begins + spans[0], begins + spans[1])
    rows["origin"] = named = spans[3] > 0
    names = zip(*((begins + place)[named].tolist() for place in spans[2:]), strict=True)
    return rows, [formats.text_of(data[start:end]) for start, end in names]


def _with_kinds(index: Index, forms: Sequence[HeaderForm]) -> Index:
    """Replace numbers of tensors of forms by those of kinds and labels."""
    known: Numbers[Extent] = Numbers(key=id)
    kinds = np.array([known.number(one.alike) for form in forms for one in form.tensors], np.uint32)
    labels, numbers = _numbered(
        TensorSpec(one.dtype.name, None, one.format.name) for one in known.all
    )
    rows = index.rows
    rows["kind"] = kinds[rows["kind"]]
    rows["label"] = np.array(numbers, np.uint32)[rows["kind"]]
    rows["kind"] += 1
    rows.setflags(write=False)
    return replace(index, labels=labels, kinds=(None, *map(ExtentSource, known.all)))


# ---------------------------------------------------------------- any file


def _read_mapping(folder: DumpFolder) -> tuple[Mapping[str, str], tuple[Note, ...]]:
    """Given name → intended name, and what is wrong; a row that names another folder is refused."""
    if FILE_NAME not in folder.names:
        return {}, ()
    lines, notes = read_lines(Path(folder.path) / FILE_NAME)
    mapping, wrong = parse_mapping(lines)
    return mapping, (*notes, *(Note("mapping", FILE_NAME, one) for one in wrong))


def _tells_roles(folder: DumpFolder, name: str) -> bool:
    """Whether a file of golden data says what the others are; that is read beside the tensors."""
    return name == ROLES and folder.layout == "golden"


def _read_file(folder: DumpFolder, name: str, mapping: Mapping[str, str], at: At) -> FileContent:
    full = mapping.get(name, name) if mapping and is_renamed(name) else name
    found = parse_name(full)
    if folder.layout != "golden" and not _is_of_a_dump(found):
        found = None
    file = DumpFile(f"{folder.path}/{name}", full, found or _UNKNOWN, at)
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
    return not any(_is_of_a_dump(parse_name(begin)) for begin in begins)


def _is_of_a_dump(name: FileName | None) -> bool:
    """Whether a name is none that a file of anything else may bear as well."""
    return name is not None and format_of(name).folder != "plain"


def _join_slices(parts: Iterable[SliceFile], at: At) -> Iterator[FileContent]:
    """Put slices of operators together; those that do not fit stay files of their own."""
    operators: dict[tuple[str, str, bool], list[SliceFile]] = {}
    for part in parts:
        operator = part.name.op_type, part.op_name, part.cut.automatic
        operators.setdefault(operator, []).append(part)
    from workbench.dump.formats.ffts import by_execution, slice_records

    for turn in chain.from_iterable(map(by_execution, operators.values())):
        try:
            records = tuple(slice_records(turn, at))
        except FormatError as error:
            yield from (_read_slice(part, at) for part in turn)
            detail = Message("dump/slices-apart", why=error.message)
            yield FileContent(notes=(Note("slices", turn[0].op_name, detail),), writer=ON_NPU)
        else:
            detail = Message("dump/slices-joined", slices=len(turn))
            yield FileContent(records, (), (Note("slices", turn[0].op_name, detail),), ON_NPU)


def _read_slice(part: SliceFile, at: At) -> FileContent:
    """Read a slice as a file of its own."""
    file = DumpFile(part.path, part.path.rpartition("/")[2], part.name, at)
    try:
        return read_tensors(file)
    except (FormatError, OSError) as error:
        return FileContent(skipped=(skip(file, "unreadable", message_of(file.path, error)),))


def _without_doubles(index: Index) -> Index:
    """Drop rows of statistics for tensors that have a file of their own."""
    held = index.is_held
    if held.all():
        return index
    columns = (index.rows[name].tolist() for name in ("op_type", "op_name", "io", "slot"))
    keys = [*zip(*columns, strict=True)]
    files = {keys[number] for number in np.flatnonzero(held).tolist()}
    doubles = np.array([key in files for key in keys])
    return index.take(held | ~doubles) if doubles[~held].any() else index


def _name_operators(
    reports: Sequence[tuple[str, OverflowRecord]],
    index: Index,
    folder: DumpFolder,
) -> Iterator[Overflow]:
    """Name the operators of overflow records by the task and stream of their files."""
    if not reports:
        return
    columns = (index.rows[name].tolist() for name in ("task", "stream", "op_name"))
    names: dict[tuple[object, object], int] = {
        (task, stream): op_name for task, stream, op_name in zip(*columns, strict=True)
    }
    for path, record in reports:
        one = record.first or record.accelerators[0]
        place = one.fields.get("task_id"), one.fields.get("stream_id")
        found = names.get(place) if record.first is not None else None
        op_name = "" if found is None else index.op_names[found]
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
