"""State of a workbench as a small JSON file beside the notebook; a restarted kernel goes on with it.

Schema ``workbench.session/1``: settings, map file, what the report shall hold, and what was looked at, by names.
Numbers of a comparison are not kept: trees are compared and rehearsals run again, when somebody says so.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench import config as configs
from workbench.comparison.map_file import parse_overrides, to_data
from workbench.config.form.json_text import json_kind
from workbench.config.form.kinds import (
    ANY,
    RECORD,
    TEXT,
    choice_of,
    either,
    integer_from,
    list_of,
    optional,
    where,
)
from workbench.config.form.reader import Reader
from workbench.config.form.settings import (
    Section,
    always,
    choice,
    integer,
    items,
    section,
    setting,
    text,
)
from workbench.core.errors import FormatError, WorkbenchError
from workbench.core.files import file_content, write_text
from workbench.show.look.kept_look import SETTINGS
from workbench.ui.bench.export import Export
from workbench.ui.bench.map_file import MapFile
from workbench.ui.bench.trees import Trees

if TYPE_CHECKING:
    from workbench.ui.bench.app import Workbench

SCHEMA = "workbench.session/1"

MAX_BYTES = 1 << 26
"""Largest file that is read."""


def session_path() -> Path:
    """Return where the session of this notebook lies: beside it, under its name; else in the working folder."""
    notebook = os.environ.get("JPY_SESSION_NAME", "")
    name = Path(notebook).stem if notebook.endswith(".ipynb") else "workbench"
    return Path(f"{name}.session.json")


def usual_path() -> Path | str:
    """Return where a workbench keeps its session that is told no place; empty if it keeps none.

    The environment variable ``WORKBENCH_SESSION`` set to ``off`` says that no workbench does, but by its own argument.
    """
    return "" if os.environ.get("WORKBENCH_SESSION", "") == "off" else session_path()


PLAIN = (
    *("rehearsing", "device", "precision_mode", "seed"),
    *("iterations", "ranks", "profile", "language", "panel", "job"),
)
"""Settings that are kept as they are."""


def _is_threshold(value: Any) -> bool:
    return type(value) in (int, float) and 0 <= value <= sys.float_info.max


def _is_sort(value: tuple[Any, ...]) -> bool:
    return [type(one) for one in value] == [str, bool]


def _holds_choices(value: Mapping[str, Any]) -> bool:
    return all(type(one) in (str, int) for one in value.values())


_INTEGERS = list_of("integer")
_NUMBER = either(optional(integer_from()), _INTEGERS)
_POSITIONS = optional(where(lambda pair: len(pair) == 2, _INTEGERS, "two integers"))
_SORT = where(_is_sort, list_of("any"), "a column and true or false")
_CHOICES = where(_holds_choices, RECORD, "texts or integers by column")
_THRESHOLD = optional(where(_is_threshold, ANY, "a number of at least 0"))
_WORST = where(lambda count: count <= 10_000, integer_from(1), "1 to 10000")


class _Trees(Section):
    unknown = "error"
    target: str = text("", "")
    golden: str = text("", "")
    target_graph: str = text("", "")
    golden_graph: str = text("", "")
    target_model: str = text("", "")
    golden_model: str = text("", "")
    rank: int | tuple[int, ...] | None = setting(_NUMBER, None, "")
    iteration: int | tuple[int, ...] | None = setting(_NUMBER, None, "")
    repeats: tuple[str, ...] = items("text", "")


class _Export(Section):
    unknown = "error"
    title: str = text("", "")
    notes: str = text("", "")
    sections: tuple[str, ...] = items("text", "", default=Export().sections)
    pins: tuple[str, ...] = items("text", "")


class _Row(Section):
    unknown = "error"
    op_name: str = text("", "")
    golden_op_name: str = text("", "")
    io: str = text("", "")
    slot: int = integer(0, "")
    iteration: int = integer(0, "")
    rank: int = integer(0, "")
    turn: int = integer(0, "")
    graph_id: int = integer(0, "")


class _Look(Section):
    unknown = "error"
    selected: _Row | None = section(_Row, optional=True)
    query: str = text("", "")
    statuses: tuple[str, ...] = items("text", "")
    choices: Mapping[str, str | int] = setting(_CHOICES, {}, "")
    positions: tuple[int, int] | None = setting(_POSITIONS, None, "")
    sort: tuple[str, bool] = setting(_SORT, ("", False), "")
    factor: float | None = setting(_THRESHOLD, None, "")
    limit: float | None = setting(_THRESHOLD, None, "")
    figure: str = text("error", "")
    element_error: str = choice("absolute", "absolute relative ulp", "")
    worst: int = setting(_WORST, 20, "")


class _Session(Section):
    unknown = "error"
    other_keys = frozenset(PLAIN)
    schema: str = setting(choice_of(SCHEMA), SCHEMA, "")
    surface: str = text("", "", required=always)
    config: Mapping[str, Any] = setting(RECORD, {}, "", required=always)
    graph: str | None = setting(optional(TEXT), None, "")
    faults: tuple[str, ...] = items("text", "")
    set_dump: tuple[str, ...] = items("text", "")
    inputs: tuple[str, ...] = items("text", "")
    trees: _Trees = section(_Trees)
    export: _Export = section(_Export)
    map_file: Mapping[str, Any] = setting(RECORD, {}, "")
    look: _Look | None = section(_Look, optional=True)


KEPT = ["config", "graph", "faults", "set_dump", "inputs", "trees", "export", *PLAIN]
"""Traits of a workbench that are kept."""

_LOOKED = ["selected", *SETTINGS]


def session_data(bench: Workbench) -> dict[str, Any]:
    """Return the state as JSON values; a graph object of the user's own is left out."""
    return {
        "schema": SCHEMA,
        "surface": bench.config.surface.name,
        "config": dict(bench.config.data),
        "graph": bench.graph if isinstance(bench.graph, str) else None,
        "faults": list(bench.faults),
        "set_dump": list(bench.set_dump),
        "inputs": list(bench.inputs),
        "trees": _listed(asdict(bench.trees)),
        "export": _listed(asdict(bench.export)),
        "map_file": to_data(bench.map_file.overrides),
        "look": bench.kept_look,
        **{name: getattr(bench, name) for name in PLAIN},
    }


def _listed(values: dict[str, Any]) -> dict[str, Any]:
    return {key: [*item] if isinstance(item, tuple) else item for key, item in values.items()}


def save_session(bench: Workbench, path: str | Path) -> Path:
    """Write the session file, whole or not at all."""
    text = json.dumps(session_data(bench), ensure_ascii=True, indent=1)
    return write_text(path, text + "\n", "session file")


def keep_session(bench: Workbench, path: str | Path) -> None:
    """Write the session file at every change from now on: a millisecond or two, no more than a click costs anyway.

    A file that is there already is replaced by the first change, if it is a session. What cannot be written stands in
    ``unsaved`` and stops nothing. A folder that the process leaves later stays the file's.
    """
    place = Path(path).absolute()
    lock, ours = threading.Lock(), False  # panels change it on one thread, a run on another

    def write(_change: Any = None) -> None:
        nonlocal ours
        try:
            with lock:
                if not ours and place.exists():
                    read_session(place)  # raises if it is somebody's own file
                ours = True
                save_session(bench, place)
        except (OSError, WorkbenchError) as error:
            bench.unsaved = error
        else:
            bench.unsaved = ""

    def look(change: Any) -> None:
        if change["old"] is not None:
            change["old"].look.unobserve(write, _LOOKED)
        if change["new"] is not None:
            change["new"].look.observe(write, _LOOKED)
        write()

    bench.observe(write, KEPT)
    bench.observe(look, "comparison")
    bench.map_file.observe(write, ["overrides"])


def read_session(path: str | Path) -> dict[str, Any]:
    """Return the arguments of the workbench of a session file; raises FormatError with file and key if it is none.

    Those that are ``None`` were not kept, such as a network that was an object of the notebook.
    """
    place = str(path)
    try:
        data = json.loads(file_content(Path(path), MAX_BYTES, "session file"))
    except (ValueError, RecursionError) as error:
        raise FormatError("ui/session-json", place=place, why=error) from error
    if not isinstance(data, dict):
        raise FormatError("config/not-an-object", place=place, got=json_kind(data))
    reader = Reader(data, "")
    read = reader.read(_Session, _present(data))
    for problem in sorted(reader.problems, key=lambda one: one.id == "missing"):
        values = {"key": problem.path, "problem": problem.message}
        raise FormatError("ui/session-value", place=place, **values)
    try:
        return _arguments(read)
    except WorkbenchError as error:
        raise FormatError(error.code, **error.values, place=place) from error


def _present(data: dict[str, Any]) -> dict[str, Any]:
    """Return a session without what is null in it and in its look: that was not kept."""
    kept = {key: value for key, value in data.items() if value is not None}
    if isinstance(look := kept.get("look"), dict):
        kept["look"] = {key: value for key, value in look.items() if value is not None}
    return kept


def _arguments(read: _Session) -> dict[str, Any]:
    return {
        "config": configs.of(read.surface, read.config),
        "graph": read.graph,
        "faults": read.faults,
        "set_dump": read.set_dump,
        "inputs": read.inputs,
        "trees": Trees(**read.trees.values()),
        "export": Export(**read.export.values()),
        "map_file": MapFile(parse_overrides(read.map_file)),
        "look": None if read.look is None else _told(read.look),
        **read.extra,
    }


def _told(section: Section) -> dict[str, Any]:
    """Return a section with its defaults, as JSON values."""
    values = {key: getattr(section, key) for key in section.fields}
    return _listed({k: _told(v) if isinstance(v, Section) else v for k, v in values.items()})
