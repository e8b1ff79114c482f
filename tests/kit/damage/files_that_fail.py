"""A file layer that fails at one call: a full disk, a broken one, a file that vanishes or grows while it is read."""

from __future__ import annotations

import builtins
import errno
import io
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

WAYS = ("full", "broken", "cut", "vanishes", "grows")
"""No space to write, an error of the device, a write that ends half way, a file that is gone, one that has grown."""


class Failing:
    """Counts the calls that reach files below ``root`` and lets number ``at`` fail; 0 only counts."""

    def __init__(self, root: Path, way: str, at: int) -> None:
        self.root, self.way, self.at, self.calls = os.path.realpath(root), way, at, 0

    def concerns(self, path: object) -> bool:
        if not isinstance(path, str | bytes | os.PathLike):
            return False
        return os.path.realpath(os.fsdecode(path)).startswith(self.root + os.sep)

    def due(self) -> bool:
        self.calls += 1
        return self.calls == self.at

    def error(self, path: object = None) -> OSError:
        number = errno.EIO if self.way == "broken" else errno.ENOSPC
        return OSError(number, os.strerror(number), *(() if path is None else (os.fspath(path),)))


class _Raw(io.FileIO):
    """The file itself, below any buffer."""

    failing: Failing

    def write(self, data: Any) -> int:
        if self.failing.way in ("full", "broken", "cut") and self.failing.due():
            if self.failing.way == "cut":
                super().write(memoryview(data)[: len(data) // 2])
            raise self.failing.error()
        return super().write(data)

    def readinto(self, data: Any) -> int | None:
        self._read()
        return super().readinto(data)

    def readall(self) -> bytes:
        self._read()
        return super().readall()

    def _read(self) -> None:
        if self.failing.way == "broken" and self.failing.due():
            raise self.failing.error()


@contextmanager
def files_that_fail(root: Path, way: str, at: int) -> Iterator[Failing]:
    """Within it the ``at``-th call to a file below ``root`` fails in one of `WAYS`; gives the count of calls."""
    failing = Failing(root, way, at)
    plain, replace, mkdir, number = io.open, os.replace, os.mkdir, os.open

    def opened(path: Any, mode: str = "r", buffering: int = -1, *rest: Any, **more: Any) -> Any:
        if not failing.concerns(path):
            return plain(path, mode, buffering, *rest, **more)
        reading = not set(mode) & set("wax+")
        if reading:
            changed(path)
        with plain(path, mode, buffering, *rest, **more) as file:
            raw = _Raw(os.dup(file.fileno()), mode.replace("t", "").replace("b", "") or "r")
        raw.failing = failing
        if buffering == 0:
            return raw
        buffered: Any = io.BufferedReader(raw) if reading else io.BufferedWriter(raw)
        if "b" in mode:
            return buffered
        return io.TextIOWrapper(buffered, *rest, **more)

    def changed(path: Any) -> None:
        if way == "vanishes" and failing.due():
            os.unlink(path)
        if way == "grows" and failing.due():
            with plain(path, "ab") as file:
                file.write(b"more" * 64)

    def numbered(path: Any, flags: int, *rest: Any, **more: Any) -> int:
        if failing.concerns(path) and not flags & (os.O_WRONLY | os.O_RDWR):
            changed(path)
            if way == "broken" and failing.due():
                raise failing.error(path)
        return number(path, flags, *rest, **more)

    def guarded(call: Callable[..., Any]) -> Callable[..., Any]:
        def made(path: Any, *rest: Any, **more: Any) -> Any:
            if way in ("full", "broken") and failing.concerns(path) and failing.due():
                raise failing.error(path)
            return call(path, *rest, **more)

        return made

    builtins.open = io.open = opened  # type: ignore[assignment]
    os.replace, os.mkdir, os.open = guarded(replace), guarded(mkdir), numbered
    try:
        yield failing
    finally:
        builtins.open = io.open = plain
        os.replace, os.mkdir, os.open = replace, mkdir, number
