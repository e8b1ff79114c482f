"""State of a workbench as a small JSON file beside the notebook; a restarted kernel goes on with it.

Schema ``workbench.session/1``: settings, map file, what the report shall hold, and what was looked at. Numbers
of a comparison are not kept: trees are compared and rehearsals run again.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal, Protocol

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from workbench import config as configs
from workbench.compare.overrides import parse_overrides, to_data
from workbench.compare.profiles import NOISE_FLOOR
from workbench.core.errors import FormatError, WorkbenchError
from workbench.core.files import file_content
from workbench.pipeline.compare import write_text
from workbench.ui.export import Export
from workbench.ui.map_file import MapFile
from workbench.ui.trees import Trees

SCHEMA: Literal["workbench.session/1"] = "workbench.session/1"

MAX_BYTES = 1 << 26
"""Largest file that is read."""


def session_path() -> Path:
    """Return where the session of this notebook lies: beside it, under its name; else in the working folder."""
    notebook = os.environ.get("JPY_SESSION_NAME", "")
    name = Path(notebook).stem if notebook.endswith(".ipynb") else "workbench"
    return Path(f"{name}.session.json")


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


class _Export(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)
    title: str = ""
    notes: str = ""
    sections: list[str] = list(Export().sections)
    pins: list[str] = []


class _Session(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, populate_by_name=True)
    written: Literal["workbench.session/1"] = Field(SCHEMA, alias="schema")
    surface: str
    config: dict[str, Any]
    graph: str | None = None
    rehearsing: bool = True
    device: str = "a2"
    faults: list[str] = []
    precision_mode: str | None = None
    seed: int = 0
    iterations: int = 1
    ranks: int = 1
    profile: str = NOISE_FLOOR
    language: str = "en"
    trees: _Trees = _Trees()
    export: _Export = _Export()
    map_file: dict[str, Any] = {}


PLAIN = (
    *("rehearsing", "device", "precision_mode", "seed"),
    *("iterations", "ranks", "profile", "language"),
)
"""Settings that are kept as they are."""


class Stateful(Protocol):
    """What has settings to keep: a workbench."""

    config: Any
    graph: Any
    faults: Any
    trees: Any
    export: Any
    map_file: MapFile


def session_data(bench: Stateful) -> dict[str, Any]:
    """Return the state as JSON values; a graph object of the user's own is left out."""
    return {
        "schema": SCHEMA,
        "surface": bench.config.surface.name,
        "config": dict(bench.config.data),
        "graph": bench.graph if isinstance(bench.graph, str) else None,
        "faults": list(bench.faults),
        "trees": _listed(asdict(bench.trees)),
        "export": _listed(asdict(bench.export)),
        "map_file": to_data(bench.map_file.overrides),
        **{name: getattr(bench, name) for name in PLAIN},
    }


def _listed(values: dict[str, Any]) -> dict[str, Any]:
    return {key: [*item] if isinstance(item, tuple) else item for key, item in values.items()}


def _paired(values: dict[str, Any]) -> dict[str, Any]:
    return {key: tuple(item) if isinstance(item, list) else item for key, item in values.items()}


def save_session(bench: Stateful, path: str | Path) -> Path:
    """Write the session file, whole or not at all."""
    text = json.dumps(session_data(bench), ensure_ascii=True, indent=1)
    return write_text(path, text + "\n")


def read_session(path: str | Path) -> dict[str, Any]:
    """Return the arguments of the workbench of a session file; raises FormatError with file and key if it is none."""
    text = file_content(Path(path), MAX_BYTES, "session file")
    try:
        return _arguments(_Session.model_validate_json(text))
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"])) or "session file"
        message = f"{path}: {place} must be as it was saved, got {str(first['input'])[:60]!r}: {first['msg']}"
        raise FormatError(message) from error
    except WorkbenchError as error:
        raise FormatError(f"{path}: {error}") from error


def _arguments(read: _Session) -> dict[str, Any]:
    return {
        "config": configs.of(read.surface, read.config),
        "graph": read.graph or "lenet",
        "faults": tuple(read.faults),
        "trees": Trees(**_paired(read.trees.model_dump())),
        "export": Export(**_paired(read.export.model_dump())),
        "map_file": MapFile(parse_overrides(read.map_file)),
        **{name: getattr(read, name) for name in PLAIN},
    }
