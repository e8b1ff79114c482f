"""Every rule of ``acl.json``, and the order in which acl, adump and GE meet what is wrong."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from workbench.config.acl.refusals import ENTRIES, IGNORED, PATHS, PHASES, VALUES
from workbench.config.acl.settings import ACL_PARSER, CHOSEN, Blacklist, Dump, Item, Range
from workbench.config.acl.warnings import WARNINGS
from workbench.config.form.paths import lookup, steps
from workbench.core.problems import Problem
from workbench.core.words import Message

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

MAX_BYTES = 10 * 1024 * 1024
MAX_NESTING = 10

RULES = (*VALUES, *(rule for phase in PHASES for rule in phase), *IGNORED, *WARNINGS)

_PLACE = {
    rule.id: (phase, index)
    for phase, rules in enumerate(PHASES)
    for index, rule in enumerate(rules)
}
_PATH_PHASE, _LIST_PHASE = PHASES.index(PATHS), PHASES.index(ENTRIES)
_TYPES, _ITEM_TYPES = list(Dump.fields), list(Item.fields)
_INNER_TYPES = [*Blacklist.fields, *Range.fields]
_VALUES = (*CHOSEN, "dump_kernel_data", "dump_stats")

_TEXT, _TYPE, _VALUE, _RULE, _LATER = range(5)
_BRACKETS = re.compile(r"[{}\[\]]")


def order(problem: Problem, data: Mapping[str, Any]) -> tuple[int, ...]:
    """Return the key by which problems are sorted: the text, all types, all values, then rules.

    What refuses comes before what warns, because the vendor stops at the first refusal.
    """
    if problem.severity != "error":
        return (_LATER,)
    if problem.source == ACL_PARSER:
        return (_TEXT,)
    way = steps(problem.path)
    if problem.id == "missing":
        return (_RULE, _PATH_PHASE, 0, 0)
    if problem.id in _PLACE:
        phase, index = _PLACE[problem.id]
        entry = next(_numbers(way), 0) if phase == _LIST_PHASE else 0
        return (_RULE, phase, entry, index)
    if problem.id == "stats-value" or _is_choice(way, lookup(data, problem.path)):
        return (_VALUE, _VALUES.index(str(way[1])), *_numbers(way))
    return (_TYPE, *_type_place(way))


def _is_choice(way: list[str | int], value: Any) -> bool:
    return len(way) == 2 and way[1] in _VALUES and isinstance(value, str) and way[1] != "dump_stats"


def _numbers(way: list[str | int]) -> Iterator[int]:
    return (step for step in way if isinstance(step, int))


def _type_place(way: list[str | int]) -> Iterator[int]:
    """Yield the place of each step among its siblings; an entry that is no object comes first."""
    for level, step in enumerate(way[1:]):
        if isinstance(step, int):
            if level == 3:  # all entries of a blacklist or range are objects before any is read
                yield int(len(way) > 5)
            yield step
        else:
            keys = {0: _TYPES, 2: _ITEM_TYPES}.get(level, _INNER_TYPES)
            yield keys.index(step) if step in keys else len(keys)


def examine(text: str) -> Iterator[Problem]:
    """Yield what acl refuses before it reads the JSON: size, and depth counted by brackets."""
    size = len(text.encode("utf-8", "replace")) if len(text) * 4 > MAX_BYTES else 0
    if size > MAX_BYTES:
        said = Message("config/file-size", got=size, limit=MAX_BYTES)
        code = "ACL_ERROR_INVALID_FILE"
        advice = Message("config/file-size-advice")
        yield Problem("file-size", "error", "", said, advice, code=code, source=ACL_PARSER)
        return
    depths = _depths(text)
    for bracket, kind in (("{", "object"), ("[", "array")):
        depth = depths[bracket]
        if depth > MAX_NESTING:
            said = Message("config/nesting", kind=kind, depth=depth, limit=MAX_NESTING)
            advice = Message("config/nesting-advice")
            code = "ACL_ERROR_PARSE_FILE"
            yield Problem("nesting", "error", "", said, advice, code=code, source=ACL_PARSER)


def _depths(text: str) -> dict[str, int]:
    """Depth of each kind of bracket; a closing one too many counts for nothing."""
    depth, deepest = {"{": 0, "[": 0}, {"{": 0, "[": 0}
    if max(map(text.count, deepest)) <= MAX_NESTING:
        return deepest
    for match in _BRACKETS.finditer(text):
        bracket = match[0]
        if bracket in depth:
            depth[bracket] += 1
            deepest[bracket] = max(deepest[bracket], depth[bracket])
        else:
            opening = "{" if bracket == "}" else "["
            depth[opening] = max(depth[opening] - 1, 0)
    return deepest
