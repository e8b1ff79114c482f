"""Faults and the places where they work, as plain values."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from workbench.core.errors import GraphError
from workbench.graph.graph import IS_PART
from workbench.npu.compile.provenance import TRACED, original_types
from workbench.npu.numerics import UNTOUCHED
from workbench.ops import OPS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from workbench.graph.graph import Op, SourceTensor
    from workbench.npu.numerics import Formats

    Array = NDArray[Any]

NODE = 8
"""Ranks of one machine: devices 0 to 7 of it."""

Step = Literal["upload", "compile", "load", "store", "memory"]
"""When a fault strikes: when a weight is copied to the device, while the operator is compiled, when
its inputs are in the unit, when its results have the formats of memory, or while they are written there."""


@dataclass(frozen=True, slots=True)
class Fault:
    """A defect of the device.

    ``op_name`` is a full operator name, a pattern with ``*``, or an operator type. What ``strength``
    and ``value`` mean for each kind says `workbench.npu.faults.FAULTS`. ``iteration`` is the only one in
    which it strikes, ``since`` the first; without them, it strikes in every one. ``rank`` is the only one whose
    device has it, ``node`` the machine of `NODE` ranks whose devices do.
    """

    kind: str
    op_name: str
    strength: float | None = None
    seed: int = 0
    value: Any = None
    iteration: int | None = None
    rank: int | None = None
    since: int | None = None
    node: int | None = None

    def __str__(self) -> str:
        return f"a{'n' if self.kind[:1] in 'aeiou' else ''} {self.kind} fault"

    @property
    def is_pattern(self) -> bool:
        """Whether it names operators by a pattern, so that those which cannot have it are left out."""
        return "*" in self.op_name

    def is_in(self, iteration: int) -> bool:
        """Whether the fault strikes in an iteration."""
        begun = self.since is None or iteration >= self.since
        return begun and self.iteration in (None, iteration)

    def is_on(self, rank: int) -> bool:
        """Whether a rank's device has the fault."""
        return self.rank in (None, rank) and self.node in (None, rank // NODE)

    def matches(self, op: Op) -> bool:
        """Whether the fault is in this operator.

        Of an operator that the compiler has made several of, it is in the one that gives its result; one that
        it calls otherwise, as ``AllReduce`` ``HcomAllReduce``, is met by both types.
        """
        kinds = (op.op_type, TRACED.get(op.op_type, op.op_type))
        own = any(self._fits(op.name, kind) for kind in kinds)
        return own or any(self._fits(one.op_name, kind) for one, kind in _whole(op))

    def _fits(self, name: str, kind: str) -> bool:
        return self.op_name in (name, kind) or fnmatchcase(name, self.op_name)

    def count(self, default: int, most: int) -> int:
        """Return the strength as a number of things, at most ``most``."""
        strength = default if self.strength is None else self.strength
        if not 1 <= strength < float("inf"):
            raise GraphError(
                "run/fault-least", name="strength", fault=self.kind, least=1, got=strength
            )
        return min(int(strength), most)

    def magnitude(self, default: float) -> float:
        """Return the strength as a magnitude."""
        strength = default if self.strength is None else self.strength
        if not strength >= 0:
            raise GraphError(
                "run/fault-least", name="strength", fault=self.kind, least=0, got=strength
            )
        return strength

    def number(self, default: float) -> float:
        """Return the value as a number."""
        if self.value is None:
            return default
        if not isinstance(self.value, int | float):
            raise GraphError("run/fault-number", name="value", fault=self.kind, got=self.value)
        return float(self.value)

    def write(self, op: Op, array: Array, value: float) -> Array:
        """Return a copy with neighboring elements, chosen by the seed, replaced by a number."""
        copy = array.copy(order="C")
        if copy.size:
            with np.errstate(all="ignore"):
                written = np.float64(self.number(value)).astype(copy.dtype)
            copy.reshape(-1)[self.run(op, copy.size)] = written
        return copy

    def run(self, op: Op, size: int, default: int = 1) -> slice:
        """Choose neighboring elements of ``size`` by the seed, as many as the strength says."""
        count = self.count(default, size)
        rng = np.random.default_rng([zlib.crc32(op.name.encode()), self.seed])
        start = int(rng.integers(size - count + 1))
        return slice(start, start + count)


@dataclass(frozen=True, slots=True)
class OpExecution:
    """One operator on the device: as it is compiled, then with its ``inputs``, then its ``outputs``.

    ``formats``, ``implementation`` (``""``: what the compiler was asked for) and ``accumulator`` say
    how it is computed; or it ``fails``. Once it writes, ``before`` is what lies where its outputs go, and
    the next tensor that is still needed begins ``gap`` bytes behind the first output (-1: there is none)
    and memory ends after ``room``; ``past`` is written behind the end, and nothing at all if it does not
    ``writes``.
    """

    op: Op
    formats: Formats = UNTOUCHED
    implementation: str = ""
    accumulator: str = "float32"
    fails: bool = False
    inputs: tuple[Array, ...] = ()
    outputs: tuple[Array, ...] = ()
    before: tuple[Array, ...] = ()
    gap: int = -1
    room: int = 0
    past: bytes = b""
    writes: bool = True


def _whole(op: Op) -> Iterator[tuple[SourceTensor, str]]:
    """The operator, and its type, whose first result a part computes that is called after it."""
    first = (
        op.provenance[0] if op.provenance and op.fused is None and op.attrs.get(IS_PART) else None
    )
    row = OPS.get(op.op_type)
    if first is None or first.slot or (row is not None and row.engine == "none"):
        return
    if op.name.startswith(first.op_name):
        yield first, original_types(op)[-1]


def outstanding(array: Array) -> float:
    """Ten times the largest finite magnitude, or 1 if there is none."""
    with np.errstate(invalid="ignore"):
        finite = array[np.isfinite(array)]
    return 10 * float(np.max(np.abs(finite.astype(np.float64)), initial=0.1))
