"""The number formats of the simulated NPU: profiles, precision modes and exact rounding.

Facts: CANN platform files (cube types), the ``precision_mode`` tables of ATC and the documents of
``aclrtSetDeviceSatMode``. `tests/run/test_numeric.py` checks every rounding against a search among
the neighbors: all 65,536 float16 and bfloat16 values, their midpoints and what lies beside them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.core.dtypes import dtype as dtype_row
from workbench.core.errors import GraphError
from workbench.graph.nodes import Param, Value
from workbench.graph.ops import op_def

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from workbench.graph.nodes import Graph, Op, Operand

    Array = NDArray[Any]
    F32 = NDArray[np.float32]

HF32 = "hf32"
"""Float32 with 11 stored mantissa bits: what the cube of A2 reads by default in convolutions."""


@dataclass(frozen=True, slots=True)
class Profile:
    """A device. ``cube`` lists what its cube unit multiplies; the accumulator is float32.

    ``saturate``: overflow gives the largest finite value and NaN gives 0, instead of Inf and NaN.
    """

    title: str
    cube: tuple[str, ...]
    saturate: bool
    default_mode: str


PROFILES: dict[str, Profile] = {
    "910a": Profile("Ascend 910A", ("float16",), True, "cube_fp16in_fp32out"),
    "a2": Profile(
        "Atlas A2 (910B)",
        ("float16", "bfloat16", HF32, "float32"),
        False,
        "must_keep_origin_dtype",
    ),
}
"""Device by name."""


@dataclass(frozen=True, slots=True)
class Rule:
    """Formats of a precision mode: cube inputs, cube outputs, vector unit; ``""``: as in the graph.

    They apply to float32 tensors. ``mixed``: the vector format holds only for operators that
    tolerate it and whose producer already uses it.
    """

    cube_in: str = ""
    cube_out: str = ""
    vector: str = ""
    mixed: bool = False


MODES: dict[str, Rule] = {
    "must_keep_origin_dtype": Rule(),
    "force_fp32": Rule("float16"),
    "cube_fp16in_fp32out": Rule("float16"),
    "allow_fp32_to_fp16": Rule("float16", "float16"),
    "allow_fp32_to_bf16": Rule("bfloat16", "bfloat16"),
    "allow_mix_precision": Rule("float16", "float16", "float16", mixed=True),
    "allow_mix_precision_fp16": Rule("float16", "float16", "float16", mixed=True),
    "allow_mix_precision_bf16": Rule("bfloat16", "bfloat16", "bfloat16", mixed=True),
    "force_fp16": Rule("float16", "float16", "float16"),
}
"""Precision mode by name. Tensors keep the dtype of the graph; their values are rounded."""

KEEPS_FLOAT32 = frozenset(
    ("Softmax", "LogSoftmax", "LayerNorm", "BatchNorm", "ReduceMean", "ReduceSum", "Exp", "Log",
     "Pow", "Sqrt", "Rsqrt", "RealDiv", "Div", "Erf")
)  # fmt: skip
"""Vector operators that mixed precision never lowers (the black list)."""


@dataclass(frozen=True, slots=True)
class Formats:
    """What an operator's inputs and outputs are rounded to; ``""``: nothing beyond their dtype."""

    inputs: str = ""
    output: str = ""


@dataclass(frozen=True, slots=True)
class NumericModel:
    """How a device computes under a precision mode."""

    profile: Profile
    mode: str

    def formats(self, graph: Graph) -> list[Formats]:
        """Return the formats of every operator of a graph, in order."""
        found: list[Formats] = []
        for op in graph.ops:
            found.append(self._formats(op, found, graph))
        return found

    def _formats(self, op: Op, before: list[Formats], graph: Graph) -> Formats:
        rule = MODES[self.mode]
        if not op.outputs or op.outputs[0].dtype != "float32":
            return Formats()
        if op_def(op.op_type).engine == "cube":
            return Formats(self._cube_input(op.op_type, rule), rule.cube_out)
        if rule.mixed and not _follows(op, before, rule.vector):
            return Formats()
        return Formats(rule.vector, rule.vector)

    def _cube_input(self, op_type: str, rule: Rule) -> str:
        """Format of float32 cube inputs. Convolutions use HF32 where the device has it.

        A device without float32 in its cube runs the operator on a scalar unit, in float32.
        """
        if not rule.cube_in and op_type == "Conv2D" and HF32 in self.profile.cube:
            return HF32
        return rule.cube_in

    def round(self, array: F32, name: str) -> F32:
        """Round float32 values to a format of fewer bits, with the device's overflow behavior."""
        rounded = ROUND[name](array) if name else array
        if not self.profile.saturate or np.isfinite(rounded).all():
            return rounded
        return self._saturate(rounded, dtype_row(name or "float32").largest)

    def store(self, array: Array, name: str) -> Array:
        """Values as the device stores them in the dtype ``name``. Integers always saturate."""
        storage = dtype_row(name).storage
        if storage.kind in "iu" and array.dtype.kind == "f":
            limits = np.iinfo(storage)
            array = np.clip(np.nan_to_num(array, nan=0.0), limits.min, limits.max)
        elif self.profile.saturate and dtype_row(name).is_float:
            array = self._saturate(array, dtype_row(name).largest)
        return array.astype(storage, copy=False)

    def _saturate(self, array: Array, largest: float) -> Array:
        if array.dtype.kind != "f" or (np.abs(array) <= largest).all():
            return array
        return np.asarray(np.clip(np.nan_to_num(array, nan=0.0), -largest, largest))


def numeric_model(profile: str, precision_mode: str | None = None) -> NumericModel:
    """Return the model of a device; the mode is the device's own if none is given."""
    if profile not in PROFILES:
        message = f"profile must be one of {sorted(PROFILES)}, got {profile!r}"
        raise GraphError(message)
    row = PROFILES[profile]
    mode = precision_mode or row.default_mode
    if mode not in MODES:
        message = f"precision mode must be one of {sorted(MODES)}, got {mode!r}"
        raise GraphError(message)
    if MODES[mode].cube_in not in ("", *row.cube):
        known = sorted(name for name, rule in MODES.items() if rule.cube_in in ("", *row.cube))
        message = f"precision mode of {row.title} must be one of {known}, got {mode!r}"
        raise GraphError(message)
    return NumericModel(row, mode)


def _follows(op: Op, before: list[Formats], name: str) -> bool:
    """Whether mixed precision lowers a vector operator: it may, and its producers already are."""
    if op.op_type in KEEPS_FLOAT32:
        return False
    produced: list[Operand] = [o for o in op.flat_inputs() if isinstance(o, Value | Param)]
    first = produced[0] if produced else None
    return isinstance(first, Value) and before[first.op].output == name


_CHUNK = 32768  # elements; three scratch arrays of them stay in the second-level cache
_EXPONENT = np.uint32(0x7F800000)
_LOWEST = np.full(
    _CHUNK, 0x38800000, np.uint32
)  # exponent of 2^-14; with a scalar `maximum` is slow
_SIGN = np.uint32(0x80000000)


def _chunked(array: F32, step: Callable[[F32, F32, NDArray[np.uint32]], None]) -> F32:
    """Apply ``step(source, target, scratch)`` to pieces that fit the cache."""
    source = np.ascontiguousarray(array, np.float32).reshape(-1)
    target = np.empty_like(source)
    scratch = np.empty(min(_CHUNK, source.size), np.uint32)
    for start in range(0, source.size, _CHUNK):
        piece = source[start : start + _CHUNK]
        step(piece, target[start : start + _CHUNK], scratch[: piece.size])
    return target.reshape(array.shape)


def round_float16(array: F32) -> F32:
    """Round to the nearest float16, ties to even, subnormals included; too large gives Inf.

    Adding and subtracting 1.5 · 2^(e+13), e the exponent of the value but at least -14, leaves
    exactly the bits that float16 keeps.
    """
    return _chunked(array, _float16_step)


def _float16_step(source: F32, target: F32, scratch: NDArray[np.uint32]) -> None:
    bits = source.view(np.uint32)
    np.bitwise_and(bits, _EXPONENT, out=scratch)
    if scratch.size and scratch.max() >= 0x47000000:  # 2^15 and more, Inf and NaN among them
        with np.errstate(over="ignore"):
            target[:] = source.astype(np.float16)
        return
    np.maximum(scratch, _LOWEST[: scratch.size], out=scratch)
    scratch += np.uint32((13 << 23) | 0x400000)
    magic = scratch.view(np.float32)
    np.add(source, magic, out=target)
    target -= magic
    np.bitwise_and(bits, _SIGN, out=scratch)  # -0.0 stays -0.0
    np.bitwise_or(target.view(np.uint32), scratch, out=target.view(np.uint32))


def _drop_bits(array: F32, count: int, *, ties_away: bool = False) -> F32:
    """Round away the lowest ``count`` bits of float32, to nearest."""
    half = np.uint32(1 << (count - 1))
    keep = np.uint32(0xFFFFFFFF << count & 0xFFFFFFFF)

    def step(source: F32, target: F32, scratch: NDArray[np.uint32]) -> None:
        bits, out = source.view(np.uint32), target.view(np.uint32)
        if ties_away:
            np.add(bits, half, out=out)
        else:
            np.right_shift(bits, np.uint32(count), out=scratch)
            np.bitwise_and(scratch, np.uint32(1), out=scratch)
            scratch += half - np.uint32(1)
            np.add(bits, scratch, out=out)
        out &= keep
        np.bitwise_and(bits, _EXPONENT, out=scratch)
        if scratch.size and scratch.max() == _EXPONENT:  # the carry would change NaN and Inf
            special = scratch == _EXPONENT
            target[special] = np.where(
                np.isnan(source[special]), np.float32(np.nan), source[special]
            )

    return _chunked(array, step)


def round_bfloat16(array: F32) -> F32:
    """Round to the nearest bfloat16, ties to even; too large gives Inf."""
    return _drop_bits(array, 16)


def round_hf32(array: F32, *, ties_away: bool = False) -> F32:
    """Round to the nearest HF32 (1 + 8 + 11 bits), ties to even, or away from zero.

    >>> float(round_hf32(np.float32([1 + 2**-12]), ties_away=True)[0])
    1.00048828125
    """
    return _drop_bits(array, 12, ties_away=ties_away)


ROUND: dict[str, Callable[[F32], F32]] = {
    "float16": round_float16,
    "bfloat16": round_bfloat16,
    HF32: round_hf32,
    "float32": lambda array: array,
}
"""Rounding of float32 values to each format, as float32."""
