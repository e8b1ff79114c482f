"""The help of every command, as one file that a person reads."""

from __future__ import annotations

from inspect import cleandoc
from pathlib import Path

import click

from workbench.cli import app

SNAPSHOT = Path(__file__).with_name("cli_help.txt")


def helps(command: click.Command, name: str):
    """What a command and all below it say of themselves; how that is laid out is click's affair."""
    lines = [f"$ {name}", f"  {cleandoc(command.help or '')}"]
    for one in command.params:
        words = getattr(one, "help", "")
        if words and "--help" not in one.opts:
            lines.append(f"  {', '.join(one.opts)}: {words}")
    yield "\n".join(lines) + "\n"
    for below, one in sorted(getattr(command, "commands", {}).items()):
        yield from helps(one, f"{name} {below}")


def test_the_help_of_every_command(pytestconfig):
    text = "\n".join(helps(app, "workbench"))
    if pytestconfig.getoption("update_words"):
        SNAPSHOT.write_text(text, encoding="utf-8")
    assert text == SNAPSHOT.read_text(encoding="utf-8")
