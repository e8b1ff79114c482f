"""The files of GE's graph dumps: what they are called, where they lie, and which one is the computational graph.

A run of TensorFlow writes hundreds of them, and its dump data lie in several folders, each named like a
graph. The vendor's guide knows two ways to the graph that counts: among the files of the last stage
(``Build``) it is the one with an iterator, or the one with an operator of the model.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from workbench._values import NamedTuple
from workbench.core.errors import FormatError
from workbench.core.files import open_file, size_of, unreadable
from workbench.core.words import Message
from workbench.graph_files.ge.write_text import quoted
from workbench.proto.text import parse_string

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
        """Name of the folder that holds the graph's dump data."""
        return model_folder(self.name)


def model_folder(name: str) -> str:
    """Name of the folder (``model_name``) that holds the dump data of the graph called ``name``.

    >>> model_folder("ge_default/1.2")
    'ge_default_1_2'
    """
    return name.translate(_FOLDER)


def first_graph_name(text: bytes) -> str:
    """Name of the first graph of a file that begins so; ``""`` if it has none in the first 64 KiB."""
    found = _FIRST_NAME.search(text, 0, _HEAD)
    if found is None:
        return ""
    try:
        return str(parse_string("string", found[1].decode("utf-8", "surrogateescape")))
    except ValueError:
        return ""


def ge_graph_file(index: int, stage: str, digits: int = 8) -> str:
    """File name of a graph; the guides' releases write five digits.

    >>> ge_graph_file(292, "Build"), ge_graph_file(94, "a/b", 5)
    ('ge_proto_00000292_Build.txt', 'ge_proto_00094_a_b.txt')
    """
    return f"ge_proto_{index:0{digits}d}_{stage.translate(_FORBIDDEN)}.txt"


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
    files: Iterable[str | Path], operator: str = "", *, folders: Collection[str] = ()
) -> FoundGraph:
    """Find the graph whose dump data are to be compared.

    Parameters
    ----------
    files
        Graphs of the last stage.
    operator
        Name of an operator of the model; without it the word ``Iterator`` decides, alone or in another word.
    folders
        Names of the folders with dump data; a graph without one does not count if another has one.

    Raises
    ------
    FormatError
        None has the word, or one cannot be read.
    """
    paths = [Path(path) for path in files]
    word = quoted(operator) if operator else KEYWORD
    hits = [found for path in paths if (found := _search(path, word)) is not None]
    if not hits:
        code = "graph_files/operator-nowhere" if operator else "graph_files/iterator-nowhere"
        where = str(paths[0].parent) if paths else ""
        raise FormatError(code, place=where, word=operator or KEYWORD, files=len(paths))
    return _chosen(hits, paths, operator or KEYWORD, folders)


def has_iterator(path: str | Path) -> bool:
    """Whether a graph file has the word by which the computational graph is found."""
    return _search(Path(path), KEYWORD) is not None


def read_graph_name(path: str | Path) -> str:
    """Name of the first graph in a file, told by its first bytes, ``""`` if it has none; raises FormatError."""
    try:
        with open_file(path, "graph") as file:
            return first_graph_name(file.read(_HEAD))
    except OSError as error:
        raise unreadable(path, error, "graph") from error


class _Hit(NamedTuple):
    """A file with the word."""

    path: Path
    name: str
    size: int


def _search(path: Path, word: str) -> _Hit | None:
    """Search one file, a piece at a time."""
    sought = word.encode("ascii")
    try:
        with open_file(path, "graph") as file:
            name = ""
            for start, piece in _pieces(file, len(sought)):
                name = first_graph_name(piece) if start else name
                if sought in piece:
                    return _Hit(path, name, size_of(file))
            return None
    except OSError as error:
        raise unreadable(path, error, "graph") from error


def _pieces(file: BinaryIO, overlap: int) -> Iterator[tuple[bool, bytes]]:
    """Pieces of a file that share ``overlap`` bytes, and whether it is the first one."""
    kept = b""
    start = True
    while piece := file.read(_CHUNK):
        piece = kept + piece
        yield start, piece
        kept, start = piece[-overlap:], False


def _chosen(hits: list[_Hit], files: list[Path], word: str, folders: Collection[str]) -> FoundGraph:
    """The graph that counts; if several fit the largest one, the newest of equal ones."""
    dumped = [hit for hit in hits if model_folder(hit.name) in folders]
    best = max(dumped or hits, key=lambda hit: (hit.size, hit.path.name))
    if len(hits) == 1:
        how = Message("graph_files/found-alone", word=word, files=len(files))
    elif len(dumped) == 1:
        how = Message("graph_files/found-dumped", word=word, among=_described(hits))
    else:
        how = Message("graph_files/found-largest", word=word, among=_described(dumped or hits))
    return FoundGraph(best.path, best.name, how)


def _described(hits: list[_Hit]) -> list[str]:
    """Files that fit, each with the name of its first graph if it has one."""
    return [f"{hit.path.name} ({hit.name})" if hit.name else hit.path.name for hit in hits]
