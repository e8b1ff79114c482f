"""The files of a tree before there are any: what each will be called, how large it is, how to write it.

The writers of `workbench.dump.write` are generators of `NewFile` and `TensorOutcome`. `save` writes what they yield,
`workbench.dump.write.forecast` adds it up: so what is foretold and what is written come from the same lines.
Promises (`tests/dump/write/test_mindspore.py`, `tests/dump/write/test_ge.py`): every file appears whole under
its final name or not at all, and one file's tensors are held at a time. Files keep the user's own permissions;
MindSpore's 0400 would only make them hard to delete.
"""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, TypeVar

from workbench._values import NamedTuple
from workbench.core.files import encoded, unwritable
from workbench.dump.formats.container_write import header_bytes, write_container
from workbench.dump.formats.npy import npy_header, write_npy
from workbench.dump.formats.renamed import FILE_NAME, renamed
from workbench.dump.new_folder import WORK
from workbench.dump.write.figures import stored_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
    from random import Random

    import numpy as np
    from numpy.typing import NDArray

    from workbench.core.tensors import TensorKey, TensorSpec
    from workbench.core.words import Message
    from workbench.dump.formats.container import Container
    from workbench.dump.formats.renamed import Writer
    from workbench.dump.write.figures import TensorContent

    Progress = Callable[[int, str], None]
    TreeFiles = Generator["NewFile | TensorOutcome", None, None]
    """What a writer yields of a tree, in the order of writing."""

T = TypeVar("T")

_LENGTH_WORD = 8
_RETRIES = 10


class NewFile(NamedTuple):
    """A file of a tree: its path below the root, with slashes, and what fills it.

    ``size`` is in bytes, ``None`` if a shape is unknown; if it is not ``exact`` it is an upper bound. A file that
    nobody has the data of has no ``write``: it is foretold and never written. ``rows`` are those of a statistic.csv.
    ``appends`` is a text that is added to the one of its name where a tree grows.
    """

    path: str
    size: int | None
    write: Callable[[BinaryIO], object] | None = None
    exact: bool = True
    iteration: int | None = None
    rows: int = 0
    appends: bool = False


class TensorOutcome(NamedTuple):
    """A tensor that the tree has taken: bytes copied from the device, and why it left no trace.

    Nobody has asked for one that is not ``wanted``: a constant.
    """

    key: TensorKey
    nbytes: int
    refused: Message | None = None
    wanted: bool = True


def data_file(path: str, data: bytes, iteration: int | None = None) -> NewFile:
    """A file of bytes that are there."""
    return NewFile(path, len(data), lambda out: out.write(data), iteration=iteration)


def text_file(
    path: str, text: str, iteration: int | None = None, *, appends: bool = False
) -> NewFile:
    """A text in UTF-8."""
    return data_file(path, encoded(text), iteration)._replace(appends=appends)


def table_file(path: str, lines: Sequence[str], iteration: int | None, *, exact: bool) -> NewFile:
    """A table of statistics, its header first; not ``exact`` where figures are as wide as they can become."""
    whole = text_file(path, "".join(lines), iteration)
    return whole._replace(exact=exact, rows=len(lines) - 1)


def npy_file(
    path: str, content: TensorContent, stored: TensorSpec, iteration: int | None
) -> NewFile:
    """An npy file of the stored dtype whose header says the stored shape."""
    array, dtype, shape = content.array, stored.dtype, stored.shape
    size = stored_bytes(dtype, content.spec.size)
    if size is None or shape is None:
        return NewFile(path, size, iteration=iteration)
    write = None if array is None else lambda out: write_npy(out, array, dtype, shape)
    return NewFile(path, size + _npy_header_size(dtype, shape), write, iteration=iteration)


def container_file(
    path: str,
    container: Container | None,
    payload: Iterable[NDArray[np.uint8]],
    iteration: int | None,
) -> NewFile:
    """A container; ``None`` if a size is unknown. ``payload`` is made when it is written."""
    if container is None:
        return NewFile(path, None, iteration=iteration)
    # a header is as long as another of the same tensors whose time has as many bytes
    time = (1 << 7 * ((container.dump_time.bit_length() + 6) // 7)) - 1
    size = _header_size(replace(container, dump_time=time))
    size += sum(block.size for block in container.blocks)
    return NewFile(
        path, size, lambda out: write_container(out, container, payload), iteration=iteration
    )


def raw_file(
    path: str, size: int | None, payload: Iterable[NDArray[np.uint8]], iteration: int | None
) -> NewFile:
    """Bare bytes; ``payload`` is made when it is written."""
    if size is None:
        return NewFile(path, None, iteration=iteration)
    return NewFile(
        path, size, lambda out: out.writelines(part.data for part in payload), iteration=iteration
    )


@lru_cache(maxsize=1 << 12)
def _npy_header_size(dtype: str, shape: tuple[int, ...]) -> int:
    return len(npy_header(dtype, shape))


@lru_cache(maxsize=1 << 14)
def _header_size(container: Container) -> int:
    return _LENGTH_WORD + len(header_bytes(container))


@dataclass(slots=True)
class TreeLeaf:
    """A folder while its tree grows, by its path below the dump's own.

    ``rows`` are those of its statistic.csv, ``exact`` unless figures in them stand for what is not computed;
    ``mapping`` lines of its mapping.csv, ``names`` the files and operators that it has.
    """

    path: str
    iteration: int | None = None
    rows: list[str] = field(default_factory=list)
    exact: bool = True
    mapping: list[str] = field(default_factory=list)
    names: set[str] = field(default_factory=set)

    def shorten_name(self, writer: Writer, name: str, random: Random) -> str:
        """Return the name itself, or the one that a writer gives in place of one that is too long.

        adump's number depends on the folder: here that is the one below the dump's own, so that trees
        are the same wherever they are written.
        """
        way = renamed(writer, name, self.path, random)
        for _ in range(_RETRIES):
            if way is None or way[0] not in self.names:
                break
            way = renamed(writer, name, self.path, random)
        if way is None:
            return name
        self.names.add(way[0])
        self.mapping.append(way[1])
        return way[0]

    def tables(self, header: str) -> Iterator[NewFile]:
        """Yield what tells of all files of the folder; ``header`` is the first line of statistic.csv."""
        if self.rows:
            lines = [header, *self.rows]
            yield table_file(f"{self.path}/statistic.csv", lines, self.iteration, exact=self.exact)
        if self.mapping:
            text = "".join(self.mapping)
            yield text_file(f"{self.path}/{FILE_NAME}", text, self.iteration, appends=True)


def ending_in_tables(
    files: Generator[NewFile | TensorOutcome, None, T], tables: Callable[[], Iterator[NewFile]]
) -> Generator[NewFile | TensorOutcome, None, T]:
    """Yield files, then the tables that tell of them; also if the files end in an error."""
    try:
        result = yield from files
    except GeneratorExit:  # nobody listens any more
        raise
    except BaseException:
        yield from tables()
        raise
    yield from tables()
    return result


def save(
    files: TreeFiles,
    root: Path,
    *,
    progress: Progress | None = None,
    grows: bool = False,
    part: str = "",
) -> None:
    """Write the files of a tree one after the other.

    Parameters
    ----------
    progress : callable, optional
        Called after every tensor with their number so far and the operator's name.
    grows : bool
        Whether tables that are there already grow.
    part : str
        Name of the process where several write into one root at the same time.

    Raises
    ------
    OutputError
        The root or a file cannot be written. What was written before stays, each file whole.
    """
    folder, counted = _GrowingFolder(root, part, grows=grows), count(1)
    try:
        for one in _ending_with_tables(files, folder):
            if progress is not None and one.wanted:
                progress(next(counted), one.key.op_name)
    except OSError as error:
        raise unwritable(error.filename or root, error, "dump folder") from error
    finally:
        folder.close()


def _ending_with_tables(files: TreeFiles, folder: _GrowingFolder) -> Iterator[TensorOutcome]:
    """Write files and yield what was taken; where one cannot be written the tree ends as if the run had failed."""
    one = next(files, None)
    while one is not None:
        if isinstance(one, TensorOutcome):
            yield one
        else:
            try:
                folder.put(one)
            except BaseException as error:
                one = files.throw(error)  # which ends in the same error, behind the tables
                continue
        one = next(files, None)


class _GrowingFolder:
    """A folder in which every file appears under its name only when it is complete.

    What is not whole yet lies in a folder of its own. It is there before all else and `close` removes it,
    so that one that is left tells of a run that was killed.
    """

    def __init__(self, root: Path, part: str, *, grows: bool) -> None:
        self._root, self._grows = root, grows
        self._work = root / WORK / part
        self._partial = str(self._work / "file")
        self._made: set[str] = set()

    def put(self, file: NewFile) -> None:
        """Write one file, whose name may be there already."""
        if file.write is None:
            return
        place = f"{self._root}/{file.path}"
        folder = place.rpartition("/")[0]
        if folder not in self._made:
            os.makedirs(self._work, exist_ok=True)
            os.makedirs(folder, exist_ok=True)
            self._made.add(folder)
        with open(self._partial, "wb") as out:
            if file.appends and self._grows and os.path.exists(place):
                out.write(Path(place).read_bytes())
            file.write(out)
        os.replace(self._partial, place)

    def close(self) -> None:
        shutil.rmtree(self._work, ignore_errors=True)
