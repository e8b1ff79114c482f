"""A preview for programs (JSON), terminals (text) and notebooks (HTML without scripts)."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from workbench.config.surface import get
from workbench.core.text import shorten
from workbench.core.words import Message

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from workbench.forecast.forecast import Preview

SCHEMA = "workbench.preview/1"

SHOWN = 10
"""Lines of every list on a screen."""

WIDTH = 160


def to_dict(preview: Preview) -> dict[str, Any]:
    """Return JSON values; ``bytes`` leaves out files whose shape is unknown (``null``)."""
    files, size = preview.per_iteration
    return {
        "schema": SCHEMA,
        "surface": preview.surface,
        "version": preview.version,
        "kind": preview.kind,
        "graph": {"name": preview.graph, "operators": preview.operators},
        "matched": {
            "count": len(preview.selection.operators),
            "operators": list(preview.selection.operators),
        },
        "unmatched": [
            entry._asdict() | {"reason": str(entry.reason)} for entry in preview.selection.unmatched
        ],
        "silent": [
            {"op_name": name, "reason": str(reason)} for name, reason in preview.never_dumped
        ],
        "iterations": list(preview.iterations),
        "files": preview.files,
        "bytes": preview.bytes,
        "per_iteration": {"files": files, "bytes": size},
        "at_most": None
        if preview.bound is None
        else {"files": preview.bound.files, "bytes": preview.bound.nbytes},
        "statistic_rows": preview.forecast.rows,
        "folders": [{"path": f.path, "files": f.files, "bytes": f.bytes} for f in preview.folders],
        "first": list(preview.names[:SHOWN]),
        "names": [
            {"path": entry.path, "bytes": entry.size, "bound": entry.is_upper_bound}
            for entry in preview.forecast.files
        ],
        "exact": preview.exact,
        "doubts": list(map(str, preview.inexact_because)),
        "notes": list(map(str, preview.notes)),
        "slow_down": {"class": preview.overhead.name, "reason": str(preview.overhead.reason)},
        "disk": None
        if preview.disk is None
        else {
            "path": preview.disk.path,
            "free": preview.disk.free,
            "needed": preview.disk.needed,
            "fits": preview.disk.fits,
        },
    }


def to_text(preview: Preview) -> str:
    """Return a few dozen lines; long lists are cut and say so."""
    return "\n".join(_lines(preview))


def headline(preview: Preview) -> str:
    """Say in one sentence what will be written."""
    if preview.bound is not None:
        known = preview.bound.nbytes
        code = "headline-bound" if known is None else "headline-bound-size"
        values = {"files": preview.bound.files, "size": known, "why": preview.overhead.reason}
        return str(Message(f"forecast/{code}", **values))
    if preview.overhead.name == "unknown":
        return str(Message("forecast/headline-unknown", why=preview.overhead.reason))
    if not preview.iterations:
        values = {"files": preview.files, "size": preview.bytes}
        return str(Message("forecast/headline-none", **values))
    said = Message(
        "forecast/headline" if preview.exact else "forecast/headline-about",
        matched=len(preview.selection.operators),
        operators=preview.operators,
        iterations=len(preview.iterations),
        files=preview.files,
        size=preview.bytes,
    )
    return str(said)


def facts(preview: Preview) -> list[tuple[str, str]]:
    """What stands behind the sentence, a title and a text each."""
    found: list[tuple[str, object]] = []
    found.append(("graph", preview.graph or Message("forecast/unnamed-graph")))
    files, size = preview.per_iteration
    if files:
        found.append(("each", Message("forecast/per-iteration", files=files, size=size)))
    name, reason = preview.overhead.name, preview.overhead.reason
    found.append(("overhead", Message("forecast/overhead", name=name, reason=reason)))
    if preview.disk is not None:
        code = "disk-enough" if preview.disk.fits else "disk-short"
        said = Message(f"forecast/{code}", free=preview.disk.free, path=preview.disk.path)
        found.append(("disk", said))
    found += [("note", note) for note in preview.notes]
    found += [("doubt", doubt) for doubt in preview.inexact_because]
    return [(str(Message(f"forecast/title-{title}")), str(said)) for title, said in found]


def lists(preview: Preview) -> list[tuple[str, int, list[str]]]:
    """Title, length and first lines of every list that is not empty."""
    selection = preview.selection
    why = Counter(str(reason) for _, reason in preview.never_dumped).most_common(3)
    silent = [Message("forecast/silent-reason", count=n, reason=r) for r, n in why]
    folders = [
        Message("forecast/folder", path=f.path or ".", files=f.files, size=f.bytes)
        for f in preview.folders
    ]
    sure = "" if preview.bound is None else "-sure"
    found: list[tuple[Message, Sequence[object]]] = [
        (
            Message("forecast/title-unmet"),
            [f"{u.entry}  ({u.reason})" for u in selection.unmatched],
        ),
        (
            Message("forecast/title-silent", reasons=silent),
            [f"{name}  ({reason})" for name, reason in preview.never_dumped],
        ),
        (Message("forecast/title-matched"), selection.operators),
        (Message(f"forecast/title-folders{sure}"), folders),
        (Message(f"forecast/title-files{sure}"), preview.names),
    ]
    return [
        (str(title), len(lines), [shorten(str(line), WIDTH) for line in lines[:SHOWN]])
        for title, lines in found
        if lines
    ]


def _lines(preview: Preview) -> Iterator[str]:
    product = get(preview.surface).product
    values = {"surface": preview.surface, "product": product, "version": preview.version}
    yield str(Message("forecast/first-line", **values, headline=headline(preview)))
    for title, text in facts(preview):
        yield f"  {title}: {text}"
    for title, count, lines in lists(preview):
        yield f"{title} ({count:,}):"
        yield from (f"  {line}" for line in lines)
        if count > len(lines):
            yield f"  {Message('forecast/more', count=count - len(lines))}"


def to_html(preview: Preview) -> str:
    """Return a static fragment; everything from a graph or a form is escaped."""
    from workbench.show.templates import render

    return render(
        "preview.html.j2",
        styles=("parts",),
        preview=preview,
        headline=headline(preview),
        facts=facts(preview),
        lists=lists(preview),
    )
