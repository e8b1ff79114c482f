"""Tensors of ONNX models: where they lie is known at once, their values are read when they are asked for.

Sizes are checked before memory is taken, and data in other files stay in the folder of the model.
"""

from __future__ import annotations

from dataclasses import field
from functools import cache
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from workbench._values import dataclass
from workbench.core.dtypes import DTYPES
from workbench.core.errors import FormatError, GraphError
from workbench.core.files import fill, is_file, open_file, size_of, unreadable

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import ModuleType

    from numpy.typing import NDArray

    from workbench.core.tensors import TensorSpec

    Array = NDArray[Any]

_MOST_ELEMENTS = 1 << 40


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


@dataclass(frozen=True, slots=True)
class Model:
    """Where the bytes of a model lie: in the file ``path``, or in memory.

    ``where`` starts the message of an error; ``folder`` holds the files that weights may lie in.
    """

    where: str
    path: Path | None = None
    data: bytes = field(default=b"", repr=False)
    folder: Path | None = None

    def read(self, start: int, end: int) -> bytes:
        """Return the bytes between two places; raises FormatError if they are not there any more."""
        if self.path is None:
            return self.data[start:end]
        with open_file(self.path, "model") as file:
            try:
                file.seek(start)
                found = file.read(end - start)
            except OSError as error:
                raise unreadable(self.path, error, "model") from error
        if len(found) < end - start:
            place = f"{self.where}: byte {start}"
            raise FormatError(
                "dump/file-end", place=place, start=start, needed=end - start, held=len(found)
            )
        return found


@dataclass(frozen=True, slots=True)
class OnnxTensor:
    """A tensor of a model: what is said of it, and where it lies.

    NumPy takes it for an array: ``np.asarray(parameter.default)`` reads the values. ``number`` is the data type in
    ONNX's own count, ``external`` what is said of a file that holds the values.
    """

    name: str
    spec: TensorSpec
    number: int
    model: Model = field(repr=False)
    start: int = field(repr=False)
    end: int = field(repr=False)
    external: Mapping[str, str] | None = field(default=None, repr=False)
    sparse: bool = False

    @property
    def shape(self) -> tuple[int, ...]:
        return self.spec.shape or ()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return np.array(self.array(), dtype, copy=copy)

    def array(self) -> Array:
        """Read the values.

        Raises GraphError if onnx is not installed or the format is none of ours, FormatError if sizes, types or
        places are wrong.
        """
        onnx = library()
        if self.sparse:
            raise GraphError("graph/onnx-sparse", place=self.model.where, got=self.name)
        shape = self.shape
        if any(dim < 0 for dim in shape) or prod(shape) > _MOST_ELEMENTS:
            self._refuse("graph/onnx-data-shape", got=shape)
        kind = self._dtype()
        if self.external is not None:
            return self._external(self.external, kind)
        try:
            tensor = onnx.TensorProto.FromString(self.model.read(self.start, self.end))
            array = np.asarray(onnx.numpy_helper.to_array(tensor)).reshape(shape)
        except FormatError:
            raise
        except Exception as error:
            got = type(error).__name__
            self._refuse("graph/onnx-data-values", shape=shape, error=got, why=error)
        return array

    def check_external(self) -> None:
        """Raise what `array` raises if the values are in another file that is not as the model says."""
        if self.external is not None:
            self._located(self.external, self._dtype())

    def _dtype(self) -> np.dtype[Any]:
        try:
            kind: np.dtype[Any] = np.dtype(library().helper.tensor_dtype_to_np_dtype(self.number))
        except (KeyError, ValueError, TypeError):
            self._refuse("graph/onnx-data-type", got=self.number)
        if kind.name not in DTYPES:
            place = self.model.where
            raise GraphError("graph/onnx-dtype", place=place, name=self.name, got=kind.name)
        return kind

    def _external(self, entries: Mapping[str, str], kind: np.dtype[Any]) -> Array:
        """Read values from a file beside the model: 64 bits at most in little-endian order."""
        path, offset = self._located(entries, kind)
        shape = self.shape
        with open_file(path, "external data") as file:
            order = kind.newbyteorder("<") if kind.kind != "V" else kind
            flat = np.empty(prod(shape), order)
            fill(file, offset, flat.view(np.uint8), str(path))
        return flat.astype(kind, copy=False).reshape(shape)

    def _located(self, entries: Mapping[str, str], kind: np.dtype[Any]) -> tuple[Path, int]:
        """File and first byte of the values; raises FormatError if they are not there."""
        path = self._inside(entries.get("location", ""))
        offset = self._size(entries, "offset", 0)
        if kind.name == "int4":
            self._refuse("graph/onnx-external-int4")
        shape = self.shape
        wanted = prod(shape) * kind.itemsize
        length = self._size(entries, "length", wanted)
        if length != wanted:
            self._refuse("graph/onnx-external-length", shape=shape, expected=wanted, got=length)
        with open_file(path, "external data") as file:
            held = size_of(file)
        if offset + wanted > held:
            needed, place = offset + wanted, str(path)
            raise FormatError(
                "graph/onnx-external-short",
                place=place,
                name=self.name,
                needed=needed,
                got=held,
            )
        return path, offset

    def _inside(self, location: str) -> Path:
        """Path of a data file; nothing outside the model's folder is opened."""
        if self.model.folder is None:
            self._refuse("graph/onnx-external-none", got=location)
        folder = self.model.folder.resolve()
        inside = "\0" not in location and ".." not in Path(location).parts
        try:
            path = (folder / location).resolve() if inside else folder
        except (OSError, RuntimeError):  # RuntimeError: a circle of links
            self._refuse("graph/onnx-external-circle", got=location)
        if not path.is_relative_to(folder) or path == folder:
            self._refuse("graph/onnx-external-outside", folder=str(folder), got=location)
        if not is_file(path):
            self._refuse("graph/onnx-external-missing", got=str(path))
        return path

    def _size(self, entries: Mapping[str, str], key: str, default: int) -> int:
        text = entries.get(key, str(default))
        if not text.isascii() or not text.isdecimal() or len(text) > 18:
            self._refuse("graph/onnx-external-size", key=key, got=text)
        return int(text)

    def _refuse(self, code: str, **values: Any) -> NoReturn:
        raise FormatError(code, place=self.model.where, name=self.name, **values)
