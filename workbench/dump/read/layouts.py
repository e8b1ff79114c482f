"""How dump trees lie on disk: one row each, recognised by the folders above the tensors.

A folder with dump files is a *leaf*. A row says what its path ends with, level by level, so a tree is
recognised wherever in it a user points: folders above the given one count as well. Where the upper
levels are missing (a folder was copied or renamed), the lower ones of two rows still serve.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

Kind = Literal["npy", "ge", "captured", "golden", "node", "call", ""]
"""What the files of a leaf are: MindSpore's npy files, those of the graph engine, those of a captured
stream, golden data of another framework, nodes of a captured graph of PyTorch, calls of interfaces and
modules; ``""`` where there are none."""

_OWN = frozenset(("golden", "node", "call"))
"""Kinds that only rows naming them have."""

AUXILIARY = frozenset(("graphs", "execution_order", ".dump_metadata", "debug_files"))
"""Folders beside the nets of a rank; they hold no tensors."""

LEVELS: dict[str, str] = {
    "rank": r"rank_(\d{1,9})",
    "world": r"worldsize\d{1,9}_global_rank(\d{1,9})",
    "time": r"(\d{12,17})",
    "step": r"(\d{1,10})",
    "named_step": r"step_(\d{1,10})",
    "count_step": r"step(\d{1,10})",
    "process": r"(?:rank|proc|pid)(\d{0,9})",
    "tensors": r"(dump_tensor_data)",
    "device": r"(\d{1,6})",
    "model": rf"((?!(?:{'|'.join(map(re.escape, sorted(AUXILIARY)))})$).+)",
    "model_id": r"(\d{1,20})",
    "index": r"(\d{1,20})",
    "net": rf"((?!(?:{'|'.join(map(re.escape, sorted(AUXILIARY)))})$).+)",
    "graph": r"(\d{1,10})",
    "iteration": r"(\d{1,10})",
    "constants": r"(constants)",
    "extra": r"(extra-info)",
    "data": r"(data-dump)",
}
"""Level → names of its folders; the group is its value. A time is usually ``YYYYMMDDHHMMSS``."""

_PATTERNS = {level: re.compile(pattern, re.ASCII | re.DOTALL) for level, pattern in LEVELS.items()}


@dataclass(frozen=True, slots=True)
class Layout:
    """One way to lay out a tree.

    ``levels`` are those from the dump's own folder down to the files. Rows of one ``family`` occur in
    one tree; the family ``any`` lies beside all others. ``kinds`` are the files that leaves hold
    (empty: any). ``tails`` says that the lowest levels alone are recognised, too, for leaves of
    these kinds. ``witness`` is a file of the dump's folder that must be there if that folder lies above
    the one that was given: its upper level alone proves nothing.
    """

    name: str
    levels: tuple[str, ...]
    family: str
    kinds: frozenset[Kind] = frozenset()
    tails: frozenset[Kind] = frozenset()
    witness: str = ""


def _row(
    name: str, levels: str, family: str = "", kinds: str = "", tails: str = "", witness: str = ""
) -> Layout:
    def split(text: str) -> frozenset[Kind]:
        return frozenset(text.split())  # type: ignore[arg-type]  # words of the rows below

    return Layout(name, tuple(levels.split()), family or name, split(kinds), split(tails), witness)


LAYOUTS: tuple[Layout, ...] = (
    _row("mindspore", "rank net graph iteration", tails="npy"),
    _row("mindspore", "rank net graph constants", tails="npy"),
    _row("mindspore-o2", "step time device model model_id index", witness="acl_dump_*.json"),
    _row("msprobe", "rank time named_step"),
    _row("msprobe", "rank time named_step time device model model_id index"),
    _row("msprobe", "rank time named_step time device"),
    _row("msprobe", "rank time named_step time device index"),
    _row("msprobe", "rank time named_step time device model model_id"),
    _row("torchair", "world time device model model_id index"),
    _row("torchair", "world time device model model_id"),
    _row("torchair", "world time device index"),
    _row("torchair", "world time device"),
    _row("torchair", "world device", kinds="captured"),
    _row("ge", "time device model model_id index", tails="ge captured"),
    _row("ge", "time device model model_id"),
    _row("ge", "time device index"),
    _row("single-operator", "time device", family="ge"),
    _row("captured-stream", "device", family="ge", kinds="captured"),
    _row("torchair-graph", "world", kinds="node"),
    _row("torchair-graph", "", kinds="node"),
    _row("msprobe-api", "count_step process tensors", kinds="call", tails="call"),
    _row("golden", "", kinds="golden"),
    _row("exception", "extra data device", family="any"),
)
"""Every layout, the most complete of each family first.

``ge`` is the tree of TensorFlow, of AscendCL's models and of MindSpore's GE dump alike. msprobe cuts
away the levels below its step where all of them are there.
"""


class Place(NamedTuple):
    """Where a leaf stands: its row, the dump's folder, how many levels lie below it, their values."""

    layout: Layout
    base: str
    depth: int
    values: dict[str, str]

    @property
    def whole(self) -> bool:
        """Whether all levels of the row are there."""
        return self.depth == len(self.layout.levels)


def place(kind: Kind, above: Sequence[str], below: Sequence[str]) -> Place | None:
    """Find the layout of a leaf; ``None`` if there is none.

    Parameters
    ----------
    kind : str
        What its files are.
    above, below : sequence of str
        Names of the folders down to the one that was given, and from there down to the leaf.
    """
    parts = [*above, *below]
    fitting = [
        Place(row, "/".join(parts[: len(parts) - len(row.levels)]), len(row.levels), values)
        for row in LAYOUTS
        if (kind in row.kinds or (not row.kinds and kind not in _OWN))
        and (values := _values(row.levels, parts)) is not None
        and _is_witnessed(row, parts, len(below))
    ]
    if fitting:
        return max(fitting, key=lambda found: found.depth)
    for row in LAYOUTS:
        count = len(below)
        if kind in row.tails and count < len(row.levels):
            values = _values(row.levels[len(row.levels) - count :], below)
            if values is not None:
                return Place(row, "/".join(above), count, values)
    return None


def _is_witnessed(row: Layout, parts: Sequence[str], below: int) -> bool:
    if not row.witness or len(row.levels) <= below:
        return True
    base = Path("/".join(parts[: len(parts) - len(row.levels)]))
    return any(True for _ in base.glob(row.witness))


def _values(levels: Sequence[str], parts: Sequence[str]) -> dict[str, str] | None:
    """Values of the levels that a path ends with; the upper of two equal levels counts."""
    if len(parts) < len(levels):
        return None
    values: dict[str, str] = {}
    for level, part in zip(levels, parts[len(parts) - len(levels) :], strict=True):
        found = _PATTERNS[level].fullmatch(part)
        if found is None:
            return None
        values.setdefault(level, found[1])
    return values
