"""The command line, run in the process of the tests, and what it printed."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from workbench.cli import main


class Ran(NamedTuple):
    """How a command ended and what it printed."""

    status: int
    out: str
    err: str


def status(*arguments: object) -> int:
    """Exit status of a command; what it prints is left to whoever captures it."""
    with pytest.raises(SystemExit) as end:
        main([str(argument) for argument in arguments])
    return end.value.code


def run(capsys, *arguments: object) -> Ran:
    """Exit status, stdout and stderr of a command."""
    return Ran(status(*arguments), *capsys.readouterr())
