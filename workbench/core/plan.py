"""The dump plan: what a run shall write, whichever vendor's form asked for it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from workbench.core.tensors import Io

_PIECE = re.compile(r"(\d+)(?:-(\d+))?")


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
        return cls(tuple((int(m[1]), int(m[2] or m[1])) for m in matches if m))

    def __contains__(self, iteration: int) -> bool:
        return self.ranges is None or any(low <= iteration <= high for low, high in self.ranges)

    def __str__(self) -> str:
        if self.ranges is None:
            return "all"
        return "|".join(str(low) if low == high else f"{low}-{high}" for low, high in self.ranges)


@dataclass(frozen=True, slots=True)
class Selector:
    """One entry of an operator list: a whole-name regular expression, a full name, or a type.

    A ``type`` matches case-insensitively anywhere in the operator's type, as MindSpore does.
    """

    kind: Literal["regex", "name", "type"]
    text: str

    def matches(self, op_name: str, op_type: str) -> bool:
        """Whether the operator is meant. ``op_name`` is the full name with slashes."""
        if self.kind == "name":
            return op_name == self.text
        if self.kind == "regex":
            return re.fullmatch(self.text, op_name) is not None
        return self.text.lower() in op_type.lower()


@dataclass(frozen=True, slots=True)
class DumpPlan:
    """What to dump, vendor-neutral.

    ``select`` empty means every operator. ``statistics`` names the categories in MindSpore's words
    (``max``, ``l2norm``, ``md5`` …) in column order; ``sample`` keeps only that many first elements.
    ``initial_iteration`` is the number of the first iteration that runs.
    """

    path: str
    net_name: str
    iterations: Iterations = Iterations()
    io: frozenset[Io] = frozenset(("input", "output"))
    select: tuple[Selector, ...] = ()
    saved: Literal["tensor", "statistic", "full"] = "tensor"
    statistics: tuple[str, ...] = ("max", "min", "l2norm")
    sample: int | None = None
    initial_iteration: int = 0
    kernel_args: bool = False

    def wants(self, op_name: str, op_type: str, io: Io, iteration: int) -> bool:
        """Whether a tensor of this operator belongs into the dump."""
        if io not in self.io or iteration not in self.iterations:
            return False
        return not self.select or any(s.matches(op_name, op_type) for s in self.select)
