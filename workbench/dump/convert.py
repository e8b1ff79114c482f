"""Convert dump containers to files that NumPy reads, device formats to host formats, overflow to JSON.

What msaccucmp's ``convert`` does, with its file names (`workbench.dump.formats.msaccucmp`). Promises
(`tests/dump/test_convert.py`): nothing is written outside the folder given, every file appears whole or
not at all, memory does not grow with a file, and whatever is left out or kept as it was has a remark.
"""

from __future__ import annotations

import errno
import os
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple, cast, get_args

import numpy as np

from workbench.core.errors import FormatError
from workbench.core.formats import read_format
from workbench.core.text import one_line
from workbench.core.words import Message
from workbench.dump.convert_read import read_bytes, read_npy, read_tensor
from workbench.dump.formats.container import read_container
from workbench.dump.formats.msaccucmp import (
    OVERFLOW,
    FileType,
    Form,
    bytes_name,
    format_word,
    record_name,
    tensor_name,
    type_word,
)
from workbench.dump.formats.renamed import FILE_NAME, renamed
from workbench.dump.new_folder import WORK, NewFolder
from workbench.dump.payload.ordered import disk_type, known_hosts, rearranged, to_disk
from workbench.dump.reports.exception import read_failed_core
from workbench.dump.reports.opdebug import read_overflow
from workbench.dump.reports.opdebug_json import record_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from numpy.typing import NDArray

    from workbench.dump.formats.container_entries import Block, Container

    Progress = Callable[[int, int, str], None]

_SHOWN = 5
_UNREAD = ("core/unreadable", "core/missing")
_TEXTS = (".csv", ".json", ".txt")


class Remark(NamedTuple):
    """What a reader of the result must know of one file: ``what`` is the part of it, or empty."""

    path: str
    what: str
    text: Message

    def __str__(self) -> str:
        return one_line(": ".join(filter(None, (self.path, self.what, str(self.text)))))


@dataclass(frozen=True, slots=True)
class Conversion:
    """What `convert` did: names below ``out`` of the files written, and what is to be known of them."""

    out: Path
    files: int
    written: tuple[str, ...]
    remarks: tuple[Remark, ...]

    @property
    def unread(self) -> tuple[Remark, ...]:
        """Remarks on files and folders that the system did not let read: what they hold is not among the result."""
        return tuple(remark for remark in self.remarks if remark.text.code in _UNREAD)

    def remark_lines(self) -> list[str]:
        """Remarks for a person: of one text the first `_SHOWN`, then how many more there are."""
        lines: list[str] = []
        texts = [str(remark.text) for remark in self.remarks]
        count, seen = Counter(texts), Counter[str]()
        for text, remark in zip(texts, self.remarks, strict=True):
            seen[text] += 1
            if seen[text] <= _SHOWN:
                lines.append(str(remark))
            elif seen[text] == count[text]:
                more = count[text] - _SHOWN
                lines.append(str(Message("dump/convert-more", more=more, what=remark.text)))
        return lines

    def __repr__(self) -> str:
        done = Message(
            "dump/converted",
            files=self.files,
            written=len(self.written),
            remarks=len(self.remarks),
        )
        return one_line(f"<Conversion {self.out}: {done}>")


def convert(
    dump: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    format: str = "",
    type: str = "npy",
    progress: Progress | None = None,
) -> Conversion:
    """Convert a dump file, or every one below a folder, to files in ``out``.

    Parameters
    ----------
    dump : path
        A container; folders below it are folders below ``out``.
    out : path
        New or empty.
    format : str
        A host format such as ``NCHW``: tensors are rearranged to it and cut to their original shape.
        Otherwise they stay as the device had them.
    type : {"npy", "bin", "msnpy"}
        ``bin`` is the elements alone, ``msnpy`` an npy file with MindSpore's name.
    progress : callable, optional
        Called with the number of files done, their total, and a name.

    Raises
    ------
    FormatError
        An argument is wrong, or there was nothing that could be converted.
    OutputError
        A file cannot be written, on a full disk for one. Files that are there by then are whole.
    """
    target, kind = _checked(format, type)
    files, remarks = _files(Path(dump))
    with NewFolder(out) as folder:
        run = _Run(folder, target, kind, remarks)
        for done, (path, below) in enumerate(files, 1):
            run.file(path, below)
            if progress is not None:
                progress(done, len(files), os.path.basename(path))
    if not run.written:
        if not remarks:
            raise FormatError("dump/folder-empty", got=str(dump))
        path, what, why = remarks[0]
        place = ": ".join(filter(None, (path, what)))
        raise FormatError("dump/convert-nothing", place=place, why=why)
    return Conversion(Path(out), len(files), tuple(run.written), tuple(remarks))


def _checked(format: str, type: str) -> tuple[str, FileType]:
    """Return the name of the format, empty for none, and the type."""
    kinds = get_args(FileType)
    if type not in kinds:
        raise FormatError("core/choice", subject="type", got=type, known=kinds)
    try:
        name = read_format(format).name if format else ""
    except FormatError:
        name = format
    if name and name not in known_hosts():
        raise FormatError("core/choice", subject="format", got=format, known=known_hosts())
    return name, cast("FileType", type)


def _files(dump: Path) -> tuple[list[tuple[str, str]], list[Remark]]:
    """Paths of the files, each with its folder below the dump, and what was not looked into."""
    if dump.is_file():
        return [(str(dump), "")], []
    if not dump.is_dir():
        if not dump.exists():
            raise FormatError("core/missing", got=str(dump))
        raise FormatError("core/not-a-file", place=str(dump), subject="dump")
    found: list[tuple[str, str]] = []
    remarks: list[Remark] = []

    def missed(error: OSError) -> None:
        why = Message("core/unreadable", subject="folder", why=error.strerror)
        remarks.append(Remark(str(error.filename), "", why))

    for at, folders, names in os.walk(dump, onerror=missed):
        below = os.path.relpath(at, dump).replace(os.sep, "/").removeprefix(".")
        for name in folders:
            if name == WORK or os.path.islink(os.path.join(at, name)):
                code = "dump/convert-unfinished" if name == WORK else "dump/convert-link"
                remarks.append(Remark(os.path.join(at, name), "", Message(code)))
        folders[:] = sorted(name for name in folders if name != WORK)
        found += [(os.path.join(at, name), below) for name in sorted(names) if name != FILE_NAME]
    return found, remarks


class _Run:
    """One conversion: where files go, what is asked for, what was done."""

    def __init__(
        self, folder: NewFolder, target: str, file_type: FileType, remarks: list[Remark]
    ) -> None:
        self._folder, self._target, self._type = folder, target, file_type
        self._remarks = remarks
        self.written: list[str] = []

    def file(self, path: str, below: str) -> None:
        """Convert one file of the dump."""
        with self._noting(path, ""):
            if path.endswith(".npy"):
                self._npy(path, below)
            elif path.endswith(".core"):
                self._container(path, below, read_failed_core(path)[1])
            else:
                self._container(path, below, _read(path))

    def _container(self, path: str, below: str, container: Container) -> None:
        for note in container.notes:
            self._remark(path, "", note)
        name = os.path.basename(path)
        if name.startswith(OVERFLOW):
            before = len(self.written)
            with self._noting(path, ""):
                self._records(path, below)
            if len(self.written) > before:
                return
        for block in container.blocks:
            with self._noting(path, f"{block.part} {block.slot}"):
                if block.part in ("input", "output"):
                    self._tensor(path, below, block, container.op_name)
                else:
                    with self._new(bytes_name(name, block), below) as file:
                        _write(file, read_bytes(path, block).pieces())

    def _records(self, path: str, below: str) -> None:
        texts = [record_json(record, "msaccucmp") for record in read_overflow(path)]
        for slot, text in enumerate(texts):
            with self._new(record_name(os.path.basename(path), slot), below) as file:
                file.write(text.encode())

    def _tensor(self, path: str, below: str, block: Block, op_name: str) -> None:
        tensor = read_tensor(path, block, self._target)
        kind = disk_type(tensor.elements.row)
        form = Form(tensor.layout.shape, format_word(block.format))
        pieces, problems = tensor.elements.pieces(), tensor.problems
        if tensor.route is not None:
            pieces = rearranged(tensor.elements, tensor.route, self._folder.scratch)
            form = Form(tensor.route.shape, self._target, converted=True)
        if self._type == "bin" and kind.name != type_word(block):
            stated = type_word(block)
            problem = Message("dump/convert-bin", stated=stated, held=kind.name)
            problems = (*problems, problem)
        name = tensor_name(os.path.basename(path), block, form, self._type, op_name)
        with self._new(name, below) as file:
            if self._type != "bin":
                _write_header(file, kind, form.shape)
            _write(file, to_disk(pieces, kind))
        for problem in problems:
            self._remark(path, f"{block.part} {block.slot}", problem)

    def _npy(self, path: str, below: str) -> None:
        """Rearrange an npy file of MindSpore that is in a device format."""
        found = read_npy(path, self._target)
        pieces = rearranged(found.elements, found.route, self._folder.scratch)
        with self._new(found.name, below) as file:
            _write_header(file, found.elements.row.storage, found.route.shape)
            _write(file, pieces)

    @contextmanager
    def _new(self, name: str, below: str) -> Iterator[BinaryIO]:
        """Open a file of the result under its name, or under msaccucmp's for one that is too long."""
        prefix = f"{below}/" if below else ""
        change = None if name.endswith(".json") else renamed("msaccucmp", name, below, Random(0))
        if change is not None and not name.isprintable():
            raise FormatError("dump/convert-name", file=FILE_NAME, got=name)
        given = change[0] if change else name
        with self._folder.file(prefix + given) as file:
            yield file
        self.written.append(prefix + given)
        if change is not None:
            self._folder.late_line(f"{prefix}{FILE_NAME}", change[1])

    @contextmanager
    def _noting(self, path: str, what: str) -> Iterator[None]:
        """Turn what is wrong with one piece of a dump into a remark."""
        try:
            yield
        except FormatError as error:
            place = error.place.removeprefix(path).removeprefix(": ")  # the remark names the path
            self._remark(path, what, Message(error.code, place=place, **error.values))
        except OSError as error:
            if error.errno != errno.ENAMETOOLONG:
                raise
            self._remark(path, what, Message("dump/convert-name-long"))

    def _remark(self, path: str, what: str, text: Message) -> None:
        self._remarks.append(Remark(path, what, text))


def _read(path: str) -> Container:
    """Read a container; a text file that lies beside dumps is called one if it is none."""
    try:
        return read_container(path)
    except FormatError as error:
        suffix = os.path.splitext(path)[1]
        if suffix not in _TEXTS:
            raise
        raise FormatError("dump/convert-text", suffix=suffix) from error


def _write_header(file: BinaryIO, kind: np.dtype[Any], shape: tuple[int, ...]) -> None:
    header = {"descr": kind.newbyteorder("<").str, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(file, header)


def _write(file: BinaryIO, pieces: Iterable[NDArray[Any]]) -> None:
    for piece in pieces:
        file.write(cast("Any", piece.reshape(-1).view(np.uint8).data))
