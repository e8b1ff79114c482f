"""Trees of jobs that share a tree of one rank: every file cut by hand, with what may go wrong on a rank.

Cut with ``np.split`` alone, so that nothing of `workbench.scale.layouts` is asked to undo itself.
"""

from __future__ import annotations

import re
import shutil
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from numpy.typing import NDArray

FILE = re.compile(
    r"[^.]+\.(?P<name>.+?)\.\d+\.\d+\.\d+\.(?P<io>input|output)\.(?P<slot>\d+)\..*npy"
)


def slot_of(path: Path) -> str:
    """``name:output.0`` of a file, as a file of layouts has it."""
    found = FILE.fullmatch(path.name)
    assert found is not None, path.name
    return f"{found['name']}:{found['io']}.{found['slot']}"


def zigzag(array: NDArray, dim: int, rank: int, ranks: int) -> NDArray:
    """The pieces r and 2n - 1 - r of 2n."""
    pieces = np.split(array, 2 * ranks, axis=dim)
    return np.concatenate([pieces[rank], pieces[2 * ranks - 1 - rank]], axis=dim)


def write_shards(
    source: Path,
    out: Path,
    ranks: int,
    cut: Callable[[str, NDArray, int], tuple[NDArray | None, str]],
    head: str,
    change: Callable[[str, int, int, NDArray, Path], NDArray] | None = None,
    last: int = 1,
) -> tuple[Path, Path]:
    """Write the tree of a job and the file of its layouts; return both.

    ``cut(slot, array, rank)`` gives what a rank holds (nothing: ``None``) and the layout of the tensor;
    ``change(slot, iteration, rank, array, path)`` what it holds in the end, ``path`` being the file of the whole.
    Iterations behind the ``last`` are left out.
    """
    rows = {}
    for rank in range(ranks):
        for path in sorted((source / "rank_0").rglob("*")):
            there = out / f"rank_{rank}" / path.relative_to(source / "rank_0")
            if path.suffix != ".npy":
                if path.is_file() and ".dump_metadata" in path.parts:
                    there.parent.mkdir(parents=True, exist_ok=True)
                    shutil.copy(path, there)
                continue
            if int(path.parent.name) > last:
                continue
            slot = slot_of(path)
            part, rows[slot] = cut(slot, np.load(path), rank)
            if part is None:
                continue
            if change is not None:
                part = change(slot, int(path.parent.name), rank, part, path)
            there.parent.mkdir(parents=True, exist_ok=True)
            np.save(there, np.ascontiguousarray(part).reshape(part.shape))
    text = "".join(f"{slot}: {layout}\n" for slot, layout in rows.items())
    layouts = out.with_suffix(".txt")
    layouts.write_text(f"parallel: {head}\n{text}")
    return out, layouts
