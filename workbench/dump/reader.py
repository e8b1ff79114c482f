"""Read a dump tree: names and headers only. Data are read when a tensor is compared.

Nothing that is wrong inside a tree raises: it becomes a skipped tensor or a note, so that the rest
of a report still comes. `load` raises FormatError only if the path is no dump at all.
"""

from __future__ import annotations

from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from workbench.core.long_work import collection_paused
from workbench.core.words import Message
from workbench.dump.attach_graphs import (
    given_graph,
    golden_inputs,
    golden_roles,
    join,
    model_graphs,
    read_rank,
    unnamed_inputs,
    with_hosts,
)
from workbench.dump.dump import WATCHED, Dump, Note, Skipped
from workbench.dump.folder import read_folder
from workbench.dump.index import join as join_index
from workbench.dump.model_choice import choose_network, graph_names, names_by_device
from workbench.dump.runs import FolderIndex, number_turns, split_processes
from workbench.dump.survey import survey
from workbench.dump.watched import joint_name, split_watched

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from workbench.core.tensors import TensorRecord
    from workbench.dump.attach_graphs import SideFiles
    from workbench.dump.index import Index
    from workbench.dump.survey import Survey


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
    return load_survey(survey(path), path, graph=graph, model=model)


@collection_paused()
def load_survey(
    tree: Survey, path: str | Path, *, graph: str | Path | None = None, model: str | None = None
) -> Dump:
    """Read a tree that was surveyed, or a part of one (`workbench.scale.parts`); otherwise as `load`."""
    named = _named_graphs(tree, graph)
    chosen = choose_network(tree.folders, named, model)
    contents = [read_folder(folder) for folder in chosen.folders]
    read = zip(chosen.folders, (one.index for one in contents), strict=True)
    index, run_notes = split_processes([FolderIndex(*one) for one in read])
    beside = _attach(tree, index, named, graph)
    golden = tree.folders[0].path if tree.layout == "golden" else ""
    if golden:
        index = join_index([index, golden_inputs(golden, beside.graphs)])
    roles, role_notes = golden_roles(golden) if golden and not beside.graphs else ({}, ())
    index, watched = split_watched(index, beside.graphs)
    notes = chain(
        chosen.notes,
        _survey_notes(tree),
        *(c.notes for c in contents),
        run_notes,
        beside.notes,
        role_notes,
    )
    skipped = chain(
        chosen.skipped, _unplaced(tree), *(c.skipped for c in contents), map(_again, watched)
    )
    writer = next((one.writer for one in contents if one.writer), "")
    return Dump(
        path=str(path),
        layout=tree.layout,
        index=number_turns(with_hosts(index, beside.graphs)),
        graphs=beside.graphs,
        orders=beside.orders,
        skipped=tuple(skipped),
        notes=tuple(notes),
        info=({"writer": writer} if writer else {}) | beside.info,
        overflows=tuple(chain.from_iterable(one.overflows for one in contents)),
        failures=tuple(chain.from_iterable(one.failures for one in contents)),
        watched=tuple(sorted(watched, key=lambda one: one.timestamp_us)),
        fed=unnamed_inputs(golden) if golden and not beside.graphs else (),
        roles=roles,
    )


def _named_graphs(tree: Survey, graph: str | Path | None) -> dict[str, str]:
    """Model's folder → its graph file: the one that is given if it names a model here, else the tree's own."""
    given = graph_names([str(graph)] if graph is not None else [])
    return (
        given
        if given.keys() & {one.net_name for one in tree.folders}
        else graph_names(tree.graph_files)
    )


def _attach(
    tree: Survey,
    index: Index,
    named: Mapping[str, str],
    graph: str | Path | None,
) -> SideFiles:
    """Read what lies beside the tensors; a graph that is given stands for those of the tree."""
    parts = [read_rank(root, with_graphs=graph is None) for root in tree.roots]
    if graph is not None:
        return join([*parts, given_graph(Path(graph), index)])
    return join([*parts, model_graphs(index, named, names_by_device(tree.graph_files))])


def _survey_notes(tree: Survey) -> Iterator[Note]:
    """Tell what the survey met and did not take."""
    yield from (Note("unreadable", name, why) for name, why in tree.unreadable)
    yield from (Note("ignored", name, Message("dump/acl-form")) for name in tree.acl_forms)


def _unplaced(tree: Survey) -> Iterator[Skipped]:
    detail = Message("dump/unplaced")
    return (Skipped(name, "unplaced", detail) for name in tree.unplaced)


def _again(record: TensorRecord) -> Skipped:
    """Leave out an output that was dumped again: no other dump has it."""
    name = joint_name(record.after, record.key.op_name)
    return Skipped(name, WATCHED, Message("dump/watched", after=record.after))
