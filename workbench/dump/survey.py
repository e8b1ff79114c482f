"""Survey a dump tree: which folders hold dump files, and where each stands in the run.

Every folder is listed once and no file is opened. Links are not followed.
"""

from __future__ import annotations

import os
from itertools import islice, tee
from pathlib import Path
from typing import TYPE_CHECKING

from workbench._values import NamedTuple, dataclass
from workbench.core.errors import FormatError
from workbench.core.files import ARCHIVES, folder_files, is_file, is_remote, unreadable
from workbench.core.long_work import checkpoint
from workbench.core.words import Message
from workbench.dump.dump import CONSTANT_ITERATION
from workbench.dump.formats.ge_name import CONSTANTS
from workbench.dump.formats.mindspore_name import parse_npy_name
from workbench.dump.formats.table import RENAMED, format_of, parse_name
from workbench.dump.layouts import AUXILIARY, LAYOUTS, place, row_of

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Sequence

    from workbench.dump.layouts import FileKind, Place

    Listing = Callable[[str], tuple[list[str], list[str]]]
    """Names of files and of folders in a folder, in order; raises OSError."""

MAX_FOLDERS = 200_000
_MAX_DEPTH = 12
_ENOUGH = 64
"""Names from which the kind of a folder is known."""

_GRAPH_DEPTH = 3
"""Folders below one for graphs: ``extra-info/graph/{pid}_{device}`` at most."""

_STEPS = ("iteration", "step", "index")
_RANKS = ("rank", "pid", "device")
_TIMES = ("start", "time")
"""Fields whose value is the iteration, the rank and the time; the first that has one counts."""

_MINDSPORE = row_of("mindspore")
_RANK = _MINDSPORE.patterns[0]


class DumpFolder(NamedTuple):
    """A folder with dump files, and where its files stand in the run.

    ``names`` are its files in order. ``layout`` is the row that placed it, ``time`` the name of its
    timestamp folder; ``model_id`` is -1 where the layout has none.
    """

    path: str
    names: tuple[str, ...]
    layout: str
    rank: int = 0
    net_name: str = ""
    graph_id: int = 0
    iteration: int = 0
    time: str = ""
    model_id: int = -1


class RankRoot(NamedTuple):
    """A folder of one rank of MindSpore: where its graphs and execution orders lie."""

    path: str
    rank: int


@dataclass(frozen=True, slots=True)
class Survey:
    """What a tree consists of.

    ``layout`` names the layout, ``base`` is the dump's own folder, wherever the user pointed.
    ``unreadable`` are folders with the reason, ``unplaced`` those with dump files where no layout has any;
    ``graph_files`` are graphs of the graph engine, ``acl_forms`` what MindSpore handed to AscendCL.
    """

    layout: str
    base: str
    folders: tuple[DumpFolder, ...]
    roots: tuple[RankRoot, ...]
    graph_files: tuple[str, ...]
    acl_forms: tuple[str, ...]
    unreadable: tuple[tuple[str, Message], ...]
    unplaced: tuple[str, ...]


class _Placed(NamedTuple):
    folder: _Folder
    where: Place


class _Folder(NamedTuple):
    path: str
    below: tuple[str, ...]
    names: tuple[str, ...]
    kind: FileKind


def survey(root: Path | str, listing: Listing | None = None, *, with_names: bool = True) -> Survey:
    """Find the dump at, below or above ``root``; raises FormatError if it is none or several.

    ``listing`` lists a folder (`list_folder`). Without names the folders say where they stand alone: that of a tree
    of millions of files fits into memory, and a folder is listed again when it is read.
    """
    root, above = _top(root)
    walk = _Walk(root, listing or list_folder, with_names=with_names)
    folders = _without_loose(_without_aside(walk.folders), is_other=bool(walk.homes))
    found = [(folder, place(folder.kind, above, folder.below)) for folder in folders]
    placed = [_Placed(folder, where) for folder, where in found if where is not None]
    name, base = _only_one(placed, root, walk)
    is_mindspore = name == _MINDSPORE.name
    return Survey(
        name,
        base,
        tuple(map(_dump_folder, placed)),
        tuple(_rank_roots(placed, walk, root, above)) if is_mindspore else (),
        tuple(sorted(walk.graph_files)),
        tuple(sorted(walk.acl_forms)),
        tuple(walk.unreadable),
        tuple(folder.path for folder, where in found if where is None and folder.kind),
    )


def _top(root: Path | str) -> tuple[str, tuple[str, ...]]:
    """The folder as it is read, and the parts of its whole path; raises FormatError if there is none."""
    try:
        archive = _archive_of(root)
        if archive or is_remote(root):
            return _top_elsewhere(archive or root)
        root = Path(root)
        if not root.is_dir():
            raise FormatError(
                "dump/not-a-folder" if root.exists() else "core/missing", got=str(root)
            )
        top = root.resolve()
    except (OSError, RuntimeError) as error:  # RuntimeError: a circle of links
        raise unreadable(root, error, "folder") from error
    return str(root), tuple(part.rstrip("/\\") for part in top.parts)


def _archive_of(root: Path | str) -> str:
    """The inside of an archive that is given as a dump; empty for anything else."""
    text = str(root)
    if not text.endswith(tuple(ARCHIVES)):
        return ""
    return f"{text}!" if is_file(text) else ""


def _top_elsewhere(path: Path | str) -> tuple[str, tuple[str, ...]]:
    from workbench.core.storage.remote import find_entry, spelled

    root = spelled(path).rstrip("/")
    if not find_entry(root).is_folder:
        raise FormatError("dump/not-a-folder", got=root)
    return root, tuple(filter(None, root.split("/")))


class _Walk:
    """Every folder below the root that holds dump files, or nothing at all."""

    def __init__(self, root: str, listing: Listing, *, with_names: bool) -> None:
        self._listing, self._with_names = listing, with_names
        self.folders: list[_Folder] = []
        self.homes: set[tuple[str, ...]] = set()
        self.graph_files: list[str] = []
        self.acl_forms: list[str] = []
        self.unreadable: list[tuple[str, Message]] = []
        waiting: list[tuple[str, tuple[str, ...]]] = [(root, ())]
        self._root, self._count = root, 0
        while waiting:
            path, below = waiting.pop()
            try:
                names, folders = self._list(path)
            except OSError as error:
                if not below:
                    raise unreadable(path, error, "folder") from error
                self._missed(below, error)
                continue
            self._take(path, below, names, folders)
            if len(below) < _MAX_DEPTH:
                waiting += [
                    (f"{path}/{name}", (*below, name))
                    for name in reversed(folders)
                    if name not in AUXILIARY
                ]

    def _list(self, path: str) -> tuple[list[str], list[str]]:
        checkpoint()
        self._count += 1
        if self._count > MAX_FOLDERS:
            raise FormatError("dump/folders", got=self._root, limit=MAX_FOLDERS)
        return self._listing(path)

    def _missed(self, below: tuple[str, ...], error: OSError) -> None:
        why = Message("core/unreadable", subject="folder", why=error.strerror)
        self.unreadable.append(("/".join(below), why))

    def _take(
        self, path: str, below: tuple[str, ...], names: list[str], folders: list[str]
    ) -> None:
        kind = _kind(names)
        if kind or not (folders or names):
            self.folders.append(
                _Folder(path, below, tuple(names if self._with_names else ()), kind)
            )
        self.graph_files += [f"{path}/{name}" for name in names if _is_graph(name)]
        self.acl_forms += [name for name in names if _is_form(name)]
        if below and _RANK.fullmatch(below[-1]):
            self.homes.add(below)
        for name in AUXILIARY.intersection(folders):
            depth = _GRAPH_DEPTH if name == "graphs" else 0
            if not self._take_graphs(f"{path}/{name}", (*below, name), depth) or not depth:
                self.homes.add(below)

    def _take_graphs(self, path: str, below: tuple[str, ...], depth: int) -> bool:
        """Take graph files in a folder and below; whether the graph engine alone wrote there."""
        try:
            names, folders = self._list(path)
        except OSError as error:
            self._missed(below, error)
            return False
        self.graph_files += [f"{path}/{name}" for name in names if _is_graph(name)]
        own = [name.startswith("ge_") for name in names]
        own += [
            self._take_graphs(f"{path}/{name}", (*below, name), depth - 1)
            for name in (folders if depth else ())
        ]
        return bool(own) and all(own)


def _is_graph(name: str) -> bool:
    return name.startswith("ge_proto_") and name.endswith(".txt")


def _is_form(name: str) -> bool:
    return name.startswith("acl_dump_") and name.endswith(".json")


def list_folder(path: str) -> tuple[list[str], list[str]]:
    """Files and folders in order of name, folders with numbers by value."""
    names, folders = list[str](), list[str]()
    if is_remote(path):
        from workbench.core.storage.remote import list_entries

        for one in list_entries(path):
            (folders if one.is_folder and not _looks_like_npy(one.name) else names).append(one.name)
        return sorted(names), _by_number(folders)
    with os.scandir(path) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False) and not _looks_like_npy(entry.name):
                folders.append(entry.name)
            elif not (entry.is_symlink() and entry.is_dir()):
                names.append(entry.name)  # whatever stands in a tensor's place is that tensor's row
    return sorted(names), _by_number(folders)


def _by_number(folders: Iterable[str]) -> list[str]:
    return sorted(folders, key=lambda name: (not name.isdecimal(), len(name), name))


def _looks_like_npy(name: str) -> bool:
    return name.endswith(".npy") and parse_npy_name(name) is not None


_KINDS: tuple[FileKind, ...] = ("ge", "captured", "npy", "node", "call", "golden", "plain")
"""What a folder is if it holds files of several kinds: the first of them."""

_LOOSE = "plain"
"""Kind of files that are called anything: beside any other dump they are none."""


def _kind(names: Sequence[str]) -> FileKind:
    """What the files of a folder are, by as many names as it takes: by those that tell, if there are any."""
    return _first_kind(names, but=RENAMED) or _first_kind(names)


def _first_kind(names: Iterable[str], but: Container[str] = ()) -> FileKind:
    formats = (format_of(parsed) for parsed in map(parse_name, names) if parsed is not None)
    loose, some = tee(one.folder for one in formats if one.folder and one.id not in but)
    kinds = {*islice((kind for kind in some if kind != _LOOSE), _ENOUGH), *islice(loose, 1)}
    return next((kind for kind in _KINDS if kind in kinds), "")


def _without_aside(folders: Sequence[_Folder]) -> list[_Folder]:
    """Leave out what golden data keep aside: values that no device dumps.

    A name that was too long for a file looks like another tool's, so data of any kind may be golden data.
    """
    data = {one.below for one in folders if one.kind}
    return [one for one in folders if one.below[-1:] != (CONSTANTS,) or one.below[:-1] not in data]


def _without_loose(folders: Sequence[_Folder], *, is_other: bool) -> list[_Folder]:
    """Leave out what may be called anything, where anything else is a dump."""
    is_other = is_other or any(one.kind not in ("", _LOOSE) for one in folders)
    return [one for one in folders if not (is_other and one.kind == _LOOSE)]


def _only_one(placed: list[_Placed], root: str, walk: _Walk) -> tuple[str, str]:
    """Name and folder of the one dump that all folders belong to."""
    main = [one for one in placed if one.where.layout.family != "any"] or placed
    dumps = {
        (one.where.layout.family, one.where.base, -1 if one.where.whole else one.where.depth)
        for one in main
    }
    if len(dumps) == 1:
        names = {one.where.layout.name for one in main}
        return next(row.name for row in LAYOUTS if row.name in names), dumps.pop()[1]
    if dumps:
        found = sorted({f"{family} in {base!r}" for family, base, _ in dumps})
        raise FormatError("dump/dumps-several", got=str(root), dumps=found)
    if walk.homes:
        return _MINDSPORE.name, str(root)
    if any(folder.kind for folder in walk.folders):
        raise FormatError("dump/layout-unknown", got=str(root))
    if not folder_files(root):
        raise FormatError("dump/folder-empty", got=str(root))
    known = list(dict.fromkeys(row.name for row in LAYOUTS))
    raise FormatError("dump/no-dump", got=str(root), known=known)


def _dump_folder(one: _Placed) -> DumpFolder:
    row, values = one.where.layout, one.where.values

    def first(fields: Sequence[str]) -> str:
        return next(filter(None, map(values.get, fields)), "")

    return DumpFolder(
        one.folder.path,
        one.folder.names,
        row.name,
        int(first(_RANKS) or 0),
        values.get("net", ""),
        int(values.get("graph", 0)),
        CONSTANT_ITERATION if row.constants else int(first(_STEPS) or 0),
        first(_TIMES),
        int(values.get("model_id", -1)),
    )


def _rank_roots(
    placed: Iterable[_Placed], walk: _Walk, root: str, above: tuple[str, ...]
) -> list[RankRoot]:
    """Folders of ranks, also those above the folder that was given."""
    homes = dict.fromkeys((*above, *below) for below in sorted(walk.homes))
    for one in placed:
        if one.where.whole and one.where.layout.family == _MINDSPORE.family:
            homes[(*above, *one.folder.below)[: 1 - one.where.depth]] = None
    found = []
    for parts in homes:
        below = parts[len(above) :]
        path = "/".join((root, *below)) if len(parts) >= len(above) else _joined(root, parts)
        rank = _RANK.fullmatch(parts[-1])
        found.append(RankRoot(path, int(rank[1]) if rank else 0))
    return sorted(found, key=lambda one: (one.rank, one.path))


def _joined(root: str, parts: Sequence[str]) -> str:
    """Path of a folder above the root, by its parts."""
    if not is_remote(root):
        return "/".join(parts)
    from workbench.core.storage.remote import spelled

    return spelled("/".join(parts))
