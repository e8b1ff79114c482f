"""Write dump containers: headers field by field as the device does, payloads block after block."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from workbench.core.dtypes import data_type_of
from workbench.core.errors import FormatError
from workbench.core.formats import FormatWord, format_number, read_format
from workbench.core.packing import encode
from workbench.dump.formats.container import ALL_NUMBERS, NUMBERS, TensorEntry, unaddressed
from workbench.dump.formats.container_header import message_class

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from workbench.dump.formats.container import Container, Section


def tensor_block(
    part: Section,
    slot: int,
    array: NDArray[Any],
    dtype: str = "",
    *,
    format: int | str = "ND",
    **fields: Any,
) -> tuple[TensorEntry, NDArray[np.uint8]]:
    """Describe an array and return it with its bytes.

    Parameters
    ----------
    array : ndarray
        As the device holds it.
    dtype : str
        Its number format where that is not NumPy's own.
    format : int or str
        GE's number, or a name that may state its groups: ``FRACTAL_Z:32``.
    **fields
        More of `TensorEntry`; ``original_shape`` is the array's own if not given.
    """
    row = data_type_of(dtype or array.dtype.name)
    data = encode(row, array)
    shape = tuple(array.shape)
    stated = {"shape": shape, "original_shape": shape, "format": format} | fields
    if isinstance(format, str):
        word = read_format(format)
        stated["format"] = format_number(FormatWord(word.name))
        stated.setdefault("sub_format", word.groups if word.groups > 1 else 0)
    return TensorEntry(part, slot, data.nbytes, row.code, **stated), data


def header_bytes(container: Container) -> bytes:
    """Header of a container without its length word, fields in the order of their numbers."""
    message = message_class("DumpData")(
        version=_bytes(container.version),
        dump_time=container.dump_time,
        op_name=_bytes(container.op_name),
        dfx_message=_bytes(container.dfx_message),
    )
    for name, value in container.attrs:
        message.attr.add(name=_bytes(name), value=_bytes(value))
    for block in container.blocks:
        _describe(getattr(message, block.part).add(), block)
    data: bytes = message.SerializeToString(deterministic=True)
    return data


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _describe(message: Any, block: TensorEntry) -> None:
    """Set the fields of a block's message; what its kind cannot hold must be 0."""
    numbers = NUMBERS[block.part]
    place = f"{block.part} {block.slot}"
    for name in ALL_NUMBERS - numbers.keys():
        if value := getattr(block, name):
            raise FormatError("dump/field-unused", place=place, name=name, got=value)
    for name, target in numbers.items():
        try:
            setattr(message, target, getattr(block, name))
        except ValueError as error:
            raise FormatError("dump/field-range", place=place, name=name, why=str(error)) from error
    for name in ("shape", "original_shape"):
        dims = getattr(block, name)
        if dims is not None and block.part in ("input", "output"):
            getattr(message, name).SetInParent()  # an empty shape is written, too
            getattr(message, name).dim.extend(dim % (1 << 64) for dim in dims)
    if block.part == "output":
        for first, last in block.dim_range:
            message.dim_range.add(dim_start=first, dim_end=last)
        if block.origin is not None:
            fields = block.origin._asdict() | {"name": _bytes(block.origin.name)}
            message.original_op.MergeFrom(message_class("OriginalOp")(**fields))


def write_container(
    file: BinaryIO, container: Container, payload: Iterable[bytes | NDArray[np.uint8]]
) -> None:
    """Write a container of version 2.0; ``payload`` is the data of every block, in their order.

    Blocks are taken one after the other, so ``payload`` may make them as it goes. Raises
    FormatError if a block's data are not as many bytes as its ``size``, or not empty for a tensor
    without an address among tensors that have one.
    """
    header = header_bytes(container)
    file.write(len(header).to_bytes(8, "little") + header)
    absent = unaddressed(container.blocks)
    for at, (block, data) in enumerate(zip(container.blocks, payload, strict=True)):
        size = len(data) if isinstance(data, bytes) else data.nbytes
        want = 0 if at in absent else block.size
        if size != want:
            place = f"{block.part} {block.slot}"
            raise FormatError("dump/payload-size", place=place, needed=want, got=size)
        file.write(data if isinstance(data, bytes) else data.data)
