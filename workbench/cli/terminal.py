"""How a command answers: what it prints, and its exit status.

Everything that is printed goes through here, so that no name in it is obeyed by a terminal.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from enum import IntEnum
from typing import TYPE_CHECKING, Any

import click

from workbench.core.errors import WorkbenchError
from workbench.core.text import json_visible, one_line, visible, visible_lines
from workbench.core.words import Message

if TYPE_CHECKING:
    from collections.abc import Callable


class Exit(IntEnum):
    """Exit statuses; those of one number mean the same to a shell."""

    DONE = AGREE = ACCEPTED = 0
    DIVERGE = REFUSED = NOTHING_DUMPED = 1
    TROUBLE = 2
    UNDECIDED = 3


STATUS_OF_VERDICT = {
    "pass": Exit.AGREE,
    "warn": Exit.AGREE,
    "fail": Exit.DIVERGE,
    "incomplete": Exit.UNDECIDED,
    "inconclusive": Exit.UNDECIDED,
}
"""Exit status of each verdict, of a comparison and of a job."""

_INDENT = " " * len("error: ")


def print_lines(*lines: object, err: bool = False) -> None:
    """Print lines for a person; none of them becomes two, whatever the names in it hold."""
    _print("\n".join(map(one_line, lines)), err=err)


def print_text(text: str, *, nl: bool = True) -> None:
    """Print a text whole, such as a form; only what a terminal would obey is written out."""
    _print(visible_lines(text), nl=nl)


def print_json(value: dict[str, Any]) -> None:
    """Print JSON that reads as exactly ``value``."""
    from json import dumps

    _print(json_visible(dumps(value, indent=1, ensure_ascii=False)))


def flush() -> None:
    """Write what is left of stdout; raises WorkbenchError where that fails, as everything here that prints."""
    if sys.stdout is None:  # the shell has closed it
        return
    try:
        sys.stdout.flush()
    except OSError as error:
        raise _unprinted(error, err=False) from error


def _print(text: str, *, nl: bool = True, err: bool = False) -> None:
    try:
        click.echo(text, nl=nl, err=err)
    except OSError as error:
        raise _unprinted(error, err=err) from error


def _unprinted(error: OSError, *, err: bool) -> WorkbenchError:
    """Give up a stream: what it still holds would fail once more when the process ends, with another status."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, (sys.stderr if err else sys.stdout).fileno())
    except (OSError, ValueError):  # no file behind it: nothing is flushed later
        pass
    finally:
        os.close(nowhere)
    name = "stderr" if err else "stdout"
    return WorkbenchError("cli/stream", name=name, why=error.strerror or error)


def print_error(error: object) -> None:
    """Print an error; its further lines are indented, so that none of them passes for one of ours."""
    first, *rest = visible_lines(Message("cli/error", why=error)).split("\n")
    with suppress(WorkbenchError):  # the exit status tells where stderr cannot
        print_lines(first, *(_INDENT + line for line in rest), err=True)


def progress(unit: str = "tensors") -> Callable[[int, int, str], None] | None:
    """Return a progress bar on a terminal, nothing elsewhere; it redraws ten times a second."""
    if not sys.stderr.isatty():
        return None
    from tqdm import tqdm

    bar: Any = tqdm(unit=f" {unit}", mininterval=0.1, file=sys.stderr, leave=False)

    def show(done: int, total: int, name: str) -> None:
        bar.total = total or None
        bar.set_postfix_str(visible(name[-40:])[-40:], refresh=False)
        bar.update(done - bar.n)
        if done == total > 0:
            bar.close()

    return show
