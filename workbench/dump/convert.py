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
from typing import TYPE_CHECKING, Any, BinaryIO, cast, get_args

import numpy as np

from workbench._values import NamedTuple
from workbench.core.device_shape import is_plain, permutation
from workbench.core.dtypes import OPAQUE, DType
from workbench.core.errors import FormatError
from workbench.core.formats import FORMATS, read_format, row_of
from workbench.core.packing import packed_bytes
from workbench.core.text import one_line
from workbench.core.words import Message
from workbench.dump.formats.container import locate, read_container
from workbench.dump.formats.mindspore_name import parse_npy_name
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
from workbench.dump.formats.npy import NpySource
from workbench.dump.formats.renamed import FILE_NAME, renamed
from workbench.dump.new_folder import WORK, NewFolder
from workbench.dump.payload.blocks import chunks, raw_chunks
from workbench.dump.payload.host_layout import doubt, with_host
from workbench.dump.reports.exception import read_failed_core
from workbench.dump.reports.opdebug import read_overflow
from workbench.dump.reports.opdebug_json import record_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from numpy.typing import NDArray

    from workbench.dump.formats.container import Container, TensorEntry
    from workbench.dump.payload.extent import Extent

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
                        if block.start < 0:
                            raise block.refusal()
                        _write(file, raw_chunks(path, block.start, block.size))

    def _records(self, path: str, below: str) -> None:
        texts = [record_json(record, "msaccucmp") for record in read_overflow(path)]
        for slot, text in enumerate(texts):
            with self._new(record_name(os.path.basename(path), slot), below) as file:
                file.write(text.encode())

    def _tensor(self, path: str, below: str, block: TensorEntry, op_name: str) -> None:
        tensor, problems = read_tensor(path, block, self._target)
        kind = disk_type(tensor.extent.dtype)
        form = Form(tensor.shape, format_word(block.format))
        if tensor.order is not None:
            form = Form(tensor.shape, self._target, converted=True)
        if self._type == "bin" and kind.name != type_word(block):
            stated = type_word(block)
            problem = Message("dump/convert-bin", stated=stated, held=kind.name)
            problems = (*problems, problem)
        name = tensor_name(os.path.basename(path), block, form, self._type, op_name)
        with self._new(name, below) as file:
            if self._type != "bin":
                _write_header(file, kind, form.shape)
            _write(file, to_disk(self._chunks(tensor), kind))
        for problem in problems:
            self._remark(path, f"{block.part} {block.slot}", problem)

    def _npy(self, path: str, below: str) -> None:
        """Rearrange an npy file of MindSpore that is in a device format."""
        name, tensor = read_npy(path, self._target)
        with self._new(name, below) as file:
            _write_header(file, tensor.extent.dtype.storage, tensor.shape)
            _write(file, self._chunks(tensor))

    def _chunks(self, tensor: Rearranged) -> Iterator[NDArray[Any]]:
        return chunks(tensor.extent, tensor.order, self._folder.scratch)

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


class Rearranged(NamedTuple):
    """A tensor on its way to a host format: its extent and the order of its axes there.

    ``order`` is ``None`` for one that stays as it is.
    """

    extent: Extent
    order: tuple[int, ...] | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the result."""
        shape = self.extent.given_shape
        return shape if self.order is None else tuple(shape[axis] for axis in self.order)


def read_tensor(
    path: str, block: TensorEntry, target: str
) -> tuple[Rearranged, tuple[Message, ...]]:
    """Return what can be had of a tensor, and what is to be known of it; ``target`` is a host format, or empty.

    Raises FormatError if no bytes of it can be had.
    """
    whole, problems = believed(block)
    extent = locate(path, whole)
    tensor = Rearranged(extent._replace(host=None))
    if target and not problems:
        try:
            tensor = rearrange_to(extent, target)
        except FormatError as error:
            word = format_word(block.format)
            problems = (Message("dump/left-in", format=word, why=error.message),)
    other = doubt(tensor.extent, target) if tensor.order is not None else ""
    if other and tensor.extent.host is not None:
        shape, format, _ = tensor.extent.host
        problems = (Message("dump/route-doubt", shape=shape, format=format, other=other),)
    surplus = block.size - packed_bytes(extent.dtype, extent.size)
    if surplus:
        problems = (*problems, Message("dump/surplus", left=surplus))
    return tensor, problems


def rearrange_to(extent: Extent, target: str) -> Rearranged:
    """Return the way of a tensor to a host format; raises FormatError with the reason if there is none.

    Its original shape is read as the file or a device shape that fits says, else as ``target``.
    """
    row = row_of(extent.format.name)
    if row.name == "ND" != target:
        raise FormatError("dump/route-axes")
    if is_plain(row.name, target):
        order = permutation(row.name, target, len(extent.shape))
        return Rearranged(extent, order)
    if not row.device:
        raise FormatError("dump/route-arrangement", format=row.name)
    original = extent.originals[0].shape if extent.originals else None
    if not original or min(original) < 0:
        raise FormatError("dump/route-original", format=row.name, got=original)
    found = with_host(extent, wanted=target)
    if found.host is None:
        raise FormatError(
            "dump/route-shape", original=original, format=row.name, shape=extent.shape
        )
    return Rearranged(found, permutation(found.host.format, target, len(original)))


def believed(block: TensorEntry) -> tuple[TensorEntry, tuple[Message, ...]]:
    """Return a block as it can be read, and what is wrong with it.

    One without a shape is flat, as msaccucmp has it; so is one with fewer bytes than its shape asks
    for. One of a type that nobody can decode becomes its bytes.
    """
    row = block.row
    if block.start < 0:
        raise block.refusal()
    if row is None or not row.packing or (row.packing == OPAQUE and row.code):
        why = block.problem or Message("dump/elements-unknown", dtype=row.word if row else "")
        bare = block._replace(data_type=0, shape=None, problem=None)
        return bare, (Message("dump/kept-as-bytes", why=why),)
    flat = block._replace(shape=(block.size * 8 // row.bits,), problem=None)
    if block.problem:
        return flat, (Message("dump/kept-flat", why=block.problem),)
    if block.shape and min(block.shape) < 0:
        why = Message("dump/shape-open", got=block.shape)
        return flat, (Message("dump/kept-flat", why=why),)
    return (block if block.shape else flat), ()


def read_npy(path: str, target: str) -> tuple[str, Rearranged]:
    """Return the name and the way of a MindSpore npy file in a device format, if its header has the host shape.

    Raises FormatError with the reason if there is nothing to convert, or no way.
    """
    name = os.path.basename(path)
    parts = parse_npy_name(name)
    form = parts.format if parts is not None else ""
    if not target or parts is None or not form or not row_of(form).device:
        raise FormatError("dump/npy-already")
    extent = NpySource(path, read_format(form), parts.dtype).located()
    if extent.strides is not None or extent.dtype.storage.isbuiltin != 1:
        raise FormatError("dump/npy-order")
    if extent.host is None:
        why = Message("dump/npy-original")
        raise FormatError("dump/left-in", format=extent.format.name, why=why)
    return name.replace(f".{form}.", f".{target}."), rearrange_to(extent, target)


def known_hosts() -> tuple[str, ...]:
    """Formats that tensors can be converted to."""
    return tuple(name for name, row in FORMATS.items() if row.is_host and row.code >= 0)


def disk_type(row: DType) -> np.dtype[Any]:
    """NumPy's own type that a number format is written as; formats it lacks become wider ones.

    Bytes of no known type are int8, as msaccucmp has them.

    >>> from workbench.core.dtypes import data_type_of
    >>> [str(disk_type(data_type_of(name))) for name in ("bfloat16", "uint1", "int4", "undefined")]
    ['float32', 'uint8', 'int8', 'int8']
    """
    if row.code == 0:
        return np.dtype(np.int8)
    if row.storage.isbuiltin == 1:
        return row.storage
    whole = {"int": np.int8, "uint": np.uint8}
    return np.dtype(whole.get(row.name.rstrip("0123456789"), np.float32))


def to_disk(pieces: Iterable[NDArray[Any]], kind: np.dtype[Any]) -> Iterator[NDArray[Any]]:
    """Elements as a type of NumPy's own."""
    for piece in pieces:
        if piece.dtype.isbuiltin == 1:
            yield piece.view(kind)  # of the same size: int8 for bytes without a type
        else:
            yield piece.astype(kind)
