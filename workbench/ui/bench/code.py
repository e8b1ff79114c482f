"""Python that makes what was clicked; every panel offers its own."""

from __future__ import annotations

from dataclasses import fields
from pprint import pformat
from textwrap import indent
from typing import TYPE_CHECKING

from workbench.core.text import escape, escape_whole
from workbench.ui.bench.own_graphs import variable_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from workbench.config import Config
    from workbench.ui.bench.map_file import MapFile
    from workbench.ui.bench.trees import Trees


def code_html(title: str, code: str) -> str:
    """Return code that a reader may unfold."""
    text = f'<pre tabindex="0">{escape_whole(code)}</pre>'
    return f"<details><summary>{escape(title)}</summary>{text}</details>"


def config_code(config: Config) -> str:
    """Return the expression that makes an equal form, in lines of bearable length."""
    try:
        data = pformat(dict(config.data), width=92, sort_dicts=False)
    except RecursionError:  # a form that nobody means can be nested deeper than pformat goes
        data = repr(dict(config.data))
    return f"wb.config.of(\n    {config.surface.name!r},\n{indent(data, '    ')},\n)"


def bench_code(arguments: Iterable[str], map_file: MapFile) -> str:
    """Return lines that make a workbench of arguments and run it: ``comparison`` is what comes of it."""
    lines = ["import workbench as wb", "", "bench = wb.Workbench("]
    lines += [f"{indent(line, '    ')}," for line in arguments]
    lines += [")", *map_code(map_file), "comparison = bench.run()"]
    return "\n".join(lines) + "\n"


def rehearsal_code(config: Config, graph: object, settings: Mapping[str, object]) -> list[str]:
    """Return arguments of a rehearsal; a graph object of the user's own stands there by its name."""
    name = repr(graph) if isinstance(graph, str) else variable_of(graph)
    return [config_code(config), name, *(f"{key}={value!r}" for key, value in settings.items())]


def trees_code(trees: Trees) -> list[str]:
    """Return arguments that compare trees."""
    plain = [f"{side}={getattr(trees, side)!r}" for side in ("target", "golden")]
    if not trees.options:
        return plain
    given = ((field.name, getattr(trees, field.name)) for field in fields(trees))
    inner = [f"    {name}={value!r}," for name, value in given if value not in ("", None, ())]
    return ["\n".join(["trees=wb.Trees(", *inner, ")"])]


def job_code(folder: str) -> str:
    """Return lines that read a job: ``job`` is its result."""
    return f"import workbench as wb\n\njob = wb.read_job({folder!r})\n"


def unit_code(folder: str, rank: int, iteration: int) -> str:
    """Return lines that compare a unit of a job: ``comparison`` is what comes of it."""
    return f"{job_code(folder)}comparison = job.comparison({rank}, {iteration})\n"


def map_code(map_file: MapFile) -> list[str]:
    """Return lines that say by hand what the map file of ``bench`` says."""
    overrides = map_file.overrides
    lines = [f"bench.map_file.match({[*m.target]!r}, {[*m.golden]!r})" for m in overrides.matches]
    lines += [
        f"bench.map_file.ignore({i.name!r}, {i.side!r}, {i.reason!r})" for i in overrides.ignore
    ]
    lines += [
        f"bench.map_file.tolerate({t.relative_error!r}, {t.reason!r}, {t.name!r}, {t.op_type!r})"
        for t in overrides.tolerances
    ]
    return lines
