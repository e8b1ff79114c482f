"""File names of the graph engine's dumps: tensors, statistics, overflow, exceptions, golden data.

`GRAMMARS` has the patterns of every kind; of kinds that fit the same name `workbench.dump.formats.table` chooses.
Written by the device's ``dump_task.cpp``, adump's ``dump_stream_info.cpp``, ``dump_args.cpp``,
``dump_args_callback.cpp`` and ``dump_operator.cpp``; what is accepted follows msaccucmp's ``reg_manager.py``.
"""

from __future__ import annotations

import re
from functools import cache
from itertools import chain, count
from typing import TYPE_CHECKING, Literal

from workbench.core.errors import FormatError
from workbench.dump.formats.file import NO_IDS, FileName, Ids
from workbench.dump.formats.mindspore_name import MAX_NAME_BYTES, sanitize

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from datetime import datetime

FileKind = Literal[
    "tensors", "statistics", "overflow", "overflow-json", "captured",
    "brief", "callback", "norm", "core", "golden",
]  # fmt: skip

ABSENT = 65535
"""Id of a context, thread, task or stream that there is none of."""

BRIEF = "exception_info"
_FFTS_TASK = 4


_OP = r"(?P<op_type>[^./\\]+)\.(?P<op_name>[^./\\]+)"
_RAW_OP = r"(?P<op_type>[^./\\]+)\.(?P<op_name>[^/\\]+)"
_OPDEBUG = r"(?P<op_type>Opdebug)\.(?P<op_name>Node_OpDebug)"
_TASK, _STREAM, _SLOT, _DUMP = (
    rf"\.(?P<{name}>\d{{1,20}})" for name in ("task_id", "stream_id", "slot", "dump")
)
_TIME = r"\.(?P<timestamp_us>\d{1,255})"
_PLACE = "".join(rf"\.(?P<{name}>\d{{1,20}})" for name in ("context", "thread", "device"))
_CORE = r"\.(?P<core_type>\d{1,20})\.(?P<core>\d{1,20})"
_DATE = (
    r"\.(?P<timestamp_us>(?:19|20)\d\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])"
    r"(?:[01]\d|2[0-3])[0-5]\d[0-6]\d\d{3})"
)

GRAMMARS: dict[FileKind, tuple[str, ...]] = {
    "overflow-json": (rf"{_OPDEBUG}{_TASK}{_STREAM}{_TIME}\.output{_SLOT}\.json",),
    "overflow": (rf"{_OPDEBUG}{_TASK}{_STREAM}{_TIME}",),
    "core": (rf"(?P<op_name>[^/\\]*?)\.?(?<!\d)(?P<stream_id>\d{{1,20}}){_TASK}{_DATE}\.core",),
    "brief": (rf"(?P<op_name>{BRIEF}){_STREAM}{_TASK}{_DATE}",),
    "callback": (rf"(?P<op_name>[^/\\]+){_STREAM}{_TASK}{_CORE}{_DATE}",),
    "norm": (rf"{_OP}{_TASK}{_DATE}",),
    "statistics": (rf"{_OP}{_TASK}{_STREAM}{_TIME}(?:\.{_FFTS_TASK}{_PLACE})?\.csv",),
    "tensors": (
        rf"{_OP}{_TASK}{_STREAM}{_TIME}(?:\.{_FFTS_TASK}{_PLACE})?",
        rf"{_OP}{_TASK}{_TIME}(?:\.{_FFTS_TASK}{_PLACE})?",
        rf"{_OP}{_TASK}{_STREAM}{_TIME}{_PLACE}",
    ),
    "captured": (rf"{_RAW_OP}{_DUMP}{_TASK}{_STREAM}{_TIME}(?:\.FFTSPLUS{_PLACE})?",),
    "golden": (rf"(?P<op_name>[^/\\]+){_SLOT}{_TIME}\.(?:npy|pt|pb|quant)",),
}
"""Kind → patterns of its names; the first that fits counts."""

_LONGEST = 4 * MAX_NAME_BYTES


def grammar(kind: FileKind) -> Callable[[str], FileName | None]:
    """Return what reads the names of one kind, and gives ``None`` for any other name.

    >>> grammar("tensors")("Conv2D.conv1relu.2.7.17")[:6]
    ('tensors', 'Conv2D', 'conv1relu', 17, 2, 7)
    """
    is_dated = all(pattern.endswith(_DATE) for pattern in GRAMMARS[kind])

    def parse(file_name: str) -> FileName | None:
        if len(file_name) > _LONGEST or (is_dated and file_name[-18:-17] != "."):  # soon told
            return None
        for read in _readers(kind):
            if (found := read(file_name)) is not None:
                return found
        return None

    return parse


@cache
def _readers(kind: FileKind) -> tuple[Callable[[str], FileName | None], ...]:
    """What reads each pattern of a kind; compiled when a name of its ending is first met."""
    return tuple(_reader(kind, pattern) for pattern in GRAMMARS[kind])


_FIELDS = ("op_type", "op_name", "timestamp_us", "task_id", "stream_id", "slot")
_new = tuple.__new__  # makes a name without a call in between


def _reader(kind: FileKind, pattern: str) -> Callable[[str], FileName | None]:
    """Return what reads the names that fit a pattern, whose groups are named like the fields."""
    groups = re.compile(pattern).groupindex
    never = (f"(?:(?!)(?P<{field}>))?" for field in (*_FIELDS, *Ids._fields) if field not in groups)
    fullmatch = re.compile(pattern + "".join(never), re.ASCII).fullmatch  # of each field a group
    first_id = next((at for field, at in groups.items() if field in Ids._fields), 0)

    def read(file_name: str) -> FileName | None:
        match = fullmatch(file_name)
        if match is None:
            return None
        op_type, op_name, time, task, stream, slot = match.group(*_FIELDS)
        ids = NO_IDS
        if first_id and match[first_id] is not None:
            ids = Ids(*map(_number, match.group(*Ids._fields)))
        numbers = int(time), _number(task), _number(stream)
        return _new(
            FileName,
            (kind, op_type or "", op_name or "", *numbers, "output", _number(slot), "", "", ids),
        )

    return read


_NOT_STANDARD = re.compile(r"[^A-Za-z0-9_-]")


def standard_name(op_name: str) -> str:
    """Name of an operator as golden data carry it; several operators may share one.

    >>> standard_name("/layer1/conv.0:add")
    '_layer1_conv_0_add'
    """
    return _NOT_STANDARD.sub("_", op_name)


INPUTS = "inputs"
"""Subfolder of golden data with what the network was fed."""

ROLES = "roles.csv"
"""File of golden data that says which of its files are copies, and which nothing reads."""

CONSTANTS = "constants"
"""Subfolder of golden data with outputs that no input changes: a compiler computes them, so no device dumps them."""

_LONGEST_INPUT = 200


def input_files(names: Iterable[str]) -> dict[str, str]:
    """Files of a network's inputs in `INPUTS`, in their order: where names are alike, later ones have a number.

    >>> input_files(["image", "a.b", "a/b"])
    {'image': 'image.npy', 'a.b': 'a_b.npy', 'a/b': 'a_b_2.npy'}
    """
    found: dict[str, str] = {}
    for name in names:
        stem = standard_name(name)[:_LONGEST_INPUT]
        numbered = chain([stem], (f"{stem}_{number}" for number in count(2)))
        taken = set(found.values())
        found[name] = next(file for own in numbered if (file := f"{own}.npy") not in taken)
    return found


def _number(digits: str | None) -> int | None:
    return None if digits is None else int(digits)


def format_ge_name(name: FileName) -> str:
    """File name of a kind, however long it becomes; only the core's is cut, to its last 255 bytes.

    Type and name are sanitised where the writer does so. Parts of an operator (FFTS+) are named
    if both their ids are present; a captured stream takes 0 for absent.

    >>> format_ge_name(FileName("tensors", "MatMul", "net/mm.1", 17, 3, 1))
    'MatMul.net_mm_1.3.1.17'
    """
    _check(name)
    op_type, op_name = sanitize(name.op_type), sanitize(name.op_name)
    task, stream, time = name.task_id, name.stream_id, name.timestamp_us
    if name.kind in ("tensors", "statistics"):
        middle = f"{task}" if stream is None else f"{task}.{stream}"
        base = f"{op_type}.{op_name}.{middle}.{time}{_part(name.ids, str(_FFTS_TASK), ABSENT)}"
        return f"{base}.csv" if name.kind == "statistics" else base
    if name.kind in ("overflow", "overflow-json"):
        base = f"Opdebug.Node_OpDebug.{task}.{stream}.{time}"
        return base if name.kind == "overflow" else f"{base}.output.{name.slot}.json"
    if name.kind == "captured":
        base = f"{name.op_type}.{name.op_name}.{name.ids.dump}.{task}.{stream}.{time}"
        return base + _part(name.ids, "FFTSPLUS", 0)
    if name.kind == "norm":
        return f"{op_type}.{op_name}.{task}.{time}"
    if name.kind == "golden":
        return f"{standard_name(name.op_name)}.{name.slot}.{time}.npy"
    base = f"{name.op_name or BRIEF}.{stream}.{task}"
    if name.kind == "callback":
        return f"{base}.{name.ids.core_type}.{name.ids.core}.{time}"
    return f"{base}.{time}" if name.kind == "brief" else f"{base}.{time}.core"[-MAX_NAME_BYTES:]


_NEEDED: dict[str, tuple[str, ...]] = {
    "tensors": ("task_id",),
    "statistics": ("task_id", "stream_id"),
    "overflow": ("task_id", "stream_id"),
    "overflow-json": ("task_id", "stream_id", "slot"),
    "captured": ("dump", "task_id", "stream_id"),
    "brief": ("stream_id", "task_id"),
    "callback": ("stream_id", "task_id", "core_type", "core"),
    "norm": ("task_id",),
    "core": ("stream_id", "task_id"),
    "golden": ("slot",),
}
"""Kind → numbers that its names are made of."""


def _check(name: FileName) -> None:
    known = name._asdict() | name.ids._asdict()
    missing = [field for field in _NEEDED[name.kind] if known[field] is None]
    if missing:
        raise FormatError("dump/name-ids", kind=name.kind, missing=missing)


def _part(ids: Ids, word: str, absent: int) -> str:
    """Tail that names a part of an operator; empty if a context or thread is absent."""
    if any(one in (None, absent) for one in (ids.context, ids.thread)):
        return ""
    return f".{word}.{ids.context}.{ids.thread}.{ids.device or 0}"


def exception_stamp(moment: datetime) -> int:
    """Local time as names of exceptions carry it, year to millisecond.

    >>> from datetime import datetime
    >>> exception_stamp(datetime(2025, 1, 2, 3, 4, 5, 678901))
    20250102030405678
    """
    return int(f"{moment:%Y%m%d%H%M%S}{moment.microsecond // 1000:03}")
