"""A job's report: one HTML file, offline, with a map of all units; and what a notebook shows of a job.

The map is drawn by a script of this package from six bytes a unit and a table of what units part at, so that 1,024
ranks in 100 iterations take less than 2 MB. Without scripts a picture stands in its place.
"""

from __future__ import annotations

import base64
import json
import zlib
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.scale.heatmap import (
    COLORS,
    SMALLEST,
    STATES,
    axes_of,
    cells,
    draw,
    size_of,
    state_of,
)
from workbench.scale.said import ranks_said
from workbench.show.plots.divergence import inline_svg
from workbench.show.templates import render

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from workbench.core.words import Message
    from workbench.scale.job import JobResult
    from workbench.scale.summary import FirstDivergence, UnitSummary

ROLES = {
    "origin": "job/role-origin",
    "communication": "job/role-communication",
    "received": "job/role-received",
    "carried": "job/role-carried",
    "open": "job/role-open",
}
"""Role of a group → code of its heading."""

_SHOWN = 200
"""Groups, failed units and the like that the report lists."""

_STEPS = 250
"""Steps of the color scale of errors; 251: NaN or infinite, 0: no error, 255: none was measured."""


def report_text(job: JobResult) -> str:
    """Return the report as one HTML document: the same job always gives the same text."""
    from markupsafe import Markup

    from workbench.show.assets import read_asset
    from workbench.show.report import page_policy

    script = read_asset("job.mjs") + read_asset("job_page.mjs")
    return render(
        "job.html.j2", styles=("parts", "report", "job"), policy=page_policy(script),
        script=Markup(script), data=Markup(base64.b64encode(packed_map(job)).decode()),
        svg=Markup(picture_svg(job)), words=MAP_WORDS, **_values(job),
    )  # fmt: skip


def summary_html(job: JobResult) -> str:
    """Return a static fragment for a notebook: sentence, groups and the picture; no script."""
    from markupsafe import Markup

    values = _values(job) | {"svg": Markup(picture_svg(job))}
    return render("job_repr.html.j2", styles=("parts", "job"), **values)


def _values(job: JobResult) -> dict[str, Any]:
    first, *more = job.sentence.values["clauses"]
    failed = [one for one in job.units if one.state == "failed"]
    diagnoses = {(one.rank, one.iteration): one for one in job.diagnoses}
    groups = [
        (one, ranks_said(one.ranks, job.node), _fed(one.fed_by, job.node),
         diagnoses.get((one.ranks[0], one.iteration)))
        for one in job.groups[:_SHOWN]
    ]  # fmt: skip
    return {
        "job": job, "first": first, "more": more, "groups": groups, "failed": failed[:_SHOWN],
        "apart": job.apart[:_SHOWN], "missing": job.missing[:_SHOWN], "counts": sorted(job.counts.items()),
        "shown": _SHOWN, "roles": ROLES, "found": job.found[:_SHOWN], "ledger": job.ledger[:_SHOWN],
    }  # fmt: skip


def _fed(ranks: Iterable[int], node: int) -> Message | None:
    ranks = [*ranks]
    return ranks_said(ranks, node) if ranks else None


def picture_svg(job: JobResult) -> str:
    """Return the map of verdicts as a picture, for where there is no script."""
    found = cells(job, "verdict")
    return inline_svg(
        lambda figure: draw(figure, found, "verdict"), "ranks and iterations", size_of(found)
    )


# --- the map -----------------------------------------------------------------------------------


MAP_WORDS = {
    name: f"job/map-{name}"
    for name in (
        "verdict", "error", "first", "nonfinite", "missing", "rank", "iteration", "command", "open", "joined", "none",
        "shown", "keys", "early", "late",
    )
} | {"error": "job/map-worst"}  # fmt: skip
"""What the map calls its words → their codes."""

_GRAVE = ("absent", "pass", "waiting", "inconclusive", "incomplete", "warn", "failed", "fail")
"""States of cells, the one last that is shown where several share a place."""


def map_data(job: JobResult) -> dict[str, Any]:
    """Return what the map shows: planes of bytes (a row a rank), and tables that they point into."""
    ranks, iterations = axes_of(job)
    at = {rank: row for row, rank in enumerate(ranks)}, {n: k for k, n in enumerate(iterations)}
    shape = len(ranks), len(iterations)
    planes = {name: np.zeros(shape, np.uint8) for name in ("state", "error", *_COUNTED)}
    planes["error"][:] = 255
    parts, names = np.zeros(shape, np.uint16), _names(job)
    for one in job.units:
        place = at[0][one.rank], at[1][one.iteration]
        planes["state"][place] = STATES.index(state_of(one))
        planes["error"][place] = _step(one)
        for name, count in _COUNTED.items():
            planes[name][place] = min(255, count(one)) if one.state == "done" else 0
        if one.earliest is not None:
            parts[place] = min(names[_name(one.earliest)], 65535)
    planes["part_low"], planes["part_high"] = (
        (parts & 255).astype(np.uint8),
        (parts >> 8).astype(np.uint8),
    )
    text = {name: base64.b64encode(one.tobytes()).decode() for name, one in planes.items()}
    first = _start(job)
    return {
        "ranks": ranks, "iterations": iterations, "planes": text, "names": [*names][:65535],
        "states": STATES, "colors": COLORS, "grave": _GRAVE, "smallest": SMALLEST, "steps": _STEPS,
        "target": job.target, "golden": job.golden, "joined": job.axes is not None,
        "start": [0, 0] if first is None else [at[0][first[0]], at[1][first[1]]],
    }  # fmt: skip


_COUNTED: dict[str, Callable[[UnitSummary], int]] = {
    "nonfinite": lambda one: one.nonfinite,
    "missing": lambda one: one.unmatched + one.uncompared,
}
"""Planes of counts; 255 stands for all that is more."""


def _names(job: JobResult) -> dict[str, int]:
    """Number the operators at which units part, from 1 on in order of execution."""
    found = [one.earliest for one in job.units if one.earliest is not None]
    found.sort(key=lambda one: one.order)
    names: dict[str, int] = {}
    for one in found:
        names.setdefault(_name(one), len(names) + 1)
    return names


def _name(one: FirstDivergence) -> str:
    return f"{one.op_type} {one.op_name}"


def _start(job: JobResult) -> tuple[int, int] | None:
    """Return the rank and iteration of the unit that is chosen at first: the earliest that is wrong."""
    if job.first is not None:
        first = (0 if job.axes else job.first.ranks[0]), job.first.iteration
        if any(one.place == first for one in job.units):
            return first
    wrong = [one for one in job.units if state_of(one) == "fail"]
    worst = min(wrong, key=lambda one: (one.iteration, one.rank), default=None)
    return None if worst is None else worst.place


def _step(one: UnitSummary) -> int:
    """An error as a step of a decimal scale from SMALLEST to 10."""
    if one.error is None:
        return 255
    if not np.isfinite(one.error):
        return _STEPS + 1
    if one.error <= 0:
        return 0
    share = (np.log10(one.error) - SMALLEST) / (1 - SMALLEST)
    return 1 + int(np.clip(share, 0, 1) * (_STEPS - 1))


def packed_map(job: JobResult) -> bytes:
    """Return `map_data` as JSON, packed by zlib."""
    text = json.dumps(map_data(job), separators=(",", ":"))
    return zlib.compress(text.encode("utf-8", "backslashreplace"), 9)
