"""Names of tensors as msprobe writes them: calls of interfaces and modules, files, operators."""

from __future__ import annotations

import re
from pathlib import PurePosixPath

from workbench._values import NamedTuple
from workbench.dump.formats.call_name import call_type
from workbench.dump.formats.mindspore_name import parse_npy_name
from workbench.dump.formats.table import parse_name

_TENSOR = re.compile(r"(.+)\.(input|output)\.(\d{1,9})", re.A | re.S)
_IO = r"((?:input|output|kwargs|parameters|parameters_grad)(?:\..+)?)"
_CALL = re.compile(rf"(.+?\.(?:forward|backward)(?:\.\d{{1,9}})?)\.{_IO}", re.A | re.S)
_PART = re.compile(rf"(.+?)\.{_IO}", re.A | re.S)


class Name(NamedTuple):
    """A tensor as a tool names it."""

    op_name: str
    op_type: str = ""
    io: str = ""
    slot: int = 0
    path: str = ""


def parse_tensor(text: str) -> Name:
    """Split the name of a tensor in any of msprobe's forms.

    >>> parse_tensor("Functional.conv2d.0.forward.input.1")
    Name(op_name='Functional.conv2d.0.forward', op_type='conv2d', io='input', slot=1, path='')
    >>> parse_tensor("Module.fc.Linear.forward.0.parameters.weight")[:3]
    ('Module.fc.Linear.forward.0', 'Linear', 'parameters.weight')
    """
    path = text if text.startswith("/") or text.endswith((".npy", ".pt")) else ""
    file = PurePosixPath(text).name if path else ""
    if parts := parse_npy_name(file):
        return Name(parts.op_name, parts.op_type, parts.io, parts.slot or 0, path)
    text = file.removesuffix(".npy").removesuffix(".pt") or text
    call = _CALL.fullmatch(text)
    if not call and (found := _TENSOR.fullmatch(text)):
        op_name, op_type = _operator(found[1])
        return Name(op_name, op_type, found[2], int(found[3]), path)
    call = call or _PART.fullmatch(text)
    if not call:
        return Name(text, path=path)
    part, _, last = call[2].rpartition(".")
    numbered = bool(part) and last.isascii() and last.isdecimal() and len(last) < 10
    io, slot = (part, int(last)) if numbered else (call[2], 0)
    return Name(call[1], call_type(call[1]), io, slot, path)


def _operator(text: str) -> tuple[str, str]:
    """Name and type of an operator: those of a file of GE, or ``{op name}.{task id}``."""
    if (found := parse_name(text)) and found.op_name:
        return found.op_name, found.op_type
    op_name, _, task = text.rpartition(".")
    return (op_name if op_name and task.isdecimal() else text), ""
