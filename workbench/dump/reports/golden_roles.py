"""Roles of golden files: which of them repeat another, and which hold what nothing reads, as ``roles.csv`` says.

A golden without its model's graph cannot tell a copy whose elements are all alike from another tensor like it. Who made
the data knows, and says so. What is said is a hint and no proof: it opens no file, and readers look at the elements.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal

from workbench._values import NamedTuple
from workbench.core.words import Message
from workbench.dump.formats.ge_name import INPUTS, ROLES
from workbench.dump.formats.renamed import MANY

if TYPE_CHECKING:
    from collections.abc import Iterable

RoleName = Literal["copy", "unread"]

_HEADER = "file,role,of"
_FILE = re.compile(r"[^/\\,\0]+\.npy")


class Role(NamedTuple):
    """What a golden file is: a ``copy`` of another, ``of``, or ``unread`` (``of`` is empty).

    Files are called as they lie in the folder of the golden data; an input with its folder, ``inputs/x.npy``.
    """

    role: RoleName
    of: str = ""


def format_role(file: str, role: Role) -> str:
    r"""Return the line of a file.

    >>> format_role("drop.0.17.npy", Role("copy", "relu.0.16.npy"))
    'drop.0.17.npy,copy,relu.0.16.npy\n'
    """
    return f"{file},{role.role},{role.of}\n"


def header() -> str:
    """Return the first line."""
    return f"{_HEADER}\n"


def parse_roles(lines: Iterable[str]) -> tuple[dict[str, Role], list[Message]]:
    """Roles by file, and what is wrong with the other lines; of two lines for one file the later counts."""
    found: dict[str, Role] = {}
    wrong: list[Message] = []
    count = number = 0
    for number, line in enumerate(lines, 1):
        text = line.strip()
        if not text or (number == 1 and text == _HEADER):
            continue
        file, role = _parsed(text)
        if role is not None:
            found[file] = role
            continue
        count += 1
        if count <= MANY:
            wrong.append(Message("dump/role-row", place=f"{ROLES}:{number}", got=text[:120]))
    if count > MANY:
        place = f"{ROLES}:{number}"
        wrong.append(Message("dump/mapping-more", place=place, more=count - MANY))
    return found, wrong


def _parsed(line: str) -> tuple[str, Role | None]:
    """The file of a line and its role; ``None`` if it is no such line."""
    file, word, of = (*line.split(","), "", "")[:3]
    if line.count(",") != 2 or not _FILE.fullmatch(file):
        return file, None
    if word == "copy" and _FILE.fullmatch(of.removeprefix(f"{INPUTS}/")):
        return file, Role("copy", of)
    return file, Role("unread") if word == "unread" and not of else None
