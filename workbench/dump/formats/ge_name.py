"""File names of the graph engine's dumps: tensors, statistics, overflow, exceptions, golden data.

`GRAMMARS` has one row for every kind; a name is of the first kind whose pattern it fits. Written by
the device's ``dump_task.cpp``, adump's ``dump_stream_info.cpp``, ``dump_args.cpp``,
``dump_args_callback.cpp`` and ``dump_operator.cpp``; what is accepted follows msaccucmp's
``reg_manager.py``.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from workbench.core.errors import FormatError
from workbench.dump.formats.mindspore_name import MAX_NAME_BYTES, NameParts, parse_name, sanitize
from workbench.dump.formats.renamed import is_renamed

if TYPE_CHECKING:
    from datetime import datetime

Kind = Literal[
    "tensors", "statistics", "overflow", "overflow-json", "captured",
    "brief", "callback", "norm", "core", "golden",
]  # fmt: skip

ABSENT = 65535
"""Id of a context, thread, task or stream that there is none of."""

BRIEF = "exception_info"
_FFTS_TASK = 4


class GeName(NamedTuple):
    """What one file name of the graph engine says.

    ``timestamp`` is microseconds since the epoch; in names of exceptions it is local time as 17
    digits, year to millisecond. ``op_name`` is the kernel's in names of exceptions without a type.
    ``slot`` is that of golden data and of a decoded overflow record. Ids that a name does not have
    are ``None``.
    """

    kind: Kind
    op_type: str = ""
    op_name: str = ""
    timestamp: int = 0
    task_id: int | None = None
    stream_id: int | None = None
    context_id: int | None = None
    thread_id: int | None = None
    device_id: int | None = None
    dump_number: int | None = None
    core_type: int | None = None
    core_id: int | None = None
    slot: int | None = None


_OP = r"(?P<op_type>[^./\\]+)\.(?P<op_name>[^./\\]+)"
_RAW_OP = r"(?P<op_type>[^./\\]+)\.(?P<op_name>[^/\\]+)"
_OPDEBUG = r"(?P<op_type>Opdebug)\.(?P<op_name>Node_OpDebug)"
_TASK, _STREAM, _SLOT = (rf"\.(?P<{name}>\d{{1,20}})" for name in ("task_id", "stream_id", "slot"))
_TIME = r"\.(?P<timestamp>\d{1,255})"
_PLACE = "".join(rf"\.(?P<{name}>\d{{1,20}})" for name in ("context_id", "thread_id", "device_id"))
_CORE = r"\.(?P<core_type>\d{1,20})\.(?P<core_id>\d{1,20})"
_DATE = (
    r"\.(?P<timestamp>(?:19|20)\d\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])"
    r"(?:[01]\d|2[0-3])[0-5]\d[0-6]\d\d{3})"
)

GRAMMARS: tuple[tuple[Kind, str], ...] = (
    ("overflow-json", rf"{_OPDEBUG}{_TASK}{_STREAM}{_TIME}\.output{_SLOT}\.json"),
    ("overflow", rf"{_OPDEBUG}{_TASK}{_STREAM}{_TIME}"),
    ("core", rf"(?P<op_name>[^/\\]*?)\.?(?<!\d)(?P<stream_id>\d{{1,20}}){_TASK}{_DATE}\.core"),
    ("brief", rf"(?P<op_name>{BRIEF}){_STREAM}{_TASK}{_DATE}"),
    ("callback", rf"(?P<op_name>[^/\\]+){_STREAM}{_TASK}{_CORE}{_DATE}"),
    ("norm", rf"{_OP}{_TASK}{_DATE}"),
    ("statistics", rf"{_OP}{_TASK}{_STREAM}{_TIME}(?:\.{_FFTS_TASK}{_PLACE})?\.csv"),
    ("tensors", rf"{_OP}{_TASK}{_STREAM}{_TIME}(?:\.{_FFTS_TASK}{_PLACE})?"),
    ("tensors", rf"{_OP}{_TASK}{_TIME}(?:\.{_FFTS_TASK}{_PLACE})?"),
    ("tensors", rf"{_OP}{_TASK}{_STREAM}{_TIME}{_PLACE}"),
    (
        "captured",
        rf"{_RAW_OP}\.(?P<dump_number>\d{{1,20}}){_TASK}{_STREAM}{_TIME}(?:\.FFTSPLUS{_PLACE})?",
    ),
    ("golden", rf"(?P<op_name>[^/\\]+){_SLOT}{_TIME}\.(?:npy|pt|pb|quant)"),
)
"""Kind → pattern of its names, in the order of trial."""

_PATTERNS = [(kind, re.compile(pattern, re.ASCII)) for kind, pattern in GRAMMARS]
_TEXTS = ("op_type", "op_name")


def parse_ge_name(file_name: str) -> GeName | None:
    """Read a name of the graph engine; ``None`` if no kind has such names.

    >>> parse_ge_name("Conv2D.conv1relu.2.7.17")
    GeName(kind='tensors', op_type='Conv2D', op_name='conv1relu', timestamp=17, task_id=2, stream_id=7, \
context_id=None, thread_id=None, device_id=None, dump_number=None, core_type=None, core_id=None, slot=None)
    """
    if len(file_name) > 4 * MAX_NAME_BYTES:
        return None
    for kind, pattern in _PATTERNS:
        if match := pattern.fullmatch(file_name):
            found: dict[str, Any] = {
                key: value if key in _TEXTS else int(value)
                for key, value in match.groupdict().items()
                if value is not None
            }
            return GeName(kind, **found)
    return None


def recognize(file_name: str) -> NameParts | GeName | Literal["renamed"] | None:
    """Read any name of a dump: MindSpore's, the graph engine's, or one given to a too long name.

    >>> recognize("3141592653589793.npy"), recognize("notes.txt")
    ('renamed', None)
    """
    if is_renamed(file_name):
        return "renamed"
    return parse_name(file_name) or parse_ge_name(file_name)


def format_ge_name(name: GeName) -> str:
    """File name of a kind, however long it becomes; only the core's is cut, to its last 255 bytes.

    Type and name are sanitised where the writer does so. Parts of an operator (FFTS+) are named
    if both their ids are present; a captured stream takes 0 for absent.

    >>> format_ge_name(GeName("tensors", "MatMul", "net/mm.1", 17, 3, 1))
    'MatMul.net_mm_1.3.1.17'
    """
    _check(name)
    op_type, op_name = sanitize(name.op_type), sanitize(name.op_name)
    task, stream, time = name.task_id, name.stream_id, name.timestamp
    if name.kind in ("tensors", "statistics"):
        middle = f"{task}" if stream is None else f"{task}.{stream}"
        base = f"{op_type}.{op_name}.{middle}.{time}{_part(name, str(_FFTS_TASK), ABSENT)}"
        return f"{base}.csv" if name.kind == "statistics" else base
    if name.kind in ("overflow", "overflow-json"):
        base = f"Opdebug.Node_OpDebug.{task}.{stream}.{time}"
        return base if name.kind == "overflow" else f"{base}.output.{name.slot}.json"
    if name.kind == "captured":
        base = f"{name.op_type}.{name.op_name}.{name.dump_number}.{task}.{stream}.{time}"
        return base + _part(name, "FFTSPLUS", 0)
    if name.kind == "norm":
        return f"{op_type}.{op_name}.{task}.{time}"
    if name.kind == "golden":
        return f"{name.op_name}.{name.slot}.{time}.npy"
    base = f"{name.op_name or BRIEF}.{stream}.{task}"
    if name.kind == "callback":
        return f"{base}.{name.core_type}.{name.core_id}.{time}"
    return f"{base}.{time}" if name.kind == "brief" else f"{base}.{time}.core"[-MAX_NAME_BYTES:]


_NEEDED: dict[Kind, tuple[str, ...]] = {
    "tensors": ("task_id",),
    "statistics": ("task_id", "stream_id"),
    "overflow": ("task_id", "stream_id"),
    "overflow-json": ("task_id", "stream_id", "slot"),
    "captured": ("dump_number", "task_id", "stream_id"),
    "brief": ("stream_id", "task_id"),
    "callback": ("stream_id", "task_id", "core_type", "core_id"),
    "norm": ("task_id",),
    "core": ("stream_id", "task_id"),
    "golden": ("slot",),
}
"""Kind → ids that its names are made of."""


def _check(name: GeName) -> None:
    missing = [key for key in _NEEDED[name.kind] if getattr(name, key) is None]
    if missing:
        raise FormatError("dump/name-ids", kind=name.kind, missing=missing)


def _part(name: GeName, word: str, absent: int) -> str:
    """Tail that names a part of an operator; empty if a context or thread is absent."""
    if any(one in (None, absent) for one in (name.context_id, name.thread_id)):
        return ""
    return f".{word}.{name.context_id}.{name.thread_id}.{name.device_id or 0}"


def exception_stamp(moment: datetime) -> int:
    """Local time as names of exceptions carry it, year to millisecond.

    >>> from datetime import datetime
    >>> exception_stamp(datetime(2025, 1, 2, 3, 4, 5, 678901))
    20250102030405678
    """
    return int(f"{moment:%Y%m%d%H%M%S}{moment.microsecond // 1000:03}")
