"""Operators by a name that a user types: the whole, or its end."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

from workbench.core.errors import WorkbenchError

if TYPE_CHECKING:
    from collections.abc import Iterable

_MOST_NAMED = 5
"""Operators that an error names."""

_LONGEST = 100
"""Letters of a name that are compared where none is equal: names come from files, and may be of any length."""


def full_name(names: Iterable[str], wanted: str) -> str:
    """Return the name of the one operator that is called so, or whose name ends so.

    Raises WorkbenchError if several do or none, and names a few that do or are similar.
    """
    known = list(dict.fromkeys(filter(None, names)))
    if wanted in known:
        return wanted
    fits = [name for name in known if wanted and name.endswith(wanted)]
    if len(fits) == 1:
        return fits[0]
    if fits:
        few = fits[:_MOST_NAMED]
        raise WorkbenchError("session/operator-ambiguous", got=wanted, count=len(fits), known=few)
    near = similar_names(known, wanted)
    if not near:
        raise WorkbenchError("session/operator", got=wanted, count=len(known))
    raise WorkbenchError("session/operator-near", got=wanted, count=len(known), near=near)


def similar_names(known: Iterable[str], wanted: str) -> list[str]:
    """Return a few names that hold the wanted one, or else whose ends are spelled like it, the likest first.

    An end has as many parts between slashes as the wanted name.
    """
    looked = wanted.lower()[:_LONGEST]
    holding = [name for name in known if looked and looked in name.lower()]
    if holding:
        return holding[:_MOST_NAMED]
    parts = looked.count("/") + 1
    ends: dict[str, list[str]] = {}
    for name in known:
        ends.setdefault("/".join(name.lower().split("/")[-parts:])[:_LONGEST], []).append(name)
    near = difflib.get_close_matches(looked, ends, _MOST_NAMED)
    return [name for end in near for name in ends[end]][:_MOST_NAMED]
