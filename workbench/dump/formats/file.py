"""What every format of a dump shares: what a file's name says, and what was read of the file.

A grammar (`workbench.dump.formats.mindspore_name` and its neighbors) makes a `FileName`, a reader takes it with
the file's place and gives a `FileContent`. `workbench.dump.formats.table` has the row of each format.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench._values import NamedTuple

if TYPE_CHECKING:
    from workbench.core.tensors import Io, TensorRecord
    from workbench.dump.dump import Failure, Note, Skipped
    from workbench.dump.formats.ffts import SliceFile
    from workbench.dump.reports.opdebug import OverflowRecord

    At = tuple[int, int, int, str]
    """Graph, iteration, rank and network of a folder: what the keys of its tensors end with."""


SAVED_BY_TORCH = (".pt", ".pth", ".bin")
"""How files of PyTorch end."""

MAX_TENSORS = 1 << 12
"""Most tensors of one operator; a header that claims more is refused."""


class Ids(NamedTuple):
    """Numbers that only some grammars have; `None` where the name has none.

    ``dump`` counts dumps of a captured stream, ``run`` runs of a captured graph.
    """

    context: int | None = None
    thread: int | None = None
    device: int | None = None
    dump: int | None = None
    core_type: int | None = None
    core: int | None = None
    run: int | None = None


NO_IDS = Ids()


class FileName(NamedTuple):
    """What one file name of a dump says; fields that its grammar does not have keep their defaults.

    ``kind`` is the id of the row of `workbench.dump.formats.table.FILE_FORMATS` whose grammar it is.
    ``timestamp_us`` is microseconds since the epoch; in names of exceptions it is local time as 17 digits, year
    to millisecond. ``op_name`` is the kernel's in names of exceptions without a type. ``slot`` is `None` where a
    file holds all tensors of its operator; ``io`` says nothing then. ``dtype`` is canonical (``float16``), or the
    producer's own word if that names no known format; so is ``format``.
    """

    kind: str
    op_type: str = ""
    op_name: str = ""
    timestamp_us: int = 0
    task_id: int | None = None
    stream_id: int | None = None
    io: Io = "output"
    slot: int | None = None
    format: str = ""
    dtype: str = ""
    ids: Ids = NO_IDS


class DumpFile(NamedTuple):
    """A file whose name was read: its path, the name that its writer meant, what that says, its folder's place."""

    path: str
    full: str
    name: FileName
    at: At


class FileContent(NamedTuple):
    """What was read of one file.

    ``writer`` says who writes such files, where that is known; ``overflows`` have the paths of their files.
    ``part`` is a slice that is still to be put together with the others of its operator.
    """

    records: tuple[TensorRecord, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    notes: tuple[Note, ...] = ()
    writer: str = ""
    overflows: tuple[tuple[str, OverflowRecord], ...] = ()
    failures: tuple[Failure, ...] = ()
    part: SliceFile | None = None


NOTHING = FileContent()
