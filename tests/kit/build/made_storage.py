"""Trees that exist in no file: a file system of fsspec makes their bytes when they are read."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import distributed
import fsspec
import numpy as np
from fsspec import AbstractFileSystem

from workbench.dump.formats.npy import npy_header

START = 1_700_000_000_000_000
TILE = 1 << 20
"""Bytes that a made tensor repeats."""


def url(side: str, ranks: int, iterations: int, tensors: int, mebibytes: int) -> str:
    """URL of a tree: each unit has so many tensors of so many MiB."""
    fsspec.register_implementation("made", MadeSystem, clobber=True)
    return f"made://{side}-{ranks}-{iterations}-{tensors}-{mebibytes}"


@cache
def tiles(side: str) -> bytes:
    """Values of a tensor, one tile after the other, as many as a range needs.

    The target's are rounded elsewhere, as those of another device; those of a tensor that is ``wrong`` are too large.
    """
    golden = np.random.default_rng(0).standard_normal(TILE // 4).astype(np.float32)
    noise = 1 + 3e-8 * np.random.default_rng(1).standard_normal(TILE // 4)
    made = {"golden": golden, "target": golden * noise, "wrong": golden * 1.5}[side]
    return made.astype(np.float32).tobytes() * 6


class MadeSystem(AbstractFileSystem):
    """``made://{side}-{ranks}-{iterations}-{tensors}-{MiB}/rank_0/Net/0/0/…``: trees whose bytes nobody keeps.

    In the target rank 1 has the tensor 3 wrong from iteration 2 on.
    """

    protocol = "made"
    cachable = True

    @classmethod
    def _strip_protocol(cls, path: str) -> str:
        return path.removeprefix("made://").rstrip("/")

    def ls(self, path: str, detail: bool = True, **_: Any) -> list[Any]:
        path = self._strip_protocol(path)
        names, kind = self._inside(path)
        size = self._size(path) if kind == "file" else 0
        found = [{"name": f"{path}/{one}", "size": size, "type": kind} for one in names]
        return found if detail else [one["name"] for one in found]

    def info(self, path: str, **_: Any) -> dict[str, Any]:
        path = self._strip_protocol(path)
        if path.endswith(".npy"):
            return {"name": path, "size": self._size(path), "type": "file"}
        self._inside(path)
        return {"name": path, "size": 0, "type": "directory"}

    def cat_file(
        self, path: str, start: int | None = None, end: int | None = None, **_: Any
    ) -> bytes:
        path = self._strip_protocol(path)
        header = npy_header("float32", self._shape(path))
        start, end = start or 0, self._size(path) if end is None else end
        data = tiles("wrong" if self._is_wrong(path) else path.partition("-")[0])
        pieces, at = [header[start:end]], max(start, len(header)) - len(header)
        last = end - len(header)
        while at < last:
            first = at % TILE
            pieces.append(data[first : first + last - at])
            at += len(pieces[-1])
        return pieces[1] if len(pieces) == 2 and not pieces[0] else b"".join(pieces)

    def _inside(self, path: str) -> tuple[list[str], str]:
        _, ranks, iterations, tensors, _ = path.partition("/")[0].split("-")
        parts = path.split("/")[1:]
        levels = (
            [f"rank_{n}" for n in range(int(ranks))],
            ["Net"],
            ["0"],
            [*map(str, range(int(iterations)))],
        )
        if len(parts) < len(levels):
            return list(levels[len(parts)]), "directory"
        if len(parts) > len(levels):
            raise FileNotFoundError(path)
        return [self._name(n) for n in range(int(tensors))], "file"

    @staticmethod
    def _name(number: int) -> str:
        return (
            f"MatMul.Default_net_layer{number}-Dense_MatMul-op{number}.0.0.{START + number}"
            ".output.0.DefaultFormat.float32.npy"
        )

    @staticmethod
    def _shape(path: str) -> tuple[int, ...]:
        mebibytes = int(path.partition("/")[0].split("-")[4])
        return (mebibytes * 256, 1024)

    def _size(self, path: str) -> int:
        shape = self._shape(f"{path}/")
        return len(npy_header("float32", shape)) + 4 * shape[0] * shape[1]

    @staticmethod
    def _is_wrong(path: str) -> bool:
        found = re.search(r"target.*/rank_1/Net/0/(\d+)/.*layer3-", path)
        return found is not None and int(found[1]) >= 2


class Register(distributed.WorkerPlugin):
    """Make the file system known in every worker, also in one that was started again."""

    def setup(self, worker: Any) -> None:
        fsspec.register_implementation("made", MadeSystem, clobber=True)
