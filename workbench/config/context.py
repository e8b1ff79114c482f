"""What a configuration is judged by: vendor version, environment, and whether paths are looked at."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path

from workbench.core.errors import FormatError

GUIDE = "guide"
"""Version of the vendor's documents."""

_DIGITS = re.compile(r"[0-9]{1,9}")
_NOTHING: Mapping[str, str] = {}


@dataclass(frozen=True, slots=True)
class Context:
    """Inputs of a check, so that it never guesses.

    Attributes
    ----------
    version : str
        Version of the vendor's software (``2.7``); empty: the one that the surface is written for; `GUIDE`: that of
        the vendor's documents, whose word then counts.
    env : mapping
        Environment variables of the process that will run.
    here : bool
        Whether that process runs on this machine, so that paths can be looked at.
    device, rank : int
        Device and rank of that process.
    guide : bool
        Whether the vendor's guide is asked where its released code does something else (`workbench.config.guide`).
    """

    version: str = ""
    env: Mapping[str, str] = field(default_factory=lambda: _NOTHING)
    here: bool = False
    device: int = 0
    rank: int = 0
    guide: bool = False

    def variable(self, name: str) -> str:
        """Value of an environment variable; empty if it is not set."""
        return self.env.get(name, "")

    def number(self, name: str, other: int) -> int:
        """Value of an environment variable of at most nine digits; ``other`` if it is none."""
        named = self.variable(name)
        return int(named) if _DIGITS.fullmatch(named) else other

    def elsewhere(self) -> Context:
        """Return the same context for another vendor's form, whose version is another."""
        return replace(self, version="")

    def release(self) -> tuple[int, ...]:
        """Numbers of ``version``; a suffix (``2.7.0rc1``) is left out.

        >>> Context("2.7.0rc1").release() < Context("2.10").release()
        True
        """
        return () if self.version == GUIDE else version_numbers(self.version)

    @property
    def written_by(self) -> str:
        """Release that is asked to write, empty if none is: a guide writes nothing."""
        return "" if self.version == GUIDE else self.version

    def usable_folder(self, path: str) -> bool:
        """Whether a folder exists and can be read and written; true unless ``here``."""
        if not self.here:
            return True
        try:
            return Path(path).is_dir() and os.access(path, os.R_OK | os.W_OK)
        except (OSError, ValueError):
            return False

    def own_folder(self, path: str) -> bool:
        """Whether a folder can be used that is no link to one; a slash behind a link asks for what it leads to.

        So npu_bridge and the graph engine ask (``mmIsDir``, which is ``lstat``).
        """
        return self.usable_folder(path) and not (self.here and os.path.islink(path))

    def file_exists(self, path: str) -> bool:
        """Whether a regular file exists; true unless ``here``."""
        if not self.here:
            return True
        try:
            return Path(path).is_file()
        except (OSError, ValueError):
            return False


@lru_cache(256)
def version_numbers(version: str) -> tuple[int, ...]:
    """Leading numbers of a version text; raises FormatError if it begins with none.

    >>> version_numbers("8.0.RC3"), version_numbers("2.10.0rc1")
    ((8, 0), (2, 10, 0))
    """
    numbers: list[int] = []
    for piece in version.split("."):
        digits = _DIGITS.match(piece)
        if digits is None:
            break
        numbers.append(int(digits[0]))
        if digits[0] != piece:
            break
    if version and not numbers:
        raise FormatError("config/version-text", got=version)
    return tuple(numbers)


def is_before(numbers: tuple[int, ...], since: str) -> bool:
    """Whether a version is older than another; ``26`` is as old as ``26.0``, unknown is not older.

    >>> is_before((26,), "26.0"), is_before((7, 3), "26.0"), is_before((), "26.0")
    (False, True, False)
    """
    other = version_numbers(since)
    length = max(len(numbers), len(other))
    padded = [(*part, *[0] * (length - len(part))) for part in (numbers, other)]
    return bool(numbers) and padded[0] < padded[1]
