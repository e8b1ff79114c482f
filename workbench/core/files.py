"""Files: of those that nobody vouches for no more is read than is there, and what is written is written whole."""

from __future__ import annotations

import io
import os
import re
import stat
import threading
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, BinaryIO, TextIO, cast

from workbench.core.errors import FormatError, OutputError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from workbench.core.storage.remote import RemoteFile

_FLAGS = (
    os.O_RDONLY
    | getattr(os, "O_BINARY", 0)
    | getattr(os, "O_NOCTTY", 0)
    | getattr(os, "O_NONBLOCK", 0)  # a pipe in the place of a file must not block
)


def encoded(text: str) -> bytes:
    """Return UTF-8 in which bytes of file names are themselves; other lone surrogates have none and are replaced."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return re.sub("[\ud800-\udc7f\udd00-\udfff]", "\ufffd", text).encode(
            "utf-8", "surrogateescape"
        )


def open_descriptor(path: str, flags: int = 0) -> int:
    """Open a file for reading, whatever it is, without waiting for it; raises OSError. ``flags`` are more of `os`."""
    return os.open(path, flags | _FLAGS)


SCHEME = re.compile(r"([a-z][a-z0-9+.]{1,15}):/+(?=[^/])", re.ASCII)
"""How a URL begins, also one that was taken for a path of files, which joins its slashes."""

ARCHIVES = {".zip": "zip", ".tar": "tar"}
"""Ending of an archive → fsspec's name of what reads it."""

INSIDE = "!/"
"""What stands between an archive and a path inside it."""


def is_remote(path: str | Path) -> bool:
    """Whether a path is a URL or inside an archive.

    >>> [is_remote(one) for one in ("s3://b/x", "a/b.zip!/c", "/a/b", "C:/x", "a:b")]
    [True, True, False, False, False]
    """
    text = str(path)
    return INSIDE in text or text.endswith("!") or (":/" in text and bool(SCHEME.match(text)))


def open_to_read(path: str) -> int | RemoteFile:
    """Open a file for `read_into` and `seek_to`: a descriptor of the system's, or what reads it from elsewhere."""
    if is_remote(path):
        from workbench.core.storage.remote import RemoteFile

        return RemoteFile(path)
    return open_descriptor(path)


def read_into(file: int | RemoteFile, view: memoryview) -> int:
    """Read the next bytes into a view; how many came, 0 at the end."""
    return _readv(file, [view]) if isinstance(file, int) else file.readinto(view)


def _read_os(fd: int, buffers: list[memoryview]) -> int:
    """Stand in for os.readv where the platform has none."""
    (buffer,) = buffers
    data = os.read(fd, len(buffer))
    buffer[: len(data)] = data
    return len(data)


_readv = getattr(os, "readv", _read_os)


def seek_to(file: int | RemoteFile, at: int, whence: int = os.SEEK_SET) -> int:
    """Go to a byte of a file that `open_to_read` opened; where that is."""
    return os.lseek(file, at, whence) if isinstance(file, int) else file.seek(at, whence)


def close_file(file: int | RemoteFile) -> None:
    """Close a file that `open_to_read` opened."""
    if isinstance(file, int):
        os.close(file)
    else:
        file.close()


def size_of(file: int | IO[bytes] | RemoteFile) -> int:
    """Bytes of an open file."""
    if isinstance(file, int):
        return os.fstat(file).st_size
    raw = getattr(file, "raw", file)
    size: int | None = getattr(raw, "size", None)  # a RemoteFile's
    return os.fstat(file.fileno()).st_size if size is None else size


def file_size(path: str) -> int:
    """Bytes of a file; raises OSError if there is none."""
    if is_remote(path):
        from workbench.core.storage.remote import find_entry

        return find_entry(path).size
    return os.stat(path).st_size


def folder_files(folder: str | Path) -> list[str]:
    """Names of all that is in a folder, in order; none if there is no such folder."""
    try:
        if is_remote(folder):
            from workbench.core.storage.remote import list_entries

            return [one.name for one in list_entries(folder)]
        return sorted(os.listdir(folder))
    except OSError:
        return []


def open_file(path: str | Path, what: str = "file") -> BinaryIO:
    """Open a regular file; raises FormatError for anything else. ``what`` is what it is to be."""
    try:
        return _regular(path, what, -1)
    except FileNotFoundError as error:
        raise FormatError("core/missing", got=str(path)) from error
    except (OSError, ValueError) as error:
        raise unreadable(path, error, what) from error


def open_listed(path: str) -> BinaryIO:
    """Open a regular file that a folder lists, unbuffered; raises FormatError for anything else, if it is gone, too."""
    try:
        return _regular(path, "file", 0)
    except OSError as error:
        raise unreadable(path, error) from error


def _regular(path: str | Path, what: str, buffering: int) -> BinaryIO:
    if is_remote(path):
        return _elsewhere(path, what, buffering)
    file: BinaryIO = open(path, "rb", buffering, opener=open_descriptor)  # noqa: SIM115 (the caller's with)
    if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        return file
    file.close()
    raise FormatError("core/not-a-file", place=str(path), subject=what)


def _elsewhere(path: str | Path, what: str, buffering: int) -> BinaryIO:
    from workbench.core.storage.remote import RemoteFile

    found = RemoteFile(path)
    if found.is_folder:
        raise FormatError("core/not-a-file", place=str(path), subject=what)
    return cast("BinaryIO", io.BufferedReader(found) if buffering else found)


def fill(file: BinaryIO, start: int, buffer: NDArray[Any], where: str) -> NDArray[Any]:
    """Fill ``buffer`` (bytes) with those from ``start`` on; FormatError if the file ends before."""
    view, at = buffer.data, 0
    try:
        file.seek(start)
        while at < len(view):
            got = cast("Any", file).readinto(view[at:])
            if not got:
                break
            at += got
    except OSError as error:
        raise unreadable(where, error) from error
    if at < len(view):
        place = f"{where}: byte {start + at}"
        raise FormatError("dump/file-end", place=place, start=start, needed=len(view), held=at)
    return buffer


def open_text(path: str | Path, what: str = "file", encoding: str = "utf-8") -> TextIO:
    """Open a text as `open_file`; line ends stay as they are, what is no text is replaced."""
    return io.TextIOWrapper(open_file(path, what), encoding, "replace", newline="")


def file_content(path: str | Path, limit: int, what: str = "file") -> bytes:
    """All bytes of a file; raises FormatError if it cannot be read or has more than ``limit``."""
    with open_file(path, what) as file:
        size = size_within(file, path, limit, what)
        try:
            return file.read(size)
        except OSError as error:
            raise unreadable(path, error, what) from error


def size_within(file: BinaryIO, path: str | Path, limit: int, what: str = "file") -> int:
    """Bytes of an open file; raises FormatError if it has more than ``limit``."""
    size = size_of(file)
    if size > limit:
        raise FormatError("core/too-large", place=str(path), subject=what, got=size, limit=limit)
    return size


def unreadable(path: str | Path, error: Exception, what: str = "file") -> FormatError:
    """Return the error that says why something cannot be read."""
    reason = getattr(error, "strerror", None) or str(error)
    return FormatError("core/unreadable", place=str(path), subject=what, why=reason)


def unwritable(path: str | Path, error: Exception, what: str = "output") -> OutputError:
    """Return the error that says why something cannot be written."""
    reason = getattr(error, "strerror", None) or str(error)
    return OutputError("core/unwritable", place=str(path), subject=what, why=reason)


def is_file(path: str | Path) -> bool:
    """Whether there is a regular file; there is none of a name that no file can have."""
    try:
        if is_remote(path):
            from workbench.core.storage.remote import find_entry

            return not find_entry(path).is_folder
        return Path(path).is_file()
    except OSError:  # longer than the system allows, or not there
        return False


def write_text(path: str | Path, text: str, what: str = "output") -> Path:
    """Write a file whole: under a temporary name first, so that no half file is left behind.

    Folders that lack are made. A link is written through, and what is no regular file (a device, a pipe) is written
    to: a rename would put a file in its place. Raises OutputError if that cannot be done.
    """
    return write_bytes(path, text.encode("utf-8", "backslashreplace"), what)


def write_bytes(path: str | Path, content: bytes, what: str = "output") -> Path:
    """Write a file of bytes as `write_text` writes one of text."""
    return _write(path, (content,), what)


def write_pieces(path: str | Path, pieces: Iterable[str], what: str = "output") -> Path:
    """Write a text as `write_text`, piece by piece as they are made: it is never in memory whole."""
    return _write(path, (one.encode("utf-8", "backslashreplace") for one in pieces), what)


def _write(path: str | Path, pieces: Iterable[bytes], what: str) -> Path:
    try:
        _write_whole(Path(path).resolve(), pieces)
    except (OSError, ValueError, RuntimeError) as error:  # RuntimeError: a circle of links
        raise unwritable(path, error, what) from error
    return Path(path)


def _write_whole(target: Path, pieces: Iterable[bytes]) -> None:
    if target.exists() and not target.is_file():
        with target.open("wb") as stream:
            stream.writelines(pieces)
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    # its own name: another process may be writing the same file, and the last of the two wins whole
    partial = target.with_name(f".{os.getpid():x}-{threading.get_ident():x}.partial")
    try:
        with partial.open("wb") as stream:
            stream.writelines(pieces)
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)
