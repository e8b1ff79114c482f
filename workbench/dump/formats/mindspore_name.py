"""File names of MindSpore's npy dumps: written as releases from 2.3 on do, read in all their forms since 1.3.

The grammar is::

    {op_type}.{op_name}.{task_id}.{stream_id}.{timestamp}.{io}.{slot}.{format}[.{dtype}].npy

Parameter names kept their dots up to 2.2, so a name can only be split from its right end. What
msaccucmp has converted ends with the slot, or with a shape (``2x3``) if it changed the format. Sources:
MindSpore ``dump_utils.cc``, ``e2e_dump.cc``, ``cpu_e2e_dump.cc`` from r1.3 to r2.7, and real dumps
of 2.0.0 and 2.10.0 (`tests/dump/formats/test_mindspore_name.py`).
"""

from __future__ import annotations

import re
from functools import lru_cache
from sys import intern
from typing import TYPE_CHECKING, cast

from workbench.core.dtypes import dtype_name, mindspore_word
from workbench.core.writers import MINDSPORE_RELEASE
from workbench.dump.formats.file import FileName

if TYPE_CHECKING:
    from workbench.core.tensors import Io

MAX_NAME_BYTES = 255
"""Longest file name of most file systems; of longer ones see `workbench.dump.formats.renamed`."""

_IO = ("input", "output")
_SHAPE = re.compile("[0-9]+(?:x[0-9]+)*")


def parse_npy_name(file_name: str) -> FileName | None:
    """Read the name of an npy file of MindSpore 1.3 or newer; ``None`` if it is no such name.

    >>> parse_npy_name("Add.Default_Add-op1.0.3.17.output.0.DefaultFormat.Float32.npy")[3:10]
    (17, 0, 3, 'output', 0, 'DefaultFormat', 'float32')
    >>> parse_npy_name("Parameter.moments.fc.bias.0.0.17.output.0.DefaultFormat.npy").op_name
    'moments.fc.bias'
    """
    parts = _split(file_name[:-4]) if file_name.endswith(".npy") else None
    if parts is None:
        return None
    head, task, stream, stamp, io, slot, form, word = parts
    digits = task + stream + stamp + slot
    op_type, _, op_name = head.partition(".")
    if not (op_type and op_name and digits.isascii() and digits.isdecimal()):
        return None
    try:
        time, task_id, stream_id, place = int(stamp), int(task), int(stream), int(slot)
    except ValueError:  # one of the four is empty, or has more digits than any number
        return None
    dtype = dtype_of_word(word) if word else ""
    # few words in thousands of names: each is kept once
    op_type, io, form = map(intern, (op_type, io, form))
    return FileName(
        "npy", op_type, op_name, time, task_id, stream_id, cast("Io", io), place, form, dtype
    )


def _split(base: str) -> list[str] | None:
    """Split a name without its suffix: type and name, four words, slot, format, dtype."""
    parts = base.rsplit(".", 7)
    if len(parts) == 8 and parts[4] in _IO and parts[6]:
        return parts
    if len(parts) == 8 and parts[5] in _IO and parts[7]:
        form = "" if _SHAPE.fullmatch(parts[7]) else parts[7]
        return [f"{parts[0]}.{parts[1]}", *parts[2:7], form, ""]
    parts = base.rsplit(".", 5)
    return [*parts, "", ""] if len(parts) == 6 and parts[4] in _IO else None


def format_name(
    parts: FileName, version: str = MINDSPORE_RELEASE, *, device: str = "Ascend"
) -> str:
    """File name that MindSpore ``version`` gives to a tensor, however long it becomes.

    Parameters
    ----------
    parts : FileName
        ``op_name`` is the full name with slashes.
    version : str
        2.3 or newer; 2.4 adds the dtype.
    device : str
        ``CPU`` capitalizes the dtype.

    >>> format_name(FileName("npy", "Add", "Default/net/Add-op1", 17, 0, 0, "output", 0, "ND", "int8"))
    'Add.Default_net_Add-op1.0.0.17.output.0.ND.int8.npy'
    """
    from workbench.dump.releases import check_version

    number = check_version(version)
    word = "" if number < (2, 4) or not parts.dtype else "." + dtype_word(parts.dtype, device)
    return (
        f"{parts.op_type}.{sanitize(parts.op_name)}.{parts.task_id}.{parts.stream_id}.{parts.timestamp_us}"
        f".{parts.io}.{parts.slot}.{parts.format}{word}.npy"
    )


def sanitize(op_name: str) -> str:
    """Name of an operator or parameter as file names carry it; not reversible.

    >>> sanitize("Expand/_Muls/Mul-op0"), sanitize("w with space.1")
    ('Expand__Muls_Mul-op0', 'w_with_space_1')
    """
    # a fifth of the time of str.translate
    return op_name.replace("/", "_").replace("\\", "_").replace(".", "_").replace(" ", "_")


def short_name(op_name: str) -> str:
    """Name of an operator in files of 1.3 to 2.2: what follows the last slash (or ``--``)."""
    return op_name.replace("/", "--").rpartition("--")[2]


def dtype_word(dtype: str, device: str) -> str:
    """Last part of a file name: ``Float32`` on a CPU, ``float32`` elsewhere."""
    word = mindspore_word(dtype)
    return word if device == "CPU" else word.lower()


@lru_cache(maxsize=256)
def dtype_of_word(word: str) -> str:
    """Number format that the last part of a file name means; the word itself if it means none."""
    return dtype_name(word) or word
