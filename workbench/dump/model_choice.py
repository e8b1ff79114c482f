"""Of several models in one dump: which is the network, and which graph file describes it.

TensorFlow dumps every graph that a session runs; one of them is the network. Its graph file names it:
the first graph in it is called like the model's folder (CANN's guide to dumping TensorFlow networks;
`workbench.graph_files.ge.files`). Several that the guide's word names are several networks of one session: all of
them are read. Without a graph file, the model with most dump files is taken. What was not taken is skipped with a
reason, and can be read by its name, by an operator or by pointing at its folder.
"""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from workbench._values import NamedTuple
from workbench.core.errors import FormatError
from workbench.core.words import Message
from workbench.core.writers import WRITERS
from workbench.dump.dump import Note, Skipped
from workbench.dump.formats.mindspore_name import sanitize
from workbench.graph_files import ge

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from workbench.dump.survey import DumpFolder
    from workbench.graph_files.ge.files import FoundGraph

    Run = tuple[int, str, int]

_PROCESS = re.compile(r"[/\\]pid_\d{1,9}_deviceid_(\d{1,6})[/\\]", re.ASCII)
"""Folder of the graph files of one process."""

FAMILIES = frozenset(row.layout for row in WRITERS.values() if row.is_compiled)
"""Layouts whose nets are models of the graph engine."""

_BY_STEP = frozenset(row.layout for row in WRITERS.values() if row.by_step)
"""Layouts of which every iteration is a run of its own."""


class NetworkChoice(NamedTuple):
    """Folders that are read, what is left out, and how it was decided."""

    folders: tuple[DumpFolder, ...]
    skipped: tuple[Skipped, ...]
    notes: tuple[Note, ...]


def choose_network(
    folders: Sequence[DumpFolder], named: Mapping[str, str], model: str | None = None
) -> NetworkChoice:
    """Keep the networks of every run, mostly one, and number them and their copies as graphs 0, 1, ….

    The first of several is the one with the largest graph file, so that graph 0 is the same with and without others;
    these come in the order in which they were loaded.

    A run that has the network is not disturbed by one that has only other graphs: those of a session
    that initialises variables, for example.

    Parameters
    ----------
    named : mapping of str to str
        Model's folder → the graph file that names it (`graph_names`).
    model : str, optional
        Folder of the model to take, or an operator that it has.

    Raises
    ------
    FormatError
        No model is called ``model`` or has such an operator.
    """
    runs: dict[Run, list[DumpFolder]] = {}
    for folder in filter(_has_model, folders):
        runs.setdefault(_run(folder), []).append(folder)
    asked = _asked(runs, named, model) if model is not None else None
    idle = _without_network(runs, named, asked)
    chosen = {key: _choose(run, named, asked) for key, run in runs.items() if key not in idle}
    names: dict[Run, tuple[str, ...]] = {key: (name,) for key, name in idle.items()}
    names |= {key: found for key, (found, _) in chosen.items()}
    told = [note for _, note in chosen.values() if note is not None]
    notes = [note for at, note in enumerate(told) if note not in told[:at]]
    kept: list[DumpFolder] = []
    skipped: list[Skipped] = []
    for folder in folders:
        if not _has_model(folder):
            kept.append(folder)
        elif folder.net_name not in (found := names[_run(folder)]):
            skipped += _left_out(folder, found[0])
        else:
            models = _models(runs[_run(folder)], found)
            place = found.index(folder.net_name), folder.model_id
            kept.append(folder._replace(graph_id=models.index(place)))
    return NetworkChoice(tuple(kept), tuple(skipped), (*notes, *_idle_notes(runs, idle)))


def _models(run: Iterable[DumpFolder], names: Sequence[str]) -> list[tuple[int, int]]:
    """Networks of a run and their copies, by the place of the name and the number of the model, in order."""
    found = {(one.net_name, one.model_id) for one in run if one.net_name in names}
    return sorted((names.index(name), model_id) for name, model_id in found)


def _asked(
    runs: Mapping[Run, Sequence[DumpFolder]], named: Mapping[str, str], model: str
) -> tuple[str, Message]:
    """Folder of the model that is asked for by its name or by an operator, and how it was found."""
    folders = [folder for run in runs.values() for folder in run]
    known = sorted({folder.net_name for folder in folders})
    if model in known:
        return model, Message("dump/model-asked")
    files = {name: named[name] for name in known if name in named}
    if files:
        with suppress(FormatError):
            found = ge.find_computational_graph(files.values(), model, folders=known)
            if found.folder in files:
                return found.folder, _named_by(found)
    part = f".{sanitize(model)}."
    fits = {one.net_name for one in folders if any(part in name for name in one.names)}
    if len(fits) == 1:
        return fits.pop(), Message("dump/model-operator", operator=model)
    if fits:
        raise FormatError("dump/model-several", got=model, models=sorted(fits))
    raise FormatError("dump/model-unknown", got=model, known=known)


def _named_by(found: FoundGraph) -> Message:
    return Message("dump/model-graph", graph=found.path.name, how=found.how)


def _without_network(
    runs: Mapping[Run, Sequence[DumpFolder]],
    named: Mapping[str, str],
    asked: tuple[str, Message] | None,
) -> dict[Run, str]:
    """Runs that do not have the network while another one of their rank has it, with its name.

    Without a name that is asked for, all graphs of such a run must be known, and none be the computational.
    """
    nets = {key: {folder.net_name for folder in run} for key, run in runs.items()}
    if asked is not None:
        return {key: asked[0] for key in runs if asked[0] not in nets[key]}
    if len(runs) < 2:
        return {}
    known = {name: named[name] for name in set().union(*nets.values()) if name in named}
    central = {name for name, path in known.items() if ge.has_iterator(path)}
    there: dict[int, str] = {}
    for key in sorted(runs):
        if found := nets[key] & central:
            there[key[0]] = min(found)
    return {
        key: there[key[0]]
        for key in runs
        if key[0] in there and nets[key] <= known.keys() and not nets[key] & central
    }


def _idle_notes(
    runs: Mapping[Run, Sequence[DumpFolder]], idle: Mapping[Run, str]
) -> Iterator[Note]:
    """Tell which timestamp folders are left out; every step of O2 has one."""
    found: dict[tuple[str, tuple[str, ...]], set[str]] = {}
    for key, name in idle.items():
        others = tuple(sorted({folder.net_name for folder in runs[key]}))
        found.setdefault((name, others), set()).add(key[1] or "-")
    for (name, others), times in found.items():
        detail = Message("dump/model-idle", folders=sorted(times), models=others, network=name)
        yield Note("model", name, detail)


def _has_model(folder: DumpFolder) -> bool:
    return folder.layout in FAMILIES and bool(folder.net_name)


def _run(folder: DumpFolder) -> Run:
    """What belongs to one run of a program, or to one step of it."""
    return folder.rank, folder.time, folder.iteration if folder.layout in _BY_STEP else -1


def _choose(
    run: Sequence[DumpFolder], named: Mapping[str, str], asked: tuple[str, Message] | None
) -> tuple[tuple[str, ...], Note | None]:
    """Names of the networks among the models of a run, and how they were found if there are others."""
    sizes: dict[str, int] = {}
    for folder in run:
        sizes[folder.net_name] = max(sizes.get(folder.net_name, 0), len(folder.names))
    name, how = asked if asked is not None else _network(sizes, named)
    names = (name, *(_further(run, named, name) if asked is None else ()))
    if len(names) > 1:
        how = Message("dump/model-networks", models=[*names])
    others = sorted(sizes.keys() - {*names})
    detail = Message("dump/model-chosen", how=how, others=others) if others else how
    return names, Note("model", name, detail) if len(sizes) > 1 else None


def _further(run: Sequence[DumpFolder], named: Mapping[str, str], network: str) -> list[str]:
    """Other models whose graph has the word that names the network, in the order in which they were loaded."""
    order = sorted((folder.model_id, folder.net_name) for folder in run)
    others = dict.fromkeys(name for _, name in order if name != network and name in named)
    if not others or network not in named or not ge.has_iterator(named[network]):
        return []
    return [name for name in others if ge.has_iterator(named[name])]


def _network(sizes: Mapping[str, int], named: Mapping[str, str]) -> tuple[str, Message]:
    """Name of the network by the graph files of models, else by how many files they have."""
    files = {name: named[name] for name in sizes if name in named} if len(sizes) > 1 else {}
    if len(files) > 1:
        with suppress(FormatError):
            found = ge.find_computational_graph(files.values(), folders=files.keys())
            if found.folder in files:
                return found.folder, _named_by(found)
    if len(files) == 1:
        ((name, path),) = files.items()
        return name, Message("dump/model-only-graph", graph=Path(path).name)
    largest = max(sizes, key=lambda name: (sizes[name], name))
    code = "dump/model-largest-several" if files else "dump/model-largest"
    return largest, Message(code, files=sizes[largest])


def _left_out(folder: DumpFolder, name: str) -> Iterator[Skipped]:
    detail = Message("dump/model-other", model=folder.net_name, network=name)
    where = f"{folder.net_name}/{folder.iteration}"
    return (Skipped(f"{where}/{file}", "other-model", detail) for file in folder.names)


def names_by_device(files: Iterable[str]) -> dict[int, dict[str, str]]:
    """`graph_names` of the files of each device, where folders of processes tell it."""
    found: dict[int, list[str]] = {}
    for path in files:
        device = _PROCESS.search(path)
        if device is not None:
            found.setdefault(int(device[1]), []).append(path)
    return {device: graph_names(paths) for device, paths in found.items()}


def graph_names(files: Iterable[str]) -> dict[str, str]:
    """Model's folder → the graph file whose first graph is called so.

    Graphs as they were executed (``*_Build.txt``) count before those of earlier stages; of several
    files for one model the last one does.
    """
    found: dict[str, str] = {}
    for path in sorted(files, key=lambda path: (path.endswith("_Build.txt"), path)):
        with suppress(FormatError):
            if name := ge.read_graph_name(path):
                found[ge.model_folder(name)] = path
    return found
