"""``workbench config``: build, check, explain, preview and convert dump configurations.

Exit status of ``check``: 0 accepted, 1 the vendor's reader of this form would refuse it, 2 trouble
(unreadable, undecodable, syntax error). Every other command: 0 or 2.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated

import typer

from workbench.cli.options import (
    ENV,
    FUSION,
    GE_OPTIONS,
    HERE,
    JSON,
    QUANTIZATION,
    SCHEDULE,
    SURFACE,
    VERSION,
    compiler_options,
    places_of,
    variables,
)
from workbench.cli.terminal import Exit, print_json, print_lines, print_text
from workbench.core.errors import FormatError
from workbench.core.words import Message

if TYPE_CHECKING:
    from collections.abc import Sequence

    from workbench.config import Config, Context
    from workbench.core.problems import Problem

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    help="Create, check, explain, preview and convert dump configurations.",
)

FILE = Annotated[
    str, typer.Argument(metavar="FILE", help="Configuration file, or script that contains one.")
]


@app.command()
def check(
    file: FILE,
    surface: SURFACE = "",
    target_version: VERSION = "",
    here: HERE = False,
    env: ENV = None,
    json: JSON = False,
) -> int:
    """Show what the vendor refuses, changes or ignores. Exit status: 0 accepted, 1 refused, 2 trouble."""
    from workbench.cli.verdict import unreadable_json, verdict_json, verdict_message

    context = _context(target_version, here, env)
    try:
        config = _load(file, surface)
    except FormatError as error:
        if json:
            print_json(unreadable_json(error, surface, target_version))
        raise
    judged = config.judge(context)
    if json:
        print_json(verdict_json(judged))
    else:
        print_lines(verdict_message(judged), *_lines(file, judged.problems))
    return Exit.ACCEPTED if judged.accepted else Exit.REFUSED


@app.command()
def new(surface: Annotated[str, typer.Argument(help="Surface, e.g. mindspore-o0o1.")]) -> int:
    """Print a minimal valid configuration."""
    from workbench import config

    print_text(config.new(surface).to_text(), nl=False)
    return Exit.ACCEPTED


@app.command()
def explain(
    what: Annotated[
        str, typer.Argument(metavar="FILE|SURFACE", help="Configuration file or surface.")
    ],
    key: Annotated[str, typer.Argument(metavar="[KEY]", help="Setting of the surface.")] = "",
    surface: SURFACE = "",
    target_version: VERSION = "",
    here: HERE = False,
    env: ENV = None,
) -> int:
    """Explain what a configuration does, or list the settings and rules of a surface."""
    from workbench import config
    from workbench.config.help import surface_help

    if what in config.SURFACES:
        print_text(surface_help(config.get(what), key))
    else:
        context = _context(target_version, here, env)
        print_text(_load(what, surface).explain(context))
    return Exit.ACCEPTED


@app.command()
def preview(
    file: FILE,
    graph: Annotated[
        list[str],
        typer.Option(help="Network: model, file.py:Name, graph file or dump (repeatable)."),
    ],
    surface: SURFACE = "",
    iterations: Annotated[int, typer.Option(help="Number of iterations.")] = 1,
    schedule: SCHEDULE = "",
    ranks: Annotated[int, typer.Option(help="Number of ranks.")] = 1,
    device: Annotated[str, typer.Option(help="Device, as of simulate.")] = "a2",
    precision_mode: Annotated[str, typer.Option(help="Precision mode, e.g. force_fp16.")] = "",
    fusion: FUSION = "",
    ge_options: GE_OPTIONS = "",
    quantization: QUANTIZATION = "",
    target_version: VERSION = "",
    here: HERE = False,
    env: ENV = None,
    json: JSON = False,
) -> int:
    """Forecast operators, files and bytes of a dump before the run."""
    from workbench.forecast.preview import preview as predict

    form = _load(file, surface)
    asked = compiler_options(ge_options, precision_mode, fusion)
    result = predict(
        form,
        tuple(graph),
        context=_context(target_version, here, env),
        iterations=iterations,
        ranks=ranks,
        device=device,
        precision_mode=asked.precision,
        fusion=asked.fusion,
        quantization=quantization or None,
        schedule=places_of(schedule),
    )
    if json:
        print_json(result.to_dict())
    else:
        print_text(str(result))
    return Exit.ACCEPTED


@app.command()
def convert(
    file: FILE,
    to: Annotated[str, typer.Option(metavar="S", help="Surface to convert to.")],
    surface: SURFACE = "",
    target_version: VERSION = "",
    here: HERE = False,
    env: ENV = None,
) -> int:
    """Translate a configuration to another surface; stderr lists what is lost."""
    context = _context(target_version, here, env)
    result = _load(file, surface).convert(to, context)
    print_text(result.config.to_text(), nl=False)
    for loss in result.losses:
        print_lines(Message("cli/lost", loss=loss), err=True)
    return Exit.ACCEPTED


@app.command()
def code(
    file: FILE,
    surface: SURFACE = "",
    target_version: VERSION = "",
    env: ENV = None,
) -> int:
    """Print the shell and Python code that applies a configuration."""
    print_text(_load(file, surface).code(_context(target_version, False, env), file))
    return Exit.ACCEPTED


@app.command()
def schema(
    surface: Annotated[str, typer.Argument(help="Surface with a JSON configuration.")],
) -> int:
    """Print the JSON Schema of a configuration, for editors."""
    from workbench import config

    print_json(config.json_schema(config.get(surface)))
    return Exit.ACCEPTED


def _load(file: str, surface: str) -> Config:
    from workbench import config

    return config.load(file, surface)


def _context(version: str, here: bool, env: Sequence[str] | None) -> Context:
    """Return what to judge by: this process's environment with the variables of ``--env``."""
    from workbench.config import Context

    context = Context(version, {**os.environ, **variables(env)}, here)
    context.release()  # refuses what is no version
    return context


def _lines(file: str, problems: Sequence[Problem]) -> list[Message]:
    lines = []
    for problem in problems:
        place = f"{file}:{problem.line}" if problem.line else file
        code = "cli/problem-code" if problem.code else "cli/problem"
        values = {"severity": problem.severity, "code": problem.code, "id": problem.id}
        lines.append(Message(code, place=place, **values, said=problem))
    return lines
