"""The errors of the workbench.

::

    WorkbenchError
    ├── ConfigError    a dump configuration breaks a rule (carries its problems)
    ├── GraphError     a graph cannot be traced, ordered or executed
    ├── FormatError    bytes, text or names break their format (starts with the place)
    ├── AlignError     golden and target cannot be paired at all
    └── OutputError    a file or folder of the result cannot be written

An error is a code with values, its sentence is made when somebody reads it (`workbench.core.words`).
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any, Self

from workbench.core.text import readable
from workbench.core.words import Message, sentence

if TYPE_CHECKING:
    from collections.abc import Iterable


class WorkbenchError(Exception):
    """Anything the workbench refuses; its text is meant for the user, so that no name in it is obeyed or hidden.

    Parameters
    ----------
    code : str
        ``area/name``, a row of a table of `workbench.core.words`.
    place : str
        File and line (``net.py:7``) or file and byte (``x.npy: byte 12``); stands before the sentence.
    **values
        What the sentence names.

    >>> error = WorkbenchError("core/choice", subject="device", got="a9", known=["910a", "a2"])
    >>> error.code, str(error.at("run.toml:3"))
    ('core/choice', "run.toml:3: unknown device 'a9' (choose from 910a, a2)")
    """

    def __init__(self, code: str, /, *, place: str = "", **values: Any) -> None:
        super().__init__(code)
        self.code = code
        self.place = place
        self.values = values

    def __str__(self) -> str:
        text = sentence(self.code, self.values)
        return readable(f"{self.place}: {text}" if self.place else text)

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self).__new__, (type(self), self.code), self.__dict__)

    def at(self, place: str) -> Self:
        """Return the same error at a place; a place that it has already comes behind.

        >>> str(WorkbenchError("core/missing", got="a.npy", place="byte 3").at("x.bin"))
        "x.bin: byte 3: 'a.npy' does not exist"
        """
        moved = copy.copy(self)
        moved.place = f"{place}: {self.place}" if self.place else place
        return moved

    @property
    def message(self) -> Message:
        """What the error says, to be kept: without the frames that an exception holds on to."""
        return Message(self.code, place=self.place, **self.values)


class ConfigError(WorkbenchError):
    """A dump configuration breaks at least one rule.

    ``problems`` are the breaches, each a `workbench.core.problems.Problem`.
    """

    def __init__(self, problems: Iterable[Any]) -> None:
        self.problems = tuple(problems)
        super().__init__("config/problems", problems=self.problems)


class GraphError(WorkbenchError):
    """A graph cannot be traced, ordered or executed."""


class FormatError(WorkbenchError):
    """Bytes, text or a name break their format; the message starts with the place."""


class AlignError(WorkbenchError):
    """Golden and target cannot be paired at all."""


class OutputError(WorkbenchError):
    """A file or folder of the result cannot be written: what was asked for is not there, or not whole.

    It says nothing of what is read, so that whoever notes damaged input and goes on never takes it for that.
    """


def check_seed(seed: Any, subject: str = "seed") -> None:
    """Raise GraphError for what is no seed: seeds are whole numbers from 0 on."""
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        raise GraphError("core/seed", subject=subject, got=seed)
