"""Names of converted files, as msaccucmp's ``convert`` gives them.

Sources: msaccucmp ``dump_data_parser.py``, ``shape_format_conversion.py``, ``utils.py``.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Literal

from workbench._values import NamedTuple
from workbench.core.dtypes import DATA_TYPES
from workbench.core.errors import FormatError
from workbench.core.formats import read_format

if TYPE_CHECKING:
    from workbench.dump.formats.container import TensorEntry

FileType = Literal["npy", "bin", "msnpy"]

OVERFLOW = "Opdebug.Node_OpDebug."
"""Begin of the names of overflow records; what msaccucmp goes by."""

_WORDS = {
    15: "DECONV_SP_STRIDE8_TRANS",
    20: "LOOKUP_LOOKUPS",
    21: "LOOKUP_KEYS",
    22: "LOOKUP_VALUE",
    23: "LOOKUP_OUTPUT",
    24: "LOOKUP_HITS",
    45: "YUV",
    46: "YUV_A",
}
"""Formats that msaccucmp spells otherwise than GE."""

_BUFFERS = {0: "l1"}
_DOTTED = 5
"""Parts of ``op_type.op_name.task_id.stream_id.timestamp``."""


class Form(NamedTuple):
    """What a tensor's file holds: shape, format, and whether ``--format`` was followed."""

    shape: tuple[int, ...]
    format: str
    converted: bool = False


def tensor_name(
    dump: str, block: TensorEntry, form: Form, file_type: FileType, op_name: str
) -> str:
    """Name of a tensor's file.

    >>> from workbench.dump.formats.container import TensorEntry
    >>> form = Form((2, 3), "NCHW", converted=True)
    >>> tensor_name("Add.add.1.2.3", TensorEntry("output", 0, 12, 2), form, "npy", "")
    'Add.add.1.2.3.output.0.2x3.npy'
    >>> tensor_name("Add.add.1.2.3", TensorEntry("output", 0, 12, 2), form, "bin", "")
    'Add.add.1.2.3.output.0.6.float16.NCHW.bin'

    The array of a ``bin`` is flat by the time it is named (msaccucmp 8.1.RC1).
    """
    if file_type == "msnpy":
        return f"{_scoped(dump, op_name)}.{block.part}.{block.slot}.{form.format}.npy"
    name = f"{dump}.{block.part}.{block.slot}"
    if file_type == "bin":
        return f"{name}.{prod(form.shape)}.{type_word(block)}.{form.format}.bin"
    return f"{name}.{'x'.join(map(str, form.shape))}.npy" if form.converted else f"{name}.npy"


def _scoped(dump: str, op_name: str) -> str:
    """File name with the last scope of the operator's own name, if the name has five parts."""
    parts = dump.split(".")
    last = op_name.rpartition("/")[2]
    if len(parts) != _DOTTED or not last:
        return dump
    return ".".join((parts[0], last, *parts[2:]))


def type_word(block: TensorEntry) -> str:
    """NumPy's name of a tensor's number format as its container states it.

    >>> from workbench.dump.formats.container import TensorEntry
    >>> type_word(TensorEntry("input", 0, 8, 27)), type_word(TensorEntry("input", 0, 8, 0))
    ('bfloat16', 'int8')
    """
    row = block.row
    if row is None:
        return f"type{block.data_type}"
    if row is DATA_TYPES[0]:
        return "int8"
    return row.storage.name if row.storage.isbuiltin == 1 else row.name


def format_word(number: int) -> str:
    """Msaccucmp's spelling of a format number; digits for one that nobody knows.

    >>> format_word(3), format_word(45), format_word(200)
    ('NC1HWC0', 'YUV', '200')
    """
    try:
        return _WORDS.get(number) or read_format(number).name
    except FormatError:
        return str(number)


def bytes_name(dump: str, block: TensorEntry) -> str:
    """Name of the file of a buffer or workspace.

    >>> from workbench.dump.formats.container import TensorEntry
    >>> bytes_name("a.b.1.2.3", TensorEntry("buffer", 1, 8)), bytes_name("a.b.1.2.3", TensorEntry("space", 0, 8))
    ('a.b.1.2.3.l1buffer.1.bin', 'a.b.1.2.3.space.0.bin')
    """
    if block.part == "space":
        return f"{dump}.space.{block.slot}.bin"
    return f"{dump}.{_BUFFERS.get(block.type, block.type)}buffer.{block.slot}.bin"


def record_name(dump: str, slot: int) -> str:
    """Name of the JSON file of an overflow record."""
    return f"{dump}.output.{slot}.json"
