"""How dump trees lie on disk: one row each, recognised by what they contain.

The folders of a layout that hold tensors are *leaves*; each says which rank, net, graph and
iteration its files belong to.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from workbench.core.errors import FormatError
from workbench.dump.tree import CONSTANT_ITERATION

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


class Leaf(NamedTuple):
    """A folder with tensor files, and where its files stand in the run."""

    path: str
    rank: int
    net_name: str
    graph_id: int
    iteration: int


class RankRoot(NamedTuple):
    """A folder of one rank: where its graphs and execution orders lie."""

    path: str
    rank: int


@dataclass(frozen=True, slots=True)
class Layout:
    """One way to lay out a tree."""

    name: str
    matches: Callable[[Path], bool]
    roots: Callable[[Path], Iterator[RankRoot]]
    leaves: Callable[[Path], Iterator[Leaf]]


_NOT_NETS = frozenset(("graphs", "execution_order", ".dump_metadata", "debug_files"))


def _rank(name: str) -> int:
    """Rank of a folder name ``rank_3``; -1 if it is none."""
    digits = name.removeprefix("rank_")
    return int(digits) if digits != name and digits.isdecimal() else -1


def _folders(path: str | Path) -> list[os.DirEntry[str]]:
    """Sub-folders in order of name, numbers by value; links are not followed."""
    with os.scandir(path) as entries:
        found = [entry for entry in entries if entry.is_dir(follow_symlinks=False)]
    return sorted(found, key=lambda e: (not e.name.isdecimal(), len(e.name), e.name))


def _rank_leaves(root: str, rank: int) -> Iterator[Leaf]:
    """``{net}/{graph}/{iteration}`` and ``{net}/{graph}/constants`` below a rank folder."""
    for net in _folders(root):
        if net.name in _NOT_NETS:
            continue
        for graph in _folders(net.path):
            if not graph.name.isdecimal():
                continue
            for step in _folders(graph.path):
                if step.name.isdecimal():
                    yield Leaf(step.path, rank, net.name, int(graph.name), int(step.name))
                elif step.name == "constants":
                    yield Leaf(step.path, rank, net.name, int(graph.name), CONSTANT_ITERATION)


def _is_rank_folder(root: Path) -> bool:
    return (root / "graphs").is_dir() or any(True for _ in _rank_leaves(str(root), 0))


def _has_tensors(root: Path) -> bool:
    with os.scandir(root) as entries:
        return any(e.name.endswith(".npy") or e.name == "statistic.csv" for e in entries)


def _ranks(root: Path) -> Iterator[RankRoot]:
    for entry in _folders(root):
        if _rank(entry.name) >= 0:
            yield RankRoot(entry.path, _rank(entry.name))


def _own_rank(root: Path) -> int:
    return max(_rank(root.resolve().name), 0)


LAYOUTS: tuple[Layout, ...] = (
    Layout(
        "mindspore",
        lambda root: any(True for _ in _ranks(root)),
        _ranks,
        lambda root: (leaf for r in _ranks(root) for leaf in _rank_leaves(r.path, r.rank)),
    ),
    Layout(
        "mindspore-rank",  # a user pointed one level too deep: at rank_0 itself
        lambda root: not any(True for _ in _ranks(root)) and _is_rank_folder(root),
        lambda root: iter((RankRoot(str(root), _own_rank(root)),)),
        lambda root: _rank_leaves(str(root), _own_rank(root)),
    ),
    Layout(
        "mindspore-folder",  # … or at one folder of tensors
        _has_tensors,
        lambda root: iter(()),
        lambda root: iter((Leaf(str(root), 0, "", 0, 0),)),
    ),
)
"""Every layout, most complete first; exactly one must recognise a tree."""


def detect(root: Path) -> Layout:
    """Return the layout of a tree; raises FormatError if none or two recognise it."""
    try:
        if not root.is_dir():
            state = "a file" if root.exists() else "nothing"
            message = f"dump must be a folder, got {str(root)!r} ({state}); check the path"
            raise FormatError(message)
        found = [layout for layout in LAYOUTS if layout.matches(root)]
        empty = not found and not os.listdir(root)
    except OSError as error:
        message = f"dump must be a readable folder, got {str(root)!r} ({error.strerror})"
        raise FormatError(message) from error
    if len(found) == 1:
        return found[0]
    known = [layout.name for layout in LAYOUTS]
    if found:
        got = f"{str(root)!r} which fits {[layout.name for layout in found]}"
        message = f"dump must have one layout, got {got}; point at the folder above or below"
    else:
        what = "an empty folder" if empty else "a folder without rank_N, net folders or tensors"
        message = f"dump must have one of the layouts {known}, got {str(root)!r}, {what}"
    raise FormatError(message)
