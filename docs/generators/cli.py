"""The commands and their options, from click."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from generators.markdown import code, page, prose, table
from workbench.cli import app

if TYPE_CHECKING:
    from collections.abc import Iterator

INTRODUCTION = """\
`workbench COMMAND --help` prints the same. Results go to stdout; progress, warnings and errors go to stderr.
[Exit status](exit-status.md) lists what each command returns."""

GROUPS = (("argument", "Argument"), ("option", "Option"))


def commands(command: Any = None, name: str = "workbench") -> Iterator[tuple[str, Any]]:
    """Yield full name and command, those of groups included."""
    command = command or app
    inner = getattr(command, "commands", {})
    if not inner:
        yield name, command
    for part, one in inner.items():
        yield from commands(one, f"{name} {part}")


def cli() -> str:
    """Return the page."""
    parts = [section for name, command in commands() for section in _command(name, command)]
    return page("Command line", INTRODUCTION, *parts)


def _command(name: str, command: Any) -> Iterator[str]:
    context = click.Context(command, info_name=name)
    yield f"## {name}"
    yield prose(" ".join(command.help.split()))
    yield code(" ".join(command.get_usage(context).removeprefix("Usage: ").split()))
    for kind, title in GROUPS:
        records = [
            one.get_help_record(context) for one in command.params if one.param_type_name == kind
        ]
        rows = [(code(record[0]), prose(record[1])) for record in records if record]
        if rows:
            yield table((title, "Meaning"), rows)
