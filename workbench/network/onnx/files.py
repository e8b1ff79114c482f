"""ONNX files: untrusted bytes into a model whose sizes are checked and whose data stay in its folder."""

from __future__ import annotations

import os
from collections import deque
from functools import cache
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from workbench.core.dtypes import DTYPES
from workbench.core.errors import FormatError, GraphError
from workbench.core.files import file_content, is_file, open_file
from workbench.proto.schema import Field, Schema
from workbench.proto.wire import walk_declared

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import ModuleType

    from numpy.typing import NDArray
    from onnx import ModelProto, TensorProto

    Array = NDArray[Any]

_MOST_BYTES = 1 << 31  # protobuf reads no larger message
_MOST_ELEMENTS = 1 << 40
MAX_FIELDS = 2_000_000
"""Most fields of a model and all messages inside it; the library takes some 80 bytes for each."""


@cache
def library() -> ModuleType:
    """Return the package onnx; raises GraphError that names the extra if it is missing."""
    try:
        import onnx
        import onnx.helper
        import onnx.inliner
        import onnx.numpy_helper
    except ImportError as error:
        raise GraphError("graph/onnx-missing") from error
    return onnx


def read_model(path: Path) -> ModelProto:
    """Return the model of a file, without the data that lie in other files."""
    onnx = library()
    if not is_file(path):
        raise GraphError("core/missing", got=str(path))
    if path.stat().st_size >= _MOST_BYTES:
        size = path.stat().st_size
        raise FormatError("graph/onnx-large", place=str(path), got=size, limit=_MOST_BYTES)
    data = file_content(path, _MOST_BYTES)
    if len(data) > 2 * MAX_FIELDS:  # a field has two bytes at least
        name = onnx.ModelProto.DESCRIPTOR.full_name
        walked = walk_declared(_messages(), name, data, str(path), 0, len(data), MAX_FIELDS)
        deque(walked, 0)
    try:
        model: ModelProto = onnx.load_model_from_string(data)
    except Exception as error:  # protobuf's own classes differ by version
        kind = type(error).__name__
        raise FormatError("graph/onnx-invalid", place=str(path), error=kind, why=error) from error
    return model


@cache
def _messages() -> Schema:
    """Return the messages of a model that other messages are in."""
    found: dict[str, tuple[Field, ...]] = {}
    waiting = [library().ModelProto.DESCRIPTOR]
    while waiting:
        message = waiting.pop()
        inner = [field for field in message.fields if field.message_type is not None]
        found[message.full_name] = tuple(
            Field(field.number, field.name, field.message_type.full_name) for field in inner
        )
        types = {field.message_type.full_name: field.message_type for field in inner}
        waiting += (kind for name, kind in types.items() if name not in found)
    return Schema("onnx", found)


_NUMBERS = frozenset(
    ("raw_data", "float_data", "int32_data", "int64_data", "double_data", "uint64_data", "dims")
)


def refuse_bytes(message: Any, where: str) -> None:
    """Refuse text that is not UTF-8, which protobuf hands on as bytes; numbers are not looked at."""
    for field in message.DESCRIPTOR.fields:
        if field.name in _NUMBERS or field.type not in (field.TYPE_STRING, field.TYPE_MESSAGE):
            continue
        value = getattr(message, field.name)
        if field.type == field.TYPE_STRING:
            wrong = value if isinstance(value, bytes) else None
            if not isinstance(value, str | bytes):
                wrong = next((one for one in value if isinstance(one, bytes)), None)
            if wrong is not None:
                got = wrong[:80].decode("latin-1")
                raise FormatError("graph/onnx-utf8", place=where, got=got)
        elif hasattr(value, "DESCRIPTOR"):
            if message.HasField(field.name):
                refuse_bytes(value, where)
        else:
            for one in value:
                refuse_bytes(one, where)


class Weights:
    """Values of the tensors of one model; ``folder`` holds the files that they may lie in."""

    def __init__(self, folder: Path | None, where: str) -> None:
        self._folder = folder
        self._where = where

    def array(self, tensor: TensorProto, name: str) -> Array:
        """Return the values of a tensor; raises FormatError if sizes, types or places are wrong."""
        onnx = library()
        shape = tuple(int(dim) for dim in tensor.dims)
        if any(dim < 0 for dim in shape) or prod(shape) > _MOST_ELEMENTS:
            self._refuse("graph/onnx-data-shape", name=name, got=shape)
        kind = self._dtype(tensor.data_type, name)
        if tensor.data_location == onnx.TensorProto.EXTERNAL:
            return self._external(tensor, name, shape, kind)
        try:
            array = onnx.numpy_helper.to_array(tensor)
        except Exception as error:
            got = type(error).__name__
            self._refuse("graph/onnx-data-values", name=name, shape=shape, error=got, why=error)
        return np.asarray(array).reshape(shape)

    def _dtype(self, number: int, name: str) -> np.dtype[Any]:
        try:
            kind: np.dtype[Any] = np.dtype(library().helper.tensor_dtype_to_np_dtype(number))
        except (KeyError, ValueError, TypeError):
            self._refuse("graph/onnx-data-type", name=name, got=number)
        if kind.name not in DTYPES:
            raise GraphError("graph/onnx-dtype", place=self._where, name=name, got=kind.name)
        return kind

    def _external(
        self, tensor: TensorProto, name: str, shape: tuple[int, ...], kind: np.dtype[Any]
    ) -> Array:
        """Read values from a file beside the model: 64 bits at most in little-endian order."""
        entries = {entry.key: entry.value for entry in tensor.external_data}
        path = self._inside(entries.get("location", ""), name)
        offset = self._size(entries, "offset", 0, name)
        if kind.name == "int4":
            self._refuse("graph/onnx-external-int4", name=name)
        wanted = prod(shape) * kind.itemsize
        length = self._size(entries, "length", wanted, name)
        if length != wanted:
            self._refuse(
                "graph/onnx-external-length", name=name, shape=shape, expected=wanted, got=length
            )
        with open_file(path, "external data") as file:
            held = os.fstat(file.fileno()).st_size
            if offset + wanted > held:
                needed = offset + wanted
                raise FormatError(
                    "graph/onnx-external-short", place=str(path), name=name, needed=needed, got=held
                )
            file.seek(offset)
            flat = np.fromfile(
                file, kind.newbyteorder("<") if kind.kind != "V" else kind, prod(shape)
            )
        return flat.astype(kind, copy=False).reshape(shape)

    def _inside(self, location: str, name: str) -> Path:
        """Path of a data file; nothing outside the model's folder is opened."""
        if self._folder is None:
            self._refuse("graph/onnx-external-none", name=name, got=location)
        folder = self._folder.resolve()
        inside = "\0" not in location and ".." not in Path(location).parts
        path = (folder / location).resolve() if inside else folder
        if not path.is_relative_to(folder) or path == folder:
            self._refuse("graph/onnx-external-outside", name=name, folder=str(folder), got=location)
        if not is_file(path):
            self._refuse("graph/onnx-external-missing", name=name, got=str(path))
        return path

    def _size(self, entries: Mapping[str, str], key: str, default: int, name: str) -> int:
        text = entries.get(key, str(default))
        if not text.isascii() or not text.isdecimal() or len(text) > 18:
            self._refuse("graph/onnx-external-size", name=name, key=key, got=text)
        return int(text)

    def _refuse(self, code: str, **values: Any) -> NoReturn:
        raise FormatError(code, place=self._where, **values)
