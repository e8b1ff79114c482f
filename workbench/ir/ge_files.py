"""The files of GE's graph dumps: what they are called, where they lie, and which one is the computational graph.

A run of TensorFlow writes hundreds of them, and its dump data lie in several folders, each named like a
graph. The vendor's guide knows two ways to the graph that counts: among the files of the last stage
(``Build``) it is the one with an iterator, or the one with an operator of the model.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

from workbench.core.errors import FormatError
from workbench.core.files import open_file
from workbench.core.words import Message
from workbench.ir.ge_scalars import parse_string
from workbench.ir.ge_text_writer import quoted

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

BUILD = "Build"
"""Stage whose graph is the one that runs."""

KEYWORD = "Iterator"
"""Word that only the computational graph of a training has."""

_FORBIDDEN = str.maketrans(dict.fromkeys('/\\:*?"<>|', "_"))
_FOLDER = str.maketrans(dict.fromkeys("./\\ ", "_"))
_CHUNK = 1 << 20
_HEAD = 1 << 16
_FIRST_NAME = re.compile(
    rb'graph\s{0,64}:?\s{0,64}[{<]\s{0,64}name\s{0,64}:\s{0,64}("(?:[^"\\\n]|\\.)*+")'
)


class FoundGraph(NamedTuple):
    """The computational graph.

    Attributes
    ----------
    path : Path
    name : str
        Name of the first graph in the file.
    how : Message
        How it was found; of several that fit, why this one.
    """

    path: Path
    name: str
    how: Message

    @property
    def folder(self) -> str:
        """Name of the folder (``model_name``) that holds the graph's dump data."""
        return self.name.translate(_FOLDER)


def ge_graph_file(index: int, stage: str, *, digits: int = 8, graph_id: int | None = None) -> str:
    """File name of a graph; older versions have 5 ``digits``.

    >>> ge_graph_file(292, "Build", digits=5), ge_graph_file(94, "a/b", graph_id=11)
    ('ge_proto_00292_Build.txt', 'ge_proto_00000094_graph_11_a_b.txt')
    """
    part = "" if graph_id is None else f"graph_{graph_id}_"
    return f"ge_proto_{index:0{digits}d}_{part}{stage.translate(_FORBIDDEN)}.txt"


def ge_graph_directory(env: Mapping[str, str], pid: int, device: int) -> str:
    """Folder into which a process writes its graphs, by its environment; ``./`` if nothing is set.

    If the folder cannot be made GE writes into the working directory.
    """
    if "NPU_COLLECT_PATH" in env:
        return f"{env['NPU_COLLECT_PATH']}/extra-info/graph/{pid}_{device}/"
    if "DUMP_GRAPH_PATH" in env:
        base = f"{env['DUMP_GRAPH_PATH']}/" if env["DUMP_GRAPH_PATH"] else ""
        return f"{base}pid_{pid}_deviceid_{device}/"
    return f"{env['ASCEND_WORK_PATH']}/" if env.get("ASCEND_WORK_PATH") else "./"


def find_computational_graph(
    source: str | Path | Iterable[str | Path],
    operator: str = "",
    *,
    folders: Collection[str] = (),
    whole: bool = False,
) -> FoundGraph:
    """Find the graph whose dump data are to be compared.

    Parameters
    ----------
    source
        A folder, which is searched with all folders inside it, or files.
    operator
        Name of an operator of the model; without it the word ``Iterator`` decides.
    folders
        Names of the folders with dump data; a graph without one does not count if another has one.
    whole
        Whether a part of a name is none.

    Raises
    ------
    FormatError
        No file ends in ``_Build.txt``, none has the word, or one cannot be read.
    """
    files, where = _files(source)
    word = operator or KEYWORD
    hits = [found for path in files if (found := _search(path, word)) is not None]
    exact = [hit for hit in hits if hit.exact]
    if whole or (operator and exact):
        hits = exact
    if not hits:
        code = "ir/operator-nowhere" if operator else "ir/iterator-nowhere"
        raise FormatError(code, place=where, word=word, files=len(files))
    return _chosen(hits, files, word, folders)


def has_iterator(path: str | Path) -> bool:
    """Whether a graph file has the word by which the computational graph is found."""
    return _search(Path(path), KEYWORD) is not None


class _Hit(NamedTuple):
    """A file with the word; ``exact`` if it is a whole string of the text."""

    path: Path
    name: str
    size: int
    exact: bool


def _files(source: str | Path | Iterable[str | Path]) -> tuple[list[Path], str]:
    """Files to search, and what to call them."""
    if not isinstance(source, str | Path):
        return _required([Path(path) for path in source], "")
    if Path(source).is_file():
        return [Path(source)], str(source)
    found = [
        Path(folder, name)
        for folder, _, names in os.walk(source)
        for name in names
        if name.endswith(f"_{BUILD}.txt")
    ]
    return _required(sorted(found), str(source))


def _required(files: list[Path], where: str) -> tuple[list[Path], str]:
    if files:
        return files, where
    raise FormatError("ir/no-build-graphs", place=where, stage=BUILD)


def _search(path: Path, word: str) -> _Hit | None:
    """Search one file, a piece at a time."""
    whole = quoted(word).encode("ascii")
    part = whole[1:-1]
    try:
        with open_file(path, "graph") as file:
            seen, name = False, ""
            for start, piece in _pieces(file, len(whole)):
                name = _first_name(piece) if start else name
                if whole in piece:
                    return _Hit(path, name, os.fstat(file.fileno()).st_size, True)
                seen = seen or part in piece
            return _Hit(path, name, os.fstat(file.fileno()).st_size, False) if seen else None
    except OSError as error:
        why = error.strerror or error
        raise FormatError("core/unreadable", place=str(path), subject="graph", why=why) from error


def _pieces(file: BinaryIO, overlap: int) -> Iterator[tuple[bool, bytes]]:
    """Pieces of a file that share ``overlap`` bytes, and whether it is the first one."""
    kept = b""
    start = True
    while piece := file.read(_CHUNK):
        piece = kept + piece
        yield start, piece
        kept, start = piece[-overlap:], False


def _first_name(piece: bytes) -> str:
    """Name of the first graph, ``""`` if it has none."""
    found = _FIRST_NAME.search(piece, 0, _HEAD)
    if found is None:
        return ""
    try:
        return str(parse_string("string", found[1].decode("utf-8", "surrogateescape")))
    except ValueError:
        return ""


def _chosen(hits: list[_Hit], files: list[Path], word: str, folders: Collection[str]) -> FoundGraph:
    """The graph that counts; if several fit the largest one, the newest of equal ones."""
    dumped = [hit for hit in hits if hit.name.translate(_FOLDER) in folders]
    best = max(dumped or hits, key=lambda hit: (hit.size, hit.path.name))
    if len(hits) == 1:
        how = Message("ir/found-alone", word=word, files=len(files))
    elif len(dumped) == 1:
        how = Message("ir/found-dumped", word=word, among=_described(hits))
    else:
        how = Message("ir/found-largest", word=word, among=_described(dumped or hits))
    return FoundGraph(best.path, best.name, how)


def _described(hits: list[_Hit]) -> list[str]:
    """Files that fit, each with the name of its first graph if it has one."""
    return [f"{hit.path.name} ({hit.name})" if hit.name else hit.path.name for hit in hits]
