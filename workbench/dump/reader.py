"""Read a dump tree: names and headers only. Data are read when a tensor is compared.

Nothing that is wrong inside a tree raises: it becomes a skipped tensor or a note, so that the rest
of a report still comes. `load` raises FormatError only if the path is no dump at all.
"""

from __future__ import annotations

import gc
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from workbench.core.words import Message
from workbench.dump.attach import Side
from workbench.dump.dump import WATCHED, Dump, Note, Skipped
from workbench.dump.leaf import Found, read_leaf
from workbench.dump.model_choice import choose_models, graph_names, names_by_device
from workbench.dump.processes import part_processes
from workbench.dump.survey import survey
from workbench.dump.turns import number_turns
from workbench.dump.watched import joint_name, part_watched

if TYPE_CHECKING:
    from collections.abc import Iterator

    from workbench.dump.survey import Survey


@contextmanager
def _no_collection() -> Iterator[None]:
    """Keep the garbage collector from going over all records again and again while they become more.

    Nothing here makes reference cycles; measured, it is two fifths of the time.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            if not gc.get_freeze_count():
                gc.freeze()
                gc.unfreeze()  # all there is counts as old: no collection goes over it at once
            gc.enable()


@_no_collection()
def load(path: str | Path, *, graph: str | Path | None = None, model: str | None = None) -> Dump:
    """Read the tree at ``path``, or the part of it that ``path`` points at.

    Parameters
    ----------
    path : path
        The dump's folder, or any folder above it or in it.
    graph : path, optional
        A graph file to use instead of the tree's own.
    model : str, optional
        Folder of the model to read where there are several, or an operator that it has.

    Raises
    ------
    FormatError
        ``path`` is not one dump, ``graph`` cannot be read, or there is no such ``model``.
    """
    tree = survey(Path(path))
    nets = {leaf.net_name for leaf in tree.leaves}
    given = graph_names([str(graph)] if graph is not None else [])
    named = given if given.keys() & nets else graph_names(tree.graph_files)
    chosen = choose_models(tree.leaves, named, model)
    found = Found(skipped=chosen.skipped, notes=chosen.notes)
    _note_survey(tree, found)
    read = [(leaf, read_leaf(leaf, found)) for leaf in chosen.leaves]
    part_processes(read, found)
    side = Side(found)
    for root in tree.roots:
        side.rank(root, read_graphs=graph is None)
    if graph is not None:
        side.given_graph(Path(graph))
    else:
        side.model_graphs(named, names_by_device(tree.graph_files))
    found.records, watched = part_watched(found.records, side.graphs)
    found.skipped += [
        Skipped(
            joint_name(one.after, one.key.op_name),
            WATCHED,
            Message("dump/watched", after=one.after),
        )
        for one in watched
    ]
    return Dump(
        path=str(path),
        layout=tree.layout,
        records=tuple(number_turns(side.with_hosts(found.records))),
        graphs=side.graphs,
        orders=side.orders,
        skipped=tuple(found.skipped),
        notes=tuple(found.notes),
        info=found.info,
        overflows=tuple(found.overflows),
        failures=tuple(found.failures),
        watched=tuple(sorted(watched, key=lambda one: one.timestamp_us)),
    )


def _note_survey(tree: Survey, found: Found) -> None:
    """Tell what the survey met and did not take."""
    found.notes += [Note("unreadable", name, why) for name, why in tree.unreadable]
    detail = Message("dump/acl-form")
    found.notes += [Note("ignored", name, detail) for name in tree.acl_forms]
    detail = Message("dump/unplaced")
    found.skipped += [Skipped(name, "unplaced", detail) for name in tree.unplaced]
