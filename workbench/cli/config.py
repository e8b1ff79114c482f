"""``workbench config``: build, check, explain, preview and convert dump configurations.

Exit status of ``check``: 0 accepted, 1 the vendor's reader of this form would refuse it, 2 trouble
(unreadable, undecodable, syntax error). Every other command: 0 or 2.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from workbench.cli.commands import Group, argument, option, repeated
from workbench.cli.options import (
    ENV,
    FUSION,
    GE_OPTIONS,
    HERE,
    JSON,
    PRECISION_MODE,
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

app = Group("config", help="Create, check, explain, preview and convert dump configurations.")

FILE = argument("file", metavar="FILE", help="Configuration file, or script that contains one.")


@app.command()
@FILE
@SURFACE
@VERSION
@HERE
@ENV
@JSON
def check(
    file: str, surface: str, target_version: str, here: bool, env: tuple[str, ...], json: bool
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
@argument("surface", help="Surface, e.g. mindspore-o0o1.")
def new(surface: str) -> int:
    """Print a minimal valid configuration."""
    from workbench import config

    print_text(config.new(surface).to_text(), nl=False)
    return Exit.ACCEPTED


@app.command()
@argument("what", metavar="FILE|SURFACE", help="Configuration file or surface.")
@argument("key", default="", metavar="[KEY]", help="Setting of the surface.")
@SURFACE
@VERSION
@HERE
@ENV
def explain(
    what: str, key: str, surface: str, target_version: str, here: bool, env: tuple[str, ...]
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
@FILE
@repeated(
    "--graph",
    required=True,
    help="Network: model, file.py:Name, graph file or dump (repeatable).",
)
@SURFACE
@option("--iterations", default=1, help="Number of iterations.")
@SCHEDULE
@option("--ranks", default=1, help="Number of ranks.")
@option("--device", default="a2", help="Device, as of simulate.")
@PRECISION_MODE
@FUSION
@GE_OPTIONS
@QUANTIZATION
@VERSION
@HERE
@ENV
@JSON
def preview(
    file: str,
    graph: tuple[str, ...],
    surface: str,
    iterations: int,
    schedule: str,
    ranks: int,
    device: str,
    precision_mode: str,
    fusion: str,
    ge_options: str,
    quantization: str,
    target_version: str,
    here: bool,
    env: tuple[str, ...],
    json: bool,
) -> int:
    """Forecast operators, files and bytes of a dump before the run."""
    from workbench.forecast.preview import preview as predict

    told: list[Message] = []
    form = _load(file, surface)
    asked = compiler_options(ge_options, precision_mode, fusion, told.append)
    result = predict(
        form,
        graph,
        context=_context(target_version, here, env),
        iterations=iterations,
        ranks=ranks,
        device=device,
        precision_mode=asked.precision,
        fusion=asked.fusion,
        quantization=quantization or None,
        schedule=places_of(schedule),
    )
    for said in told:
        print_lines(said, err=True)
    if json:
        print_json(result.to_dict())
    else:
        print_text(str(result))
    return Exit.ACCEPTED


@app.command()
@FILE
@option("--to", required=True, metavar="S", help="Surface to convert to.")
@SURFACE
@VERSION
@HERE
@ENV
def convert(
    file: str, to: str, surface: str, target_version: str, here: bool, env: tuple[str, ...]
) -> int:
    """Translate a configuration to another surface; stderr lists what is lost."""
    context = _context(target_version, here, env)
    result = _load(file, surface).convert(to, context)
    print_text(result.config.to_text(), nl=False)
    for loss in result.losses:
        print_lines(Message("cli/lost", loss=loss), err=True)
    return Exit.ACCEPTED


@app.command()
@FILE
@SURFACE
@VERSION
@ENV
def code(file: str, surface: str, target_version: str, env: tuple[str, ...]) -> int:
    """Print the shell and Python code that applies a configuration."""
    print_text(_load(file, surface).code(_context(target_version, False, env), file))
    return Exit.ACCEPTED


@app.command()
@argument("surface", help="Surface with a JSON configuration.")
def schema(surface: str) -> int:
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
