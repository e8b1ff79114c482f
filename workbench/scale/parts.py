"""Parts of a dump tree: one rank in one iteration, read alone.

A tree is listed once (`list_tree`): where every folder stands, how many files and bytes it has, and a digest of their
names, sizes and times. Names are not kept, so that a tree of millions of files fits into memory. A part is a survey
of its folders alone (`Tree.part`), which are listed again when it is read (`read_part`).
"""

from __future__ import annotations

import hashlib
import os
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from workbench._values import NamedTuple, dataclass
from workbench.core.errors import FormatError
from workbench.core.files import is_remote, unreadable
from workbench.core.long_work import checkpoint
from workbench.core.storage.remote import (
    KEPT,
    fetch_small,
    find_entry,
    forget_listing,
    list_entries,
)
from workbench.dump.dump import CONSTANT_ITERATION
from workbench.dump.reader import load_survey
from workbench.dump.survey import list_folder, survey

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from workbench.dump.dump import Dump
    from workbench.dump.survey import Survey

    Listed = tuple[list[str], list[str]]


class FolderSize(NamedTuple):
    """Files of a folder and their bytes; ``digest`` changes with any name, size or time of them."""

    files: int
    nbytes: int
    digest: bytes


NO_FILES = FolderSize(0, 0, b"")


@dataclass(frozen=True, slots=True)
class Part:
    """The folders of one rank in one iteration, without the names of their files.

    ``tree`` is a survey of these folders and of what lies beside them, ``path`` where the user pointed.
    """

    path: str
    tree: Survey
    files: int
    nbytes: int
    digest: str

    @property
    def folders(self) -> tuple[str, ...]:
        """Paths of its folders."""
        return tuple(one.path for one in self.tree.folders)


@dataclass(frozen=True)
class Tree:
    """A tree that was listed: its survey without names, and the size of every folder by its path."""

    path: str
    survey: Survey
    sizes: Mapping[str, FolderSize]

    @property
    def places(self) -> frozenset[tuple[int, int]]:
        """Rank and iteration of all folders that are of an iteration."""
        return frozenset(self._folders) - {(rank, CONSTANT_ITERATION) for rank in self.ranks}

    @property
    def ranks(self) -> frozenset[int]:
        """Ranks that have folders."""
        return frozenset(rank for rank, _ in self._folders)

    @property
    def _folders(self) -> Iterator[tuple[int, int]]:
        return ((one.rank, one.iteration) for one in self.survey.folders)

    def parts(self) -> dict[tuple[int, int], Part]:
        """Return the part of every rank and iteration; constants of a rank are in each of its parts."""
        folders = defaultdict(list)
        for one in self.survey.folders:
            folders[one.rank, one.iteration].append(one)
        beside = {rank: self._beside(rank) for rank in self.ranks}
        found = {}
        for rank, iteration in sorted(self.places):
            mine = (*folders[rank, CONSTANT_ITERATION], *folders[rank, iteration])
            roots = tuple(one for one in self.survey.roots if one.rank == rank)
            tree = replace(self.survey, folders=mine, roots=roots, unplaced=(), unreadable=())
            sizes = [self.sizes.get(one.path, NO_FILES) for one in mine]
            digest = hashlib.sha256(beside[rank] + b"".join(one.digest for one in sizes))
            found[rank, iteration] = Part(
                self.path, tree, sum(one.files for one in sizes),
                sum(one.nbytes for one in sizes), digest.hexdigest(),
            )  # fmt: skip
        return found

    def _beside(self, rank: int) -> bytes:
        """Digest of what lies beside the tensors of a rank: graphs, orders of execution."""
        roots = [one.path for one in self.survey.roots if one.rank == rank]
        folders = {os.path.dirname(path) for path in self.survey.graph_files}
        for root in roots:
            folders |= {f"{root}/{name}" for name in ("graphs", "execution_order")}
        return b"".join((self.sizes.get(path) or _size_of(path)).digest for path in sorted(folders))


def merge_parts(parts: Sequence[Part]) -> Part:
    """Return what several ranks have as one part, without what lies beside tensors unless it is of one rank alone.

    Graphs of ranks that share a network have the shapes of what each rank holds.
    """
    if len(parts) == 1:
        return parts[0]
    first, *_ = parts
    folders = tuple(folder for one in parts for folder in one.tree.folders)
    tree = replace(first.tree, folders=folders, roots=(), graph_files=())
    digest = hashlib.sha256("".join(one.digest for one in parts).encode()).hexdigest()
    files, nbytes = sum(one.files for one in parts), sum(one.nbytes for one in parts)
    return Part(first.path, tree, files, nbytes, digest)


def list_tree(path: str | Path) -> Tree:
    """List a tree once, without opening a file; raises FormatError as `workbench.dump.reader.load`."""
    sizes: dict[str, FolderSize] = {}

    if is_remote(path):
        forget_listing(path)

    def listing(folder: str) -> Listed:
        listed = list_folder(folder)
        sizes[folder] = _measured(folder, listed[0])
        return listed

    return Tree(str(path), survey(path, listing, with_names=False), sizes)


def _size_of(folder: str) -> FolderSize:
    """Size of a folder that the survey has not listed; nothing if there is none."""
    try:
        return _measured(folder, list_folder(folder)[0])
    except OSError:
        return NO_FILES


def _measured(folder: str, names: Iterable[str]) -> FolderSize:
    digest, files, nbytes = hashlib.sha256(), 0, 0
    known = {one.name: one for one in list_entries(folder)} if is_remote(folder) else None
    for name in names:
        checkpoint()
        if known is not None:
            size, time = known[name].size, known[name].stamp
        else:
            size, time = file_stamp(f"{folder}/{name}")
        digest.update(f"{name}\0{size}\0{time}\n".encode("utf-8", "surrogateescape"))
        files, nbytes = files + 1, nbytes + max(size, 0)
    return FolderSize(files, nbytes, digest.digest())


def file_stamp(path: str) -> tuple[int, str]:
    """Size (bytes) and time (ns, or a storage's stamp) of a file; -1 where nobody says, as of a broken link."""
    try:
        if is_remote(path):
            entry = find_entry(path)
            return entry.size, entry.stamp
        found = os.stat(path)
    except OSError:
        return -1, ""
    return found.st_size, str(found.st_mtime_ns)


def read_part(part: Part, *, graph: str | None = None, model: str | None = None) -> Dump:
    """Read a part of a tree; raises FormatError if a folder of it is gone or no longer as it was listed."""
    folders = []
    for one in part.tree.folders:
        try:
            names, _ = list_folder(one.path)
        except OSError as error:
            raise unreadable(one.path, error, "folder") from error
        folders.append(one._replace(names=tuple(names)))
    if sum(len(one.names) for one in folders) != part.files:
        raise FormatError("job/part-changed", place=part.path, got=folders[-1].path)
    _fetch(part)
    tree = replace(part.tree, folders=tuple(folders))
    return load_survey(tree, part.path, graph=graph, model=model)


def _fetch(part: Part) -> None:
    """Read small files of a part that lies elsewhere many at a time, before they are asked for one by one."""
    room = KEPT // 2
    for folder in part.folders:
        if is_remote(folder):
            room = fetch_small(folder, room)
