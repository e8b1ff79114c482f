"""The dump plan: what a run shall write, whichever vendor's form asked for it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal

from workbench._values import dataclass
from workbench.core.regex import compile_bounded

if TYPE_CHECKING:
    from workbench.core.tensors import Io

Level = Literal["all", "op", "kernel"]

BOTH: frozenset[Io] = frozenset(("input", "output"))

CATEGORIES = (
    "max",
    "min",
    "avg",
    "count",
    "negative zero count",
    "positive zero count",
    "nan count",
    "negative inf count",
    "positive inf count",
    "zero count",
    "md5",
    "l2norm",
)
"""Statistic categories by MindSpore's names, in the order of its own list."""

_PIECE = re.compile(r"(\d+)(?:-(\d+))?", re.ASCII)
_MOST_DIGITS = 18


def _number(digits: str) -> int:
    """Value of digits, however many; beyond any iteration the exact value does not matter."""
    digits = digits.lstrip("0")
    return int(digits or 0) if len(digits) <= _MOST_DIGITS else 10**_MOST_DIGITS


@dataclass(frozen=True, slots=True)
class Iterations:
    """Iterations to dump: closed ranges, 0-based; ``None`` for all.

    >>> 6 in Iterations.parse("0|5-8"), 9 in Iterations.parse("0|5-8"), 9 in Iterations.parse("all")
    (True, False, True)
    """

    ranges: tuple[tuple[int, int], ...] | None = None

    @classmethod
    def parse(cls, text: str) -> Iterations:
        """Read ``all`` or pieces joined by ``|``. A piece that is no number or range matches nothing."""
        if text == "all":
            return cls(None)
        matches = (_PIECE.fullmatch(piece) for piece in text.split("|"))
        return cls(tuple((_number(m[1]), _number(m[2] or m[1])) for m in matches if m))

    def __contains__(self, iteration: int) -> bool:
        return self.ranges is None or any(low <= iteration <= high for low, high in self.ranges)

    def __str__(self) -> str:
        if self.ranges is None:
            return "all"
        return "|".join(str(low) if low == high else f"{low}-{high}" for low, high in self.ranges)


@dataclass(frozen=True, slots=True)
class Selector:
    """One entry of an operator list.

    ``regex`` is a whole-name regular expression, ``name`` a full name, ``type`` matches
    case-insensitively anywhere in the operator's type (as MindSpore does), ``marked`` means operators
    that the script itself marks (``set_dump``), ``range`` all operators from ``text`` to ``end`` in
    execution order, ``all`` every operator, ``call`` calls of a framework's interfaces or modules whose name
    has ``text`` in it, which are no operators of a graph. ``model`` restricts an entry to one model; empty: any.
    """

    kind: Literal["regex", "name", "type", "marked", "range", "all", "call"]
    text: str = ""
    end: str = ""
    model: str = ""

    def matches(self, op_name: str, op_type: str) -> bool:
        """Whether the operator is meant. ``op_name`` is the full name with slashes.

        Marks and ranges cannot be decided from one operator's name; they match nothing here.
        """
        if self.kind == "name":
            return op_name == self.text
        if self.kind == "regex":
            return compile_bounded(self.text).fullmatch(op_name)
        if self.kind == "type":
            return self.text.lower() in op_type.lower()
        if self.kind == "call":
            return self.text in op_name
        return self.kind == "all"


@dataclass(frozen=True, slots=True)
class Exclusion:
    """One entry of a blacklist: an operator name or type, and the slots (``input0``) that it bars.

    ``slots`` empty bars the whole operator.
    """

    kind: Literal["name", "type"]
    text: str
    slots: tuple[str, ...] = ()
    model: str = ""

    def bars(self, op_name: str, op_type: str, io: Io, slot: int) -> bool:
        """Whether a tensor stays out of the dump."""
        if self.text != (op_name if self.kind == "name" else op_type):
            return False
        return not self.slots or f"{io}{slot}" in self.slots


@dataclass(frozen=True, slots=True)
class DumpPlan:
    """What to dump, vendor-neutral.

    Attributes
    ----------
    path, net_name : str
        Folder of the dump; MindSpore's own level below it.
    kind : {"data", "overflow", "exception", "watch"}
        Everything that is selected; operators that overflow; operators that fail on the device;
        outputs of ``watched`` after each selected operator.
    iterations, initial_iteration
        Which iterations, and the number of the first one that runs.
    io : frozenset of {"input", "output"}
    select, omit
        Operators meant (empty: every one) and tensors barred.
    watched : tuple of str
        Operators whose outputs are written again and again (``watch``).
    saved : {"tensor", "statistic", "full"}
    statistics : tuple of str
        Categories in MindSpore's words (``max``, ``l2norm``, ``md5`` …) in column order.
    statistics_on : {"host", "device"}
    statistics_precision : {"high", "low"}
        Whether the device computes statistics in float32 or in the tensor's own dtype.
    sample : int, optional
        Keeps only that many first elements.
    kernel_args : bool
        Writes the arguments of every operator as JSON.
    files : {"npy", "bin", "pt"}
        One npy file a tensor, one container an operator, or one torch file a tensor.
    host_format : bool
        Tensors in the format of the graph (NCHW) rather than that of the device.
    limit : int
        Overflowing operators written at most; 0: no limit.
    detail : {"", "brief", "norm", "detail"}
        How much an exception dump holds.
    overflow : {"all", "aicore_overflow", "atomic_overflow"}
    devices, ranks : tuple of int, optional
        Devices or ranks that dump; ``None``: every one.
    level : {"all", "op", "kernel"}
    single_op : bool
        Operators that run outside a model are dumped too.
    before_quantisation : bool
        Tensors as they were before a quantisation.
    """

    path: str
    net_name: str = "Net"
    iterations: Iterations = Iterations()
    io: frozenset[Io] = BOTH
    select: tuple[Selector, ...] = ()
    saved: Literal["tensor", "statistic", "full"] = "tensor"
    statistics: tuple[str, ...] = ("max", "min", "l2norm")
    sample: int | None = None
    initial_iteration: int = 0
    kernel_args: bool = False
    kind: Literal["data", "overflow", "exception", "watch"] = "data"
    omit: tuple[Exclusion, ...] = ()
    watched: tuple[str, ...] = ()
    statistics_on: Literal["host", "device"] = "host"
    statistics_precision: Literal["high", "low"] = "high"
    files: Literal["npy", "bin", "pt"] = "npy"
    host_format: bool = True
    limit: int = 0
    detail: Literal["", "brief", "norm", "detail"] = ""
    overflow: Literal["all", "aicore_overflow", "atomic_overflow"] = "all"
    devices: tuple[int, ...] | None = None
    ranks: tuple[int, ...] | None = None
    level: Level = "all"
    single_op: bool = False
    before_quantisation: bool = False

    def wants(
        self, op_name: str, op_type: str, io: Io, iteration: int, slot: int | None = None
    ) -> bool:
        """Whether a tensor of this operator belongs into the dump."""
        if io not in self.io or iteration not in self.iterations:
            return False
        if slot is not None and any(e.bars(op_name, op_type, io, slot) for e in self.omit):
            return False
        return self.selects(op_name, op_type)

    def selects(self, op_name: str, op_type: str) -> bool:
        """Whether an operator is meant at all."""
        return not self.select or any(s.matches(op_name, op_type) for s in self.select)
