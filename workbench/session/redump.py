"""The next configuration: a form that dumps the suspects of a comparison in full, and nothing else."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from workbench.config import load, new
from workbench.config.config import Config
from workbench.config.context import Context
from workbench.config.surface import SURFACES, get
from workbench.core.errors import WorkbenchError
from workbench.core.plan import BOTH, DumpPlan, Iterations, Selector
from workbench.core.text import escape, escape_whole
from workbench.core.words import Message
from workbench.core.writers import WRITERS, Writer

if TYPE_CHECKING:
    from collections.abc import Iterable

    from workbench.comparison.findings.next_dump import DumpRequest, NextDump
    from workbench.comparison.follow.trace import Trace
    from workbench.comparison.result import Finding, Side
    from workbench.core.words import Message
    from workbench.dump.dump import Dump


@dataclass(frozen=True)
class RedumpConfig:
    """A form that dumps the suspects in full.

    ``operators`` are the names in its list: the ``suspects``, what they read and what reads them. ``why``
    says what the dump at hand lacks (empty: nothing, the form confirms), ``losses`` what the surface cannot say.
    """

    config: Config
    suspects: tuple[str, ...]
    operators: tuple[str, ...]
    why: tuple[str | Message, ...] = ()
    losses: tuple[str, ...] = ()

    @property
    def surface(self) -> str:
        """Name of the surface."""
        return self.config.surface.name

    def save(self, path: str | Path) -> Path:
        """Write the form."""
        return self.config.save(path)

    def __str__(self) -> str:
        return self.config.to_text()

    def _repr_html_(self) -> str:
        words = "".join(f"<li>{escape(str(text))}</li>" for text in (*self.why, *self.losses))
        return f"<ul>{words}</ul><pre>{escape_whole(str(self))}</pre>"


def redump_config(
    flow: Trace,
    findings: Iterable[Finding],
    surface: str | None = None,
    side: Side = "target",
) -> RedumpConfig:
    """Return the form that dumps the first suspects in full.

    Parameters
    ----------
    flow : Trace
        What the comparison has learned.
    findings : iterable of Finding
        Its findings; the operators of the first defects are the suspects.
    surface : str, optional
        Whose form it is; guessed from the tree if left out.
    side : {"target", "golden"}
        Which run is to be dumped again; their names, and often their surfaces, differ.

    Raises
    ------
    WorkbenchError
        There is no defect to look into, or nothing tells whose form is wanted.
    ConfigError
        The surface is unknown.
    """
    from workbench.comparison.findings.next_dump import find_suspects

    found = find_suspects(flow, findings, side)
    if not found.asked:
        raise WorkbenchError("session/no-suspect")
    dump: Dump = getattr(flow.pairing, side).dump
    name = surface or infer_surface(dump)
    get(name)  # refuses a surface that is unknown
    version = dump.info.get("ms_version", "") if WRITERS[name].of_mindspore else ""
    base = _form_of_run(dump, name, Context(version))
    plan = _plan(name, base.plan(Context(version)), found)
    config, losses = _form(name, plan)
    operators = tuple(dict.fromkeys(one.name for one in found.asked))
    left = [one for one in operators if not _takes(config, one, Context(version))]
    if set(left) & {one.name for one in found.asked if one.suspect}:
        config, losses = _form(name, replace(plan, select=()))
        cannot = Message("session/unnamed-all", surface=name, names=left)
        return RedumpConfig(config, found.suspects, (), found.why, (*losses, str(cannot)))
    told = [str(Message("session/unnamed", surface=name, names=left))] if left else []
    kept = tuple(one for one in operators if one not in left)
    return RedumpConfig(config, found.suspects, kept, found.why, (*losses, *told))


def _form(name: str, plan: DumpPlan) -> tuple[Config, tuple[str, ...]]:
    lowered = get(name).from_plan(plan)
    return Config(get(name), lowered.data), tuple(map(str, lowered.unsupported))


def _takes(config: Config, name: str, context: Context) -> bool:
    """Whether a form's list names an operator; a file's name stands for every name that it may be of."""
    return any(entry.matches(name, "") for entry in config.plan(context).select)


def _folder(path: str) -> str:
    """Folder beside that of the run: what lies in it would be read together with the first dump."""
    stem = path.rstrip("/")
    return "./suspects" if stem == "." else f"{stem or '/dump'}_suspects"


def _plan(name: str, base: DumpPlan, found: NextDump) -> DumpPlan:
    """Return the plan of the form."""
    entries = (_selector(one, name) for one in found.asked)
    select = tuple(dict.fromkeys(entry for entry in entries if entry is not None))
    numbers = [(number, number) for number in found.iterations if number >= 0]
    return replace(
        base,
        path=_folder(base.path),
        kind="data",
        iterations=Iterations(tuple(numbers) or None),
        io=BOTH,
        select=select,
        omit=(),
        watched=(),
        saved="tensor",
        sample=None,
        level="all",
        files="bin" if WRITERS[name].containers else "npy",
        host_format=not WRITERS[name].containers,
    )


def _selector(asked: DumpRequest, surface: str) -> Selector | None:
    """Entry for one operator; of a name that files have changed an expression, where that is taken."""
    if not WRITERS[surface].is_simulated:
        return Selector("call", asked.name)
    if asked.certain:
        return Selector(
            "name", asked.name, model=asked.model if WRITERS[surface].operators_alone else ""
        )
    if not WRITERS[surface].by_mindspore:  # others take no expressions
        return None
    return Selector("regex", "".join("." if c in "_." else _literal(c) for c in asked.name))


def _literal(char: str) -> str:
    return f"[{char}]" if re.escape(char) != char and char not in "-^\\" else char


def infer_surface(dump: Dump) -> str:
    """Name the surface that wrote a tree; raises WorkbenchError if nothing tells."""
    layout = "mindspore" if dump.layout == "msprobe" else dump.layout
    rows = [row for row in WRITERS.values() if row.layout == layout]
    if not rows:
        raise WorkbenchError("session/tree-surface", known=list(SURFACES), layout=dump.layout)
    device = dump.info.get("device_target", dump.info.get("writer", "")).lower()
    models = {record.key.net_name for record in dump.records[:1]}
    models |= {graph.name for graph in dump.graphs.values()}
    ours = [row for row in rows if row.platform.lower() == device] or rows
    named = [row for row in ours if _names_models(row, models)]
    return (named or ours)[0].surface


def _names_models(writer: Writer, models: Iterable[str]) -> bool:
    """Whether a writer gives models such names: what stands before the first number of the run."""
    start = writer.model.partition("{")[0].rstrip("_")
    return not start or any(name.startswith(start) for name in models)


def _form_of_run(dump: Dump, name: str, context: Context) -> Config:
    """Return the form that the run left beside its dump, else the surface's first one."""
    copies = Path(dump.path).glob("rank_*/.dump_metadata/data_dump.json")
    for path in sorted(copies) if WRITERS[name].by_mindspore else ():
        try:
            config = load(path, name)
        except WorkbenchError:
            continue
        if config.accepted(context):
            return config
    return new(name)
