"""Every tensor there is: each number format of the container's list in each format, small, with padding on every axis.

A `Cell` is one tensor. Values are exact in their number format, and no cell is all zeros; what lies on the
device comes from loops over every element (`kit.oracle.dump_files`).
"""

from __future__ import annotations

import itertools
from functools import cache
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np

from kit.oracle.dump_files import device_by_loops, grouped_by_loops, matrix_by_loops
from workbench.core.tensors import ArraySource, TensorKey, TensorRecord, TensorSpec
from workbench.graph.graph import Graph, Op, Param, Parameter


class Number(NamedTuple):
    """A number format: values that it holds exactly, one that is far from all of them, its C0."""

    values: np.ndarray
    far: Any
    c0: int = 16

    @property
    def storage(self) -> np.dtype:
        return self.values.dtype


def _codes(storage) -> np.ndarray:
    """Middling values of a number format of one byte."""
    every = np.arange(256, dtype=np.uint8).view(storage)
    size = np.abs(every.astype(np.float64))
    return every[(size <= 4) & (size >= 1 / 16)]


def _whole(storage, low: int, far: int, c0: int = 16) -> Number:
    return Number(np.arange(low, 6).astype(storage), far, c0)


_EIGHTHS = np.arange(-20, 20) / 8
_GRID = np.array([a + 1j * b for a, b in itertools.product(_EIGHTHS[::5], (-1, 2))])

NUMBERS: dict[str, Number] = {
    "int8": _whole(np.int8, -3, 127, 32),
    "uint8": _whole(np.uint8, 0, 255, 32),
    "int16": _whole(np.int16, -3, -(2**15)),
    "uint16": _whole(np.uint16, 0, 2**16 - 1),
    "int32": _whole(np.int32, -3, 2**31 - 1),
    "int64": _whole(np.int64, -3, 2**63 - 1),
    "uint32": _whole(np.uint32, 0, 2**32 - 1),
    "uint64": _whole(np.uint64, 0, 2**64 - 1),
    "bool": Number(np.array([False, True]), None),
    "dual_sub_int8": _whole(np.int8, -3, 127),
    "dual_sub_uint8": _whole(np.uint8, 0, 255),
    "qint8": _whole(np.int8, -3, 127),
    "qint16": _whole(np.int16, -3, 2**15 - 1),
    "qint32": _whole(np.int32, -3, 2**31 - 1),
    "quint8": _whole(np.uint8, 0, 255),
    "quint16": _whole(np.uint16, 0, 2**16 - 1),
    "resource": _whole(np.int64, -3, -(2**63)),
    "int4": Number(np.arange(-7, 7).astype(ml_dtypes.int4), -8, 64),
    "int2": Number(np.array([-1, 0, 1], ml_dtypes.int2), -2, 128),
    "uint1": Number(np.uint8([0, 1]), None, 256),
    "uint2": Number(np.array([0, 1, 2], ml_dtypes.uint2), 3, 128),
    "float4_e2m1": Number(np.arange(5, dtype=np.uint8).view(ml_dtypes.float4_e2m1fn), 6),
    "float4_e1m2": Number(np.float32([-1.0, -0.75, -0.25, 0, 0.25, 0.5, 1]), 1.75),
    "float64": Number(np.array([*_EIGHTHS, 1 / 3, 1 + 2**-50]), 1e300),
    "complex128": Number(_GRID / 3, 1e300),
    "float32": Number(np.float32([*_EIGHTHS, 2**-140, 1 / 3]), 1e30),
    "complex64": Number(_GRID.astype(np.complex64), 1e30j),
    "complex32": Number(_GRID.astype(np.complex64), 60000j),
    "float16": Number(np.float16([*_EIGHTHS, 2**-24, 1]), 60000),
    "bfloat16": Number(_EIGHTHS.astype(ml_dtypes.bfloat16), 1e38),
    "hifloat8": Number(np.float32([-3.75, -2, -1, -0.875, 0, 0.25, 1, 1.125, 4, 7]), 32768, 32),
    "float8_e4m3fn": Number(_codes(ml_dtypes.float8_e4m3fn), -448, 32),
    "float8_e5m2": Number(_codes(ml_dtypes.float8_e5m2), 57344, 32),
    "float8_e8m0": Number(_codes(ml_dtypes.float8_e8m0fnu), 2.0**100, 32),
}
"""By the container's name, exact ones first: what is coarse is no excuse for what ran before it.

C0 is that of the platforms' tables.
"""

UNPACKED = ("float6_e3m2", "float6_e2m3", "hifloat4")
"""Number formats whose packing no source states."""


class Layout(NamedTuple):
    """A format of the device: shape in the graph and the graph's format, groups, C0 that is not the dtype's."""

    shape: tuple[int, ...]
    host: str = "NCHW"
    groups: int = 1
    c0: int = 0


HOSTS: dict[str, tuple[int, ...]] = {
    "DefaultFormat": (2, 3), "ND": (5,), "NCHW": (2, 3, 1, 2), "NHWC": (1, 2, 3, 2), "HWCN": (1, 2, 3, 2),
    "CHWN": (3, 1, 2, 2), "NCDHW": (1, 3, 2, 1, 2), "NDHWC": (1, 2, 1, 2, 3), "DHWCN": (2, 1, 2, 3, 1),
    "DHWNC": (2, 1, 2, 1, 3), "NCL": (2, 3, 2), "NC": (3, 2), "CN": (2, 3),
}  # fmt: skip
"""Formats of the graph with a shape each."""

LAYOUTS: dict[str, Layout] = {
    "NC1HWC0": Layout((2, 5, 1, 2)),
    "NC1HWC0_C04": Layout((2, 5, 1, 2), c0=4),
    "FRACTAL_Z": Layout((3, 5, 1, 2)),
    "FRACTAL_Z:2": Layout((4, 3, 1, 2), groups=2),
    "FRACTAL_Z_C04": Layout((17, 2, 1, 5)),
    "FRACTAL_NZ": Layout((3, 5), "ND"),
    "FRACTAL_NZ_C0_8": Layout((2, 3, 5), "ND", c0=8),
    "C1HWNCoC0": Layout((2, 3, 1, 1)),
    "NDC1HWC0": Layout((2, 5, 2, 1, 2), "NCDHW"),
    "FRACTAL_Z_3D": Layout((3, 5, 2, 1, 2), "NCDHW"),
    "FRACTAL_Z_3D:2": Layout((4, 3, 2, 1, 2), "NCDHW", groups=2),
}
"""Formats of the device; names of groups as GE's graphs spell them."""


class Cell(NamedTuple):
    """One tensor: a number format in a format."""

    dtype: str
    format: str

    @property
    def name(self) -> str:
        return f"Default/{self.format.replace(':', '-')}/{self.dtype}"

    @property
    def number(self) -> Number:
        return NUMBERS[self.dtype]

    @property
    def shape(self) -> tuple[int, ...]:
        return HOSTS[self.format] if self.format in HOSTS else LAYOUTS[self.format].shape

    @property
    def is_cut(self) -> bool:
        return self.format in LAYOUTS

    @property
    def is_weight(self) -> bool:
        return ":" in self.format

    @cache  # noqa: B019 (as many as there are cells)
    def array(self) -> np.ndarray:
        """Its values; the same at every call."""
        count = int(np.prod(self.shape))
        number = CELLS.index(self)
        values = self.number.values
        flat = np.random.default_rng(number).integers(0, values.size, count)
        flat[number % count] = values.size - 1  # not 0
        return values[flat].reshape(self.shape)

    def spoiled(self) -> np.ndarray:
        """The same but for one element, which is far from right."""
        array, far = self.array().copy(), self.number.far
        place = CELLS.index(self) % array.size
        array.flat[place] = far if far is not None else not array.flat[place]
        return array

    @cache  # noqa: B019
    def laid(self) -> np.ndarray:
        """What lies on the device."""
        array = self.array()
        if not self.is_cut:
            return array
        _, host, groups, c0 = LAYOUTS[self.format]
        name = self.format.partition(":")[0]
        c0 = c0 or (16 if name == "FRACTAL_Z_C04" else self.number.c0)
        if name.startswith("FRACTAL_NZ"):
            return matrix_by_loops(array, c0)
        if groups > 1:
            return grouped_by_loops(array if array.ndim == 5 else array[:, :, None], groups, c0)
        return device_by_loops(array, host, name, c0)


CELLS = [Cell(*names) for names in itertools.product(NUMBERS, (*HOSTS, *LAYOUTS))]


def operator(cell: Cell) -> Op:
    spec = TensorSpec(cell.dtype, cell.shape)
    if cell.is_weight:
        groups = LAYOUTS[cell.format].groups
        out = TensorSpec("float32", (1,))
        return Op(cell.name, "Conv3D", (Param(1),), {"group": groups}, (out,), (spec,))
    apart = {"cell": cell.name}  # without it, all of one number format and shape compute one value
    return Op(cell.name, "Square", (Param(0),), apart, (spec,), (spec,))


GRAPH = Graph(
    "net",
    tuple(Parameter(name, TensorSpec("float32", (1,))) for name in ("x", "w")),
    tuple(map(operator, CELLS)),
)
"""Every cell is the output of an operator of its own; grouped ones are weights, whose operator says so."""


def record(cell: Cell, array: np.ndarray) -> TensorRecord:
    """The cell as an executor gives it: the graph's tensor, and how the device holds it."""
    kind, io = ("Conv3D", "input") if cell.is_weight else ("Square", "output")
    key = TensorKey(kind, cell.name, io, 0)
    label = TensorSpec(cell.dtype, cell.laid().shape, cell.format)
    return TensorRecord(key, label, ArraySource(array, cell.dtype))
