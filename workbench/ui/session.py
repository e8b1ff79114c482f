"""State of a workbench as a small JSON file beside the notebook; a restarted kernel goes on with it.

Schema ``workbench.session/1``: settings, map file, what the report shall hold, and what was looked at, by names.
Numbers of a comparison are not kept: trees are compared and rehearsals run again, when somebody says so.
"""

from __future__ import annotations

import json
import os
import re
import threading
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from workbench import config as configs
from workbench.comparison.map_file import parse_overrides, to_data
from workbench.comparison.measure.profiles import NOISE_FLOOR
from workbench.core.errors import FormatError, WorkbenchError
from workbench.core.files import file_content, write_text
from workbench.show.kept_look import SETTINGS
from workbench.ui.export import Export
from workbench.ui.map_file import MapFile
from workbench.ui.trees import Trees

if TYPE_CHECKING:
    from workbench.ui.app import Workbench

SCHEMA: Literal["workbench.session/1"] = "workbench.session/1"

MAX_BYTES = 1 << 26
"""Largest file that is read."""


_HEX = "[0-9a-fA-F]{2}"
_ESCAPES = re.compile(
    rf"\\u[dD][89abAB]{_HEX}\\u[dD][c-fC-F]{_HEX}|\\u(?P<lone>[dD][89a-fA-F]{_HEX})|\\u0000|\\.".encode(),
    re.DOTALL,
)
"""Escapes of JSON: a pair of surrogates, a lone one, NUL, any other."""

_MARKS = re.compile(f"\0(\0|[dD][89a-fA-F]{_HEX})")


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


class _Trees(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)
    target: str = ""
    golden: str = ""
    target_graph: str = ""
    golden_graph: str = ""
    target_model: str = ""
    golden_model: str = ""
    rank: int | list[int] | None = None
    iteration: int | list[int] | None = None
    repeats: list[str] = []


class _Export(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)
    title: str = ""
    notes: str = ""
    sections: list[str] = list(Export().sections)
    pins: list[str] = []


class _Row(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)
    op_name: str = ""
    golden_op_name: str = ""
    io: str = ""
    slot: int = 0
    iteration: int = 0
    rank: int = 0
    turn: int = 0
    graph_id: int = 0


_Threshold = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class _Look(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)
    selected: _Row | None = None
    query: str = ""
    statuses: list[str] = []
    choices: dict[str, str | int] = {}
    positions: tuple[int, int] | None = None
    sort: tuple[str, bool] = ("", False)
    factor: _Threshold | None = None
    limit: _Threshold | None = None
    figure: str = "error"
    element_error: Literal["absolute", "relative", "ulp"] = "absolute"
    worst: int = Field(20, ge=1, le=10_000)


class _Session(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, populate_by_name=True)
    written: Literal["workbench.session/1"] = Field(SCHEMA, alias="schema")
    surface: str
    config: dict[str, Any]
    graph: str | None = None
    rehearsing: bool = True
    device: str = "a2"
    faults: list[str] = []
    inputs: list[str] = []
    precision_mode: str | None = None
    seed: int = 0
    iterations: int = 1
    ranks: int = 1
    profile: str = NOISE_FLOOR
    language: str = "en"
    panel: str = ""
    trees: _Trees = _Trees()
    export: _Export = _Export()
    map_file: dict[str, Any] = {}
    look: _Look | None = None


PLAIN = (
    *("rehearsing", "device", "precision_mode", "seed"),
    *("iterations", "ranks", "profile", "language", "panel"),
)
"""Settings that are kept as they are."""


KEPT = ["config", "graph", "faults", "inputs", "trees", "export", *PLAIN]
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
        "inputs": list(bench.inputs),
        "trees": _listed(asdict(bench.trees)),
        "export": _listed(asdict(bench.export)),
        "map_file": to_data(bench.map_file.overrides),
        "look": bench.kept_look,
        **{name: getattr(bench, name) for name in PLAIN},
    }


def _listed(values: dict[str, Any]) -> dict[str, Any]:
    return {key: [*item] if isinstance(item, tuple) else item for key, item in values.items()}


def _paired(values: dict[str, Any]) -> dict[str, Any]:
    return {key: tuple(item) if isinstance(item, list) else item for key, item in values.items()}


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
    text = file_content(Path(path), MAX_BYTES, "session file")
    try:
        return _arguments(_Session.model_validate_json(_without_lone(text)))
    except ValidationError as error:
        first = error.errors()[0]
        if first["type"] == "json_invalid":
            raise FormatError("ui/session-json", place=str(path), why=first["msg"]) from error
        values = {"key": ".".join(map(str, first["loc"])) or "session", "why": first["msg"]}
        place, got = str(path), str(first["input"])[:60]
        raise FormatError("ui/session-value", place=place, got=got, **values) from error
    except WorkbenchError as error:
        raise FormatError(error.code, **error.values, place=str(path)) from error


def _arguments(read: _Session) -> dict[str, Any]:
    look = None if read.look is None else read.look.model_dump(mode="json")
    return {
        "config": configs.of(read.surface, _with_lone(read.config)),
        "graph": None if read.graph is None else _with_lone(read.graph),
        "faults": tuple(_with_lone(read.faults)),
        "inputs": tuple(_with_lone(read.inputs)),
        "trees": Trees(**_paired(_with_lone(read.trees.model_dump()))),
        "export": Export(**_paired(_with_lone(read.export.model_dump()))),
        "map_file": MapFile(parse_overrides(_with_lone(read.map_file))),
        "look": _with_lone(look),
        **{name: getattr(read, name) for name in PLAIN},
    }


def _without_lone(text: bytes) -> bytes:
    """Write lone surrogates, which stand for bytes of file names and which pydantic refuses, as NUL and number."""

    def marked(found: re.Match[bytes]) -> bytes:
        if found["lone"]:
            return rb"\u0000" + found["lone"]
        return rb"\u0000\u0000" if found[0] == rb"\u0000" else found[0]

    return _ESCAPES.sub(marked, text)


def _with_lone(value: Any) -> Any:
    """Undo `_without_lone` in JSON values."""
    if isinstance(value, str):
        return _MARKS.sub(
            lambda found: found[1] if found[1] == "\0" else chr(int(found[1], 16)), value
        )
    if isinstance(value, dict):
        return {_with_lone(key): _with_lone(item) for key, item in value.items()}
    return [*map(_with_lone, value)] if isinstance(value, list) else value
