"""Files that lie elsewhere: on any storage that fsspec reads, and in zip and tar archives.

A path is a URL (``s3://bucket/dump``), or a place inside an archive: ``dump.zip!/rank_0``, where the archive may be a
URL too. Files are read in ranges, blocks of them are kept for a while, and no file is ever copied whole. fsspec is
loaded when the first such path is read, and takes credentials as it always does: from its own configuration, the
environment or the storage's files. A password in a URL is refused, so that none gets into a result.
"""

from __future__ import annotations

import atexit
import io
import re
import time
from collections import OrderedDict
from contextlib import nullcontext
from functools import cache
from threading import Lock, RLock
from typing import TYPE_CHECKING, Any

from workbench._values import NamedTuple
from workbench.core.errors import WorkbenchError
from workbench.core.files import ARCHIVES, INSIDE, SCHEME, is_remote

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    Key = tuple[str, str, int]
    """Path and stamp of a file, first byte of a block."""

_PASSWORD = re.compile(r"://[^/@]*:[^/@]*@")
HEAD = 1 << 14
"""Bytes of a large file's first block: enough for a header, few enough to be read in vain."""

SMALL = 1 << 18
"""Bytes up to which a file is one block."""

BLOCK = 1 << 22
"""Bytes of every other block."""

KEPT = 1 << 27
"""Bytes of blocks that a process keeps."""

CONCURRENT = 16
"""Ranges that are asked for at a time."""

_TRIES = 6
_PAUSE = 0.1
"""Seconds before a range is asked for again; twice as many each time."""


class Entry(NamedTuple):
    """A file or folder as a storage lists it; ``stamp`` changes with its content: a tag or the time of it."""

    name: str
    is_folder: bool
    size: int
    stamp: str


def spelled(path: str | Path) -> str:
    """Return a URL as it is written, also where it was taken for a path of files, which joins its slashes.

    >>> spelled("s3:/bucket/x"), spelled("memory://x.zip!/y")
    ('s3://bucket/x', 'memory://x.zip!/y')

    Raises WorkbenchError for one with a password.
    """
    text = SCHEME.sub(r"\1://", str(path), count=1)
    if _PASSWORD.search(text):
        raise WorkbenchError("core/url-password")
    return text


def _fsspec() -> Any:
    try:
        import fsspec
    except ImportError:
        raise WorkbenchError("core/fsspec") from None
    return fsspec


def _place(path: str | Path) -> tuple[Any, str]:
    """The file system of a path, and what that calls it."""
    text = spelled(path)
    archive, _, inner = text.partition(INSIDE)
    if archive != text or text.endswith("!"):
        system, top = _archive(archive.removesuffix("!"))
        return system, top + inner
    found = SCHEME.match(text)
    assert found is not None
    root = text[: text.find("/", found.end())] if "/" in text[found.end() :] else text
    system = _storage(root)
    return system, system._strip_protocol(text)


@cache
def _storage(root: str) -> Any:
    """The file system of a scheme and host."""
    fsspec = _fsspec()
    protocol = root.partition("://")[0]
    own = {} if fsspec.config.conf.get(protocol) else _OPTIONS.get(protocol, {})
    try:
        return fsspec.core.url_to_fs(root, **own)[0]
    except (ImportError, ValueError) as error:
        raise WorkbenchError("core/url", got=root, why=str(error)) from error


_ONE_AT_A_TIME = RLock()
"""Files inside an archive share its one position; of another archive around it, too."""

_RETRIES = {"mode": "standard", "max_attempts": 8}
_OPTIONS: dict[str, dict[str, Any]] = {
    one: {"config_kwargs": {"retries": _RETRIES, "max_pool_connections": 2 * CONCURRENT}}
    for one in ("s3", "s3a")
}
"""Options of a file system where the user's own configuration of fsspec has none for it: answers 429 and 503 are
waited for."""


@cache
def _archive(path: str) -> tuple[Any, str]:
    """The file system of what an archive holds, and how paths in it begin: many a tar file names all from ``./`` on."""
    kind = next((ARCHIVES[one] for one in ARCHIVES if path.endswith(one)), "")
    if not kind:
        raise WorkbenchError("core/archive", got=path, known=[*ARCHIVES])
    file = RemoteFile(path) if is_remote(path) else open(path, "rb")  # noqa: SIM115 (it stays open)
    atexit.register(file.close)
    system = _fsspec().filesystem(kind, fo=file)
    names = {name.strip("/") for name in system.ls("", detail=False)}
    return system, "./" if names == {"."} else ""


# --- what storages say -------------------------------------------------------------------------


def list_entries(path: str | Path) -> list[Entry]:
    """List a folder, in order of names; raises OSError if there is none."""
    system, where = _place(path)
    inside = f"{where.strip('/')}/" if where.strip("/") else ""
    listed = _tried(lambda: system.ls(where, detail=True))
    entries = [_entry(one) for one in listed if _is_inside(one["name"], inside)]
    return sorted(entries)


def _is_inside(name: str, folder: str) -> bool:
    """Whether an entry is of the folder; some storages list the folder itself."""
    name = name.strip("/")
    return bool(name) and f"{name}/" != folder


def _entry(info: dict[str, Any]) -> Entry:
    stamp = next((info[key] for key in _STAMPS if info.get(key) is not None), "")
    stamp = stamp.timestamp() if hasattr(stamp, "timestamp") else stamp  # some say it either way
    name = info["name"].rstrip("/").rpartition("/")[2]
    return Entry(name, info["type"] == "directory", int(info.get("size") or 0), str(stamp))


_STAMPS = ("ETag", "etag", "md5", "CRC", "mtime", "LastModified", "last_modified", "created")
"""What storages call a tag or a time of a file; the first that one has counts."""


def find_entry(path: str | Path) -> Entry:
    """Return what a storage says of a file or folder; raises OSError if there is none."""
    system, where = _place(path)
    if where.strip("/") in ("", "."):
        return Entry("", True, 0, "")
    return _entry(_tried(lambda: system.info(where)))


def forget_listing(path: str | Path) -> None:
    """Ask the storage again the next time a folder is listed, or an archive read."""
    _archive.cache_clear()
    system, where = _place(path)
    system.invalidate_cache(where)


# --- ranges ------------------------------------------------------------------------------------


def read_range(path: str | Path, start: int, end: int) -> bytes:
    """Return the bytes of a range; raises OSError if they cannot be had.

    What a storage refuses for a time and a connection that is cut are tried again.
    """
    system, where = _place(path)

    def read() -> bytes:
        found: bytes
        with _ONE_AT_A_TIME if INSIDE in str(path) else nullcontext():
            found = system.cat_file(where, start=start, end=end)
        if len(found) != end - start:
            raise OSError(f"{len(found)} of {end - start} bytes arrived")
        return found

    data: bytes = _tried(read)
    return data


def _tried(ask: Callable[[], Any]) -> Any:
    """Ask a storage, several times where it fails for a time."""
    for tried in range(1, _TRIES + 1):
        try:
            return ask()
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError, PermissionError):
            raise
        except WorkbenchError:
            raise
        except Exception as error:  # of whatever library reads the storage
            if tried == _TRIES:
                raise OSError(f"{type(error).__name__}: {error}") from error
            time.sleep(_PAUSE * 2 ** (tried - 1))
    raise AssertionError


class _Blocks:
    """Blocks of files that were read last, as many as KEPT bytes."""

    def __init__(self) -> None:
        self._kept: OrderedDict[Key, bytes] = OrderedDict()
        self._size = 0
        self._lock = Lock()
        self._asked: dict[Key, Lock] = {}

    def get_or_read(self, place: Key, read: Callable[[], bytes]) -> bytes:
        """Return a block, which is read if it is not kept; threads that ask for one that is being read wait for it."""
        with self._lock:
            mine = self._asked.setdefault(place, Lock())
        try:
            with mine:
                found = self.get(place)
                if found is None:
                    found = read()
                    self.put(place, found)
                return found
        finally:
            with self._lock:
                self._asked.pop(place, None)

    def get(self, place: Key) -> bytes | None:
        with self._lock:
            found = self._kept.get(place)
            if found is not None:
                self._kept.move_to_end(place)
            return found

    def put(self, place: Key, data: bytes) -> None:
        with self._lock:
            if place not in self._kept:
                self._size += len(data)
            self._kept[place] = data
            while self._size > KEPT:
                self._size -= len(self._kept.popitem(last=False)[1])

    def clear(self) -> None:
        with self._lock:
            self._kept.clear()
            self._size = 0


BLOCKS = _Blocks()
"""Of this process."""


def fetch_small(folder: str, room: int = KEPT // 2) -> int:
    """Read small files of a folder into the blocks that are kept, CONCURRENT at a time, as far as there is room.

    Returns the bytes of room that are left.
    """
    wanted: list[tuple[str, Entry]] = []
    for one in list_entries(folder):
        path = f"{spelled(folder)}/{one.name}"
        if 0 < one.size <= min(SMALL, room) and BLOCKS.get((path, one.stamp, 0)) is None:
            room -= one.size
            wanted.append((path, one))
    for first in range(0, len(wanted), CONCURRENT):
        _fetch(wanted[first : first + CONCURRENT])
    return room


def _fetch(wanted: Sequence[tuple[str, Entry]]) -> None:
    places = [_place(path) for path, _ in wanted]
    system, paths = places[0][0], [where for _, where in places]
    ends = [one.size for _, one in wanted]
    found = system.cat_ranges(paths, [0] * len(ends), ends, on_error="return")
    for (path, one), data in zip(wanted, found, strict=True):
        if isinstance(data, bytes) and len(data) == one.size:
            BLOCKS.put((path, one.stamp, 0), data)  # what failed is asked for by whoever reads it


class RemoteFile(io.RawIOBase):
    """A file of a storage, read in blocks: a small one that has the header, then large ones.

    ``readinto`` gives all that is asked for, up to the end of the file. Raises OSError if there is no such file.
    """

    def __init__(self, path: str | Path) -> None:
        super().__init__()
        entry = find_entry(path)
        self.path, self.size, self.is_folder = spelled(path), entry.size, entry.is_folder
        self._stamp = entry.stamp
        self._at = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self.size}[whence]
        if base + offset < 0:
            raise OSError("negative position")
        self._at = base + offset
        return self._at

    def readinto(self, buffer: Any, /) -> int:
        view = memoryview(buffer).cast("B")
        end = min(self._at + len(view), self.size)
        first = self._at
        while self._at < end:
            start, stop = self._block(self._at)
            data = self._data(start, stop)
            low, high = self._at - start, min(end, stop) - start
            view[self._at - first : self._at - first + high - low] = data[low:high]
            self._at = start + high
        return max(0, self._at - first)

    def _block(self, at: int) -> tuple[int, int]:
        """First byte and end of the block that holds a byte."""
        if self.size <= SMALL:
            return 0, self.size
        if at < HEAD:
            return 0, HEAD
        start = HEAD + (at - HEAD) // BLOCK * BLOCK
        return start, min(start + BLOCK, self.size)

    def _data(self, start: int, stop: int) -> bytes:
        place = (self.path, self._stamp, start)
        return BLOCKS.get_or_read(place, lambda: read_range(self.path, start, stop))
