"""A folder that is written once: every file appears whole under its name or not at all.

Work in progress lies in one subfolder, `WORK`, that goes when the folder is finished. So a run that was
killed leaves whole files and that subfolder, and the next one says what it found.
"""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, BinaryIO, Self

from workbench.core.errors import FormatError
from workbench.core.files import unwritable

if TYPE_CHECKING:
    from collections.abc import Iterator

WORK = ".partial"
"""Subfolder of what is not finished."""


class NewFolder:
    """A context in which files are added to a new or empty folder.

    Raises FormatError on entry if the folder holds anything, OutputError where it, or a file in it, cannot be made.
    """

    def __init__(self, root: str | os.PathLike[str]) -> None:
        self.root = Path(root)
        self._work = self.root / WORK
        self._late: dict[str, list[str]] = {}

    def __enter__(self) -> Self:
        try:
            check_empty(self.root)
            self._work.mkdir(parents=True)
        except OSError as error:
            raise unwritable(self.root, error, "folder") from error
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        for path, lines in self._late.items():  # also after an error: their files exist
            with self.file(path) as file:
                file.write("".join(lines).encode("utf-8", "surrogateescape"))
        shutil.rmtree(self._work, ignore_errors=True)

    @contextmanager
    def file(self, path: str) -> Iterator[BinaryIO]:
        """Open a file to be filled; it gets its name, relative to the folder, at the end.

        Raises FormatError for a name that leads elsewhere or is taken, OSError for one that is too long, and
        OutputError for whatever else keeps the file from being written.
        """
        target = os.path.join(self.root, checked_path(path))
        if os.path.lexists(target):
            raise FormatError("dump/name-taken", got=path)
        partial = os.path.join(self._work, "file")
        try:
            with open(partial, "wb") as file:
                yield file
            if "/" in path:
                os.makedirs(os.path.dirname(target), exist_ok=True)
            os.replace(partial, target)
        except OSError as error:
            Path(partial).unlink(missing_ok=True)
            if error.errno == errno.ENAMETOOLONG:
                raise
            raise unwritable(self.root, error, "folder") from error
        except BaseException:
            Path(partial).unlink(missing_ok=True)
            raise

    def late_line(self, path: str, line: str) -> None:
        """Add a line to a text file that gets its name when the folder is finished."""
        try:
            with (self._work / "lines").open("ab") as file:
                file.write(f"{path}: {line}".encode("utf-8", "surrogateescape"))
        except OSError as error:
            raise unwritable(self.root, error, "folder") from error
        self._late.setdefault(checked_path(path), []).append(line)

    def scratch(self) -> IO[bytes]:
        """Return an open file without a name, on the same disk; it is gone when it is closed."""
        return tempfile.TemporaryFile(dir=self._work)


def check_empty(root: Path) -> None:
    """Raise FormatError if ``root`` is a file or holds anything; what an earlier run left is named."""
    if not root.exists():
        return
    if not root.is_dir():
        raise FormatError("dump/out-file", got=str(root))
    names = os.listdir(root)
    if not names:
        return
    if WORK not in names:
        raise FormatError("dump/out-filled", got=str(root))
    whole = sum(len(files) for at, _, files in os.walk(root) if Path(at) != root / WORK)
    raise FormatError("dump/out-interrupted", got=str(root), files=whole)


def checked_path(path: str) -> str:
    """Return a relative path; raises FormatError if it could lead out of its folder."""
    parts = path.split("/")
    bad = [part for part in parts if part in ("", ".", "..") or "\0" in part or "\\" in part]
    if bad or os.path.isabs(path):
        raise FormatError("dump/name-outside", got=path)
    return path
