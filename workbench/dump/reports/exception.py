"""Dump files of a failed operator: its arguments, by adump's three scenes.

``aic_err_norm_dump`` knows the operator: types, formats, shapes. ``aic_err_brief_dump`` and
``lite_exception`` know the kernel's arguments alone: all of undefined type, some without shape, the
tiling data among the inputs. Arguments without an address are left out, and a task without any
has no file. Both follow adump's ``dump_file.cpp``; it puts arguments known by size alone behind
the workspaces, but never has both in one file, so payloads are in the usual order.
``aic_err_detail_dump`` writes what the brief scene knows as an ELF core (`workbench.dump.reports.core_elf`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from workbench._values import NamedTuple
from workbench.core.errors import FormatError
from workbench.dump.formats.container import Container, TensorEntry, read_container
from workbench.dump.formats.container_write import tensor_block
from workbench.dump.reports.core_elf import Core, Memory, core_bytes, read_core

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from workbench.dump.formats.container import Section

Scene = Literal["brief", "norm", "detail"]

ROLES: dict[int, str] = {
    0: "invalid",
    1: "general",
    2: "input",
    3: "output",
    4: "workspace",
    5: "AscendC log",
    6: "MC2 context",
    7: "tiling data",
    8: "L1",
    9: "L2",
    10: "overflow address",
    11: "FFTS address",
    12: "shape tensor",
    101: "arguments",
    102: "stack",
    103: "kernel object",
    104: "SIMT stack",
}
"""``input_type`` of an argument → what it is."""

_PARTS: dict[str, Section] = {
    "general": "input",
    "input": "input",
    "tiling data": "input",
    "output": "output",
    "shape tensor": "output",
    "workspace": "space",
}
"""Role → where a file has it; arguments of other roles are not written."""

_NUMBERS = {role: number for number, role in ROLES.items()}


class Argument(NamedTuple):
    """One argument of a kernel that is dumped.

    ``role`` is one of `ROLES`; ``dtype`` is its number format where that is not NumPy's own;
    ``format`` is GE's number or a name; ``arg_index`` its place among the arguments. The brief scene keeps
    ``shaped`` arguments' shape alone; the detailed one keeps the ``address``, too.
    """

    role: str
    array: NDArray[Any]
    dtype: str = ""
    format: int | str = "ND"
    arg_index: int = 0
    shaped: bool = True
    address: int = 0


def role(block: TensorEntry) -> str:
    """What a block of an exception's file was to its kernel.

    >>> role(TensorEntry("input", 0, 8, input_type=7))
    'tiling data'
    """
    if block.part != "input":
        return "workspace" if block.part == "space" else block.part
    return ROLES.get(block.input_type, f"type {block.input_type}")


def scene(container: Container) -> Scene:
    """Which scene wrote a file; the brief one knows neither the operator's name nor a type."""
    typed = any(block.data_type for block in container.blocks)
    return "norm" if typed or container.op_name else "brief"


def read_exception(path: str | os.PathLike[str]) -> tuple[Scene, Container]:
    """Read the arguments of a failed operator; `role` says what each was.

    Raises FormatError as `workbench.dump.formats.container.read_container`; a ``.core`` file is none.
    """
    container = read_container(path)
    return scene(container), container


def read_failed_core(path: str | os.PathLike[str]) -> tuple[Core, Container]:
    """Read a core, and its arguments as a container's blocks, which have no type.

    Raises FormatError as `workbench.dump.reports.core_elf.read_core`.
    """
    core = read_core(path)
    blocks: list[TensorEntry] = []
    slots = dict.fromkeys(_PARTS.values(), 0)
    for memory in core.memories:
        part = _PARTS.get(ROLES.get(memory.kind, ""))
        if part is not None:
            kind = memory.kind if part == "input" else 0
            shape = memory.shape or None if part != "space" else None
            blocks.append(
                TensorEntry(
                    part, slots[part], memory.size, shape=shape, address=memory.address,
                    input_type=kind, start=memory.start,
                )
            )  # fmt: skip
            slots[part] += 1
    order = ("input", "output", "space")
    blocks.sort(key=lambda block: order.index(block.part))
    return core, Container(tuple(blocks))


def failed_core(arguments: Sequence[Argument], core: Core) -> bytes:
    """Return the file of a failed kernel: ``core`` with its arguments, and the table of their addresses.

    The table has no address of its own; it is put below that of the first argument.
    """
    table = b"".join(one.address.to_bytes(8, "little") for one in arguments)
    first = min((one.address for one in arguments), default=0)
    memories = [Memory(_NUMBERS["arguments"], max(first - len(table), 0), len(table))]
    contents = [table]
    for one in arguments:
        block, data = _described(one, brief=True)
        shape = block.shape or ()
        memories.append(Memory(_NUMBERS[one.role], one.address, block.size, shape))
        contents.append(data.tobytes())
    return core_bytes(replace(core, memories=tuple(memories)), contents)


def exception_container(
    arguments: Iterable[Argument], dump_time: int, *, op_name: str = "", message: str = ""
) -> tuple[Container, list[NDArray[np.uint8]]]:
    """Return the container of a failed operator and its payload.

    Parameters
    ----------
    arguments : iterable of Argument
        In the order of the kernel's.
    dump_time : int
        Microseconds since the epoch.
    op_name : str
        Full name in the norm scene; empty in the brief one.
    message : str
        Log of the failure.

    Raises
    ------
    FormatError
        There is no argument, or one of a role that no file has.
    """
    found = [_described(one, brief=not op_name) for one in arguments]
    if not found:
        raise FormatError("dump/exception-empty")
    order = {"input": 0, "output": 1, "space": 2}
    found.sort(key=lambda pair: order[pair[0].part])
    slots = dict.fromkeys(order, 0)
    blocks = []
    for block, _ in found:
        blocks.append(block._replace(slot=slots[block.part]))
        slots[block.part] += 1
    container = Container(tuple(blocks), dump_time=dump_time, op_name=op_name, dfx_message=message)
    return container, [data for _, data in found]


def _described(one: Argument, *, brief: bool) -> tuple[TensorEntry, NDArray[np.uint8]]:
    part = _PARTS.get(one.role)
    if part is None:
        raise FormatError(
            "core/choice", subject="argument role", got=one.role, known=sorted(_PARTS)
        )
    block, data = tensor_block(
        part,
        0,
        one.array,
        one.dtype,
        format=one.format,
        original_shape=None,
        arg_index=one.arg_index,
    )
    if part == "space":
        return TensorEntry(part, 0, block.size, arg_index=one.arg_index), data
    if brief:
        keeps = one.shaped and one.role != "tiling data"
        block = block._replace(data_type=0, format=0, shape=block.shape if keeps else None)
    if not block.shape:  # no dimension is no shape here
        block = block._replace(shape=None)
    kind = _NUMBERS[one.role] if part == "input" else 0
    return block._replace(input_type=kind), data
