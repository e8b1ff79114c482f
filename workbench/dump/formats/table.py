"""Formats of the files in a dump: one row each, told by its name.

`parse_name` reads a name once for all who ask: the survey, which folder holds dump files; the reader of a folder,
what a file is; tables of other tools, which operator they mean. The first row whose grammar fits decides;
`OVERLAPS` says of which rows a name may fit both, and why the first is right.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from workbench._values import NamedTuple, dataclass
from workbench.dump import readers
from workbench.dump.formats.call_name import parse_call_name, parse_node_name
from workbench.dump.formats.file import SAVED_BY_TORCH, FileName
from workbench.dump.formats.ge_name import format_ge_name, grammar
from workbench.dump.formats.mindspore_name import format_name, parse_npy_name
from workbench.dump.formats.raw import format_raw_name, parse_raw_name
from workbench.dump.formats.renamed import is_renamed

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from workbench.dump.formats.file import DumpFile, FileContent
    from workbench.dump.layouts import FileKind

TABLE = "statistic.csv"

_OLDEST = re.compile(r".+_shape_[\d_]+.*\.bin", re.ASCII)


@dataclass(frozen=True, slots=True)
class FileFormat:
    """One format: its names, what its files become.

    ``title`` is what users are told, ``example`` a name. ``folder`` is what a folder with such a file is to
    `workbench.dump.layouts.LAYOUTS`; empty: such a file makes no folder of a dump. ``parse`` reads a name and gives
    ``None`` for any other; ``ends`` is what all names of the format end with (empty: anything), and rows are
    looked up by it. ``read`` is pure: what it finds is in what it gives, and it raises FormatError or OSError for a
    file that cannot be read. ``format_name`` writes a name, where the workbench writes such files.
    """

    id: str
    title: str
    example: str
    folder: FileKind
    parse: Callable[[str], FileName | None]
    read: Callable[[DumpFile], FileContent]
    ends: tuple[str, ...] = ()
    format_name: Callable[[FileName], str] | None = None


def _named(kind: str, fits: Callable[[str], object]) -> Callable[[str], FileName | None]:
    """Return what reads names that say nothing but what the file is."""
    found = FileName(kind)
    return lambda name: found if fits(name) else None


_PLAIN = re.compile(r"(?!.*\.(?i:input|output)\.)(?P<name>[^/\\\0\n]{1,1000})\.npy")


def _plain_name(name: str) -> FileName | None:
    """Read a name that is no more than one; a word for a slot shows that it was meant as another format's."""
    found = _PLAIN.fullmatch(name)
    return FileName("plain", op_name=found["name"], slot=0) if found else None


_DIGIT = tuple("0123456789")

FILE_FORMATS: tuple[FileFormat, ...] = (
    FileFormat(
        "renamed-npy", "npy file whose name was too long", "3141592653589793.npy", "npy",
        _named("renamed-npy", lambda name: name.endswith(".npy") and is_renamed(name)),
        readers.skip_unmapped, (".npy",),
    ),
    FileFormat(
        "renamed", "other file whose name was too long", "18446744073709551615", "ge",
        _named("renamed", is_renamed), readers.skip_unmapped,
    ),
    FileFormat(
        "table", "statistics of a folder's tensors", TABLE, "npy",
        _named("table", TABLE.__eq__), readers.read_statistic_file, (TABLE,),
    ),
    FileFormat(
        "npy", "a tensor of MindSpore, or converted to npy",
        "Conv2D.Default_conv1.2.7.1700000000000000.output.0.DefaultFormat.float16.npy", "npy",
        parse_npy_name, readers.read_npy_file, (".npy",), format_name,
    ),
    FileFormat(
        "overflow-json", "overflow record as JSON",
        "Opdebug.Node_OpDebug.2.7.1700000000000000.output.0.json", "ge",
        grammar("overflow-json"), readers.read_overflow_text, (".json",), format_ge_name,
    ),
    FileFormat(
        "json", "settings of an operator or a tool", "Conv2D.Default_conv1.json", "",
        _named("json", lambda name: name.endswith(".json")), readers.read_nothing, (".json",),
    ),
    FileFormat(
        "overflow", "overflow record", "Opdebug.Node_OpDebug.2.7.1700000000000000", "ge",
        grammar("overflow"), readers.read_overflow_file, _DIGIT, format_ge_name,
    ),
    FileFormat(
        "core", "memory of a failed kernel", "conv1.7.2.20260102030405678.core", "ge",
        grammar("core"), readers.read_core_file, (".core",), format_ge_name,
    ),
    FileFormat(
        "brief", "arguments of a failed kernel", "exception_info.7.2.20260102030405678", "ge",
        grammar("brief"), readers.read_exception_file, _DIGIT, format_ge_name,
    ),
    FileFormat(
        "callback", "arguments of a failed kernel, by core",
        "conv1.7.2.0.3.20260102030405678", "ge",
        grammar("callback"), readers.read_exception_file, _DIGIT, format_ge_name,
    ),
    FileFormat(
        "norm", "arguments of a failed operator", "Conv2D.conv1.2.20260102030405678", "ge",
        grammar("norm"), readers.read_exception_file, _DIGIT, format_ge_name,
    ),
    FileFormat(
        "statistics", "statistics of an operator", "Conv2D.conv1.2.7.1700000000000000.csv", "ge",
        grammar("statistics"), readers.read_operator_statistics, (".csv",), format_ge_name,
    ),
    FileFormat(
        "tensors", "tensors of an operator", "Conv2D.conv1.2.7.1700000000000000", "ge",
        grammar("tensors"), readers.read_container_file, _DIGIT, format_ge_name,
    ),
    FileFormat(
        "captured", "tensors of an operator of a captured stream",
        "Conv2D.conv1.1.2.7.1700000000000000", "captured",
        grammar("captured"), readers.read_container_file, _DIGIT, format_ge_name,
    ),
    FileFormat(
        "call", "a tensor of an interface or module",
        "Functional.conv2d.0.forward.input.0.pt", "call",
        parse_call_name, readers.read_saved_file, (".pt", ".npy"),
    ),
    FileFormat(
        "node", "a tensor of a captured graph of PyTorch", "add_1_device_0_2.pt", "node",
        parse_node_name, readers.read_saved_file, SAVED_BY_TORCH,
    ),
    FileFormat(
        "golden", "an output of another framework", "conv1.0.1700000000000000.npy", "golden",
        grammar("golden"), readers.read_golden_file, (".npy", ".pt", ".pb", ".quant"),
        format_ge_name,
    ),
    FileFormat(
        "archive", "tensors of another framework by name", "golden.npz", "plain",
        _named("archive", lambda name: name.endswith(".npz")), readers.read_archive_file, (".npz",),
    ),
    FileFormat(
        "plain", "a tensor of another framework by its name alone", "conv1_output_0.npy", "plain",
        _plain_name, readers.read_plain_file, (".npy",),
    ),
    FileFormat(
        "raw", "a tensor as bare bytes",
        "Conv2D.conv1.2.7.1700000000000000.output.0.ND.HIFLOAT8", "npy",
        parse_raw_name, readers.read_raw_file, (), format_raw_name,
    ),
    FileFormat(
        "oldest", "a tensor of MindSpore before 1.3", "conv1_output_0_shape_2_3_Float16.bin", "",
        _named("oldest", _OLDEST.fullmatch), readers.skip_old, (".bin",),
    ),
)  # fmt: skip
"""Every format, in the order of trial."""

_LITERAL = "its names begin with a word that is no operator's"
_DATE = "its last number is a date, which no clock shows in microseconds"
_WORDS = "its words say whose tensor it is; the other's name may hold anything"

OVERLAPS: dict[tuple[str, str], str] = {
    ("renamed-npy", "renamed"): "its end says what the file is",
    ("renamed", "json"): "the given name keeps the last part of the name that was too long",
    ("overflow-json", "json"): "its name says more than that it is JSON",
    ("npy", "call"): "all nine words fit; a call's name may hold anything before them",
    ("npy", "golden"): "input or output before the last numbers: golden data have no such word",
    ("overflow", "tensors"): _LITERAL,
    ("brief", "norm"): _LITERAL,
    ("brief", "tensors"): _LITERAL,
    ("callback", "tensors"): _DATE,
    ("callback", "captured"): _DATE,
    ("norm", "tensors"): _DATE,
    ("tensors", "captured"): "no dots in its operator; a captured stream's may have any",
    ("call", "node"): _WORDS,
    ("call", "golden"): _WORDS,
    ("renamed-npy", "plain"): "digits, or 32 of them, are no tensor's name",
    ("golden", "plain"): _WORDS,
    ("node", "oldest"): "the name ends with the device",
}
"""Formats of which a name may fit both → why the first is right."""

_COMMON = re.compile(
    r"^(?:(?!Opdebug\.)([^./\\\0\n]{1,200})\.([^./\\\0\n]{1,500})\.(\d{1,9})\.(\d{1,9})\.(\d{1,16})"
    r"(?:\.(input|output)\.(\d{1,3})\.([A-Za-z]\w*)(?:\.(\w+))?\.npy)?|.*)$",
    re.ASCII | re.MULTILINE,
)
"""Names of ``npy`` and ``tensors`` as nearly all of them are; no other row has such names, and every number is sound.

Any 16 digits are no date of an exception.
"""


class CommonNames(NamedTuple):
    """What names of one format say, column by column, and which names they are."""

    numbers: Sequence[int] = ()
    op_types: Sequence[str] = ()
    op_names: Sequence[str] = ()
    tasks: Sequence[str] = ()
    streams: Sequence[str] = ()
    times: Sequence[str] = ()
    io: Sequence[str] = ()
    slots: Sequence[str] = ()
    formats: Sequence[str] = ()
    dtypes: Sequence[str] = ()


class ParsedNames(NamedTuple):
    """Names of a folder: those of the two formats that most are of, and which of the names are any others."""

    npy: CommonNames
    tensors: CommonNames
    others: Sequence[int]


_BY_ID = {row.id: row for row in FILE_FORMATS}


def _rows_by_end() -> dict[str, tuple[FileFormat, ...]]:
    """Suffix or last digit → the rows, in order, whose names may end so."""
    ends = {end[end.rfind(".") :] for row in FILE_FORMATS for end in row.ends}
    return {
        end: tuple(
            row
            for row in FILE_FORMATS
            if not row.ends or any(one.endswith(end) for one in row.ends)
        )
        for end in ends
    }


_BY_END = _rows_by_end()
_ANYWHERE = tuple(row for row in FILE_FORMATS if not row.ends)


def format_of(name: FileName) -> FileFormat:
    """Return the row whose grammar a name is of."""
    return _BY_ID[name.kind]


RENAMED = frozenset(("renamed-npy", "renamed"))
"""Formats whose names tell nothing: ``mapping.csv`` has the names that were too long."""


def parse_name(name: str) -> FileName | None:
    """Read the name of any file of a dump; ``None`` if no format has such names.

    >>> parse_name("Conv2D.conv1.2.7.1700000000000000").kind, parse_name("notes.txt")
    ('tensors', None)
    """
    rows = _BY_END.get(name[name.rfind(".") :]) or _BY_END.get(name[-1:]) or _ANYWHERE
    for row in rows:
        if (found := row.parse(name)) is not None:
            return found
    return None


def parse_names(names: Sequence[str]) -> ParsedNames:
    """Read what is common among the names of a folder, in one pass; it says of each name what `parse_name` says.

    A word for a number format is the producer's.

    >>> found = parse_names(["MatMul.mm.0.1.17", "notes.txt"])
    >>> found.tensors.op_names, found.others
    (('mm',), [1])
    """
    found = _COMMON.findall("\n".join(names))
    if len(found) != len(names):  # a name has several lines
        return ParsedNames(CommonNames(), CommonNames(), range(len(names)))
    kinds = [bool(op_type) + bool(io) for op_type, _, _, _, _, io, *_ in found]
    others, tensors, npy = (
        [number for number, one in enumerate(kinds) if one == kind] for kind in range(3)
    )
    return ParsedNames(_columns(found, npy), _columns(found, tensors), others)


def _columns(found: Sequence[tuple[str, ...]], numbers: Sequence[int]) -> CommonNames:
    if not numbers:
        return CommonNames()
    rows = found if len(numbers) == len(found) else [found[number] for number in numbers]
    return CommonNames(numbers, *zip(*rows, strict=True))
