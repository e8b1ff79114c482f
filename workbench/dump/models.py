"""Of several models in one dump: which is the network, and which graph file describes it.

TensorFlow dumps every graph that a session runs; one of them is the network. Its graph file names it:
the first graph in it is called like the model's folder (CANN's guide to dumping TensorFlow networks;
`workbench.ir.ge_files`). Without a graph file, the model with most dump files is taken. What was not
taken is skipped with a reason, and can be read by its name or by pointing at its folder.
"""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from workbench.core.errors import FormatError
from workbench.dump.container_source import open_dump
from workbench.dump.names import sanitize
from workbench.dump.tree import Note, Skipped
from workbench.ir.ge_files import find_computational_graph

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from workbench.dump.survey import Leaf

_NAME = re.compile(rb'\s*graph\s*\{\s*name:\s*"([^"\n]{1,512})"')
_HEAD = 1 << 16

FAMILIES = frozenset(("mindspore-o2", "torchair", "ge"))
"""Layouts whose nets are models of the graph engine."""


class Chosen(NamedTuple):
    """Leaves that are read, what is left out, and how it was decided."""

    leaves: list[Leaf]
    skipped: list[Skipped]
    notes: list[Note]


def choose_models(
    leaves: Sequence[Leaf], named: Mapping[str, str], model: str | None = None
) -> Chosen:
    """Keep one model of every run, and number its copies as graphs 0, 1, ….

    Parameters
    ----------
    named : mapping of str to str
        Model's folder → the graph file that names it (`graph_names`).
    model : str, optional
        Folder of the model to take.

    Raises
    ------
    FormatError
        No model is called ``model``.
    """
    runs: dict[tuple[int, str, int], list[Leaf]] = {}
    for leaf in leaves:
        if _has_model(leaf):
            runs.setdefault(_run(leaf), []).append(leaf)
    known = sorted({leaf.net_name for run in runs.values() for leaf in run})
    if model is not None and model not in known:
        raise FormatError(f"model must be one of {known[:20]}, got {model!r}")
    result = Chosen([], [], [])
    names: dict[tuple[int, str, int], str] = {}
    for key, run in runs.items():
        names[key], how = _choose(run, named, model)
        others = sorted({leaf.net_name for leaf in run} - {names[key]})
        note = Note("model", names[key], f"{how}; left out: {', '.join(others)}")
        if others and note not in result.notes:
            result.notes.append(note)
    for leaf in leaves:
        name = names[_run(leaf)] if _has_model(leaf) else leaf.net_name
        if leaf.net_name != name:
            result.skipped.extend(_left_out(leaf, name))
        elif not _has_model(leaf):
            result.leaves.append(leaf)
        else:
            ids = sorted({one.model_id for one in runs[_run(leaf)] if one.net_name == name})
            result.leaves.append(leaf._replace(graph_id=ids.index(leaf.model_id)))
    return result


def _has_model(leaf: Leaf) -> bool:
    return leaf.layout in FAMILIES and bool(leaf.net_name)


def _run(leaf: Leaf) -> tuple[int, str, int]:
    """What belongs to one run of a program, or to one step of it."""
    return leaf.rank, leaf.time, leaf.iteration if leaf.layout == "mindspore-o2" else -1


def _choose(run: Sequence[Leaf], named: Mapping[str, str], model: str | None) -> tuple[str, str]:
    """Name of the network among the models of a run, and how it was found."""
    sizes: dict[str, int] = {}
    for leaf in run:
        sizes[leaf.net_name] = max(sizes.get(leaf.net_name, 0), len(leaf.names))
    if model in sizes and model is not None:
        return model, "asked for by name"
    files = {name: named[name] for name in sizes if name in named} if len(sizes) > 1 else {}
    if len(files) > 1:
        with suppress(FormatError):
            found = find_computational_graph(files.values(), folders=files.keys())
            if found.folder in files:
                return found.folder, f"named by {found.path.name}, {found.how}"
    if len(files) == 1:
        ((name, path),) = files.items()
        return name, f"named by {Path(path).name}, the only graph of a dumped model"
    largest = max(sizes, key=lambda name: (sizes[name], name))
    why = "graph files name several" if files else "no graph file names one"
    return largest, f"the model with most dump files ({sizes[largest]}); {why}"


def _left_out(leaf: Leaf, name: str) -> Iterator[Skipped]:
    detail = f"of model {leaf.net_name!r}; {name!r} is the network"
    where = f"{leaf.net_name}/{leaf.iteration}"
    return (Skipped(f"{where}/{file}", "other-model", detail) for file in leaf.names)


def graph_names(files: Iterable[str]) -> dict[str, str]:
    """Model's folder → the graph file whose first graph is called so.

    Graphs as they were executed (``*_Build.txt``) count before those of earlier stages; of several
    files for one model the last one does.
    """
    found: dict[str, str] = {}
    for path in sorted(files, key=lambda path: (path.endswith("_Build.txt"), path)):
        try:
            with open_dump(path) as file:
                head = file.read(_HEAD)
        except (FormatError, OSError):
            continue
        name = _NAME.match(head)
        if name is not None:
            found[sanitize(name[1].decode("utf-8", "replace"))] = path
    return found
