"""A preview for programs (JSON), terminals (text) and notebooks (HTML without scripts)."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from workbench.core.text import plural, shorten
from workbench.dump.write.cost import readable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from workbench.pipeline.foretold import Foretold

SCHEMA = "workbench.preview/1"

SHOWN = 10
"""Lines of every list on a screen."""

WIDTH = 160


def to_dict(preview: Foretold) -> dict[str, Any]:
    """Return JSON values; ``bytes`` leaves out files whose shape is unknown (``null``)."""
    files, size = preview.per_iteration
    return {
        "schema": SCHEMA,
        "surface": preview.surface,
        "version": preview.version,
        "kind": preview.kind,
        "graph": {"name": preview.graph, "operators": preview.operators},
        "matched": {
            "count": len(preview.matches.operators),
            "operators": list(preview.matches.operators),
        },
        "unmatched": [entry._asdict() for entry in preview.matches.unmet],
        "silent": [{"op_name": name, "reason": str(reason)} for name, reason in preview.silent],
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
            {"path": entry.path, "bytes": entry.size, "bound": entry.bound}
            for entry in preview.forecast.files
        ],
        "exact": preview.exact,
        "doubts": list(map(str, preview.doubts)),
        "notes": list(preview.notes),
        "slow_down": {"class": preview.slow_down.name, "reason": str(preview.slow_down.reason)},
        "disk": None
        if preview.disk is None
        else {
            "path": preview.disk.path,
            "free": preview.disk.free,
            "needed": preview.disk.needed,
            "fits": preview.disk.fits,
        },
    }


def to_text(preview: Foretold) -> str:
    """Return a few dozen lines; long lists are cut and say so."""
    return "\n".join(_lines(preview))


def headline(preview: Foretold) -> str:
    """Say in one sentence what will be written."""
    if preview.bound is not None:
        known = preview.bound.nbytes
        size = "" if known is None else f", {readable(known)}"
        return f"At most {plural(preview.bound.files, 'file')}{size}: {preview.slow_down.reason}."
    if preview.slow_down.name == "unknown":
        return f"Nothing can be foretold: {preview.slow_down.reason}."
    count, every = len(preview.matches.operators), preview.operators
    about = "" if preview.exact else "about "
    times = plural(len(preview.iterations), "iteration")
    files, size = plural(preview.files, "file"), readable(preview.bytes)
    match = "matches" if count == 1 else "match"
    write = "writes" if len(preview.iterations) == 1 else "write"
    what = f"{about}{files}, {size}"
    return f"{count:,} of {plural(every, 'operator')} {match}; {times} {write} {what}."


def facts(preview: Foretold) -> list[tuple[str, str]]:
    """What stands behind the sentence, a title and a text each."""
    found = [("graph", preview.graph or "without a name")]
    files, size = preview.per_iteration
    if files:
        found.append(("one iteration", f"{plural(files, 'file')}, {readable(size)}"))
    found.append(("slow-down", f"{preview.slow_down.name}: {preview.slow_down.reason}"))
    if preview.disk is not None:
        fits = "enough" if preview.disk.fits else "NOT ENOUGH"
        found.append(("disk", f"{readable(preview.disk.free)} free at {preview.disk.path}: {fits}"))
    found += [("note", note) for note in preview.notes]
    found += [("not exact", str(doubt)) for doubt in preview.doubts]
    return found


def lists(preview: Foretold) -> list[tuple[str, int, list[str]]]:
    """Title, length and first lines of every list that is not empty."""
    matches = preview.matches
    why = Counter(str(reason) for _, reason in preview.silent)
    silent = [f"{name}  ({reason})" for name, reason in preview.silent]
    silent_title = "never dump: " + "; ".join(f"{n} because {r}" for r, n in why.most_common(3))
    folders = [
        f"{f.path or '.'}  {plural(f.files, 'file')}, {readable(f.bytes)}" for f in preview.folders
    ]
    always = "" if preview.bound is None else ", whatever happens"
    found: list[tuple[str, Sequence[str]]] = [
        ("entries that match nothing", [f"{u.entry}  ({u.reason})" for u in matches.unmet]),
        (silent_title, silent),
        ("operators that match", matches.operators),
        (f"folders{always}", folders),
        (f"first files{always}", preview.names),
    ]
    return [
        (title, len(lines), [shorten(line, WIDTH) for line in lines[:SHOWN]])
        for title, lines in found
        if lines
    ]


def _lines(preview: Foretold) -> Iterator[str]:
    yield f"{preview.surface} {preview.version}".rstrip() + f": {headline(preview)}"
    for title, text in facts(preview):
        yield f"  {title}: {text}"
    for title, count, lines in lists(preview):
        yield f"{title} ({count:,}):"
        yield from (f"  {line}" for line in lines)
        if count > len(lines):
            yield f"  … and {count - len(lines):,} more"


def to_html(preview: Foretold) -> str:
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
